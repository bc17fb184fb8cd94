#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What an interface makes of an SA that is wrong, silent, poor in features, or dead on another HCA, and
# of one that changes the prefix of the subnet or gives a port several LIDs. The subnet is managed by
# the fabric itself, which misbehaves as told.
#
#	tests/vm/run [--driver stock] [--kernel debug] --no-sm --timeout 600 tests/net/sa.sh [PART...]
#
# The parts misbehave, prefix, lmc and dead take as long as the others together: all but these if none is named.

# many functions are called by name only, as arguments of check and wait_for
# shellcheck disable=SC2317
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

PATH_REC=0x35 MCM_REC=0x38

ping_b()
{
	ping -q -c 1 -W 1 "$T_IP4_B"
}

no_ping_b()
{
	! ping_b
}

now_ms()
{
	local up

	read -r up _ </proc/uptime
	echo $((${up%.*} * 1000 + 10#${up#*.} * 10))
}

rule_hit()
{
	sed -n 's/^rule .* hit=//p' /sys/kernel/debug/vib/sa | grep -qv '^0$'
}

setup()
{
	ctl sa add sw0 || return
	ip addr add "$T_IP4_A/$T_PREFIX4" dev "$T_IF_A"
	ip link set "$T_IF_A" up
	ip link show "$T_IF_B" >/dev/null 2>&1 && ip link set "$T_IF_B" netns "$T_NS_B"
	in_b ip addr add "$T_IP4_B/$T_PREFIX4" dev "$T_IF_B"
	in_b ip link set "$T_IF_B" up
	wait_carrier 30 && wait_for 10 ping_b
}

# forget: no path and no neighbour is known any more
forget()
{
	ip link set "$T_IF_A" down
	ip link set "$T_IF_A" up
	wait_carrier 30
}

# A port that has another LID than its path record says. Either A goes wrong, and the stack notices
# that its neighbour does not answer; or B does, which hears A's requests from another LID than that
# to which it answers. Both have to be reason enough to ask again.
part_moved()
{
	# by default the stack believes for half a minute that a neighbour is there
	sysctl -qw "net.ipv4.neigh.$T_IF_A.base_reachable_time_ms=2000" \
		"net.ipv4.neigh.$T_IF_A.delay_first_probe_time=1"
	ctl sa rule sw0 "do=lid" lid=0x3000 "attr=$PATH_REC" count=1
	forget
	check "a path that leads nowhere" no_ping_b
	check "the SA gave a wrong LID" rule_hit
	ctl sa rule sw0 clear
	if [ "$T_DRIVER" = ours ]; then
		check "is asked for again by itself" wait_for 30 ping_b
	else
		check_not "stays as it is" wait_for 30 ping_b
	fi
	forget
	check "B answers" wait_for 10 ping_b
}

# sends_to N: group N, one of those that are only sent to, is joined
sends_to()
{
	ping -q -c 1 -W 0.2 -I "$T_IF_A" "239.8.8.$1"
	grep -A 4 ":f08:80$1\$" "/sys/kernel/debug/ipoib/${T_IF_A}_mcg" | grep -q 'complete: *yes'
}

# spoilt NAME USE COMMAND...: while the SA answers so, COMMAND can be true (yes) or not (no), or that is a matter
# of luck (any); once it answers as it should, COMMAND is true
spoilt()
{
	local name=$1 use=$2
	shift 2

	case $use in
	yes) check "$name: is good enough" wait_for 15 "$@" ;;
	no) check_not "$name: is of no use" wait_for 2 "$@" ;;
	any) "$@" ;;
	esac
	check "$name: was told" wait_for 10 rule_hit
	ctl sa rule sw0 clear
	check "$name: over" wait_for 30 "$@"
	check "$name: B answers" wait_for 10 ping_b
}

# a path is known, right or wrong, if there is something to send
path_known()
{
	ping_b
	grep -q 'complete: *yes' "/sys/kernel/debug/ipoib/${T_IF_A}_path"
}

# spoilt_path NAME USE ACT...: what the SA says of paths
spoilt_path()
{
	ctl sa rule sw0 "${@:3}" "attr=$PATH_REC"
	forget
	spoilt "path $1" "$2" path_known
}

