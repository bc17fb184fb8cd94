#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections that fail in one way or another, and what becomes of the packets: none is lost that fits into
# a datagram, none waits for long, and nobody is asked too often.
#
#	tests/vm/run tests/net/cm-fail.sh [SUITE...]
#
# SUITES: closed post spill patience slow buffers (all of them).

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317

# shellcheck source=tests/net/cm-lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/cm-lib.sh"
only_ours "connections that fail"

# lives_on: one that A has asked for is old enough to have ended in good order if it ends now
lives_on()
{
	wait_for 20 both_ways && ping -q -c 12 -i 0.1 -W 2 "$T_IP4_B"
}

# B says good-bye to a connection that has worked, and grants no other one
suite_closed()
{
	local was asked

	modes connected
	check "closed: connected for a while" lives_on
	was=$(cat "$params/max_conn_qp")
	echo 0 >"$params/max_conn_qp"
	asked=$(numbers asked_for <"$conn_a")
	in_b ip link set "$T_IF_B" down
	check "closed: A hears of it" wait_for 10 live_to 0 "$conn_a"
	addressed_b
	wait_carrier 30
	check "closed: B answers" wait_for 20 ping_b
	is "closed: no ping is lost" "$(ping -q -c 100 -i 0.1 -W 2 "$T_IP4_B" | lost)" 0
	asked=$(($(numbers asked_for <"$conn_a") - asked))
	# at once, and after 1, 2, 4 and 8 s; where nobody listens there are two service IDs to try
	check "closed: B is asked seldom ($asked times)" [ "$asked" -le 8 ]
	echo "$was" >"$params/max_conn_qp"
	check "closed: once B grants them" wait_for 70 both_ways
}

post_lines()
{
	dmesg | grep -c 'connection to .*: send failed'
}

# A send that the HCA does not take ends the connection, and the packet goes by datagram
suite_post()
{
	local lines

	modes connected
	check "post: connected" wait_for 20 both_ways
	lines=$(post_lines)
	ctl failop post_send 1 1 12 ping
	is "post: no ping is lost" "$(ping -q -c 1 -W 5 "$T_IP4_B" | lost)" 0
	check "post: a send has failed" failed post_send
	ctl failop clear
	check "post: of a connection" [ "$(post_lines)" -gt "$lines" ]
	check "post: connected again" wait_for 20 both_ways
}

# 1000 small packets to B: more than the rings of the connection and of datagrams take, and less than what
# makes the stack wait
many()
{
	python3 -IS -c '
import socket, sys
for _ in range(8):
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(125):
        sock.sendto(b"x", (sys.argv[1], 9))
' "$T_IP4_B"
}

waiting()
{
	[ "$(grep '^to .* live ' "$conn_a" | numbers waiting | head -n 1)" -ge "$1" ]
}

# What has come to B for nobody
came()
{
	in_b sed -n 's/^Udp: [0-9]* \([0-9]*\) .*/\1/p' /proc/net/snmp
}

# arrived N BEFORE: so many more have come, or have found no buffer, as the fabric knows
arrived()
{
	[ $(($(came) - $2 + $(vib oracles rx_no_buffer))) -ge "$1" ]
}

# What waits for a connection that dies goes by datagram, however much it is
suite_spill()
{
	local dropped qpn before

	modes connected
	check "spill: connected" wait_for 20 both_ways
	vib_reset
	qpn=$(own "$conn_a")
	dropped=$(counter_a tx_dropped) before=$(came)
	ctl hold vib0 "$qpn" 60000
	check "spill: 1000 packets" many
	check "spill: which wait" waiting 900
	ctl qpfatal vib0 "$qpn"
	ctl hold vib0 "$qpn" 0
	check "spill: all arrive" wait_for 20 arrived 1000 "$before"
	is "spill: none was dropped" "$(counter_a tx_dropped)" "$dropped"
	check "spill: connected again" wait_for 70 both_ways
}

# Milliseconds until one who sends what is too big for UD from B to A is told
told_after()
{
	in_b python3 -IS -c '
import socket, sys, time
sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sock.setsockopt(socket.IPPROTO_IP, 10, 2)  # IP_MTU_DISCOVER, IP_PMTUDISC_DO
sock.connect((sys.argv[1], 9))
begin = time.monotonic()
while time.monotonic() < begin + 15:
    try:
        sock.send(bytes(20000), socket.MSG_DONTWAIT)
    except BlockingIOError:
        pass
    except OSError as err:
        print(err.errno, int((time.monotonic() - begin) * 1000))
        break
    time.sleep(0.05)
' "$T_IP4_A"
}

