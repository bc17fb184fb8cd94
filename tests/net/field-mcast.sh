#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Faults that IPoIB drivers had in the field, made again on purpose: multicast, paths, the SM.
# The labels are those of tests/net/field.txt, which tells what went wrong each time.
#
#	tests/vm/run --kernel debug --timeout 900 tests/net/field-mcast.sh [LABEL...]
#
#	A (root namespace)			B (namespace b)
#	ib0 --- vib0:1 --- switch --- vib0:2 --- ib1

# shellcheck disable=SC2317 # functions are called by name through check and wait_for
# shellcheck source=tests/net/field-lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/field-lib.sh"

case $T_KERNEL in
debug) groups=60 storm=100 casts=150 ;;
*) groups=300 storm=400 casts=1000 ;;
esac

# groups_are COUNT: so many of those of "join" can be sent to
groups_are()
{
	[ "$(grep -A 3 -i '^GID: ff12:401b:[0-9a-f]*:0:0:0:f0a:' "/sys/kernel/debug/ipoib/${T_IF_A}_mcg" |
		grep -c 'complete: *yes')" = "$1" ]
}

# in_sa MGID-PART: number of groups that the SM knows with this in their MGID
in_sa()
{
	saquery -g | grep -ci "MGID.*$1"
}

in_sa_is()
{
	[ "$(in_sa "$1")" = "$2" ]
}

# slow_sa US JITTER: what the SA says to B is late; A is the SM's own port, its words do not travel
slow_sa()
{
	ctl fault vib0:2 in "do=delay" class=sa "us=$1" "jitter=$2"
}

quick_sa()
{
	ctl fault vib0:2 clear
}

# --- B04: client re-register while many groups are joined, and others come and go
b04()
{
	local member

	join_start "B04 $groups groups" "$groups"
	member=$STARTED
	start ctl event vib0:1 client_reregister "$storm" 20
	check "B04 memberships come and go in a storm of re-registers" \
		timeout 120 python3 "$field" churn "$T_IF_A" 8
	wait "$STARTED"
	check "B04 all groups are joined when it is over" wait_for 60 groups_are "$groups"
	check "B04 the SM knows them all" wait_for 60 in_sa_is ff12:401b:ffff::f0a: "$groups"
	check "B04 B answers" wait_for 20 ping_b
	stop "$member"
	check "B04 all are left in the end" wait_for 60 in_sa_is ff12:401b:ffff::f0a: 0
}

join_complaints()
{
	dmesg | grep -c "$T_IF_A: join of multicast group"
}

some_joined()
{
	[ "$(grep -c 'complete: *yes' "/sys/kernel/debug/ipoib/${T_IF_A}_mcg")" -gt 900 ]
}

some_refused()
{
	[ "$(join_complaints)" -gt "$1" ]
}

# More groups than the switch can tell apart: the SM refuses some, and these try again and again
b04_many()
{
	local member before begun=$SECONDS

	# there OpenSM and the program that joins are too slow for so many
	[ "$T_KERNEL" != debug ] || { skip "B04 1500 groups" "too many for the debug kernel"; return; }
	before=$(join_complaints)
	join_start "B04 1500 groups" 1500
	member=$STARTED
	check "B04 as many as can be are joined" wait_for 60 some_joined
	check "B04 the SM refuses the others" wait_for 60 some_refused "$before"
	check "B04 B answers meanwhile" wait_for 20 ping_b
	check "B04 which is no reason for thousands of lines" \
		test $(($(join_complaints) - before)) -le $(((SECONDS - begun) * 2 + 40))
	stop "$member"
	check "B04 all of these are left in the end" wait_for 60 in_sa_is ff12:401b:ffff::f0a: 0
	check "B04 another group is joined then" cast_from b 239.3.3.8
}

# --- B05: re-registers while joins are under way; attach and detach have to balance
b05()
{
	local i

	slow_sa 20000 100000
	start_b python3 "$field" join "$T_IF_B" 40 >"$field_tmp/join_b" 2>&1
	for i in $(seq 10); do
		ctl event vib0:2 client_reregister 5 "$((RANDOM % 40))"
		ctl event vib0:1 client_reregister 3 "$((RANDOM % 20))"
	done
	quick_sa
	stop "$STARTED"
	check "B05 carrier after re-registers with a slow SA" wait_carrier 30
	check "B05 the module goes: nothing is attached any more" timeout 60 rmmod ib_ipoib
	is "B05 attachments left" "$(vib objects attachments)" 0
	modprobe ib_ipoib && b_back
	addressed_a
	check "B05 carrier again" wait_carrier 30
	check "B05 B answers" wait_for 20 ping_b
}

