#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Is the virtual fabric one that unmodified software takes for real? Run it with
#
#	tests/vm/run --driver stock --timeout 900 tests/vib/selftest.sh
#
# It looks at the fabric through the kernel's own ib_ipoib, OpenSM and the diagnostic tools, and
# turns each knob of the control file until it shows. Part by part: device, verbs, subnet
# management, traffic, offloads, completions, partitions, links and events, commands, failures on
# order, devices that come and go, fuzzed management datagrams. Oracles are looked at after each.

# many functions are called by name only, as arguments of check and wait_for
# shellcheck disable=SC2317
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"
# shellcheck source=tests/vib/lib.sh
. "$T_ROOT/tests/vib/lib.sh"

IBDEV=/sys/class/infiniband
PARTS=(device verbs subnet traffic offloads completions partition links commands failop hotplug fuzz)

# clean NAME: no oracle has counted anything
clean()
{
	is "$1: no oracle" "$(grep -v '=0$' $DBG/oracles)" ""
}

# Number of lines that match an extended expression
count()
{
	grep -cE -- "$@"
}

# Number of files in a folder
entries()
{
	find "$1" -mindepth 1 -maxdepth 1 2>/dev/null | wc -l
}

ping4()
{
	ping -q -c "${1:-3}" -i 0.2 -W 2 "$T_IP4_B"
}

# snmp PROTOCOL COUNTER: what this side's network stack has counted
snmp()
{
	awk -v proto="$1:" -v name="$2" '
		$1 == proto && n { print $n }
		$1 == proto { for (i = 2; i <= NF; i++) if ($i == name) n = i }
	' /proc/net/snmp
}

replies_since()
{
	[ "$(snmp Icmp InEchoReps)" -ge "$1" ]
}

flood_size()
{
	if [ "$T_KERNEL" = debug ]; then
		echo $(($1 / 4))
	else
		echo "$1"
	fi
}

# flood N: no packet of a flood may get lost. The socket of ping may well overflow on a slow machine,
# so it is not asked; a debug kernel gets a quarter.
flood()
{
	local n before

	n=$(flood_size "$1")
	before=$(snmp Icmp InEchoReps)
	ping -q -f -c "$n" -W 5 "$T_IP4_B"
	wait_for 10 replies_since $((before + n)) || {
		echo "$(($(snmp Icmp InEchoReps) - before)) of $n came back"
		return 1
	}
}

all_active()
{
	! grep -qv ACTIVE "$IBDEV"/*/ports/*/state
}

part_device()
{
	is "device is there" "$(ls $IBDEV)" vib0
	is "two ports" "$(echo $IBDEV/vib0/ports/*)" "$IBDEV/vib0/ports/1 $IBDEV/vib0/ports/2"
	is "it is a channel adapter" "$(cat $IBDEV/vib0/node_type)" "1: CA"
	is "ports have the InfiniBand link layer" "$(sort -u $IBDEV/vib0/ports/*/link_layer)" InfiniBand
	is "GUIDs as laid out" "$(ibstat -p | tr '\n' ' ')" "0x0256494200100001 0x0256494200100002 "
	check "ibstat sees a port at 40 Gb/s" sh -c "ibstat vib0 2 | grep -q 'Rate: 40'"
	check "umad and issm nodes" test -c /dev/infiniband/umad1 -a -c /dev/infiniband/issm1
	check_not "no uverbs node" sh -c 'ls /dev/infiniband/uverbs*'
	is "P_Key table length" "$(entries $IBDEV/vib0/ports/1/pkeys)" 32
	is "GID table length" "$(entries $IBDEV/vib0/ports/1/gids)" 8
	check "ethtool names parent and firmware" \
		sh -c "ethtool -i $T_IF_A | grep -q 'bus-info: vib.0' && ethtool -i $T_IF_A | grep -q 'firmware-version: 1.0.0'"
}

# The rules of an adapter, kept and broken by a module of ours; its findings are in the kernel log
part_verbs()
{
	local module mode full

	module=$T_ROOT/build/$(uname -r)/vib/vib_check.ko
	for mode in trust full; do
		ctl set dev csum $mode
		full=$([ $mode = full ] && echo 1 || echo 0)
		check "verbs, csum=$mode" insmod "$module" csum_full="$full"
		dmesg | sed -n 's/.*vib_check: \(not ok .*\|.* does not hold\)/# \1/p'
		check "oracles notice what was done wrong" test "$(vib oracles qkey_violation)" = 1 \
			-a "$(vib oracles cq_overrun)" = 1 -a "$(vib oracles lso_bad_header)" = 3
		check "nothing stays behind" rmmod vib_check
		vib_reset
	done
	ctl set dev csum full
	clean verbs
}

