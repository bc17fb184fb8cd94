#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connected mode of our driver, on both sides of one machine.
#
#	tests/vm/run tests/net/cm.sh [SUITE...]
#
# SUITES: mode data pmtu crowd refuse silent broken idle toggle link child life (all of them).

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317

# shellcheck source=tests/net/cm-lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/cm-lib.sh"
only_ours "connected mode"

case $T_KERNEL in
debug) toggles=20 mb=4 ;;
*) toggles=100 mb=16 ;;
esac

# With the interface the stack takes IPv6 addresses down
bounce_a()
{
	ip link set "$T_IF_A" down
	${1:+"$@"}
	up_a
}

conn_file()
{
	cat "$debug/$(parent_of "$1")_conn"
}

# count a|b WORD: the number behind a word of the counters there
count()
{
	conn_file "$1" | numbers "$2" | head -n 1
}

# live a|b to|from [STATE]: it has such a connection
live()
{
	conn_file "$1" | grep -q "^$2 .* ${3:-live} "
}

gone()
{
	! conn_file "$1" | grep -q "^$2 "
}

mtu_is()
{
	[ "$(on_side "$1" cat "/sys/class/net/$(parent_of "$1")/mtu")" = "$2" ]
}

# A has none to B, nor any memory of one
disconnect()
{
	modes datagram
	wait_for 10 gone a to
}

# dialled [SIZE]: a ping to B, answered or not, and A has a connection to it
dialled()
{
	ping -q -c 1 -W 1 -s "${1:-56}" "$T_IP4_B"
	grep -q '^to .* live ' "$conn_a"
}

# Both sides know each other and have a connection
connect()
{
	modes connected
	wait_for 20 ping_b >/dev/null
	wait_for 20 dialled
}

suite_mode()
{
	local how

	is "mode: datagram at first" "$(cat "/sys/class/net/$T_IF_A/mode")" datagram
	is "mode: the address promises connections" "$(cut -c 1-2 "/sys/class/net/$T_IF_A/address")" 80
	check_not "mode: MTU of connected mode in datagram mode" ip link set "$T_IF_A" mtu 65520
	for how in "echo connected >/sys/class/net/$T_IF_A/mode" \
			"ip link set $T_IF_A type ipoib mode connected" \
			"printf connected >/sys/class/net/$T_IF_A/mode"; do
		check "mode: $how" sh -c "$how"
		is "mode: sysfs" "$(cat "/sys/class/net/$T_IF_A/mode")" connected
		check "mode: netlink" sh -c "ip -d link show $T_IF_A | grep -q 'mode *connected'"
		check "mode: MTU" mtu_is a 65520
		is "mode: no TCP segmentation" "$(feature tcp-segmentation-offload)" off
		is "mode: no checksums for what is sent" "$(feature tx-checksum-ipv4)" off
		is "mode: scatter-gather" "$(feature scatter-gather)" on
		check "mode: once more changes nothing" sh -c "$how"
		check_not "mode: MTU of 65521" ip link set "$T_IF_A" mtu 65521
		check "mode: back to datagram" set_mode a datagram
		check "mode: MTU of the group" mtu_is a 4092
		is "mode: TCP segmentation is back" "$(feature tcp-segmentation-offload)" on
		is "mode: checksums are back" "$(feature tx-checksum-ipv4)" on
	done
	check_not "mode: nonsense" sh -c "echo neither >/sys/class/net/$T_IF_A/mode"
	set_mode a connected
	check "mode: MTU of 1500 in connected mode" ip link set "$T_IF_A" mtu 1500
	set_mode a datagram
	check "mode: stays when datagram mode can have it" mtu_is a 1500
	ip link set "$T_IF_A" mtu 4092
	bounce_a check "mode: connected while it is down" set_mode a connected
	check "mode: MTU after that" mtu_is a 65520
	check "mode: B answers" wait_for 10 ping -q -c 1 -W 1 -s 60000 "$T_IP4_B"
	set_mode a datagram
}

