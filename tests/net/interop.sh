#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Two machines, two drivers, one subnet: whatever one of them sends, the other one understands.
#
#	tests/vm/run --nodes 2 --driver ours --driver2 stock --timeout 600 tests/net/interop.sh [PART...]
#	tests/vm/run --nodes 2 --driver stock --driver2 ours --timeout 600 tests/net/interop.sh
#
# A is node 1 with its driver, B is node 2. Parts, of which the default is all: wire, neigh, sizes,
# streams, multicast, children, manager, reload. In "manager" OpenSM moves from node 1 to node 2 and
# back, and what the driver without it says to it is looked at byte by byte, in a capture that tshark
# reads. The amounts are smaller on the debug kernel.

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

PARTS=(wire neigh sizes streams multicast children manager reload)
DBG=/sys/kernel/debug/vib
PORT=/sys/class/infiniband/vib0/ports/1

case $T_KERNEL in
debug) step=41 mb=4 ;;
*) step=1 mb=16 ;;
esac

# of a|b NAME: T_NAME_A or T_NAME_B
of()
{
	local name=T_$2_${1^}

	echo "${!name}"
}

# forget a|b: no neighbour of that side is known any more
forget()
{
	on_side "$1" ip neigh flush dev "$(of "$1" IF)"
}

pings()
{
	on_side "$1" ping -c 2 -i 0.2 -W 5 "${@:2}"
}

answers()
{
	on_side "$1" ping -c 1 -W 1 "$2"
}

# --- the wire ------------------------------------------------------------------------------------

# wire a|b KEY: what the wire of that node says
wire()
{
	on_side "$1" sed -n "s/^wire .*\\b$2=\\([^ ]*\\).*/\\1/p" "$DBG/wires"
}

wire_is()
{
	[ "$(wire "$1" "$2")" = "$3" ]
}

no_carrier()
{
	! "carrier_$1"
}

test_wire()
{
	local side other

	for side in a b; do
		is "$side: the wire is up" "$(wire "$side" up)" 1
	done
	check "B: OpenSM of A has made its port ACTIVE" on_node2 grep -q ACTIVE "$PORT/state"
	ctl_on b link vib0:1 down
	check "B's cable out: A sees the link go down" wait_for 10 wire_is a up 0
	check "B's cable out: no carrier at B" wait_for 10 no_carrier b
	check "A keeps its carrier" carrier_a
	ctl_on b link vib0:1 up
	check "B's cable in: carrier" wait_carrier 60
	check "B's cable in: traffic" wait_for 20 answers a "$T_IP4_B"
	for side in a b; do
		other=$(other "$side")
		on_side "$side" ip link set wire0 down
		check "$side falls silent: the other end notices" wait_for 40 wire_is "$other" heard 0
		is "$side falls silent: the link is down there" "$(wire "$other" up)" 0
		on_side "$side" ip link set wire0 up
		check "$side speaks again: carrier" wait_carrier 60
		check "$side speaks again: traffic" wait_for 20 answers a "$T_IP4_B"
	done
}

# All that was lost, refused, or too much on the wires of both nodes
wire_losses()
{
	local side

	for side in a b; do
		on_side "$side" cat "$DBG/wires"
	done | grep -oE '\b(tx_full|tx_long|tx_failed|gap|bad_frame|bad_session|bad_packet|rx_long)=[0-9]+' | xargs
}

# --- neighbours ----------------------------------------------------------------------------------

# resolves a|b ADDRESS [SCOPE]: what that side learns about the other one is its hardware address
resolves()
{
	local side=$1 addr=$2 dev want

	dev=$(of "$side" IF)
	forget "$side"
	pings "$side" "$addr${3:-}" || return
	want=$(on_side "$(other "$side")" cat "/sys/class/net/$(of "$(other "$side")" IF)/address")
	on_side "$side" ip neigh show "$addr" dev "$dev" | tee /dev/stderr | grep -q "lladdr $want "
}

test_neigh()
{
	local side other ll

	for side in a b; do
		other=$(other "$side")
		check "$side: ARP finds the address of the other" resolves "$side" "$(of "$other" IP4)"
		check "$side: discovery finds it" resolves "$side" "$(of "$other" IP6)"
		ll=$(link_local "$other")
		check "$side: discovery finds it for a link-local address" \
			resolves "$side" "$ll" "%$(of "$side" IF)"
		# a request that nobody asked for corrects what is known
		check "$side: arping" on_side "$side" arping -c 2 -w 5 -I "$(of "$side" IF)" "$(of "$other" IP4)"
	done
}

