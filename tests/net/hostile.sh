#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# An administrator who means no good: every file, attribute and option with values that are wrong, and
# all that can be done at once done at once.
#
#	tests/vm/run --kernel debug --timeout 1500 tests/net/hostile.sh [PART...]
#
#	A (root namespace)			B (namespace b)
#	ib0 --- vib0:1 --- switch --- vib0:2 --- ib1
#
# What is refused has to change nothing, and B has to answer after each part. The other half of the
# verdict is that of the runner: no WARN, no report of KASAN, lockdep or kmemleak, no hung task.
# Random nonsense is in tests/net/conformance, parts "input" and "packet".

# shellcheck disable=SC2317 # functions are called by name through check and wait_for
# shellcheck source=tests/net/field-lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/field-lib.sh"

if [ "$T_DRIVER" = stock ]; then
	skip "what a hostile administrator does" "no test of the stock driver, which crashes"
	done_testing
fi

tools=$T_ROOT/tests/net/conformance
case $T_KERNEL in
debug) seconds=90 ;;
*) seconds=20 ;;
esac

nl()
{
	python3 -IS "$tools/nl.py" "$@"
}

poke()
{
	python3 -IS "$tools/poke.py" "$@"
}

# octets_of IF: its hardware address in hex, without colons
octets_of()
{
	tr -d : <"/sys/class/net/$1/address"
}

first_word()
{
	echo "${1%% *}"
}

