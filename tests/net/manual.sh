#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# The manual keeps its word: every command in Documentation/ipoib.rst is run here and has to do and
# to print what the manual says, and it leaves nothing out, see tests/net/manual.py.
#
#	tests/vm/run --timeout 600 tests/net/manual.sh
#
#	A (root namespace)			B (namespace b)
#	ib0 10.77.0.1 fd77::1			ib1 10.77.0.2 fd77::2
#	children that the manual makes		ib1.8001 10.81.0.2
#
# The manual talks to A. Configuration files are tried with the programs that read them, as far as
# these are installed.

# shellcheck disable=SC2317 # functions are called by name through check and wait_for
# shellcheck source=tests/net/lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/lib.sh"

doc=$T_ROOT/Documentation/ipoib.rst
reader=$T_ROOT/tests/net/manual.py

if [ "$T_DRIVER" != ours ]; then
	skip "the manual" "it describes our driver"
	done_testing
fi

# examples [NEED]: run those that need NEED, or nothing
examples()
{
	local n=0 verdict name why

	while IFS=$'\t' read -r verdict name why; do
		n=$((n + 1))
		case $verdict in
		ok) ok "$name" ;;
		*) not_ok "$name" "$why" ;;
		esac
	done < <(python3 "$reader" run "$doc" "$@")
	check "there were examples${1:+ for $1}" [ $n -gt 0 ]
}

# A has nothing but a bare interface, as before any configuration
bare_a()
{
	ip addr flush dev "$T_IF_A"
	ip link set "$T_IF_A" down
}

with_ifup()
{
	if ! command -v ifup >/dev/null; then
		skip "ifupdown" "not installed"
		return
	fi
	bare_a
	mkdir -p /run/network
	examples ifup
	check_not "ifdown has removed the child" test -e "/sys/class/net/$T_IF_A.8001"
	ifdown "$T_IF_A" >/dev/null
}

# systemd-networkd wants to know from udev when an interface is ready
with_networkd()
{
	local networkd=/lib/systemd/systemd-networkd

	if [ ! -x $networkd ] || [ ! -x /lib/systemd/systemd-udevd ]; then
		skip "systemd-networkd" "not installed"
		return
	fi
	bare_a
	start /lib/systemd/systemd-udevd
	wait_for 20 test -e /run/udev/control
	udevadm trigger --subsystem-match=net --action=add
	udevadm settle -t 20
	mkdir -p /run/systemd/netif
	chown systemd-network:systemd-network /run/systemd/netif
	start $networkd
	check "networkd makes the child" wait_for 30 test -e "/sys/class/net/$T_IF_A.8001"
	check "it gets a carrier" wait_for 30 carrier_a "$T_IF_A.8001"
	examples networkd
	stop "$STARTED"
	ip link del "$T_IF_A.8001"
}

# Without its daemon nmcli writes the connection that it would hand over
with_nmcli()
{
	if ! command -v nmcli >/dev/null; then
		skip "NetworkManager" "not installed"
		return
	fi
	# shellcheck disable=SC2317
	nmcli()
	{
		command nmcli --offline "$@"
	}
	export -f nmcli
	examples nmcli
}

mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
check "the manual names all that the driver has for its users" \
	python3 "$reader" complete "$doc" "$T_ROOT"
check "the configuration files are there" python3 "$reader" files "$doc" ""
child_netlink b "$T_PKEY" "$T_IF_B.8001"
check "B has a child to talk to" child_addr b "$T_IF_B.8001" 10.81.0.2/24
examples
with_ifup
with_networkd
with_nmcli
done_testing