# members_are N: of the broadcast group
members_are()
{
	grep -q "mgid=ff12:401b:ffff::ffff:ffff .*members=$1 " /sys/kernel/debug/vib/sa_groups
}

# spoilt_join NAME USE ACT...: what it says of the broadcast group, then of one to send to
spoilt_join()
{
	ctl sa rule sw0 "${@:3}" "attr=$MCM_REC" method=2
	ip link set "$T_IF_A" down
	# until then the kernel's SA client answers joins itself
	wait_for 10 members_are 1
	ip link set "$T_IF_A" up
	spoilt "join $1" "$2" carrier_a
	joins=$((joins + 1))
	ctl sa rule sw0 "${@:3}" "attr=$MCM_REC" method=2
	spoilt "group $1" "$2" sends_to "$joins"
}

# Answers that are late, come twice, are cut short, or are for somebody else
part_misbehave()
{
	local joins=0

	# stock believes some of it; tests/vib/manager.sh has what becomes of that
	[ "$T_DRIVER" = ours ] || return 0
	# what was cut off is what the memory had before, and may be the same
	spoilt_path late yes "do=late" us=300000
	spoilt_path "too late" no "do=late" us=5000000
	spoilt_path twice yes "do=twice"
	spoilt_path "cut to the head" any "do=cut" len=24
	spoilt_path "cut before the LID" any "do=cut" len=92
	spoilt_path "to another question" no "do=tid"
	spoilt_path "about another GID" no "do=gid"
	spoilt_path "with LID 0" no "do=lid"
	spoilt_join late yes "do=late" us=300000
	spoilt_join twice yes "do=twice"
	spoilt_join "cut in the GID" any "do=cut" len=66
	spoilt_join "to another question" no "do=tid"
	spoilt_join "about another GID" no "do=gid"
	spoilt_join "with the LID of a port" no "do=lid" lid=1
}

# replies FILE COUNT: at least so many in the output of a ping
replies()
{
	[ "$(grep -c 'bytes from' "$1")" -ge "$2" ]
}

# The stack forgets its neighbour: reason enough to doubt the path, unless that is new
asked_anew()
{
	ip neigh flush dev "$T_IF_A"
	ping_b
	rule_hit
}

# An SA that was silent: the first packet after its return. A ping that runs all the time has the
# clock: a program that is started takes a time of its own.
part_outage()
{
	local back first took begun log=/tmp/outage.log

	# before there is a carrier: the neighbour that B was may be probed with it
	ctl sa rule sw0 "do=silent" "attr=$PATH_REC"
	forget
	start ping -D -n -i 0.1 "$T_IP4_B" >"$log"
	check "an SA that does not answer is asked" wait_for 20 rule_hit
	check "no answer without an SA" test "$(grep -c 'bytes from' "$log")" = 0
	back=$EPOCHREALTIME
	ctl sa rule sw0 clear
	check "B answers when it is back" wait_for 20 replies "$log" 1
	first=$(sed -n '/bytes from/{s/^\[\(.*\)\].*/\1/p;q}' "$log")
	took=$(((${first/./} - ${back/./}) / 1000))
	note "first answer $took ms after the SA was back"
	if [ "$T_DRIVER" = ours ]; then
		is "within 2 s" "$((took < 2000))" 1
	fi
	stop "$STARTED"

	ctl sa rule sw0 "do=silent"
	start ping -n -i 0.2 -c 25 -W 1 "$T_IP4_B" >"$log"
	check "B answers" wait_for 10 replies "$log" 1
	ctl set vib0:1 rereg
	wait "$STARTED"
	is "known paths go on under a silent SA" "$(grep -c 'bytes from' "$log")" 25
	# so answers the host of a manager that has gone, and one that has just begun
	ctl sa rule sw0 clear
	ctl sa rule sw0 "do=refuse" status=0x000c "attr=$PATH_REC"
	if [ "$T_DRIVER" = ours ]; then
		check "an SA that refuses is asked again" wait_for 20 asked_anew
	fi
	check "known paths go on when the SA refuses" ping -q -c 3 -i 0.2 -W 1 "$T_IP4_B"
	ctl sa rule sw0 clear
	ctl sa rule sw0 "do=silent"
	begun=$SECONDS
	check "down under a silent SA" ip link set "$T_IF_A" down
	is "within 6 s" "$((SECONDS - begun < 6))" 1
	check "up" ip link set "$T_IF_A" up
	ctl sa rule sw0 clear
	check "carrier" wait_carrier 30
	check "B answers" wait_for 10 ping_b
}

