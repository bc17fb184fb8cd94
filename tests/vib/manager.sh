#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The subnet manager of the fabric's own, which can be told to misbehave, and peers that are not
# there. With either driver:
#
#	tests/vm/run --driver stock --no-sm --timeout 900 tests/vib/manager.sh

# many functions are called by name only, as arguments of check and wait_for
# shellcheck disable=SC2317
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"
# shellcheck source=tests/vib/lib.sh
. "$T_ROOT/tests/vib/lib.sh"

IBDEV=/sys/class/infiniband
PORTS=/sys/class/infiniband/vib0/ports
BCAST=ff12:401b:ffff::ffff:ffff
PATH_REC=0x35 MCM_REC=0x38
PARTS=(up answers misbehave group sendonly rereg lids ghosts crowd trees refusals)

both_active()
{
	! grep -qv ACTIVE "$PORTS"/*/state
}

# sa KEY: a number of the manager's line
sa()
{
	sed -n "s/^sa switch=sw0 .*\\b$1=\\([0-9]*\\).*/\\1/p" $DBG/sa
}

# members MGID: how many a group has; nothing if there is none
members()
{
	grep -F "mgid=$1 " $DBG/sa_groups | sed -n 's/.* members=\([0-9]*\).*/\1/p'
}

rule_hits()
{
	sed -n 's/^rule .* hit=//p' "$DBG/sa" | xargs
}

hit()
{
	[ "$(sed -n 's/^rule .* hit=//p' "$DBG/sa" | head -n 1)" -ge "$1" ]
}

answers()
{
	wait_for 30 ping -q -c 1 -W 1 "$T_IP4_B"
}

# forget: A forgets the ways to its peers
forget()
{
	ip link set "$T_IF_A" down
	ip link set "$T_IF_A" up
	ip addr replace "$T_IP6_A/$T_PREFIX6" dev "$T_IF_A" nodad
	wait_carrier 30
}

part_up()
{
	local t

	ctl sa del sw0 2>/dev/null
	ctl link vib0:1 bounce
	ctl link vib0:2 bounce
	is "without a manager ports wait" "$(port_state 1) $(port_state 2)" "INIT INIT"
	t=$(date +%s%N)
	ctl sa add sw0
	check "it brings them up" wait_for 5 both_active
	t=$((($(date +%s%N) - t) / 1000000))
	note "took $t ms"
	[ "$T_KERNEL" = debug ] || check "within a second" test "$t" -lt 1000
	is "each has a LID" "$(cat $PORTS/1/lid $PORTS/2/lid | sort -u | grep -cv '^0x0*$')" 2
	is "they know the manager" "$(sort -u $PORTS/1/sm_lid $PORTS/2/sm_lid)" 0x1
	check "carrier" wait_carrier 30
	check "ping" answers
	check "IPv6" wait_for 30 ping -q -c 1 -W 1 "$T_IP6_B"
	in_b sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=0
	check "multicast" sh -c "ping -c 3 -i 0.2 -W 3 -I $T_IF_A 224.0.0.1 | grep -q 'from $T_IP4_B'"
	is "the broadcast group has both" "$(members $BCAST)" 2
	ctl link vib0:1 bounce 50
	check "a bounce" wait_for 5 both_active
	check "carrier again" wait_carrier 30
	check "ping again" answers
	is "both members again" "$(members $BCAST)" 2
}

noticed()
{
	[ "$(sa traps)" -ge 2 ]
}

part_answers()
{
	local path join

	path=$(sa path) join=$(sa join)
	check "A asks anew" forget
	check "ping" answers
	check "paths were asked for" test "$(sa path)" -gt "$path"
	check "groups were joined" test "$(sa join)" -gt "$join"
	echo "vib, by another name" >/sys/class/infiniband/vib0/node_desc
	check "a notice is taken" wait_for 10 noticed
	is "and repressed" "$(grep -c '^port node=vib0 .* traps_repressed=0 ' $DBG/topo)" 0
	check "perfquery of the manager's switch" perfquery -x 1 1
	check_not "saquery wants tables, which there are not" timeout 20 saquery -t 500
}

