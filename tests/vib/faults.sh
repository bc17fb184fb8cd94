#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Does the fabric do harm exactly as ordered? Each rule of the fault stage, each kind of packet, and
# failures of the interface that the driver calls. With either driver:
#
#	tests/vm/run --driver stock --timeout 600 tests/vib/faults.sh

# many functions are called by name only, as arguments of check and wait_for
# shellcheck disable=SC2317
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"
# shellcheck source=tests/vib/lib.sh
. "$T_ROOT/tests/vib/lib.sh"

PARTS=(loss delay copies damage kinds dice management order refusals failop sends)

# rules KEY: that value of all rules, in one line
rules()
{
	sed -n "s/^port=.*\\b$1=\\([^ ]*\\).*/\\1/p" "$DBG/faults" | xargs
}

# fault RULE...: a rule for packets that arrive at the second port
fault()
{
	ctl fault vib0:2 in "$@"
}

lid_b()
{
	echo $(($(cat /sys/class/infiniband/vib0/ports/2/lid)))
}

# echo_fault RULE...: one for the echo requests to B, and for nothing else that is under way: not for
# discovery, nor for what is sent to groups
echo_fault()
{
	fault class=ip4 "dlid=$(lid_b)" "$@"
}

heal()
{
	ctl fault vib0:1 clear
	ctl fault vib0:2 clear
}

# pings N: how many of N echo requests were answered, sent one after the other
pings()
{
	ping -q -c "$1" -i 0.05 -W 1 "$T_IP4_B" | sed -n 's/.* \([0-9]*\) received.*/\1/p'
}

echoes_in()
{
	# shellcheck disable=SC2016
	in_b awk '$1 == "Icmp:" && n { print $n }
		$1 == "Icmp:" { for (i = 2; i <= NF; i++) if ($i == "InEchos") n = i }' /proc/net/snmp
}

drops_of()
{
	sed -n "s/^node name=$1 .*\\bdrop_fault=\\([0-9]*\\).*/\\1/p" "$DBG/topo"
}

counter()
{
	cat "/sys/class/infiniband/vib0/ports/$1/counters/$2"
}

part_loss()
{
	local before

	before=$(drops_of vib0)
	echo_fault "do=drop" skip=2 count=3
	is "three of ten are lost" "$(pings 10)" 7
	is "the rule says so" "$(rules hit)" 3
	is "the node too" $(($(drops_of vib0) - before)) 3
	heal
	before=$(counter 1 port_xmit_discards)
	ctl fault vib0:1 out class=ip4 "do=drop" count=2
	is "two are lost where they leave" "$(pings 5)" 3
	is "and counted there" $(($(counter 1 port_xmit_discards) - before)) 2
	heal
	before=$(counter 2 port_rcv_errors)
	echo_fault "do=crc" count=2
	is "two are damaged on the way" "$(pings 5)" 3
	is "and counted where they arrive" $(($(counter 2 port_rcv_errors) - before)) 2
	heal
	is "healed" "$(pings 5) $(grep -c ^port= "$DBG/faults")" "5 0"
}

# rtt: the shortest round trip of five, in whole milliseconds
rtt()
{
	ping -q -c 5 -i 0.2 "$T_IP4_B" | sed -n 's/^rtt[^=]*= \([0-9]*\).*/\1/p'
}

part_delay()
{
	local ms

	fault class=ucast "do=delay" us=80000
	ms=$(rtt)
	check "80 ms more ($ms)" test "$ms" -ge 80 -a "$ms" -lt 160
	check "a thousand of them wait in line" ping -q -f -l 1000 -c 1000 -W 5 "$T_IP4_B"
	heal
	ms=$(rtt)
	check "none any more ($ms)" test "$ms" -lt 80
	fault class=ucast "do=delay" us=30000 jitter=60000
	check "with jitter all arrive" test "$(pings 10)" = 10
	heal
	is "no frame is left" "$(sed -n 's/^frames //p' "$DBG/faults")" "waiting=0 lost=0"
}

part_copies()
{
	local before

	before=$(echoes_in)
	echo_fault "do=dup" count=4
	check "five requests" ping -q -c 5 -i 0.2 -W 2 "$T_IP4_B"
	is "nine arrive" $(($(echoes_in) - before)) 9
	heal
}

part_damage()
{
	local before

	before=$(counter_b rx_packets)
	fault class=ucast "do=flip" seed=5
	is "a flipped bit is noticed" "$(pings 5)" 0
	heal
	fault class=ucast "do=cut" len=30
	is "half a datagram is none" "$(pings 3)" 0
	heal
	check "they have arrived, all the same" test "$(counter_b rx_packets)" -gt "$before"
	fault class=ucast "do=cut" len=1
	is "nor is one byte" "$(pings 3)" 0
	heal
	is "healed" "$(pings 3)" 3
}