strangers()
{
	sed -n 's/^targets: .*not known yet: //p' "/sys/kernel/debug/ipoib/${T_IF_A}_state"
}

few_strangers()
{
	[ "$(strangers)" -lt 10 ]
}

tx_dropped()
{
	cat "/sys/class/net/$T_IF_A/statistics/tx_dropped"
}

# Packets to ports of which nothing is known: their number has an end, and who is known stays so
part_strangers()
{
	local dropped interval

	[ "$T_DRIVER" = ours ] || return 0
	forget
	check "B answers" wait_for 10 ping_b
	ctl sa rule sw0 "do=silent" "attr=$PATH_REC"
	dropped=$(tx_dropped)
	check "5000 packets to 5000 ports" "$T_ROOT/tests/net/field.py" strangers "$T_IF_A" 5000
	is "of which 4096 are remembered" "$(strangers)" 4096
	check "the others are dropped and counted" test "$(($(tx_dropped) - dropped))" -ge 904
	is "one line says so" "$(dmesg | grep -c '4096 unknown peers')" 1
	check "who was known still is" ping_b
	ctl sa rule sw0 clear
	interval=$(sysctl -n net.ipv4.neigh.default.gc_interval)
	sysctl -qw net.ipv4.neigh.default.gc_interval=1
	check "nobody knows them, they go" wait_for 60 few_strangers
	sysctl -qw "net.ipv4.neigh.default.gc_interval=$interval"
	check "all packets were counted" test "$(($(tx_dropped) - dropped))" -ge 5000
}

# An SA that does not know send-only members: a full membership does it too
part_sendonly()
{
	ctl sa set sw0 sendonly 0
	if [ "$T_DRIVER" = ours ]; then
		check "a group to send to is joined anyway" wait_for 20 sendonly_works
	fi
	ctl sa set sw0 sendonly 1
}

sendonly_works()
{
	ping -q -c 1 -W 1 -I "$T_IF_A" 239.9.9.9
	grep -A 4 ':f09:909$' "/sys/kernel/debug/ipoib/${T_IF_A}_mcg" | grep -q 'complete: *yes'
}

# asked: how often the SA has been asked for what the rule in force is about
asked()
{
	sed -n 's/^rule .*hit=\([0-9]*\).*/\1/p' /sys/kernel/debug/vib/sa
}

# A group that is only sent to, and that the SA does not want any more after it has forgotten all: asked for
# ever more seldom, as all others are
part_unwanted()
{
	local first

	[ "$T_DRIVER" = ours ] || return 0
	check "a group to send to is joined" wait_for 20 sendonly_works
	ctl sa rule sw0 "do=refuse" status=0x0300 "attr=$MCM_REC" method=2 skip=1
	ctl set vib0:1 rereg
	check "the SA is asked for all groups anew" wait_for 10 rule_hit
	first=$SECONDS
	wait_for 10 eval "[ \$((SECONDS - $first)) -ge 5 ]"
	note "asked $(asked) times in 5 s"
	is "not more than four times for each" "$(($(asked) <= 4 * $(grep -c '^GID' "/sys/kernel/debug/ipoib/${T_IF_A}_mcg")))" 1
	check "the group is still there" sendonly_works
	ctl sa rule sw0 clear
	ctl set vib0:1 rereg
	check "B answers" wait_for 10 ping_b
}

# parked: packets that wait for a group
parked()
{
	sed -n 's/^ *queuelen: *//p' "/sys/kernel/debug/ipoib/${T_IF_A}_mcg" | awk '{ sum += $1 } END { print sum }'
}

none_parked()
{
	[ "$(parked)" = 0 ]
}

