#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Setting the hardware address: only the GUID, only while down, and no carrier until the port has it.
#
#	tests/vm/run [--driver stock] tests/net/address.sh

# many functions are called by name only, as arguments of check and wait_for
# shellcheck disable=SC2317
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

GUID=02:56:49:00:00:77:88:99

address()
{
	cat "/sys/class/net/$1/address"
}

# fails_with TEXT COMMAND...: it fails, and says TEXT
fails_with()
{
	local text=$1 out
	shift

	out=$("$@" 2>&1) && return 1
	echo "$out"
	grep -qi "$text" <<<"$out"
}

reason()
{
	sed -n 's/^reason: //p' "/sys/kernel/debug/ipoib/$1_state"
}

has_reason()
{
	[[ $(reason "$1") = *"$2"* ]]
}

child=$T_IF_A.8001
check "a child" child_sysfs a "$T_PKEY"
mine=$(address "$T_IF_A")
head=${mine:0:35}
guid=${mine:36}

check "refused while up" fails_with busy ip link set "$T_IF_A" address "$head:$GUID"
is "nothing has changed" "$(address "$T_IF_A")" "$mine"
check "down" ip link set "$T_IF_A" down
check "another flag octet is refused" fails_with invalid \
	ip link set "$T_IF_A" address "40${head:2}:$GUID"
check "another queue pair" fails_with invalid \
	ip link set "$T_IF_A" address "${head:0:3}ff:ff:01${head:11}:$GUID"
check "another prefix" fails_with invalid \
	ip link set "$T_IF_A" address "${head:0:12}fe:81${head:17}:$GUID"
check "GUID zero" fails_with invalid \
	ip link set "$T_IF_A" address "$head:00:00:00:00:00:00:00:00"
is "nothing has changed by all that" "$(address "$T_IF_A")" "$mine"

check "another GUID" ip link set "$T_IF_A" address "$head:$GUID"
is "the parent has it" "$(address "$T_IF_A")" "$head:$GUID"
is "its child too" "$(address "$child" | cut -c 37-)" "$GUID"
is "the permanent address stays" "$(ethtool -P "$T_IF_A")" "Permanent address: $mine"
is "kind of address: set" "$(cat "/sys/class/net/$T_IF_A/addr_assign_type")" 3

interval=$(sysctl -n net.ipv4.neigh.default.gc_interval)
sysctl -qw net.ipv4.neigh.default.gc_interval=2
check "up" ip link set "$T_IF_A" up
if [ "$T_DRIVER" = ours ]; then
	check "it says what it waits for" wait_for 10 has_reason "$T_IF_A" "GUID ${GUID//:/}"
	check "the child as well" wait_for 10 has_reason "$child" "GUID ${GUID//:/}"
fi
check_not "no carrier" carrier_a
check "the port gets the GUID" ctl set vib0:1 guid 1 "0x${GUID//:/}"
if [ "$T_DRIVER" = ours ]; then
	check "it goes on" wait_for 10 has_reason "$T_IF_A" "broadcast group"
	# of which nobody tells
	ctl set vib0:1 guid 1 0
	check "the port loses it again, which is noticed" wait_for 20 has_reason "$T_IF_A" "GUID ${GUID//:/}"
	check "by the child as well" wait_for 20 has_reason "$child" "GUID ${GUID//:/}"
fi
sysctl -qw "net.ipv4.neigh.default.gc_interval=$interval"

check "down again" ip link set "$T_IF_A" down
check "back to the first GUID" ip link set "$T_IF_A" address "$head:$guid"
is "the address is the old one" "$(address "$T_IF_A")" "$mine"
check "up again" ip link set "$T_IF_A" up
check "carrier" wait_carrier 10
check "address" ip addr replace "$T_IP4_A/$T_PREFIX4" dev "$T_IF_A"
check "B answers" ping -c 1 -W 3 "$T_IP4_B"

# a child with a GUID of its own from its first moment
other=${GUID:0:21}aa
check "child with a GUID" ip link add link "$T_IF_A" name own address "$head:$other" \
	type ipoib pkey "$T_PKEY"
is "it has it" "$(address own | cut -c 37-)" "$other"
if [ "$T_DRIVER" = ours ]; then
	# network managers make up addresses: that must not keep the interface from working
	check "it comes up though nobody has such a GUID" child_addr a own 10.79.0.1/24
	is "with that of the port" "$(address own | cut -c 37-)" "$guid"
fi
check "gone" ip link del own
check "child with an MTU" ip link add link "$T_IF_A" name small mtu 1000 type ipoib pkey "$T_PKEY"
if [ "$T_DRIVER" = ours ]; then
	is "it is used" "$(cat /sys/class/net/small/mtu)" 1000
	check "up with it" child_addr a small 10.79.0.1/24
	is "still used" "$(cat /sys/class/net/small/mtu)" 1000
	check "too small is refused" fails_with "less than device minimum" ip link add \
		link "$T_IF_A" name tiny mtu 71 type ipoib pkey "$T_PKEY"
	check "too large is refused" fails_with "4092 at most" ip link add \
		link "$T_IF_A" name tiny mtu 4093 type ipoib pkey "$T_PKEY"
	check "a short address" fails_with "20 bytes" ip link add link "$T_IF_A" \
		name tiny address 02:00:00:00:00:01 type ipoib pkey "$T_PKEY"
	check "a GUID that is zero" fails_with zero ip link add link "$T_IF_A" \
		name tiny address "$head:00:00:00:00:00:00:00:00" type ipoib pkey "$T_PKEY"
	check_not "nothing is left of them" ip link show tiny
fi
check "gone too" ip link del small
done_testing
