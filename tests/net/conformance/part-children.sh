# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# Children: by sysfs and by netlink, names, files, following the parent, going away.

child=$T_IF_A.${T_PKEY#0x}

children()
{
	{ ip -o link; ip -n "$T_NS_B" -o link; } | grep -c "@$T_IF_A"
}

no_children()
{
	[ "$(children)" = 0 ]
}

without_admin()
{
	setpriv --bounding-set=-net_admin --inh-caps=-net_admin python3 -IS "$here/poke.py" write "$@"
}

part_children_sysfs()
{
	is "A36 create_child" "$(put create_child "$T_PKEY\n")" OK
	check "A36 makes $child" exists "$child"
	is "A36 with the P_Key" "$(cat "/sys/class/net/$child/pkey")" "$T_PKEY"
	is "A36 with the parent" "$(cat "/sys/class/net/$child/parent")" "$T_IF_A"
	is "A36 with a mode" "$(cat "/sys/class/net/$child/mode")" datagram
	is "A36 with umcast" "$(cat "/sys/class/net/$child/umcast")" 0
	check_not "A36 and no child of its own" [ -e "/sys/class/net/$child/create_child" ]
	check "A43 ip shows the parent behind it" grep -q "$child@$T_IF_A:" <(ip link show "$child")
	is "A43 its address differs in octets 1 to 3 only" \
		"$(cut -d : -f 1,5- "/sys/class/net/$child/address")" "$(cut -d : -f 1,5- "$ib_a/address")"
	check_not "A43 but there it does" [ "$(cat "/sys/class/net/$child/address")" = "$(cat "$ib_a/address")" ]

	refused "A37 the same again" ENOTUNIQ ENOTUNIQ "" put create_child "$T_PKEY\n"
	refused "A37 the P_Key of the parent" ENOTUNIQ ENOTUNIQ "" put create_child 0xffff
	for bad in 0 0x8000 0x10000 -1 xyz '\n' 0x 99999999999999999999; do
		refused "A37 create_child '$bad'" EINVAL EINVAL "" put create_child "$bad"
	done
	differs "text behind a P_Key" "$(put create_child '0x8009 and more')" OK EINVAL \
		"what is not understood as a whole is refused"
	put delete_child 0x8009 >/dev/null
	refused "A37 create_child without CAP_NET_ADMIN" EPERM EPERM core \
		without_admin "$ib_a/create_child" 0x8003
	refused "A38 delete_child without CAP_NET_ADMIN" EPERM EPERM core \
		without_admin "$ib_a/delete_child" "$T_PKEY"
	refused "delete_child of the parent's own" ENODEV ENODEV "" put delete_child 0xffff
	for bad in xyz 0x10000 -1; do
		refused "A38 delete_child '$bad'" EINVAL EINVAL "" put delete_child "$bad"
	done
	is "A38 delete_child" "$(put delete_child "$T_PKEY")" OK
	[ "$T_DRIVER" = stock ] || check "which returns when the child is gone" gone "$child"
	check "A38 the child goes" wait_for 10 gone "$child"
	refused "A38 delete_child again" ENODEV ENODEV "" put delete_child "$T_PKEY"
}

# The P_Key has 15 bits and a bit that says full or limited member
part_children_names()
{
	local full=$T_IF_A.8005 limited=$T_IF_A.0005

	put create_child 0x0005 >/dev/null
	differs "create_child 0x0005 makes" "$(basename /sys/class/net/"$T_IF_A".*5)" \
		"$limited" "$full" "the interface has P_Key 0x8005, and its name says so"
	is "and its P_Key is" "$(cat /sys/class/net/"$T_IF_A".*5/pkey)" 0x8005
	differs "delete_child 0x0005" "$(put delete_child 0x0005)" ENODEV OK \
		"what create_child takes, delete_child takes"
	put delete_child 0x8005 >/dev/null
	wait_for 10 no_children
	put create_child 0x8005 >/dev/null
	differs "create_child 0x0005 beside 0x8005" "$(put create_child 0x0005)" OK ENOTUNIQ \
		"both would be in the same partition"
	put delete_child 0x8005 >/dev/null
	put delete_child 0x8005 >/dev/null
	check "both are gone" wait_for 10 no_children
	ip link add "$full" type dummy
	refused "create_child of a name that is taken" EEXIST EEXIST "" put create_child 0x8005
	ip link del "$full"
}

# files NAME: those of the driver that an interface has
files()
{
	local file found=

	for file in pkey mode umcast parent create_child delete_child; do
		[ ! -e "/sys/class/net/$1/$file" ] || found+="$file "
	done
	echo "$found"
}

part_children_netlink()
{
	local add=(nl new link="$T_IF_A" name=c1)

	is "A39 a child by netlink" "$("${add[@]}" pkey="$T_PKEY")" OK
	is "A39 and another one with the same P_Key" \
		"$(nl new link="$T_IF_A" name=c2 pkey="$T_PKEY")" OK
	differs "A39 files of it" "$(files c1)" "" "pkey mode umcast parent " \
		"a child is a child, however it was made"
	refused "A39 delete_child with two of them" ENODEV ENOTUNIQ "nobody knows which one is meant" \
		put delete_child "$T_PKEY"
	check "A43 ip shows the parent behind it" grep -q "c1@$T_IF_A:" <(ip link show c1)
	is "A43 its address differs in octets 1 to 3 only" \
		"$(cut -d : -f 1,5- /sys/class/net/c1/address)" "$(cut -d : -f 1,5- "$ib_a/address")"
	differs "queues of it" "$(ip -d link show c1 | grep -o 'numtxqueues [0-9]* numrxqueues [0-9]*')" \
		"numtxqueues $(nproc) numrxqueues $(nproc)" "numtxqueues 1 numrxqueues 1" \
		"it uses one each way, like its parent"
	check "A42 kind and values of a child" grep -q '"info_kind":"ipoib","info_data":{"key":"0x8001"' \
		<(ip -d -j link show c1)
	refused "A40 a child of a child" EINVAL EINVAL "" nl new link=c1 name=c3 pkey=0x8002
	check "A41 ip link del" ip link del c2
	check "A41 takes it away" gone c2
	put create_child "$T_PKEY" >/dev/null
	check "A41 also one of create_child" ip link del "$child"
	check "A41 takes that away" gone "$child"
	echo "conformance: parent" >/dev/kmsg
	check "A41 for the interface of a port it succeeds" ip link del "$T_IF_A"
	[ "$T_DRIVER" = stock ] || check "and the log says that nothing happens" has_word "conformance: parent"
	check "A41 but that stays" exists "$T_IF_A"
	check "A41 and works" ping_b
	differs "A39 delete_child of the only one of a P_Key" "$(put delete_child "$T_PKEY")" \
		ENODEV OK "a child is a child, however it was made"
	ip link del c1 2>/dev/null

	is "A40 without a P_Key" "$("${add[@]}")" OK
	check "A40 it has that of the parent" grep -q 'pkey *0xffff' <(ip -d link show c1)
	ip link del c1
	refused "A40 P_Key 0x8000" EINVAL EINVAL "" "${add[@]}" pkey=0x8000
	refused "A40 P_Key 0" EINVAL EINVAL "" "${add[@]}" pkey=0
	refused "A40 without a parent" EINVAL EINVAL "" nl new name=c1 pkey=0x8001
	refused "A40 loopback as parent" ENODEV ENODEV "" nl new link=lo name=c1 pkey=0x8001
	refused "a parent that does not exist" ENODEV ENODEV "" nl new link=9999 name=c1 pkey=0x8001
	ip link add eth7 type dummy
	refused "A40 Ethernet as parent" ENODEV ENODEV "" nl new link=eth7 name=c1 pkey=0x8001
	ip link del eth7
	is "a child without a name" "$(nl new link="$T_IF_A" pkey="$T_PKEY")" OK
	check "is named ipoib0" exists ipoib0
	ip link del ipoib0 2>/dev/null
}

part_children_follow()
{
	child_netlink b "$T_PKEY" "$T_IF_B.8001"
	child_addr b "$T_IF_B.8001" 10.78.0.2/24
	put create_child "$T_PKEY" >/dev/null
	nl new link="$T_IF_A" name=c1 pkey="$T_PKEY" >/dev/null
	ip link set "$T_IF_A" down
	ip link set "$T_IF_A" up
	check "A44 parent up: child by sysfs up" grep -q '[<,]UP[,>]' <(ip link show "$child")
	check "A44 parent up: child by netlink up" grep -q '[<,]UP[,>]' <(ip link show c1)
	ip link set "$T_IF_A" down
	check_not "A44 parent down: child by sysfs down" grep -q '[<,]UP[,>]' <(ip link show "$child")
	check_not "A44 parent down: child by netlink down" grep -q '[<,]UP[,>]' <(ip link show c1)
	ip addr add 10.78.0.1/24 dev "$child"
	ip link set "$child" up
	check "A44 the child alone: carrier" wait_for 20 carrier_a "$child"
	check "A44 the child alone: traffic" wait_for 10 ping_b 10.78.0.2
	restart_a
	check "A44 and after the parent is up" wait_for 10 ping_b 10.78.0.2
	ip link del c1
	put delete_child "$T_PKEY" >/dev/null
	in_b ip link del "$T_IF_B.8001"
	wait_for 10 gone "$child"
}

part_children_sysfs
part_children_names
part_children_netlink
part_children_follow
is "no child is left" "$(children)" 0
check "B answers" wait_for 20 ping_b
