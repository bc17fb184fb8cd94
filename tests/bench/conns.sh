#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What a connection costs, run inside the guest by tests/bench/run:
#
#	conns.sh METER PEERS RING
#
# A, in connected mode, sends a datagram too large for datagram mode to each of PEERS interfaces of B,
# which are children in the partition of their parent, in datagram mode: so every peer is one
# connection, made by A. RING is the recv_queue_size of the driver.
#
# Results go to $T_OUT/conns, one "KEY VALUE" a line: instructions (guest nanoseconds in which the CPU
# was not idle) for all peers, with connections to be made and with connections that are there,
# messages of the connection manager, and bytes. The connections that are counted are the second ones:
# what an interface makes for its first connection, once, is there by then. That has pages, too, which
# a driver may keep when they are given back, so new_bytes is about the first connections.

set -u
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

meter=$1 peers=$2 ring=$3
DBG=/sys/kernel/debug/vib
FIRST=10.96.0.1
SIZE=8000

keep()
{
	echo "$*" >>"$T_OUT/conns"
}

die()
{
	echo "conns: $*" >&2
	exit 1
}

# Messages of the connection manager that the two ports have sent
cm_messages()
{
	awk '/class=cm/ { for (i = 1; i <= NF; i++) if (sub("^seen=", "", $i)) sum += $i }
		END { printf "%d\n", sum }' $DBG/faults
}

connections()
{
	grep -c 'type=rc' $DBG/vib0/qps
}

no_connection()
{
	[ "$(connections)" = 0 ]
}

# Bytes that the kernel has taken for itself
kernel_bytes()
{
	awk '$1 == "MemTotal:" { sum += $2 }
		$1 == "MemFree:" || $1 == "Cached:" || $1 == "Buffers:" || $1 == "AnonPages:" { sum -= $2 }
		END { printf "%d\n", sum * 1024 }' /proc/meminfo
}

# The same when nothing more is on its way to the kernel or back
settled_bytes()
{
	local last='' now i

	for ((i = 0; i < 50; i++)); do
		sleep 1
		now=$(kernel_bytes)
		[ "${last:-0}" -eq 0 ] || [ $((now - last)) -gt 65536 ] || [ $((last - now)) -gt 65536 ] || break
		last=$now
	done
	echo "$now"
}

# address N: that of peer N, counted from 0
address()
{
	echo "10.96.$((($1 + 1) / 256)).$((($1 + 1) % 256))"
}

carriers()
{
	[ "$(ip -n "$T_NS_B" -o link show up | grep -c ' c[0-9]*@.*LOWER_UP')" = "$peers" ]
}

load_driver()
{
	modprobe -r ib_ipoib || die "the driver does not unload"
	modprobe ib_ipoib recv_queue_size="$ring" || die "the driver does not load"
	wait_for 60 test -e "/sys/class/net/$T_IF_B" || die "no $T_IF_B"
	ip link set "$T_IF_B" netns "$T_NS_B"
	ip addr add "$T_IP4_A/$T_PREFIX4" dev "$T_IF_A"
	ip -n "$T_NS_B" addr add "$T_IP4_B/$T_PREFIX4" dev "$T_IF_B"
	ip link set "$T_IF_A" up
	ip -n "$T_NS_B" link set "$T_IF_B" up
	wait_carrier 60 || die "no carrier"
	ip route add 10.96.0.0/11 dev "$T_IF_A"
}

make_peers()
{
	local i

	for ((i = 0; i < peers; i++)); do
		echo "link add link $T_IF_B name c$i type ipoib"
		echo "addr add $(address $i)/32 dev c$i"
		echo "link set c$i up"
	done | ip -n "$T_NS_B" -batch - || die "no children"
	wait_for 60 carriers || die "the children have no carrier"
	ip -n "$T_NS_B" -o link show | sed -n 's,.* c\([0-9]*\)@.*link/infiniband \([0-9a-f:]*\) .*,\1 \2,p' |
		while read -r i hw; do
			echo "neigh replace $(address "$i") lladdr $hw nud permanent dev $T_IF_A"
		done | ip -batch - || die "no neighbours"
}

set_mode()
{
	echo "$1" >"/sys/class/net/$T_IF_A/mode" || die "no $1 mode"
}

# ask_all KEY: a datagram to each peer and back, and how long the CPU worked on it
ask_all()
{
	local said words

	said=$("$meter" first $FIRST 7002 $SIZE "$peers") || die "a peer does not answer"
	read -r -a words <<<"$said"
	keep "$1" $((words[1] - words[3]))
}

end_all()
{
	set_mode datagram
	wait_for 120 no_connection || die "$(connections) queue pairs of connections are left"
}

sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
ip netns exec "$T_NS_B" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
for i in 1 2 3; do
	sysctl -qw net.ipv4.neigh.default.gc_thresh$i=100000
done
# The clock leaps while the guest waits for its disk: nothing must be idle for too long
sysctl -qw net.ipv4.neigh.default.gc_interval=100000
sm_restart -s 0
load_driver
idle=/sys/module/ib_ipoib/parameters/accepted_conn_idle
[ ! -e $idle ] || echo 0 >$idle
make_peers
ctl fault vib0:1 out do=dup skip=2000000000 class=cm || die "the fabric does not count"
ctl fault vib0:2 out do=dup skip=2000000000 class=cm || die "the fabric does not count"
start_b "$meter" echo udp 0.0.0.0 7002 >/dev/null
# what the library does for tests at the end of a script
trap 'kill "$STARTED"' EXIT
wait_for 60 ping -q -c 1 -W 2 "$T_IP4_B" || die "B does not answer"

before=$(settled_bytes)
set_mode connected
ask_all new
keep new_bytes $(($(settled_bytes) - before))
end_all
before=$(settled_bytes)
set_mode connected
messages=$(cm_messages)
ask_all make
ask_all again
after=$(settled_bytes)
[ "$(connections)" = $((2 * peers)) ] || die "$(connections) queue pairs of $((2 * peers))"
keep bytes $((after - before))
keep messages $(($(cm_messages) - messages))
messages=$(cm_messages)
end_all
keep end_messages $(($(cm_messages) - messages))
ctl fault vib0:1 clear
ctl fault vib0:2 clear
