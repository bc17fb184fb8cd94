#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Do reliable connections of the fabric carry the connected mode of a driver? The verbs by a module
# of ours, with packets lost, late, doubled and out of order; then traffic of all lengths, receivers
# without buffers, connections that break, links that bounce, modes that change, in one guest or two:
#
#	tests/vm/run --driver stock --timeout 600 tests/vib/rc.sh
#	tests/vm/run --nodes 2 --driver stock --driver2 stock --timeout 600 tests/vib/rc.sh
#	tests/vm/run --driver stock --vib srq=0 --timeout 600 tests/vib/rc.sh

# many functions are called by name only, as arguments of check and wait_for
# shellcheck disable=SC2317
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"
# shellcheck source=tests/vib/lib.sh
. "$T_ROOT/tests/vib/lib.sh"

PARTS=(verbs harm connect capture tcp patience broken loss links peer plug modes refusals)

nodes=${T_NODES:-1}
srq=$(cat /sys/module/vib/parameters/srq)
CM_MTU=65520

# qps SIDE KEY: that value of all connections of a side's HCA
qps()
{
	# shellcheck disable=SC2016
	on_node "$1" sed -n "/type=rc/s/.*\\b$2=\\([^ ]*\\).*/\\1/p" "$DBG/vib0/qps" | xargs
}

# qpns PORT tx|rx: numbers of the connections of a port of this guest that send, or that receive; the
# driver gives the latter a send queue of one, for the request that tells it that they are drained
qpns()
{
	# shellcheck disable=SC2016
	awk -v port="$1" -v want="$2" '/type=rc/ && !/state=err/ {
		for (i = 1; i <= NF; i++) {
			split($i, kv, "=")
			v[kv[1]] = kv[2]
		}
		if (v["port"] == port && want == (v["sq_size"] > 1 ? "tx" : "rx"))
			print v["qpn"]
	}' "$DBG/vib0/qps"
}

set_mode()
{
	# shellcheck disable=SC2016
	on_side "$1" sh -c 'echo "$2" >"/sys/class/net/$1/mode"' _ "$2" "$3"
}

get_mode()
{
	on_side "$1" cat "/sys/class/net/$2/mode"
}

set_mtu()
{
	on_side "$1" ip link set "$2" mtu "$3"
}

# connected a|b...
connected()
{
	local side if

	for side in "$@"; do
		if=$T_IF_A
		[ "$side" = a ] || if=$T_IF_B
		set_mode "$side" "$if" connected && set_mtu "$side" "$if" "$CM_MTU" || return
	done
}

# ping_b COUNT SIZE [OPTION...]: one after the other, one at least has to be answered
ping_b()
{
	ping -q -c "$1" -i 0.1 -W 5 -s "$2" "${@:3}" "$T_IP4_B"
}

ping_a()
{
	in_b ping -q -c "$1" -i 0.1 -W 5 -s "$2" "${@:3}" "$T_IP4_A"
}

# A connection takes the place of datagrams as soon as it is there; until then long packets are lost
talks()
{
	ping_b 1 50000 -M "do"
}

# A ping hears the answers to all others, too, until a stranger's makes it install a filter: beside a
# flood of long packets its first answer mostly finds its socket full
talks_under_load()
{
	ping_b 5 50000 -M "do"
}

talks_back()
{
	ping_a 1 50000 -M "do"
}

# check_rc TEXT [PARAMETER...]: the module that plays an upper layer
check_rc()
{
	local text=$1
	shift

	dmesg -C
	check "$text" insmod "$T_ROOT/build/$(uname -r)/vib/vib_check_rc.ko" "$@"
	dmesg | sed -n 's/.*vib_check: \(not ok .*\|.* does not hold\|completion.*\)/# \1/p'
	rmmod vib_check_rc 2>/dev/null
}

# with two guests the module has only one port
part_verbs()
{
	local objects

	if [ "$nodes" = 2 ]; then
		skip "verbs" "two ports in one guest"
		return
	fi
	objects=$(sed 's/ high.*//' "$DBG/objects")
	ctl set dev rnr_grace_us 0
	check_rc "verbs"
	ctl set dev rnr_grace_us 20000
	# too small are one buffer of a connection's own and one that is shared
	is "what was done wrong was noticed" \
		"$(vib oracles bad_opcode) $(vib oracles lkey_bad) $(vib oracles rx_too_small)" \
		"1 2 $([ "$srq" = Y ] && echo 2 || echo 1)"
	is "nothing is left behind" "$(sed 's/ high.*//' "$DBG/objects")" "$objects"
	vib_reset
}

heal()
{
	ctl fault vib0:1 clear
	ctl fault vib0:2 clear
}

# harmed TEXT RULE...: messages in both directions, with that rule at both ports
harmed()
{
	local text=$1 hits
	shift

	ctl fault vib0:1 in "$@" seed=1
	ctl fault vib0:2 in "$@" seed=2
	check_rc "$text" bulk=200
	hits=$(sed -n 's/^port=.* hit=\([0-9]*\).*/\1/p' "$DBG/faults" | awk '{ n += $1 } END { print n }')
	check "it did harm ($hits)" test "$hits" -gt 20
	heal
}

