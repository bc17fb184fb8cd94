#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# What an administrator sees: debugfs files, reasons for no carrier, ethtool, refusals.
#
#	A (root namespace)			B (namespace b)
#	ib0 --- vib0:1 --- switch --- vib0:2 --- ib1

# shellcheck disable=SC2317 # functions are called by name through check and wait_for
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

dir=/sys/kernel/debug/ipoib

# One block of a debugfs file: that of a GID, as it is printed there
block()
{
	awk -v RS= -v gid="GID: $2" 'index($0 "\n", gid "\n") == 1' "$dir/$1"
}

refused()
{
	local text=$1 out
	shift

	out=$("$@" 2>&1) && return 1
	echo "$out"
	[ "$T_DRIVER" = stock ] || grep -qi "$text" <<<"$out"
}

# --- paths and groups, in the format that tools know
ping -q -c 1 -W 2 "$T_IP4_B" >/dev/null
gid_b=$(sed 's/^0*//; s/:0*\([0-9a-f]\)/:\1/g' /sys/class/infiniband/vib0/ports/2/gids/0)
lid_b=$(cat /sys/class/infiniband/vib0/ports/2/lid)
path=$(block "${T_IF_A}_path" "$gid_b")
is "path to B" "$path" "GID: $gid_b
  complete:    yes
  DLID:     $(printf 0x%04x "$lid_b")
  SL:            0
  rate:       40.0 Gb/sec"

group=$(block "${T_IF_A}_mcg" ff12:401b:ffff:0:0:0:ffff:ffff)
check "broadcast group is listed" grep -qx '  complete:       yes' <<<"$group"
check "it is no send-only group" grep -qx '  send_only:       no' <<<"$group"
check "and nothing waits for it" grep -qx '  queuelen:         0' <<<"$group"
check "its age is in ticks" grep -Eqx '  created: +[0-9]+' <<<"$group"
sorted()
{
	python3 -c 'import sys
gids = [[int(x, 16) for x in l[5:].split(":")] for l in sys.stdin if l.startswith("GID: ")]
sys.exit(len(gids) < 3 or gids != sorted(gids))'
}
check "groups are sorted" sorted <"$dir/${T_IF_A}_mcg"

# --- files follow their interface
ip link set "$T_IF_A" down
ip link set "$T_IF_A" name other0
check "files are renamed" [ -e "$dir/other0_mcg" ]
check_not "the old ones are gone" [ -e "$dir/${T_IF_A}_mcg" ]
ip link set other0 name "$T_IF_A"
ip link set "$T_IF_A" up
check "renamed back" [ -e "$dir/${T_IF_A}_mcg" ]
wait_carrier 20
check_not "a child that is gone leaves no file" \
	sh -c "ip link add link $T_IF_A name c0 type ipoib pkey $T_PKEY; ip link del c0;
	ls $dir | grep c0_"

# --- reasons
if [ "$T_DRIVER" = ours ]; then
	reason()
	{
		sed -n 's/^reason: //p' "$dir/${T_IF_A}_state"
	}
	reason_is()
	{
		[ "$(reason)" = "$1" ]
	}
	check "reason: link is up" reason_is "link is up"
	ctl link vib0:1 down
	check "reason: port" wait_for 10 reason_is "port is not active"
	ctl link vib0:1 up
	check "reason: up again" wait_for 20 reason_is "link is up"
	ctl set vib0:1 pkey 0 0
	check "reason: P_Key" wait_for 10 reason_is "P_Key 0xffff is not in the table"
	ctl set vib0:1 pkey 0 0xffff
	# what was under way meanwhile came from a foreign partition
	vib_reset
	check "reason: up once more" wait_for 20 reason_is "link is up"
	check "each reason is in the log" \
		sh -c "dmesg | grep -q '$T_IF_A: no carrier: port is not active' &&
		dmesg | grep -q '$T_IF_A: no carrier: P_Key 0xffff is not in the table'"
	ip link add link "$T_IF_A" name c0 type ipoib pkey 0x8777
	ip link set c0 up
	check "reason: no such P_Key" grep -q 'reason: P_Key 0x8777' "$dir/c0_state"
	ip link del c0
