#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# HCAs that come and go while others work, RDMA devices in network namespaces, and an HCA that uses
# the DMA API. With either driver:
#
#	tests/vm/run --driver stock --no-sm --vib autosa=1 --timeout 600 tests/vib/plug.sh

# many functions are called by name only, as arguments of check and wait_for
# shellcheck disable=SC2317
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"
# shellcheck source=tests/vib/lib.sh
. "$T_ROOT/tests/vib/lib.sh"

IBDEV=/sys/class/infiniband
PARTS=(second fatal storm dma handles exclusive)

# The peer of the second HCA is ib1, with an address more
part_second()
{
	local before

	# a name that a new interface must not take
	ip link add "$T_IF_B" type dummy
	in_b ip addr add 10.88.0.2/24 dev "$T_IF_B"
	before=$(ls "$IBDEV")
	check "a second HCA while the first one works" plug vib1 10.88.0.1/24
	check "it reaches B" ping -q -c 3 -i 0.2 -W 2 10.88.0.2
	check "so does the first one" ping -q -c 3 -i 0.2 -W 2 "$T_IP4_B"
	start ping -q -i 0.01 10.88.0.2 >/dev/null 2>&1
	start ping -q -i 0.01 "$T_IP4_B" >/dev/null 2>&1
	check "it goes while it sends" ctl hca del vib1
	is "its interface too" "$(ip link show ibx 2>&1 | grep -c 'does not exist')" 1
	is "the others stay" "$(ls "$IBDEV")" "$before"
	check "the first one works" ping -q -c 3 -i 0.2 -W 2 "$T_IP4_B"
}

part_fatal()
{
	check "a second HCA" plug vib1 10.88.0.1/24
	check "it reaches B" wait_for 10 ping -q -c 1 -W 2 10.88.0.2
	start ping -q -i 0.01 10.88.0.2 >/dev/null 2>&1
	check "it dies" ctl hca del vib1 fatal
	check "the first one works" ping -q -c 3 -i 0.2 -W 2 "$T_IP4_B"
	# B may have sent something to the queue pair of the first vib1 that came to that of the second
	is "no oracle" "$(grep -v -e '=0$' -e ^rx_no_buffer= -e ^qkey_violation= "$DBG/oracles")" ""
	vib_reset
}

# Twenty times, in the middle of joins that the manager delays
part_storm()
{
	local i how

	ctl sa set sw0 delay 20000
	for i in $(seq 20); do
		how=$([ $((i % 2)) = 0 ] || echo fatal)
		ctl hca add vib1 ports=1 sw=sw0 || break
		wait_for 20 has_if vib1 || break
		ip link set "$(if_of vib1)" up
		ctl hca del vib1 "$how" || break
	done
	ctl sa set sw0 delay 0
	is "twenty times in the middle of it" "$i" 20
	check "the first one works" ping -q -c 3 -i 0.2 -W 2 "$T_IP4_B"
	ip link del "$T_IF_B"
	vib_reset
}

part_dma()
{
	check_not "another DMA is none" rebuild dma=quantum
	check "an HCA that uses the DMA API" rebuild dma=phys
	check "ping" wait_for 20 ping -q -c 3 -i 0.2 -W 2 "$T_IP4_B"
	check "IPv6" wait_for 20 ping -q -c 3 -i 0.2 -W 2 "$T_IP6_B"
	check "whole frames" ping -q -c 3 -i 0.2 -W 2 -M "do" -s 4064 "$T_IP4_B"
	check "TCP from A" transfer a 8
	check "TCP from B" transfer b 8
	is "no oracle" "$(grep -v -e '=0$' -e ^rx_no_buffer= "$DBG/oracles")" ""
	check "and back" rebuild
	check "ping again" wait_for 20 ping -q -c 3 -i 0.2 -W 2 "$T_IP4_B"
}

# Address handles may go only when the sends that name them have completed
part_handles()
{
	check "an HCA that watches address handles" rebuild ahcheck=1
	check "ping" wait_for 20 ping -q -c 3 -i 0.2 -W 2 "$T_IP4_B"
	start ping -q -f "$T_IP4_B" >/dev/null 2>&1
	ctl event vib0:1 client_reregister 20 50
	ctl event vib0:1 lid_change 20 50
	stop "$STARTED"
	check "traffic" wait_for 20 ping -q -c 1 -W 1 "$T_IP4_B"
	ip link set "$T_IF_A" down
	is "the driver keeps to the rule" "$(vib oracles ah_in_use_at_destroy)" 0
	check "a module that does not" insmod "$T_ROOT/build/$(uname -r)/vib/vib_check.ko"
	check "is noticed" test "$(vib oracles ah_in_use_at_destroy)" -gt 0
	rmmod vib_check
	# that was our doing
	vib_reset
	check "and back" rebuild
}

in_n1()
{
	ip netns exec n1 "$@"
}

any_if_in()
{
	ip -n "$1" -o link | grep -q link/infiniband
}

# The mode can be changed only while there is one namespace
part_exclusive()
{
	ip netns del "$T_NS_B"
	check "B's interface comes home" wait_for 20 test -e "/sys/class/net/$T_IF_B"
	ip link set "$T_IF_B" down
	check "exclusive" wait_for 20 rdma system set netns exclusive
	# a name for this one
	ip netns attach home $$
	ip netns add n1
	check "the HCA moves to a namespace" rdma dev set vib0 netns n1
	is "it is not here any more" "$(rdma dev | grep -c vib0)" 0
	check "it is there" sh -c "ip netns exec n1 rdma dev | grep -q vib0"
	note "interfaces here: $(ip -o link | grep -c link/infiniband), there: $(ip -n n1 -o link | grep -c link/infiniband)"
	check "the fabric sees it" grep -q 'node name=vib0 ' "$DBG/topo"
	check "it comes back" in_n1 rdma dev set vib0 netns home
	check "it is here" sh -c "rdma dev | grep -q vib0"
	check "again" rdma dev set vib0 netns n1
	ip netns del n1
	check "with its namespace gone it is back" wait_for 30 sh -c "rdma dev | grep -q vib0"
	check "it has its interfaces" wait_for 20 has_if vib0
	check "shared again" wait_for 20 rdma system set netns shared
	ip netns del home
	# the kernel's driver is not too strict about what it posts while its device is taken away
	note "oracles: $(grep -v '=0$' "$DBG/oracles" | xargs)"
	[ "$T_DRIVER" != stock ] || vib_reset
	ip netns add "$T_NS_B"
}

[ $# = 0 ] || PARTS=("$@")
check "carrier" wait_carrier 30
check "traffic" wait_for 20 ping -q -c 1 -W 1 "$T_IP4_B"
run_parts "${PARTS[@]}"
done_testing