# spoilt NAME WORKS ACT...: what A makes of path records that come so. WORKS says whether ping works:
# yes, no, or not before A begins anew, since a driver may believe what it was told.
spoilt()
{
	local name=$1 works=$2 old
	shift 2

	ctl sa rule sw0 "$@" attr=$PATH_REC
	check "$name: A begins anew" forget
	ping -q -c 2 -i 0.3 -W 1 "$T_IP4_B" >/dev/null
	check "$name: the rule hits" wait_for 10 hit 1
	if [ "$works" = yes ]; then
		check "$name: traffic all the same" answers
	else
		check_not "$name: no traffic" ping -q -c 2 -i 0.3 -W 1 "$T_IP4_B"
	fi
	# before the rule goes: a driver that asks time and again may do so right after it
	old=$(sa path)
	ctl sa rule sw0 clear
	[ "$works" != believed ] || forget
	check "$name: over" answers
	[ "$works" = yes ] || check "$name: asked again" test "$(sa path)" -gt "$old"
}

part_misbehave()
{
	spoilt silence no "do=silent"
	spoilt refusal no "do=refuse" status=0x0300
	spoilt late yes "do=late" us=300000
	spoilt twice yes "do=twice"
	spoilt short believed "do=cut" len=60
	spoilt "wrong TID" no "do=tid"
	spoilt "LID 0" believed "do=lid"
	spoilt "one refusal" yes "do=refuse" status=0x0100 count=1
	is "nothing is left of the rules" "$(grep -c ^rule $DBG/sa)" 0
	# a join that is answered for another group
	ctl sa rule sw0 "do=gid" attr=$MCM_REC method=2 count=2
	ip link set "$T_IF_A" down
	ip link set "$T_IF_A" up
	check "wrong group: hits" wait_for 10 hit 1
	ctl sa rule sw0 clear
	check "wrong group: over" forget
	check "wrong group: traffic" answers
}

carrier_gone()
{
	! carrier_a
}

part_group()
{
	ctl sa group sw0 0xffff gone
	is "the group is gone" "$(members $BCAST)" ""
	ip link set "$T_IF_A" down
	ip link set "$T_IF_A" up
	check "without it no carrier" wait_for 5 carrier_gone
	check_not "for two seconds" wait_for 2 carrier_a
	ctl sa group sw0 0xffff qkey=0x1234 mtu=4
	check "with it there is one" wait_for 60 carrier_a
	check "its Q_Key is taken" grep -q 'qkey=0x1234 ' $DBG/vib0/qps
	ip link set "$T_IF_A" down
	ctl sa group sw0 0xffff gone
	ctl sa group sw0 0xffff qkey=0xb1b
	ip link set "$T_IF_A" up
	in_b ip link set "$T_IF_B" down
	in_b ip link set "$T_IF_B" up
	check "as it was" wait_carrier 60
	check "traffic" answers
	vib_reset
}

# state_of MGID: join states of its members
state_of()
{
	grep -F "mgid=$1 " $DBG/sa_groups | sed 's/.* members=[0-9]*//' | tr ' ' '\n' | sed -n 's#.*/##p' |
		xargs
}

listen_b()
{
	start_b python3 -c "import socket, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.setsockopt(0, socket.IP_ADD_MEMBERSHIP, socket.inet_aton('$1') + socket.inet_aton('$T_IP4_B'))
time.sleep(600)"
}

has_state()
{
	[ "$(state_of "$1")" = "$2" ]
}

asked_cpi()
{
	[ "$(sa cpi)" -gt "$1" ]
}

part_sendonly()
{
	local group=ff12:401b:ffff::f01:203 group2=ff12:401b:ffff::f01:204 pid cpi yes no

	listen_b 239.1.2.3
	pid=$STARTED
	check "B joins" wait_for 20 has_state $group 1
	ping -q -c 2 -i 0.2 -W 1 -I "$T_IF_A" 239.1.2.3 >/dev/null
	check "A joins to send only, as the manager knows that" wait_for 20 has_state $group "1 8"
	stop "$pid"
	yes=$(saquery CPI)
	ctl sa set sw0 sendonly 0
	no=$(saquery CPI)
	check "the manager says whether it knows that" test -n "$yes" -a -n "$no" -a "$yes" != "$no"
	note "$(diff <(echo "$yes") <(echo "$no"))"
	cpi=$(sa cpi)
	ctl set vib0:1 rereg
	check "A asks what the manager can do" wait_for 20 asked_cpi "$cpi"
	check "and begins anew" forget
	listen_b 239.1.2.4
	pid=$STARTED
	check "B joins another one" wait_for 20 has_state $group2 1
	ping -q -c 4 -i 0.5 -W 1 -I "$T_IF_A" 239.1.2.4 >/dev/null
	# what it makes of that is the driver's affair
	note "to a manager that does not know it, members are $(state_of $group2)"
	stop "$pid"
	ctl sa set sw0 sendonly 1
}

joined_by_both()
{
	[ "$(members "$BCAST")" = 2 ]
}

