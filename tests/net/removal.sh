#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The HCA goes and comes back, with everything in use.
#
#	A (root namespace)			B (namespace b)
#	ib0 --- vib0:1 --- switch --- vib0:2 --- ib1
#	ib0.8001				ib1.8001
#
# Each round: children on both sides, a flood, then the HCA is gone without a word. All interfaces
# have to go in bounded time, wherever they are, and to work again when the HCA is back.

# shellcheck disable=SC2317 # functions are called by name through check and wait_for
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

rounds=3

no_interfaces()
{
	! ip -br link | grep -q '^ib' && ! in_b ip -br link | grep -q '^ib'
}

# restless: files of interfaces that go meanwhile are written to all the time
restless()
{
	local file

	while :; do
		for file in /sys/class/net/ib*/umcast; do
			echo 1 >"$file"
			echo 0 >"$file"
		done 2>/dev/null
	done
}

check "B answers at first" ping -q -c 1 -W 2 "$T_IP4_B"
for round in $(seq $rounds); do
	child_sysfs a "$T_PKEY"
	child_netlink b "$T_PKEY"
	ip link set "$T_IF_A.${T_PKEY#0x}" up
	in_b ip link set "$T_IF_B.${T_PKEY#0x}" up
	start ping -q -f "$T_IP4_B" >/dev/null 2>&1
	flood=$STARTED
	start restless
	writer=$STARTED
	# OpenSM does not notice that its port is gone
	sm_stop
	how=
	[ "$round" != 2 ] || how=fatal
	check "round $round: HCA removed" timeout 60 sh -c "echo hca del vib0 $how >$T_CTL"
	check "round $round: all interfaces are gone" no_interfaces
	stop "$flood"
	stop "$writer"
	check "round $round: HCA back" timeout 60 sh -c "echo hca add vib0 ports=2 sw=sw0 >$T_CTL"
	check "round $round: interfaces back" eval 'b_back && addressed_a'
	check_not "round $round: no carrier without SM" carrier_a
	sm_start
	check "round $round: carrier with SM" wait_carrier 30
	check "round $round: B answers" wait_for 20 ping -q -c 1 -W 1 "$T_IP4_B"
done
done_testing
