#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Connected mode of our driver with an HCA that has no shared receive queue: each connection has receive
# buffers of its own, and there are few connections.
#
#	tests/vm/run --vib srq=0 tests/net/cm-own.sh [SUITE...]
#
# SUITES: few own data foe life (all of them). Few: more peers than connections. Data, foe and life are
# suites of cm.sh, cm-foe.sh, cm-wire.sh and cm-life.sh.

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317,SC2119,SC2120

# shellcheck source=tests/net/cm-lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/cm-lib.sh"
only_ours "buffers of each connection"

FEW=4

# reloaded [PARAMETER=VALUE...]: the driver anew, both sides in connected mode
reloaded()
{
	reload "$@" && up_a && modes connected && wait_for 20 ping_b
}

refused_more()
{
	[ "$(numbers refused <"$conn_a")" -ge "$1" ]
}

# More peers than may have a connection: those who get none lose nothing
suite_few()
{
	local refused rejected

	check "B49 at most $FEW connections" reloaded max_nonsrq_conn_qp="$FEW"
	check "B49 B has none yet" disconnected
	check "B49 the limit is known" grep -q "^accepted: .* of $FEW\$" "$conn_a"
	check "B49 others ask" foe_loaded
	refused=$(numbers refused <"$conn_a") rejected=$(numbers rejected <"$conn_b")
	foe req n=12 peers=12 sid="$(sid)" timeout=20 retries=15
	check "B49 as many as may get one" wait_for 10 accepted_is "$FEW"
	check "B49 the others are refused" wait_for 10 refused_more $((refused + 12 - FEW))
	modes connected
	is "B49 B asks for one; no ping is lost" \
		"$(in_b ping -q -c 60 -i 0.05 -W 5 "$T_IP4_A" | lost)" 0
	check "B49 B was refused" [ "$(numbers rejected <"$conn_b")" -gt "$rejected" ]
	check "B49 TCP from B" transfer b 2
	check "B49 TCP from A" transfer a 2
	# one that nothing comes by is ended after 30 s, which may not be enough there
	if [ "$T_KERNEL" = debug ]; then
		skip "B49 all that while they were taken" "the debug kernel may take longer"
	else
		is "B49 all that while they were taken" "$(accepted)" "$FEW"
	fi
	is "B49 none has shared buffers" "$(cat /sys/kernel/debug/vib/vib0/srqs)" ""
	ip link set "$T_IF_A" down
	up_a
	check "B49 a new start" disconnected
	modes connected
	check "B49 when there is room B gets one" wait_for 40 both_ways
	is "B49 with buffers of its own" "$(sed -n 's/^from .* receives \([0-9]*\) .*/\1/p' "$conn_a")" 32
	check "B49 the foe goes" rmmod vib_foe
	check "B49 the limit as it is" reloaded
}

# None at all
suite_own()
{
	check "own: no connections" reloaded max_nonsrq_conn_qp=0
	is "own: no ping is lost" "$(ping -q -c 40 -i 0.05 -W 5 "$T_IP4_B" | lost)" 0
	check "own: TCP" transfer a 2
	check "own: nobody was accepted" live_to 0 "$conn_a" "$conn_b"
	check "own: the limit as it is" reloaded
	check "own: connected" wait_for 70 both_ways
}

# part SCRIPT SUITE...: its results are among ours
part()
{
	local line name rc=none

	# they want to begin with no connections; of one whose farewell was lost an end may be left
	modes datagram
	ip link set "$T_IF_A" down
	in_b ip link set "$T_IF_B" down
	addressed_b
	up_a
	while IFS= read -r line; do
		name=${line#*ok * - }
		case $line in
		"ok "*"# SKIP"*) skip "${name%% # SKIP*}" "${name#*# SKIP }" ;;
		"ok "*) ok "$name" ;;
		"not ok "*) not_ok "$name" || : ;;
		"ended with "*) rc=${line#ended with } ;;
		1..*) ;;
		"# "*" passed, "*) ;;
		*) echo "$line" ;;
		esac
	done < <(bash "$T_ROOT/tests/net/$1" "${@:2}" 2>&1; echo "ended with $?")
	is "$1: status" "$rc" 0
}

suite_data()
{
	part cm.sh data refuse broken
}

suite_foe()
{
	part cm-foe.sh strays frames crowd
	part cm-wire.sh rfc
}

suite_life()
{
	part cm.sh life
	part cm-life.sh unload
}

is "no shared queues" "$(cat /sys/module/vib/parameters/srq)" N
[ $# -gt 0 ] || set -- few own data foe life
for suite; do
	note "$suite, after $SECONDS s"
	"suite_$suite"
done
done_testing