fi

# --- trace events
if [ "$T_DRIVER" = ours ] && trace_on .; then
	ip link set "$T_IF_A" down
	ip link set "$T_IF_A" up
	wait_carrier 20
	wait_for 10 ping -q -c 1 -W 1 "$T_IP4_B"
	trace_off
	trace=$(traced ^)
	check "trace: state" grep -q "ipoib_state: $T_IF_A joining -> live" <<<"$trace"
	check "trace: join" grep -q "ipoib_join: $T_IF_A ff12:401b:.* status 0" <<<"$trace"
	check "trace: leave" grep -q "ipoib_leave: $T_IF_A ff12:401b:" <<<"$trace"
	check "trace: path" grep -q "ipoib_path: $T_IF_A fe80:.* status 0" <<<"$trace"

	hw_b=$(in_b cat "/sys/class/net/$T_IF_B/address")
	qpn=0x$(cut -d : -f 2-4 "/sys/class/net/$T_IF_A/address" | tr -d :)
	limits=/sys/class/net/$T_IF_A/queues/tx-0/byte_queue_limits

	# group_has END-OF-GID TEXT
	group_has()
	{
		grep -A 4 ":$1\$" "$dir/${T_IF_A}_mcg" | grep -q "$2"
	}

	# dropped_for REASON PROTOCOL BEFORE N [MORE]: so many for that reason, and since BEFORE in the counter, where
	# so many MORE may be from others
	dropped_for()
	{
		local more=$(($(counter_a tx_dropped) - $3 - $4))

		[ "$(traced -c "protocol=$2 .*reason: $1")" = "$4" ] && [ "$more" -ge 0 ] && [ "$more" -le "${5:-0}" ]
	}

	poke()
	{
		python3 -IS "$T_ROOT/tests/net/conformance/poke.py" "$@"
	}

	# fill_ring: the HCA ends no sends until it is told to, and there are more than fit into the ring
	fill_ring()
	{
		# which is in force after the next send that ends
		echo 10000000 >"$limits/limit_min"
		ping -q -c 2 -i 0.2 -W 1 "$T_IP4_B" >/dev/null
		ctl hold vib0 "$qpn" 60000
		poke udp "$T_IP4_B" 9 10 200 "$T_IF_A"
		echo 0 >"$limits/limit_min"
	}

	# stopped_full: the ring has been stopped with all its slots in use
	stopped_full()
	{
		traced "ipoib_ring_stop: $T_IF_A posted" | awk '$(NF - 2) - $NF == 128 { full = 1 } END { exit !full }'
	}

	# --- reasons of drops
	trace_on skb/kfree_skb
	dropped=$(counter_a tx_dropped)
	for _ in 1 2 3; do
		poke packet "$T_IF_A" dgram 20 "${hw_b//:/}" 88cc 00112233
	done >/dev/null
	check "reason: UNHANDLED_PROTO" wait_for 10 dropped_for UNHANDLED_PROTO 35020 "$dropped" 3

	# an SA that is silent and a peer that is not there
	kill -STOP "$(sm_pid)"
	ip neigh replace 10.77.0.99 lladdr 80:00:00:48:fe:80:00:00:00:00:00:00:02:00:00:00:00:00:00:22 dev "$T_IF_A"
	trace_on skb/kfree_skb
	dropped=$(counter_a tx_dropped)
	poke udp 10.77.0.99 9 4000 100 "$T_IF_A"
	check "reason: NEIGH_QUEUEFULL" wait_for 10 traced -q "protocol=2048 .*reason: NEIGH_QUEUEFULL"
	check "reason: NEIGH_FAILED" wait_for 10 traced -q "protocol=2048 .*reason: NEIGH_FAILED"
	check "each of 100 drops has one of the two" wait_for 10 dropped_for 'NEIGH_\(QUEUEFULL\|FAILED\)' 2048 \
		"$dropped" 100 20
	# for a group there is room for 64 packets
	trace_on skb/kfree_skb
	dropped=$(counter_a tx_dropped)
	poke udp 239.8.7.1 9 10 100 "$T_IF_A"
	check "reason: NEIGH_QUEUEFULL, of a group" wait_for 10 dropped_for NEIGH_QUEUEFULL 2048 "$dropped" 36 20
	kill -CONT "$(sm_pid)"
	ip neigh del 10.77.0.99 dev "$T_IF_A"
	check "what had room goes out" wait_for 40 group_has f08:701 'complete: *yes'

	echo connected >"/sys/class/net/$T_IF_A/mode"
	trace_on skb/kfree_skb ipoib_conn
	dropped=$(counter_a tx_dropped)
	poke udp 224.0.0.1 9 8000 1 "$T_IF_A" >/dev/null
	check "reason: PKT_TOO_BIG" wait_for 10 dropped_for PKT_TOO_BIG 2048 "$dropped" 1

	# --- the other trace events
	ping -q -c 2 -i 0.2 -W 2 -s 8000 "$T_IP4_B" >/dev/null
	check "trace: connection" wait_for 10 traced -q "ipoib_conn: $T_IF_A fe80:.* status [1-9]"
	echo datagram >"/sys/class/net/$T_IF_A/mode"
	trace_off
	trace_on ipoib_rx_drop ipoib_neigh_failed
	ctl frame vib0:1 dqpn="$qpn" qkey=0xb1b len=3
	check "trace: drop of what came in" wait_for 10 traced -q "ipoib_rx_drop: $T_IF_A length len 43"
	check "B answers" wait_for 10 ping -q -c 1 -W 1 "$T_IP4_B"
	in_b ip link set "$T_IF_B" down
	ip neigh replace "$T_IP4_B" lladdr "$hw_b" dev "$T_IF_A" nud probe
	check "trace: neighbour given up" wait_for 20 traced -q "ipoib_neigh_failed: $T_IF_A fe80:"
	in_b ip link set "$T_IF_B" up
	in_b ip -6 addr replace "$T_IP6_B/$T_PREFIX6" dev "$T_IF_B" nodad
	check "B is back" wait_carrier 30

	# --- sends that end late
	trace_on ipoib_ring_stop ipoib_ring_wake
	fill_ring
	check "trace: ring stop" wait_for 5 stopped_full
	check_not "trace: no ring wake yet" traced -q "ipoib_ring_wake: $T_IF_A"
	ctl hold vib0 "$qpn" 0
	check "trace: ring wake" wait_for 10 traced -q "ipoib_ring_wake: $T_IF_A"
	check "B answers after it" wait_for 10 ping -q -c 1 -W 1 "$T_IP4_B"

	# --- sends that do not end: the kernel's watchdog looks every ten seconds
	echo "vm: expected: NETDEV WATCHDOG" >/dev/kmsg
	trace_on ipoib_state
	fill_ring
	check "watchdog: it says so" wait_for 40 sh -c "dmesg | grep -q '$T_IF_A: transmit timeout: 128 of 128 sends'"
	check "watchdog: the queue pair is restarted" wait_for 20 traced -q "ipoib_state: $T_IF_A live -> wait"
	ctl hold vib0 "$qpn" 0
	check "watchdog: carrier" wait_for 40 carrier_a
	check "watchdog: B answers" wait_for 20 ping -q -c 1 -W 1 "$T_IP4_B"
	trace_off
