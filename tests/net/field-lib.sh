# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the field-*.sh scripts share, on top of lib.sh:
#
#	ping_b [ADDRESS]	one answer from B
#	load_start, load_end	IPv4 and IPv6 traffic in both directions
#	reload [PARAMETER=VALUE...]	take the driver out and in; A is left down
#	join_start NAME COUNT	a test: A joins that many IPv4 groups; $STARTED is the process, which
#				must not be started inside of check
#	wait_all PID...		wait for these; $FAILED is how many of them failed
#	run_faults LABEL...	run these functions, or those of the list when there are none

# shellcheck source=tests/net/lib.sh
. "$T_ROOT/tests/net/lib.sh"

field=$T_ROOT/tests/net/field.py
field_tmp=/run/field
mkdir -p $field_tmp
load=()

ping_b()
{
	ping -q -c 1 -W 1 "${1:-$T_IP4_B}"
}

load_start()
{
	start ping -q -f -s 4000 "$T_IP4_B" >/dev/null 2>&1
	load=("$STARTED")
	start_b ping -q -f "$T_IP6_A" >/dev/null 2>&1
	load+=("$STARTED")
}

load_end()
{
	local pid

	for pid in "${load[@]}"; do
		stop "$pid"
	done
	load=()
}

reload()
{
	timeout 60 rmmod ib_ipoib && modprobe ib_ipoib "$@" && b_back
}

join_start()
{
	: >"$field_tmp/join"
	start python3 "$field" join "$T_IF_A" "$2" >"$field_tmp/join" 2>&1
	if wait_for 60 grep -q ready "$field_tmp/join"; then
		ok "$1"
	else
		not_ok "$1" "$(cat "$field_tmp/join")"
	fi
}

wait_all()
{
	local pid

	FAILED=0
	for pid; do
		wait "$pid" || FAILED=$((FAILED + 1))
	done
}

run_faults()
{
	local fault

	for fault; do
		note "$fault, after $SECONDS s"
		"$fault"
	done
	done_testing
}
