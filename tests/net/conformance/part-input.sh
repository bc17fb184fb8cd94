# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# Wrong requests by netlink that no tool would make, and those of users without rights.

part_input_attributes()
{
	local add=(nl new link="$T_IF_A" name=c1) set=(nl set if="$T_IF_A")

	refused "P_Key of one octet" ERANGE ERANGE core "${add[@]}" data:1=01
	refused "mode of one octet" ERANGE ERANGE core "${set[@]}" data:2=01
	refused "mode 2" EINVAL EINVAL "" "${set[@]}" mode=2
	refused "mode 65535" EINVAL EINVAL "" "${set[@]}" mode=65535
	refused "a new child in mode 2" EINVAL EINVAL "" "${add[@]}" mode=2
	is "an attribute of a kind that is not known yet is ignored" \
		"$("${set[@]}" data:77=0102030405)" OK
	is "umcast 9 is as good as 1" "$("${set[@]}" umcast=9)$(cat "$ib_a/umcast")" OK1
	is "umcast 0" "$("${set[@]}" umcast=0)$(cat "$ib_a/umcast")" OK0
	refused "another kind" EOPNOTSUPP EOPNOTSUPP core "${set[@]}" kind=dummy mode=0
	refused "a name that is taken" EEXIST EEXIST core nl new link="$T_IF_A" name="$T_IF_A"
	refused "a name with a slash" EINVAL EINVAL core nl new link="$T_IF_A" name=a/b
	refused "an address of 6 octets" EINVAL EINVAL core "${add[@]}" address=020000000001
	refused "a broadcast address of 6 octets" EINVAL EINVAL core "${add[@]}" broadcast=ffffffffffff
	refused "a broadcast address of 6 octets for A" EINVAL EINVAL core \
		"${set[@]}" broadcast=ffffffffffff
	refused "a new child beyond the MTU" OK EINVAL "the stock driver forgets the MTU asked for" \
		nl new link="$T_IF_A" name=c1 mtu=9000
}

# made NAME WHAT...: make a child c1 with these values, and keep it
part_input_creation()
{
	local head

	nl del if=c1 >/dev/null
	is "a new child with an MTU" "$(nl new link="$T_IF_A" name=c1 mtu=2000)" OK
	differs "has it" "$(cat /sys/class/net/c1/mtu)" 4092 2000 "what is asked for is done"
	nl del if=c1 >/dev/null
	is "a new child with umcast" "$(nl new link="$T_IF_A" name=c1 umcast=1)" OK
	check "has it" grep -q '"umcast":"0001"' <(ip -d -j link show c1)
	nl del if=c1 >/dev/null
	head=00:12:34:56$(cut -c 12-35 "$ib_a/address")
	is "a new child with an address" \
		"$(nl new link="$T_IF_A" name=c1 address="$head:02:00:00:00:00:00:0a:12")" OK
	is "has its GUID" "$(cut -d : -f 13- /sys/class/net/c1/address)" 02:00:00:00:00:00:0a:12
	check "but the number of its own queue pair" \
		[ "$(cut -d : -f 2-4 /sys/class/net/c1/address)" != 12:34:56 ]
	nl del if=c1 >/dev/null
	is "a new child in another namespace" "$(nl new link="$T_IF_A" name=c1 netns=b)" OK
	check "is there" in_b ip link show c1
	in_b ip link del c1
	refused "a parent in another namespace" ENODEV ENODEV "" \
		in_b python3 "$here/nl.py" new link="$(cat "$ib_a/ifindex")" name=c1
}

part_input_rights()
{
	local user=(setpriv --bounding-set=-net_admin --inh-caps=-net_admin python3 "$here/nl.py")

	refused "a new child by somebody without rights" EPERM EPERM core \
		"${user[@]}" new link="$T_IF_A" name=c1
	refused "a mode by somebody without rights" EPERM EPERM core "${user[@]}" set if="$T_IF_A" mode=0
	refused "removal by somebody without rights" EPERM EPERM core "${user[@]}" del if="$T_IF_A"
}

part_input_attributes
part_input_creation
part_input_rights
check "B answers" wait_for 20 ping_b
