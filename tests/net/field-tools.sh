#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Faults that IPoIB drivers had in the field, made again on purpose: offloads, ethtool, names, what
# may be stacked on top. The labels are those of tests/net/field.txt, which tells what went wrong.
#
#	tests/vm/run --kernel debug --timeout 900 tests/net/field-tools.sh [LABEL...]
#
#	A (root namespace)			B (namespace b)
#	ib0 --- vib0:1 --- switch --- vib0:2 --- ib1

# shellcheck disable=SC2317 # functions are called by name through check and wait_for
# shellcheck source=tests/net/field-lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/field-lib.sh"

case $T_KERNEL in
debug) mb=4 senders=16 ;;
*) mb=32 senders=64 ;;
esac

# --- B42: headers of segmented packets have all kinds of lengths
b42()
{
	local stamps sack

	check "B42 TSO is on" sh -c "ethtool -k $T_IF_A | grep -q 'tcp-segmentation-offload: on'"
	for stamps in 0 1; do
		for sack in 0 1; do
			sysctl -qw net.ipv4.tcp_timestamps="$stamps" net.ipv4.tcp_sack="$sack"
			in_b sysctl -qw net.ipv4.tcp_timestamps="$stamps" net.ipv4.tcp_sack="$sack"
			check "B42 $mb MB with timestamps $stamps and SACK $sack" transfer a "$mb"
		done
	done
}

# --- B54: numbers of ports and names
port_numbers()
{
	local dev hca port

	for dev in /sys/class/net/ib*; do
		[ -e "$dev/device" ] || continue
		hca=$(ls "$dev/device/infiniband") || return
		port=$(($(cat "$dev/dev_port") + 1))
		[ "$(cat "$dev/dev_id")" = "$(printf '0x%x' $((port - 1)))" ] || return
		# the port with this number has the GID that is in the address
		[ "$(cut -c 13- "$dev/address" | tr -d :)" = \
			"$(tr -d : <"/sys/class/infiniband/$hca/ports/$port/gids/0")" ] || return
		echo "$hca $port"
	done
}

b54()
{
	local order list

	for order in "vib1 vib2" "vib2 vib1"; do
		for hca in $order; do
			ctl hca add "$hca" ports=2 sw=sw0
		done
		check "B54 each interface names its port, HCAs added as $order" port_numbers
		list=$(port_numbers | grep -c 'vib[12] [12]')
		is "B54 two interfaces for each HCA" "$list" 4
		for hca in $order; do
			ctl hca del "$hca"
		done
	done
	ip link property add dev "$T_IF_A" altname storage0
	ip link set "$T_IF_A" down
	ip link set storage0 name other0
	check "B54 another name, its alternative name stays" ip link show storage0
	ip link set other0 name "$T_IF_A"
	ip link property del dev "$T_IF_A" altname storage0
	addressed_a
	check "B54 carrier" wait_carrier 30
}

# --- B55: speed
# shown CODE: what ethtool and sysfs say of a port whose lanes have that speed, in Mb/s, at 1, 2, 4, 8
# and 12 lanes; a number alone if the two agree
shown()
{
	local width tool file

	for width in 1 16 2 4 8; do
		ctl set vib0:1 rate "$width" "$1"
		tool=$(ethtool "$T_IF_A" | sed -n 's/.*Speed: //p')
		tool=${tool%Mb/s}
		file=$(cat "/sys/class/net/$T_IF_A/speed")
		if [ "$tool" = "$file" ]; then echo "$tool"; else echo "$tool/$file"; fi
	done | xargs
}

# Each generation by its number in management datagrams, with the speed of a lane
all_rates()
{
	local name code lane

	while read -r name code lane; do
		is "B55 $name is shown at each width" "$(shown "$code")" \
			"$lane $((2 * lane)) $((4 * lane)) $((8 * lane)) $((12 * lane))"
	done <<-END
		SDR 1 2500
		DDR 2 5000
		QDR 4 10000
		FDR10 8 10000
		FDR 16 14000
		EDR 32 25000
		HDR 64 50000
		NDR 128 100000
		XDR 256 200000
	END
	if [ "$T_DRIVER" = ours ]; then
		is "B55 what comes after XDR is unknown, and that is no error" "$(shown 512)" \
			"Unknown!/-1 Unknown!/-1 Unknown!/-1 Unknown!/-1 Unknown!/-1"
	fi
	ctl set vib0:1 rate 0 0
}

