# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# What the port tells: re-registration, link, LID, P_Keys, subnet manager.

broadcast=ff12:401b:ffff:0:0:0:ffff:ffff

# created MGID [IF]: when the driver says that it made a group
created()
{
	group "$@" | sed -n 's/ *created: *//p'
}

state_a()
{
	port_state 1
}

# pkey_slot PKEY: where it stands in the table of port 1
pkey_slot()
{
	grep -lix "$1" /sys/class/infiniband/vib0/ports/1/pkeys/* | head -n 1 | sed 's|.*/||'
}

part_events_reregister()
{
	local before gid made monitor same=no

	gid=$(short_gid "$(gid_of 2)")
	ping_b
	before=$(carrier_changes)
	made=$(created $broadcast)
	start ip monitor link dev "$T_IF_A" >/tmp/monitor
	monitor=$STARTED
	ctl set vib0:1 rereg
	check "A29 B answers after client re-registration" wait_for 10 ping_b
	check "A29 the broadcast group is joined" wait_for 10 group_is $broadcast complete yes
	check "A29 the path was asked for again" wait_for 5 path_is "$gid" complete yes
	stop "$monitor"
	is "A29 the carrier does not change" "$(carrier_changes)" "$before"
	is "A29 ip monitor says nothing" "$(cat /tmp/monitor)" ""
	[ "$(created $broadcast)" != "$made" ] || same=yes
	differs "A29 the group stays joined meanwhile" "$same" no yes \
		"nothing is lost between leaving and joining again"
}

part_events_port()
{
	local gid

	gid=$(short_gid "$(gid_of 2)")
	ping_b
	check "A30 a path while the port is up" path_is "$gid" complete yes
	ctl link vib0:1 down
	check "A30 port down: no carrier" wait_for 10 no_carrier_a
	check "A30 port down: no path" wait_for 5 no_path "$gid"
	ctl link vib0:1 up
	check "A30 port up: carrier" wait_for 40 carrier_a
	check "A30 port up: groups are joined" \
		wait_for 20 group_is ff12:401b:ffff:0:0:0:0:1 complete yes
	check "A30 port up: for OpenSM too" [ "$(member $broadcast 1)" = 0x1 ]
	check "A30 port up: B answers" wait_for 20 ping_b
}

lid_b()
{
	echo $(($(cat /sys/class/infiniband/vib0/ports/2/lid)))
}

path_to_77()
{
	ping_b && path_is "$(short_gid "$(gid_of 2)")" DLID 0x004d
}

part_events_lid()
{
	local before

	before=$(carrier_changes)
	ctl event vib0:1 lid_change
	check "A31 LID change: carrier flaps once" \
		wait_for 20 eval "[ \$(carrier_changes) = $((before + 2)) ]"
	check "A31 LID change: traffic resumes" wait_for 20 ping_b
	ctl set vib0:2 lid 77
	sm_anew
	check "A31 OpenSM takes the new LID of B" wait_for 30 eval '[ $(lid_b) = 77 ]'
	check "A31 new LID: traffic resumes" wait_for 40 ping_b
	check "A31 new LID: the path says so" wait_for 20 path_to_77
	wait_carrier 30
}

# sent_to N: A has joined another group, to send to. What it was told before that, it has dealt with.
sent_to()
{
	poke udp "239.8.5.$1" 9 10 1 "$T_IF_A"
	group_is "ff12:401b:ffff:0:0:0:f08:50$1" complete yes
}

part_events_sm()
{
	local before changes

	before=$(created $broadcast)
	changes=$(carrier_changes)
	ctl event vib0:1 sm_change 3 100
	check "A32 B answers after SM change" ping_b
	check "A32 SM change: work goes on" wait_for 10 sent_to 1
	is "A32 SM change: the group is the same" "$(created $broadcast)" "$before"
	is "A32 SM change: the carrier does not change" "$(carrier_changes)" "$changes"
}

pkey_is()
{
	[ "$(cat "/sys/class/net/$1/pkey")" = "$2" ]
}

part_events_index0()
{
	local before changes slot others=stay

	before=$(created $broadcast)
	changes=$(carrier_changes)
	ctl set vib0:1 pkey 0 0xffff
	ctl event vib0:1 pkey_change
	ping_b
	check "A33 the same P_Key at index 0: work goes on" wait_for 10 sent_to 2
	is "A33 the same P_Key at index 0: the group is the same" "$(created $broadcast)" "$before"
	is "A33 the same P_Key at index 0: the carrier does not change" "$(carrier_changes)" "$changes"

	slot=$(pkey_slot "$T_PKEY")
	ctl set vib0:1 pkey "$slot" 0xffff
	ctl set vib0:1 pkey 0 "$T_PKEY"
	check "A33 another P_Key at index 0: pkey follows" wait_for 10 pkey_is "$T_IF_A" "$T_PKEY"
	is "A33 and the broadcast address" "$(cut -d : -f 9,10 "$ib_a/broadcast")" 80:01
	check "A33 and the group" wait_for 20 group_is ff12:401b:8001:0:0:0:ffff:ffff complete yes
	check "A33 and the old one is left" wait_for 10 no_group $broadcast
	check "A33 with a carrier" wait_for 20 carrier_a
	wait_for 5 group_is ff12:601b:8001:0:0:0:0:1 complete yes && others=follow
	differs "A33 all other groups" "$others" stay follow "they are useless in the old partition"
	ctl set vib0:1 pkey 0 0xffff
	ctl set vib0:1 pkey "$slot" "$T_PKEY"
	check "A33 and back" wait_for 20 pkey_is "$T_IF_A" 0xffff
	wait_carrier 30
	check "B answers" wait_for 20 ping_b
}

part_events_child()
{
	local slot changes

	slot=$(pkey_slot "$T_PKEY")
	nl new link="$T_IF_A" name=c1 pkey="$T_PKEY" >/dev/null
	ip link set c1 up
	wait_for 20 carrier_a c1
	changes=$(carrier_changes c1)
	ctl set vib0:1 pkey 9 "$T_PKEY"
	ctl set vib0:1 pkey "$slot" 0
	check "A34 P_Key moved: carrier again" wait_for 20 carrier_a c1
	check "A34 P_Key moved: the queue pair knows" wait_for 20 group_is \
		ff12:401b:8001:0:0:0:ffff:ffff complete yes c1
	ctl set vib0:1 pkey 9 0
	check "A34 P_Key gone: no carrier" wait_for 10 no_carrier_a c1
	check "A34 P_Key gone: still up" grep -q '[<,]UP[,>]' <(ip link show c1)
	ip link set c1 down
	is "A35 up without P_Key succeeds" "$(nl set if=c1 up=1)" OK
	check_not "A35 and has no carrier" wait_for 3 carrier_a c1
	ctl set vib0:1 pkey "$slot" "$T_PKEY"
	check "A34 P_Key back: carrier" wait_for 20 carrier_a c1
	ip link del c1
}

part_events_reregister
part_events_port
part_events_lid
part_events_sm
part_events_index0
part_events_child
vib_reset
check "B answers" wait_for 20 ping_b
