#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Faults that IPoIB drivers had in the field, made again on purpose: life and death of interfaces.
# The labels are those of tests/net/field.txt, which tells what went wrong each time.
#
#	tests/vm/run --kernel debug --timeout 900 tests/net/field-life.sh [LABEL...]
#
#	A (root namespace)			B (namespace b)
#	ib0 --- vib0:1 --- switch --- vib0:2 --- ib1
#
# Half of each verdict is that of the runner: no WARN, lockdep report, leak or hung task.

# shellcheck disable=SC2317 # functions are called by name through check and wait_for
# shellcheck source=tests/net/field-lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/field-lib.sh"

case $T_KERNEL in
debug) rounds=3 many=5 ;;
*) rounds=8 many=12 ;;
esac

# --- B01: children made by netlink, with everything that can be said about them
child_cycle()
{
	local i options

	ip netns add n1 || return
	for i in $(seq "$rounds"); do
		[ $((i % 2)) = 0 ] || ip link set "$T_IF_A" down
		for options in "" "pkey $T_PKEY" "mode datagram" "umcast 1" \
			"pkey $T_PKEY mode datagram umcast 1"; do
			# shellcheck disable=SC2086
			ip link add link "$T_IF_A" name c0 type ipoib $options &&
				ip link set c0 netns n1 && ip -n n1 link set c0 up &&
				ip -n n1 link del c0 || return
		done
		addressed_a
	done
	ip netns del n1
}

b01()
{
	check "B01 children with all options, moved to a namespace and deleted" child_cycle
	ip link add link "$T_IF_A" name c0 type ipoib
	check_not "B01 a child of a child is refused" ip link add link c0 name c1 type ipoib
	ip link del c0
	check "B01 carrier" wait_carrier 30
}

# --- B02: the namespace of a parent ends
home_again()
{
	[ -e "/sys/class/net/$T_IF_A" ]
}

lose_namespace()
{
	local i

	for i in $(seq "$rounds"); do
		ip netns add f || return
		[ $((i % 2)) = 0 ] || ip link add link "$T_IF_A" name c0 type ipoib pkey "$T_PKEY"
		ip link set "$T_IF_A" netns f || return
		ip -n f link set "$T_IF_A" up
		[ $((i % 2)) = 0 ] || ip link set c0 netns f || return
		ip netns del f
		wait_for 20 home_again || return
		[ $((i % 2)) = 0 ] || { wait_for 20 test -e /sys/class/net/c0 && ip link del c0; } || return
	done
}

b02()
{
	load_start
	check "B02 a parent comes back from namespaces that end" lose_namespace
	load_end
	addressed_a
	check "B02 carrier" wait_carrier 30
	check "B02 B answers" wait_for 20 ping_b
}

# --- B06, B09: down while groups are being joined
groups_complete()
{
	[ "$(grep -c 'complete: *yes' "/sys/kernel/debug/ipoib/${T_IF_A}_mcg")" -gt "$1" ]
}

up_down()
{
	local i begun took worst=0

	for i in $(seq "$1"); do
		begun=$(date +%s%N)
		ip link set "$T_IF_A" down || return
		took=$((($(date +%s%N) - begun) / 1000000))
		[ "$took" -le "$worst" ] || worst=$took
		ip link set "$T_IF_A" up || return
	done
	echo "down took $worst ms at most"
	[ "$worst" -lt 6000 ]
}

b06()
{
	join_start "B06 50 groups" 50
	check "B06 down is quick while groups are being joined" up_down "$many"
	kill -STOP "$(sm_pid)"
	check "B06 and with an SM that does not answer" up_down "$rounds"
	kill -CONT "$(sm_pid)"
	addressed_a
	check "B06 carrier" wait_carrier 60
	check "B06 all groups are joined in the end" wait_for 60 groups_complete 50
	stop "$STARTED"
}

# --- B09: the module goes while groups are being joined
b09()
{
	local i joined

	for i in $(seq 3); do
		join_start "B09 groups, round $i" 60
		joined=$STARTED
		ip link set "$T_IF_A" down
		ip link set "$T_IF_A" up
		check "B09 the module goes while they are being joined, round $i" timeout 60 rmmod ib_ipoib
		stop "$joined"
		modprobe ib_ipoib && b_back
		addressed_a
	done
	check "B09 carrier" wait_carrier 30
	check "B09 B answers" wait_for 20 ping_b
}

