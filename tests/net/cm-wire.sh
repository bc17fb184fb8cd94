#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connections of our driver on a wire and with HCAs that are not what they should be, and what is said
# on the wire to those who want one.
#
#	tests/vm/run tests/net/cm-wire.sh [SUITE...]
#
# SUITES: loss rnr sends fatal silent reasons rfc idle toggle (all of them). The three before the last
# two use a peer of its own kind, tests/vib/vib_foe.c, at the port of B.

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317,SC2119,SC2120

# shellcheck source=tests/net/cm-lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/cm-lib.sh"
only_ours "connections and the wire"

case $T_KERNEL in
debug) toggles=6 mb=1 ;;
*) toggles=12 mb=2 ;;
esac

# lost_of COUNT SIZE [OPTION...]: so many of these pings are not answered, however long one waits
lost_of()
{
	missing ping -q -c "$1" -i 0.03 -W 10 -s "$2" "${@:3}" "$T_IP4_B"
}

# counts_more FILE WORD N: the number behind a word in that list is larger than N
counts_more()
{
	[ "$(numbers "$2" <"$1" | head -n 1)" -gt "$3" ]
}

total_more()
{
	[ "$(total "$1")" -gt "$2" ]
}

# As they were before: used for more than a second, so that a failure is the first one
settled()
{
	check "$1: connected" wait_for 70 both_ways
	is "$1: it works" "$(lost_of 40 56)" 0
}

hits()
{
	sed -n 's/^port=.* hit=\([0-9]*\).*/\1/p' /sys/kernel/debug/vib/faults | awk '{ n += $1 } END { print n + 0 }'
}

# hurt NAME KEY=VALUE...: that befalls packets of connections, both ways; all of them arrive
hurt()
{
	local name=$1 port before
	shift

	check "loss: $name: connected" wait_for 70 both_ways
	before=$(own "$conn_a" "$conn_b")
	for port in 1 2; do
		ctl fault "vib0:$port" out seed="$port" "$@"
	done
	is "loss: $name: no small ping is lost" "$(lost_of 50 56)" 0
	is "loss: $name: no large one" "$(lost_of 30 20000)" 0
	check "loss: $name: TCP" transfer a "$mb"
	check "loss: $name: it did harm ($(hits))" [ "$(hits)" -gt 5 ]
	for port in 1 2; do
		ctl fault "vib0:$port" clear
	done
	is "loss: $name: the connections are the same" "$(own "$conn_a" "$conn_b")" "$before"
}

# What is lost is sent again, and connections do not end for it
suite_loss()
{
	modes connected
	hurt "packets are lost" class=rcdata "do=drop" ppm=50000
	hurt "acknowledgments are lost" class=rcack "do=drop" ppm=50000
	hurt "packets are damaged" class=rc "do=crc" ppm=50000
	hurt "packets come twice" class=rc "do=dup" ppm=100000
	hurt "packets overtake each other" class=rcdata "do=hold" after=2 ppm=80000
}

# A receiver without buffers is waited for, ten seconds; then its connection ends
suite_rnr()
{
	local before broken

	modes connected
	settled rnr
	ctl set dev rnr_grace_us 0
	before=$(own "$conn_a" "$conn_b") broken=$(total broken)
	ctl rnr vib0 "$(own_qpn b from)" 4
	is "rnr: who has no buffer for a while is waited for" "$(lost_of 5 20000)" 0
	is "rnr: the connections are the same" "$(own "$conn_a" "$conn_b")" "$before"
	ctl rnr vib0 "$(own_qpn b from)" 1000
	is "rnr: no small ping is lost to one who has none at all" "$(lost_of 50 56)" 0
	check "rnr: that connection ended" total_more broken "$broken"
	ctl set dev rnr_grace_us 20000
	check "rnr: there is another one" wait_for 70 both_ways
}

