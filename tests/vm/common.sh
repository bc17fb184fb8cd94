# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the host-side scripts of the test bed share: where things are, which kernels there are, and
# how to say that something is missing. Sourced; sets $root and $vmdir.

vmdir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034
root=$(cd "$vmdir/../.." && pwd)
me=$(basename "$0")

# Exit codes of tests/vm/run beside those of the script
E_DIED=121	# the guest panicked or went away
E_JUDGED=122	# kernel log, oracle or leak
E_SETUP=123	# the script was never started: boot, fabric, driver or links failed
E_TIMEOUT=124
E_USAGE=125	# bad option, missing file or package, module does not build
export E_DIED E_JUDGED E_SETUP E_TIMEOUT E_USAGE

die()
{
	echo "$me: $*" >&2
	exit $E_USAGE
}

# need COMMAND...: all of them are installed, or one line that names the others
need()
{
	local c missing=""

	for c in "$@"; do
		PATH=$PATH:/usr/sbin:/sbin command -v "$c" >/dev/null || missing="$missing $c"
	done
	[ -z "$missing" ] || die "not installed:$missing (make setup installs what is missing)"
}

# The newest Debian 6.12 kernel that modules can be built for, or what KVER says
debian_release()
{
	local r

	if [ -n "${KVER:-}" ]; then
		echo "$KVER"
		return
	fi
	r=$(for d in /lib/modules/6.12.*-amd64/build; do
		[ -e "$d/Makefile" ] || continue
		r=${d#/lib/modules/}
		case $r in *-cloud-*|*-rt-*) continue ;; esac
		echo "${r%/build}"
	done | sort -V | tail -n 1)
	[ -n "$r" ] || die "no headers of a Debian 6.12 kernel (make setup installs them)"
	echo "$r"
}
