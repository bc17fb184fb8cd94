# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# What the counters of an interface say, to the last packet and octet: which of them grow, and that no
# other does.

counters_tmp=/tmp/counters
# an address that is nobody's, with B's hardware address: what is sent there is received by B and
# answered by nobody
counters_ip=10.77.0.50
counters_group=239.8.6.1

# counters_now SIDE IF: a line for each
counters_now()
{
	on_side "$1" grep -r "" "/sys/class/net/$2/statistics"
}

# watch [IF_A IF_B]: grew tells of what comes after it
watch()
{
	counters_if_a=${1:-$T_IF_A} counters_if_b=${2:-$T_IF_B}
	counters_now a "$counters_if_a" >$counters_tmp.a
	counters_now b "$counters_if_b" >$counters_tmp.b
}

# growth SIDE: name and difference of each counter that is not what it was, by name
growth()
{
	local if=counters_if_$1

	counters_now "$1" "${!if}" | awk -F '[/:]' '{ n = $(NF - 1) }
		NR == FNR { old[n] = $NF; next }
		$NF != old[n] { print n, $NF - old[n] }' $counters_tmp."$1" - | sort | xargs
}

# growth_is SIDE WHAT: and what it is, in $grown
growth_is()
{
	grown=$(growth "$1")
	[ "$grown" = "$2" ]
}