# Sends end with each kind of error; those behind come back, too, and all of them late
suite_sends()
{
	local status broken qpn

	modes connected
	# length, flushed, no answer, no buffer, general
	for status in 1 5 12 13 21; do
		settled "sends: error $status"
		broken=$(total broken) qpn=$(own_qpn a to)
		ctl hold vib0 "$qpn" 1500
		ctl qperr vib0 "$qpn" "$status"
		is "sends: error $status: none of 30 is lost" "$(lost_of 30 56 -l 20)" 0
		check "sends: error $status: counted" wait_for 5 total_more broken "$broken"
	done
	check "sends: connected" wait_for 70 both_ways
}

# An HCA gives up a queue pair, of either end, and says so; or its shared receive queue
suite_fatal()
{
	local side way qpn srq before

	modes connected
	for side in a b; do
		for way in to from; do
			settled "fatal: $side, $way"
			qpn=$(own_qpn "$side" "$way") before=$(unanswered)
			start ping -q -c 60 -i 0.05 -W 10 "$T_IP4_B" >/dev/null
			check "fatal: $side, $way" ctl qpfatal vib0 "$qpn"
			wait "$STARTED"
			check "fatal: $side, $way: no small ping is lost" \
				wait_for 10 eval "[ \$(unanswered) -le $before ]"
			check "fatal: $side, $way: that queue pair is gone" \
				wait_for 10 eval "! grep -q 'live own_qpn $qpn ' $conn_a $conn_b"
		done
	done
	settled "fatal: shared queue"
	before=$(own "$conn_a" "$conn_b")
	while read -r srq; do
		check "fatal: shared queue $srq" ctl srqerr vib0 "$srq"
	done < <(sed -n 's/^srq=\([0-9]*\) .*/\1/p' /sys/kernel/debug/vib/vib0/srqs)
	is "fatal: shared queue: no ping is lost" "$(lost_of 30 20000)" 0
	is "fatal: shared queue: it was false alarm" "$(own "$conn_a" "$conn_b")" "$before"
}

# The peer's end of all connections is dead, and nobody says so. Seven repetitions, 67 ms each, are the
# patience of a connection; what it had to carry goes by datagrams then.
suite_silent()
{
	local broken before longest

	modes connected
	settled silent
	broken=$(total broken)
	ctl fault vib0:2 in class=rc "do=drop"
	ctl fault vib0:2 out class=rc "do=drop"
	is "silent: no small ping is lost" \
		"$(missing sh -c "ping -q -c 80 -i 0.05 -W 10 $T_IP4_B >$T_OUT/silent")" 0
	longest=$(sed -n 's|^rtt .*/\([0-9]*\)[.0-9]*/[^/]*$|\1|p' "$T_OUT/silent")
	check "silent: none takes 3 s ($longest ms)" [ "$longest" -lt 3000 ]
	check "silent: the connection ended" total_more broken "$broken"
	before=$(total asked_for)
	check "silent: TCP goes" transfer a "$mb"
	check "silent: few ask again ($(($(total asked_for) - before)))" [ $(($(total asked_for) - before)) -le 12 ]
	ctl fault vib0:2 clear
	check "silent: when it is alive, connections come" wait_for 70 both_ways
	rm -f "$T_OUT/silent"
}

lid()
{
	echo $(($(cat "/sys/class/infiniband/vib0/ports/$1/lid")))
}

# Each refusal has the reason that fits
suite_reasons()
{
	local was refused file=$T_OUT/reasons.pcap

	modes connected
	check "reasons: B is known" wait_for 20 both_ways
	check "reasons: the foe" foe_loaded
	refused=$(numbers refused <"$conn_a")
	was=$(cat "$params/max_conn_qp")
	capture_start a vib0:1
	echo 0 >"$params/max_conn_qp"
	foe req n=3 peers=3 sid="$(sid)" seed=10
	check "reasons: there are too many" wait_for 10 counts_more "$conn_a" refused $((refused + 2))
	echo "$was" >"$params/max_conn_qp"
	foe req n=3 peers=3 sid="$(sid)" seed=11 pkey="$T_PKEY"
	check "reasons: another partition" wait_for 10 counts_more "$conn_a" refused $((refused + 5))
	foe req n=3 peers=3 sid="$(sid)" seed=12 type=1
	check "reasons: unreliable" wait_for 10 counts_more "$conn_a" refused $((refused + 8))
	capture_stop a "$file"
	is "reasons: no queue pair, of our own kind, invalid transport" \
		"$(messages "$file" | sed -n "s/^$(lid 1) REJ of=REQ reason=//p" | uniq | xargs)" "1 28 9"
	is "reasons: each was told once" "$(messages "$file" | grep -c "^$(lid 1) REJ")" 9
	rm -f "$file"
}