# One datagram to each of many groups: none is left where it waits
part_lone()
{
	local dropped

	[ "$T_DRIVER" = ours ] || return 0
	forget
	dropped=$(tx_dropped)
	check "a datagram to each of 300 groups" "$T_ROOT/tests/net/field.py" cast "$T_IF_A" 300
	check "none waits for long" wait_for 20 none_parked
	is "and none was dropped" "$(tx_dropped)" "$dropped"
}

groups_joined()
{
	! grep -q 'complete: *no' "/sys/kernel/debug/ipoib/${T_IF_A}_mcg"
}

# Packets that wait for an SM to be known: nothing else has to come for them to go on
part_unsure()
{
	local gid

	[ "$T_DRIVER" = ours ] || return 0
	forget
	check "B answers" wait_for 10 ping_b
	gid=$(in_b cat "/sys/class/net/$T_IF_B/address")
	forget
	ip neigh replace "$T_IP4_B" lladdr "$gid" dev "$T_IF_A" nud permanent
	check "all groups are joined" wait_for 10 groups_joined
	# the core makes a handle for the SM's address anew, which fails once
	ctl failop create_ah 1 1 12
	ctl event vib0:1 sm_change
	check "no address of an SM" wait_for 5 grep -q '^create_ah .*hit=1' /sys/kernel/debug/vib/failop
	start ping -q -c 1 -W 20 "$T_IP4_B" >/tmp/unsure.log
	wait_for 5 grep -q '^GID' "/sys/kernel/debug/ipoib/${T_IF_A}_path"
	ctl failop clear
	ctl event vib0:1 sm_change
	wait "$STARTED"
	is "what waited is sent" "$(grep -c ' 1 received' /tmp/unsure.log)" 1
	ip neigh del "$T_IP4_B" dev "$T_IF_A"
	check "B answers again" wait_for 10 ping_b
}

own_conn()
{
	grep -o '^to .* live own_qpn [^ ]*' "/sys/kernel/debug/ipoib/${T_IF_A}_conn"
}

# another_conn OLD: A has one, and not that one
another_conn()
{
	local now

	now=$(own_conn)
	[ -n "$now" ] && [ "$now" != "$1" ]
}

small_mtu()
{
	ip route get "$T_IP4_B" | grep 'mtu 4'
}

large()
{
	ping -q -c 1 -W 2 -s 20000 "$T_IP4_B"
}

large_by_conn()
{
	large
	another_conn ""
}

# A path that is known is asked for anew, and the answer is of no use: what there is stays, connections as well
part_renewal()
{
	local before

	[ "$T_DRIVER" = ours ] || return 0
	set_mode a connected
	check "a connection" wait_for 20 large_by_conn
	before=$(own_conn)
	ctl sa rule sw0 "do=lid" "attr=$PATH_REC"
	ctl set vib0:1 rereg
	check "the path is asked for anew" wait_for 20 eval 'ping_b; rule_hit'
	check "large packets pass" large
	is "over the same connection" "$(own_conn)" "$before"
	ctl sa rule sw0 clear
	set_mode a datagram
	check "B answers" wait_for 20 ping_b
}

# A broadcast group that comes late
part_late()
{
	forget
	ip link set "$T_IF_A" down
	ctl sa rule sw0 "do=refuse" status=0x0300 "attr=$MCM_REC"
	ip link set "$T_IF_A" up
	wait_for 5 rule_hit
	check_not "no carrier while the join is refused" carrier_a
	if [ "$T_DRIVER" = ours ]; then
		check "and it says so" wait_for 5 grep -q '^reason: broadcast group: ' \
			"/sys/kernel/debug/ipoib/${T_IF_A}_state"
	fi
	ctl sa rule sw0 clear
	check "carrier within one pause" wait_for 20 carrier_a
	check "B answers" wait_for 10 ping_b
}

