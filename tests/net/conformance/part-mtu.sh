# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# MTU: limits, the group's, the administrator's wish.

# group_mtu CODE: OpenSM makes groups of that MTU, 4 for 2048 and 5 for 4096
group_mtu()
{
	sed -i "s/mtu=[45]/mtu=$1/" "$T_PARTITIONS"
	sm_anew
}

mtu_is()
{
	[ "$(cat "$ib_a/mtu")" = "$1" ]
}

part_mtu_limits()
{
	refused "A28 MTU 71" EINVAL EINVAL "" nl set if="$T_IF_A" mtu=71
	refused "MTU 0" EINVAL EINVAL "" nl set if="$T_IF_A" mtu=0
	refused "A28 MTU one beyond the port" EINVAL EINVAL "" nl set if="$T_IF_A" mtu=4093
	refused "MTU 65520 in datagram mode" EINVAL EINVAL "" nl set if="$T_IF_A" mtu=65520
	refused "MTU 65521" EINVAL EINVAL "" nl set if="$T_IF_A" mtu=65521
	refused "MTU 4294967295" EINVAL EINVAL "" nl set if="$T_IF_A" mtu=4294967295
	refused "MTU 4093 by sysfs" EINVAL EINVAL "" put mtu 4093
	is "A28 MTU 72" "$(nl set if="$T_IF_A" mtu=72)" OK
	check "which IPv4 can live with" ping_b
	is "A28 and back to the largest" "$(nl set if="$T_IF_A" mtu=4092)" OK
	ip -6 addr replace "$T_IP6_A/$T_PREFIX6" dev "$T_IF_A" nodad
}

part_mtu_group()
{
	nl set if="$T_IF_A" mtu=1500 >/dev/null
	restart_a
	is "a wish below the group's MTU stays over down and up" "$(cat "$ib_a/mtu")" 1500
	nl set if="$T_IF_A" mtu=4092 >/dev/null

	group_mtu 4
	check "A8 a group of 2048: the MTU becomes 2044" wait_for 40 mtu_is 2044
	check "with a carrier" wait_carrier 30
	check "B answers" wait_for 10 ping_b
	is "A28 MTU between group and port is accepted" "$(nl set if="$T_IF_A" mtu=3000)" OK
	is "A28 but that of the group holds" "$(cat "$ib_a/mtu")" 2044
	nl set if="$T_IF_A" mtu=4092 >/dev/null
	is "and so does it for the largest" "$(cat "$ib_a/mtu")" 2044
	check "a packet that fills it arrives" ping -q -c 1 -W 2 -M "do" -s 2016 "$T_IP4_B"
	check_not "a longer one does not" ping -q -c 1 -W 1 -M "do" -s 2017 "$T_IP4_B"
	group_mtu 5
	check "A8 a group of 4096: the MTU becomes 4092 again" wait_for 40 mtu_is 4092
	wait_carrier 30
}

part_mtu_limits
part_mtu_group
check "B answers" wait_for 20 ping_b
