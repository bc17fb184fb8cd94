# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# RDMA devices that belong to one network namespace each: the interface comes where its device is.

# where: the namespaces that have the interface A
where()
{
	! exists "$T_IF_A" || echo -n init
	! ip -n c link show "$T_IF_A" >/dev/null 2>&1 || echo -n c
}

comes_up_in_c()
{
	ip netns exec c sh -c "ip link set $T_IF_A up && grep -q 1 /sys/class/net/$T_IF_A/carrier"
}

part_rdmanetns()
{
	sm_stop
	in_b ip link set "$T_IF_B" netns 1
	ip netns del "$T_NS_B"
	check "exclusive mode" rdma system set netns exclusive
	ip netns add c
	check "the device moves into a namespace" timeout 60 rdma dev set vib0 netns c
	wait_for 10 eval '[ -n "$(where)" ]'
	differs "its interfaces are in" "$(where)" init c \
		"they are where their device is, so that a container gets both"
	# OpenSM has to be where its port is
	ip netns exec c bash -c ". '$T_ROOT/tests/vm/sm.sh' && sm_start"
	[ "$T_DRIVER" = stock ] || check "and come up there" wait_for 40 comes_up_in_c
	sm_stop
	ip netns del c
	check "when the namespace dies they come back" wait_for 20 exists "$T_IF_A"
	check "with their device" wait_for 10 test -e /sys/class/infiniband/vib0
	check "shared mode" rdma system set netns shared
	ip netns add "$T_NS_B"
	in_b ip link set lo up
	sm_start
	check "interfaces up again" bring_up
	check "B answers" wait_for 20 ping_b
}

part_rdmanetns
