#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What the fabric makes of larger subnets, of keys, and of things that no subnet manager would do.
#
#	tests/vm/run --driver none --no-sm --timeout 900 tests/vib/fabric.sh
#
#	vib0:1 - 1 s1 5 - 1 s2 17 - vib0:2	s1 has 8 ports, s2 has 20
#	         s1 6 - 2 s2
#	         s1 7 - 3 s2
#
# Its own OpenSM, its own topology, no network interface: everything is asked by management
# datagrams. The path 0,1,5 leads from port 1 of the HCA to s2.

# many functions are called by name only, as arguments of check and wait_for
# shellcheck disable=SC2317
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"
# shellcheck source=tests/vib/lib.sh
. "$T_ROOT/tests/vib/lib.sh"

PORTS=/sys/class/infiniband/vib0/ports
UMAD=/dev/infiniband/umad0
SMPSET=/tmp/smpset
LFT=0x19 MFT=0x1b PORT_INFO=0x15 SWITCH_INFO=0x12
PARTS=(subnet paths detour loops storm states mkey traps lmc failover vl15)

# node_drops NODE WHY: how many packets a node has thrown away for that reason
node_drops()
{
	sed -n "s/^node name=$1 .*\\bdrop_$2=\\([0-9]*\\).*/\\1/p" $DBG/topo
}

both_active()
{
	! grep -qv ACTIVE "$PORTS"/*/state
}

# smpset PATH ATTRIBUTE MODIFIER [OFFSET=HEX]...
smpset()
{
	$SMPSET $UMAD "$@"
}

# hexes N BYTE: that byte N times
hexes()
{
	printf '%*s' "$1" "" | sed "s/ /$2/g"
}

# quick COMMAND...: a diagnostic tool that does not wait long
quick()
{
	timeout 10 "$@" >/tmp/quick 2>&1
}

# logged TEXT [N]: OpenSM's log has it, more often than N times
logged()
{
	[ "$(grep -cs -- "$1" "$SM_DIR/log")" -gt "${2:-0}" ]
}

# lid PORT: of the HCA
lid()
{
	topo vib0 "$1" lid
}

# start_sm [OPTION...]: a new OpenSM without memories, and wait for its first sweep
start_sm()
{
	sm_stop
	rm -rf "$SM_DIR"
	sm_start "$@"
	wait_for 30 sm_swept && wait_for 10 both_active
}

part_subnet()
{
	check "OpenSM brings two switches up" start_sm
	check "iblinkinfo sees them" sh -c "iblinkinfo | grep -c Active | grep -qx 10"
	check "ibtracert crosses both" sh -c "ibtracert $(lid 1) $(lid 2) | grep -c 'switch port' |
		grep -qx 2"
	check "perfquery of all ports of a switch" quick perfquery -x -a "$(topo s2 0 lid)"
	check "resets them" quick perfquery -R -a "$(topo s2 0 lid)"
	check "LID routed query of the far port" quick smpquery portinfo "$(lid 2)"
	check "directed after LID routed" quick ibportstate "$(topo s2 0 lid)" 17 query
}

part_paths()
{
	local there=0,1 i

	for i in $(seq 31); do
		there=$there,5,1
	done
	check "directed route of 63 hops" smpset $there 0x11 0
	check_not "of 64 hops" smpset $there,5 0x11 0
	check_not "through a port without a cable" smpset 0,1,4,1 0x11 0
	check_not "through a port that is not there" smpset 0,1,9,1 0x11 0
	check_not "through an HCA" smpset 0,1,1,1,1 0x11 0
	is "the switch counted them" "$(test "$(node_drops s1 smp_path)" -gt 0 && echo yes)" yes
}

# phys_is NODE PORT STATE
phys_is()
{
	[ "$(topo "$1" "$2" phys)" = "$3" ]
}

part_detour()
{
	ctl link s1:5 down
	check "the way over the other cable" wait_for 10 quick smpquery portinfo "$(lid 2)"
	ctl link s1:5 up
	check "both ends of the cable come back" wait_for 10 phys_is s2 1 5
	check "a cable from a switch to itself" ctl cable s1:3 s1:4
	check "is no harm" wait_for 10 quick smpquery portinfo "$(lid 2)"
	ctl uncable s1:3
	check "an HCA more" ctl hca add vib1 ports=2 sw=s2
	check "comes up" wait_for 20 sh -c '! grep -qv ACTIVE /sys/class/infiniband/vib1/ports/*/state'
	check "and goes" ctl hca del vib1
}

