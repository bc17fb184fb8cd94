#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Faults that IPoIB drivers had in the field, made again on purpose: P_Keys, children, namespaces.
# The labels are those of tests/net/field.txt, which tells what went wrong each time.
#
#	tests/vm/run --kernel debug --timeout 900 tests/net/field-pkey.sh [LABEL...]
#
#	A (root namespace)			B (namespace b)
#	ib0 --- vib0:1 --- switch --- vib0:2 --- ib1
#
# P_Keys are changed at the ports, without the SM: it would not do it at the moment that matters.

# shellcheck disable=SC2317 # functions are called by name through check and wait_for
# shellcheck source=tests/net/field-lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/field-lib.sh"

datagram=$T_ROOT/tests/net/datagram.py

case $T_KERNEL in
debug) rounds=4 ;;
*) rounds=12 ;;
esac

no_carrier()
{
	! carrier_a "$1"
}

pkey_is()
{
	[ "$(cat "/sys/class/net/$1/pkey")" = "$2" ]
}

# brd_pkey IF: P_Key in the broadcast address
brd_pkey()
{
	cut -d: -f9,10 "/sys/class/net/$1/broadcast" | tr -d :
}

# brd_is IF PKEY
brd_is()
{
	[ "$(brd_pkey "$1")" = "${2#0x}" ]
}

# --- B16: a child with more queues than the data path has
send_from()
{
	taskset -c "$1" ping -q -f -c 200 -s 2000 10.81.0.2
}