suite_data()
{
	local size psns

	disconnect && wait_for 20 gone b to
	capture_start a vib0:1
	modes connected
	check "data: a connection each way" wait_for 20 \
		eval "ping -q -c 1 -W 1 $T_IP4_B; live a to && live b to"
	capture_stop a "$T_OUT/data.pcap"
	psns=$(messages "$T_OUT/data.pcap" |
		sed -n 's/^\([0-9]* RE[QP]\) .* psn=\([0-9]*\) .*/\1 \2/p' | sort -u)
	rm -f "$T_OUT/data.pcap"
	is "data: who asks and who grants name a first PSN of their own, which is not 0" \
		"$(awk '$3 > 0 { print $3 }' <<<"$psns" | sort -u | wc -l)" "$(wc -l <<<"$psns")"
	for size in 0 1 200 224 225 226 227 228 255 256 1500 4064 4065 8191 20000 65000 65492; do
		check "data: ping with $size bytes" ping -q -c 2 -i 0.1 -W 3 -s "$size" "$T_IP4_B"
	done
	check "data: IPv6 ping" ping -q -c 3 -i 0.1 -W 3 -s 65000 "$T_IP6_B"
	check "data: A sends over a connection" live a to
	check "data: B accepted it" live b from
	check "data: TCP from A" transfer a "$mb"
	check "data: TCP from B" transfer b "$mb"
	check "data: TCP from A by IPv6" transfer a 4 6
	check "data: multicast" cast_from a 239.9.9.9
	is "data: one connection each way" "$(conn_file a | grep -Ec '^(to|from) ')" 2
	check "data: a peer in datagram mode receives" set_mode b datagram
	wait_for 10 gone b to
	check "data: large ping to it" ping -q -c 3 -i 0.1 -W 3 -s 65000 "$T_IP4_B"
	check "data: TCP to it" transfer a 4
	check "data: TCP from it" transfer b 4
	check "data: over a connection" live a to
	check "data: it asks for none" gone b to
	modes datagram
}

# A static neighbour without the flag of connected mode
suite_pmtu()
{
	local hw

	connect
	hw=00:$(in_b cat "/sys/class/net/$T_IF_B/address" | cut -c 4-)
	ip neigh replace "$T_IP4_B" lladdr "$hw" dev "$T_IF_A" nud permanent
	ip -6 neigh replace "$T_IP6_B" lladdr "$hw" dev "$T_IF_A" nud permanent
	check "pmtu: small packets pass" ping -q -c 2 -i 0.2 -W 2 "$T_IP4_B"
	check "pmtu: IPv4: too big, and how much would do" sh -c \
		"ping -M do -c 1 -W 2 -s 8000 $T_IP4_B 2>&1 | grep -q 'Frag needed and DF set (mtu = 4092)'"
	check "pmtu: IPv4: the stack keeps it" sh -c "ping -M do -c 1 -W 1 -s 8000 $T_IP4_B 2>&1 | grep -q 'mtu.*4092'"
	check "pmtu: IPv4: the route has learned it" sh -c "ip route get $T_IP4_B | grep -q 'mtu 4092'"
	check "pmtu: IPv4: in pieces it passes" ping -q -c 2 -i 0.2 -W 2 -s 8000 "$T_IP4_B"
	check "pmtu: IPv6: too big, and how much would do" \
		sh -c "ping -c 1 -W 2 -s 8000 $T_IP6_B 2>&1 | grep -q 'Packet too big: mtu=4092'"
	check "pmtu: IPv6: the route has learned it" wait_for 5 sh -c "ip route get $T_IP6_B | grep -q 'mtu 4092'"
	check "pmtu: IPv6: in pieces it passes" ping -q -c 2 -i 0.2 -W 2 -s 8000 "$T_IP6_B"
	check "pmtu: TCP passes" transfer a 2
	check "pmtu: counted" [ "$(count a too_big)" -gt 0 ]
	ip neigh del "$T_IP4_B" dev "$T_IF_A"
	ip -6 neigh del "$T_IP6_B" dev "$T_IF_A"
	ip route flush cache
	ip -6 route flush cache
	modes datagram
}

