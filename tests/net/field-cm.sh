#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Faults of connected mode that users met, see field.txt; for our driver. The subnet is managed by the
# fabric itself, so that many peers can be invented whose paths take their time.
#
#	tests/vm/run [--kernel debug] --no-sm --vib pkeys=128 tests/net/field-cm.sh [b44|b45|b46|b47...]

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317

# shellcheck source=tests/net/cm-lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/cm-lib.sh"
only_ours "faults of connected mode"

case $T_KERNEL in
debug) rounds=15 ;;
*) rounds=40 ;;
esac
FIRST_LID=1000
PEERS=200

setup()
{
	ctl sa add sw0 || return
	addressed_a
	addressed_b
	wait_carrier 30 && wait_for 10 ping_b
}

none_to()
{
	! grep -q '^to ' "$conn_a"
}

# Datagrams and messages of connections complete in turns, datagrams late
b44()
{
	local qpn hold cast server before

	modes connected
	check "B44 a connection" wait_for 20 large
	qpn=$(sed -n 's/^qpn=\([^ ]*\) type=ud port=1 .*/\1/p' /sys/kernel/debug/vib/vib0/qps)
	before=$(counter_b rx_packets)
	# shellcheck disable=SC2016
	start sh -c 'while echo "hold vib0 $1 5" >"$2"; do :; done' _ "$qpn" "$T_CTL"
	hold=$STARTED
	start python3 -c "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(0, socket.IP_MULTICAST_IF, socket.inet_aton('$T_IP4_A'))
while True:
    s.sendto(bytes(1400), ('224.0.0.1', 9))"
	cast=$STARTED
	iperf_start b
	server=$STARTED
	check "B44 eight streams beside multicast" iperf3 -c "$T_IP4_B" -P 8 -t 4
	check "B44 what is sent arrives as it was" transfer a 8
	stop "$cast"
	stop "$hold"
	stop "$server"
	check "B44 both have arrived ($(($(counter_b rx_packets) - before)))" \
		[ $(($(counter_b rx_packets) - before)) -gt 1000 ]
	is "B44 no send failed" "$(($(counter_a tx_errors) + $(counter_b tx_errors)))" 0
}

# Packets that are sent just before the connection comes up, and no other ones after them
b45()
{
	local i lost=none

	modes connected
	check "B45 a connection" wait_for 20 large
	for ((i = 0; i < rounds; i++)); do
		set_mode a datagram
		wait_for 5 none_to || break
		ctl fault vib0:1 in class=cm "do=delay" us=$((i * 20000 / rounds + 1))
		set_mode a connected
		lost=$(ping -q -c 2 -i 0.002 -W 3 -s 30000 "$T_IP4_B" | lost)
		ctl fault vib0:1 clear
		[ "$lost" = 0 ] || break
	done
	is "B45 $rounds connections" "$i" "$rounds"
	is "B45 none lost a packet" "$lost" 0
}

# ghosts_known FLAGS: each of them as a neighbour with that first octet of the address
ghosts_known()
{
	local i

	for ((i = 0; i < PEERS; i++)); do
		printf 'neigh replace 10.96.0.%d lladdr %s:00:%02x:%02x:fe:80:00:00:00:00:00:00:02:56:49:42:00:30:%02x:%02x nud permanent dev %s\n' \
			$((i + 1)) "$1" $(((FIRST_LID + i) / 256)) $(((FIRST_LID + i) % 256)) \
			$(((FIRST_LID + i) / 256)) $(((FIRST_LID + i) % 256)) "$T_IF_A"
	done
}

ghosts_start()
{
	ctl ghost add sw0:5 n="$PEERS" base="$FIRST_LID" && ctl sa sweep sw0 &&
		ip addr add 10.96.255.254/16 dev "$T_IF_A" && ghosts_known 80 | ip -batch -
}

ghosts_end()
{
	ip addr del 10.96.255.254/16 dev "$T_IF_A"
	ctl ghost del sw0:5
	ctl sa sweep sw0
}

spray()
{
	python3 -c "import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range($PEERS):
    s.sendto(bytes(100), (f'10.96.0.{i + 1}', 9))"
}

asked_for()
{
	numbers asked_for <"$conn_a"
}

asked_more()
{
	[ "$(asked_for)" -gt "$1" ]
}

# Many connections begin while the neighbours and paths they are for go away
b46()
{
	local i before was

	set_mode a datagram
	check "B46 no connection" wait_for 10 none_to
	before=$(vib objects rc)
	check "B46 $PEERS peers that do not answer" ghosts_start
	was=$(asked_for)
	for ((i = 0; i < rounds / 5; i++)); do
		ctl sa set sw0 delay $((i % 5 * 2000))
		set_mode a connected
		spray
		case $((i % 4)) in
		0) ctl event vib0:1 client_reregister 5 3 ;;
		1) set_mode a datagram; set_mode a connected ;;
		2) ghosts_known 00 | ip -batch -; ghosts_known 80 | ip -batch - ;;
		3) ctl event vib0:1 lid_change 5 3 ;;
		esac
		spray
		[ "$i" != 0 ] || wait_for 10 asked_more "$was"
		set_mode a datagram
	done
	ctl sa set sw0 delay 0
	check "B46 connections were asked for ($(($(asked_for) - was)))" asked_more "$was"
	check "B46 none is left" wait_for 20 none_to
	check "B46 no queue pair of theirs either" wait_for 20 qps_at_most "$before"
	ghosts_end
	check "B46 B answers" wait_for 20 ping_b
	set_mode a connected
	check "B46 B answers over a connection" wait_for 20 large
}

queried()
{
	sed -n 's/^query_pkey .*hit=\([0-9]*\).*/\1/p' /sys/kernel/debug/vib/failop
}

# The P_Key table is not asked for by each connection
b47()
{
	local i was last keys=/sys/class/infiniband/vib0/ports/1/pkeys

	modes connected
	set_mode a datagram
	check "B47 no connection" wait_for 10 none_to
	last=$(($(find "$keys" -type f | wc -l) - 1))
	for ((i = 2; i <= last; i++)); do
		ctl set vib0:1 pkey "$i" $((0x0100 + i))
	done
	check "B47 a table full of limited keys ($((last + 1)))" wait_for 10 \
		grep -q "0x0\{0,1\}$(printf %x $((0x0100 + last)))" "$keys/$last"
	check "B47 $PEERS peers" ghosts_start
	check "B47 B answers" wait_for 20 ping_b
	was=$(asked_for)
	# from now on the HCA does not answer who asks for a key
	ctl failop query_pkey 1 1000000 5
	set_mode a connected
	spray
	check "B47 B answers over a connection" wait_for 20 large
	check "B47 connections are asked for ($(($(asked_for) - was)))" \
		wait_for 20 asked_more $((was + 50))
	is "B47 none of them asked the HCA" "$(queried)" 0
	check_not "B47 who asks gets no answer" cat "$keys/0"
	is "B47 and is counted" "$(queried)" 1
	ctl failop clear
	ghosts_end
	set_mode a datagram
	check "B47 none is left" wait_for 20 none_to
}

check "the subnet is up" setup
[ $# -gt 0 ] || set -- b44 b45 b46 b47
run_faults "$@"
