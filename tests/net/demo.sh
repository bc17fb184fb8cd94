#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What make demo shows inside the guest. Each step prints its command and what that said.

# The functions are called by way of show.
# shellcheck disable=SC2317

. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

conns=/sys/kernel/debug/ipoib/${T_IF_A}_conn

# show TITLE COMMAND...: run it in front of everybody; the step passes if the command does
show()
{
	local title=$1
	shift

	printf '\n--- %s\n$ %s\n' "$title" "$*"
	if "$@" 2>&1; then
		ok "$title"
	else
		not_ok "$title"
	fi
}

# Like show, for a measurement: only the lines of the sums
show_iperf()
{
	local title=$1
	shift

	printf '\n--- %s\n$ iperf3 %s\n' "$title" "$*"
	iperf3 "$@" >/tmp/iperf.out 2>&1
	if grep -E 'sender|receiver' /tmp/iperf.out && grep -q 'iperf Done' /tmp/iperf.out; then
		ok "$title"
	else
		cat /tmp/iperf.out
		not_ok "$title"
	fi
}

# A child in partition 0x8001 on both ends: one by sysfs, one by netlink, so that both are seen
make_children()
{
	child_sysfs a "$T_PKEY" && child_netlink b "$T_PKEY" || return
	child_addr a ib0.8001 10.78.0.1/24 && child_addr b ib1.8001 10.78.0.2/24
}

# The connections in both directions, each made by the side that sends
both_live()
{
	grep -q '^to .* live ' "$conns" && grep -q '^from .* live ' "$conns"
}

# Once they are there
connections()
{
	wait_for 30 both_live
	grep -E '^(mode:|to |from )' "$conns" && both_live
}

show "the subnet as OpenSM set it up" sh -c "iblinkinfo --line --switches-only | grep Active"
show "our module" sh -c "grep '^ib_ipoib' /proc/modules; ethtool -i $T_IF_A"
show "an interface with its 20-byte address" ip -d link show "$T_IF_A"
show "addresses on this side" ip -br addr show "$T_IF_A"
show "addresses on the other side" ip -n "$T_NS_B" -br addr show "$T_IF_B"
show "IPv4" ping -c 3 -i 0.3 "$T_IP4_B"
show "IPv6, with the largest packet that fits" ping -c 3 -i 0.3 -M "do" -s 4044 "$T_IP6_B"
show "the neighbours that were resolved" ip neigh show dev "$T_IF_A"

iperf_start b
show_iperf "TCP there" -c "$T_IP4_B" -t 2
show_iperf "TCP back" -c "$T_IP4_B" -t 2 -R
show_iperf "UDP there" -c "$T_IP4_B" -t 2 -u -b 5M
show "32 MB over TCP, compared by SHA-256" transfer a 32

show "a child interface in partition $T_PKEY on both sides" make_children
show "IPv4 in that partition" ping -c 3 -i 0.3 10.78.0.2
show "what the child is" ip -d -br link show ib0.8001
show "multicast groups at the subnet manager" sh -c 'saquery -g | grep -c MGID'

show "this side changes to connected mode" ip link set "$T_IF_A" type ipoib mode connected
show "the other side, too, by sysfs" ip netns exec "$T_NS_B" sh -c "echo connected >/sys/class/net/$T_IF_B/mode"
show "the MTU is that of connections" cat "/sys/class/net/$T_IF_A/mtu"
show "the first packet still goes as a datagram, and asks for a connection" ping -c 1 "$T_IP4_B"
# the kernel's own driver does not list them
[ ! -e "$conns" ] || show "the connections, from $conns" connections
show "65520 bytes in one packet" ping -c 3 -i 0.3 -M "do" -s 65492 "$T_IP4_B"
show "32 MB over TCP by that connection, compared by SHA-256" transfer a 32
echo
note "packets that the two interfaces dropped: $(drops)"
done_testing
