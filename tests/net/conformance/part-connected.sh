# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317,SC2119,SC2120
#
# Connected mode: what goes over the wire, who sends on which connection, when one ends, and what
# becomes of packets that are too long.

capture=/tmp/connected.pcap

connected_modes()
{
	echo "$1" >"$ib_a/mode" && in_b sh -c "echo $2 >/sys/class/net/$T_IF_B/mode"
}

# connected_lid PORT: as pcap.py prints it
connected_lid()
{
	echo $(($(cat "/sys/class/infiniband/vib0/ports/$1/lid")))
}

# connected_said SLID NAME: the first message of that name from there
connected_said()
{
	python3 -IS "$here/pcap.py" messages $capture | grep -m 1 "^$1 $2"
}

connected_field()
{
	sed -n "s/.* $2=\([^ ]*\).*/\1/p" <<<"$1"
}

# connected_qpn ADDRESS: the queue pair in it, without zeros in front
connected_qpn()
{
	printf '0x%x' "0x$(cut -c 4-11 <<<"$1" | tr -d :)"
}

# connected_senders SLID: queue pairs that this port has sent to over connections
connected_senders()
{
	python3 -IS "$here/pcap.py" data $capture | grep -c "^$1 "
}

connected_size()
{
	ping -q -c 1 -W 2 -s "${1:-30000}" "$T_IP4_B"
}

connected_back()
{
	in_b ping -q -c 1 -W 2 -s "${1:-30000}" "$T_IP4_A"
}

# queue pairs of connections that work
connected_qps()
{
	grep -c 'type=rc .*state=rts' /sys/kernel/debug/vib/vib0/qps
}

connected_qps_are()
{
	[ "$(connected_qps)" = "$1" ]
}

# The MTU is the smaller one of what was and what datagrams can have; with the interface down, too
part_connected_mode()
{
	put mode 'connected\n' >/dev/null
	refused "A46 an MTU beyond that" EINVAL EINVAL "" nl set if="$T_IF_A" mtu=65521
	is "A46 a smaller MTU" "$(nl set if="$T_IF_A" mtu=1500)" OK
	put mode 'datagram\n' >/dev/null
	is "A47 which stays in datagram mode" "$(cat "$ib_a/mtu")" 1500
	nl set if="$T_IF_A" mtu=4092 >/dev/null
	ip link set "$T_IF_A" down
	is "A46 mode connected while the interface is down" "$(put mode 'connected\n')" OK
	is "A46 its MTU" "$(cat "$ib_a/mtu")" 65520
	is "A46 the same mode once more" "$(put mode 'connected\n')" OK
	is "A47 mode datagram while it is down" "$(put mode 'datagram\n')" OK
	is "A47 its MTU" "$(cat "$ib_a/mtu")" 4092
	restart_a
}

# A is connected, B is not
part_connected_one()
{
	local req rep a b

	a=$(connected_lid 1) b=$(connected_lid 2)
	connected_modes connected datagram
	capture_start a vib0:1
	check "A48 a host in datagram mode gets long packets" wait_for 20 connected_size
	check "A48 one by one" connected_size 65000
	capture_stop a $capture
	req=$(connected_said "$a" REQ)
	rep=$(connected_said "$b" REP)
	check "A48 it has granted a connection" test -n "$rep"
	is "A48 and asked for none" "$(connected_said "$b" REQ)" ""
	is "A48 over which it gets packets" "$(connected_senders "$a")" 1
	is "A48 and answers by datagrams" "$(connected_senders "$b")" 0

	is "A49 REQ: service ID" "$(connected_field "$req" sid)" \
		"$(printf '0x1000000000%06x' "$(connected_qpn "$(in_b cat "/sys/class/net/$T_IF_B/address")")")"
	is "A49 REQ: own queue pair, size of a buffer" "$(connected_field "$req" data)" \
		"$(connected_qpn "$(cat "$ib_a/address")"),0xfff4"
	is "A49 REQ: retries of the peer" "$(connected_field "$req" retry)" 0
	is "A49 REQ: of a peer that has no buffer" "$(connected_field "$req" rnr)" 0
	is "A49 REQ: tries" "$(connected_field "$req" tries)" 15
	is "A49 REQ: time-outs" "$(connected_field "$req" timeouts)" 20,20
	is "A49 REQ: responder resources" "$(connected_field "$req" resources)" 4
	is "A49 REQ: transport, flow control, depth" \
		"$(connected_field "$req" transport) $(connected_field "$req" flow) $(connected_field "$req" depth)" \
		"0 0 0"
	differs "A49 REQ: first number of a packet" \
		"$([ "$(connected_field "$req" psn)" = 0 ] && echo zero || echo random)" zero random \
		"a late packet of an old connection is not taken for one of the next"
	is "A49 REP: own queue pair, size of a buffer" "$(connected_field "$rep" data)" \
		"$(connected_qpn "$(in_b cat "/sys/class/net/$T_IF_B/address")"),0xfff4"
	is "A49 REP: resources, depth" "$(connected_field "$rep" resources) $(connected_field "$rep" depth)" "0 0"
	differs "A49 REP: retries of one that finds no buffer" "$(connected_field "$rep" rnr)" 0 6 \
		"a receiver that is short of buffers for a moment does not lose its peers"
}

