# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# The RDMA connection manager finds HCA, port and partition by IP address, and for a request that
# comes in, the interface that it is for.

# rdmacm ADDRESS [SOURCE]: ask B, print what was resolved and answered, and what B saw
rdmacm()
{
	local out server

	out=$(mktemp)
	start_b python3 -IS "$here/rdmacm.py" listen "$1" 7174 >"$out" 2>&1
	server=$STARTED
	wait_for 10 grep -q ready "$out"
	timeout 60 python3 -IS "$here/rdmacm.py" connect "$1" 7174 "${@:2}" 2>&1
	wait_for 2 grep -q ' 0x' "$out"
	stop "$server"
	echo "B: $(grep -v ready "$out")"
	rm -f "$out"
}

part_rdmacm_children()
{
	put create_child "$T_PKEY" >/dev/null
	child_netlink b "$T_PKEY" "$T_IF_B.8001"
	child_addr b "$T_IF_B.8001" 10.78.0.2/24
	child_addr a "$T_IF_A.8001" 10.78.0.1/24
	wait_for 10 ping_b 10.78.0.2
	is "A61 a child with another P_Key, by IPv4" "$(rdmacm 10.78.0.2 | tr '\n' ' ')" \
		"1 0x8001 REJECTED 28 B: 2 0x8001 "
	ip link del "$T_IF_A.8001"
	in_b ip link del "$T_IF_B.8001"
}

# Two interfaces with the same P_Key at the same port: the IP address decides
part_rdmacm_twins()
{
	child_netlink b 0xffff c1
	child_addr b c1 10.79.0.2/24
	child_netlink a 0xffff c1
	child_addr a c1 10.79.0.1/24
	wait_for 10 ping_b 10.79.0.2
	is "A61 a child with the P_Key of the parent" "$(rdmacm 10.79.0.2 | tr '\n' ' ')" \
		"1 0xffff REJECTED 28 B: 2 0xffff "
	is "A61 and the parent beside it" "$(rdmacm "$T_IP4_B" | tr '\n' ' ')" \
		"1 0xffff REJECTED 28 B: 2 0xffff "
	ip link del c1
	in_b ip link del c1
}

part_rdmacm_bond()
{
	in_b ip link set "$T_IF_B" down
	in_b ip link add bond1 type bond mode active-backup miimon 100
	in_b ip link set "$T_IF_B" master bond1
	in_b ip addr flush dev "$T_IF_B"
	in_b ip addr add "$T_IP4_B/$T_PREFIX4" dev bond1
	in_b ip link set bond1 up
	wait_for 40 ping_b
	is "A61 a bond" "$(rdmacm "$T_IP4_B" | tr '\n' ' ')" "1 0xffff REJECTED 28 B: 2 0xffff "
	in_b ip link set "$T_IF_B" nomaster
	in_b ip link del bond1
	in_b ip addr replace "$T_IP4_B/$T_PREFIX4" dev "$T_IF_B"
	in_b ip -6 addr replace "$T_IP6_B/$T_PREFIX6" dev "$T_IF_B" nodad
	in_b ip link set "$T_IF_B" up
	wait_carrier 30
}

modprobe rdma_ucm
wait_for 10 test -c /dev/infiniband/rdma_cm
is "A61 a parent, by IPv4" "$(rdmacm "$T_IP4_B" | tr '\n' ' ')" "1 0xffff REJECTED 28 B: 2 0xffff "
is "A61 a parent, by IPv6" "$(rdmacm "$T_IP6_B" | tr '\n' ' ')" "1 0xffff REJECTED 28 B: 2 0xffff "
part_rdmacm_children
part_rdmacm_twins
modprobe bonding max_bonds=0
part_rdmacm_bond
modprobe -r rdma_ucm
check "B answers" wait_for 20 ping_b