# Seconds from becoming master to "subnet up" in OpenSM's log
sweep_time()
{
	awk '
		{ split($3, t, ":"); now = t[1] * 3600 + t[2] * 60 + t[3] + $4 / 1000000 }
		/Entering MASTER/ { from = now }
		/SUBNET UP/ && from && !to { to = now }
		END { if (to) printf "%.2f\n", to - from }
	' /run/opensm/log
}

part_subnet()
{
	local took

	sm_stop
	ctl link vib0:1 bounce
	ctl link vib0:2 bounce
	is "ports wait in INIT without a manager" "$(port_state 1) $(port_state 2)" "INIT INIT"
	sm_start
	check "OpenSM brings both ports up" wait_for 60 all_active
	check "OpenSM says so" wait_for 10 sm_swept
	took=$(sweep_time)
	note "from MASTER to SUBNET UP: $took s"
	check "within a second" awk -v t="${took:-9}" 'BEGIN { exit !(t <= 1) }'
	is "port LIDs are those of the topology" \
		"$(printf '%d %d' "$(cat $IBDEV/vib0/ports/1/lid)" "$(cat $IBDEV/vib0/ports/2/lid)")" \
		"$(topo vib0 1 lid) $(topo vib0 2 lid)"
	check "carrier comes back" wait_carrier 60

	is "saquery: three node records" "$(saquery | count '^NodeRecord dump')" 3
	is "saquery: one switch" "$(saquery | count 'node_type.*Switch')" 1
	check "saquery -g: the broadcast group" sh -c "saquery -g | grep -qi 'ff12:401b:ffff::ffff:ffff'"
	is "ibnetdiscover: one switch, one adapter" \
		"$(ibnetdiscover | count '^(Switch|Ca)')" 2
	is "ibnetdiscover: both cables, from both ends" \
		"$(ibnetdiscover | count '^\[[12]\]')" 4
	check "smpquery by directed route" sh -c "smpquery nodeinfo -D 0,1 | grep -q 'NodeType:.*Switch'"
	check "smpquery two hops away" sh -c "smpquery nodeinfo -D 0,1,2 | grep -q 'LocalPort:.*\.2$'"
	check "smpquery by LID" sh -c "smpquery portinfo $(topo sw0 0 lid) 1 | grep -q 'LinkState:.*Active'"
	check "smpquery pkeys" sh -c "smpquery pkeys $(topo vib0 1 lid) | grep -q 0xffff"
	check "iblinkinfo" sh -c "iblinkinfo | grep -q 'Active/  *LinkUp'"
	check "ibtracert across the switch" ibtracert "$(topo vib0 1 lid)" "$(topo vib0 2 lid)"
	check "sminfo" sminfo
	clean subnet
}

# Link-local address of B
ll_b()
{
	in_b ip -6 -o addr show dev "$T_IF_B" scope link | awk '{ sub("/.*", "", $4); print $4 }'
}

# xmit_pkts PORT: extended counter of a port, asked by LID
xmit_pkts()
{
	perfquery -x "$(topo vib0 "$1" lid)" "$1" | sed -n 's/^PortXmitPkts:\.*//p'
}

part_traffic()
{
	local before after sysfs=$IBDEV/vib0/ports/1/counters/port_xmit_data was

	before=$(xmit_pkts 1)
	was=$(cat "$sysfs")
	check "ping" ping4 5
	check "ping with whole frames" ping -q -c 3 -i 0.2 -W 2 -M "do" -s 4064 "$T_IP4_B"
	check "ping in fragments" ping -q -c 3 -i 0.2 -W 5 -s 20000 "$T_IP4_B"
	check "flood, none lost" flood 2000
	check "IPv6" ping -q -c 3 -i 0.2 -W 3 "$T_IP6_B"
	check "IPv6 link-local" ping -q -c 3 -i 0.2 -W 3 "$(ll_b)%$T_IF_A"
	in_b sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=0
	check "IPv4 multicast" sh -c "ping -c 3 -i 0.2 -W 3 -I $T_IF_A 224.0.0.1 | grep -q 'from $T_IP4_B'"
	check "IPv6 multicast" sh -c "ping -c 3 -i 0.2 -W 3 -L ff02::1%$T_IF_A | grep -q 'from $(ll_b)'"
	after=$(xmit_pkts 1)
	check "perfquery -x: counter moves (${before:-none} to ${after:-none})" \
		test "${after:-0}" -gt $((before + $(flood_size 2000)))
	check "sysfs counter moves" test "$(cat "$sysfs")" -gt $((was + $(flood_size 2000) * 26))
	check "a port can be reset" perfquery -R "$(topo vib0 1 lid)" 1
	clean traffic
}