stack_waited()
{
	traced -q "ipoib_ring_stop: $T_IF_A "
}

all_sent()
{
	conn_file a | grep '^to .* live ' | grep -q ' sends 0 waiting 0 '
}

slow()
{
	conn_file a | grep '^to .* live ' | grep -q ' sends 32 .* slow '
}

# nap MS
nap()
{
	read -r -t "$(($1 / 1000)).$(printf %03d $(($1 % 1000)))" <&"$lib_nap"
}

# nothing_moves BROKEN: it is as slow as can be, or has been given up, beyond so many before
nothing_moves()
{
	slow || [ "$(count a broken)" -gt "$1" ]
}

crowd_start()
{
	lib_start_on a python3 "$T_ROOT/tests/net/datagram.py" crowd "$T_IP4_B" 9 8 "$1"
}

# More wants to go to one peer than its ring and its queue take
suite_crowd()
{
	local dropped broken qpn ms=60

	connect
	check "crowd: events are recorded" trace_on ipoib_ring_stop ipoib_ring_wake
	qpn=$(own_qpn a to)
	dropped=$(counter_a tx_dropped)
	crowd_start $((mb * 8))
	# completions come late, and ever later until that is felt, but not so late that the peer is slow
	while kill -0 "$STARTED" 2>/dev/null && ! stack_waited; do
		ctl hold vib0 "$qpn" "$ms"
		nap $((ms * 2))
		ms=$((ms * 5 / 4))
	done
	wait "$STARTED"
	is "crowd: all was sent" "$?" 0
	if [ "$T_KERNEL" = debug ] && ! stack_waited; then
		skip "crowd: the stack had to wait" "the debug kernel may be too slow at sending"
	else
		check "crowd: the stack had to wait" stack_waited
	fi
	note "when completions came $ms ms late"
	check "crowd: and went on" wait_for 10 all_sent
	is "crowd: as often as it waited" "$(traced -c "ipoib_ring_wake: $T_IF_A ")" \
		"$(traced -c "ipoib_ring_stop: $T_IF_A ")"
	is "crowd: nothing was dropped" "$(counter_a tx_dropped)" "$dropped"
	trace_off

	# and now they do not come at all
	broken=$(count a broken)
	ctl hold vib0 "$qpn" 60000
	crowd_start 32
	check "crowd: a peer that takes nothing is noticed" wait_for 10 slow
	check "crowd: nobody else waits for it" cast_from a 239.5.5.5
	wait "$STARTED"
	is "crowd: not even new packets for it" "$?" 0
	check "crowd: which are dropped in the end" [ "$(counter_a tx_dropped)" -gt "$dropped" ]
	check "crowd: while it still takes nothing" nothing_moves "$broken"
	ctl hold vib0 "$qpn" 0
	check "crowd: it is well again" wait_for 10 ping -q -c 1 -W 1 -s 60000 "$T_IP4_B"
	check_not "crowd: and no longer slow" slow
	vib_reset
	modes datagram
}

# Nobody may make a connection: packets go by UD, and few requests are made
suite_refuse()
{
	local was before

	disconnect
	was=$(cat "$params/max_conn_qp")
	before=$(count a asked_for)
	echo 0 >"$params/max_conn_qp"
	modes connected
	is "refuse: no ping is lost" "$(ping -q -c 100 -i 0.05 -W 2 "$T_IP4_B" | lost)" 0
	check "refuse: it was refused" [ "$(count a rejected)" -gt 0 ]
	check "refuse: B counts that" [ "$(count b refused)" -gt 0 ]
	check "refuse: A was told seldom" [ $(($(count a asked_for) - before)) -le 6 ]
	check "refuse: held" live a to held
	check "refuse: large packets are answered" \
		wait_for 10 sh -c "ping -M do -c 1 -W 1 -s 8000 $T_IP4_B 2>&1 | grep -q 'mtu.*4092'"
	check "refuse: TCP passes" transfer a 2
	echo "$was" >"$params/max_conn_qp"
	ip route flush cache
	check "refuse: once allowed, it comes" \
		wait_for 70 dialled
	modes datagram
}

