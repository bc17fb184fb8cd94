#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The main job: IP over InfiniBand between two ports, with the tools that people use.
#
#	tests/vm/run [--driver ours|stock] [--kernel debian|debug] tests/net/smoke.sh
#
#	root namespace			namespace b
#	ib0 10.77.0.1 fd77::1		ib1 10.77.0.2 fd77::2
#	 |				 |
#	vib0 port 1 ----- switch ----- vib0 port 2
#
# The same file judges both drivers. They may differ in one place only, see flags below.
# On the debug kernel, where everything is ten times slower, and with the stock driver the amounts are
# smaller; on the debug kernel what an interface is called is not looked at again.

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317

. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

# First octet of the hardware address: 0x80 tells peers that RC connections are accepted, which both
# drivers do in either mode
flags=80

case $T_KERNEL-$T_DRIVER in
debug-*) flood=20 step=997 stream_mb=2 sum_mb=8 ;;
*-stock) flood=500 step=7 stream_mb=16 sum_mb=64 ;;
*) flood=2000 step=1 stream_mb=32 sum_mb=128 ;;
esac

datagram=$T_ROOT/tests/net/datagram.py

# --- addresses and what else identifies an interface ----------------------------------------------

# hwaddr a|b IF address|broadcast
hwaddr()
{
	on_side "$1" cat "/sys/class/net/$2/$3"
}

# gid0 PORT: GID 0 of a port, as 16 octets with colons
gid0()
{
	tr -d : <"/sys/class/infiniband/vib0/ports/$1/gids/0" | sed 's/../&:/g; s/:$//'
}

# netdevs: interfaces of IPoIB in both namespaces
netdevs()
{
	local side

	for side in a b; do
		on_side "$side" sh -c 'grep -lx 32 /sys/class/net/*/type'
	done | wc -l
}

# qpn_known PORT QPN: there is a UD queue pair of this number at this port
qpn_known()
{
	rdma res show qp link "vib0/$1" | grep -q "lqpn $2 type UD .*ib_ipoib"
}