# --- sizes ---------------------------------------------------------------------------------------

test_sizes()
{
	local side other size

	for side in a b; do
		other=$(other "$side")
		check "$side: datagrams up to the MTU, sizes in steps of $step" \
			every_size "$side" "$(of "$other" IP4)" 4064 "$step"
		check "$side: the same over IPv6, in steps of $((7 * step))" \
			every_size "$side" "$(of "$other" IP6)" 4044 $((7 * step))
		# 28 octets of headers: 4064 fills the MTU of 4092, the rest is fragmented
		for size in 0 4064 4065 8157 65507; do
			check "$side: ping with $size octets" pings "$side" -s "$size" "$(of "$other" IP4)"
		done
		for size in 0 4044 4045 65487; do
			check "$side: ping with $size octets, IPv6" pings "$side" -s "$size" "$(of "$other" IP6)"
		done
		check "$side: ping that fills the MTU, not to be fragmented" \
			pings "$side" -M "do" -s 4064 "$(of "$other" IP4)"
	done
}

# --- streams and multicast -----------------------------------------------------------------------

test_streams()
{
	local side family

	for side in a b; do
		for family in 4 6; do
			check "$side: $mb MB by TCP over IPv$family, same SHA-256 at both ends" \
				transfer "$side" "$mb" "$family"
		done
	done
}

test_multicast()
{
	local side

	for side in a b; do
		check "$side sends to an IPv4 group" cast_from "$side" 239.1.2.3
		check "$side sends to an IPv6 group" cast_from "$side" ff15::7:8
	done
}

# --- children ------------------------------------------------------------------------------------

test_children()
{
	local dev_a=$T_IF_A.8001 dev_b=$T_IF_B.8001 side

	check "A: child by sysfs" child_sysfs a "$T_PKEY"
	check "B: child by netlink" child_netlink b "$T_PKEY" "$dev_b"
	check "A: child gets a carrier" child_addr a "$dev_a" 10.81.0.1/24 fd81::1/64
	check "B: child gets a carrier" child_addr b "$dev_b" 10.81.0.2/24 fd81::2/64
	wait_addresses 30
	check "A's child to B's" pings a 10.81.0.2
	check "B's child to A's" pings b 10.81.0.1
	check "A's child to B's, IPv6" pings a fd81::2
	check "B's child to A's, IPv6" pings b fd81::1
	check "A's child to B's, fragmented" pings a -s 9000 10.81.0.2
	for side in a b; do
		check "$side's child sends to an IPv4 group" cast_from "$side" 239.1.2.4 "$dev_a" "$dev_b"
	done
	check "A: child goes" child_sysfs_del a "$T_PKEY"
	check "A: it is gone" wait_for 10 test ! -e "/sys/class/net/$dev_a"
	check "B: child goes" on_node2 ip link del "$dev_b"
	check "the parents still talk" pings a "$T_IP4_B"
}

# --- the subnet manager --------------------------------------------------------------------------

lid()
{
	echo $(($(on_side "$1" cat "$PORT/lid")))
}

# managed_by a|b: both ports are ACTIVE and know that the subnet manager is there
managed_by()
{
	local side

	for side in a b; do
		on_side "$side" grep -q ACTIVE "$PORT/state" || return
		[ $(($(on_side "$side" cat "$PORT/sm_lid"))) = "$(lid "$1")" ] || return
	done
}

# traffic_anew: nothing is known from before
traffic_anew()
{
	forget a
	forget b
	wait_for 20 answers a "$T_IP4_B" && wait_for 20 answers b "$T_IP6_A"
}

test_manager()
{
	sm_stop
	sm_on_node2 sm_start
	check "OpenSM at B: both ports follow" wait_for 60 managed_by b
	check "OpenSM at B: carrier" wait_carrier 60
	check "OpenSM at B: traffic" traffic_anew
	check "OpenSM at B: a new group" cast_from a 239.4.5.6
	test_bytes a
	sm_on_node2 sm_stop
	sm_start
	check "OpenSM at A again: both ports follow" wait_for 60 managed_by a
	check "OpenSM at A again: carrier" wait_carrier 60
	check "OpenSM at A again: traffic" traffic_anew
	check "OpenSM at A again: a new group" cast_from b 239.4.5.6
	test_bytes b
}

down()
{
	on_side "$1" ip link set "$(of "$1" IF)" down
}

