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
	differs "a new child beyond the MTU" "$(nl new link="$T_IF_A" name=c1 mtu=9000 | cut -d ' ' -f 1)" \
		OK EINVAL "what cannot be done is refused"
	[ "$T_DRIVER" = stock ] ||
		refused "which changes nothing" EINVAL EINVAL "" nl new link="$T_IF_A" name=c1 mtu=9000
}

# Values that a new child is asked for; one c1 may be left from before
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
	differs "and tells the namespace of its parent" \
		"$(in_b ip -j link show c1 | grep -q '"link_netnsid"' && echo yes)" "" yes \
		"an index alone is taken for one of its own namespace"
	in_b ip link del c1
	refused "a parent in another namespace" ENODEV ENODEV "" \
		in_b python3 -IS "$here/nl.py" new link="$(cat "$ib_a/ifindex")" name=c1
}

# used_queues IF
used_queues()
{
	ls "/sys/class/net/$1/queues"
}

part_input_queues()
{
	is "a new child with four queues each way" \
		"$(nl new link="$T_IF_A" name=c1 link:31=04000000 link:32=04000000)" OK
	is "uses one" "$(used_queues c1 | tr '\n' ' ')" "rx-0 tx-0 "
	nl del if=c1 >/dev/null
	refused "a new child without queues" EINVAL EINVAL core \
		nl new link="$T_IF_A" name=c1 link:31=00000000
}

# The stack takes any broadcast address; what the driver makes of it is another question
part_input_broadcast()
{
	local right wrong what

	right=$(<"$ib_a/broadcast")
	for what in "another scope" "that of B" zero; do
		case $what in
		"another scope") wrong=00:ff:ff:ff:ff:15${right:17} ;;
		"that of B") wrong=$(in_b cat "/sys/class/net/$T_IF_B/address") ;;
		zero) wrong=${right//[0-9a-f]/0} ;;
		esac
		is "broadcast address: $what" "$(nl set if="$T_IF_A" broadcast="$wrong")" OK
		# who asks for addresses asks there now: nobody, or one host only
		ping_b
		ip link set "$T_IF_A" down
		ip link set "$T_IF_A" up
		wait_for 2 carrier_a
		check "no carrier after down and up, for there is no such group" no_carrier_a
		nl set if="$T_IF_A" broadcast="$right" >/dev/null
		restart_a
		check "the right one again: B answers" wait_for 20 ping_b
	done
}

no_nonsense()
{
	! ip -o link | grep -q "@$T_IF_A"
}

# Whatever it is, it is done or refused, and nothing else happens. The stock driver has holes here.
part_input_nonsense()
{
	local seed name

	if [ "$T_DRIVER" = stock ]; then
		skip "nonsense by netlink, sysfs and ioctl" "no test of the stock driver"
		return
	fi
	for seed in 1 2; do
		check "nonsense $seed by netlink" timeout 200 python3 -IS "$here/nl.py" fuzz "$T_IF_A" $seed 400
		check "nonsense $seed by sysfs" timeout 200 python3 -IS "$here/poke.py" scribble "$T_IF_A" $seed 300
		check "nonsense $seed by ioctl" timeout 200 python3 -IS "$here/poke.py" ioctl "$T_IF_A" $seed 1000
	done
	for name in $(ip -o link | sed -n "s/^[0-9]*: \(.*\)@$T_IF_A:.*/\1/p"); do
		ip link del "$name"
	done
	check "what children were made can be removed" wait_for 10 no_nonsense
	ethtool -K "$T_IF_A" tx on rx on tso on sg on gso on gro on >/dev/null 2>&1
	ethtool -C "$T_IF_A" rx-usecs 0 rx-frames 0 tx-usecs 0 tx-frames 0 2>/dev/null
	put umcast '0\n' >/dev/null
	put mtu 4092 >/dev/null
	ip -6 addr replace "$T_IP6_A/$T_PREFIX6" dev "$T_IF_A" nodad
	check "B answers after the nonsense" wait_for 20 ping_b
}

part_input_rights()
{
	local user=(setpriv --bounding-set=-net_admin --inh-caps=-net_admin python3 -IS "$here/nl.py")

	refused "a new child by somebody without rights" EPERM EPERM core \
		"${user[@]}" new link="$T_IF_A" name=c1
	refused "a mode by somebody without rights" EPERM EPERM core "${user[@]}" set if="$T_IF_A" mode=0
	refused "removal by somebody without rights" EPERM EPERM core "${user[@]}" del if="$T_IF_A"
}

part_input_attributes
part_input_creation
part_input_queues
part_input_broadcast
part_input_rights
part_input_nonsense
check "B answers" wait_for 20 ping_b
