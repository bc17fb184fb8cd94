#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connected and datagram mode between two machines, whatever drivers they run.
#
#	tests/vm/run --nodes 2 [--driver2 stock] tests/net/cm-interop.sh [PAIR|SUITE...]
#
# A PAIR is two letters, the modes of A and B: dd dc cd cc. For each one, with ping and TCP over both
# IP versions: packets of all sizes both ways, data that arrives as it was sent, a multicast group, and
# who asked whom for a connection. SUITES: pmtu, a peer whose address promises no connections; bounce,
# both sides go down with their connections alive and come back; reload, the drivers do. All of them if
# none is named.

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317

# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

file_a=/sys/kernel/debug/ipoib/${T_IF_A}_conn

dev_of()
{
	if [ "$1" = a ]; then echo "$T_IF_A"; else echo "$T_IF_B"; fi
}

mode_name()
{
	case $1 in c) echo connected ;; *) echo datagram ;; esac
}

set_mode()
{
	on_node "$1" sh -c "echo $2 >/sys/class/net/$(dev_of "$1")/mode"
}

sys()
{
	on_node "$1" cat "/sys/class/net/$(dev_of "$1")/$2"
}

# live to|from: A, whose driver is ours, has such a connection in use
live()
{
	grep -q "^$1 .* live " "$file_a"
}

no_conn()
{
	! grep -q "^$1 " "$file_a"
}

try_pings()
{
	local pair=$1 size

	for size in 0 1 56 252 253 1000 2016 4064 4065 8000 32000 65000; do
		check "A65 $pair: A pings B with $size bytes" ping -q -c 2 -i 0.2 -W 3 -s "$size" "$T_IP4_B"
		check "A65 $pair: B pings A with $size bytes" in_b ping -q -c 2 -i 0.2 -W 3 -s "$size" "$T_IP4_A"
	done
	for size in 0 4044 4045 60000; do
		check "A65 $pair: A pings B by IPv6 with $size bytes" \
			ping -q -c 2 -i 0.2 -W 3 -s "$size" "$T_IP6_B"
		check "A65 $pair: B pings A by IPv6 with $size bytes" \
			in_b ping -q -c 2 -i 0.2 -W 3 -s "$size" "$T_IP6_A"
	done
	check "A65 $pair: A sends B datagrams of all sizes" every_size a "$T_IP4_B" 65000 2953
	check "A65 $pair: B sends A datagrams of all sizes" every_size b "$T_IP4_A" 65000 2953
	check "A65 $pair: by IPv6 from A" every_size a "$T_IP6_B" 65000 7993
	check "A65 $pair: by IPv6 from B" every_size b "$T_IP6_A" 65000 7993
}

try_transfers()
{
	local pair=$1

	check "A65 $pair: TCP from A" transfer a 8
	check "A65 $pair: TCP from B" transfer b 8
	check "A65 $pair: TCP from A by IPv6" transfer a 4 6
	check "A65 $pair: TCP from B by IPv6" transfer b 4 6
	check "A65 $pair: multicast from A" cast_from a 239.1.2.3
	check "A65 $pair: multicast from B" cast_from b 239.1.2.3
}

look_at_conns()
{
	local pair=$1

	[ -e "$file_a" ] || return
	case $pair in
	c?) check "A65 $pair: A sends over a connection" live to ;;
	*) check "A65 $pair: A asks for no connection" wait_for 10 no_conn to ;;
	esac
	case $pair in
	?c) check "A65 $pair: B has made a connection to A" live from ;;
	esac
	note "$(cat "$file_a")"
}

try_pair()
{
	local pair=$1 side

	check "A65 $pair: mode of A" set_mode a "$(mode_name "${pair:0:1}")"
	check "A65 $pair: mode of B" set_mode b "$(mode_name "${pair:1:1}")"
	for side in a b; do
		case $(sys $side mode) in
		connected) is "A65 $pair: MTU of $side" "$(sys $side mtu)" 65520 ;;
		*) is "A65 $pair: MTU of $side" "$(sys $side mtu)" 4092 ;;
		esac
	done
	wait_carrier 20
	wait_addresses 20
	try_pings "$pair"
	try_transfers "$pair"
	look_at_conns "$pair"
}