# large_to_foe COUNT: so many packets that no datagram takes; prints how many are not answered
large_to_foe()
{
	missing ping -q -c "$1" -i 0.05 -W 10 -M "do" -s 20000 "$dest"
}

too_big_for_foe()
{
	ping -M "do" -c 1 -W 1 -s 8000 "$dest" 2>&1 | grep -q 'mtu.*4092'
}

# The service ID of RFC 4755, both ways; and connections that carry data both ways
suite_rfc()
{
	local qpn=7ffff8 file=$T_OUT/rfc.pcap heard rx said too_big asked

	modes connected
	check "rfc: the foe" foe_loaded
	foe close
	heard=$(numbers heard <"$conn_a")
	rx=$(counter_a rx_packets)
	check "rfc: A listens where the RFC says" foe frames sid="$(sid "" 01)" len=100,200,300
	is "rfc: and takes what comes" "$(grep -c success "$foe_dir/result")" 3
	check "rfc: which is counted" [ "$(counter_a rx_packets)" -ge $((rx + 3)) ]
	is "rfc: one has asked" "$(numbers heard <"$conn_a")" $((heard + 1))

	check "rfc: one who listens only there" foe listen sid="$(sid "$qpn" 01)" how=echo
	too_big=$(numbers too_big <"$conn_a")
	# each answer takes its time, and the first ones want more packets to wait for it
	ctl fault vib0:1 in class=cm "do=delay" us=150000
	capture_start a vib0:1
	know_foe "$qpn"
	is "rfc: is reached by what is too large for datagrams, from the first packet on" "$(large_to_foe 12)" 0
	check "rfc: over a connection" grep -q "^to .* qpn 0x$qpn live" "$conn_a"
	is "rfc: none was sent back" "$(numbers too_big <"$conn_a")" "$too_big"
	ctl fault vib0:1 clear
	is "rfc: nor is one lost then" "$(large_to_foe 5)" 0
	capture_stop a "$file"
	said=$(messages "$file" | grep -E "^$(lid 1) REQ|^$(lid 2) REJ" | sed 's/ data=.*//' | uniq)
	is "rfc: the ID of Linux comes first, which is refused, then that of the RFC" "$said" \
		"$(printf '%s\n' "$(lid 1) REQ sid=$(sid "$qpn")" "$(lid 2) REJ of=REQ reason=8" \
			"$(lid 1) REQ sid=$(sid "$qpn" 01)")"
	is "rfc: A has one connection to it" "$(grep -c "^to .* qpn 0x$qpn live" "$conn_a")" 1
	check "rfc: answers come the same way ($(result_of echoed))" [ "$(result_of echoed)" -ge 17 ]
	is "rfc: it has asked for none" "$(numbers heard <"$conn_a")" $((heard + 1))
	foe close
	check "rfc: when it hangs up, so do we" wait_for 10 eval "! grep -q ' qpn 0x$qpn live' $conn_a"

	qpn=7ffff7
	foe listen sid="$(sid "$qpn" 01)" how=rep size=0
	know_foe "$qpn"
	# nobody answers these
	ping -q -c 30 -i 0.1 -W 1 "$dest" >/dev/null
	asked=$(result_of asked)
	check "rfc: one who grants there what is of no use is asked" [ "$asked" -ge 1 ]
	check "rfc: but seldom ($asked times)" [ "$asked" -le 4 ]
	foe close

	qpn=7ffff6 asked=$(numbers asked_for <"$conn_a")
	know_foe "$qpn"
	check "rfc: where nobody listens at all the sender is told" wait_for 10 too_big_for_foe
	check "rfc: when both have been tried" [ $(($(numbers asked_for <"$conn_a") - asked)) -ge 2 ]
	ip neigh del "$dest" dev "$T_IF_A"
	ip route flush cache
	rm -f "$file"
}

