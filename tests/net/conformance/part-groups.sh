# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# Multicast groups: which are joined, how, and when they are left. The subnet administrator is asked
# about all of them, for what the driver says of itself is only half of it.

all_hosts=ff12:401b:ffff:0:0:0:0:1
all_nodes=ff12:601b:ffff:0:0:0:0:1

# joined MGID STATE: OpenSM has A in that group with that join state
joined()
{
	[ "$(member "$1" 1)" = "$2" ]
}

# hold_group GROUP: an application joins it; $STARTED is its process
hold_group()
{
	start python3 -IS "$here/poke.py" hold "$1" "$T_IF_A" 200 >/dev/null
}

part_groups_joined()
{
	check "A12 224.0.0.1 is a group of its own" group_is $all_hosts send_only no
	check "A12 and known to OpenSM as full member" joined $all_hosts 0x1
	check "A13 ff02::1 is mapped with the signature of IPv6" group_is $all_nodes send_only no
	check "A13 and joined as full member" joined $all_nodes 0x1
}

part_groups_send_only()
{
	local group=ff12:401b:ffff:0:0:0:f08:101

	poke udp 239.8.1.1 9 10 1 "$T_IF_A"
	check "A14 sending to a group that nobody joined makes a send-only membership" \
		wait_for 10 group_is $group send_only yes
	check "A14 which is join state 8 for OpenSM" wait_for 10 joined $group 0x8
	hold_group 239.8.1.1
	check "A16 an application that joins it makes it a full one" \
		wait_for 10 group_is $group send_only no
	check "A16 which is join state 1 for OpenSM" wait_for 10 joined $group 0x1
	stop "$STARTED"
	check "A17 the last one who leaves takes it out of the list" wait_for 10 no_group $group
	check "A17 and out of OpenSM" wait_for 10 joined $group -
}

# The interval of the neighbour table rules the age of groups too; it is shortened here
part_groups_age()
{
	local group=ff12:401b:ffff:0:0:0:f08:102 interval

	interval=$(sysctl -n net.ipv4.neigh.default.gc_interval)
	sysctl -qw net.ipv4.neigh.default.gc_interval=4
	restart_a
	poke udp 239.8.1.2 9 10 1 "$T_IF_A"
	wait_for 10 joined $group 0x8
	check "A15 a send-only group without traffic is left" wait_for 60 no_group $group
	check "A15 OpenSM has forgotten it" wait_for 10 joined $group -
	sysctl -qw net.ipv4.neigh.default.gc_interval="$interval"
	restart_a
}

part_groups_parking()
{
	local group=ff12:401b:ffff:0:0:0:f08:103 before

	quiet_ipv6 1
	before=$(counter_a tx_dropped)
	sm_silent
	poke udp 239.8.1.3 9 10 100 "$T_IF_A"
	check "A18 of 100 packets to a group still being joined, 36 are dropped" \
		wait_for 2 dropped_are "$before" 36
	check "A18 and 64 wait" group_is $group queuelen 64
	check "A18 the others too when the join is given up" wait_for 40 dropped_are "$before" 100
	sm_talks
	poke udp 239.8.1.3 9 10 1 "$T_IF_A"
	check "A18 the next packet starts another attempt" wait_for 20 joined $group 0x8
	quiet_ipv6 0
}

# foreign NAME ADDRESS END N: a link-layer group that cannot be one of this interface; the END of its
# MGID as debugfs would have it, and a number
foreign()
{
	local listed ignored holder next

	next=ff12:401b:ffff:0:0:0:f08:$(printf %x $((0x100 + 10 + $4)))
	start python3 -IS "$here/poke.py" member "$T_IF_A" "$2" 60 >/tmp/foreign
	holder=$STARTED
	wait_for 10 [ -s /tmp/foreign ]
	is "A19 $1: no error" "$(cat /tmp/foreign)" OK
	listed=$(ip maddr show dev "$T_IF_A" | grep -c "$2")
	is "A19 $1: it is in the list" "$listed" 1
	# a group that is good comes after it, so the foreign one has been looked at
	start python3 -IS "$here/poke.py" hold "239.8.1.1$4" "$T_IF_A" 60 >/dev/null
	check "A19 $1: one that came after it is joined" wait_for 10 group_is "$next" complete yes
	ignored=$(grep -c ":$3\$" "$ipoib_dbg/${T_IF_A}_mcg")
	is "A19 $1: it is not joined" "$ignored" 0
	stop "$STARTED"
	stop "$holder"
}

part_groups_foreign()
{
	local good=00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:0f:0a:0b

	foreign "foreign P_Key" 00:ff:ff:ff:ff:12:40:1b:80:07:00:00:00:00:00:00:0f:0a:0b:01 b01 1
	foreign "foreign scope" 00:ff:ff:ff:ff:15:40:1b:ff:ff:00:00:00:00:00:00:0f:0a:0b:02 b02 2
	foreign "no multicast QPN" 00:ff:ff:fe:ff:12:40:1b:ff:ff:00:00:00:00:00:00:0f:0a:0b:03 b03 3
	start python3 -IS "$here/poke.py" member "$T_IF_A" $good:04 20 >/dev/null
	check "A19 one with the right ones is joined" \
		wait_for 10 group_is ff12:401b:ffff:0:0:0:f0a:b04 send_only no
	stop "$STARTED"
	is "a link-layer group of 6 octets is refused" \
		"$(poke member "$T_IF_A" 01:00:5e:01:02:03 0)" EINVAL
}

part_groups_joined
part_groups_send_only
part_groups_age
part_groups_parking
part_groups_foreign
check "B answers" wait_for 20 ping_b