# Nobody answers
suite_silent()
{
	modes datagram
	wait_for 10 gone a to
	ctl fault vib0:1 out do=drop class=cm
	ctl fault vib0:2 out do=drop class=cm
	modes connected
	is "silent: no ping is lost" "$(ping -q -c 100 -i 0.15 -W 2 "$T_IP4_B" | lost)" 0
	check "silent: given up" wait_for 20 sh -c "ping -q -c 1 -W 1 $T_IP4_B; grep -q 'silent [1-9]' $debug/${T_IF_A}_conn"
	check "silent: large packets are answered" \
		wait_for 10 sh -c "ping -M do -c 1 -W 1 -s 8000 $T_IP4_B 2>&1 | grep -q 'mtu.*4092'"
	ctl fault vib0:1 clear
	ctl fault vib0:2 clear
	ip route flush cache
	check "silent: once it answers, it comes" \
		wait_for 70 dialled
	vib_reset
	modes datagram
}

# A send that fails ends the connection; the packets go on
suite_broken()
{
	local qpn before

	# without what an earlier connection has taught A about this peer
	disconnect
	connect
	qpn=$(own_qpn a to)
	before=$(count a broken)
	ctl qperr vib0 "$qpn" 12
	is "broken: no ping is lost" "$(ping -q -c 20 -i 0.1 -W 2 "$T_IP4_B" | lost)" 0
	check "broken: it was ended" [ "$(count a broken)" -gt "$before" ]
	check "broken: and made again" wait_for 10 dialled

	# the peer forgets its connections, and its farewell is lost
	ctl fault vib0:2 out do=drop class=cm
	in_b ip link set "$T_IF_B" down
	in_b ip link set "$T_IF_B" up
	in_b ip addr replace "$T_IP6_B/$T_PREFIX6" dev "$T_IF_B" nodad
	wait_carrier 20
	ctl fault vib0:2 clear
	check "broken: a peer that has forgotten us is reached" wait_for 6 ping_b
	check "broken: and connected again" wait_for 15 dialled 30000
	vib_reset
	modes datagram
}

suite_idle()
{
	local was_gc

	connect
	was_gc=$(sysctl -n net.ipv4.neigh.default.gc_interval)
	echo 600 >"$params/conn_idle"
	sysctl -qw net.ipv4.neigh.default.gc_interval=1
	bounce_a
	check "idle: connected, for long" wait_for 20 dialled
	check_not "idle: it outlives what the stack forgets" wait_for 6 gone a to
	echo 2 >"$params/conn_idle"
	# the sweep that is due has the old interval: a new start has the new one
	bounce_a
	check "idle: connected" wait_for 20 dialled 30000
	check "idle: ended by A" wait_for 20 gone a to
	check "idle: and B heard of it" wait_for 5 gone b from
	check "idle: counted" [ "$(count a idle)" -gt 0 ]
	echo 0 >"$params/conn_idle"
	sysctl -qw net.ipv4.neigh.default.gc_interval="$was_gc"
	modes datagram
}

# Pings as fast as they are answered, until the mode has changed often enough
toggling()
{
	local pinger i=0

	while [ "$i" -lt "$toggles" ]; do
		ping -q -f -s 1000 -W 5 -c 1000 "$T_IP4_B" &
		pinger=$!
		while kill -0 "$pinger" 2>/dev/null && [ "$i" -lt "$toggles" ]; do
			set_mode a datagram
			# now and then long enough for the connections to end
			[ $((i % 10)) != 9 ] || wait_for 5 gone a to
			set_mode a connected
			i=$((i + 1))
		done
		wait "$pinger"
	done
}

# way: how far echoes have come: what A and B have counted of ICMP, and what was dropped by interfaces
way()
{
	{ grep '^Icmp: [0-9]' /proc/net/snmp; in_b grep '^Icmp: [0-9]' /proc/net/snmp; drops; } | xargs
}

