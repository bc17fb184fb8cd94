#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# Several scripts of this folder, one after another in one guest: where it takes long to boot, as with the
# debug kernel. Each one has to leave what the next one needs: smoke ends with interfaces made anew, while
# others set them down, which costs their IPv6 addresses.
#
#	tests/vm/run --kernel debug tests/net/several.sh smoke events faults

set -u
passed=0 failed=0 skipped=0
for name; do
	echo "# script $name, after $SECONDS s"
	said=$(mktemp)
	"${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/$name.sh" 2>&1 | tee "$said"
	rc=${PIPESTATUS[0]}
	read -r p f s < <(sed -n 's/^# \([0-9]*\) passed, \([0-9]*\) failed, \([0-9]*\) skipped$/\1 \2 \3/p' "$said" | tail -n 1)
	rm -f "$said"
	# one that failed without saying so: it ended early, or is none
	if [ "$rc" != 0 ] && [ "${f:-0}" = 0 ] && [ "$rc" != 4 ]; then
		echo "not ok - $name ended with $rc"
		f=$((${f:-0} + 1))
	fi
	passed=$((passed + ${p:-0})) failed=$((failed + ${f:-0})) skipped=$((skipped + ${s:-0}))
	p='' f='' s=''
done
echo "# $passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ] && [ $passed -gt 0 ]