# What is too big for UD waits two seconds at most, however these pass: here for the path, then for an answer
suite_patience()
{
	local path_record=0x35 told

	modes connected
	check "patience: connected" wait_for 20 both_ways
	in_b ip link set "$T_IF_B" down
	# the first question fails after a second, the next one is asked half a second later
	ctl fault vib0:2 in do=drop class=sa "attr=$path_record" count=11
	ctl fault vib0:2 out do=drop class=cm
	addressed_b
	wait_carrier 30
	in_b ip neigh replace "$T_IP4_A" lladdr "$(cat "/sys/class/net/$T_IF_A/address")" dev "$T_IF_B" nud permanent
	told=$(told_after)
	is "patience: the sender is told that it is too big" "${told% *}" 90
	check "patience: after about two seconds (${told#* } ms)" [ "${told#* }" -lt 2900 ]
	ctl fault vib0:2 clear
	in_b ip neigh del "$T_IP4_A" dev "$T_IF_B"
	in_b ip route flush cache
	check "patience: connected again" wait_for 70 both_ways
}

# not_ready N: of the next N messages that A sends, B has no buffer for any
not_ready()
{
	local qpn

	sed -n 's/^from .* live own_qpn \([^ ]*\) .*/\1/p' "$conn_b" |
		while read -r qpn; do
			ctl rnr vib0 "$qpn" "$1" || exit
		done
}

# B has no buffers, whatever connections it has
deaf()
{
	while not_ready 100000; do
		sleep 0.2
	done
}

# pause: how long A waited before it asked B again, in seconds
pause()
{
	sed -n 's/^to .* hold \([0-9]*\).*/\1/p' "$conn_a" | head -n 1
}

longer_than()
{
	[ "$(pause)" -gt "$1" ]
}

# A peer that has no buffers is waited for, but not without end
suite_slow()
{
	local before broken deaf pause

	modes connected
	check "slow: connected" wait_for 20 both_ways
	before=$(own "$conn_a") broken=$(numbers broken <"$conn_a")
	check "slow: B has no buffer for the better part of a second" not_ready 30
	is "slow: no ping is lost" "$(ping -q -c 5 -i 0.2 -W 5 "$T_IP4_B" | lost)" 0
	is "slow: the connection is the same" "$(own "$conn_a")" "$before"
	check "slow: nor for long" not_ready 100000
	is "slow: pings go by datagram in the end" "$(ping -q -c 3 -i 0.2 -W 30 "$T_IP4_B" | lost)" 0
	is "slow: the connection was ended" "$(numbers broken <"$conn_a")" $((broken + 1))
	check "slow: a line says why" sh -c "dmesg | grep -q 'connection to .*: the peer takes nothing'"
	# it grants another one, which is no better
	pause=$(pause)
	start deaf
	deaf=$STARTED
	start ping -q -i 0.2 "$T_IP4_B" >/dev/null
	check "slow: one that stays so is asked less often" wait_for 60 longer_than "$pause"
	stop "$STARTED"
	stop "$deaf"
	check "slow: connected again" wait_for 20 both_ways
	vib_reset
}

# All buffers that connections share are there, on both sides
rings_full()
{
	[ "$(cat "$conn_a" "$conn_b" | grep -Ec '^shared_ring: ([1-9][0-9]*) of \1 posted$')" = 2 ]
}

# None at first, then fewer and fewer
suite_buffers()
{
	modes connected
	ip link set "$T_IF_A" down
	in_b ip link set "$T_IF_B" down
	ctl failop post_srq_recv 1 1 12
	addressed_b
	up_a
	check "buffers: the first shared buffer fails" wait_for 20 eval "large; failed post_srq_recv"
	ctl failop clear
	check "buffers: connected after that" wait_for 40 both_ways
	check "buffers: all shared buffers are there" wait_for 10 rings_full
	ctl failop post_srq_recv 1 200 12
	check "buffers: 200 times a buffer is not taken back" \
		wait_for 60 eval "ping -q -c 50 -i 0.01 -s 5000 $T_IP4_B; grep -q '^post_srq_recv .*hit=200 ' /sys/kernel/debug/vib/failop"
	ctl failop clear
	check "buffers: all are there again" wait_for 10 rings_full
	check "buffers: B answers over connections" wait_for 40 both_ways
}

[ $# -gt 0 ] || set -- closed post spill patience slow buffers
for suite; do
	note "$suite, after $SECONDS s"
	"suite_$suite"
done
done_testing
