#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The jobs of the benchmark, run inside the guest by tests/bench/run:
#
#	guest.sh METER DRIVER-NAME
#
# METER is the compiled tests/bench/meter.c. Every job is run over the two interfaces of the driver
# and, when the driver is the stock one, over a veth pair of the same MTU as well. Results go to
# $T_OUT/numbers, one "MEDIUM JOB KEY VALUE" a line, and what iperf3 said to $T_OUT.

set -u
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

meter=$1
name=$2
count=${BENCH_COUNT:-40000}
# many, so that a sweep of the subnet manager in their midst does not tell
rounds=${BENCH_ROUNDS:-10000}
bytes=${BENCH_BYTES:-256M}
costs=/sys/kernel/debug/vib/cost
server=

keep_number()
{
	echo "$*" >>"$T_OUT/numbers"
}

die()
{
	echo "bench: $*" >&2
	exit 1
}

# serve NETNS COMMAND...: start a server and wait until it says that it is ready
serve()
{
	local ns=$1 line
	shift

	exec 5< <(exec ip netns exec "$ns" "$@")
	server=$!
	# the guest's clock leaps ahead while it waits for the disk
	read -r -t 6000 line <&5
	[ "$line" = ready ] || die "$* does not start"
}

stop_server()
{
	kill "$server" 2>/dev/null
	wait "$server" 2>/dev/null
	exec 5<&-
	server=
}

rx_packets()
{
	ip netns exec "$1" cat "/sys/class/net/$2/statistics/rx_packets"
}

# keep MEDIUM JOB "ns N idle M"
keep()
{
	local medium=$1 job=$2 words

	read -r -a words <<<"$3"
	keep_number "$medium" "$job" "${words[0]}" "${words[1]}"
	keep_number "$medium" "$job" "${words[2]}" "${words[3]}"
}

# cost_of FIELD: a sum that the fabric keeps while it is asked to
cost_of()
{
	sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" $costs | head -n 1
}

# blast MEDIUM JOB NETNS IFACE ADDR SIZE
blast()
{
	local medium=$1 job=$2 ns=$3 iface=$4 addr=$5 size=$6
	local before after said

	serve "$ns" "$meter" sink "$addr" 7001
	"$meter" blast "$addr" 7001 "$size" 2000 >/dev/null || die "$medium $job: no warm-up"
	before=$(rx_packets "$ns" "$iface")
	said=$("$meter" blast "$addr" 7001 "$size" "$count") || die "$medium $job failed"
	after=$(rx_packets "$ns" "$iface")
	stop_server
	keep "$medium" "$job" "$said"
	keep_number "$medium" "$job" packets "$count"
	keep_number "$medium" "$job" received $((after - before))
}

# fabric MEDIUM JOB NETNS ADDR SIZE: the same, but how much of it passes inside post_send
fabric()
{
	local medium=$1 job=$2 ns=$3 addr=$4 size=$5 start wrs

	echo "set dev cost 1" >"$T_CTL" || die "the fabric does not measure its cost"
	serve "$ns" "$meter" sink "$addr" 7001
	start=$(cost_of ns)
	wrs=$(cost_of wrs)
	"$meter" blast "$addr" 7001 "$size" 10000 >/dev/null || die "$medium $job failed"
	keep_number "$medium" "$job" fabric_ns $(($(cost_of ns) - start))
	keep_number "$medium" "$job" fabric_wrs $(($(cost_of wrs) - wrs))
	stop_server
	echo "set dev cost 0" >"$T_CTL"
}

# pingpong MEDIUM JOB NETNS ADDR PROTOCOL
pingpong()
{
	local medium=$1 job=$2 ns=$3 addr=$4 proto=$5 said

	serve "$ns" "$meter" echo "$proto" "$addr" 7002
	said=$("$meter" pingpong "$proto" "$addr" 7002 64 "$rounds") || die "$medium $job failed"
	stop_server
	keep "$medium" "$job" "$said"
	keep_number "$medium" "$job" rounds "$rounds"
}

listening()
{
	[ -n "$(ip netns exec "$1" ss -Hltn "sport = :$2")" ]
}

