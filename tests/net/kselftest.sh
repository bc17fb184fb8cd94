#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's own selftests of a network driver, unmodified, out of Debian's linux-source-6.12.
#
#	tests/net/kselftest.sh [OPTION of tests/vm/run...]
#
#	A (root namespace), NETIF=ib0		B, the remote: namespace b
#	ib0 --- vib0:1 --- switch --- vib0:2 --- ib1
#
# Started on the machine itself, it unpacks the selftests into $IPOIB_CACHE (default
# ${XDG_CACHE_HOME:-~/.cache}/ipoib), unless they are there, and runs itself in a guest.
#
# ping.py gives the first packet to a new neighbour half a second, so it is run twenty times, each
# after the interfaces were down. With the stock driver the results are noted and not judged: there
# the first IPv6 packet often takes a second.

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317

package=linux-source-6.12
archive=/usr/src/$package.tar.xz

# unpack: prints the folder
unpack()
{
	local version dir tools=$package/tools

	version=$(dpkg-query -W -f '${Version}' "$package" 2>/dev/null) ||
		version=$(stat -c %s "$archive") || return
	dir=${IPOIB_CACHE:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/ipoib}/kselftest-$version
	if [ ! -d "$dir" ]; then
		echo "kselftest: unpacking $archive" >&2
		mkdir -p "$dir.$$" || return
		tar -xf "$archive" -C "$dir.$$" --strip-components=1 --wildcards \
			"$tools/testing/selftests/drivers/net/*.py" \
			"$tools/testing/selftests/net/lib/py" "$tools/net/ynl" \
			"$package/Documentation/netlink/specs" || return
		# another one may have been faster
		mv -T "$dir.$$" "$dir" 2>/dev/null || rm -rf "${dir:?}.$$"
	fi
	echo "$dir"
}

if [ -z "${T_ROOT:-}" ]; then
	here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
	folder=$(unpack) || exit 125
	exec "$here/../vm/run" --timeout 590 "$@" "$here/kselftest.sh" "$folder"
fi

. "$T_ROOT/tests/net/lib.sh"

tests=${1:-}/tools/testing/selftests/drivers/net
if [ ! -e "$tests/ping.py" ]; then
	skip "selftests of the kernel" "start tests/net/kselftest.sh on the machine itself"
	done_testing
fi
export NETIF=$T_IF_A REMOTE_TYPE=netns REMOTE_ARGS=$T_NS_B
export LOCAL_V4=$T_IP4_A REMOTE_V4=$T_IP4_B LOCAL_V6=$T_IP6_A REMOTE_V6=$T_IP6_B
export PYTHONDONTWRITEBYTECODE=1

# fresh: both interfaces have just come up and know no neighbours
fresh()
{
	ip link set "$T_IF_A" down
	in_b ip link set "$T_IF_B" down
	ip link set "$T_IF_A" up
	in_b ip link set "$T_IF_B" up
	ip -6 addr replace "$T_IP6_A/$T_PREFIX6" dev "$T_IF_A" nodad
	in_b ip -6 addr replace "$T_IP6_B/$T_PREFIX6" dev "$T_IF_B" nodad
	wait_carrier 40
}

# selftest NAME: run it, show what it says, pass on its verdicts
selftest()
{
	local out line name

	out=$(cd "$tests" && timeout 120 "./$1" 2>&1)
	note "$out"
	while read -r line; do
		name=${line%% #*}
		name="$1 ${name##*.}"
		case $line in
		"not ok "*) verdict "$name" failed ;;
		"ok "*" # SKIP "*) skip "$name" "${line##*# SKIP }" ;;
		"ok "*) verdict "$name" passed ;;
		esac
	done <<<"$out"
	grep -q '^# Totals' <<<"$out" || not_ok "$1 came to its end"
}

verdict()
{
	if [ "$T_DRIVER" = stock ] && [ "$2" = failed ]; then
		skip "$1" "fails with the stock driver"
	else
		is "$1" "$2" passed
	fi
}

ping_passes()
{
	local round out good=0

	for round in $(seq 20); do
		fresh || note "no carrier in round $round"
		if out=$(cd "$tests" && timeout 120 ./ping.py 2>&1); then
			good=$((good + 1))
		else
			note "round $round: $(grep -E '^not ok|Command failed' <<<"$out" | tr '\n' ' ')"
		fi
	done
	echo "$good"
}

exec {told}>&1
passes=$(note() { printf '# %s\n' "$*" >&"$told"; }; ping_passes)
note "ping.py passed $passes of 20 times"
[ "$T_DRIVER" = stock ] || is "ping.py, twenty times from a fresh link" "$passes" 20
fresh
selftest ping.py
selftest stats.py
selftest queues.py
done_testing