# A triangle of cables in which LID 60 goes round for ever
part_loops()
{
	local before

	check "loop: first switch" smpset 0,1 $LFT 0 60=06
	check "loop: second switch" smpset 0,1,5 $LFT 0 60=03
	check "loop: top of both tables" sh -c "$SMPSET $UMAD 0,1 $SWITCH_INFO 0 6=00ff &&
		$SMPSET $UMAD 0,1,5 $SWITCH_INFO 0 6=00ff"
	check "loop: third cable" smpset 0,1 $LFT 0 60=07
	check "loop: and back by the second" smpset 0,1,5 $LFT 0 60=02
	before=$(node_drops s1 hops)$(node_drops s2 hops)
	check_not "a datagram in the loop is lost" quick perfquery -x 60 1
	check_not "a management packet too" quick smpquery -t 200 nodeinfo 60
	check "and counted" test "$before" != "$(node_drops s1 hops)$(node_drops s2 hops)"
	check_not "forwarding beyond the table" smpset 0,1 $LFT 768 0=01
	check_not "forwarding to a port that is not there" smpset 0,1 $LFT 0 61=09
	is "that changed nothing" "$(smpset 0,1 $LFT 0 | sed -n 4p | cut -d ' ' -f 14)" ff
}

# Each multicast packet is copied to each port of each switch; it has to end
part_storm()
{
	local before

	check "storm: first switch" smpset 0,1 $MFT 0 0="$(hexes 32 01fe)"
	check "storm: second switch" sh -c "$SMPSET $UMAD 0,1,5 $MFT 0 0=$(hexes 32 ffff) &&
		$SMPSET $UMAD 0,1,5 $MFT 0x10000000 0=$(hexes 32 001f)"
	check_not "ports beyond the switch" smpset 0,1 $MFT 0 0=0200
	check_not "position beyond the switch" smpset 0,1 $MFT 0x10000000 0=0001
	check_not "block beyond the table" smpset 0,1 $MFT 32 0=0001
	modprobe ib_ipoib
	before=$(node_drops s1 hops)
	ip link set ib0 up
	check "interface joins" wait_for 20 grep -q 1 /sys/class/net/ib0/carrier
	# the manager has set the group's routes; all the others still storm
	smpset 0,1 $MFT 0 0="$(hexes 32 01fe)" >/dev/null
	smpset 0,1,5 $MFT 0 0="$(hexes 32 ffff)" >/dev/null
	ip addr add 10.77.0.1/24 dev ib0
	arping -q -c 1 -w 1 -I ib0 10.77.0.9
	check "a storm ends" test "$(node_drops s1 hops)" -gt "$before"
	modprobe -r ib_ipoib
}

part_states()
{
	check "ACTIVE to ACTIVE is no change" smpset 0,1 $PORT_INFO 5 32=74 33=02
	check_not "ACTIVE to ARMED is no move" smpset 0,1 $PORT_INFO 5 32=73 33=02
	check_not "nor to INIT" smpset 0,1 $PORT_INFO 5 32=72 33=02
	check_not "physical state 5 cannot be ordered" smpset 0,1 $PORT_INFO 5 32=70 33=52
	check_not "MTU above the capability" smpset 0,1 $PORT_INFO 5 32=70 33=02 36=60
	check_not "lanes above the capability" smpset 0,1 $PORT_INFO 5 32=70 33=02 43=50
	check_not "a multicast LID" smpset 0 $PORT_INFO 1 32=70 33=02 16=c001
	check_not "a LID that does not fit its LMC" smpset 0 $PORT_INFO 1 32=70 33=02 16=0003 34=02
	check_not "a port that is not there" smpset 0,1 $PORT_INFO 9
	is "the cable is as it was" "$(topo s1 5 state) $(topo s1 5 mtu)" "4 4096"
}

part_mkey()
{
	local key=0x1122334455667788 before

	sm_stop
	check "set an M_Key with protection 1" smpset 0,1,5 $PORT_INFO 0 0=1122334455667788 34=40 \
		32=70 33=02
	before=$(node_drops s2 mkey)
	is "without it the key is hidden" "$(smpset 0,1,5 $PORT_INFO 0 | head -n 1 | cut -c -23)" \
		"00 00 00 00 00 00 00 00"
	is "with it it is not" "$($SMPSET -k $key $UMAD 0,1,5 $PORT_INFO 0 | head -n 1 | cut -c -23)" \
		"11 22 33 44 55 66 77 88"
	check_not "nothing can be set without it" smpset 0,1,5 $LFT 0 5=05
	check_not "nor with a wrong one" $SMPSET -m 0x42 $UMAD 0,1,5 $LFT 0 5=05
	is "both were counted" $(($(node_drops s2 mkey) - before)) 2
	check "protection 2, lease of one second" $SMPSET -k $key $UMAD 0,1,5 $PORT_INFO 0 34=80 \
		26=0001 32=70 33=02
	check_not "hides everything" smpset 0,1,5 $PORT_INFO 0
	check "until the lease is over" wait_for 10 smpset 0,1,5 $PORT_INFO 0
	check "take the key away" $SMPSET -k $key $UMAD 0,1,5 $PORT_INFO 0 0=0000000000000000 \
		34=00 26=0000 32=70 33=02
	check "open again" smpset 0,1,5 $LFT 0 5=ff
}