# stream MEDIUM JOB NETNS ADDR
stream()
{
	local medium=$1 job=$2 ns=$3 addr=$4 i

	ip netns exec "$ns" iperf3 -s -1 -B "$addr" >/dev/null &
	server=$!
	for ((i = 0; i < 600; i++)); do
		listening "$ns" 5201 && break
		sleep 0.05
	done
	iperf3 -c "$addr" -n "$bytes" -J >"$T_OUT/$medium-$job.json" || die "$medium $job failed"
	wait "$server"
	server=
}

# tso DEV on|off
tso()
{
	ethtool -K "$1" tso "$2" >/dev/null || die "$1: no tso $2"
}

# all_jobs MEDIUM DEV NETNS PEER-DEV ADDR. Every job is done three times: what is between the other
# two counts, see tests/bench/run.
all_jobs()
{
	local medium=$1 dev=$2 ns=$3 peer=$4 addr=$5 turn

	ping -c 2 -i 0.2 -q "$addr" >/dev/null || die "$medium: $addr does not answer"
	keep_number "$medium" link mtu "$(cat "/sys/class/net/$dev/mtu")"
	for turn in 1 2 3; do
		blast "$medium" udp18 "$ns" "$peer" "$addr" 18
		blast "$medium" udp1400 "$ns" "$peer" "$addr" 1400
		pingpong "$medium" rtt-udp "$ns" "$addr" udp
		pingpong "$medium" rtt-tcp "$ns" "$addr" tcp
		stream "$medium" "tcp-tso-$turn" "$ns" "$addr"
		tso "$dev" off
		stream "$medium" "tcp-notso-$turn" "$ns" "$addr"
		tso "$dev" on
	done
	if [ "$medium" != veth ]; then
		fabric "$medium" udp18 "$ns" "$addr" 18
		fabric "$medium" udp1400 "$ns" "$addr" 1400
	fi
}

# set_mode NETNS-OR-EMPTY DEV MODE
set_mode()
{
	local in=()

	[ -z "$1" ] || in=(ip netns exec "$1")
	"${in[@]}" sh -c "echo $3 >/sys/class/net/$2/mode" || die "$2: no $3 mode"
}

# No packet that needs a connection goes unanswered
connections_stand()
{
	ping -q -c 1 -W 2 -s 30000 "$1" && ip netns exec "$2" ping -q -c 1 -W 2 -s 30000 "$3"
}

# connected_jobs MEDIUM: what reliable connections make of it
connected_jobs()
{
	local medium=$1 turn

	set_mode "" "$T_IF_A" connected
	set_mode "$T_NS_B" "$T_IF_B" connected
	wait_for 30 connections_stand "$T_IP4_B" "$T_NS_B" "$T_IP4_A" ||
		die "$medium: no connection"
	keep_number "$medium" link cm-mtu "$(cat "/sys/class/net/$T_IF_A/mtu")"
	for turn in 1 2 3; do
		pingpong "$medium" cm-rtt-udp "$T_NS_B" "$T_IP4_B" udp
		pingpong "$medium" cm-rtt-tcp "$T_NS_B" "$T_IP4_B" tcp
		stream "$medium" "cm-tcp-$turn" "$T_NS_B" "$T_IP4_B"
	done
}

trap '[ -z "$server" ] || kill "$server" 2>/dev/null' EXIT

# settled: all is up under a subnet manager that sweeps no more
settled()
{
	sm_ports_active || return 1
	[ "$name" = veth ] || { carrier_a && carrier_b; }
}

# A sweep that falls into one run and not into the other would be the largest difference of the two
sm_restart -s 0
wait_for 30 settled || die "no link under a subnet manager that does not sweep"

sysctl -qw net.core.default_qdisc=pfifo_fast

if [ "$name" = veth ]; then
	ip netns add v || die "no network namespace"
	ip link add v0 mtu 4092 type veth peer name v1 netns v mtu 4092 || die "no veth"
	ip addr add 10.78.0.1/24 dev v0
	ip link set v0 up
	ip -n v addr add 10.78.0.2/24 dev v1
	ip -n v link set v1 up
	all_jobs veth v0 v v1 10.78.0.2
	ip netns del v
else
	# the default one counts only for devices that come up after it was set
	tc qdisc replace dev "$T_IF_A" root pfifo_fast
	ip netns exec "$T_NS_B" tc qdisc replace dev "$T_IF_B" root pfifo_fast
	all_jobs "$name" "$T_IF_A" "$T_NS_B" "$T_IF_B" "$T_IP4_B"
	connected_jobs "$name"
fi