# An interface goes down and up with its connections alive
bounce()
{
	local side=$1 begin=$SECONDS

	check "$side goes down" on_node "$side" ip link set "$(dev_of "$side")" down
	check "$side is down in less than 6 s" [ $((SECONDS - begin)) -lt 6 ]
	check "$side goes up" on_node "$side" ip link set "$(dev_of "$side")" up
	wait_carrier 20
	check "after that: small packets" wait_for 20 ping -q -c 1 -W 1 "$T_IP4_B"
	check "after that: large packets" wait_for 40 ping -q -c 1 -W 3 -s 30000 "$T_IP4_B"
	check "after that: TCP" transfer a 4
}

suite_bounce()
{
	bounce a
	bounce b
}

connected_pair()
{
	set_mode a connected && set_mode b connected && wait_carrier 20 && wait_addresses 20 &&
		wait_for 40 ping -q -c 1 -W 3 -s 30000 "$T_IP4_B"
}

# addresses_of a|b: of the other side, as that one knows them
addresses_of()
{
	if [ "$1" = a ]; then echo "$T_IP4_B $T_IP6_B"; else echo "$T_IP4_A $T_IP6_A"; fi
}

# too_big SIDE ADDRESS: a packet from that side is answered with the MTU of datagrams
too_big()
{
	on_node "$1" ping -M "do" -c 1 -W 1 -s 8000 "$2" 2>&1 | grep -qi 'mtu.*4092'
}

learned()
{
	on_node "$1" ip route get "$2" | grep -q 'mtu 4092'
}

# One side takes the other one for somebody who accepts no connections
pmtu()
{
	local side=$1 addr dev hw

	dev=$(dev_of "$side")
	hw=00:$(sys "$(other "$side")" address | cut -c 4-)
	for addr in $(addresses_of "$side"); do
		check "pmtu: $side: $addr without connections" \
			on_node "$side" ip neigh replace "$addr" lladdr "$hw" dev "$dev" nud permanent
		check "pmtu: $side: small packets pass" on_node "$side" ping -q -c 2 -i 0.2 -W 3 "$addr"
		check "pmtu: $side: the sender is told" wait_for 10 too_big "$side" "$addr"
		check "pmtu: $side: and has learned it" wait_for 10 learned "$side" "$addr"
		check "pmtu: $side: in pieces they pass" on_node "$side" ping -q -c 2 -i 0.2 -W 3 -s 30000 "$addr"
	done
	check "pmtu: $side: TCP" transfer "$side" 2
	check "pmtu: $side: TCP by IPv6" transfer "$side" 2 6
	for addr in $(addresses_of "$side"); do
		on_node "$side" ip neigh del "$addr" dev "$dev"
	done
	on_node "$side" ip route flush cache
	on_node "$side" ip -6 route flush cache
}

suite_pmtu()
{
	check "pmtu: connected" connected_pair
	pmtu a
	pmtu b
	check "pmtu: afterwards large ones pass" wait_for 40 ping -q -c 1 -W 3 -M "do" -s 30000 "$T_IP4_B"
}

# Unloaded with connections alive, the kernel's own driver leaves a completion queue behind about once
# in ten times, with a warning. Ours has to bear it.
hang_up()
{
	[ "$(driver_of "$1")" != stock ] || on_node "$1" ip link set "$(dev_of "$1")" down
}

# The driver of one side goes with its connections alive, and another one comes
suite_reload()
{
	local side addr

	for side in a b; do
		check "reload: connected" connected_pair
		hang_up "$side"
		check "reload: the driver of $side" reload_driver "$side"
		wait_carrier 30
		# Until it hears from the new address, the other side may believe in the old one for 45 s and
		# more. Nobody there accepts connections, so it would settle for small packets, for ten minutes.
		read -r addr _ <<<"$(addresses_of "$side")"
		check "reload: of $side: it speaks first" wait_for 30 on_node "$side" ping -q -c 1 -W 1 "$addr"
		check "reload: of $side: small packets" wait_for 30 ping -q -c 1 -W 1 "$T_IP4_B"
		check "reload: of $side: it is in datagram mode; large ones pass" \
			wait_for 40 ping -q -c 1 -W 3 -s 30000 "$T_IP4_B"
		check "reload: of $side: connected again" connected_pair
		check "reload: of $side: in one piece" wait_for 40 ping -q -c 1 -W 3 -M "do" -s 30000 "$T_IP4_B"
		check "reload: of $side: TCP" transfer a 4
		check "reload: of $side: and back" transfer b 4
	done
}

[ $# -gt 0 ] || set -- dd dc cd cc pmtu bounce reload
for what; do
	note "$what, after $SECONDS s"
	case $what in
	[dc][dc]) try_pair "$what" ;;
	*) "suite_$what" ;;
	esac
done
hang_up a
hang_up b
done_testing
