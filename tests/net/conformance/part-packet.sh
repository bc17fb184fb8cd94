# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# Packet sockets: the header of 24 octets, addresses of 20, and whatever else a program may say.

part_packet_sizes()
{
	local addr arp packet

	addr=$(in_b cat "/sys/class/net/$T_IF_B/address" | tr -d :)
	packet=(poke packet "$T_IF_A")
	# an ARP request is what everybody understands
	arp=0020080014040001$(tr -d : <"$ib_a/address")0a4d0001$(zeros 20)0a4d0002

	is "a raw frame shorter than its header is refused" \
		"$("${packet[@]}" raw 0 "" 0800 "$(zeros 23)")" EINVAL
	is "an empty one too" "$("${packet[@]}" raw 0 "" 0800 "")" EINVAL
	is "a raw frame of header and ARP goes out" \
		"$("${packet[@]}" raw 0 "" 0806 "${addr}08060000$arp")" OK
	is "a datagram with an address of 20 octets goes out" \
		"$("${packet[@]}" dgram 20 "$addr" 0806 "$arp" 32)" OK
	is "one with a short sockaddr is refused" \
		"$("${packet[@]}" dgram 20 "$addr" 0806 "$arp" 20)" EINVAL
	is "one with half an address is refused" \
		"$("${packet[@]}" dgram 20 "$addr" 0806 "$arp" 31)" EINVAL
	is "one that is too long is refused" \
		"$("${packet[@]}" dgram 20 "$addr" 0800 "$(zeros 4093)" 32)" EMSGSIZE
	is "a raw one that is too long is refused" \
		"$("${packet[@]}" raw 0 "" 0800 "$(zeros 4117)")" EMSGSIZE
	is "a type that is none of IP, IPv6, ARP, RARP and TIPC is dropped" \
		"$(grown tx_dropped "${packet[@]}" dgram 20 "$addr" 88cc "$(zeros 60)" 32)" 1
	if [ "$T_DRIVER" = stock ]; then
		skip "a datagram without address is refused" "the stock driver crashes"
	else
		is "a datagram without address is refused" "$(poke bound "$T_IF_A" dgram 45)" EINVAL
	fi
	is "a raw frame to nobody goes out" "$(poke bound "$T_IF_A" raw "$(zeros 44)")" OK
	check "B answers" ping_b
}

captured()
{
	start timeout 20 tcpdump -c 1 -n -i "$T_IF_A" icmp >/tmp/tcpdump 2>&1
	wait_for 10 grep -q listening /tmp/tcpdump
	ping_b
	wait "$STARTED"
	cat /tmp/tcpdump
	grep -q "ICMP echo" /tmp/tcpdump
}

part_packet_seen()
{
	local seen

	seen=$(sniffed b dgram ping_b)
	check "packet sockets see no address of the sender" grep -Eq '^0 0800 0 45' <<<"$seen"
	check "tcpdump captures and decodes" captured
}

# Whatever it is, it is sent or refused, and nothing else happens
part_packet_nonsense()
{
	local seed

	for seed in 1 2 3; do
		check "nonsense $seed" timeout 100 python3 -IS "$here/poke.py" fuzz "$T_IF_A" $seed 2000
		[ "$T_DRIVER" = ours ] || continue
		check "nonsense $seed with offload headers" \
			timeout 100 python3 -IS "$here/poke.py" fuzz "$T_IF_A" $seed 2000 vnet
		check "nonsense $seed past the queue" \
			timeout 100 python3 -IS "$here/poke.py" fuzz "$T_IF_A" $seed 2000 bypass
	done
	check "B answers after the nonsense" wait_for 20 ping_b
	check "B answers by IPv6" wait_for 20 ping_b "$T_IP6_B"
}

part_packet_sizes
part_packet_seen
part_packet_nonsense