# why BEFORE COMMAND...: what a command that fails says behind these words
why()
{
	local before=$1 out
	shift

	out=$("$@" 2>&1) && echo "it did not fail: $out" && return
	[[ $out != *"$before"* ]] || out=${out##*"$before"}
	head -n 1 <<<"$out"
}

answers()
{
	check "$1: B answers" wait_for 30 ping_b
	check "$1: B answers by IPv6" wait_for 30 ping_b "$T_IP6_B"
}

# --- addresses of every length
# Longer ones than an interface has are cut by the network stack.
lengths()
{
	local mine size got other

	mine=$(octets_of "$T_IF_A")
	other=$mine$(zeros 12)
	for size in 0 1 6 8 19; do
		got=$(nl set if="$T_IF_A" address="${other:0:$((2 * size))}")
		is "an address of $size octets" "$(first_word "$got")" EINVAL
		got=$(nl new link="$T_IF_A" name=c1 address="${other:0:$((2 * size))}")
		is "a child with one" "$(first_word "$got")" EINVAL
	done
	for size in 21 32; do
		got=$(nl new link="$T_IF_A" name=c1 address="${other:0:$((2 * size))}")
		is "a child with an address of $size octets" "$(first_word "$got")" EINVAL
	done
	got=$(nl set if="$T_IF_A" address="${other:0:66}")
	is "an address of 33 octets" "$(first_word "$got")" EINVAL
	for size in 0 1 6 19; do
		got=$(nl set if="$T_IF_A" broadcast="$(zeros "$size")")
		is "a broadcast address of $size octets" "$(first_word "$got")" EINVAL
	done
	is "the address is as it was" "$(octets_of "$T_IF_A")" "$mine"
	answers lengths
}

# --- MTU, in either mode
# mtu_says N: what comes of it, and what holds then
mtu_says()
{
	echo "$(first_word "$(nl set if="$T_IF_A" mtu="$1")") $(cat "/sys/class/net/$T_IF_A/mtu")"
}

sizes()
{
	local mode mtu before

	for mode in datagram connected; do
		nl set if="$T_IF_A" mode="$([ "$mode" = datagram ] && echo 0 || echo 1)" >/dev/null
		is "mode $mode" "$(cat "/sys/class/net/$T_IF_A/mode")" "$mode"
		before=$(cat "/sys/class/net/$T_IF_A/mtu")
		for mtu in 0 1 67 68 71 65521 2147483647 2147483648 4294967295; do
			is "$mode: MTU $mtu is refused" "$(mtu_says "$mtu")" "EINVAL $before"
		done
		is "$mode: MTU 72 is taken" "$(mtu_says 72)" "OK 72"
		check "$mode: which IPv4 can live with" wait_for 10 ping_b
		[ "$mode" = datagram ] || is "connected: MTU 65520 is taken" "$(mtu_says 65520)" "OK 65520"
	done
	for mtu in 65521 4294967295; do
		is "a child in connected mode with MTU $mtu is refused" \
			"$(first_word "$(nl new link="$T_IF_A" name=c1 mode=1 mtu="$mtu")")" EINVAL
		check_not "and is not there" [ -e /sys/class/net/c1 ]
	done
	nl set if="$T_IF_A" mode=0 >/dev/null
	nl set if="$T_IF_A" mtu=4092 >/dev/null
	is "the MTU is back" "$(cat "/sys/class/net/$T_IF_A/mtu")" 4092
	addressed_a
	answers sizes
}

# --- moderation that the HCA takes for one queue only
moderation()
{
	local nth

	for nth in 1 2; do
		ctl failop modify_cq "$nth" 1 5
		is "moderation that fails at queue $nth is refused with the error of the HCA" \
			"$(why "netlink error: " ethtool -C "$T_IF_A" rx-usecs 7 rx-frames 3 tx-usecs 5 tx-frames 4)" \
			"Input/output error"
		is "and changes nothing" "$(ethtool -c "$T_IF_A" | grep -c ': *[1-9]')" 0
		ctl failop clear
	done
	answers moderation
}

# --- packet sockets: every length that the address may be said to have
# halens HOW ADDRESS DATA: how many of the lengths from 0 to 32 came to what
halens()
{
	poke halens "$T_IF_A" "$1" "$2" 0806 "$3" | sort | uniq -c | xargs
}

packets()
{
	local arp addr

	addr=$(in_b cat "/sys/class/net/$T_IF_B/address" | tr -d :)$(zeros 12)
	arp=0020080014040001$(octets_of "$T_IF_A")0a4d0001$(zeros 20)0a4d0002
	# the network stack does not look at it and hands 20 on
	is "datagrams to an address that is said to have 0 to 32 octets" \
		"$(halens dgram "$addr" "$arp")" "33 OK"
	is "raw frames with one" \
		"$(halens raw "$addr" "${addr:0:40}08060000$arp")" "33 OK"
	answers packets
}

# --- parameters of the module, at and beyond what they can be
PARAMETERS=/sys/module/ib_ipoib/parameters

# loads VALUE-OF-INT VALUE-OF-UINT: with all parameters like that B answers
loads()
{
	reload send_queue_size="$1" recv_queue_size="$1" max_nonsrq_conn_qp="$1" \
		max_conn_qp="$2" conn_idle="$2" accepted_conn_idle="$2" || return
	addressed_a
	wait_for 40 ping_b || return
	[ "$2" = 0 ] && return
	# with such limits there are connections
	set_mode b connected
	wait_for 20 asked_by_b
}

# asked_by_b: a large packet of B is answered, and B has made a connection for it
asked_by_b()
{
	in_b ping -q -c 1 -W 5 -s 20000 "$T_IP4_A"
	grep -q '^from .* live' "/sys/kernel/debug/ipoib/${T_IF_A}_conn"
}

# error_of NAME VALUE: the error of a value that a parameter cannot have
error_of()
{
	case $1 in *conn_idle|max_conn_qp) [ "${2#-}" = "$2" ] || { echo EINVAL; return; } ;; esac
	case ${2#-} in
	""|*[!0-9]*) echo EINVAL ;;
	*) echo ERANGE ;;
	esac
}

declare -A words=([EINVAL]="Invalid argument" [ERANGE]="Numerical result out of range")

parameters()
{
	local name wrong before error

	check "all parameters 0" loads 0 0
	check "all parameters 1" loads 1 1
	check "all parameters as large as can be" loads 2147483647 4294967295
	check "all parameters as small as can be" loads -2147483648 0
	timeout 60 rmmod ib_ipoib
	for name in send_queue_size recv_queue_size max_nonsrq_conn_qp max_conn_qp conn_idle \
		    accepted_conn_idle; do
		for wrong in 4294967296 99999999999999999999 -99999999999 x 1x ""; do
			error=$(error_of "$name" "$wrong")
			is "$name: '$wrong' is refused" "$(why "'ib_ipoib': " modprobe ib_ipoib "$name=$wrong")" \
				"${words[$error]}"
		done
	done
	check_not "and nothing is loaded" [ -e /sys/module/ib_ipoib ]
	modprobe ib_ipoib && b_back
	addressed_a
	for name in max_conn_qp conn_idle accepted_conn_idle; do
		before=$(cat "$PARAMETERS/$name")
		for wrong in -1 4294967296 x; do
			is "$name: '$wrong' is refused by the file, too" \
				"$(poke write "$PARAMETERS/$name" "$wrong")" "$(error_of "$name" "$wrong")"
		done
		is "$name is as it was" "$(cat "$PARAMETERS/$name")" "$before"
	done
	wait_carrier 40
	answers parameters
}