part_harm()
{
	if [ "$nodes" = 2 ]; then
		skip "harm to packets" "two ports in one guest"
		return
	fi
	# 2 ms until a packet is sent again; a debug kernel is slower
	ctl set dev timeout_shift "$([ "$T_KERNEL" = debug ] && echo 2 || echo 5)"
	check_rc "messages in both directions" bulk=500
	harmed "packets of messages are lost" class=rcdata "do=drop" ppm=30000
	harmed "acknowledgments are lost" class=rcack "do=drop" ppm=50000
	harmed "packets are damaged" class=rc "do=crc" ppm=30000
	harmed "packets come twice" class=rc "do=dup" ppm=100000
	harmed "packets are late" class=rc "do=delay" us=300 jitter=500 ppm=300000
	harmed "acknowledgments are late" class=rcack "do=delay" us=2000
	harmed "packets overtake each other" class=rcdata "do=hold" after=2 ppm=50000
	ctl set dev timeout_shift 0
	is "no frame is left" "$(sed -n 's/^frames //p' "$DBG/faults")" "waiting=0 lost=0"
}

part_connect()
{
	local size before

	before=$(qps a msgs)
	check "no connection yet" test -z "$before"
	check "connected" connected a b
	is "both say so" "$(get_mode a "$T_IF_A") $(get_mode b "$T_IF_B")" "connected connected"
	check "a connection comes up" wait_for 20 talks
	for size in 0 1 56 1000 1999 2000 2001 4000 4096 8191 8192 16000 32768 50000 65000; do
		check "ping, $size bytes" ping_b 3 "$size" -M "do"
	done
	check "ping, the largest datagram, in fragments" ping_b 3 65507
	check "ping from the other side" ping_a 3 60000
	check "IPv6" ping -q -c 3 -i 0.2 -W 3 -s 60000 "$T_IP6_B"
	check "a flood" ping -q -f -l 50 -c 2000 -W 5 -s 8000 "$T_IP4_B"
	check "there are connections" test -n "$(qps a msgs)"
	check "objects are counted" test "$(vib objects rc)" -ge 2
	is "shared receive queues" "$([ -n "$(qps a srq | tr -d '0 ')" ] && echo Y || echo N)" "$srq"
	is "nothing was retried" "$(qps a timeouts | tr -d '0 ')$(qps a resent | tr -d '0 ')" ""
}

# What tshark makes of the packets
part_capture()
{
	local file=/tmp/rc.pcap ops

	capture_start a vib0:1
	check "long packets" ping_b 2 20000
	capture_stop a "$file"
	# a short one may be among them, as when the stack looks whether its neighbour is still there
	ops=$(capture_read "$file" -Y 'infiniband.bth.opcode < 32 && infiniband.bth.opcode != 4' \
		-T fields -e infiniband.bth.opcode | sort -u | xargs)
	is "first, middle and last, and acknowledgments" "$ops" "0 1 17 2"
	check "with a syndrome" sh -c "[ \"\$1\" -gt 0 ]" _ \
		"$(capture_read "$file" -Y infiniband.aeth -T fields -e infiniband.aeth.syndrome | wc -l)"
	check_not "none is malformed" \
		sh -c "test -n \"\$1\"" _ "$(capture_read "$file" -Y _ws.malformed)"
}

part_tcp()
{
	check "TCP from A" transfer a 32
	check "TCP from B" transfer b 32
	check "TCP over IPv6" transfer a 8 6
}

# Receivers that say they have no buffer, and senders whose patience is short
part_patience()
{
	local qpn n=0

	if [ "$nodes" = 2 ]; then
		skip "no buffer" "numbers of the other guest"
		return
	fi
	for qpn in $(qpns 2 rx); do
		ctl rnr vib0 "$qpn" 3
		n=$((n + 1))
	done
	check "receivers without a buffer ($n)" test "$n" -gt 0
	check "packets wait for them" ping_b 5 20000
	check "they were asked again" test -n "$(qps a rnrs | tr -d '0 ')"
}

# A connection that an adapter gives up
part_broken()
{
	local qpn

	if [ "$nodes" = 2 ]; then
		skip "broken connections" "numbers of the other guest"
		return
	fi
	check "both send" test -n "$(qpns 1 tx)" -a -n "$(qpns 2 rx)"
	for qpn in $(qpns 2 rx); do
		ctl qpfatal vib0 "$qpn"
	done
	ping_b 1 100 >/dev/null
	check "what receives at B breaks, another connection comes" wait_for 60 talks
	check "B still sends" wait_for 60 talks_back
	for qpn in $(qpns 1 tx); do
		ctl qperr vib0 "$qpn" 13
	done
	ping_b 1 100 >/dev/null
	check "a send of A fails, another connection comes" wait_for 60 talks
	check "B still sends then" wait_for 60 talks_back
}