part_rereg()
{
	local join

	join=$(sa join)
	ctl sa rule sw0 "do=silent" attr=$MCM_REC
	ctl sa rereg sw0
	is "a manager without memories" "$(members $BCAST)" 0
	ctl sa rule sw0 clear
	check "is told again" wait_for 60 joined_by_both
	check "by joins" test "$(sa join)" -ge $((join + 2))
	check "traffic" answers
}

part_lids()
{
	local l1 l2

	ctl sa set sw0 lmc 2
	ctl sa sweep sw0
	l1=$(($(cat $PORTS/1/lid))) l2=$(($(cat $PORTS/2/lid)))
	is "four LIDs for each port" "$(cat $PORTS/1/lid_mask_count)" 2
	is "aligned" "$((l1 % 4 + l2 % 4))" 0
	check "carrier" wait_carrier 30
	check "ping" answers
	check "perfquery by the last LID" perfquery -x $((l2 + 3)) 2
	ctl sa set sw0 spread 1
	ctl sa set sw0 sl 3
	check "A begins anew" forget
	check "any of the LIDs will do" answers
	ctl sa set sw0 spread 0
	ctl sa set sw0 sl 0
	ctl sa set sw0 lmc 0
	ctl sa sweep sw0
	is "one LID again" "$(cat $PORTS/1/lid_mask_count)" 0
	check "ping again" answers
}

ghosts()
{
	sed -n "s/^ghosts .*\\b$1=\\([0-9]*\\).*/\\1/p" $DBG/ghosts
}

part_ghosts()
{
	check "a hundred ghosts" ctl ghost add sw0:3 n=100 base=0x1000 mode=echo ip=10.99.1.0
	ip addr replace 10.99.0.1/16 dev "$T_IF_A"
	ctl sa sweep sw0
	check "the first answers" wait_for 10 ping -q -c 1 -W 1 10.99.1.0
	check "the last answers" ping -q -c 2 -W 2 10.99.1.99
	check_not "nobody else does" ping -q -c 1 -W 1 10.99.1.100
	check "whole frames" ping -q -c 2 -W 2 -M "do" -s 1900 10.99.1.7
	check "IPv6" ping -q -c 2 -W 2 "fe80::256:4942:30:1005%$T_IF_A"
	is "its neighbour has the address of a ghost" \
		"$(ip neigh show 10.99.1.7 | sed 's/.*lladdr \([^ ]*\).*/\1/')" \
		00:80:10:07:fe:80:00:00:00:00:00:00:02:56:49:42:00:30:10:07
	check "they counted" test "$(ghosts arp)" -ge 3 -a "$(ghosts echo)" -ge 6 -a "$(ghosts ndisc)" -ge 1
	check "gone" ctl ghost del sw0:3
	check_not "they answer no more" ping -q -c 1 -W 1 10.99.1.0
	is "the table knows nobody" "$(grep -c 'port=3$' $DBG/lft)" 0
}

# crowd N: ask N ghosts one after the other, with a hundred requests under way; prints who answered
crowd()
{
	python3 - "$1" <<-'END'
	import os, select, socket, struct, sys, time
	n = int(sys.argv[1])
	s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
	s.setsockopt(socket.SOL_SOCKET, 33, 8 << 20)  # SO_RCVBUFFORCE
	seen, base, out = set(), 0x0a620100, 0
	pkt = struct.pack('!BBHHH', 8, 0, 0xf7ff - os.getpid() % 0x100, os.getpid() % 0x100, 0)
	end = time.time() + 120
	while time.time() < end and len(seen) < n:
	    todo = [i for i in range(n) if i not in seen]
	    for i in todo:
	        s.sendto(pkt, (socket.inet_ntoa(struct.pack('!I', base + i)), 0))
	        while select.select([s], [], [], 0 if i % 100 else 0.2)[0]:
	            who = struct.unpack('!I', s.recvfrom(2048)[0][12:16])[0] - base
	            if 0 <= who < n:
	                seen.add(who)
	print(len(seen))
	END
}

part_crowd()
{
	local n=1000 i

	check "a thousand ghosts" ctl ghost add sw0:3 n=$n mode=echo ip=10.98.1.0
	ip addr add 10.98.0.1/16 dev "$T_IF_A"
	ctl sa sweep sw0
	for i in 1 2 3; do
		sysctl -qw net.ipv4.neigh.default.gc_thresh$i=$((n * 4))
	done
	is "all of them answer" "$(crowd $n)" $n
	is "no frame is left" "$(sed -n 's/^frames //p' $DBG/faults)" "waiting=0 lost=0"
	check "gone" ctl ghost del sw0:3
	ip addr del 10.98.0.1/16 dev "$T_IF_A"
	check "traffic" answers
}