# --- a bond of two interfaces that fails over
active_is()
{
	[ "$(cat /sys/class/net/bond1/bonding/active_slave)" = "$1" ]
}

bond()
{
	local other=$T_IF_B dev

	modprobe bonding max_bonds=0
	echo "hca add vib1 ports=1 sw=sw0" >"$T_CTL"
	wait_for 20 test -e "/sys/class/net/$other"
	ip link add bond1 type bond mode active-backup miimon 100
	for dev in "$T_IF_A" "$other"; do
		ip addr flush dev "$dev"
		ip link set "$dev" down
		check "bond: takes $dev" ip link set "$dev" master bond1
	done
	ip addr add "$T_IP4_A/$T_PREFIX4" dev bond1
	ip link set bond1 up
	ip -6 addr add "$T_IP6_A/$T_PREFIX6" dev bond1 nodad
	answers bond
	# OpenSM lives at the port of A, so the cable of the other one is pulled
	ip link set bond1 type bond active_slave "$other"
	check "bond: the other one takes over" active_is "$other"
	is "bond: with its address" "$(octets_of bond1)" "$(octets_of "$other")"
	answers "bond, other slave"
	load_start
	ctl link vib1:1 down
	check "bond: a pulled cable: $T_IF_A takes over" wait_for 10 active_is "$T_IF_A"
	answers "bond, cable pulled"
	ctl link vib1:1 up
	wait_for 40 carrier_a "$other"
	ip link set "$T_IF_A" down
	check "bond: $T_IF_A down: the other one takes over" wait_for 10 active_is "$other"
	answers "bond, $T_IF_A down"
	ip link set "$T_IF_A" up
	wait_for 40 carrier_a
	check "bond: its HCA goes: $T_IF_A takes over" timeout 60 sh -c "echo hca del vib1 >$T_CTL"
	check "bond: at once" wait_for 10 active_is "$T_IF_A"
	answers "bond, HCA gone"
	load_end
	ip link del bond1
	addressed_a
	wait_carrier 40
	answers "after the bond"
}

# --- namespaces: everything moves while it is used, and namespaces end with it inside
back_home()
{
	test -e "/sys/class/net/$T_IF_A"
}

move_parent()
{
	local i

	for i in 1 2 3 4 5 6; do
		ip netns add m || return
		ip link set "$T_IF_A" netns m || return
		ip -n m addr add "$T_IP4_A/$T_PREFIX4" dev "$T_IF_A"
		ip -n m link set "$T_IF_A" up || return
		[ $((i % 2)) = 0 ] || wait_for 40 ip netns exec m ping -q -c 1 -W 1 "$T_IP4_B" || return
		[ $((i % 3)) = 0 ] || ip -n m link set "$T_IF_A" netns 1 || return
		ip netns del m
		wait_for 20 back_home || return
	done
}