# identity a|b IF PORT
identity()
{
	local side=$1 dev=$2 port=$3 sys=/sys/class/net/$2 addr

	addr=$(hwaddr "$side" "$dev" address)
	is "$dev: ARP type 32" "$(on_side "$side" cat "$sys/type")" 32
	is "$dev: address of 20 octets" "$(on_side "$side" cat "$sys/addr_len")" 20
	check "$dev: ip says link/infiniband" \
		on_side "$side" sh -c "ip link show $dev | grep -q link/infiniband"
	is "$dev: flag octet $flags" "${addr:0:2}" "$flags"
	check "$dev: QPN in the address is that of a UD queue pair" \
		qpn_known "$port" $((16#$(tr -d : <<<"${addr:3:8}")))
	is "$dev: GID in the address" "${addr:12}" "$(gid0 "$port")"
	is "$dev: broadcast address" "$(hwaddr "$side" "$dev" broadcast)" \
		00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff
	is "$dev: dev_port" "$(on_side "$side" cat "$sys/dev_port")" $((port - 1))
	is "$dev: dev_id" "$(on_side "$side" cat "$sys/dev_id")" "$(printf '0x%x' $((port - 1)))"
	is "$dev: device is that of the HCA" "$(on_side "$side" realpath "$sys/device")" \
		"$(realpath /sys/class/infiniband/vib0/device)"
	is "$dev: P_Key" "$(on_side "$side" cat "$sys/pkey")" 0xffff
	is "$dev: MTU of a 4K group" "$(on_side "$side" cat "$sys/mtu")" 4092
}

test_identity()
{
	is "one interface for each port" "$(netdevs)" 2
	identity a "$T_IF_A" 1
	identity b "$T_IF_B" 2
}

# --- ping ----------------------------------------------------------------------------------------

# Echo replies that the network stack has seen, of both families
echo_replies()
{
	awk '/^Icmp:/ { for (i = 1; i <= NF; i++) if ($i == "InEchoReps") n = i; if ($n ~ /^[0-9]+$/) sum += $n }
		/^Icmp6InEchoReplies/ { sum += $2 }
		END { print sum }' /proc/net/snmp /proc/net/snmp6
}

replies_since()
{
	[ "$(echo_replies)" -ge "$1" ]
}

# flood ADDRESS SIZE: every packet is answered and nothing is dropped. On a busy machine the socket
# of ping overflows, and ping gives up early: so the stack is asked, not ping.
flood()
{
	local drops replies pace=-f

	# there a packet may take longer than the 10 ms that a flood waits: one at a time
	[ "$T_KERNEL" != debug ] || pace=-A
	drops=$(drops)
	replies=$(echo_replies)
	ping "$pace" -q -c "$flood" -s "$2" "$1"
	wait_for 20 replies_since $((replies + flood)) && [ "$(drops)" = "$drops" ] && return
	echo "$(($(echo_replies) - replies)) of $flood answers, $(($(drops) - drops)) drops, $(vib oracles rx_no_buffer) without a receive buffer"
	return 1
}

test_ping()
{
	local size ll_a ll_b

	ll_a=$(link_local a)
	ll_b=$(link_local b)
	check "A pings B" ping -c 2 -i 0.2 -W 5 "$T_IP4_B"
	check "B pings A" in_b ping -c 2 -i 0.2 -W 5 "$T_IP4_A"
	check "A pings B, IPv6" ping -c 2 -i 0.2 -W 5 "$T_IP6_B"
	check "B pings A, IPv6" in_b ping -c 2 -i 0.2 -W 5 "$T_IP6_A"
	check "A pings B, link-local" ping -c 2 -i 0.2 -W 5 "$ll_b%$T_IF_A"
	check "B pings A, link-local" in_b ping -c 2 -i 0.2 -W 5 "$ll_a%$T_IF_B"

	# 28 octets of headers: 4064 fills the MTU of 4092, the rest is fragmented
	for size in 0 1 4063 4064 4065 8157 20000 65507; do
		check "ping with $size octets" ping -c 2 -i 0.2 -W 5 -s "$size" "$T_IP4_B"
	done
	check "ping that fills the MTU, not to be fragmented" \
		ping -c 2 -i 0.2 -W 5 -M "do" -s 4064 "$T_IP4_B"
	check_not "ping that is one octet too long, not to be fragmented" \
		ping -c 1 -W 2 -M "do" -s 4065 "$T_IP4_B"
	for size in 1 4044 4045 65487; do
		check "ping with $size octets, IPv6" ping -c 2 -i 0.2 -W 5 -s "$size" "$T_IP6_B"
	done
	in_b sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=0
	check "broadcast ping is answered" ping -c 2 -i 0.2 -W 5 -b 10.77.0.255
	in_b sysctl -qw net.ipv4.icmp_echo_ignore_broadcasts=1

	check "flood of small pings" flood "$T_IP4_B" 56
	check "flood of pings that fill the MTU" flood "$T_IP4_B" 4064
	check "flood of fragmented pings" flood "$T_IP4_B" 9000
	check "flood of pings, IPv6" flood "$T_IP6_B" 1400
}

test_sizes()
{
	check "each size from 0 to the MTU, unchanged" every_size a "$T_IP4_B" 4064 "$step"
	check "each size from 0 to the MTU, IPv6, unchanged" every_size a "$T_IP6_B" 4044 "$step"
}

# --- streams -------------------------------------------------------------------------------------

# udp_clean ADDRESS [OPTION...]: iperf3 loses no datagram. Its receiver may be slow to run: give it
# room for all of them.
udp_clean()
{
	local addr=$1 out
	shift

	out=$(iperf3 -c "$addr" -u -b 8M -l 1400 -n 2M -w 16M -J "$@") || return
	python3 -c '
import json, sys
end = json.load(sys.stdin)["end"]["sum"]
print(end["packets"], "datagrams,", end["lost_packets"], "lost")
sys.exit(end["lost_packets"] > 0 or end["packets"] < 1000)' <<<"$out"
}

test_streams()
{
	sysctl -q net.core.rmem_max=33554432 net.core.wmem_max=33554432
	iperf_start b || note "iperf3 does not listen"
	check "TCP, A to B" iperf3 -c "$T_IP4_B" -n "${stream_mb}M"
	check "TCP, B to A" iperf3 -c "$T_IP4_B" -n "${stream_mb}M" -R
	check "TCP, both ways at once" iperf3 -c "$T_IP4_B" -n $((stream_mb / 2))M --bidir
	check "TCP over IPv6" iperf3 -c "$T_IP6_B" -n "${stream_mb}M"
	check "UDP, A to B" udp_clean "$T_IP4_B"
	check "UDP, B to A" udp_clean "$T_IP4_B" -R
	stop "$STARTED"
	check "$sum_mb MB by TCP, A to B, same SHA-256 at both ends" transfer a "$sum_mb"
	check "$((sum_mb / 8)) MB by TCP over IPv6, B to A, same SHA-256 at both ends" \
		transfer b $((sum_mb / 8)) 6
	ethtool -K "$T_IF_A" tso off >/dev/null
	check "$((sum_mb / 8)) MB by TCP without TSO, same SHA-256" transfer a $((sum_mb / 8))
	ethtool -K "$T_IF_A" tso on >/dev/null
	ethtool -K "$T_IF_A" rx off tx off >/dev/null
	check "$((sum_mb / 8)) MB by TCP, B to A, where A sees to all checksums itself" \
		transfer b $((sum_mb / 8))
	ethtool -K "$T_IF_A" rx on tx on tso on >/dev/null
}

# --- multicast -----------------------------------------------------------------------------------

# in_sa MGID-PART: OpenSM knows a group with this in its MGID
in_sa()
{
	saquery -g | grep -qi "MGID.*$1"
}

not_in_sa()
{
	! in_sa "$1"
}

# member_b GROUP: a socket at B joins it and stays; its process is $STARTED
member_b()
{
	local said=/tmp/member

	start_b python3 "$datagram" join "$1" "$T_IF_B" >"$said"
	wait_for 60 grep -qs ready "$said"
}

test_multicast()
{
	local pid

	member_b 239.7.7.7
	pid=$STARTED
	check "a group that a socket joins is known to OpenSM" \
		wait_for 60 in_sa ff12:401b:ffff::f07:707
	stop "$pid"
	check "and forgotten when the socket is closed" wait_for 60 not_in_sa ff12:401b:ffff::f07:707
	check "IPv4 group: what A sends comes to B" cast_from a 239.1.2.3
	check "IPv6 group: what A sends comes to B" cast_from a ff15::7:8
}

# --- children ------------------------------------------------------------------------------------

test_children()
{
	local dev_a=$T_IF_A.8001 dev_b=$T_IF_B.8001

	check "A: child by sysfs" child_sysfs a "$T_PKEY"
	check "B: child by netlink" child_netlink b "$T_PKEY" "$dev_b"
	check "A: child gets a carrier" child_addr a "$dev_a" 10.81.0.1/24 fd81::1/64
	check "B: child gets a carrier" child_addr b "$dev_b" 10.81.0.2/24 fd81::2/64
	wait_addresses 30
	is "A: P_Key of the child" "$(cat "/sys/class/net/$dev_a/pkey")" 0x8001
	is "A: broadcast address of the child" "$(hwaddr a "$dev_a" broadcast)" \
		00:ff:ff:ff:ff:12:40:1b:80:01:00:00:00:00:00:00:ff:ff:ff:ff
	is "B: broadcast address of the child" "$(hwaddr b "$dev_b" broadcast)" \
		00:ff:ff:ff:ff:12:40:1b:80:01:00:00:00:00:00:00:ff:ff:ff:ff
	is "A: address of the child differs in the QPN alone" \
		"$(hwaddr a "$dev_a" address | cut -d : -f 1,5-)" \
		"$(hwaddr a "$T_IF_A" address | cut -d : -f 1,5-)"
	check "the children talk" ping -c 2 -i 0.2 -W 5 10.81.0.2
	check "the children talk, IPv6" ping -c 2 -i 0.2 -W 5 fd81::2
	check "the children talk, MTU filled" ping -c 2 -i 0.2 -W 5 -s 4064 10.81.0.2

	# a host answers ARP on any interface for all that it has, unless told not to
	in_b sysctl -qw net.ipv4.conf.all.arp_ignore=1
	ip addr add 10.82.0.1/24 dev "$T_IF_A"
	in_b ip addr add 10.82.0.2/24 dev "$dev_b"
	check_not "parent and child do not talk across keys" ping -c 2 -i 0.5 -W 2 10.82.0.2
	in_b ip addr del 10.82.0.2/24 dev "$dev_b"
	in_b ip addr add 10.82.0.2/24 dev "$T_IF_B"
	# what that ping has begun to ask for must not fail for this one
	ip neigh flush to 10.82.0.2 dev "$T_IF_A"
	check "the same address on the parent is reached" ping -c 2 -i 0.2 -W 5 10.82.0.2
	in_b ip addr del 10.82.0.2/24 dev "$T_IF_B"
	ip addr del 10.82.0.1/24 dev "$T_IF_A"
	in_b sysctl -qw net.ipv4.conf.all.arp_ignore=0

	check "A: child goes by sysfs" child_sysfs_del a "$T_PKEY"
	check "A: it is gone" wait_for 10 test ! -e "/sys/class/net/$dev_a"
	check "B: child goes by netlink" in_b ip link del "$dev_b"
	check "the parents still talk" ping -c 2 -i 0.2 -W 5 "$T_IP4_B"
}

# --- faults --------------------------------------------------------------------------------------

no_carrier_a()
{
	[ "$(cat "/sys/class/net/$T_IF_A/carrier")" = 0 ]
}

answers()
{
	ping -c 1 -W 1 "$T_IP4_B" && ping -c 1 -W 1 "$T_IP6_B"
}

test_faults()
{
	ctl link vib0:1 down
	check "link down: carrier goes" wait_for 10 no_carrier_a
	check_not "link down: no answer" ping -c 1 -W 1 "$T_IP4_B"
	ctl link vib0:1 up
	check "link up: carrier comes back" wait_carrier 60
	check "link up: traffic again" wait_for 20 answers

	member_b 239.7.7.8
	check "a group is joined" wait_for 60 in_sa ff12:401b:ffff::f07:708
	check "OpenSM restarts" sm_restart
	check "OpenSM restarted: broadcast group joined again" \
		wait_for 60 in_sa ff12:401b:ffff::ffff:ffff
	check "OpenSM restarted: the other group joined again" \
		wait_for 60 in_sa ff12:401b:ffff::f07:708
	check "OpenSM restarted: carrier" wait_carrier 60
	check "OpenSM restarted: traffic" wait_for 20 answers
	check "OpenSM restarted: a new group can be joined" cast_from a 239.9.9.9
	stop "$STARTED"

	ip link set "$T_IF_A" down
	check_not "interface down: no answer" ping -c 1 -W 1 "$T_IP4_B"
	ip link set "$T_IF_A" up
	# IPv6 has dropped the address
	ip -6 addr replace "$T_IP6_A/$T_PREFIX6" dev "$T_IF_A" nodad
	check "interface up: carrier" wait_carrier 60
	check "interface up: traffic" wait_for 20 answers
}

# --- unload --------------------------------------------------------------------------------------

busy()
{
	[ "$(counter_a tx_packets)" -gt $((sent + 500)) ]
}

test_unload()
{
	local ping_pid iperf_pid sent

	child_sysfs a "$T_PKEY" && ip link set "$T_IF_A.8001" up
	iperf_start b
	start iperf3 -c "$T_IP4_B" -t 120 >/dev/null 2>&1
	iperf_pid=$STARTED
	start ping -f -q -s 9000 "$T_IP4_B" >/dev/null
	ping_pid=$STARTED
	sent=$(counter_a tx_packets)
	check "traffic runs" wait_for 30 busy
	check "module goes while traffic runs" timeout 60 rmmod ib_ipoib
	is "no interface is left" "$(netdevs)" 0
	stop "$iperf_pid"
	stop "$ping_pid"
	check "module comes again" modprobe ib_ipoib
	check "interfaces come again" bring_up
	check "traffic after loading again" wait_for 20 answers
}

parts=(identity ping sizes streams multicast children faults unload)
[ "$T_KERNEL" != debug ] || parts=("${parts[@]:1}")
for part in "${parts[@]}"; do
	note "$part, after $SECONDS s"
	"test_$part"
done
note "after $SECONDS s"
done_testing
