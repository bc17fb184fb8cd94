# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# Settings of a link: kind data, hardware address, what may lie on top of it, moderation.

part_links_kind()
{
	is "A45 umcast by netlink" "$(nl set if="$T_IF_A" umcast=1)" OK
	is "A45 is seen in sysfs" "$(cat "$ib_a/umcast")" 1
	is "A45 umcast by sysfs" "$(put umcast '0\n')" OK
	check "A45 is seen by netlink" grep -q '"umcast":"0000"' <(ip -d -j link show "$T_IF_A")
	is "umcast takes any number" "$(put umcast 0x10)$(cat "$ib_a/umcast")" OK1
	is "and what is none is 0" "$(put umcast yes)$(cat "$ib_a/umcast")" OK0
	refused "A45 mode 7" EINVAL EINVAL "" nl set if="$T_IF_A" mode=7
	refused "A45 another P_Key" OK EOPNOTSUPP "it cannot be changed, and silence would hide that" \
		nl set if="$T_IF_A" pkey=0x8002
	is "its own P_Key" "$(nl set if="$T_IF_A" pkey=0xffff)" OK
	for text in 'wrong\n' ' datagram\n' 'datagram\n\n' 'DATAGRAM\n' '\n'; do
		refused "mode '$text'" EINVAL EINVAL "" put mode "$text"
	done
	differs "A46 mode without a newline" "$(put mode connected)" EINVAL OK \
		"printf is as good as echo"
	is "mode datagram is accepted" "$(put mode 'datagram\n')" OK
	is "A46 mode connected" "$(put mode 'connected\n')" OK
	is "A46 its MTU" "$(cat "$ib_a/mtu")" 65520
	is "A46 no offloads" "$(links_offloads)" "off off"
	is "A45 the mode is seen by netlink" "$(links_mode)" connected
	is "A47 mode datagram" "$(put mode 'datagram\n')" OK
	is "A47 its MTU" "$(cat "$ib_a/mtu")" 4092
	is "A47 the offloads are back" "$(links_offloads)" "on on"
	is "A45 mode connected by netlink" "$(nl set if="$T_IF_A" mode=1)" OK
	is "A45 the mode is seen in sysfs" "$(cat "$ib_a/mode")" connected
	is "A45 mode datagram by netlink" "$(nl set if="$T_IF_A" mode=0)" OK
}

links_mode()
{
	ip -d -j link show "$T_IF_A" | sed -n 's/.*"mode":"\(datagram\|connected\)".*/\1/p'
}

links_offloads()
{
	ethtool -k "$T_IF_A" | sed -n 's/^[[:space:]]*\(tx-checksum-ipv4\|tcp-segmentation-offload\): \(on\|off\).*/\2/p' |
		xargs
}

alias_asks()
{
	python3 -IS "$here/sa.py" log "Set MCMemberRecord" portgid=fe80::200:0:0:a11 <"$SM_DIR/log" |
		grep -q .
}

# The GUID of the interface, and one more that the port can be given
part_links_address()
{
	local addr alias=02:00:00:00:00:00:0a:11 head gid0 noticed=no

	addr=$(cat "$ib_a/address")
	head=$(cut -d : -f -12 <<<"$addr")
	refused "A54 address while up" EBUSY EBUSY "" nl set if="$T_IF_A" address="$head:$alias"
	nl new link="$T_IF_A" name=c1 pkey="$T_PKEY" >/dev/null
	ip link set "$T_IF_A" down
	refused "A54 another queue pair number" EINVAL EINVAL "" nl set if="$T_IF_A" \
		address="$(cut -d : -f 1 <<<"$addr"):ff:ff:01$(cut -c 12-35 <<<"$addr"):$alias"
	refused "A54 another prefix" EINVAL EINVAL "" nl set if="$T_IF_A" \
		address="$(cut -c -12 <<<"$addr")fe:80:00:00:00:00:00:01:$alias"
	refused "other flags" EINVAL EINVAL "" nl set if="$T_IF_A" address="40${addr:2:33}:$alias"
	refused "A54 a GUID of zeros" EINVAL EINVAL "" \
		nl set if="$T_IF_A" address="$head:00:00:00:00:00:00:00:00"
	refused "an address of 6 octets" EINVAL EINVAL "" nl set if="$T_IF_A" address=020000000001
	is "A54 another GUID is accepted" "$(nl set if="$T_IF_A" address="$head:$alias")" OK
	is "A54 it is the address now" "$(cat "$ib_a/address")" "$head:$alias"
	is "A54 and that of the child" "$(cut -d : -f 13- /sys/class/net/c1/address)" "$alias"
	is "and one that somebody set" "$(cat "$ib_a/addr_assign_type")" 3

	gid0=$(gid_of 1)
	sm_anew -D 0x2b -d 2
	wait_for 30 sm_swept
	ip link set "$T_IF_A" up
	wait_for 3 carrier_a
	check "A55 a GUID that the port does not have: no carrier" no_carrier_a
	check_not "A55 and nothing is asked for" alias_asks
	ctl set vib0:1 guid 1 "0x$(tr -d : <<<"$alias")"
	# OpenSM knows one GUID for each port and will say no
	wait_for 20 alias_asks && noticed=yes
	differs "A55 when it has, the group is asked for by that GID" $noticed no yes \
		"it looks for the GID until the port has it"
	is "GID 0 is as it was" "$(gid_of 1)" "$gid0"
	ip link set "$T_IF_A" down
	is "the first address again" "$(nl set if="$T_IF_A" address="$addr")" OK
	ctl set vib0:1 guid 1 0
	ip link del c1
	sm_anew
	restart_a
	check "B answers" wait_for 20 ping_b
}