# Bad checksums seen on either side
csum_errors()
{
	snmp Tcp InCsumErrors
	in_b sh -c "$(declare -f snmp); snmp Tcp InCsumErrors"
}

# tcp NAME: both directions arrive unharmed, and nobody saw a bad checksum
tcp()
{
	local bad

	bad=$(csum_errors)
	check "TCP from A, $1" transfer a 16
	check "TCP from B, $1" transfer b 16
	is "no checksum errors, $1" "$(csum_errors)" "$bad"
}

both_ethtool()
{
	ethtool -K "$T_IF_A" "$@" >/dev/null && in_b ethtool -K "$T_IF_B" "$@" >/dev/null
}

part_offloads()
{
	is "segmentation offload is on" \
		"$(ethtool -k "$T_IF_A" | sed -n 's/^tcp-segmentation-offload: //p')" on
	tcp "all offloads"
	check "TCP over IPv6, all offloads" transfer a 8 6
	check "UDP, all offloads" ping4
	# the receivers look themselves
	both_ethtool rx off
	tcp "no help with sums that arrive"
	both_ethtool rx on tso off
	tcp "no segmentation offload"
	both_ethtool tso on
	ctl set dev csum trust
	tcp "all offloads, sums only promised"
	both_ethtool tx off
	tcp "no offload"
	both_ethtool tx on tso on
	ctl set dev csum full
	ctl set dev scribble 1
	check "GRH room overwritten" flood 200
	ctl set dev scribble 0
	clean offloads
}

part_completions()
{
	local mode

	for mode in hardirq softirq; do
		ctl set dev comp $mode
		check "flood, completions by $mode" flood 500
		check "TCP, completions by $mode" transfer a 8
	done
	clean completions
	# on two CPUs the sender may outrun the receiver: that one counter may move
	ctl set dev comp spread
	check "ping, completions spread" ping4 20
	check "TCP, completions spread" transfer a 8
	is "completions spread: no other oracle" \
		"$(grep -v -e '=0$' -e ^rx_no_buffer= $DBG/oracles)" ""
	vib_reset
	ctl set dev comp softirq
	ctl set dev spurious 3
	check "flood with spurious calls" flood 500
	ctl set dev spurious 0
	ctl set dev missed 0
	check "ping with missed events not reported" ping4 10
	ctl set dev missed 1
	clean completions
	ctl set dev cost 1
	check "cost is measured" sh -c "ping -q -c 5 -i 0.2 $T_IP4_B >/dev/null;
		grep -Eq 'on=1 ns=[1-9][0-9]* calls=[1-9]' $DBG/cost"
	ctl set dev cost 0
}

part_partition()
{
	check "child on A" child_netlink a "$T_PKEY"
	check "child on B" child_netlink b "$T_PKEY"
	check "address on A" child_addr a "$T_IF_A.8001" 10.78.0.1/24
	check "address on B" child_addr b "$T_IF_B.8001" 10.78.0.2/24
	check "children talk" ping -q -c 3 -i 0.2 -W 3 10.78.0.2
	is "their group has its own MGID" "$(count 401b:8001::ffff:ffff $DBG/vib0/mcast)" 2
	check "children go" sh -c "ip link del $T_IF_A.8001 && ip -n $T_NS_B link del $T_IF_B.8001"
	clean partition
}

no_carrier()
{
	! carrier_a
}

# answers: until the other side answers again
answers()
{
	wait_for 60 ping -q -c 1 -W 1 "$T_IP4_B"
}

