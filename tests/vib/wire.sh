#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Wires and captures of the fabric, in one guest: a wire between two ports of it, over a pair of
# virtual Ethernet interfaces with a bridge between them.
#
#	tests/vm/run --driver stock --vib 'hcas=2 ports=1' --timeout 600 tests/vib/wire.sh
#
#	vib0:1 - 1 sw0 8 = w0 - x0 - bridge - x1 - w1 = vib1:1
#
# Two nodes that are really two are the matter of tests/net/interop.sh.

# many functions are called by name only, as arguments of check and wait_for
# shellcheck disable=SC2317
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"
# shellcheck source=tests/vib/lib.sh
. "$T_ROOT/tests/vib/lib.sh"

DOWNED=/sys/class/infiniband/vib1/ports/1/counters/link_downed
FRAMES=$([ "$T_KERNEL" = debug ] && echo 1000 || echo 6000)

# wire DEV KEY: a value of the wire over that interface
wire()
{
	sed -n "s/^wire .*\\bdev=$1 .*\\b$2=\\([^ ]*\\).*/\\1/p" "$DBG/wires"
}

wire_is()
{
	[ "$(wire "$1" "$2")" = "$3" ]
}

answers()
{
	ping -c 1 -W 1 "$T_IP4_B"
}

build()
{
	modprobe -a veth bridge
	ip link add br0 type bridge
	ip link set br0 up
	for n in 0 1; do
		ip link add w$n mtu 9000 type veth peer name x$n mtu 9000
		ip link set x$n master br0 up
		ip link set w$n up
	done
	ip link add small mtu 200 type dummy
	ctl uncable vib1:1
}

test_commands()
{
	refused "No such device" wire sw0:99 w0
	refused "No such device" wire nobody:1 w0
	refused "No such device" wire sw0:8 nobody
	refused "Invalid argument" wire sw0:8 lo
	refused "Invalid argument" wire sw0:8 "$T_IF_A"
	refused "Message too long" wire sw0:8 small
	refused "Device or resource busy" wire sw0:1 w0
	refused "Invalid argument" wire sw0:8
	refused "Numerical result out of range" wire sw0:8 w0 timeout=1
	refused "Invalid argument" wire sw0:8 w0 frob=1
	refused "Transport endpoint is not connected" unwire sw0:8
	refused "Transport endpoint is not connected" unwire w0
	is "nothing has come of it" "$(cat "$DBG/wires")" ""
	check "one end" ctl wire sw0:8 w0 timeout=2000
	refused "Device or resource busy" wire sw0:8 w1
	refused "Device or resource busy" wire vib1:1 w0
	is "one end alone is down" "$(wire w0 up)" 0
	check "the other end" ctl wire vib1:1 w1 timeout=2000
}

test_traffic()
{
	check "carrier over the wire" wait_carrier 60
	check "ping" ping -c 2 -W 5 "$T_IP4_B"
	check "ping, fragmented" ping -c 2 -W 5 -s 20000 "$T_IP4_B"
	check "ping, IPv6" ping -c 2 -W 5 "$T_IP6_B"
	check "8 MB by TCP, A to B" transfer a 8
	check "8 MB by TCP over IPv6, B to A" transfer b 8 6
	check "multicast" cast_from a 239.1.2.3
	is "no gap" "$(wire w0 gap) $(wire w1 gap)" "0 0"
	is "checksums that were promised are there" "$(counter_b rx_errors)" 0
}

downed_since()
{
	[ "$(cat "$DOWNED")" -gt "$1" ]
}

# forgets N: N times, one end of the wire loses the session and cannot say so until it is back
forgets()
{
	local i

	for i in $(seq "$1"); do
		ip link set x1 nomaster
		ip link set w1 down
		ip link set w1 up
		ip link set x1 master br0
		wait_for 5 wire_is w1 up 1 || return 1
		wait_carrier 30 || return 1
	done
}

test_link()
{
	local n

	ctl link vib1:1 down
	check "pulled there: down here" wait_for 5 wire_is w0 up 0
	is "pulled there: state of the port" "$(topo sw0 8 state)" 1
	is "pulled there: the other end does not want it" "$(wire w0 wanted)" 0
	ctl link vib1:1 up
	check "in again: carrier" wait_carrier 60
	n=$(cat "$DOWNED")
	ctl link sw0:8 bounce 100
	check "bounced here: down there" wait_for 5 downed_since "$n"
	check "bounced here: carrier" wait_carrier 60
	ctl set vib1:1 state init
	check "trained anew there: here too, and carrier" wait_carrier 60
	check "traffic" wait_for 20 answers
	ip link set x1 nomaster
	check "silence" wait_for 10 wire_is w0 heard 0
	is "silence: down" "$(topo sw0 8 state) $(topo vib1 1 state)" "1 1"
	ip link set x1 master br0
	check "no silence: carrier" wait_carrier 60
	ip link set w1 down
	check "interface down" wait_for 2 wire_is w1 up 0
	ip link set w1 up
	check "interface up: carrier" wait_carrier 60
	check "an end that fell and is back before the other one missed it: carrier" forgets 8
	ctl unwire vib1:1
	check "unwired: the other end hears it at once" wait_for 1 wire_is w0 heard 0
	ctl wire vib1:1 w1
	check "wired again: carrier" wait_carrier 60
	check "traffic after all that" wait_for 20 answers
}