fi

# --- ethtool
check "driver name" sh -c "ethtool -i $T_IF_A | grep -qx 'driver: ib_ipoib'"
check "bus-info names the parent" sh -c "ethtool -i $T_IF_A | grep -qx 'bus-info: vib.0'"
check "speed" sh -c "ethtool $T_IF_A | grep -q 'Speed: 40000Mb/s'"
is "speed file" "$(cat "/sys/class/net/$T_IF_A/speed")" 40000
check "link detected" sh -c "ethtool $T_IF_A | grep -q 'Link detected: yes'"
stats=$(ethtool -S "$T_IF_A" | sed -n 's/^ *\([a-z_]*\): .*/\1/p' | tr '\n' ' ')
is "statistics" "${stats%tx_dropped multicast *}" \
	"rx_packets tx_packets rx_bytes tx_bytes tx_errors rx_dropped "
sum=$(ethtool -S "$T_IF_A" | sed -n 's/ *tx_packets: //p')
check "statistics agree with ip -s" [ "$(counter_a tx_packets)" -ge "$sum" ]

# --- interrupt moderation
check "moderation is off at first" sh -c "ethtool -c $T_IF_A | grep -qx 'rx-usecs:.*0'"
check "moderation is set" ethtool -C "$T_IF_A" rx-usecs 16 rx-frames 8
check "and shown" sh -c "ethtool -c $T_IF_A | grep -Eqx 'rx-usecs:\s+16' &&
	ethtool -c $T_IF_A | grep -Eqx 'rx-frames:\s+8'"