part_traps()
{
	local n gone

	check "OpenSM for the notices" start_sm
	gone=$(topo s2 0 traps_given_up)
	for n in 129:integrity 130:overrun 131:watchdog; do
		ctl trap s2:17 "${n#*:}"
		check "notice ${n%:*}" wait_for 10 logged "num:${n%:*} .*from LID:$(topo s2 0 lid) Port 17"
	done
	# a datagram with a wrong Q_Key is among the things that this module does
	check "a wrong Q_Key" insmod "$T_ROOT/build/$(uname -r)/vib/vib_check.ko"
	check "notice 258" wait_for 10 logged "num:258 .*from LID:$(lid 2)"
	rmmod vib_check
	# that was our doing
	vib_reset
	n=$(grep -c num:144 "$SM_DIR/log")
	echo "another name" >/sys/class/infiniband/vib0/node_desc
	check "notice 144 for a new description" wait_for 10 logged num:144 "$n"
	check "which the node tells" sh -c "smpquery nodedesc $(lid 2) | grep -q 'another name'"
	is "all were answered" "$(topo s2 0 traps_given_up)" "$gone"
}

part_lmc()
{
	check "OpenSM with four LIDs a port" start_sm -l 2
	check "port counts them" grep -qx 2 $PORTS/1/lid_mask_count
	check "LIDs are aligned" test $(($(lid 1) % 4 + $(lid 2) % 4)) = 0
	check "each of them answers" sh -c "for i in 0 1 2 3; do
		perfquery -x \$(($(lid 2) + i)) 2 || exit 1; done"
	sm_stop
}

part_failover()
{
	local first gid dir=/tmp/second

	check "first manager" start_sm -p 8
	first=$(sm_pid)
	gid=0x$(cut -d : -f 5- $PORTS/2/gids/0 | tr -d :)
	mkdir -p $dir
	sed "s#$SM_DIR#$dir#" "$SM_DIR/conf" >$dir/conf
	printf 'sminfo_polling_timeout 500\npolling_retry_number 2\n' >>$dir/conf
	start env OSM_CACHE_DIR=$dir OSM_TMP_DIR=$dir \
		sh -c "exec opensm -F $dir/conf -g $gid -p 2 >$dir/out 2>&1"
	check "second one stands by" wait_for 20 sh -c "grep -qs 'STANDBY' $dir/log"
	kill -9 "$first"
	check "it takes over" wait_for 60 sh -c "grep -q \"^$(cat $PORTS/2/lid)\\$\" $PORTS/1/sm_lid"
	check "ports are ACTIVE" wait_for 20 both_active
	check "sminfo names it" sh -c "sminfo | grep -q 'sm lid $(lid 2) .*MASTER'"
	rm -f "$SM_PIDFILE"
	stop "$STARTED"
}

# QP0 loses a receive buffer with each packet, until there is none left
part_vl15()
{
	local i

	sm_stop
	is "nothing dropped so far" "$(cat $PORTS/1/counters/VL15_dropped)" 0
	ctl failop post_recv 1 1000000 12
	for i in $(seq 2000); do
		smpset 0,1 0x11 0 >/dev/null 2>&1 || break
	done
	ctl failop clear
	note "the first unanswered request was number $i"
	check "a packet for a QP0 without buffers counts" test "$(cat $PORTS/1/counters/VL15_dropped)" -gt 0
	is "and is no misuse" "$(vib oracles rx_no_buffer)" 0
	ctl hca del vib0
	ctl hca add vib0 ports=2
	ctl cable vib0:1 s1:1
	ctl cable vib0:2 s2:17
	wait_for 10 test -c $UMAD
	check "the next HCA answers" wait_for 10 smpset 0,1 0x11 0
}

build()
{
	ctl hca del vib0
	ctl sw del sw0
	ctl sw add s1 ports=8
	ctl sw add s2 ports=20
	ctl hca add vib0 ports=2
	ctl cable vib0:1 s1:1
	ctl cable s1:5 s2:1
	ctl cable s1:6 s2:2
	ctl cable s1:7 s2:3
	ctl cable vib0:2 s2:17
	wait_for 10 test -c /dev/infiniband/umad1
}

run_part()
{
	note "part $1"
	case $1 in
	subnet) part_subnet ;;
	paths) part_paths ;;
	detour) part_detour ;;
	loops) part_loops ;;
	storm) part_storm ;;
	states) part_states ;;
	mkey) part_mkey ;;
	traps) part_traps ;;
	lmc) part_lmc ;;
	failover) part_failover ;;
	vl15) part_vl15 ;;
	*) not_ok "there is a part $1" ;;
	esac
}

[ $# = 0 ] || PARTS=(subnet "$@")
check "smpset builds" gcc -O1 -o $SMPSET "$T_ROOT/tests/vib/smpset.c"
check "topology" build
for part in "${PARTS[@]}"; do
	run_part "$part"
done
sm_stop
vib_reset
done_testing
