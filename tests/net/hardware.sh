#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# IP over adapters of all kinds: the fabric is built anew, each time with other abilities, and has to
# carry the same traffic. With either driver:
#
#	tests/vm/run [--driver stock] --no-sm --vib autosa=1 --timeout 900 tests/net/hardware.sh [KIND...]
#
# Without a KIND, all of those in the table below.

# Functions are called by way of check and wait_for, which shellcheck cannot see.
# shellcheck disable=SC2317

# shellcheck source=tests/net/cm-lib.sh
. "${T_ROOT:?this script wants to run in a guest, see tests/vm/run}/tests/net/cm-lib.sh"
# shellcheck source=tests/vib/lib.sh
. "$T_ROOT/tests/vib/lib.sh"

# name and parameters of the fabric; ib_mad itself wants two scatter elements
kinds()
{
	cat <<-'END'
	mtu2048		mtu=2048 tso=0 comp=spread
	mtu1024		mtu=1024 pkeys=32
	mtu256		mtu=256
	two_sges	max_sge=2 comp=hardirq
	no_checksums	csum=off
	bare		max_sge=2 csum=off tso=0 srq=0 gids=1 dma=phys comp=hardirq
	END
}

# param NAME DEFAULT: of the parameters at hand
param()
{
	local word

	for word in $params; do
		[ "${word%%=*}" != "$1" ] || { echo "${word#*=}"; return; }
	done
	echo "$2"
}

on_if()
{
	if "$@"; then echo on; else echo off; fi
}

settle_in()
{
	modes "$1" && wait_carrier 20
}

reached()
{
	ping -q -c 1 -W 1 "$@"
}

try_features()
{
	is "$kind: MTU" "$(cat "/sys/class/net/$T_IF_A/mtu")" $((mtu - 4))
	is "$kind: checksums" "$(feature tx-checksumming)" "$(on_if [ "$(param csum full)" != off ])"
	# there is none without checksums
	is "$kind: segmentation" "$(feature tcp-segmentation-offload)" \
		"$(on_if [ "$(param tso 1) $(param csum full)" = "1 full" ])"
	# one element is for the header
	is "$kind: scattered packets" "$(feature scatter-gather)" "$(on_if [ "$(param max_sge 32)" -gt 1 ])"
}

# What fits, just fits, just does not fit, and comes in many pieces
try_sizes()
{
	local size

	check "$kind: B answers" wait_for 20 reached "$T_IP4_B"
	for size in 0 1 $((mtu - 32)) $((mtu - 31)) 8000 30000 60000; do
		check "$kind: ping with $size octets" ping -q -c 2 -i 0.2 -W 5 -s "$size" "$T_IP4_B"
	done
	check "$kind: a whole frame" reached -M "do" -s $((mtu - 32)) "$T_IP4_B"
	check_not "$kind: one octet more" reached -M "do" -s $((mtu - 31)) "$T_IP4_B"
	check "$kind: datagrams of all sizes from A" every_size a "$T_IP4_B" 9000 311
	check "$kind: from B" every_size b "$T_IP4_A" 9000 311
	# below 1280 there is no IPv6
	[ "$mtu" -ge 1284 ] || return 0
	check "$kind: IPv6" wait_for 20 reached "$T_IP6_B"
	check "$kind: IPv6 in pieces" ping -q -c 2 -i 0.2 -W 5 -s 20000 "$T_IP6_B"
}

try_streams()
{
	check "$kind, $1: TCP from A" transfer a 4
	check "$kind, $1: TCP from B" transfer b 4
	check "$kind, $1: multicast" cast_from a 239.1.2.3
}

try_connected()
{
	check "$kind: connected mode" settle_in connected
	check "$kind, connected: large packets pass" wait_for 20 reached -s 30000 "$T_IP4_B"
	for size in 0 $((mtu - 32)) $((mtu - 31)) 60000; do
		check "$kind, connected: ping with $size octets" ping -q -c 2 -i 0.2 -W 5 -s "$size" "$T_IP4_B"
	done
	try_streams connected
	check "$kind: and back" settle_in datagram
	check "$kind, datagram again: large packets pass" wait_for 20 reached -s 30000 "$T_IP4_B"
}

try_kind()
{
	local kind=$1 params=$2 mtu

	mtu=$(param mtu 4096)
	# shellcheck disable=SC2086
	check "$kind: the fabric comes up ($params)" rebuild $params || return
	try_features
	try_sizes
	try_streams datagram
	try_connected
	is "$kind: no oracle" "$(grep -v -e '=0$' -e ^rx_no_buffer= "$DBG/oracles" | xargs)" ""
}

if [ $# = 0 ]; then
	mapfile -t names < <(kinds | cut -f 1)
	set -- "${names[@]}"
fi
for kind; do
	note "$kind, after $SECONDS s"
	params=$(kinds | sed -n "s/^$kind	*//p")
	check "there is a kind $kind" [ -n "$params" ] || continue
	try_kind "$kind" "$params"
done
check "and back" rebuild
done_testing
