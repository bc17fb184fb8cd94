#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What an interface makes of an SA that is wrong, silent, or poor in features. The subnet is managed
# by the fabric itself, which misbehaves as told.
#
#	tests/vm/run [--driver stock] [--kernel debug] --no-sm --timeout 600 tests/net/sa.sh

# many functions are called by name only, as arguments of check and wait_for
# shellcheck disable=SC2317
# shellcheck source=tests/net/lib.sh
. "$T_ROOT/tests/net/lib.sh"

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
	ctl sa rule sw0 "do=lid" "attr=$PATH_REC" count=1
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

# An SA that was silent: the first packet after its return
part_outage()
{
	local begun took

	forget
	ctl sa rule sw0 "do=silent" "attr=$PATH_REC"
	check "no path without an SA" no_ping_b
	check "still none" no_ping_b
	ctl sa rule sw0 clear
	begun=$(now_ms)
	ping -q -c 1 -W 5 "$T_IP4_B" >/dev/null || wait_for 20 ping_b
	took=$(($(now_ms) - begun))
	note "first answer $took ms after the SA was back"
	if [ "$T_DRIVER" = ours ]; then
		is "within 2 s" "$((took < 2000))" 1
	fi
	ctl sa rule sw0 "do=silent"
	ctl set vib0:1 rereg
	for _ in 1 2 3 4 5; do
		check "known paths go on under a silent SA" ping_b
	done
	begun=$SECONDS
	check "down under a silent SA" ip link set "$T_IF_A" down
	is "within 6 s" "$((SECONDS - begun < 6))" 1
	check "up" ip link set "$T_IF_A" up
	ctl sa rule sw0 clear
	check "carrier" wait_carrier 30
	check "B answers" wait_for 10 ping_b
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
		# that it has gone is not looked for
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

check "a subnet" setup
for part in ${1:-moved outage sendonly late alias}; do
	note "part $part"
	"part_$part"
done
ctl sa del sw0
done_testing
