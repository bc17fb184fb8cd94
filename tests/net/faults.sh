#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Failures of the HCA and frames that nobody should send, made to order by the fabric: nothing may leak,
# crash or stay stuck.
#
#	A (root namespace)			B (namespace b)
#	ib0 --- vib0:1 --- switch --- vib0:2 --- ib1
#
# Each verbs call that the driver makes is made to fail in turn. What cannot be had is refused with
# an error and leaves no objects behind; what can be tried again is, and traffic flows afterwards.

# shellcheck disable=SC2317 # functions are called by name through check and wait_for
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

if [ "$T_DRIVER" = stock ]; then
	skip "failures of the HCA" "the stock driver crashes on some of them"
	done_testing
fi

ping_b()
{
	ping -q -c 1 -W 1 "$T_IP4_B"
}

objects()
{
	grep -E '^(pd|cq|qp)' /sys/kernel/debug/vib/objects | sed 's/ .*//'
}

child()
{
	child_netlink a "$T_PKEY" c0
}

# A step that fails while a child is made: no child, no objects, and the next try works
for step in alloc_pd:1 create_cq:1 create_cq:2 create_qp:1; do
	op=${step%:*} nth=${step#*:}
	before=$(objects)
	ctl failop "$op" "$nth" 1 12
	check_not "child refused when $op $nth fails" child
	ctl failop clear
	check_not "no child is left after $op $nth" ip link show c0
	is "no objects are left after $op $nth" "$(objects)" "$before"
done
check "child can be made afterwards" child

# Steps that fail while it is set up: refused, and the next try works
for nth in 1 2 3; do
	ctl failop modify_qp "$nth" 1 22
	check_not "up refused when modify_qp $nth fails" ip link set c0 up
	ctl failop clear
	check_not "still down after modify_qp $nth" grep -q 1 /sys/class/net/c0/carrier
done
ctl failop post_recv 3 1 12
check_not "up refused when a receive cannot be posted" ip link set c0 up
ctl failop clear
check "up afterwards" ip link set c0 up
check "carrier afterwards" wait_for 20 carrier_a c0
check "child removed" ip link del c0

# Steps that fail later: tried again
ctl failop attach_mcast 1 1 12
ip link set "$T_IF_A" down
ip link set "$T_IF_A" up
check "carrier in spite of a failing attach" wait_for 20 carrier_a
ctl failop clear
check "B answers after it" wait_for 10 ping_b

ctl failop query_port 1 3 5
ip link set "$T_IF_A" down
ip link set "$T_IF_A" up
check "carrier in spite of a failing port query" wait_for 20 carrier_a
ctl failop clear
check "B answers after it" wait_for 10 ping_b

ip link set "$T_IF_A" down
ip link set "$T_IF_A" up
wait_for 20 carrier_a
ctl failop create_ah 1 2 12
check "B answers in spite of failing address handles" wait_for 20 ping_b
ctl failop clear

# Management datagrams are posts too, and may be the one that fails: try until it is ours
failed_posts()
{
	local before i

	before=$(($(counter_a tx_errors) + $(counter_b tx_errors)))
	for i in $(seq 30); do
		ctl failop post_send 1 1 12
		ping_b >/dev/null
		[ $(($(counter_a tx_errors) + $(counter_b tx_errors))) = "$before" ] || return 0
	done
	echo "not counted in $i tries"
	return 1
}
check "a failing post is counted" failed_posts
ctl failop clear
check "B answers after a failing post" wait_for 10 ping_b

start ping -q -f -c 3000 "$T_IP4_B" >/dev/null
flood=$STARTED
ctl failop post_recv 20 2 12
wait "$flood"
check "B answers after failing receive posts" wait_for 20 ping_b
check "failing receive posts were met" grep -q '^post_recv.*hit=[1-9]' /sys/kernel/debug/vib/failop
ctl failop clear

for _ in 1 2 3; do
	ctl failop post_send 10 3 12
	ping -q -f -c 100 "$T_IP4_B" >/dev/null
done
check "B answers after many failing posts" wait_for 10 ping_b
ctl failop clear

# --- frames that no peer should send
# text_frame TEXT: a datagram for all hosts that says TEXT, in hex, as it is on the wire
text_frame()
{
	python3 -IS - "$1" <<-'END'
	import struct, sys
	text = sys.argv[1].encode()
	udp = struct.pack('!4H', 7777, 7777, 8 + len(text), 0) + text
	ip = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 20 + len(udp), 1, 0, 9, 17, 0, bytes([10, 77, 0, 99]), b'\xff' * 4)
	total = sum(struct.unpack('!10H', ip))
	total = (total & 0xffff) + (total >> 16)
	ip = ip[:10] + struct.pack('!H', ~(total + (total >> 16)) & 0xffff) + ip[12:]
	print((struct.pack('!HH', 0x800, 0) + ip + udp).hex())
	END
}

listen_a()
{
	start python3 -IS -c "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('', 7777))
open('$heard', 'w')
while True:
    text = s.recv(100).decode()
    print(text, file=open('$heard', 'a'))"
}

# frame KEY=VALUE...: for A, with the right Q_Key unless told
frame()
{
	[[ $* == *qkey=* ]] || set -- qkey=0xb1b "$@"
	ctl frame vib0:1 dqpn="$qpn" "$@"
}

# hears TEXT KEY=VALUE...: A takes such a frame in
hears()
{
	frame data="$(text_frame "$1")" "${@:2}"
	wait_for 10 grep -qx "$1" "$heard"
}