# Frames that nobody should send. They come from the address of the peer and carry its session.
test_frames()
{
	local kind before after

	start ping -q -i 0.1 "$T_IP4_B" >/dev/null
	for kind in garbage header payload cut; do
		before=$(($(wire w1 bad_frame) + $(wire w1 bad_session) + $(wire w1 bad_packet)))
		check "$kind: $FRAMES frames sent" \
			python3 "$T_ROOT/tests/vib/wire.py" "$kind" x1 "$(cat /sys/class/net/w1/address)" "$FRAMES"
		after=$(($(wire w1 bad_frame) + $(wire w1 bad_session) + $(wire w1 bad_packet)))
		case $kind in
		payload) note "$((after - before)) were refused" ;;
		*) check "$kind: refused and counted ($((after - before)))" \
			test $((after - before)) -ge $((FRAMES / 2)) ;;
		esac
	done
	stop "$STARTED"
	check "still a carrier, or again" wait_carrier 60
	# what was forged may be an ARP reply, and poison the neighbours
	ip neigh flush dev "$T_IF_A"
	in_b ip neigh flush dev "$T_IF_B"
	check "traffic" wait_for 20 answers
	# what the forged packets did to queue pairs and keys was not the doing of a driver
	vib_reset
}

mtu_1024()
{
	[ "$(topo sw0 8 mtu)" = 1024 ] && wire_is w0 up 1
}

test_ends()
{
	ctl unwire sw0:8
	ctl unwire w1
	ip link set w0 mtu 1500
	ctl wire sw0:8 w0
	ctl wire vib1:1 w1
	check "MTU 1500: the port comes up with 1024" wait_for 30 mtu_1024
	ip link del w0
	check "interface gone: no wire" wait_for 5 wire_is w0 up ""
	is "interface gone: no cable" "$(topo sw0 8 peer)" none
	check "interface gone: the other end is down" wait_for 10 wire_is w1 up 0
	check "HCA goes" ctl hca del vib1
	is "HCA gone: the wire has no port" "$(grep -c 'port=none dev=w1' "$DBG/wires")" 1
	check "HCA comes" ctl hca add vib1 ports=1
	check "the same interface for the new one" ctl wire vib1:1 w1
	is "one wire" "$(wc -l <"$DBG/wires")" 1
}

pcap_bytes()
{
	wc -c <"$DBG/pcap"
}

test_capture()
{
	local n

	refused "No such device" capture start vib0:9
	refused "Numerical result out of range" capture start vib0:1 0
	refused "Numerical result out of range" capture start vib0:1 99999999
	refused "Invalid argument" capture frob
	check "capture starts" capture_start a vib0:1 64
	refused "Device or resource busy" capture start sw0:1
	ping -c 5 -i 0.2 "$T_IP4_B" >/dev/null
	check "capture stops" capture_stop a /tmp/ping.pcap
	n=$(capture_read /tmp/ping.pcap -Y icmp | wc -l)
	is "five requests and answers" "$n" 10
	n=$(capture_read /tmp/ping.pcap -o ip.check_checksum:TRUE -Y 'icmp.checksum.status == 0 || ip.checksum.status == 0' | wc -l)
	is "no wrong sum" "$n" 0
	check "capture of much" capture_start a vib0:1 64
	ping -c 50 -i 0.01 -s 4000 "$T_IP4_B" >/dev/null
	capture_stop a /tmp/much.pcap
	check "its memory has an end" test "$(stat -c %s /tmp/much.pcap)" -le 65536
	check "and what did not fit was counted" test "$(capture_lost a)" -gt 0
	check "the file is sound" capture_read /tmp/much.pcap -q -z io,stat,0
	# a port without a cable, where nothing comes in between
	capture_start a sw0:5 64
	is "a new one begins anew" "$(pcap_bytes)" 24
	ctl capture clear
	is "cleared" "$(pcap_bytes)" 0
}

build
for part in commands traffic capture link frames ends; do
	note "$part, after $SECONDS s"
	test_$part
done
done_testing