# --- B11: address handles that change while sends with the old ones are in the ring
b11()
{
	load_start
	check "B11 re-registers under load" ctl event vib0:1 client_reregister "$storm" 10
	check "B11 and new LIDs" ctl event vib0:1 lid_change 20 50
	load_end
	check "B11 carrier" wait_carrier 30
	check "B11 B answers" wait_for 20 ping_b
	is "B11 no handle has gone before its sends" "$(vib oracles ah_in_use_at_destroy)" 0
}

# --- B28: thousands of groups that are sent to once
send_only()
{
	grep -c 'send_only: *yes' "/sys/kernel/debug/ipoib/${T_IF_A}_mcg"
}

send_only_is()
{
	[ "$(send_only)" = "$1" ]
}

b28()
{
	local before

	sysctl -qw net.ipv4.neigh.default.gc_interval=2
	# the interface takes the interval when it comes up
	ip link set "$T_IF_A" down
	addressed_a
	wait_carrier 30
	before=$(in_sa ff12:401b:ffff::f0c:)
	is "B28 none of the groups is there at first" "$before" 0
	check "B28 a datagram to each of $casts groups" python3 "$field" cast "$T_IF_A" "$casts"
	check "B28 they are joined for sending" wait_for 60 sh -c "[ \$(saquery -g | grep -ci f0c:) -gt 0 ]"
	check "B28 all are forgotten when idle" wait_for 120 send_only_is 0
	check "B28 the SM has none of them any more" wait_for 60 in_sa_is ff12:401b:ffff::f0c: 0
	sysctl -qw net.ipv4.neigh.default.gc_interval=30
	check "B28 B answers" wait_for 20 ping_b
}

# groups_sent_to: how many the driver keeps for sending only
groups_sent_to()
{
	sed -n 's/^targets: .*groups sent to only: \([0-9]*\),.*/\1/p' "/sys/kernel/debug/ipoib/${T_IF_A}_state"
}

few_sent_to()
{
	[ "$(groups_sent_to)" -lt 10 ]
}

# More of them than a fabric can have, and nobody to answer: they have an end, and they go
b28_limit()
{
	local dropped

	if [ "$T_KERNEL" = debug ]; then
		skip "B28 more groups than a fabric can have" "the first ones are forgotten before the last ones are sent to"
		return
	fi
	check "B28 B is known" wait_for 20 ping_b
	sm_stop
	dropped=$(counter_a tx_dropped)
	check "B28 a datagram to each of 16500 groups, without an SM" python3 "$field" cast "$T_IF_A" 16500
	is "B28 of which 16383 are remembered" "$(groups_sent_to)" 16383
	check "B28 the others are dropped and counted" test $(($(counter_a tx_dropped) - dropped)) -ge 117
	check "B28 who is known still answers" ping_b
	check "B28 down with all of them" timeout 6 ip link set "$T_IF_A" down
	addressed_a
	sm_start
	check "B28 carrier" wait_carrier 40
	check "B28 they are gone" few_sent_to
	check "B28 a group works" cast_from a 239.3.3.7
	check "B28 B answers after the flood" wait_for 20 ping_b
}

# --- B31: the SA is silent for a second just after it asked to register again
# The kernel repeats a question to the SA for three seconds. Silence that lasts longer makes a join
# fail, and the pause before the next one is not meant here. Times are those of trace events: what a
# program takes to start does not count.
tracing=/sys/kernel/tracing

# joined_after MARK MGID-END: microseconds from a mark in the trace to the first join of such a group
# that succeeded; nothing if there was none
joined_after()
{
	awk -v mark="$1" -v group="$2 status 0" '
		{ match($0, /[0-9]+\.[0-9]+: /); now = substr($0, RSTART, RLENGTH - 2) * 1000000 }
		index($0, "tracing_mark_write: " mark) { from = now }
		from && index($0, group) { printf "%d\n", now - from; exit }' "$tracing/trace"
}

has_joined()
{
	[ -n "$(joined_after "$@")" ]
}