# deaf NAME TEXT KEY=VALUE...: A does not take such a frame in, as one that comes after it shows
deaf()
{
	frame data="$(text_frame "$2")" "${@:3}" || not_ok "$1: the frame"
	check "$1: what comes next arrives" hears "after $2"
	check_not "$1: it does not" grep -qx "$2" "$heard"
}

counter_is()
{
	[ "$(counter_a "$1")" = "$2" ]
}

# grown NAME COUNTER BEFORE BY
grown()
{
	wait_for 10 counter_is "$2" $(($3 + $4))
	is "$1" $(($(counter_a "$2") - $3)) "$4"
}

# violations KEY: Pkey or Qkey, as the port of A has counted them
violations()
{
	smpquery portinfo "$lid" 1 | sed -n "s/^$1Violations:\.*//p"
}

heard=/tmp/heard
qpn=0x$(cut -d : -f 2-4 "/sys/class/net/$T_IF_A/address" | tr -d :)
lid=$(($(cat /sys/class/infiniband/vib0/ports/1/lid)))
gid=$(cat /sys/class/infiniband/vib0/ports/1/gids/0)
gid_b=$(cat /sys/class/infiniband/vib0/ports/2/gids/0)
all=ff12:401b:ffff::ffff:ffff
mlid=$(sed -n "s/^port=1 mgid=$all mlid=\([^ ]*\) .*/\1/p" /sys/kernel/debug/vib/vib0/mcast | head -n 1)
listen_a
check "a program listens" wait_for 20 test -e "$heard"
check "a frame that is as it should be arrives" hears plain

errors=$(counter_a rx_errors) lengths=$(counter_a rx_length_errors)
frame n=7 len=3
frame n=5 len=0
grown "too short for a header: errors" rx_errors "$errors" 12
grown "too short: errors of length" rx_length_errors "$lengths" 12
dropped=$(counter_a rx_dropped)
frame n=9 data=88cc0000 len=100
grown "protocols that nobody knows: dropped by the stack" rx_dropped "$dropped" 9
frame n=3 data=08000000
frame n=3 data=86dd0000 len=30
frame n=3 data=08060000 len=20
check "headers only: what comes next arrives" hears "after headers"
is "no more errors" "$(counter_a rx_errors)" $((errors + 12))

# what makes an echo: our LID, our queue pair, and our GUID if there is a GRH
check "a group's frame" hears "to all" dlid="$mlid" dgid=$all sgid="$gid_b"
deaf "our own to a group" "own" dlid="$mlid" dgid=$all sgid="$gid" slid="$lid" sqpn="$qpn"
deaf "our own without a GRH" "own, no GRH" slid="$lid" sqpn="$qpn"
check "our GUID, but another LID" hears "LID" dlid="$mlid" dgid=$all sgid="$gid" slid=$((lid + 7)) sqpn="$qpn"
check "our GUID, but another queue pair" hears "QP" dlid="$mlid" dgid=$all sgid="$gid" slid="$lid"
check "our queue pair, but another GUID" hears "GUID" dlid="$mlid" dgid=$all sgid="$gid_b" slid="$lid" sqpn="$qpn"
check "the GRH of a group in a frame for one port" hears "one" dgid=$all sgid="$gid_b"
check "a GRH of zeros" hears "zeros" dgid=:: sgid=::
frame n=100 data=08060000 len=60 dlid="$mlid" dgid=$all sgid="$gid_b" slid=0x777
check "B seems to be elsewhere: it answers" wait_for 10 ping_b

count=$(violations Pkey)
deaf "P_Key of another partition" "P_Key" pkey="$T_PKEY"
is "P_Key: the port counts it" "$(violations Pkey)" $((count + 1))
count=$(violations Qkey)
deaf "a wrong Q_Key" "Q_Key" qkey=0xbad
is "Q_Key: the port counts it" "$(violations Qkey)" $((count + 1))
is "the HCA saw both" "$(vib oracles pkey_violation) $(vib oracles qkey_violation)" "1 1"
vib_reset
is "what B sends is not mistaken" "$(counter_a rx_errors)" $((errors + 12))

# with four LIDs for each port, all of them are ours
sm_restart -l 2
check "four LIDs" wait_for 40 grep -qx 2 /sys/class/infiniband/vib0/ports/1/lid_mask_count
check "carrier" wait_carrier 40
check "B answers at one of four LIDs" wait_for 20 ping_b
lid=$(($(cat /sys/class/infiniband/vib0/ports/1/lid)))
mlid=$(sed -n "s/^port=1 mgid=$all mlid=\([^ ]*\) .*/\1/p" /sys/kernel/debug/vib/vib0/mcast | head -n 1)
deaf "our own from our last LID" "LID 3" dlid="$mlid" dgid=$all sgid="$gid" slid=$((lid + 3)) sqpn="$qpn"
check "from the LID behind that" hears "LID 4" dlid="$mlid" dgid=$all sgid="$gid" slid=$((lid + 4)) sqpn="$qpn"
sm_restart
check "one LID" wait_for 40 grep -qx 0 /sys/class/infiniband/vib0/ports/1/lid_mask_count
check "carrier again" wait_carrier 40
check "B answers after the frames" ping -q -c 3 -i 0.2 -W 2 "$T_IP4_B"

check "carrier at the end" wait_carrier 20
done_testing