part_links()
{
	local sent lid

	# neither the number of the trap nor its end may get lost
	sent=$(topo sw0 0 traps_repressed)
	ctl link vib0:1 down
	is "cable out: port is down" "$(port_state 1)" DOWN
	check "cable out: no carrier" wait_for 20 no_carrier
	is "cable out: the other port stays" "$(port_state 2)" ACTIVE
	ctl link vib0:1 up
	check "cable in: port comes up by itself" wait_for 20 all_active
	check "cable in: carrier" wait_carrier 60
	check "cable in: traffic" answers
	check "the switch told the manager, which took note" \
		test "$(topo sw0 0 traps_repressed)" -gt "$sent"
	ctl link sw0:2 bounce 100
	check "bounce at the switch: traffic" answers
	ctl link sw0:2 bounce 100
	check "bounce at the switch: port" wait_for 20 all_active

	ctl set vib0:1 rereg
	check "re-register: traffic" answers
	ctl set vib0:1 pkey 5 0x8123
	is "P_Key shows" "$(cat $IBDEV/vib0/ports/1/pkeys/5)" 0x8123
	ctl set vib0:1 pkey 5 0
	check "P_Key table changed: traffic" answers
	ctl set vib0:2 guid 3 0x1234567890abcdef
	check "alias GUID shows" wait_for 10 grep -q 1234:5678:90ab:cdef $IBDEV/vib0/ports/2/gids/3
	ctl set vib0:2 guid 3 0
	lid=$(topo vib0 2 lid)
	ctl set vib0:2 lid $((lid + 100))
	is "LID shows" "$(printf '%d' "$(cat $IBDEV/vib0/ports/2/lid)")" $((lid + 100))
	ctl set vib0:2 lid "$lid"
	ctl event vib0:1 sm_change 20 5
	ctl event vib0:2 pkey_change 5 20
	ctl event vib0:1 port_active 5 20
	check "storm of events: traffic" answers
	check "nothing went wrong: carrier" wait_carrier 60
	check "nothing went wrong: flood" flood 200
	clean links
}

# Nodes, ports and cables, without the counters
topology()
{
	sed -E 's/ (drop|traps)_[a-z_]+=[0-9]+//g' $DBG/topo
}

part_commands()
{
	local before

	before=$(topology)
	refused "Invalid argument" nonsense
	refused "Invalid argument" link vib0:1
	refused "Invalid argument" link vib0:1 sideways
	refused "Invalid argument" link vib0:x up
	refused "No such device" link vib0:3 up
	refused "No such device" link vib0:0 up
	refused "out of range" link vib0:4294967297 up
	refused "No such device" link sw0:0 down
	refused "No such device" link nobody:1 up
	refused "No such device" link a-name-that-no-node-can-have:1 up
	refused "No such device" set sw0:1 pkey 0 0x8001
	refused "Invalid argument" set vib0:1 pkey 32 0x8001
	refused "out of range" set vib0:1 pkey 1 0x18001
	refused "Invalid argument" set vib0:1 pkey 1
	refused "Invalid argument" set vib0:1 pkey -1 1
	refused "Invalid argument" set vib0:1 lid 0
	refused "Invalid argument" set vib0:1 lid 0xc000
	refused "Invalid argument" set vib0:1 guid 0 1
	refused "Invalid argument" set vib0:1 state sleeping
	refused "Invalid argument" set vib0:1 rate 2
	refused "Invalid argument" set vib0:1 rate 4x edr
	refused "out of range" set vib0:1 rate 256 1
	refused "out of range" set vib0:1 rate 2 65536
	refused "Invalid argument" set dev comp slow
	refused "Invalid argument" set dev csum maybe
	refused "out of range" set dev max_sge 0
	refused "Invalid argument" set dev colour blue
	refused "Invalid argument" event vib0:1 birthday
	refused "out of range" event vib0:1 sm_change 100000 1000
	refused "Invalid argument" failop create_world 1 1 12
	refused "Invalid argument" failop post_send 0 1 12
	refused "Invalid argument" failop post_send 1 1 0
	refused "out of range" failop post_send 1 1 100000
	refused "File exists" hca add vib0 ports=1 sw=sw0
	refused "File exists" hca add sw0 ports=1
	refused "No such file" hca add vib7 ports=1 sw=nowhere
	refused "Invalid argument" hca add vib7 ports=0
	refused "Invalid argument" hca add vib7 ports=9
	refused "Invalid argument" hca add vib7 legs=4
	refused "Invalid argument" hca add 'vib%d' ports=1
	refused "Invalid argument" hca add ../etc ports=1
	refused "No such file" hca del vib7
	refused "Invalid argument" hca del vib0 softly
	refused "File exists" sw add sw0
	refused "Invalid argument" sw add sw1 ports=65
	refused "No such file" sw del sw1
	refused "busy" cable vib0:1 sw0:5
	refused "Invalid argument" cable sw0:5 sw0:5
	refused "not connected" uncable sw0:5
	refused "Invalid argument" uncable vib0:1 now
	refused "Invalid argument" cable sw0:5 sw0:6 sw0:7
	refused "Invalid argument" trap vib0:1 integrity 2
	refused "Invalid argument" event vib0:1 sm_change 1 0 0
	refused "Invalid argument" hca add vib7 ports=1 ports=2
	refused "Argument list too long" a b c d e f g h i j k l m n o p q
	refused "Invalid argument" $'set dev scribble 0\nnonsense\nset dev scribble 1'
	check_not "refused: a binary line" sh -c "printf 'link\\0vib0:1 down' >$T_CTL"
	check_not "refused: 100 kB" sh -c "head -c 100000 /dev/zero | tr '\\0' x | dd bs=100000 of=$T_CTL"
	check "comments, blanks and several lines" \
		sh -c "printf '# nothing\\n\\n  set   dev  scribble 0  \\nset dev missed 1' >$T_CTL"
	is "all of that changed nothing" "$(topology)" "$before"

	check "a second switch" ctl sw add sw9 ports=4
	check "cable between switches" ctl cable sw9:1 sw0:7
	check "it trains" test "$(topo sw9 1 phys)" = 5
	check "and goes" ctl sw del sw9
	is "its peer is alone" "$(topo sw0 7 peer)" none
	check "traffic goes on" answers
	clean commands
}

