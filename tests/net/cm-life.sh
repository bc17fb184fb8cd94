#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What happens to connections: many of them at once, and whatever may happen to their ports.
#
#	tests/vm/run tests/net/cm-life.sh [SUITE...]
#	tests/vm/run --timeout 1800 tests/net/cm-life.sh dials=20x50
#
# SUITES: dials=PAIRSxROUNDS pkey sm handover rough lack hca unload (all of them). Dials: so many pairs of
# children, A's and B's, ask each other for a connection at the same moment, and so often. The fewer there
# are, the less can be said about memory.

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317,SC2119,SC2120

# shellcheck source=tests/net/cm-lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/cm-lib.sh"
only_ours "life of connections"

pairs=0

# children_live N: the same of all children
children_live()
{
	live_to "$1" "$debug"/c[ab]*_conn
}

# Children of both sides in connected mode, as many as $pairs says, a network for each pair
pairs_make()
{
	local i

	sysctl -qw net.ipv6.conf.default.disable_ipv6=1
	in_b sysctl -qw net.ipv6.conf.default.disable_ipv6=1
	# they are all at one port: each shall speak for itself
	sysctl -qw net.ipv4.conf.all.arp_ignore=1
	in_b sysctl -qw net.ipv4.conf.all.arp_ignore=1
	for ((i = 0; i < pairs; i++)); do
		child_netlink a "$T_PKEY" "ca$i" mode connected && child_netlink b "$T_PKEY" "cb$i" mode connected &&
			ip addr add "10.90.$i.1/24" dev "ca$i" && in_b ip addr add "10.90.$i.2/24" dev "cb$i" &&
			ip link set "ca$i" up && in_b ip link set "cb$i" up || return
	done
	for ((i = 0; i < pairs; i++)); do
		wait_for 30 ping -q -c 1 -W 1 "10.90.$i.2" || return
	done
}

pairs_delete()
{
	local i

	for ((i = 0; i < pairs; i++)); do
		ip link del "ca$i"
		in_b ip link del "cb$i"
	done
	pairs=0
	sysctl -qw net.ipv6.conf.default.disable_ipv6=0
	in_b sysctl -qw net.ipv6.conf.default.disable_ipv6=0
}

# One packet to each, and nobody answers it: the other side speaks of its own accord
dial()
{
	python3 -IS -c '
import socket, sys
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(int(sys.argv[1])):
    sock.sendto(b"x", (f"10.90.{i}.{sys.argv[2]}", 9))
' "$pairs" "$1"
}

# children_mode MODE: of all children on both sides
children_mode()
{
	local i

	for ((i = 0; i < pairs; i++)); do
		echo "link set ca$i type ipoib mode $1"
	done | ip -batch - &&
		for ((i = 0; i < pairs; i++)); do
			echo "link set cb$i type ipoib mode $1"
		done | in_b ip -batch -
}

# A change of mode and back ends all connections, and nothing is left that waits: all may dial at once
children_apart()
{
	children_mode datagram && wait_for 40 children_live 0 && children_mode connected
}

# children_rest N: the same, and the fabric has no more than N queue pairs of connections left
children_rest()
{
	children_apart && wait_for 40 qps_at_most "$1"
}

# All pairs dial, from both ends at once
dial_round()
{
	children_apart || return
	dial 2 &
	in_b bash -c "$(declare -f dial); pairs=$pairs; dial 1"
	wait $!
	wait_for 40 children_live $((2 * pairs))
}

# What the fabric holds for its users. Paths, and with them address handles, come and go as they like.
objects()
{
	sed 's/ high.*//; /^ah=/d' /sys/kernel/debug/vib/objects | xargs
}

# Bytes in the objects that kmalloc has given away
kmalloc_bytes()
{
	awk '$1 ~ /^kmalloc-/ { sum += $2 * $4 } END { printf "%d\n", sum }' /proc/slabinfo
}

