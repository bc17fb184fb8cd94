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
#
#	$debug, $params		debugfs of the driver, its parameters

# shellcheck source=tests/net/field-lib.sh
. "$T_ROOT/tests/net/field-lib.sh"

# shellcheck disable=SC2034
debug=/sys/kernel/debug/ipoib
# shellcheck disable=SC2034
params=/sys/module/ib_ipoib/parameters

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