b31()
{
	local carriers i worst=0 took group member

	: >"$field_tmp/join_b"
	start_b python3 "$field" join "$T_IF_B" 3 >"$field_tmp/join_b" 2>&1
	member=$STARTED
	check "B31 B is in three groups" wait_for 60 in_sa_is ff12:401b:ffff::f0a: 3
	check "B31 A is known" wait_for 20 in_b ping -q -c 1 -W 1 "$T_IP4_A"
	trace_on ipoib_join
	carriers=$(in_b cat "/sys/class/net/$T_IF_B/carrier_changes")
	# the broadcast group comes before all others
	group="ipoib_join: $T_IF_B ff12:401b:ffff:0000:0000:0000:0f0a:0003"
	for i in 1 2 3 4 5; do
		ctl fault vib0:2 in "do=drop" class=sa
		ctl event vib0:2 client_reregister 1
		check "B31 what is known works on meanwhile, round $i" in_b ping -q -c 3 -i 0.3 -W 2 "$T_IP4_A"
		echo "heard again $i" >"$tracing/trace_marker"
		quick_sa
		check "B31 the groups are joined again, round $i" wait_for 30 has_joined "heard again $i" "$group"
		took=$(joined_after "heard again $i" "$group")
		[ "${took:-0}" -le "$worst" ] || worst=$took
	done
	trace_off
	stop "$member"
	note "joined again after $((worst / 1000)) ms at most"
	is "B31 joins work again within 2 s" "$((worst < T_KERNEL_SLOW * 2000000))" 1
	is "B31 no carrier change" "$(in_b cat "/sys/class/net/$T_IF_B/carrier_changes")" "$carriers"
}

# --- B32: the SM moves to another LID and tells nobody to register again
b32()
{
	local carriers lid

	carriers=$(cat "/sys/class/net/$T_IF_A/carrier_changes")
	lid=$(cat /sys/class/infiniband/vib0/ports/1/sm_lid)
	load_start
	ctl set vib0:1 smlid $((lid + 100))
	ctl event vib0:1 sm_change 5 10
	ctl set vib0:1 smlid "$lid"
	ctl event vib0:1 sm_change 1
	load_end
	check "B32 B answers" ping_b
	is "B32 no carrier change" "$(cat "/sys/class/net/$T_IF_A/carrier_changes")" "$carriers"
}

# --- B35: path queries go through user space first, while answers to ARP are sent from softirq
b35()
{
	local i

	: >"$field_tmp/cache"
	start python3 "$field" deaf-cache 20 >"$field_tmp/cache" 2>&1
	check "B35 a cache in user space that never answers" wait_for 20 grep -q ready "$field_tmp/cache"
	start_b ping -q -f "$T_IP4_A" >/dev/null 2>&1
	load=("$STARTED")
	for i in 1 2 3 4; do
		ip link set "$T_IF_A" down
		ip link set "$T_IF_A" up
		wait_carrier 20
		in_b ip neigh flush dev "$T_IF_B" 2>/dev/null
		wait_for 15 ping_b || note "round $i: no answer"
	done
	load_end
	check "B35 B answers" wait_for 20 ping_b
	check "B35 the cache has been asked" wait_for 30 grep -q 'asked [1-9]' "$field_tmp/cache"
	addressed_a
}

# --- B37: paths and neighbours go while they are in use
b37()
{
	local i

	load_start
	for i in $(seq 8); do
		ctl link vib0:2 bounce 20
		ip neigh flush dev "$T_IF_A" 2>/dev/null
		in_b ip neigh flush dev "$T_IF_B" 2>/dev/null
	done
	load_end
	check "B37 carrier after a cable that flaps" wait_carrier 60
	check "B37 B answers" wait_for 20 ping_b
}

# --- B10: many peers, quick collection of idle ones, and the HCA goes
b10()
{
	local i j

	sysctl -qw net.ipv4.neigh.default.gc_interval=1
	for i in 1 2 3; do
		ip link set "$T_IF_A" down
		ip link set "$T_IF_A" up
		wait_carrier 30
		# peers that nobody has: each one is a path that the SA does not know
		for j in $(seq 100); do
			printf 'neigh replace 10.77.0.%d lladdr 00:00:00:%02x:fe:80:00:00:00:00:00:00:00:00:00:00:00:01:%02x:%02x dev %s nud permanent\n' \
				$((j + 100)) "$j" "$i" "$j" "$T_IF_A"
		done | ip -batch -
		for j in $(seq 101 200); do
			echo hello >"/dev/udp/10.77.0.$j/7020"
		done
		load_start
		sm_stop
		check "B10 the HCA goes with many unresolved peers, round $i" \
			timeout 60 sh -c "echo hca del vib0 >$T_CTL"
		load_end
		echo "hca add vib0 ports=2 sw=sw0" >"$T_CTL"
		sm_start
		b_back
		addressed_a
		wait_carrier 30
	done
	sysctl -qw net.ipv4.neigh.default.gc_interval=30
	check "B10 B answers" wait_for 20 ping_b
}

T_KERNEL_SLOW=1
[ "$T_KERNEL" != debug ] || T_KERNEL_SLOW=3
[ $# -gt 0 ] || set -- b04 b04_many b05 b11 b28 b28_limit b31 b32 b35 b37 b10
run_faults "$@"