part_connected_both()
{
	connected_modes connected connected
	check "A50 long packets both ways" wait_for 20 eval 'connected_size && connected_back'
	check "A50 two connections, four queue pairs" wait_for 10 connected_qps_are 4
	capture_start a vib0:1
	connected_size >/dev/null
	connected_back >/dev/null
	capture_stop a $capture
	is "A50 A sends over one" "$(connected_senders "$(connected_lid 1)")" 1
	is "A50 B over the other one" "$(connected_senders "$(connected_lid 2)")" 1
}

# A peer whose address does not promise connections
part_connected_without()
{
	local hw before4 before6

	hw=00:$(in_b cat "/sys/class/net/$T_IF_B/address" | cut -c 4-)
	ip neigh replace "$T_IP4_B" lladdr "$hw" dev "$T_IF_A" nud permanent
	check "A52 a peer without the flag is reached" ping_b
	before4=$(counter_a tx_dropped) before6=$(counter_a tx_errors)
	check "A52 a packet that is too long is answered with the group's MTU" \
		wait_for 10 sh -c "ping -M do -c 1 -W 1 -s 8000 $T_IP4_B 2>&1 | grep -q 'mtu.*4092'"
	check "A52 it is counted" [ "$(counter_a tx_dropped)" -gt "$before4" ]
	check "A52 as an error, too" [ "$(counter_a tx_errors)" -gt "$before6" ]
	check "A52 later packets fit" connected_size 8000
	ip neigh del "$T_IP4_B" dev "$T_IF_A"
	ip route flush cache
	is "A53 a group gets no packet beyond its MTU: tx_dropped" \
		"$(poke udp 224.0.0.1 9 8000 1 "$T_IF_A" tx_dropped)" 1
	is "A53 tx_errors" "$(poke udp 224.0.0.1 9 8000 1 "$T_IF_A" tx_errors)" 1
}

# Between the two drivers, and more of it: tests/net/cm-interop.sh
part_connected_pairs()
{
	local a b size

	for a in datagram connected; do
		for b in datagram connected; do
			connected_modes $a $b
			check "A65 $a and $b: they talk" wait_for 20 eval 'connected_size && connected_back'
			for size in 1 4064 4065 65000; do
				check "A65 $a and $b: $size bytes" \
					eval "connected_size $size && connected_back $size"
			done
			check "A65 $a and $b: TCP" transfer a 1
		done
	done
}

# The table of neighbours is looked through in rounds
part_connected_idle()
{
	local interval begin took span=10

	interval=$(sysctl -n net.ipv4.neigh.default.gc_interval)
	sysctl -qw net.ipv4.neigh.default.gc_interval=4
	connected_modes connected datagram
	restart_a
	quiet_ipv6 1
	check "A51 a connection" wait_for 20 eval 'connected_size && connected_qps_are 2'
	# it lives as long as there is something to send; the stock driver is in a long round still
	[ "$T_DRIVER" != stock ] || span=32
	for ((begin = SECONDS; SECONDS < begin + span;)); do
		ping -q -c 1 -W 1 "$T_IP4_B" >/dev/null
		wait_for 1 false
	done
	check "A51 that is used stays" connected_qps_are 2
	begin=$SECONDS
	check "A51 and is ended when it is not" wait_for 40 connected_qps_are 0
	took=$((SECONDS - begin))
	note "ended after $took s"
	check "A51 after two rounds" [ $took -ge 7 ]
	check "A51 or three" [ $took -le 20 ]
	sysctl -qw net.ipv4.neigh.default.gc_interval="$interval"
	quiet_ipv6 0
}

part_connected_mode
part_connected_one
part_connected_both
part_connected_without
part_connected_pairs
part_connected_idle
connected_modes datagram datagram
rm -f $capture
check "B answers" wait_for 20 ping_b
