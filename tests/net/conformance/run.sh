#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Does an ib_ipoib keep what users, peers and subnet managers count on? One suite for two drivers.
#
#	tests/vm/run [--driver stock] --timeout 1200 tests/net/conformance/run.sh [PART...]
#
#	A (root namespace)			B (namespace b)
#	ib0 --- vib0:1 --- switch --- vib0:2 --- ib1
#
# Each PART is a file beside this one and begins and ends with both interfaces up. All run if none is
# named; "fabric" stands for the first six, which are about what a driver says to others, and "host"
# for the rest, which is about what its own host sees of it. Either half takes some minutes.
#
# Names that begin with A1 to A65 are the assertions of the suite, a number each; the others go
# further. What is different on purpose is marked "differs", with both values and the reason;
# Documentation/differences.rst tells it to users. stock.txt beside this file records how the stock
# driver fares.

# Functions are called by way of check, refused and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317

# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"
# shellcheck source=tests/net/conformance/lib.sh
. "$T_ROOT/tests/net/conformance/lib.sh"

PARTS=(module identity joins groups unicast mtu
	children events links input packet counters removal rdmacm rdmanetns connected)

case ${1:-all} in
all) parts=("${PARTS[@]}") ;;
fabric) parts=("${PARTS[@]:0:6}") ;;
host) parts=("${PARTS[@]:6}") ;;
*) parts=("$@") ;;
esac
# the reason of each refusal counts here, also of the eleventh in five seconds
echo 0 >/proc/sys/net/core/message_cost
for part in "${parts[@]}"; do
	if [ ! -e "$here/part-$part.sh" ]; then
		not_ok "there is a part $part"
		continue
	fi
	note "part $part, after $SECONDS s"
	# shellcheck disable=SC1090
	. "$here/part-$part.sh"
done
note "after $SECONDS s"
done_testing