# grew NAME SIDE STOCK [OURS WHY]: since watch that has changed, and nothing else
grew()
{
	local name=$1 side=$2 stock=$3 ours=${4-$3} want grown

	want=$ours
	[ "$T_DRIVER" != stock ] || want=$stock
	wait_for 40 growth_is "$side" "$want"
	# who it was, should there have been somebody else
	[ "$grown" = "$want" ] || note "$(traced -v '^#' | tail -n 12)"
	if [ $# = 3 ]; then
		is "$name" "$grown" "$want"
	else
		differs "$name" "$grown" "$stock" "$ours" "$5"
	fi
}

# counters_qpn SIDE: of the interface, out of its address
counters_qpn()
{
	echo "0x$(on_side "$1" cat "/sys/class/net/$(parent_of "$1")/address" | cut -d : -f 2-4 | tr -d :)"
}

part_counters_unicast()
{
	local size

	for size in 0 1 4064; do
		watch
		poke udp $counters_ip 9 $size 10
		grew "10 packets of $((size + 28)) octets: sent, with 4 octets of encapsulation" a \
			"tx_bytes $((10 * (size + 32))) tx_packets 10"
		grew "10 packets of $((size + 28)) octets: received" b \
			"rx_bytes $((10 * (size + 28))) rx_packets 10"
	done
	watch
	poke udp $counters_ip 9 8000 5
	# 8008 octets of payload, of which a packet takes 4072
	grew "5 datagrams in two fragments each: sent" a "tx_bytes $((5 * (8008 + 48))) tx_packets 10"
	grew "5 datagrams in two fragments each: received" b "rx_bytes $((5 * (8008 + 40))) rx_packets 10"
	watch
	is "one of 10 packets for the HCA to make" "$(poke tso "$T_IF_A" "$counters_hw" 10000 1000)" OK
	grew "which are" a "tx_bytes 10000 tx_packets 1" "tx_bytes $((10 * 1044)) tx_packets 10" \
		"what the HCA cuts into packets is as many packets, each with its headers"
	grew "and are received as" b "rx_bytes $((10 * 1040)) rx_packets 10"
}

# What A hears of its own packets counts nowhere
part_counters_groups()
{
	local broadcast

	broadcast=$(tr -d : <"$ib_a/broadcast")
	watch
	poke udp 224.0.0.1 9 72 5 "$T_IF_A"
	grew "5 packets to a group: sent" a "tx_bytes $((5 * 104)) tx_packets 5"
	grew "5 packets to a group: received" b "multicast 5 rx_bytes $((5 * 100)) rx_packets 5"
	watch
	for _ in 1 2 3; do
		poke packet "$T_IF_A" dgram 20 "$broadcast" 0800 "$(zeros 100)" 32 >/dev/null
	done
	grew "3 broadcasts: sent" a "tx_bytes $((3 * 104)) tx_packets 3"
	grew "3 broadcasts: received, and no multicasts" b "rx_bytes $((3 * 100)) rx_packets 3"
}

# Packets that are not tried
part_counters_dropped()
{
	watch
	for _ in 1 2 3; do
		poke packet "$T_IF_A" dgram 20 "$counters_hw" 88cc "$(zeros 60)" 32 >/dev/null
	done
	grew "3 packets of another type" a "tx_dropped 3"

	ip route add $counters_ip dev "$T_IF_A" mtu lock 9000
	ip route add $counters_group dev "$T_IF_A" mtu lock 9000
	poke udp $counters_group 9 10 1
	check "there is a group to send to" wait_for 20 group_is ff12:401b:ffff:0:0:0:f08:601 complete yes
	watch
	poke udp $counters_ip 9 4065 3
	grew "3 packets, one octet beyond the MTU" a "tx_dropped 3 tx_errors 3" "tx_dropped 3" \
		"a packet counts once"
	watch
	poke udp $counters_group 9 4065 3
	grew "3 of these to a group" a "tx_dropped 3 tx_errors 3" "tx_dropped 3" "a packet counts once"
	watch
	poke udp $counters_ip 9 4064 3
	poke udp $counters_group 9 4064 3
	grew "6 packets that fill it" a "tx_bytes $((6 * 4096)) tx_packets 6"
	ip route del $counters_ip
	ip route del $counters_group

	ip neigh replace 10.77.0.98 lladdr "$(peer_address 31)" dev "$T_IF_A" nud permanent
	watch
	poke udp 10.77.0.98 9 10 2
	grew "2 packets to a port that the SA does not know" a "tx_dropped 2"
	sm_silent
	ip neigh replace 10.77.0.99 lladdr "$(peer_address 32)" dev "$T_IF_A" nud permanent
	watch
	poke udp 10.77.0.99 9 10 3
	ip link set "$T_IF_A" down
	grew "3 packets that wait for a silent SA, and the interface is set down" a "tx_dropped 3"
	sm_talks
	counters_again
}

# Packets that fail
part_counters_failed()
{
	local qpn

	qpn=$(counters_qpn a)
	watch
	ctl failop post_send 1 1 12 python3
	poke udp $counters_ip 9 72 1
	grew "a send that the HCA does not accept" a "tx_errors 1"
	ctl failop clear
	watch
	ctl qperr vib0 "$qpn" 12
	poke udp $counters_ip 9 72 1
	grew "a send that the HCA ends with an error" a "tx_bytes 104 tx_packets 1" "tx_errors 1" \
		"what has not been sent is not counted as sent"
	check "B answers" wait_for 20 ping_b

	# all of them are to be in the ring, and not some in a queue before it; this holds after the next send
	echo 100000 >"$ib_a/queues/tx-0/byte_queue_limits/limit_min"
	ping_b
	qpn=$(counters_qpn a)
	ctl hold vib0 "$qpn" 60000
	watch
	poke udp $counters_ip 9 72 5
	grew "5 sends of which the HCA does not say how they ended" a ""
	timeout 60 ip link set "$T_IF_A" down
	grew "and the interface is set down" a "" "tx_dropped 5" "each packet is counted somewhere"
	counters_again
	ctl hold vib0 "$qpn" 0
	echo 0 >"$ib_a/queues/tx-0/byte_queue_limits/limit_min"
}

# frames SIDE LEN [DATA]: that side gets 4 frames
frames()
{
	local port=1

	[ "$1" = a ] || port=2
	ctl frame vib0:$port dqpn="$(counters_qpn "$1")" qkey=0xb1b n=4 len="$2" data="${3:-}"
}

part_counters_received()
{
	watch
	frames b 64 88cc0000
	grew "4 packets of a type that nobody wants: received, and dropped by the stack" b \
		"rx_bytes 240 rx_dropped 4 rx_packets 4"
	watch
	frames b 3
	grew "4 frames shorter than the encapsulation" b \
		"rx_bytes 92 rx_dropped 4 rx_packets 4" "rx_errors 4 rx_length_errors 4" \
		"they are errors of who sent them"
}

part_counters_child()
{
	child_netlink a "$T_PKEY" c1
	child_netlink b "$T_PKEY" c1
	sysctl -qw net.ipv6.conf.c1.disable_ipv6=1
	in_b sysctl -qw net.ipv6.conf.c1.disable_ipv6=1
	child_addr a c1 10.78.0.1/24
	child_addr b c1 10.78.0.2/24
	neighbour a c1 10.78.0.2
	neighbour a c1 10.78.0.50
	neighbour b c1 10.78.0.1
	check "B answers a child" wait_for 20 ping_b 10.78.0.2
	watch c1 c1
	poke udp 10.78.0.50 9 72 5
	grew "5 packets over a child: sent" a "tx_bytes $((5 * 104)) tx_packets 5"
	grew "5 packets over a child: received" b "rx_bytes $((5 * 100)) rx_packets 5"
	watch
	poke udp 10.78.0.50 9 72 5
	poke udp $counters_ip 9 73 5
	grew "which its parent does not count" a "tx_bytes $((5 * 105)) tx_packets 5"
	grew "nor that of B" b "rx_bytes $((5 * 101)) rx_packets 5"
	ip link del c1
	in_b ip link del c1
}

# the eight counters that ethtool has, as "NAME VALUE" by name
counters_ethtool()
{
	ethtool -S "$T_IF_A" | sed -n 's/^ *\([a-z_]*\): \([0-9]*\)$/\1 \2/p' | sort
}

counters_ip_link()
{
	ip -s -j link show "$T_IF_A" | python3 -IS -c '
import json, sys
s = json.load(sys.stdin)[0]["stats64"]
for way in "rx", "tx":
    for name in ("packets", "bytes", "dropped") + (("errors",) if way == "tx" else ()):
        print(way + "_" + name, s[way][name])
print("multicast", s["rx"]["multicast"])' | sort
}

views_agree()
{
	[ "$(counters_ethtool)" = "$(counters_ip_link)" ]
}

# with numbers in it
part_counters_views()
{
	local agree=no

	watch
	frames a 64 88cc0000
	grew "4 packets that A's stack drops" a "rx_bytes 240 rx_dropped 4 rx_packets 4"
	wait_for 10 views_agree && agree=yes
	differs "ethtool -S says what ip -s link says" $agree no yes "what the stack drops is told by both"
	check "and that is something" grep -q "tx_dropped [1-9]" <(counters_ethtool)
	is "and /proc/net/dev" "$(sed -n "s/^ *$T_IF_A: *//p" /proc/net/dev |
		awk '{ print $1, $2, $8, $9, $10, $11, $12 }')" "$(counters_ip_link | awk '
		{ c[$1] = $2 }
		END { print c["rx_bytes"], c["rx_packets"], c["multicast"], c["tx_bytes"], c["tx_packets"],
			c["tx_errors"], c["tx_dropped"] }')"
}

# counters_again: A up, after it was set down
counters_again()
{
	ip link set "$T_IF_A" up
	wait_for 30 carrier_a && counters_neighbours
}

# neighbour SIDE IF IP: that address is the interface of the other side, which nobody has to ask for
neighbour()
{
	local dev=$2 other

	other=$(other "$1")
	[ "$dev" != "$(parent_of "$1")" ] || dev=$(parent_of "$other")
	on_side "$1" ip neigh replace "$3" dev "$2" nud permanent \
		lladdr "$(on_side "$other" cat "/sys/class/net/$dev/address")"
}

counters_neighbours()
{
	neighbour a "$T_IF_A" "$T_IP4_B"
	neighbour a "$T_IF_A" $counters_ip
	neighbour b "$T_IF_B" "$T_IP4_A"
	wait_for 20 ping_b
}

# counters_alone: nothing is left of what others have sent, and nobody speaks by himself
counters_alone()
{
	quiet_ipv6 1
	ip link set "$T_IF_A" down
	in_b ip link set "$T_IF_B" down
	ip link set "$T_IF_A" up
	in_b ip link set "$T_IF_B" up
	wait_carrier 30 && counters_neighbours
}

trace_on skb/kfree_skb
counters_hw=$(in_b cat "/sys/class/net/$T_IF_B/address" | tr -d :)
check "B answers" counters_alone
part_counters_unicast
part_counters_groups
part_counters_dropped
part_counters_failed
part_counters_received
part_counters_child
part_counters_views
trace_off
ip neigh flush nud permanent dev "$T_IF_A"
in_b ip neigh flush nud permanent dev "$T_IF_B"
quiet_ipv6 0
check "B answers" wait_for 20 ping_b