part_failop()
{
	local n op

	ctl failop post_send 1 3 5
	ping -q -c 5 -i 0.2 -W 1 "$T_IP4_B" >/dev/null
	is "three posts failed" "$(sed -n 's/^post_send .*hit=\([0-9]*\).*/\1/p' $DBG/failop)" 3
	ctl failop clear
	check "traffic afterwards" answers
	# a name that a new interface must not take: the kernel's driver has files of that name
	ip link add "$T_IF_B" type dummy
	for op in create_qp create_cq alloc_pd query_port query_pkey query_gid enable_driver; do
		n=$(ls $IBDEV)
		ctl failop $op 1 1 12
		echo "hca add vib5 ports=1" >"$T_CTL" 2>/dev/null
		check "failop $op hits" sh -c "grep -q '^$op .*hit=1 errno=12' $DBG/failop"
		ctl failop clear
		[ ! -e $IBDEV/vib5 ] || ctl hca del vib5
		is "failop $op: all gone" "$(ls $IBDEV)" "$n"
	done
	ip link del "$T_IF_B"
	clean failop
}

# Live objects but address handles, which come and go with the neighbours of ib0 and ib1
lasting_objects()
{
	sed -n '/^ah=/!s/ .*//p' "$DBG/objects"
}

no_more_than()
{
	[ "$(lasting_objects)" = "$1" ]
}

# Two readings of the objects that agree
settled()
{
	local a

	a=$(lasting_objects)
	sleep 0.3
	no_more_than "$a"
}

part_hotplug()
{
	local before i how

	# see above
	ip link add "$T_IF_B" type dummy
	wait_for 20 settled
	before=$(lasting_objects)
	check "a second adapter" ctl hca add vib1 ports=2 sw=sw0
	check "its ports come up" wait_for 30 all_active
	is "it has its interfaces" "$(entries /sys/bus/platform/devices/vib.1/net)" \
		"$([ "$T_DRIVER" = none ] && echo 0 || echo 2)"
	check "and goes" ctl hca del vib1
	for i in $(seq 100); do
		how=$([ $((i % 4)) != 0 ] || echo fatal)
		ctl hca add vib1 ports=1 sw=sw0 || break
		ctl hca del vib1 "$how" || break
	done
	is "a hundred times" "$i" 100
	check "no object is left" wait_for 20 no_more_than "$before"
	is "names and nodes are gone" "$(ls $IBDEV) $(count ^node $DBG/topo)" "vib0 2"
	ip link del "$T_IF_B"
	check "traffic goes on" answers
	clean hotplug
}

part_fuzz()
{
	if ! gcc -O1 -o /tmp/madfuzz "$T_ROOT/tests/vib/madfuzz.c"; then
		not_ok "madfuzz builds"
		return
	fi
	sm_stop
	check "fuzzed datagrams" /tmp/madfuzz -n 2000 -s "${SEED:-1}" -p 1 \
		-l "$(topo sw0 0 lid)" /dev/infiniband/umad0
	vib_reset
	ctl link vib0:1 bounce
	ctl link vib0:2 bounce
	sm_start
	check "OpenSM recovers" wait_for 60 all_active
	check "carrier" wait_carrier 60
	check "traffic" answers
	clean fuzz
}

run_part()
{
	note "part $1"
	case $1 in
	device) part_device ;;
	verbs) part_verbs ;;
	subnet) part_subnet ;;
	traffic) part_traffic ;;
	offloads) part_offloads ;;
	completions) part_completions ;;
	partition) part_partition ;;
	links) part_links ;;
	commands) part_commands ;;
	failop) part_failop ;;
	hotplug) part_hotplug ;;
	fuzz) part_fuzz ;;
	*) not_ok "there is a part $1" ;;
	esac
}

[ $# = 0 ] || PARTS=("$@")
for part in "${PARTS[@]}"; do
	run_part "$part"
done
done_testing