# Connections that a peer has made and does not use: never, or not any more
suite_idle()
{
	local interval was begin took i

	check "idle: no connections" disconnected
	check "idle: the foe" foe_loaded
	foe close
	interval=$(sysctl -n net.ipv4.neigh.default.gc_interval)
	was=$(cat "$params/accepted_conn_idle")
	sysctl -qw net.ipv4.neigh.default.gc_interval=1
	echo 6 >"$params/accepted_conn_idle"
	# the round that has begun has the old length, and A may have been asked before
	ip link set "$T_IF_A" down
	up_a
	is "idle: nobody has asked" "$(grep -c '^from' "$conn_a")" 0
	begin=$SECONDS
	check "idle: one that is never used" foe frames sid="$(sid)" len= keep=1
	for i in 1 2 3; do
		check "idle: one that is used once, $i" foe frames sid="$(sid)" len=100 keep=1
	done
	check "idle: all are there" accepted_is 4
	check "idle: those that were used end" wait_for 20 accepted_is 1
	took=$((SECONDS - begin))
	check "idle: after accepted_conn_idle seconds, not before ($took)" [ "$took" -ge 5 ]
	check "idle: the other one, too" wait_for 50 accepted_is 0
	took=$((SECONDS - begin))
	check "idle: after half a minute, not before ($took)" [ "$took" -ge 29 ]
	check "idle: all are counted" counts_more "$conn_a" idle 3
	foe close
	echo "$was" >"$params/accepted_conn_idle"
	sysctl -qw net.ipv4.neigh.default.gc_interval="$interval"
}

by_netlink()
{
	ip link set "$T_IF_A" type ipoib mode "$1"
}

# The mode changes by netlink, while cables are pulled and the interface goes down and up
suite_toggle()
{
	local i failed=0

	modes connected
	check "toggle: connected" wait_for 70 both_ways
	start ping -q -f -s 4000 "$T_IP4_B" >/dev/null 2>&1
	for ((i = 0; i < toggles; i++)); do
		by_netlink datagram || failed=$((failed + 1))
		case $((i % 4)) in
		0) ctl link vib0:1 bounce 100 ;;
		1) ip link set "$T_IF_A" down ;;
		2) ctl link vib0:2 bounce 100 ;;
		esac
		by_netlink connected || failed=$((failed + 1))
		case $((i % 4)) in
		0) wait_carrier 60 ;;
		1) up_a ;;
		2) by_netlink datagram && wait_carrier 60; by_netlink connected ;;
		esac
	done
	stop "$STARTED"
	is "toggle: $toggles changes and back, none failed" "$failed" 0
	is "toggle: the mode is the last one" "$(cat "/sys/class/net/$T_IF_A/mode")" connected
	is "toggle: and the MTU" "$(cat "/sys/class/net/$T_IF_A/mtu")" 65520
	check "toggle: B is connected" wait_for 70 both_ways
	# a farewell that met a cable that was out leaves the other end to the idle time
	ip link set "$T_IF_A" down
	in_b ip link set "$T_IF_B" down
	check "toggle: nothing is left when both are down" wait_for 20 qps_at_most 0
	addressed_b
	up_a
	check "toggle: and up again" wait_for 70 both_ways
	# what was under way to the old connections
	vib_reset
}

[ $# -gt 0 ] || set -- loss rnr sends fatal silent reasons rfc idle toggle
for suite; do
	note "$suite, after $SECONDS s"
	"suite_$suite"
done
[ ! -e "$foe_dir" ] || check "the foe goes" rmmod vib_foe
done_testing