b16()
{
	local i pids=() dev kind

	child_netlink b "$T_PKEY" c0
	child_addr b c0 10.81.0.2/24
	for kind in netlink sysfs; do
		if [ "$kind" = netlink ]; then
			child_netlink a "$T_PKEY" c0 && dev=c0
		else
			child_sysfs a "$T_PKEY" && dev=$T_IF_A.${T_PKEY#0x}
		fi
		child_addr a "$dev" 10.81.0.1/24
		check "B16 $kind child: B answers" wait_for 20 ping_b 10.81.0.2
		is "B16 $kind child: send queues" "$(find "/sys/class/net/$dev/queues" -name 'tx-*' | wc -l)" 1
		pids=()
		for i in $(seq 16); do
			start send_from $((i % T_SMP)) >/dev/null
			pids+=("$STARTED")
		done
		wait_all "${pids[@]}"
		is "B16 $kind child: 16 senders on all CPUs" "$FAILED" 0
		ip link del "$dev"
	done
	in_b ip link del c0
}

# --- B18: the P_Key is written while the interface is being made
race_pkey()
{
	# names are given anew in each namespace, and B's interface is in another one
	local i dev=$T_IF_B

	for i in $(seq "$rounds"); do
		echo "hca add vib1 ports=1 sw=sw0" >"$T_CTL" &
		# as soon as there is a port; the driver is at work then
		until echo "set vib1:1 pkey 0 0x8001" >"$T_CTL"; do
			:
		done 2>/dev/null
		wait $! || return
		ip link set "$dev" up || return
		wait_for 10 pkey_is "$dev" 0x8001 || { echo "round $i: $(cat "/sys/class/net/$dev/pkey")"; return 1; }
		wait_for 10 brd_is "$dev" 0x8001 || return
		ctl hca del vib1
	done
}

b18()
{
	# OpenSM would write the table of a new port
	sm_stop
	check "B18 a P_Key written while the interface appears is not missed" race_pkey
	sm_start
	check "B18 carrier" wait_carrier 60
	check "B18 OpenSM writes no more" wait_for 30 sm_swept
}

# broadcast_in PKEY: a broadcast address of A in another partition
broadcast_in()
{
	local right

	right=$(<"/sys/class/net/$T_IF_A/broadcast")
	echo "${right:0:24}${1:2:2}:${1:4:2}${right:29}"
}

# A foreign P_Key in it is not kept
foreign_broadcast()
{
	local right

	right=$(<"/sys/class/net/$T_IF_A/broadcast")
	ip link set "$T_IF_A" broadcast "$(broadcast_in 0x8005)" &&
		[ "$(<"/sys/class/net/$T_IF_A/broadcast")" = "$right" ]
}

# --- B19: no valid P_Key at probe
b19()
{
	ctl set vib0:1 pkey 0 0
	check "B19 loaded without a P_Key" reload
	check "B19 a broadcast address does not stay in a foreign partition" foreign_broadcast
	check "B19 up succeeds" ip link set "$T_IF_A" up
	addressed_a
	check_not "B19 no carrier" carrier_a
	child_sysfs a "$T_PKEY"
	ctl set vib0:1 pkey 0 0xffff
	check "B19 the P_Key comes: carrier" wait_for 20 carrier_a
	check "B19 B answers" wait_for 20 ping_b
	check "B19 nor while it is up" foreign_broadcast
	check "B19 a new group works" cast_from b 239.3.3.5
	ctl set vib0:1 pkey 0 0x8005
	check "B19 another P_Key: followed" wait_for 20 pkey_is "$T_IF_A" 0x8005
	check "B19 broadcast address as well" wait_for 20 brd_is "$T_IF_A" 0x8005
	is "B19 the child keeps its own" "$(cat "/sys/class/net/$T_IF_A.${T_PKEY#0x}/pkey")" "$T_PKEY"
	child_sysfs_del a "$T_PKEY"
	ctl set vib0:1 pkey 0 0xffff
	check "B19 back" wait_carrier 30
	check "B19 B answers at the end" wait_for 20 ping_b
}

# heard COUNT: so many different datagrams have come
heard()
{
	[ "$(grep -c '^[0-9]' "$field_tmp/heard")" = "$1" ]
}

# exchange FIRST SECOND: the first P_Key of both ports changes its place with the second one
exchange()
{
	local slot p

	slot=$(grep -lix "$2" /sys/class/infiniband/vib0/ports/1/pkeys/* | head -n 1 | sed 's|.*/||')
	for p in 1 2; do
		ctl set "vib0:$p" pkey "$slot" "$1"
		ctl set "vib0:$p" pkey 0 "$2"
	done
}

# --- B21: the parent changes the partition, and all its groups have to follow
b21()
{
	local member

	# a member since before the change
	: >"$field_tmp/heard"
	start_b python3 "$datagram" hear 239.3.3.3 "$T_IF_B" 7031 10 >"$field_tmp/heard"
	member=$STARTED
	check "B21 B is a member" wait_for 30 grep -q ready "$field_tmp/heard"
	exchange 0xffff "$T_PKEY"
	check "B21 both follow" wait_for 20 pkey_is "$T_IF_A" "$T_PKEY"
	check "B21 carrier in the other partition" wait_carrier 30
	check "B21 B answers by its link-local address" wait_for 20 ping_b "$(link_local b)%$T_IF_A"
	is "B21 no group of the device list is left behind" \
		"$(ip maddr show dev "$T_IF_A" | grep -c 'link.*:ff:ff:00:00')" 0
	check "B21 a new IPv4 group works" cast_from a 239.3.3.4
	check "B21 a new IPv6 group works" cast_from a ff15::3:4
	start python3 "$datagram" cast 239.3.3.3 "$T_IF_A" 7031 10
	check "B21 who was a member before hears again" wait_for 60 heard 10
	stop "$STARTED"
	stop "$member"
	exchange "$T_PKEY" 0xffff
	check "B21 back" wait_carrier 30
	check "B21 B answers at the end" wait_for 20 ping_b
	# packets that were under way came from another partition
	vib_reset
}

# A bond copies the broadcast address of its first member and looks at it never again
b21_bond()
{
	local bond=bond1

	modprobe bonding max_bonds=0
	ip link set "$T_IF_A" down
	ip addr flush dev "$T_IF_A"
	ip link add "$bond" type bond mode active-backup miimon 100
	check "B21 a bond" ip link set "$T_IF_A" master "$bond"
	ip addr add "$T_IP4_A/$T_PREFIX4" dev "$bond"
	ip link set "$bond" up
	ip -6 addr add "$T_IP6_A/$T_PREFIX6" dev "$bond" nodad
	check "B21 B answers to the bond" wait_for 20 ping_b
	exchange 0xffff "$T_PKEY"
	check "B21 the bond follows" wait_for 20 brd_is "$bond" "$T_PKEY"
	check "B21 carrier in the other partition" wait_carrier 30
	check "B21 B answers to the bond there" wait_for 20 ping_b
	in_b ip neigh flush dev "$T_IF_B"
	check "B21 B finds the bond by IPv6" wait_for 20 in_b ping -q -c 1 -W 1 "$T_IP6_A"
	check "B21 a group of the bond works" cast_from b 239.3.3.6 "$bond"
	exchange "$T_PKEY" 0xffff
	check "B21 the bond is back" wait_for 20 brd_is "$bond" 0xffff
	check "B21 carrier" wait_carrier 30
	ip link del "$bond"
	addressed_a
	check "B21 B answers without the bond" wait_for 20 ping_b
	vib_reset
}

# --- B23: a child up while its parent is down
b23()
{
	child_sysfs b "$T_PKEY"
	child_addr b "$T_IF_B.${T_PKEY#0x}" 10.81.0.2/24
	child_sysfs a "$T_PKEY"
	ip link set "$T_IF_A" down
	check "B23 the child is up alone, with a carrier" \
		child_addr a "$T_IF_A.${T_PKEY#0x}" 10.81.0.1/24
	check "B23 and works" wait_for 20 ping_b 10.81.0.2
	ip link set "$T_IF_A" up
	check "B23 parent up: works" wait_for 20 ping_b 10.81.0.2
	ip link set "$T_IF_A" down
	check "B23 parent down: the child goes down too" no_carrier "$T_IF_A.${T_PKEY#0x}"
	ip link set "$T_IF_A" up
	check "B23 parent up: the child comes too" wait_for 20 ping_b 10.81.0.2
	child_sysfs_del a "$T_PKEY"
	child_sysfs_del b "$T_PKEY"
	addressed_a
	check "B23 B answers" wait_for 20 ping_b
}

# --- B43: up on a port without a cable
flip_dead()
{
	local i

	for i in $(seq $((2 * rounds))); do
		ip link set "$T_IF_A" up || return
		no_carrier "$T_IF_A" || return
		ip link set "$T_IF_A" down || return
	done
}

b43()
{
	ctl link vib0:1 down
	check "B43 loaded while the cable is out" reload
	check "B43 up and down, many times" flip_dead
	ctl link vib0:1 up
	addressed_a
	check "B43 carrier with the cable" wait_carrier 60
	check "B43 B answers" wait_for 20 ping_b
}

# --- B26: the HCA belongs to a namespace; last, as this needs all other namespaces to be gone
in_n1()
{
	ip netns exec n1 "$@"
}

b26()
{
	local child=$T_IF_A.${T_PKEY#0x}

	ip netns del "$T_NS_B"
	wait_for 20 test -e "/sys/class/net/$T_IF_B"
	check "B26 RDMA devices belong to namespaces" wait_for 20 rdma system set netns exclusive
	# a name for this one
	ip netns attach home $$
	ip netns add n1
	# OpenSM loses its port and has to follow
	sm_stop
	check "B26 the HCA is moved" rdma dev set vib0 netns n1
	in_n1 bash -c ". '$T_ROOT/tests/vm/sm.sh' && sm_start"
	check "B26 its interfaces appear there" wait_for 20 ip -n n1 link show "$T_IF_B"
	check_not "B26 and not in the first namespace" ip link show "$T_IF_A"
	ip -n n1 link set "$T_IF_A" up
	check "B26 they get a carrier" wait_for 30 in_n1 grep -q 1 "/sys/class/net/$T_IF_A/carrier"
	check "B26 a child is made there" in_n1 sh -c \
		"echo $T_PKEY >/sys/class/net/$T_IF_A/create_child && ip link show $child"
	sm_stop
	check "B26 the HCA goes back" in_n1 rdma dev set vib0 netns home
	check "B26 so do the interfaces" wait_for 20 ip link show "$T_IF_A"
	check "B26 again" rdma dev set vib0 netns n1
	ip netns del n1
	check "B26 they come back when the namespace ends" wait_for 30 ip link show "$T_IF_A"
	check "B26 shared again" wait_for 20 rdma system set netns shared
	ip netns del home
	ip netns add "$T_NS_B"
	sm_start
}

[ $# -gt 0 ] || set -- b16 b18 b19 b21 b21_bond b23 b43 b26
run_faults "$@"