# Three switches in a row, the manager at one end, and another subnet beside them
part_trees()
{
	local before

	before=$(ls $IBDEV)
	ctl link vib0:1 down
	ctl link vib0:2 down
	ctl sw add t1 ports=4
	ctl sw add t2 ports=4
	ctl cable sw0:7 t1:1
	ctl cable t1:2 t2:1
	ctl uncable vib0:2
	ctl cable vib0:2 t2:4
	ctl link vib0:1 up
	ctl link vib0:2 up
	check "ports at both ends of a row" wait_for 10 both_active
	check "carrier" wait_carrier 60
	check "ping" answers
	check "multicast" sh -c "ping -c 5 -i 0.2 -W 3 -I $T_IF_A 224.0.0.1 | grep -q 'from $T_IP4_B'"
	check "a route in the middle" grep -q "switch=t1 lid=$(($(cat $PORTS/2/lid))) port=2" $DBG/lft
	ip addr replace 10.99.0.1/16 dev "$T_IF_A"
	check "ghosts in the middle" ctl ghost add t1:3 n=10 base=0x2000 mode=echo ip=10.99.2.0
	ctl sa sweep sw0
	check "answer" wait_for 20 ping -q -c 1 -W 1 10.99.2.3
	ctl sw add other ports=4
	ctl sa add other lid=7 prefix=0xfec0000000000001
	# a name that a new interface must not take
	ip link add "$T_IF_B" type dummy
	check "an HCA in another subnet" ctl hca add vib1 ports=1 sw=other
	check "comes up" wait_for 10 grep -q ACTIVE $IBDEV/vib1/ports/1/state
	check "with its prefix" wait_for 10 grep -q ^fec0:0000:0000:0001: $IBDEV/vib1/ports/1/gids/0
	is "and its manager" "$(cat $IBDEV/vib1/ports/1/sm_lid)" 0x7
	ip link set "$(basename $IBDEV/vib1/device/net/*)" up
	check "which has its group" wait_for 30 grep -q "switch=other mgid=$BCAST .* members=1" $DBG/sa_groups
	check "the HCA goes" ctl hca del vib1
	ip link del "$T_IF_B"
	check "the subnet goes" ctl sw del other
	ctl sw del t1
	ctl sw del t2
	is "the far port is alone" "$(port_state 2)" DOWN
	ctl cable vib0:2 sw0:2
	check "as it was" wait_for 10 both_active
	check "ping again" answers
	is "the same HCAs" "$(ls $IBDEV)" "$before"
}

part_refusals()
{
	refused "File exists" sa add sw0
	refused "No such device" sa add nowhere
	refused "Invalid argument" sa fly sw0
	refused "Invalid argument" sa set sw0 colour 1
	refused "Invalid argument" sa set sw0 sl
	refused "out of range" sa set sw0 sl 16
	refused "Invalid argument" sa rule sw0 "do=explode"
	refused "Invalid argument" sa rule sw0 attr=1
	refused "Invalid argument" sa group sw0 0xffff
	refused "No such file" sa group sw0 0x1234 gone
	refused "Invalid argument" sa add sw0 lid=65536 colour=red
	refused "Invalid argument" ghost add vib0:1 n=10
	refused "busy" ghost add sw0:1 n=10
	refused "out of range" ghost add sw0:3 n=0
	refused "out of range" ghost add sw0:3 n=49000
	refused "Invalid argument" ghost add sw0:3 n=10 mode=shy
	refused "Invalid argument" ghost add sw0:3 n=10 ip=10.0.0
	refused "No such file" ghost del sw0:3
	refused "No such device" ghost add sw0:0 n=10
}

run_part()
{
	note "part $1"
	case $1 in
	up) part_up ;;
	answers) part_answers ;;
	misbehave) part_misbehave ;;
	group) part_group ;;
	sendonly) part_sendonly ;;
	rereg) part_rereg ;;
	lids) part_lids ;;
	ghosts) part_ghosts ;;
	crowd) part_crowd ;;
	trees) part_trees ;;
	refusals) part_refusals ;;
	*) not_ok "there is a part $1" ;;
	esac
}

[ $# = 0 ] || PARTS=(up "$@")
for part in "${PARTS[@]}"; do
	run_part "$part"
done
is "no oracle" "$(grep -v -e '=0$' -e ^rx_no_buffer= $DBG/oracles)" ""
done_testing