# An interface under an alias GUID of its port: first wanted, then there, gone again and back
part_alias()
{
	local guid=02:56:49:00:00:77:88:99 mine hex members

	hex=0x${guid//:/}
	mine=$(cat "/sys/class/net/$T_IF_A/address")
	ip link set "$T_IF_A" down
	check "another GUID" ip link set "$T_IF_A" address "${mine:0:35}:$guid"
	ip link set "$T_IF_A" up
	check_not "no carrier before the port has it" wait_for 2 carrier_a
	ctl set vib0:1 guid 1 "$hex"
	# the kernel tells nobody: ours looks again, its own driver takes other news of the port
	[ "$T_DRIVER" = ours ] || ctl set vib0:1 rereg
	check "carrier when the port has it" wait_for 10 carrier_a
	check "traffic from it" wait_for 10 ping_b
	in_b ip neigh flush dev "$T_IF_B" 2>/dev/null
	check "traffic to it" in_b ping -q -c 2 -i 0.2 -W 2 "$T_IP4_A"
	is "B knows it by that GUID" "$(in_b ip neigh show "$T_IP4_A" dev "$T_IF_B" |
		sed 's/.*lladdr \([^ ]*\) .*/\1/' | cut -c 37-)" "$guid"
	members=$(sed -n 's/^group .*mgid=ff12:401b:ffff::ffff:ffff .*members=\([0-9]*\).*/\1/p' \
		/sys/kernel/debug/vib/sa_groups)
	is "the broadcast group has two members" "$members" 2
	if [ "$T_DRIVER" = ours ]; then
		# by itself that is noticed in the next round only
		ctl set vib0:1 guid 1 0
		ctl set vib0:1 rereg
		check "without the GUID there is no carrier" wait_for 10 eval '! carrier_a'
		ctl set vib0:1 guid 1 "$hex"
		check "with it there is" wait_for 10 carrier_a
		check "B answers" wait_for 10 ping_b
	fi
	ip link set "$T_IF_A" down
	check "back to the GUID of the port" ip link set "$T_IF_A" address "$mine"
	ctl set vib0:1 guid 1 0
	ip link set "$T_IF_A" up
	check "carrier" wait_carrier 30
	check "B answers in the end" wait_for 10 ping_b
}

# bcast SCOPE [PKEY]: a broadcast address
bcast()
{
	echo "00:ff:ff:ff:ff:1$1:40:1b:${2:-ff:ff}:00:00:00:00:00:00:ff:ff:ff:ff"
}

# bcast_is IF ADDRESS
bcast_is()
{
	[ "$(cat "/sys/class/net/$1/broadcast")" = "$2" ]
}

# joined IF MGID: it has joined that group
joined()
{
	grep -A 4 -ix "GID: $2" "/sys/kernel/debug/ipoib/$1_mcg" | sed '/^$/q' | grep -q 'complete: *yes'
}

listed()
{
	grep -qix "GID: $2" "/sys/kernel/debug/ipoib/$1_mcg"
}

# anew: B answers, and nothing is known from before
anew()
{
	ip neigh flush dev "$T_IF_A"
	in_b ip neigh flush dev "$T_IF_B"
	ping_b
}

not_anew()
{
	! anew
}

# prefix_is PREFIX IF...: of the GID in the hardware addresses
prefix_is()
{
	local dev

	for dev in "${@:2}"; do
		[ "$(cut -d : -f 5-12 "/sys/class/net/$dev/address")" = "$1" ] || return
	done
}

# b_is_at PREFIX: B answers, and so does A, under addresses with that prefix
b_is_at()
{
	ping_b && in_b ping -q -c 1 -W 1 "$T_IP4_A" &&
		ip neigh show "$T_IP4_B" dev "$T_IF_A" | grep -q " lladdr [0-9a-f:]\{12\}$1:" &&
		in_b ip neigh show "$T_IP4_A" dev "$T_IF_B" | grep -q " lladdr [0-9a-f:]\{12\}$1:"
}

ping6_b()
{
	ping -q -c 1 -W 1 "$(link_local b)%$T_IF_A"
}

# old_paths GID-PREFIX: paths to GIDs of that one, as debugfs prints it
old_paths()
{
	grep -c "^GID: $1:" "/sys/kernel/debug/ipoib/${T_IF_A}_path"
}