suite_dials()
{
	local rounds=$2 dials=$(($1 * $2)) i before queues held bytes asked

	before=$(objects) queues=$(vib objects rc)
	pairs=$1
	check "dials: $1 pairs" pairs_make
	check "dials: a first round" dial_round
	check "dials: of which nothing is left" children_rest "$queues"
	held=$(objects) bytes=$(kmalloc_bytes) asked=$(total asked_for)
	for ((i = 0; i < rounds; i++)); do
		dial_round || break
	done
	is "dials: $rounds rounds, each pair has two connections" "$i" "$rounds"
	asked=$(($(total asked_for) - asked))
	note "$asked asked for, $(total opened) opened, $(total rejected) rejected, $(total silent) silent," \
		"$(total broken) broken"
	check "dials: each was asked for" [ "$asked" -ge $((2 * dials)) ]
	is "dials: none was rejected" "$(total rejected)" 0
	check "dials: nothing is left of any" children_rest "$queues"
	is "dials: the fabric holds what it held" "$(objects)" "$held"
	bytes=$(($(kmalloc_bytes) - bytes))
	# half of a kilobyte for each connection, beside what others take; the debug kernel keeps what was freed
	if [ "$T_KERNEL" = debug ]; then
		skip "dials: memory after $dials of both ends" "kmemleak looks for it"
	else
		check "dials: after $dials of both ends memory has not grown ($bytes bytes)" \
			[ "$bytes" -lt $((1024 * dials + 524288)) ]
	fi
	pairs_delete
	is "dials: without the children, what it held before" "$(objects)" "$before"
}