# A packet lost is a connection lost for who does not retry
part_loss()
{
	ctl fault vib0:1 out class=rcdata "do=drop" count=1
	ping_b 1 30000 >/dev/null
	check "a lost packet is survived, by a connection or by its successor" wait_for 90 talks
	ctl fault vib0:1 clear
	ctl fault vib0:1 in class=rcack "do=delay" us=20000
	check "acknowledgments that are late" ping_b 5 30000
	ctl fault vib0:1 clear
	ctl fault vib0:1 in class=cm "do=drop" ppm=300000
	ip neigh flush dev "$T_IF_A"
	check "a lossy handshake" wait_for 60 talks
	ctl fault vib0:1 clear
}

part_links()
{
	local i

	for i in 1 2 3; do
		ctl link vib0:1 bounce 200
		check "link bounce $i: carrier" wait_carrier 60
		check "link bounce $i: talks" wait_for 60 talks
	done
	start ping -q -f -s 30000 "$T_IP4_B"
	for i in 1 2; do
		ctl link vib0:1 bounce 100
		wait_carrier 60
	done
	check "bounces under load" wait_for 60 talks_under_load
	stop "$STARTED"
	check "B goes down" in_b ip link set "$T_IF_B" down
	ping_b 1 100 >/dev/null
	check "B comes up" in_b ip link set "$T_IF_B" up
	in_b ip addr add "$T_IP6_B/$T_PREFIX6" dev "$T_IF_B" nodad 2>/dev/null
	check "and carries" wait_carrier 60
	check "and talks" wait_for 90 talks
	check "both ways" wait_for 90 talks_back
}

# The other machine's driver goes, without a word to those who are connected, and another one comes
part_peer()
{
	if [ "$nodes" = 1 ]; then
		skip "a peer that is killed" "one guest has one driver"
		return
	fi
	check "B is loaded anew" reload_driver b
	check "connected" connected b
	check "carrier" wait_carrier 60
	check "talks" wait_for 90 talks
	check "both ways" wait_for 90 talks_back
}

# An HCA that dies with connections of its own, in the middle of messages
part_plug()
{
	local how

	if [ "$nodes" = 2 ]; then
		skip "an HCA that goes" "one guest is enough"
		return
	fi
	# a name that a new interface must not take
	ip link add "$T_IF_B" type dummy
	in_b ip addr add 10.88.0.2/24 dev "$T_IF_B"
	for how in "" fatal; do
		check "a second HCA" plug vib1 10.88.0.1/24
		check "it is connected, too" set_mode a ibx connected
		set_mtu a ibx "$CM_MTU"
		check "it reaches B" wait_for 60 ping -q -c 1 -W 2 -s 30000 -M "do" 10.88.0.2
		start ping -q -f -s 30000 10.88.0.2
		check "there are connections" wait_for 20 grep -q type=rc "$DBG/vib1/qps"
		check "it goes while it sends ${how:-by itself}" ctl hca del vib1 ${how:+"$how"}
		stop "$STARTED"
		check "the first one works" wait_for 60 talks
	done
	# what B still sends may meet a queue pair of the same number in the next vib1
	is "no oracle" "$(grep -v -e '=0$' -e ^rx_no_buffer= -e ^qkey_violation= "$DBG/oracles")" ""
	ip link del "$T_IF_B"
	vib_reset
}

mixed()
{
	ping_b 2 1500 && ping_a 2 1500
}

unconnected()
{
	[ "$(vib objects rc)" = 0 ]
}

part_modes()
{
	local i

	for i in 1 2 3; do
		check "A by datagrams, $i" set_mode a "$T_IF_A" datagram
		check "talks to B, which is connected" wait_for 60 mixed
		check "A connected, $i" connected a
		check "talks" wait_for 60 talks
	done
	check "A by datagrams" set_mode a "$T_IF_A" datagram
	check "B by datagrams" set_mode b "$T_IF_B" datagram
	check "they talk" wait_for 60 mixed
	check "A goes down" ip link set "$T_IF_A" down
	check "B goes down" in_b ip link set "$T_IF_B" down
	check "no connection is left" wait_for 60 unconnected
	ip link set "$T_IF_A" up
	in_b ip link set "$T_IF_B" up
	check "both come back" wait_carrier 60
	check "and talk" wait_for 30 mixed
}

part_refusals()
{
	refused "No such" rnr vib0 0x3fff 1
	refused "No such device" rnr vib9 0x4000 1
	refused "Invalid argument" rnr vib0 0x4000
	refused "Invalid argument" qpfatal vib0 0x4000 1
	refused "No such" srqerr vib0 99999
	refused "Invalid argument" srqerr vib0
	refused "Numerical result" set dev timeout_shift 32
	refused "Numerical result" set dev srq_sge 0
	refused "Invalid argument" fault vib0:1 in class=rcnak "do=drop"
}

[ $# -gt 0 ] || set -- "${PARTS[@]}"
run_parts "$@"
check "nothing was done wrong" sh -c "! grep -v =0 $DBG/oracles"
done_testing