# Rules that only look: a duplicate that is never made
look()
{
	fault class="$1" "do=dup" skip=1000000
}

part_kinds()
{
	ip neigh flush dev "$T_IF_A"
	in_b ip neigh flush dev "$T_IF_B"
	look arp
	look mcast
	look ndisc
	look ip4
	look ip6
	look smp
	look sa
	check "ping" ping -q -c 2 -i 0.2 "$T_IP4_B"
	check "ping" ping -q -c 2 -i 0.2 "$T_IP6_B"
	ctl set vib0:2 rereg
	check "B registers again" wait_for 20 sh -c "grep -q 'class=sa .* seen=[1-9]' $DBG/faults"
	check "smpquery" smpquery nodeinfo -D 0,1,2
	is "rules look at what they should" "$(rules class)" "arp mcast ndisc ip4 ip6 smp sa"
	note "seen: $(rules seen)"
	check "each has seen something" sh -c "! grep '^port=.* seen=0 ' $DBG/faults"
	is "and none did anything" "$(rules hit)" "0 0 0 0 0 0 0"
	heal
	fault class=arp "do=drop"
	ip neigh flush dev "$T_IF_A"
	in_b ip neigh flush dev "$T_IF_B"
	is "without ARP nothing goes" "$(pings 2)" 0
	check "IPv6 does" ping -q -c 2 -i 0.2 "$T_IP6_B"
	heal
	echo_fault "do=drop"
	is "by LID" "$(pings 2)" 0
	heal
	fault dlid=77 "do=drop"
	is "by another LID" "$(pings 2)" 2
	heal
}

# dice SEED: which of 40 requests get through half a fabric
dice()
{
	fault class=ip4 "do=drop" ppm=500000 seed="$1"
	ping -c 40 -i 0.02 -W 1 "$T_IP4_B" | sed -n 's/.*icmp_seq=\([0-9]*\).*/\1/p' | xargs
	heal
}

part_dice()
{
	local first second other n

	check "the neighbours know each other" test "$(pings 2)" = 2
	first=$(dice 7) second=$(dice 7) other=$(dice 8)
	n=$(wc -w <<<"$first")
	note "through with seed 7: $first"
	check "about half ($n)" test "$n" -ge 10 -a "$n" -le 30
	is "the same seed gives the same run" "$second" "$first"
	check "another seed another one" test "$other" != "$first"
}

part_management()
{
	# OpenSM asks by directed route, so what goes to this LID is ours; who asks may try more than once
	fault class=smp "dlid=$(lid_b)" method=1 attr=0x11 "do=drop"
	check_not "lost requests are not answered" timeout 20 smpquery -t 200 nodeinfo "$(lid_b)"
	check "by the rule" test "$(rules hit)" -ge 1
	heal
	fault class=smp "dlid=$(lid_b)" method=1 attr=0x11 "do=drop" count=1
	# the one that gets lost, whether or not it is repeated
	timeout 20 smpquery -t 200 nodeinfo "$(lid_b)" >/dev/null 2>&1
	check "with a rule for one, the next one is" smpquery nodeinfo "$(lid_b)"
	is "which that rule lets through" "$(rules hit)" 1
	heal
	fault class=smp "do=delay" us=50000
	check "delayed ones arrive" smpquery nodeinfo -D 0,1,2
	heal
	fault class=smp "do=dup"
	check "doubled ones are no harm" smpquery nodeinfo -D 0,1,2
	heal
	fault class=smp "do=cut" len=100
	check_not "half a management packet is lost" timeout 20 smpquery -t 200 nodeinfo -D 0,1,2
	heal
	ctl fault vib0:1 in class=sa method=0x81 attr=0x35 "do=drop" count=1
	ip neigh flush dev "$T_IF_A"
	ctl set vib0:1 rereg
	check "a lost path record is asked for again" wait_for 60 ping -q -c 1 -W 1 "$T_IP4_B"
	heal
}

part_order()
{
	local got

	echo_fault "do=hold" after=2 skip=1 count=1
	got=$(ping -c 5 -i 0.1 -W 2 "$T_IP4_B" | sed -n 's/.*icmp_seq=\([0-9]*\).*/\1/p' | xargs)
	is "the second one comes behind the fourth" "$got" "1 3 4 2 5"
	heal
	fault class=ip4 "do=hold" after=1000
	is "who is never overtaken does not come" "$(pings 2)" 1
	heal
	is "healed" "$(pings 2)" 2
}

