#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The kernel's own selftests of a network driver, unmodified, out of Debian's linux-source-6.12.
#
#	tests/net/kselftest.sh [--rounds N] [OPTION of tests/vm/run...]
#
#	A (root namespace), NETIF=ib0		B, the remote: namespace b
#	ib0 --- vib0:1 --- switch --- vib0:2 --- ib1
#
# Started on the machine itself, it unpacks the selftests into $IPOIB_CACHE (default
# ${XDG_CACHE_HOME:-~/.cache}/ipoib), unless they are there, and runs itself in a guest.
#
# ping.py gives the first packet to a new neighbour half a second, so it is run N times (20), each
# after the interfaces were down. With the stock driver what fails is noted and not judged: there the
# first IPv6 packet often takes a second.
#
# The description of rtnetlink that comes with the selftests (rt_link.yaml) does not know links of
# kind ipoib, so their library gives up on any answer about one. Inside the guest that kind is added
# to the description; the tests themselves stay as they are.

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
	rounds=20
	if [ "${1:-}" = --rounds ]; then
		case ${2:-} in ""|*[!0-9]*|0) echo "kselftest: --rounds wants a number" >&2; exit 125 ;; esac
		rounds=$2
		shift 2
	fi
	if ! /usr/bin/python3 -c "import yaml" 2>/dev/null; then
		echo "kselftest: the selftests need the Debian package python3-yaml (make setup)" >&2
		exit 125
	fi
	folder=$(unpack) || exit 125
	exec "$here/../vm/run" --timeout 590 "$@" "$here/kselftest.sh" "$folder" "$rounds"
fi

. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

tests=${1:-}/tools/testing/selftests/drivers/net
if [ ! -e "$tests/ping.py" ]; then
	skip "selftests of the kernel" "start tests/net/kselftest.sh on the machine itself"
	done_testing
fi
rounds=${2:-20}
description=$1/Documentation/netlink/specs/rt_link.yaml
export NETIF=$T_IF_A REMOTE_TYPE=netns REMOTE_ARGS=$T_NS_B
export LOCAL_V4=$T_IP4_A REMOTE_V4=$T_IP4_B LOCAL_V6=$T_IP6_A REMOTE_V6=$T_IP6_B
export PYTHONDONTWRITEBYTECODE=1

# knows_ipoib: the description of rtnetlink does
knows_ipoib()
{
	grep -Eq '^ *value: ipoib$' "$description"
}

# The guest keeps it in its memory
teach_ipoib()
{
	knows_ipoib && return
	sed -i '/name: linkinfo-data-msg/,/formats:/ s/^\( *\)formats:/&\n\1  -\n\1    value: ipoib/' \
		"$description" && knows_ipoib
}

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
	local out line name why

	out=$(cd "$tests" && timeout 120 "./$1" 2>&1)
	note "$out"
	while read -r line; do
		name=${line%% #*}
		name="$1 ${name##*.}" why=${line#*# }
		case $line in
		"not ok "*) verdict "$name" failed ;;
		# XFAIL: as expected, the driver does not have that
		"ok "*" # SKIP "*|"ok "*" # XFAIL "*) skip "$name" "${why#* }" ;;
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

	for round in $(seq "$rounds"); do
		fresh || note "no carrier in round $round"
		if out=$(cd "$tests" && timeout 120 ./ping.py 2>&1); then
			good=$((good + 1))
		else
			note "round $round: $(grep -E '^not ok|Command failed' <<<"$out" | tr '\n' ' ')"
		fi
	done
	echo "$good"
}

check "the selftests understand links of kind ipoib" teach_ipoib
exec {told}>&1
passes=$(note() { printf '# %s\n' "$*" >&"$told"; }; ping_passes)
note "ping.py passed $passes of $rounds times"
[ "$T_DRIVER" = stock ] || is "ping.py, $rounds times from a fresh link" "$passes" "$rounds"
fresh
selftest ping.py
selftest stats.py
selftest queues.py
done_testing