b55()
{
	all_rates
	check "B55 speed is known with a carrier" sh -c "ethtool $T_IF_A | grep -q 'Speed: 40000Mb/s'"
	ctl link vib0:1 down
	wait_for 10 sh -c "[ \$(cat /sys/class/net/$T_IF_A/carrier) = 0 ]"
	check "B55 without a carrier it is unknown, and that is no error" \
		sh -c "ethtool $T_IF_A | grep -q 'Speed: Unknown'"
	is "B55 in sysfs as well" "$(cat "/sys/class/net/$T_IF_A/speed" 2>/dev/null)" -1
	ctl link vib0:1 up
	check "B55 carrier" wait_carrier 60
	check "B55 speed is known again" sh -c "ethtool $T_IF_A | grep -q 'Speed: 40000Mb/s'"
}

# --- B57: what may be stacked on an interface, and what not
# stack_refused NAME COMMAND...: it fails, and nothing is left of it
stack_refused()
{
	local name=$1
	shift

	"$@" && return 1
	! ip link show "$name" 2>/dev/null
}

enslave()
{
	local master=$1
	shift

	ip link add "$master" type "$@" || return 77
	ip link set "$dev" down
	ip link set "$dev" master "$master"
}

# slave_refused MASTER KIND...: the master is made, but does not take the interface
slave_refused()
{
	local rc

	enslave "$@"
	rc=$?
	ip link del "$1" 2>/dev/null
	[ "$rc" != 0 ] && [ ! -e "/sys/class/net/$dev/master" ]
}

# all_or_nothing MASTER KIND...: either way the interface is free again afterwards
all_or_nothing()
{
	enslave "$@" && ip link set "$1" up
	ip link del "$1"
	ip link set "$dev" up && ip link set "$dev" down && [ ! -e "/sys/class/net/$dev/master" ]
}

slave_works()
{
	local rc

	enslave "$@"
	rc=$?
	[ "$rc" != 0 ] || ip link set "$1" up || rc=1
	[ -e "/sys/class/net/$dev/master" ] || rc=1
	ip link set "$dev" nomaster
	ip link del "$1"
	[ "$rc" = 0 ]
}

b57()
{
	local dev mode

	child_netlink a "$T_PKEY" c0
	for dev in "$T_IF_A" c0; do
		check "B57 $dev: macvlan is refused" stack_refused x0 ip link add link "$dev" name x0 type macvlan
		check "B57 $dev: ipvlan l2 is refused" stack_refused x0 ip link add link "$dev" name x0 type ipvlan mode l2
		check "B57 $dev: ipvlan l3 is refused" stack_refused x0 ip link add link "$dev" name x0 type ipvlan mode l3
		check "B57 $dev: VLAN is refused" stack_refused x0 ip link add link "$dev" name x0 type vlan id 5
		check "B57 $dev: bridge is refused" slave_refused x0 bridge
		if modinfo team >/dev/null 2>&1; then
			check "B57 $dev: team takes it or refuses it, not half of both" all_or_nothing x0 team
		fi
		for mode in balance-rr balance-xor broadcast 802.3ad balance-tlb balance-alb; do
			modinfo bonding >/dev/null 2>&1 || continue
			check "B57 $dev: bond $mode is refused" slave_refused x0 bond mode "$mode"
		done
		if modinfo bonding >/dev/null 2>&1; then
			check "B57 $dev: bond active-backup works" slave_works x0 bond mode active-backup
		fi
		if modinfo vrf >/dev/null 2>&1; then
			check "B57 $dev: VRF works" slave_works x0 vrf table 10
		fi
	done
	ip link del c0
	addressed_a
	check "B57 carrier" wait_carrier 30
	check "B57 B answers" wait_for 20 ping_b
}

# --- B58: many TCP senders and a short queue
# qdisc_drops: packets that the queue above the interface had to drop
qdisc_drops()
{
	tc -s qdisc show dev "$T_IF_A" root | sed -n 's/.*dropped \([0-9]*\),.*/\1/p' | head -n 1
}

b58()
{
	local qlen drops before

	iperf_start b
	for qlen in 256 1000; do
		ip link set "$T_IF_A" txqueuelen "$qlen"
		tc qdisc replace dev "$T_IF_A" root pfifo_fast 2>/dev/null || tc qdisc replace dev "$T_IF_A" root fq
		drops=$(drops)
		before=$(qdisc_drops)
		check "B58 $senders TCP senders, queue of $qlen" \
			iperf3 -c "$T_IP4_B" -P "$senders" -n $((mb * 1024 / senders))K
		is "B58 nothing dropped by the driver, queue of $qlen" "$(drops)" "$drops"
		is "B58 nor above it" "$(qdisc_drops)" "$before"
	done
	stop "$STARTED"
	ip link set "$T_IF_A" txqueuelen 256
}

[ $# -gt 0 ] || set -- b42 b54 b55 b57 b58
run_faults "$@"