# A child made in one namespace of a parent in another, and moved on
move_children()
{
	local i dev=$T_IF_A.${T_PKEY#0x}

	for i in 1 2 3 4 5 6; do
		ip netns add m && ip netns add o || return
		child_sysfs a "$T_PKEY" || return
		ip link add link "$T_IF_A" name c1 type ipoib pkey "$T_PKEY" || return
		ip link set "$dev" netns m && ip link set c1 netns o || return
		ip -n m link set "$dev" up && ip -n o link set c1 up || return
		ip -n m link set "$dev" netns o || return
		[ $((i % 2)) = 0 ] || ip link set "$T_IF_A" netns m || return
		ip netns del o
		ip netns del m
		wait_for 20 back_home && wait_for 20 test -e "/sys/class/net/$dev" &&
			wait_for 20 test -e /sys/class/net/c1 || return
		ip link del c1 && child_sysfs_del a "$T_PKEY" || return
	done
}

namespaces()
{
	load_start
	check "namespaces: a parent in use moves, and comes back when they end" move_parent
	addressed_a
	check "namespaces: children move, and come back when they end" move_children
	load_end
	addressed_a
	wait_carrier 40
	answers namespaces
}

# --- everything at once
# busy JOB: again and again until the time is over, whatever comes of it
busy()
{
	local end=$((SECONDS + seconds)) rounds=0

	while [ "$SECONDS" -lt "$end" ]; do
		"$1"
		rounds=$((rounds + 1))
	done >/dev/null 2>&1
	echo "$rounds" >"$field_tmp/$1"
}

up_down()
{
	ip link set "$T_IF_A" down
	ip link set "$T_IF_A" up
}

moods()
{
	echo connected >"/sys/class/net/$T_IF_A/mode"
	ip link set "$T_IF_A" mtu 65520
	echo 1 >"/sys/class/net/$T_IF_A/umcast"
	echo datagram >"/sys/class/net/$T_IF_A/mode"
	echo 0 >"/sys/class/net/$T_IF_A/umcast"
	ip link set "$T_IF_A" mtu 2044
}

looks()
{
	cat /sys/kernel/debug/ipoib/* /sys/class/net/*/{mode,pkey,umcast,parent,carrier,speed}
	ip -d -s link
}

fabric_moves()
{
	ctl event vib0:1 client_reregister 2
	ctl set vib0:1 pkey "$slot" 0
	ctl link vib0:2 bounce 20
	ctl set vib0:1 pkey "$slot" "$T_PKEY"
}

travels()
{
	ip netns add t
	ip link add link "$T_IF_A" name y3 netns t type ipoib pkey 0x8003
	ip -n t link set y3 up
	ip netns del t
	ip link del y3
}

hca_flaps()
{
	echo "hca add vib1 ports=1 sw=sw0" >"$T_CTL"
	ip link set "$T_IF_B" up
	echo 0x8001 >"/sys/class/net/$T_IF_B/create_child"
	echo "hca del vib1" >"$T_CTL"
}

# nonsense nl|poke ARG...: without an end, in the background
nonsense()
{
	start timeout "$seconds" python3 -IS "$tools/$1.py" "${@:2}" 1000000000 >/dev/null
	fools+=("$STARTED")
}

at_once()
{
	local job pids=() fools=() name slot
	local jobs=(up_down moods looks fabric_moves travels hca_flaps)

	slot=$(grep -lix "$T_PKEY" /sys/class/infiniband/vib0/ports/1/pkeys/* | head -n 1 | sed 's|.*/||')
	load_start
	for job in "${jobs[@]}"; do
		start busy "$job"
		pids+=("$STARTED")
	done
	# these are fast, as they start no programs
	nonsense nl fuzz "$T_IF_A" 11
	nonsense nl fuzz "$T_IF_A" 12
	nonsense poke scribble "$T_IF_A" 13
	nonsense poke ioctl "$T_IF_A" 14
	nonsense poke fuzz "$T_IF_A" 15
	wait_all "${pids[@]}"
	for job in "${jobs[@]}"; do
		check "at once: $job came to its end $(cat "$field_tmp/$job") times" [ -s "$field_tmp/$job" ]
	done
	# ended by the time, not by themselves
	for job in "${fools[@]}"; do
		wait "$job"
		is "at once: nonsense all the time" $? 124
	done
	load_end
	for name in $(ip -o link | sed -n "s/^[0-9]*: \([^@:]*\)@$T_IF_A:.*/\1/p"); do
		ip link del "$name"
	done
	ip netns del t 2>/dev/null
	echo datagram >"/sys/class/net/$T_IF_A/mode"
	ip link set "$T_IF_A" mtu 4092
	ethtool -K "$T_IF_A" tx on rx on tso on sg on gso on gro on >/dev/null 2>&1
	ethtool -C "$T_IF_A" rx-usecs 0 rx-frames 0 tx-usecs 0 tx-frames 0 2>/dev/null
	addressed_a
	wait_carrier 60
	answers "at once"
	check "at once: the module goes and comes" reload
	addressed_a
	wait_carrier 60
	answers "after a reload"
}

[ $# -gt 0 ] || set -- lengths sizes moderation packets parameters bond namespaces at_once
run_faults "$@"
