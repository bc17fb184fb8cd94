#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connected and datagram mode between two machines, whatever drivers they run.
#
#	tests/vm/run --nodes 2 [--driver2 stock] tests/net/cm-interop.sh [PAIR...]
#
# A PAIR is two letters, the modes of A and B: dd dc cd cc (all of them). For each one, with ping and
# TCP over both IP versions: small and large packets both ways, data that arrives as it was sent, a
# multicast group, and who asked whom for a connection. In the end both sides go down with their
# connections alive, and come back.

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317

# shellcheck source=tests/net/lib.sh
. "$T_ROOT/tests/net/lib.sh"

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
	check "A65 $pair: A pings B by IPv6" ping -q -c 2 -i 0.2 -W 3 -s 60000 "$T_IP6_B"
	check "A65 $pair: B pings A by IPv6" in_b ping -q -c 2 -i 0.2 -W 3 -s 60000 "$T_IP6_A"
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

[ $# -gt 0 ] || set -- dd dc cd cc
for pair; do
	try_pair "$pair"
done
bounce a
bounce b
done_testing
