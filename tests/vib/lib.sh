# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the tests of the fabric share; sourced after tests/net/lib.sh.
#
#	refused TEXT COMMAND...	the control file must refuse it, with an error that has TEXT in it
#	topo NODE PORT KEY	a value of a port's line in the topology
#	run_parts NAME...	call the functions part_NAME
#	if_of HCA		its interface, if the driver has made one
#	has_if HCA		true if it has
#	plug HCA ADDR		a further HCA of one port; true once its interface, ibx, has that address and works

DBG=/sys/kernel/debug/vib

refused()
{
	local want=$1 out
	shift

	out=$( (echo "$*" >"$T_CTL") 2>&1)
	case $out in
	*"$want"*) ok "refused: $*" ;;
	*) not_ok "refused: $*" "${out:-it was accepted}" ;;
	esac
}

topo()
{
	sed -n "s/^port node=$1 num=$2 .*\\b$3=\\([^ ]*\\).*/\\1/p" $DBG/topo
}

run_parts()
{
	local part

	for part; do
		note "part $part, after $SECONDS s"
		if declare -F "part_$part" >/dev/null; then
			"part_$part"
		else
			not_ok "there is a part $part"
		fi
	done
}

rebuild()
{
	local module

	for module in ib_ipoib ib_umad vib; do
		grep -q "^$module " /proc/modules || continue
		rmmod "$module" || return
	done
	insmod /run/vm/modules/vib.ko autosa=1 "$@" || return
	modprobe ib_umad && modprobe ib_ipoib
	bring_up
}

if_of()
{
	local dev

	for dev in /sys/class/infiniband/"$1"/device/net/*; do
		[ ! -e "$dev" ] || echo "${dev##*/}"
		return
	done
}

has_if()
{
	[ -n "$(if_of "$1")" ]
}

plug()
{
	local dev

	ctl hca add "$1" ports=1 sw=sw0 || return
	wait_for 20 has_if "$1" || return
	dev=$(if_of "$1")
	ip link set "$dev" name ibx || return
	ip addr add "$2" dev ibx && ip link set ibx up && wait_for 30 carrier_a ibx
}