# The mode changes while packets fly: pings, and a stream
suite_toggle()
{
	local overrun lost stream way old filter=$lib_tracing/events/skb/kfree_skb/filter

	connect
	# A change of the MTU makes all routes anew. Where one that knows of a smaller MTU further on is replaced,
	# the stack itself discards what another CPU has just routed by the old one.
	check "toggle: drops are recorded" trace_on skb/kfree_skb
	echo "location.function == dst_discard_out" >"$filter"
	transfer a $((mb * 2)) >/dev/null &
	stream=$!
	overrun=$(vib oracles rx_no_buffer)
	way=$(way)
	lost=$(missing toggling)
	# datagrams have no flow control: beside a stream a receiver that is late may be overrun
	overrun=$(($(vib oracles rx_no_buffer) - overrun))
	old=$(traced -c "ping-.*dst_discard_out")
	trace_off
	echo 0 >"$filter"
	check "toggle: $toggles times and back; no ping was lost ($lost) that found a buffer ($overrun found none)" \
		[ "$lost" -le $((overrun + old)) ] || note "$way; then $(way)"
	[ "$old" = 0 ] || note "$old pings had a route that was just being replaced"
	wait "$stream"
	is "toggle: TCP meanwhile" "$?" 0
	check "toggle: nothing is left" wait_for 10 sh -c "! grep -q ' flushing ' $debug/${T_IF_A}_conn"
	check "toggle: all ended" disconnect
}

suite_link()
{
	connect
	ctl link vib0:2 down
	wait_for 10 sh -c "! carrier_b" || true
	ctl link vib0:2 up
	wait_carrier 30
	check "link: B is reached after its port was down" wait_for 20 ping_b
	check "link: by large packets too" wait_for 30 ping -q -c 1 -W 2 -s 40000 "$T_IP4_B"
	ctl link vib0:1 bounce 200
	wait_carrier 30
	check "link: after a bounce of A" wait_for 20 ping_b
	check "link: by large packets too" wait_for 30 ping -q -c 1 -W 2 -s 40000 "$T_IP4_B"
	ctl set vib0:1 rereg
	is "link: the subnet manager wants us to register again" \
		"$(ping -q -c 20 -i 0.05 -W 2 "$T_IP4_B" | lost)" 0
	check "link: the connection is still there" live a to
	modes datagram
}

suite_child()
{
	child_netlink a "$T_PKEY" cm0 mode connected
	child_netlink b "$T_PKEY" cm1 mode connected
	child_addr a cm0 10.99.0.1/24
	child_addr b cm1 10.99.0.2/24
	is "child: made in connected mode" "$(cat /sys/class/net/cm0/mode)" connected
	is "child: MTU" "$(cat /sys/class/net/cm0/mtu)" 65520
	check "child: large packets" wait_for 20 ping -q -c 1 -W 2 -s 60000 10.99.0.2
	check "child: over a connection" grep -q '^to .* live ' "$debug/cm0_conn"
	check "child: deleted with its connection" ip link del cm0
	in_b ip link del cm1
}

suite_life()
{
	local begin

	connect
	check "life: a connection" live a to
	begin=$SECONDS
	check "life: down" ip link set "$T_IF_A" down
	check "life: in less than 6 s" [ $((SECONDS - begin)) -lt 6 ]
	bounce_a
	check "life: up again" wait_for 20 ping -q -c 1 -W 2 -s 60000 "$T_IP4_B"
	connect
	check "life: unloaded with connections alive" rmmod ib_ipoib
	is "life: no queue pair is left" "$(rdma res show qp type RC | wc -l)" 0
	check "life: loaded again" modprobe ib_ipoib
	wait_for 20 test -e "/sys/class/net/$T_IF_A"
	bring_up
	check "life: B answers" wait_for 30 ping_b
}

[ $# -gt 0 ] || set -- mode data pmtu crowd refuse silent broken idle toggle link child life
for suite; do
	"suite_$suite"
done
done_testing