# up a|b: with the address that IPv6 drops
up()
{
	local dev

	dev=$(of "$1" IF)
	on_side "$1" ip link set "$dev" up
	on_side "$1" ip -6 addr replace "$(of "$1" IP6)/$T_PREFIX6" dev "$dev" nodad
	wait_carrier 60
}

down_up()
{
	down "$1"
	up "$1"
}

# What a driver says on the wire, seen at the port of its HCA. Its SA queries can be seen there only
# when the subnet manager is elsewhere: what goes to its own LID does not leave the port.
test_bytes()
{
	local side=$1 peer file=/tmp/bytes.$1 lid pid i

	peer=$(other "$side")
	lid=$(lid "$side")
	# from the first word on: a router may be asked for at any time while the interface is up
	check "$side: down" down "$side"
	capture_start "$side" vib0:1 8192
	check "$side: up again" up "$side"
	lib_start_on "$side" python3 "$T_ROOT/tests/net/datagram.py" listen 239.7.7.9 "$(of "$side" IF)" 7011 1 \
		>/dev/null
	pid=$STARTED
	lib_start_on "$peer" python3 "$T_ROOT/tests/net/datagram.py" cast 239.7.7.9 "$(of "$peer" IF)" 7011 1
	wait "$pid"
	is "$side: has joined a group" $? 0
	stop "$STARTED"
	# nobody answers, and nobody has to
	on_side "$side" ping -c 3 -i 0.5 -W 1 -I "$(of "$side" IF)" 239.8.8.8 >/dev/null
	check "$side: unicast" wait_for 20 answers "$side" "$(of "$peer" IP4)"
	check "$side: unicast, IPv6" wait_for 20 answers "$side" "$(of "$peer" IP6)"
	check "$side: down and up once more" down_up "$side"
	check "$side: unicast again" wait_for 20 answers "$side" "$(of "$peer" IP4)"
	capture_stop "$side" "$file"
	is "$side: the capture is complete" "$(capture_lost "$side")" 0
	# shellcheck disable=SC2046
	capture_read "$file" -T fields -E header=y -E separator=/t \
		$(python3 "$T_ROOT/tests/net/interop.py" fields) >"$file.tsv"
	cp "$file" "$T_OUT/bytes.$side.pcap"
	for i in encapsulation broadcast joins sendonly paths leaves; do
		check "$side on the wire: $i" python3 "$T_ROOT/tests/net/interop.py" "$i" "$file.tsv" "$lid"
	done
}

# --- reload --------------------------------------------------------------------------------------

test_reload()
{
	local side other

	for side in a b; do
		other=$(other "$side")
		check "$side: driver goes and comes" reload_driver "$side"
		check "$side: carrier" wait_carrier 60
		check "$side: reaches the other" wait_for 20 answers "$side" "$(of "$other" IP4)"
		check "$side: is reached" wait_for 30 answers "$other" "$(of "$side" IP4)"
		# until it hears from the new address, the other may believe in the old one for 45 s
		check "$side: reaches the other over IPv6" wait_for 30 answers "$side" "$(of "$other" IP6)"
		check "$side: is reached over IPv6" wait_for 30 answers "$other" "$(of "$side" IP6)"
		check "$side: a group" cast_from "$other" 239.2.3.4
	done
}

# The kernel's own driver brings its queue pair up without the Q_Key, which it learns only when it has
# joined the broadcast group. What the other side sends before that counts as a violation, and is no
# fault of the one that sends. Anything else that the fabric noticed stays for the runner to judge.
forgive_stock()
{
	local side seen

	for side in a b; do
		[ "$(driver_of "$side")" = stock ] || continue
		seen=$(on_side "$side" cat "$DBG/oracles" | grep -vE '=0$|^rx_no_buffer=' | xargs)
		case $seen in
		*" "*|"") ;;
		qkey_violation=*)
			note "$side: $seen, from before it knew its Q_Key"
			on_side "$side" sh -c "echo 1 >$DBG/reset"
			;;
		esac
	done
}

[ "$T_NODES" = 2 ] || { skip "interoperation" "wants tests/vm/run --nodes 2"; done_testing; }
[ $# -gt 0 ] || set -- "${PARTS[@]}"
for part; do
	case " ${PARTS[*]} " in
	*" $part "*) ;;
	*) not_ok "there is a part $part"; continue ;;
	esac
	note "$part, after $SECONDS s"
	losses=$(wire_losses)
	"test_$part"
	# where the wire is pulled it may lose something
	[ "$part" = wire ] || is "$part: nothing was lost on the wire" "$(wire_losses)" "$losses"
done
forgive_stock
note "after $SECONDS s"
done_testing