check "the HCA knows it" grep -q 'moderation=8/16' /sys/kernel/debug/vib/vib0/cqs
is "for datagrams and for connections" "$(grep -c 'moderation=8/16' /sys/kernel/debug/vib/vib0/cqs)" 2
ip link set "$T_IF_A" down
ip link set "$T_IF_A" up
is "also when it has been down" "$(grep -c 'moderation=8/16' /sys/kernel/debug/vib/vib0/cqs)" 2
wait_carrier 30
check_not "moderation beyond 16 bits is refused" ethtool -C "$T_IF_A" rx-usecs 65536
check_not "unknown moderation is refused" ethtool -C "$T_IF_A" stats-block-usecs 5
check "B answers with moderation" ping -q -c 3 -i 0.1 -W 2 "$T_IP4_B"
ethtool -C "$T_IF_A" rx-usecs 0 rx-frames 0

# --- wrong input
check "MTU below 72" refused mtu ip link set "$T_IF_A" mtu 71
check "MTU beyond the port" refused mtu ip link set "$T_IF_A" mtu 4093
check "MTU 72" ip link set "$T_IF_A" mtu 72
ip link set "$T_IF_A" mtu 4092
check "child without parent" refused parent ip link add c1 type ipoib
check "child of loopback" refused "not an IPoIB" ip link add link lo name c1 type ipoib
check "child with P_Key 0x8000" refused P_Key \
	ip link add link "$T_IF_A" name c1 type ipoib pkey 0x8000
check "child in connected mode with an MTU of 65521" refused "MTU of 65520" \
	ip link add link "$T_IF_A" name c1 mtu 65521 type ipoib pkey "$T_PKEY" mode connected
ip link add link "$T_IF_A" name c1 type ipoib pkey "$T_PKEY"
check "child of a child" refused child ip link add link c1 name c2 type ipoib pkey 0x8002
check "mode 7" refused mode ip link set c1 type ipoib mode 7
check "umcast" ip link set c1 type ipoib umcast 1
check "umcast is shown" sh -c "ip -d link show c1 | grep -q 'umcast *0001'"
ip link del c1
check "VLAN on top" refused "" ip link add link "$T_IF_A" name v5 type vlan id 5
create="/sys/class/net/$T_IF_A/create_child"
for bad in 0 0x8000 0x10000 -1 xyz '' 0xffff; do
	check_not "create_child '$bad' is refused" sh -c "echo '$bad' >$create"
done
check "create_child" sh -c "echo $T_PKEY >$create"
check_not "create_child twice" sh -c "echo $T_PKEY >$create"
delete="/sys/class/net/$T_IF_A/delete_child"
check_not "delete_child of nobody" sh -c "echo 0x8777 >$delete"
check "delete_child" sh -c "echo $T_PKEY >$delete"
check "a wrong mode is refused, a right one accepted" \
	sh -c "! echo wrong >/sys/class/net/$T_IF_A/mode && echo datagram >/sys/class/net/$T_IF_A/mode"
check "B answers at the end" wait_for 20 ping -q -c 1 -W 1 "$T_IP4_B"
done_testing