suite_pkey()
{
	local slot

	modes connected
	check "pkey: connected" wait_for 20 large
	ctl set vib0:1 pkey 0 0
	check "pkey: gone: no carrier" wait_for 10 eval '! carrier_a'
	check "pkey: gone: no connection" wait_for 10 eval "! grep -q ' live ' $conn_a"
	ctl set vib0:1 pkey 0 0xffff
	check "pkey: back: carrier" wait_carrier 30
	check "pkey: back: B answers" wait_for 20 large
	slot=$(grep -lix "$T_PKEY" /sys/class/infiniband/vib0/ports/1/pkeys/* | head -n 1 | sed 's|.*/||')
	pairs=1
	check "pkey: a child" pairs_make
	check "pkey: it is connected" wait_for 20 large 10.90.0.2
	ctl set vib0:1 pkey 9 "$T_PKEY"
	ctl set vib0:1 pkey "$slot" 0
	check "pkey: moved: B answers" wait_for 30 large 10.90.0.2
	ctl set vib0:1 pkey 9 0
	check "pkey: the child's gone" wait_for 10 eval '! carrier_a ca0'
	ctl set vib0:1 pkey "$slot" "$T_PKEY"
	check "pkey: and back" wait_for 30 large 10.90.0.2
	check "pkey: the parent was not disturbed" large
	pairs_delete
	# what was on its way met another partition
	vib_reset
}

suite_sm()
{
	modes connected
	check "sm: connected" wait_for 20 large
	pings_start 20000
	sm_restart
	ctl event vib0:1 sm_change 20 1
	check "sm: the next one" wait_for 30 sm_ports_active
	pings_end
	is "sm: no ping is lost to a change of the manager" "$pings_lost" 0
	check "sm: A's connection is the same" live_to 2 "$conn_a" "$conn_b"
}

# Two managers: the second one takes over when the first one dies, and hands over when it is back
suite_handover()
{
	local second before

	sm_restart -p 8
	check "handover: first manager" wait_for 30 sm_ports_active
	check "handover: carrier" wait_carrier 30
	modes connected
	check "handover: connected" wait_for 20 both_ways
	sm_second
	second=$STARTED
	check "handover: the second one stands by" wait_for 30 grep -qs STANDBY "$SM_SECOND/log"
	before=$(own "$conn_a" "$conn_b")
	pings_start 20000
	kill -9 "$(sm_pid)"
	check "handover: the second one takes over" wait_for 60 sm_master_is 2
	check "handover: and asks to register again" wait_for 30 sm_swept "$SM_SECOND/log"
	sm_start -p 8
	check "handover: the first one comes back and takes over" wait_for 60 sm_master_is 1
	check "handover: all of it is up" wait_for 30 sm_ports_active
	pings_end
	is "handover: no ping is lost" "$pings_lost" 0
	is "handover: the connections are the same" "$(own "$conn_a" "$conn_b")" "$before"
	stop "$second"
}

# rough NAME KEY=VALUE...: that befalls the messages of the connection manager, both ways
rough()
{
	local name=$1 port
	shift

	check "rough: $name: no connections" disconnected
	for port in 1 2; do
		ctl fault "vib0:$port" out class=cm seed="$port" "$@"
	done
	pings_start 56
	modes connected
	check "rough: $name: connected" wait_for 60 both_ways
	check "rough: $name: they end" disconnected
	modes connected
	check "rough: $name: and once more" wait_for 60 both_ways
	pings_end
	is "rough: $name: no small ping is lost" "$pings_lost" 0
	for port in 1 2; do
		ctl fault "vib0:$port" clear
	done
}

# Requests, answers and farewells that come twice, late and in another order, or not at all
suite_rough()
{
	rough "twice" do=dup
	rough "late" do=delay us=100000 jitter=400000
	rough "lost" do=drop ppm=300000
	check "rough: afterwards" disconnected
	modes connected
	check "rough: connected again" wait_for 30 both_ways
}

# without OP: A is set up, and that call of the HCA fails
without()
{
	ip link set "$T_IF_A" down
	ctl failop "$1" 1 1 12
	addressed_a
	check "lack: $1 fails" failed "$1"
	ctl failop clear
	check "lack: without $1: carrier" wait_carrier 30
	check "lack: without $1: B answers" wait_for 20 ping_b
}

# Only B has a connection that it asked for
apart_a()
{
	echo datagram >"/sys/class/net/$T_IF_A/mode" && wait_for 40 eval "! grep -q '^to ' $conn_a"
}

# An HCA that refuses what connections need: datagrams go on, and later there is a connection
suite_lack()
{
	local step op nth

	modes connected
	without create_cq
	check "lack: without create_cq: large ones in pieces" wait_for 20 large
	check "lack: without create_cq: no connection" live_to 0 "$conn_a"
	without create_srq
	check "lack: without create_srq: connected" wait_for 40 both_ways
	check "lack: without create_srq: buffers of its own" grep -q "^from .* receives 32 " "$conn_a"
	ip link set "$T_IF_A" down
	up_a
	# A asks B, and B need not ask: so it is always the same call of the same side
	for step in create_cq:1 create_qp:1 create_qp:2 modify_qp:1 modify_qp:2 modify_qp:3 modify_qp:4 modify_qp:5 \
		modify_qp:6; do
		op=${step%:*} nth=${step#*:}
		check "lack: A asks for none" apart_a
		ctl failop "$op" "$nth" 1 12
		modes connected
		check "lack: $op $nth fails" wait_for 20 eval "large; failed $op"
		check "lack: $op $nth: B answers" ping_b
		ctl failop clear
		check "lack: $op $nth: connected" wait_for 40 both_ways
	done
	# the end cannot be had in good order either
	ctl failop modify_qp 1 2 22
	check "lack: they end all the same" disconnected
	check "lack: a line says so" sh -c "dmesg | grep -q 'cannot move the queue pair of a connection to ERR'"
	ctl failop clear
	modes connected
	check "lack: connected again" wait_for 20 both_ways
}

suite_hca()
{
	local how

	for how in "" fatal; do
		modes connected
		check "hca: connected" wait_for 20 large
		start ping -q -f -s 20000 "$T_IP4_B" >/dev/null 2>&1
		# OpenSM does not notice that its port is gone
		sm_stop
		check "hca: removed ${how:-in good order}" timeout 60 sh -c "echo hca del vib0 $how >$T_CTL"
		stop "$STARTED"
		check "hca: no queue pair is left" qps_at_most 0
		check "hca: back" timeout 60 sh -c "echo hca add vib0 ports=2 sw=sw0 >$T_CTL"
		b_back
		addressed_a
		sm_start
		check "hca: carrier" wait_carrier 30
		check "hca: B answers" wait_for 20 ping_b
	done
	modes connected
	check "hca: connected again" wait_for 20 large
}

suite_unload()
{
	local i floods=() begin took most

	modes connected
	pairs=8
	check "unload: eight pairs" pairs_make
	for ((i = 0; i < 8; i++)); do
		start ping -q -i 0.02 -s 20000 "10.90.$i.2" >/dev/null 2>&1
		floods+=("$STARTED")
	done
	check "unload: they are connected both ways" wait_for 30 children_live 16
	begin=$SECONDS
	check "unload: with all of them alive" rmmod ib_ipoib
	took=$((SECONDS - begin)) most=20
	[ "$T_KERNEL" != debug ] || most=80
	check "unload: in less than $most s ($took s)" [ "$took" -lt "$most" ]
	for i in "${floods[@]}"; do
		stop "$i"
	done
	check "unload: no queue pair is left" qps_at_most 0
	# the children went with it
	pairs_delete 2>/dev/null
	check "unload: loaded again" modprobe ib_ipoib
	b_back
	addressed_a
	check "unload: carrier" wait_carrier 30
	modes connected
	check "unload: B answers" wait_for 20 large
}

[ $# -gt 0 ] || set -- dials=5x3 pkey sm handover rough lack hca unload
for suite; do
	note "$suite, after $SECONDS s"
	case $suite in
	dials=*x*) suite_dials "$(sed 's/.*=//; s/x.*//' <<<"$suite")" "${suite##*x}" ;;
	*) "suite_$suite" ;;
	esac
done
done_testing