part_refusals()
{
	refused "Invalid argument" fault vib0:1
	refused "Invalid argument" fault vib0:1 in
	refused "Invalid argument" fault vib0:1 sideways "do=drop"
	refused "Invalid argument" fault vib0:1 in "do=explode"
	refused "Invalid argument" fault vib0:1 in class=sa
	refused "Invalid argument" fault vib0:1 in class=lions "do=drop"
	refused "Invalid argument" fault vib0:1 in "do=drop" colour=red
	refused "Invalid argument" fault vib0:1 in "do=delay"
	refused "Invalid argument" fault vib0:1 in "do=hold"
	refused "Invalid argument" fault vib0:1 in "do=cut"
	refused "Invalid argument" fault vib0:1 in "do=drop" count=many
	refused "out of range" fault vib0:1 in "do=drop" ppm=1000001
	refused "out of range" fault vib0:1 in "do=drop" dlid=65536
	refused "out of range" fault vib0:1 in "do=delay" us=60000001
	refused "No such device" fault vib0:3 in "do=drop"
	refused "No such device" fault sw0:0 in "do=drop"
	is "that left no rule" "$(grep -c ^port= "$DBG/faults")" 0
	check "a rule at a switch" ctl fault sw0:2 out class=arp "do=drop"
	# a name that a new interface must not take: the kernel's driver has files of that name
	ip link add "$T_IF_B" type dummy
	check "an HCA that goes with its rules" sh -c "echo 'hca add vib3 ports=1 sw=sw0
		fault vib3:1 in do=drop
		hca del vib3' >$T_CTL"
	is "has taken them along" "$(rules class)" arp
	ip link del "$T_IF_B"
	ctl fault sw0:2 clear
}

# op NAME: its line
op()
{
	sed -n "s/^$1 .*hit=\\([0-9]*\\).*/\\1/p" "$DBG/failop"
}

part_failop()
{
	ctl failop attach_mcast 1 1000 12 nobody
	ctl failop modify_cq 1 1 22
	check_not "ethtool is told" ethtool -C "$T_IF_A" rx-usecs 10 rx-frames 4
	is "by the operation" "$(op modify_cq)" 1
	check "calls of other tasks pass" sh -c "ip link set $T_IF_A down; ip link set $T_IF_A up"
	check "carrier" wait_carrier 30
	is "and are not counted" "$(op attach_mcast)" 0
	ctl failop clear
	ip addr add "$T_IP6_A/$T_PREFIX6" dev "$T_IF_A" 2>/dev/null
	check "traffic" wait_for 20 ping -q -c 1 -W 1 "$T_IP4_B"
}

# qp_of PORT KEY: that value of the interface's queue pair, which is the one that is in groups
qp_of()
{
	grep "type=ud port=$1 " "$DBG/vib0/qps" | grep -v groups=0 | sed -n "s/.*\b$2=\([^ ]*\).*/\1/p"
}

qp_is()
{
	[ "$(qp_of "$1" state)" = "$2" ]
}

# Failures of a send, and completions that do not come
part_sends()
{
	local qpn n

	qpn=$(qp_of 1 qpn)
	check "the queue pair of A ($qpn) is found" qp_is 1 rts
	n=$(pings 3)
	ctl qperr vib0 "$qpn" 12
	ping -q -c 1 -W 1 "$T_IP4_B" >/dev/null
	check "a send fails, and A gets over it" wait_for 20 ping -q -c 1 -W 1 "$T_IP4_B"
	is "the queue pair is as before" "$(qp_of 1 state)" rts
	ctl hold vib0 "$(qp_of 1 qpn)" 5000
	ping -q -c 20 -i 0.02 -W 1 "$T_IP4_B" >/dev/null
	check "sends without completion pile up" test "$(qp_of 1 sq_used)" -gt 0
	check "when they come, all is well" wait_for 20 ping -q -c 1 -W 1 "$T_IP4_B"
	ctl hold vib0 "$(qp_of 1 qpn)" 60000
	ping -q -c 20 -i 0.02 -W 1 "$T_IP4_B" >/dev/null
	check "an interface goes down without them" timeout 20 ip link set "$T_IF_A" down
	ip link set "$T_IF_A" up
	ctl hold vib0 "$(qp_of 1 qpn)" 1
	check "and comes back" wait_carrier 30
	check "traffic" wait_for 20 ping -q -c 1 -W 1 "$T_IP4_B"
	ctl set dev rxpoison 1
	check "buffers are poison until a packet comes" test "$(pings 20)" = 20
	check "TCP" transfer a 4
	ctl set dev rxpoison 0
	refused "No such file" qperr vib0 5 1
	refused "Invalid argument" hold vib0 "$qpn"
	refused "No such device" hold vib7 "$qpn" 1
	refused "out of range" hold vib0 "$qpn" 60001
}

[ $# = 0 ] || PARTS=("$@")
run_parts "${PARTS[@]}"
done_testing