# on_top KIND [WORD...]: try to put a link of that kind on A
on_top()
{
	local out
	out=$(ip link add link "$T_IF_A" name top0 type "$@" 2>&1) && echo OK && return
	case $out in
	*"not supported"*) echo "EOPNOTSUPP $out" ;;
	*"Invalid argument"*) echo "EINVAL $out" ;;
	*) echo "$out" ;;
	esac
}

master()
{
	local out
	out=$(ip link set "$T_IF_A" master "$1" 2>&1) && echo OK && return
	case $out in
	*"not supported"*) echo "EOPNOTSUPP $out" ;;
	*"Invalid argument"*) echo "EINVAL $out" ;;
	*) echo "$out" ;;
	esac
}

part_links_on_top()
{
	# these are refused by the other side, whose word it is to say why
	is "A56 VLAN" "$(on_top vlan id 5 | cut -d ' ' -f 1)" EOPNOTSUPP
	is "macvlan" "$(on_top macvlan | cut -d ' ' -f 1)" EINVAL
	is "ipvlan" "$(on_top ipvlan | cut -d ' ' -f 1)" EINVAL
	ip link add br0 type bridge
	is "bridge" "$(master br0 | cut -d ' ' -f 1)" EINVAL
	ip link del br0
	check "B answers after the refusals" ping_b
	ip link add vrf1 type vrf table 10
	ip link set vrf1 up
	is "VRF" "$(master vrf1)" OK
	check "B answers inside the VRF" wait_for 10 ping -q -c 1 -W 1 -I vrf1 "$T_IP4_B"
	ip link set "$T_IF_A" nomaster
	ip link del vrf1
	ip -6 addr replace "$T_IP6_A/$T_PREFIX6" dev "$T_IF_A" nodad
	wait_for 10 ping_b
}

part_links_bond()
{
	local mode

	modprobe bonding max_bonds=0
	ip link set "$T_IF_A" down
	for mode in balance-rr balance-xor broadcast 802.3ad balance-tlb balance-alb; do
		ip link add bond1 type bond mode "$mode"
		check "A56 no slave of a bond in mode $mode" [ "$(master bond1)" != OK ]
		ip link del bond1
	done
	ip link add bond1 type bond mode active-backup miimon 100
	is "A56 slave of a bond in active-backup" "$(master bond1)" OK
	check "A56 which takes the address of the active slave" \
		grep -q 'active 1' /sys/class/net/bond1/bonding/fail_over_mac
	is "A56 and is of the same type" "$(cat /sys/class/net/bond1/type)" 32
	ip addr flush dev "$T_IF_A"
	ip addr add "$T_IP4_A/$T_PREFIX4" dev bond1
	ip link set bond1 up
	check "A56 B answers through the bond" wait_for 40 ping_b
	if [ "$T_DRIVER" = stock ]; then
		skip "a child of the bond is refused" "the stock driver crashes"
	else
		refused "a child of the bond" ENODEV ENODEV "" nl new link=bond1 name=c1
	fi
	ip link set "$T_IF_A" nomaster
	ip link del bond1
	ip addr replace "$T_IP4_A/$T_PREFIX4" dev "$T_IF_A"
	restart_a
}

# ethtool_says COMMAND...: OK, or the name of the error that is behind the words
ethtool_says()
{
	local out

	out=$(ethtool "$@" 2>&1) && echo OK && return
	case $out in
	*"not supported"*) echo "EOPNOTSUPP $out" ;;
	*"Invalid argument"*) echo "EINVAL $out" ;;
	*) echo "other $out" ;;
	esac | tr '\n' ' '
}

part_links_moderation()
{
	refused "A57 -C rx-usecs 65536" EINVAL EINVAL "" ethtool_says -C "$T_IF_A" rx-usecs 65536
	refused "-C rx-frames 65536" EINVAL EINVAL "" ethtool_says -C "$T_IF_A" rx-frames 65536
	differs "A57 -C tx-usecs 1" "$(ethtool_says -C "$T_IF_A" tx-usecs 1 | cut -d ' ' -f 1)" \
		"$(ethtool_says -C "$T_IF_A" stats-block-usecs 1 | cut -d ' ' -f 1)" OK \
		"completions of sends can be moderated too"
	check "-C what it does not have is refused" [ "$(ethtool_says -C "$T_IF_A" stats-block-usecs 1)" != OK ]
	ethtool -C "$T_IF_A" tx-usecs 0 2>/dev/null
	is "which has changed no other value" "$(ethtool -c "$T_IF_A" | grep -c ': *[1-9]')" 0
	is "A57 -g" "$(ethtool_says -g "$T_IF_A" | cut -d ' ' -f 1)" EOPNOTSUPP
	for wrong in "-s speed 1000" "-s autoneg off" "-A rx on" "-G rx 512" "-L combined 2" \
		     "-K lro on" "-K tx-vlan-offload on" "--set-eee eee on" "-N flow-type tcp4" "-E"; do
		# shellcheck disable=SC2086
		set -- $wrong
		check "$1 ${*:2} is refused" [ "$(ethtool_says "$1" "$T_IF_A" "${@:2}")" != OK ]
	done
	for nothing in -a -x -n -t -d -m --show-eee --show-fec -l; do
		check "$nothing is not supported" [ "$(ethtool_says $nothing "$T_IF_A")" != OK ]
	done
	check "B answers after all that" ping_b
}

part_links_kind
part_links_address
part_links_on_top
part_links_bond
part_links_moderation
check "B answers" wait_for 20 ping_b
