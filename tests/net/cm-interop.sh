#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connected and datagram mode between two machines, whatever drivers they run.
#
#	tests/vm/run --nodes 2 [--driver2 stock] tests/net/cm-interop.sh [PAIR|SUITE...]
#
# A PAIR is two letters, the modes of A and B: dd dc cd cc. For each one, with ping and TCP over both
# IP versions, from both sides at once: packets of all sizes, data that arrives as it was sent, multicast
# groups, and who asked whom for a connection. SUITES: pmtu, a peer whose address promises no connections;
# bounce, both sides go down with their connections alive and come back; own, HCAs without shared receive
# queues, until the drivers are loaded again; reload, the drivers are; death, they are, and nobody has said
# goodbye. All of them if none is named.

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317

# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

DBG=/sys/kernel/debug

mode_name()
{
	case $1 in c) echo connected ;; *) echo datagram ;; esac
}

# conns SIDE ARG...: grep with these in the list of connections of a side whose driver is ours
conns()
{
	on_node "$1" grep "${@:2}" "$DBG/ipoib/$(parent_of "$1")_conn"
}

no_conn_to()
{
	[ "$(conns "$1" -c "^to ")" = 0 ]
}

# peer_of SIDE 4|6: address of the other side
peer_of()
{
	case $1$2 in
	a4) echo "$T_IP4_B" ;;
	a6) echo "$T_IP6_B" ;;
	b4) echo "$T_IP4_A" ;;
	b6) echo "$T_IP6_A" ;;
	esac
}

# from_both FUNCTION ARG...: of both sides, at once
from_both()
{
	local pid rc

	"$1" a "${@:2}" &
	pid=$!
	"$1" b "${@:2}"
	rc=$?
	wait "$pid" && return "$rc"
}

# pings SIDE 4|6 SIZE...
pings()
{
	# shellcheck disable=SC2016
	on_node "$1" sh -c 'peer=$1 rc=0
		shift
		for size; do
			ping -q -c 2 -i 0.1 -W 3 -s "$size" "$peer" >/dev/null && continue
			echo "$size bytes to $peer: no answer"
			rc=1
		done
		exit $rc' _ "$(peer_of "$1" "$2")" "${@:3}"
}

# All sizes there and back, over IPv4 for those of A and IPv6 for those of B
datagrams()
{
	case $1 in
	a) every_size a "$T_IP4_B" 65000 2953 ;;
	b) every_size b "$T_IP6_A" 65000 2953 ;;
	esac
}

# Who sends hears his own packets, so there is a group for each side
cast()
{
	if [ "$1" = a ]; then cast_from a 239.1.2.3; else cast_from b 239.1.2.4; fi
}

# look_at_conns NAME PAIR: as far as a driver tells
look_at_conns()
{
	local side

	for side in a b; do
		[ "$(driver_of "$side")" = ours ] || continue
		case $side$2 in
		ac?|b?c) check "$1: $side sends over a connection" conns "$side" -q "^to .* live " ;;
		*) check "$1: $side asks for no connection" wait_for 10 no_conn_to "$side" ;;
		esac
		case $side$2 in
		a?c|bc?) check "$1: to $side a connection was made" conns "$side" -q "^from .* live " ;;
		esac
		note "$(conns "$side" "")"
	done
}

# try_pings NAME
try_pings()
{
	check "$1: pings" from_both pings 4 0 1 56 252 253 1000 2016 4064 4065 8000 32000 65000
	check "$1: pings by IPv6" from_both pings 6 0 4044 4045 60000
}

# try_transfers NAME
try_transfers()
{
	check "$1: TCP" from_both transfer 4
	check "$1: TCP by IPv6" from_both transfer 2 6
}

try_pair()
{
	local pair=$1 name="A65 $1" side dir mode mtu

	for side in a b; do
		case $side$pair in
		ac?|b?c) mode=connected mtu=65520 ;;
		*) mode=datagram mtu=4092 ;;
		esac
		dir=/sys/class/net/$(parent_of "$side")
		check "$name: mode of $side" set_mode "$side" "$mode"
		is "$name: mode and MTU of $side" "$(on_node "$side" cat "$dir/mode" "$dir/mtu" | xargs)" "$mode $mtu"
	done
	wait_carrier 20
	wait_addresses 20
	try_pings "$name"
	check "$name: datagrams of all sizes" from_both datagrams
	try_transfers "$name"
	check "$name: multicast" from_both cast
	look_at_conns "$name" "$pair"
}

