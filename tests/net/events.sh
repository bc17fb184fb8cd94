#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# News of the port: P_Keys that come, go and move, LIDs, prefixes, client re-register, storms, and none at
# all; and P_Keys and the subnet prefix as the SM changes them.
#
#	A (root namespace)			B (namespace b)
#	ib0 --- vib0:1 --- switch --- vib0:2 --- ib1
#
# All others are made at the port itself, without the SM: exact, and in any order.

# shellcheck disable=SC2317 # functions are called by name through check and wait_for
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

# shellcheck disable=SC2120 # most calls mean the default
ping_b()
{
	ping -q -c 1 -W 1 "${1:-$T_IP4_B}"
}

no_carrier_a()
{
	! carrier_a "$@"
}

brd_pkey()
{
	cut -d: -f9,10 "/sys/class/net/$1/broadcast"
}

pkey_is()
{
	[ "$(cat "/sys/class/net/$1/pkey")" = "$2" ]
}

# prefix_is a|b PREFIX: that of the GID in the hardware address
prefix_is()
{
	[ 0x"$(on_side "$1" cut -d : -f 5-12 "/sys/class/net/$(parent_of "$1")/address" | tr -d :)" = "$2" ]
}

# Where a P_Key stands in the table of port 1
pkey_slot()
{
	grep -lix "$1" /sys/class/infiniband/vib0/ports/1/pkeys/* | head -n 1 | sed 's|.*/||'
}

# joined_anew: all groups of which the interface is a member, once more
joined_anew()
{
	[ "$(traced -o "ipoib_join: $T_IF_A ff12:[^ ]* status 0\$" | sort -u | wc -l)" -ge \
		"$(grep -c 'send_only: *no' "/sys/kernel/debug/ipoib/${T_IF_A}_mcg")" ]
}

# --- client re-register: groups again, carrier stays
carriers=$(cat "/sys/class/net/$T_IF_A/carrier_changes")
if [ "$T_DRIVER" = ours ]; then
	check "joins are recorded" trace_on ipoib_join
	ctl set vib0:1 rereg
	check "all groups are joined again" wait_for 10 joined_anew
	trace_off
fi
for _ in 1 2 3 4 5; do
	ctl set vib0:1 rereg
	ping_b "$T_IP4_B" >/dev/null
done
check "B answers after client re-register" wait_for 10 ping_b
is "carrier does not change" "$(cat "/sys/class/net/$T_IF_A/carrier_changes")" "$carriers"

# --- SM change alone: nothing
ctl event vib0:1 sm_change 20 1
check "B answers after SM change events" ping_b
is "carrier does not change for an SM change" \
	"$(cat "/sys/class/net/$T_IF_A/carrier_changes")" "$carriers"

