#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Failures of the HCA, made to order by the fabric: nothing may leak, crash or stay stuck.
#
#	A (root namespace)			B (namespace b)
#	ib0 --- vib0:1 --- switch --- vib0:2 --- ib1
#
# Each verbs call that the driver makes is made to fail in turn. What cannot be had is refused with
# an error and leaves no objects behind; what can be tried again is, and traffic flows afterwards.

# shellcheck disable=SC2317 # functions are called by name through check and wait_for
# shellcheck source=tests/net/lib.sh
. "$T_ROOT/tests/net/lib.sh"

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

check "carrier at the end" wait_carrier 20
done_testing
