# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# Unicast: paths, packets that wait for one, what is on the wire, what is counted.

part_unicast_path()
{
	local gid

	gid=$(short_gid "$(gid_of 2)")
	restart_a
	check "A22 B answers" wait_for 10 ping_b
	check "A22 its path is complete" path_is "$gid" complete yes
	check "A22 with the LID of its port" path_is "$gid" DLID \
		"$(printf '0x%04x' $(($(cat /sys/class/infiniband/vib0/ports/2/lid))))"
	check "A22 and a service level" path_is "$gid" SL 0
}

# A peer whose GID nobody has, and a subnet administrator that is silent, so that the question
# stays open for a while
part_unicast_parking()
{
	local before gid=fe80:0:0:0:200:0:0:21

	quiet_ipv6 1
	ip neigh replace 10.77.0.99 lladdr "$(peer_address 21)" dev "$T_IF_A"
	before=$(counter_a tx_dropped)
	sm_silent
	differs "A21 of 10 packets that wait for a path, dropped at once" \
		"$(poke udp 10.77.0.99 9 10 10 "$T_IF_A" tx_dropped)" 7 0 \
		"bytes limit what waits, not a number of 3 packets, which a first burst exceeds"
	check "A22 a path that is asked for is not complete" path_is $gid complete no
	check "A21 all are dropped when the path is given up" wait_for 20 dropped_are "$before" 10
	sm_talks
	ip neigh del 10.77.0.99 dev "$T_IF_A"
	quiet_ipv6 0
}

# ask_anew [ADDRESS]: ping B when nobody knows anybody; B must not ask first, for that tells A
ask_anew()
{
	in_b ip neigh flush dev "$T_IF_B"
	in_b ip -6 neigh flush dev "$T_IF_B"
	ip neigh flush dev "$T_IF_A"
	ip -6 neigh flush dev "$T_IF_A"
	ping_b "$@"
}

part_unicast_wire()
{
	local seen

	seen=$(sniffed b dgram ask_anew)
	check "A23 ARP: hardware type 32, 20 octets of hardware address, 56 in all" \
		grep -Eq '^1 0806 0 0020080014040001[0-9a-f]{96}$' <<<"$seen"
	seen=$(sniffed b dgram ask_anew "$T_IP6_B")
	check "A23 neighbour solicitation: option of three times eight octets, two of padding" \
		grep -Eq '^2 86dd 0 6[0-9a-f]{11}3aff.*87[0-9a-f]{46}01030000' <<<"$seen"
	seen=$(sniffed b raw ping_b)
	check "A24 a received frame begins with 20 zeros, type and two zeros" \
		grep -Eq '^0 0800 0 0{40}080000004500' <<<"$seen"
	seen=$(sniffed a dgram arping -c 2 -w 1 -I "$T_IF_A" 10.77.0.98)
	check "A25 own broadcasts are seen on their way out" grep -Eq '^4 0806' <<<"$seen"
	# B may ask for A meanwhile
	check_not "A25 and do not come back" \
		grep -Eq "^[0123] 0806 0 0020080014040001$(tr -d : <"$ib_a/address")" <<<"$seen"
}

# The same as it crosses the fabric
part_unicast_capture()
{
	local seen

	capture_start a vib0:1
	ping_b
	ping -q -c 1 -W 1 -I "$T_IF_A" 224.0.0.1 >/dev/null
	capture_stop a /tmp/wire.pcap
	seen=$(python3 -IS "$here/pcap.py" wire /tmp/wire.pcap)
	check "A24 on the wire: type, two octets of zero, no GRH for a peer" \
		grep -qx -- '- 08000000' <<<"$seen"
	check "A24 on the wire: a GRH with the MGID for a group" \
		grep -qx 'ff12401bffff00000000000000000001 08000000' <<<"$seen"
	check_not "A24 on the wire: nothing else behind the type" grep -v '0000$' <<<"$seen"
}

part_unicast_counters()
{
	local before tx how="as given"

	quiet_ipv6 1
	in_b sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=0
	ping_b
	before=$(counter_b multicast)
	ping -q -c 5 -i 0.2 -b 10.77.0.255 >/dev/null 2>&1
	is "A26 broadcasts are no multicasts" $(($(counter_b multicast) - before)) 0
	ping -q -c 5 -i 0.2 -I "$T_IF_A" 224.0.0.1 >/dev/null 2>&1
	is "A26 multicasts are" $(($(counter_b multicast) - before)) 5
	in_b sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=1

	ip neigh replace "$T_IP4_B" lladdr "$(in_b cat "/sys/class/net/$T_IF_B/address")" \
		dev "$T_IF_A" nud permanent
	# B answers that nobody listens, and must not have to ask for A
	in_b ip neigh replace "$T_IP4_A" lladdr "$(cat "/sys/class/net/$T_IF_A/address")" \
		dev "$T_IF_B" nud permanent
	before=$(counter_b rx_bytes)
	is "A27 transmitted: IP and the 4 octets of encapsulation" \
		"$(grown tx_bytes poke udp "$T_IP4_B" 9 972 20)" $((20 * 1004))
	is "A27 received: IP alone" $(($(counter_b rx_bytes) - before)) $((20 * 1000))
	is "packets are counted" "$(grown tx_packets poke udp "$T_IP4_B" 9 972 20)" 20
	tx=$(counter_a tx_packets)
	before=$(counter_b rx_packets)
	check "a stream by TCP" transfer a 2
	[ $(($(counter_a tx_packets) - tx)) != $(($(counter_b rx_packets) - before)) ] || how="as sent"
	differs "its packets are counted" "$how" "as given" "as sent" \
		"what the HCA cuts into packets is as many packets"
	ip neigh del "$T_IP4_B" dev "$T_IF_A"
	in_b ip neigh del "$T_IP4_A" dev "$T_IF_B"
	is "received errors stay 0" "$(counter_b rx_errors)" 0
	quiet_ipv6 0
}

part_unicast_path
part_unicast_parking
part_unicast_wire
part_unicast_capture
part_unicast_counters
check "B answers" wait_for 20 ping_b
