# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the scripts about connected mode of our driver share, on top of field-lib.sh:
#
#	only_ours WHAT		end here with the stock driver, which has no list of its connections
#	numbers WORD		the numbers behind a word of such a list; that is standard input
#	lost			what a ping on standard input has lost, in per cent
#	qps_at_most N		so many queue pairs of connections are left, on both sides
#	up_a			set A up again and wait for its carrier
#	pings_start SIZE	ping B in the background
#	pings_end		end that; $pings_lost is what any ten of them have lost, in per cent: 0 if all is well
#	own FILE...		the queue pairs of live connections to peers in these lists, in order
#	own_qpn a|b to|from	the queue pair of the first such live connection
#	accepted		connections that peers have made to A; accepted_is N: so many
#	messages FILE		those of the connection manager in a capture
#	feature NAME		on or off, that of A
#	modes MODE		that mode for both sides
#	large [ADDRESS]		a packet that is too large for a datagram is answered
#	live_to N FILE...	so many connections to peers carry packets
#	both_ways		large packets go, and each side has a connection to the other one
#	disconnected		both sides in datagram mode; no connection that they asked for is left
#	failed OP		that call of the HCA has failed since "failop OP" was ordered
#	unanswered		echo requests of A without an answer so far, as its stack counts them
#	missing COMMAND...	how many more there are when that ping has come to its end
#	total WORD		sum of that count over all interfaces
#
#	$debug, $params		debugfs of the driver, its parameters
#	$conn_a, $conn_b	the lists of connections of A and B
#
# With a peer that means no good, tests/vib/vib_foe.c, at the port of B:
#	foe_loaded		it is there, from now on
#	foe COMMAND...		a command for it
#	result_of WORD		what follows that word in what it says about itself
#	sid [QPN [BASE]]	where the owner of that queue pair listens, that of ib0 without one
#	know_foe QPN [ADDRESS]	A knows it as the owner of that queue pair, and by $dest or ADDRESS

# shellcheck source=tests/net/field-lib.sh
. "$T_ROOT/tests/net/field-lib.sh"

# shellcheck disable=SC2034
debug=/sys/kernel/debug/ipoib
# shellcheck disable=SC2034
params=/sys/module/ib_ipoib/parameters
conn_a=$debug/${T_IF_A}_conn
conn_b=$debug/${T_IF_B}_conn
foe_dir=/sys/kernel/debug/vib_foe
dest=10.77.0.77

only_ours()
{
	[ "$T_DRIVER" != ours ] || return 0
	skip "$1" "it is about our driver"
	done_testing
}

numbers()
{
	sed -n "s/.*\b$1:\? \([0-9]*\).*/\1/p"
}

lost()
{
	sed -n 's/.* \([0-9.]*\)% packet loss.*/\1/p'
}

qps_at_most()
{
	[ "$(vib objects rc)" -le "$1" ]
}

up_a()
{
	addressed_a
	wait_carrier 30
}

pings_start()
{
	touch "$T_OUT/pinging"
	while [ -e "$T_OUT/pinging" ]; do
		ping -q -c 10 -i 0.1 -W 5 -s "$1" "$T_IP4_B"
	done >"$T_OUT/pings" &
	pinger=$!
}

pings_end()
{
	rm "$T_OUT/pinging"
	wait "$pinger"
	# shellcheck disable=SC2034
	pings_lost=$(lost <"$T_OUT/pings" | sort -u)
	rm "$T_OUT/pings"
}

own()
{
	cat "$@" | sed -n 's/^to .* live own_qpn \([^ ]*\) .*/\1/p' | sort
}

own_qpn()
{
	local file=$conn_a

	[ "$1" = a ] || file=$conn_b
	sed -n "s/^$2 .* live own_qpn \([^ ]*\) .*/\1/p" "$file" | head -n 1
}

accepted()
{
	sed -n 's/^accepted: \([0-9]*\) of .*/\1/p' "$conn_a"
}

accepted_is()
{
	[ "$(accepted)" = "$1" ]
}

messages()
{
	python3 -IS "$T_ROOT/tests/net/conformance/pcap.py" messages "$1"
}

feature()
{
	ethtool -k "$T_IF_A" | sed -n "s/^[[:space:]]*$1: \([a-z]*\).*/\1/p"
}

modes()
{
	echo "$1" >"/sys/class/net/$T_IF_A/mode" &&
		in_b sh -c "echo $1 >/sys/class/net/$T_IF_B/mode"
}

# shellcheck disable=SC2120
large()
{
	ping -q -c 1 -W 2 -s 40000 "${1:-$T_IP4_B}"
}

live_to()
{
	[ "$(cat "${@:2}" | grep -c '^to .* live ')" = "$1" ]
}

both_ways()
{
	# shellcheck disable=SC2119
	large && live_to 2 "$conn_a" "$conn_b"
}

lib_nobody_asked()
{
	! grep -q '^to ' "$conn_a" "$conn_b"
}

# A farewell may be lost, so who was asked may keep his end until it has been idle for long
disconnected()
{
	modes datagram && wait_for 40 lib_nobody_asked
}

failed()
{
	grep -q "^$1 .*hit=[1-9]" /sys/kernel/debug/vib/failop
}

# Ping itself may miss answers, when they come faster than it is let run and its socket is full
unanswered()
{
	awk '/^Icmp:/ && !(n++) { for (i = 1; i <= NF; i++) at[$i] = i; next }
		/^Icmp:/ { print $at["OutEchos"] - $at["InEchoReps"] }' /proc/net/snmp
}

# More answers than requests: one to a ping that had given up waiting
missing()
{
	local before left

	before=$(unanswered)
	"$@" >/dev/null
	wait_for 10 eval "[ \$(unanswered) -le $before ]"
	left=$(($(unanswered) - before))
	echo $((left > 0 ? left : 0))
}

total()
{
	cat "$debug"/*_conn | numbers "$1" | awk '{ n += $1 } END { print n + 0 }'
}

foe_loaded()
{
	[ -e "$foe_dir" ] || insmod "$T_ROOT/build/$(uname -r)/vib/vib_foe.ko"
}

foe()
{
	echo "$*" >"$foe_dir/ctl"
}

result_of()
{
	sed -n "s/^$1 //p" "$foe_dir/result"
}

# The first octet of a service ID says whose kind it is: that of Linux, or 01, that of RFC 4755
sid()
{
	local qpn=${1:-}

	[ -n "$qpn" ] || qpn=$(cut -c 4-11 "/sys/class/net/$T_IF_A/address" | tr -d :)
	echo "0x${2:-10}00000000$qpn"
}

know_foe()
{
	local gid

	gid=$(sed 's/../&:/g; s/:$//' <<<"$1")
	gid+=:$(tr -d : </sys/class/infiniband/vib0/ports/2/gids/0 | sed 's/../&:/g; s/:$//')
	ip neigh replace "${2:-$dest}" lladdr "80:$gid" dev "$T_IF_A" nud permanent
}