# --- a child follows its P_Key
slot=$(pkey_slot "$T_PKEY")
check "P_Key $T_PKEY is in the table" [ -n "$slot" ]
child_sysfs a "$T_PKEY"
child_sysfs b "$T_PKEY"
child=$T_IF_A.${T_PKEY#0x}
child_addr b "$T_IF_B.${T_PKEY#0x}" 10.78.0.2/24
check "child has carrier" child_addr a "$child" 10.78.0.1/24
check "child B answers" wait_for 10 ping_b 10.78.0.2

ctl set vib0:1 pkey "$slot" 0
check "P_Key gone: no carrier" wait_for 10 no_carrier_a "$child"
check "P_Key gone: parent undisturbed" ping_b
ctl set vib0:1 pkey 9 "$T_PKEY"
check "P_Key back in another place: carrier" wait_for 20 carrier_a "$child"
check "P_Key back: B answers" wait_for 10 ping_b 10.78.0.2
ctl set vib0:1 pkey 11 "$T_PKEY"
ctl set vib0:1 pkey 9 0
check "P_Key moved: B answers" wait_for 20 ping_b 10.78.0.2
ip link set "$child" down
ctl set vib0:1 pkey 11 0
check "up without P_Key succeeds" ip link set "$child" up
check_not "and has no carrier" wait_for 3 carrier_a "$child"
ctl set vib0:1 pkey "$slot" "$T_PKEY"
check "P_Key comes late: carrier" wait_for 20 carrier_a "$child"
check "P_Key comes late: B answers" wait_for 10 ping_b 10.78.0.2
child_sysfs_del a "$T_PKEY"
child_sysfs_del b "$T_PKEY"

# --- the parent follows the first place of the table
ctl set vib0:1 pkey "$slot" 0xffff
ctl set vib0:1 pkey 0 "$T_PKEY"
check "P_Key at index 0 is followed" wait_for 10 pkey_is "$T_IF_A" "$T_PKEY"
check "carrier in the new partition" wait_for 20 carrier_a
is "broadcast address follows" "$(brd_pkey "$T_IF_A")" "${T_PKEY:2:2}:${T_PKEY:4:2}"
check_not "nobody of the old partition is reached" ping_b
ctl set vib0:2 pkey "$slot" 0xffff
ctl set vib0:2 pkey 0 "$T_PKEY"
check "carrier of B in the new partition" wait_for 20 carrier_b
check "B answers in the new partition" wait_for 20 ping_b
check "B answers by IPv6 in the new partition" wait_for 20 ping_b "$T_IP6_B"
if [ "$T_DRIVER" = ours ]; then
	# the stock driver leaves the other groups in the old partition
	stale=$(ip maddr show dev "$T_IF_A" | grep -c 'link.*:ff:ff:00:00')
	is "groups of the device list follow" "$stale" 0
fi
ctl set vib0:1 pkey 0 0
check "no valid P_Key: no carrier" wait_for 10 no_carrier_a
ctl set vib0:1 pkey 0 0xffff
ctl set vib0:1 pkey "$slot" "$T_PKEY"
ctl set vib0:2 pkey 0 0xffff
ctl set vib0:2 pkey "$slot" "$T_PKEY"
check "back in the first partition" wait_carrier 30
check "B answers there" wait_for 20 ping_b
check "B answers by IPv6 there" wait_for 20 ping_b "$T_IP6_B"

# the one who spoke from another partition was noticed, as it should be
vib_reset

# --- what the worker does in rounds, as the neighbour table of the kernel, now of one second
# rounds SECONDS: a new round begins with an interface
rounds()
{
	local side

	sysctl -qw "net.ipv4.neigh.default.gc_interval=$1"
	for side in a b; do
		on_side "$side" ip link set "$(parent_of "$side")" down
		on_side "$side" ip link set "$(parent_of "$side")" up
	done
	ip -6 addr replace "$T_IP6_A/$T_PREFIX6" dev "$T_IF_A" nodad
	in_b ip -6 addr replace "$T_IP6_B/$T_PREFIX6" dev "$T_IF_B" nodad
	wait_carrier 30 && wait_for 20 ping_b
}

# works: how often it was called in three seconds
works()
{
	trace_on workqueue/workqueue_execute_start
	wait_for 3 false
	trace_off
	traced -c 'function ctl_work \[ib_ipoib\]'
}

if [ "$T_DRIVER" = ours ]; then
	interval=$(sysctl -n net.ipv4.neigh.default.gc_interval)
	check "rounds of one second" rounds 1
	for prefix in 0xfec0000000000017 0xfe80000000000000; do
		for p in 1 2; do
			ctl set "vib0:$p" prefix $prefix
		done
		# the core tells nobody, and the SM knows only its own prefix
		for side in a b; do
			check "prefix $prefix: ${side^} sees it" wait_for 20 prefix_is $side $prefix
		done
	done
	check "the first prefix again: carriers" wait_carrier 40
	check "and B answers" wait_for 20 ping_b

	if [ -d /sys/kernel/tracing ]; then
		# one whom the SA does not know: asking for it again is due some time
		ip neigh replace "${T_IP4_B%.*}.99" dev "$T_IF_A" nud permanent \
			lladdr "$(sed 's/..$/99/' "/sys/class/net/$T_IF_A/address")"
		check_not "an unknown port does not answer" ping_b "${T_IP4_B%.*}.99"
		n=$(works)
		check "the worker is called now and then ($n times)" [ "$n" -gt 0 ]
		ctl link vib0:1 down
		check "port down: no carrier" wait_for 10 no_carrier_a
		n=$(works)
		check "and nothing is left to do ($n times)" [ "$n" -lt 20 ]
		ip neigh del "${T_IP4_B%.*}.99" dev "$T_IF_A"
		ctl link vib0:1 up
		check "port up: carrier" wait_carrier 40
		check "B answers with the port up again" wait_for 20 ping_b
	fi
	check "rounds of $interval s again" rounds "$interval"
fi

# --- storms under load
start ping -q -f "$T_IP4_B" >/dev/null
flood=$STARTED
for what in pkey_change client_reregister gid_change lid_change sm_change port_active; do
	check "storm of $what" ctl event vib0:1 "$what" 100 2
done
start ctl event vib0:1 client_reregister 100 3
storm=$STARTED
start ctl event vib0:2 lid_change 50 5
wait "$storm" "$STARTED"
stop "$flood"
check "carrier after the storms" wait_carrier 30
check "B answers after the storms" wait_for 20 ping_b
check "B answers by IPv6 after the storms" wait_for 20 ping_b "$T_IP6_B"

# --- up and down under load
start ping -q -f "$T_IP4_B" >/dev/null
flood=$STARTED
for _ in $(seq 20); do
	ip link set "$T_IF_A" down
	ip link set "$T_IF_A" up
done
stop "$flood"
# IPv6 has dropped the address
ip -6 addr replace "$T_IP6_A/$T_PREFIX6" dev "$T_IF_A" nodad
check "carrier after 20 times down and up" wait_carrier 30
check "B answers after it" wait_for 20 ping_b

# --- children come and go
for _ in $(seq 20); do
	child_sysfs a 0x8123
	child_netlink a 0x8123 c1
	ip link set c1 up
	child_sysfs_del a 0x8123
	ip link del c1
done
check_not "children are gone after 20 rounds" ip link show c1
check "B answers after it" ping_b

# --- the same by the subnet manager: it is told another partitions.conf
# partitions SED-COMMAND: that of the beginning, changed
partitions()
{
	sed "$1" "$conf" >"$T_PARTITIONS"
	sm_reload
}

# has_pkey N PKEY: port N has it in its table
has_pkey()
{
	cat "/sys/class/infiniband/vib0/ports/$1/pkeys/"* 2>/dev/null | grep -qix "$2"
}

no_pkey()
{
	! has_pkey 1 "$1" && ! has_pkey 2 "$1"
}

# shellcheck disable=SC2154 # the file that partitions changes
if [ "$T_DRIVER" = ours ]; then
	conf=/tmp/partitions.conf
	cp "$T_PARTITIONS" "$conf"
	child_b=$T_IF_B.${T_PKEY#0x}
	partitions /^Test/d
	check "the SM takes a P_Key away" wait_for 40 no_pkey "$T_PKEY"
	child_sysfs a "$T_PKEY"
	child_sysfs b "$T_PKEY"
	ip addr add 10.78.0.1/24 dev "$child"
	in_b ip addr add 10.78.0.2/24 dev "$child_b"
	ip link set "$child" up
	in_b ip link set "$child_b" up
	check_not "a child before the SM gives it: no carrier" wait_for 2 carrier_a "$child"
	partitions ""
	check "the SM gives it: carrier" wait_for 40 carrier_a "$child"
	check "and of B" wait_for 40 carrier_b "$child_b"
	check "B answers there" wait_for 20 ping_b 10.78.0.2
	partitions /^Test/d
	check "the SM takes it away: no carrier" wait_for 40 no_carrier_a "$child"
	check "the parent goes on" ping_b
	partitions ""
	check "the SM gives it back: carrier" wait_for 40 carrier_a "$child"
	check "and of B again" wait_for 40 carrier_b "$child_b"
	check "B answers there again" wait_for 20 ping_b 10.78.0.2
	child_sysfs_del a "$T_PKEY"
	child_sysfs_del b "$T_PKEY"
	partitions '/^Test/s/=0x0001/&, indx0/'
	check "the SM puts it in the first place: the parent follows" wait_for 40 pkey_is "$T_IF_A" "$T_PKEY"
	check "carriers there" wait_carrier 40
	check "B answers in that partition" wait_for 20 ping_b
	check "B answers by IPv6 in it" wait_for 20 ping_b "$T_IP6_B"
	# without a first place the table stays as it is
	partitions '/^Default/s/=0x7fff/&, indx0/'
	check "the SM puts the other one there: the parent follows" wait_for 40 pkey_is "$T_IF_A" 0xffff
	check "carriers as before" wait_carrier 40
	check "B answers as before" wait_for 20 ping_b
	check "B answers by IPv6 as before" wait_for 20 ping_b "$T_IP6_B"
	cp "$conf" "$T_PARTITIONS"
	# one side may speak while the other has moved already
	vib_reset
fi

# --- another prefix of the subnet, by a manager that has just begun; not tried on the debug kernel yet
if [ "$T_DRIVER $T_KERNEL" = "ours debian" ]; then
	prefix=0xfec0000000000042
	sm_stop
	{ cat "$SM_DIR/conf"; echo "subnet_prefix $prefix"; } >/tmp/opensm.conf
	sm_start -F /tmp/opensm.conf
	for side in a b; do
		check "the SM changes the prefix: the address of ${side^} follows" wait_for 40 prefix_is $side $prefix
	done
	check "carriers with it" wait_carrier 40
	check "B answers with it" wait_for 20 ping_b
	check "B answers by IPv6 with it" wait_for 20 ping_b "$T_IP6_B"
	check "multicast with it" cast_from b 239.1.2.9
fi
done_testing