# An interface goes down and up with its connections alive
bounce()
{
	local side=$1 begin=$SECONDS

	check "$side goes down" on_node "$side" ip link set "$(parent_of "$side")" down
	check "$side is down in less than 6 s" [ $((SECONDS - begin)) -lt 6 ]
	check "$side goes up" on_node "$side" ip link set "$(parent_of "$side")" up
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
	local side=$1 v addr dev hw

	dev=$(parent_of "$side")
	hw=00:$(on_node "$(other "$side")" cut -c 4- "/sys/class/net/$(parent_of "$(other "$side")")/address")
	for v in 4 6; do
		addr=$(peer_of "$side" "$v")
		check "pmtu: $side: $addr without connections" \
			on_node "$side" ip neigh replace "$addr" lladdr "$hw" dev "$dev" nud permanent
		check "pmtu: $side: small packets pass" pings "$side" "$v" 56
		check "pmtu: $side: the sender is told" wait_for 10 too_big "$side" "$addr"
		check "pmtu: $side: and has learned it" wait_for 10 learned "$side" "$addr"
		check "pmtu: $side: in pieces they pass" pings "$side" "$v" 30000
	done
	check "pmtu: $side: TCP" transfer "$side" 2
	check "pmtu: $side: TCP by IPv6" transfer "$side" 2 6
	for v in 4 6; do
		on_node "$side" ip neigh del "$(peer_of "$side" "$v")" dev "$dev"
		on_node "$side" ip "-$v" route flush cache
	done
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
	[ "$(driver_of "$1")" != stock ] || on_node "$1" ip link set "$(parent_of "$1")" down
}

# speaks SIDE: until it hears from the new address, the other side may believe in the old one for 45 s and
# more. Nobody there accepts connections, so it would settle for small packets, for ten minutes.
speaks()
{
	wait_carrier 30
	wait_for 30 on_node "$1" ping -q -c 1 -W 1 "$(peer_of "$1" 4)"
}

# is_back NAME SIDE: that side has been loaded anew, with another queue pair and in datagram mode
is_back()
{
	check "$1 of $2: it speaks first" speaks "$2"
	check "$1 of $2: small packets" wait_for 30 ping -q -c 1 -W 1 "$T_IP4_B"
	check "$1 of $2: it is in datagram mode; large ones pass" wait_for 40 ping -q -c 1 -W 3 -s 30000 "$T_IP4_B"
	check "$1 of $2: connected again" connected_pair
	check "$1 of $2: in one piece" wait_for 40 ping -q -c 1 -W 3 -M "do" -s 30000 "$T_IP4_B"
	check "$1 of $2: TCP" from_both transfer 4
}

# The driver of one side goes with its connections alive, and another one comes
suite_reload()
{
	local side

	for side in a b; do
		check "reload: connected" connected_pair
		hang_up "$side"
		check "reload of $side: the driver" reload_driver "$side"
		is_back reload "$side"
	done
}

# One side dies without a word, and has forgotten all when it is back
suite_death()
{
	local side

	for side in a b; do
		check "death: connected" connected_pair
		ctl_on "$side" link vib0:1 down
		hang_up "$side"
		check "death of $side: the driver" reload_driver "$side"
		ctl_on "$side" link vib0:1 up
		is_back death "$side"
	done
}

# srqs_of SIDE: which shared receive queues its connections use; 0 is none
srqs_of()
{
	on_node "$1" sed -n '/type=rc/s/.* srq=\([0-9]*\) .*/\1/p' "$DBG/vib/vib0/qps" | sort -u
}

# An HCA may have no shared receive queue to give (EOPNOTSUPP)
suite_own()
{
	local side

	for side in a b; do
		hang_up "$side"
		ctl_on "$side" failop create_srq 1 1000000 95
		check "own: the driver of $side" reload_driver "$side"
	done
	check "own: they speak" speaks b
	check "own: connected" connected_pair
	try_pings own
	try_transfers own
	look_at_conns own cc
	for side in a b; do
		is "own: $side shares no receive queue" "$(srqs_of "$side")" 0
		ctl_on "$side" failop clear
	done
}

[ $# -gt 0 ] || set -- dd dc cd cc pmtu bounce own reload death
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