# follows NAME PREFIX ARG...: another manager takes over the subnet and gives it that prefix, which the
# interface must not miss, though news and values may come in any order
follows()
{
	local name=$1 prefix=$2
	shift 2

	ctl sa del sw0
	ctl sa add sw0 "$@"
	# the core of the kernel tells nobody of another GID, but of this
	ctl sa rereg sw0
	check "$name: addresses follow" wait_for 20 prefix_is "$prefix" "$T_IF_A" "$T_IF_A.${T_PKEY#0x}"
	check "$name: carriers" wait_carrier 40
	check "$name: B answers, and A" wait_for 20 b_is_at "$prefix"
	check "$name: B answers by IPv6" wait_for 20 ping6_b
	check "$name: two members of the broadcast group" wait_for 10 members_are 2
	check "$name: all hosts" wait_for 10 joined "$T_IF_A" ff12:401b:ffff:0:0:0:0:1
	check "$name: all IPv6 hosts" wait_for 10 joined "$T_IF_A" ff12:601b:ffff:0:0:0:0:1
	check "$name: multicast" cast_from a 239.1.2.9
	check "$name: multicast from B" cast_from b 239.1.2.10
}

# told_of LOG: what is listening there has heard of something
told_of()
{
	ip link set "$T_IF_A" alias first && [ -s "$1" ]
}

# The manager comes back and gives the subnet another prefix
part_prefix()
{
	local monitor log=/tmp/prefix.log
	local first=fe:80:00:00:00:00:00:00 second=fe:c0:00:00:00:00:00:42

	[ "$T_DRIVER" = ours ] || return 0
	check "a child" child_sysfs a "$T_PKEY"
	check "the default prefix" prefix_is "$first" "$T_IF_A" "$T_IF_A.${T_PKEY#0x}"
	check "B answers" wait_for 10 ping_b
	check "by a path with that prefix" [ "$(old_paths fe80:0:0:0)" != 0 ]
	start ip monitor link dev "$T_IF_A" >"$log"
	monitor=$STARTED
	check "user space listens" wait_for 10 told_of "$log"
	follows "another prefix" "$second" prefix=0xfec0000000000042
	check "user space is told" wait_for 10 grep -q "link/infiniband .*:$second:" "$log"
	stop "$monitor"
	is "no path is left from before" "$(old_paths fe80:0:0:0)" 0
	follows "the first prefix" "$first"
	is "nor from between" "$(old_paths fec0:0:0:42)" 0
	child_sysfs_del a "$T_PKEY"
}

lids_of_paths()
{
	sed -n 's/^ *DLID: *//p' "/sys/kernel/debug/ipoib/${T_IF_A}_path"
}

# sl_is N: of the path to B
sl_is()
{
	ping_b && grep -Eqx " +SL: +$1" "/sys/kernel/debug/ipoib/${T_IF_A}_path"
}

# Ports with four LIDs each, and paths that name any of them
part_lmc()
{
	local ports=/sys/class/infiniband/vib0/ports lids="" base i

	[ "$T_DRIVER" = ours ] || return 0
	ctl sa set sw0 lmc 2
	ctl sa sweep sw0
	check "four LIDs for each port" wait_for 10 grep -qx 2 "$ports/1/lid_mask_count"
	check "carriers" wait_carrier 30
	check "B answers" wait_for 20 ping_b
	ctl sa set sw0 spread 1
	ctl sa set sw0 sl 3
	# which one comes next depends on who has asked before
	for i in $(seq 20); do
		forget
		wait_for 10 ping_b || break
		lids=$({ tr ' ' '\n' <<<"$lids"; lids_of_paths; } | sort -u | xargs)
		[ "$(wc -w <<<"$lids")" -lt 3 ] || break
	done
	note "LIDs of the paths after $i rounds: $lids"
	check "B answers at three of them" [ "$(wc -w <<<"$lids")" -ge 3 ]
	base=$(($(cat "$ports/2/lid")))
	for i in $lids; do
		is "$i is one of the four" "$((i >= base && i < base + 4))" 1
	done
	check "B answers at all" ping -q -c 5 -i 0.2 -W 1 "$T_IP4_B"
	check "the service level is that of the path" wait_for 10 sl_is 3
	check "multicast" cast_from b 239.1.2.11
	echo connected >"/sys/class/net/$T_IF_A/mode"
	check "B answers over a connection" wait_for 20 ping -q -c 1 -W 2 -s 20000 "$T_IP4_B"
	# each question is answered with another LID, which ends the connection and makes another one
	start ping -q -f -s 20000 "$T_IP4_B" >/dev/null
	for i in 1 2 3 4 5; do
		lids=$(own_conn)
		ctl set vib0:1 rereg
		check "another LID, another connection: $i" wait_for 10 another_conn "$lids"
	done
	stop "$STARTED"
	check_not "no sender was told a small MTU" small_mtu
	set_mode a datagram
	ctl sa set sw0 spread 0
	ctl sa set sw0 sl 0
	ctl sa set sw0 lmc 0
	ctl sa sweep sw0
	check "one LID again" wait_for 10 grep -qx 0 "$ports/1/lid_mask_count"
	check "carriers again" wait_carrier 30
	check "B answers again" wait_for 20 ping_b
	check "with the service level from before" wait_for 10 sl_is 0
}

