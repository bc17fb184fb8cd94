#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Subnet managers that hand over, go silent, and come back.
#
#	tests/vm/run [--driver stock] [--kernel debug] --timeout 600 tests/net/subnet.sh

# many functions are called by name only, as arguments of check and wait_for
# shellcheck disable=SC2317
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

ping_b()
{
	ping -q -c 1 -W 1 "${1:-$T_IP4_B}"
}

# stream_start: a TCP stream from A to B; SENDER and RECEIVER are its process ids
stream_start()
{
	start_b python3 "$T_ROOT/tests/net/gap.py" receive "$T_IP4_B" 5400 >/tmp/gap
	RECEIVER=$STARTED
	wait_for 20 lib_listens b 5400
	start python3 "$T_ROOT/tests/net/gap.py" send "$T_IP4_B" 5400
	SENDER=$STARTED
}

# stream_end: the status is 0 if both ends closed without an error
stream_end()
{
	kill "$SENDER"
	wait "$SENDER" && wait "$RECEIVER"
}

# gap_below MS: so long was the longest pause, in guest time
gap_below()
{
	local gap

	gap=$(sed -n 's/.* gap //p' /tmp/gap)
	note "longest pause ${gap:-unknown} ms"
	[ -n "$gap" ] && [ "$gap" -lt "$1" ]
}

part_handover()
{
	local carriers second

	sm_restart -p 8
	check "first manager" wait_for 30 sm_ports_active
	check "carrier" wait_carrier 30
	sm_second
	second=$STARTED
	check "second one stands by" wait_for 30 grep -qs STANDBY $SM_SECOND/log
	carriers=$(cat "/sys/class/net/$T_IF_A/carrier_changes")
	stream_start
	check "a stream is under way" wait_for 20 sh -c "[ \$(cat /sys/class/net/$T_IF_A/statistics/tx_packets) -gt 2000 ]"
	kill -9 "$(sm_pid)"
	check "the second one takes over" wait_for 60 sm_master_is 2
	check "and asks to register again" wait_for 30 sm_swept "$SM_SECOND/log"
	sm_start -p 8
	check "the first one comes back and takes over" wait_for 60 sm_master_is 1
	stream_end
	is "the stream has not broken" $? 0
	note "$(cat /tmp/gap)"
	if [ "$T_DRIVER" = ours ]; then
		check "no pause of 200 ms" gap_below 200
		is "no carrier change" "$(cat "/sys/class/net/$T_IF_A/carrier_changes")" "$carriers"
	fi
	stop "$second"
	check "B answers" ping_b
}

# An SA that does not answer for a while: what is known works on, what is not waits
part_outage()
{
	local begun

	ip neigh flush dev "$T_IF_A"
	in_b ip neigh flush dev "$T_IF_B"
	check "B answers" wait_for 10 ping_b
	kill -STOP "$(sm_pid)"
	check "B answers without an SA" ping_b
	child_netlink a "$T_PKEY" c0
	child_netlink b "$T_PKEY" c1
	ip link set c0 up
	in_b ip link set c1 up
	begun=$SECONDS
	check "down with an SA that is silent" ip link set c0 down
	is "within 6 s" "$((SECONDS - begun < 6))" 1
	ip link set c0 up
	kill -CONT "$(sm_pid)"
	check "carrier once it answers" wait_for 30 carrier_a c0
	ip addr add 10.81.0.1/24 dev c0
	in_b ip addr add 10.81.0.2/24 dev c1
	wait_for 30 carrier_b c1
	check "B answers there" ping -q -c 1 -W 3 10.81.0.2
	ip link del c0
	in_b ip link del c1
}

case ${1:-all} in
all) part_handover; part_outage ;;
*) "part_$1" ;;
esac
done_testing
