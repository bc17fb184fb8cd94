# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# Namespaces that die, modules and HCAs that go.

part_removal_netns()
{
	local child=$T_IF_A.${T_PKEY#0x}

	ip netns add c
	ip link set "$T_IF_A" netns c
	check "A60 the interface of a port moves" ip -n c link show "$T_IF_A"
	ip -n c addr add "$T_IP4_A/$T_PREFIX4" dev "$T_IF_A"
	ip -n c link set "$T_IF_A" up
	check "A60 and works there" wait_for 30 ip netns exec c ping -q -c 1 -W 1 "$T_IP4_B"
	ip netns exec c python3 -IS "$here/poke.py" write "/sys/class/net/$T_IF_A/create_child" \
		"$T_PKEY" >/dev/null
	differs "a child by sysfs of a parent in a namespace is in" \
		"$(exists "$child" && echo init; ip -n c link show "$child" >/dev/null 2>&1 && echo c)" \
		init c "a child is where its parent is, as with netlink"
	is "a child by netlink in the namespace of the parent" \
		"$(ip netns exec c python3 -IS "$here/nl.py" new link="$T_IF_A" name=c1 pkey="$T_PKEY")" OK
	ip -n c link set c1 netns b
	check "a child moves on" in_b ip link show c1
	ip netns del c
	check "A60 when the namespace dies the interface comes back" wait_for 10 exists "$T_IF_A"
	check_not "A60 and is down" grep -q '[<,]UP[,>]' <(ip link show "$T_IF_A")
	is "A60 under its name, with its device" "$(realpath "$ib_a/device")" \
		"$(realpath /sys/class/infiniband/vib0/device)"
	check "a child of it in another namespace lives on" in_b ip link show c1
	in_b ip link del c1
	! exists "$child" || ip link del "$child"
	ip addr replace "$T_IP4_A/$T_PREFIX4" dev "$T_IF_A"
	restart_a
	check "A60 and works" wait_for 20 ping_b
}

# home: the name under which it has come back
home()
{
	find /sys/class/net -name 'dev*' -printf '%f\n' | head -n 1
}

# Its name is taken by somebody else meanwhile; a child in the same namespace comes along
part_removal_name()
{
	local name

	ip netns add c
	nl new link="$T_IF_A" name=c1 pkey="$T_PKEY" netns=c >/dev/null
	ip link set "$T_IF_A" netns c
	ip link add "$T_IF_A" type dummy
	ip netns del c
	wait_for 10 eval '[ -n "$(home)" ]'
	name=$(home)
	check "A60 it comes back under another name if its own is taken" \
		grep -q link/infiniband <(ip link show "$name")
	check "A60 so do its files" [ -e "$ipoib_dbg/${name}_mcg" ]
	check "A60 a child comes back, too" wait_for 10 exists c1
	check "A60 as a child of it" grep -q "c1@$name:" <(ip link show c1)
	ip link del c1
	ip link del "$T_IF_A"
	ip link set "$name" name "$T_IF_A"
	ip addr replace "$T_IP4_A/$T_PREFIX4" dev "$T_IF_A"
	restart_a
	check "A60 and works" wait_for 20 ping_b
}

# in_use: children on both sides, groups, a flood
in_use()
{
	put create_child "$T_PKEY" >/dev/null
	child_netlink b "$T_PKEY" "$T_IF_B.8001"
	nl new link="$T_IF_A" name=c1 pkey="$T_PKEY" >/dev/null
	ip link set c1 netns b
	ip link set "$T_IF_A.8001" up
	in_b ip link set "$T_IF_B.8001" up
	in_b ip link set c1 up
	start python3 -IS "$here/poke.py" hold 239.8.2.1 "$T_IF_A" 200 >/tmp/hold
	start ping -q -f "$T_IP4_B" >/dev/null 2>&1
	flood=$STARTED
	wait_for 20 carrier_b c1
	wait_for 20 grep -q ready /tmp/hold
}

no_interfaces()
{
	! { ip -o link; ip -n "$T_NS_B" -o link; } | grep -q link/infiniband
}

no_members()
{
	# a group that nobody is in has a record too, without a port
	! saquery --smkey 1 -m | grep -q 'PortGid.*fe80'
}

part_removal_module()
{
	local flood objects

	in_use
	check "A62 the module goes while all is in use" timeout 60 rmmod ib_ipoib
	stop "$flood"
	check "A62 no interface is left" no_interfaces
	check "A62 no membership" wait_for 20 no_members
	objects=$(grep -Eh '^(cq|qp|pd|ah|mr|srq)' /sys/kernel/debug/vib/objects | tr '\n' ' ')
	check "A62 no queue pair of it" [ -z "$(rdma res show qp | grep ib_ipoib)" ]
	check "A62 no completion queue of it" [ -z "$(rdma res show cq | grep ib_ipoib)" ]
	check "A62 no folder in debugfs" [ ! -e "$ipoib_dbg" ]
	note "left: $objects"
	load
	check "interfaces up again" bring_up
	check "B answers" wait_for 20 ping_b
}

part_removal_hca()
{
	local flood

	in_use
	# OpenSM does not notice that its port is gone
	sm_stop
	check "A63 the HCA goes while all is in use" timeout 60 sh -c "echo hca del vib0 >$T_CTL"
	stop "$flood"
	check "A63 no interface is left, in no namespace" no_interfaces
	check "the HCA comes back" timeout 60 sh -c "echo hca add vib0 ports=2 sw=sw0 >$T_CTL"
	sm_start
	check "interfaces up again" bring_up
	check "B answers" wait_for 20 ping_b
}

part_removal_netns
part_removal_name
part_removal_module
part_removal_hca