# round_trip: A down, up, carrier, and B answers; prints how many milliseconds that took
round_trip()
{
	local begun=$EPOCHREALTIME

	ip link set "$T_IF_A" down && ip link set "$T_IF_A" up && wait_for 60 carrier_a &&
		wait_for 60 ping_b || return
	echo $(((${EPOCHREALTIME/./} - ${begun/./}) / 1000))
}

# restless IF: down and up all the time
restless()
{
	while ip link set "$1" down && ip link set "$1" up; do
		sleep 0.2
	done
}

# not_later MS: A down and up takes at most two seconds more than that. A busy machine may be late once;
# answers of a manager that are lost take seconds each time.
not_later()
{
	local took

	took=$(round_trip) && echo "$took ms" && [ "$took" -lt $(($1 + 2000)) ]
}

# The manager of another HCA is dead. Nobody waits for that one here.
part_dead()
{
	local ports=/sys/class/infiniband/vib1/ports alone dev

	ctl sw add other ports=4
	ctl sa add other lid=7
	check "another HCA, in another subnet" ctl hca add vib1 ports=1 sw=other
	check "is brought up by its manager" wait_for 30 grep -q ACTIVE "$ports/1/state"
	dev=$(basename /sys/class/infiniband/vib1/device/net/*)
	round_trip >/dev/null
	alone=$(round_trip)
	check "A down and up" test -n "$alone"
	note "$alone ms alone"
	ctl sa rule other "do=silent"
	ip link set "$dev" up
	check "the other manager is asked, and silent" wait_for 30 rule_hit
	start restless "$dev"
	check "A down and up takes no longer beside that" eval 'for _ in 1 2 3; do not_later '"$alone"' && break; done'
	stop "$STARTED"
	check_not "the other one has no carrier" carrier_a "$dev"
	check "it goes down" ip link set "$dev" down
	check "the HCA goes" timeout 30 sh -c "echo hca del vib1 >$T_CTL"
	ctl sw del other
	check "B answers in the end" wait_for 10 ping_b
}

# The scope is that of the broadcast address, set by hand on all sides
part_scope()
{
	local child=$T_IF_A.${T_PKEY#0x} two=ff12:401b:ffff:0:0:0 five=ff15:401b:ffff:0:0:0 p slot

	ctl sa group sw0 0x7fff qkey=0x0b1b scope=5
	ctl sa group sw0 "$T_PKEY" qkey=0x0b1b scope=2
	ctl sa group sw0 "$T_PKEY" qkey=0x0b1b scope=5
	slot=$(grep -lix 0x0000 /sys/class/infiniband/vib0/ports/1/pkeys/* | sed 's|.*/||' | sort -n | head -n 1)
	ctl set vib0:1 pkey "$slot" "$T_PKEY"
	check "a child" child_sysfs a "$T_PKEY"
	check "its carrier" child_addr a "$child" 10.81.0.1/24
	check "B answers" wait_for 10 anew
	check "A: scope 5 while it is up" ip link set "$T_IF_A" broadcast "$(bcast 5)"
	check "it is shown" bcast_is "$T_IF_A" "$(bcast 5)"
	check "the child keeps its own" bcast_is "$child" "$(bcast 2 80:01)"
	check "still in the group of scope 2" joined "$T_IF_A" "$two:ffff:ffff"
	forget
	check "after down and up in that of scope 5" joined "$T_IF_A" "$five:ffff:ffff"
	check_not "and no more in the old one" listed "$T_IF_A" "$two:ffff:ffff"
	check "B, in scope 2, is not found" not_anew
	check "the child has its carrier" carrier_a "$child"
	in_b ip link set "$T_IF_B" broadcast "$(bcast 5)"
	in_b ip link set "$T_IF_B" down
	in_b ip link set "$T_IF_B" up
	check "B too: carrier" wait_carrier 30
	check "it answers" wait_for 10 anew
	check "what A sends to a group comes to B" cast_from a 239.1.2.3
	check "IPv6 as well" cast_from b ff15::7:8
	check "the group of all hosts has that scope" wait_for 10 joined "$T_IF_A" "$five:0:1"
	check "of all IPv6 hosts, too" wait_for 10 joined "$T_IF_A" ff15:601b:ffff:0:0:0:0:1

	check "the child goes" child_sysfs_del a "$T_PKEY"
	ctl set vib0:1 pkey "$slot" 0xffff
	for p in 1 2; do
		ctl set "vib0:$p" pkey 0 "$T_PKEY"
	done
	if [ "$T_DRIVER" = ours ]; then
		check "another P_Key, the same scope" wait_for 10 bcast_is "$T_IF_A" "$(bcast 5 80:01)"
		check "carrier there" wait_carrier 30
		check "B answers there" wait_for 20 anew
	fi
	for p in 1 2; do
		ctl set "vib0:$p" pkey 0 0xffff
	done
	ctl set vib0:1 pkey "$slot" 0
	check "back to the first P_Key" wait_carrier 30
	check "B answers again" wait_for 20 anew
	# what was under way meanwhile came from a foreign partition
	vib_reset

	ip link set "$T_IF_A" down
	check "a scope without a group" ip link set "$T_IF_A" broadcast "$(bcast 8)"
	ip link set "$T_IF_A" up
	check_not "no carrier" wait_for 3 carrier_a
	if [ "$T_DRIVER" = ours ]; then
		check "it says why" grep -q '^reason: broadcast group: -EINVAL' \
			"/sys/kernel/debug/ipoib/${T_IF_A}_state"
	fi
	check_not "an address of 6 octets is refused" ip link set "$T_IF_A" broadcast ff:ff:ff:ff:ff:ff
	check "and changes nothing" bcast_is "$T_IF_A" "$(bcast 8)"
	ip link set "$T_IF_A" broadcast "$(bcast 2)"
	in_b ip link set "$T_IF_B" broadcast "$(bcast 2)"
	in_b ip link set "$T_IF_B" down
	in_b ip link set "$T_IF_B" up
	forget
	check "scope 2 again: carrier" wait_carrier 30
	check "B answers as before" wait_for 10 anew
}

# early: A is set up as soon as it is there, its port only then, when the driver may not listen to it yet
early()
{
	rmmod ib_ipoib && ctl link vib0:1 down || return
	start modprobe ib_ipoib
	for _ in $(seq 100000); do
		[ ! -e "/sys/class/net/$T_IF_A" ] || break
	done
	ip link set "$T_IF_A" up && ctl link vib0:1 up && wait "$STARTED"
}

[ $# -gt 0 ] || set -- moved outage strangers sendonly unwanted lone unsure renewal late alias scope
check "a subnet" setup
for part; do
	note "part $part, after $SECONDS s"
	"part_$part"
done
if [ "$T_DRIVER" = ours ]; then
	check "the driver anew, and at once an interface up" early
	check "its carrier" wait_for 30 carrier_a
fi
ctl sa del sw0
if [ "$T_DRIVER" = ours ]; then
	rmmod ib_ipoib
	ctl set vib0:1 pkey 0 0
	modprobe ib_ipoib
	wait_for 10 ip link show "$T_IF_A"
	said=$(ip link add link "$T_IF_A" name c0 type ipoib 2>&1)
	check "no child without a P_Key on a port that has none" grep -q 'no P_Key' <<<"$said"
	ctl set vib0:1 pkey 0 0xffff
fi
done_testing