# --- B07: parents and children go up and down, each on its own
flip()
{
	local i

	for i in $(seq "$rounds"); do
		ip link set "$1" down || return
		ip link set "$1" up || return
	done
}

b07()
{
	local i pids=()

	for i in $(seq "$many"); do
		child_netlink a "$(printf 0x9%03x "$i")" "c$i"
	done
	load_start
	start ctl event vib0:1 client_reregister 100 30
	pids=("$STARTED")
	start flip "$T_IF_A"
	pids+=("$STARTED")
	for i in $(seq "$many"); do
		start flip "c$i"
		pids+=("$STARTED")
	done
	wait_all "${pids[@]}"
	is "B07 a parent and $many children flip at once, none fails" "$FAILED" 0
	load_end
	for i in $(seq "$many"); do
		ip link del "c$i"
	done
	addressed_a
	check "B07 carrier" wait_carrier 30
	check "B07 B answers" wait_for 20 ping_b
}

# --- B40: ring sizes of all kinds
with_rings()
{
	local i

	reload send_queue_size="$1" recv_queue_size="$1" || return
	addressed_a
	wait_carrier 30 && wait_for 20 ping_b || return
	load_start
	for i in 1 2 3; do
		ip link set "$T_IF_A" down
		addressed_a
		wait_for 20 ping_b || return
	done
	load_end
}

# ring_sizes: what is in force, send and receive
ring_sizes()
{
	cat /sys/module/ib_ipoib/parameters/{send,recv}_queue_size | tr '\n' ' '
}

b40()
{
	local size

	for size in -5 1 2 3 127 4096 8193 100000; do
		check "B40 rings of size $size: load, down, up" with_rings "$size"
		case $size in
		-5 | 1 | 2) is "B40 size $size is brought into range" "$(ring_sizes)" "128 2 " ;;
		3) is "B40 size 3 is rounded up" "$(ring_sizes)" "128 4 " ;;
		127) is "B40 size 127 is rounded up" "$(ring_sizes)" "128 128 " ;;
		4096) is "B40 size 4096 stays" "$(ring_sizes)" "4096 4096 " ;;
		*) is "B40 size $size is brought into range" "$(ring_sizes)" "8192 8192 " ;;
		esac
	done
	with_rings 128
}

# --- B12, B13: the HCA goes and comes, with everything in use or being set up
hca_cycle()
{
	local i

	for i in 1 2 3 4; do
		ip link add link "$T_IF_A" name "c$i" type ipoib pkey "$(printf 0x9%03x "$i")"
	done
	load_start
	sm_stop
	timeout 60 sh -c "echo hca del vib0 >$T_CTL" || return
	load_end
	timeout 60 sh -c "echo hca add vib0 ports=2 sw=sw0 >$T_CTL" || return
	sm_start
	b_back || return
	addressed_a
	wait_carrier 30
}

b12()
{
	local i begun took first=0

	for i in $(seq "$rounds"); do
		begun=$SECONDS
		check "B12 HCA away and back with 4 children and load, round $i" hca_cycle
		took=$((SECONDS - begun))
		[ "$i" != 1 ] || first=$took
	done
	note "first round $first s, last one $took s"
	check "B12 the last round takes no longer than the first one" \
		[ "$took" -le $((2 * first + 5)) ]
	check "B12 B answers" wait_for 20 ping_b
}

b13()
{
	local i joined

	for i in 1 2 3; do
		join_start "B13 groups, round $i" 100
		joined=$STARTED
		kill -STOP "$(sm_pid)"
		ip link set "$T_IF_A" down
		ip link set "$T_IF_A" up
		kill -CONT "$(sm_pid)"
		check "B13 HCA away and back while groups are being joined, round $i" hca_cycle
		stop "$joined"
	done
	check "B13 B answers" wait_for 20 ping_b
}

[ $# -gt 0 ] || set -- b01 b02 b06 b09 b07 b40 b12 b13
run_faults "$@"
