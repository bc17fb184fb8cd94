# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# What an interface says of itself: addresses, numbers, ethtool, speed, files that follow its name.

# qpn_in ADDRESS: the number in octets 1 to 3
qpn_in()
{
	echo $((16#$(cut -d : -f 2-4 <<<"$1" | tr -d :)))
}

# state_in FILE KEY: value of a line of the driver's own state file
part_identity_address()
{
	local addr

	addr=$(cat "$ib_a/address")
	is "A2 type of the hardware address" "$(cat "$ib_a/type")" 32
	is "A2 its length" "$(cat "$ib_a/addr_len")" 20
	check "A2 ip says link/infiniband" grep -q link/infiniband <(ip link show "$T_IF_A")
	is "A3 flags in the first octet: connections are accepted" "${addr:0:2}" 80
	check "A3 octets 1 to 3 are the number of a UD queue pair of the driver" \
		grep -q ib_ipoib <(rdma res show qp link vib0/1 lqpn "$(qpn_in "$addr")" type UD)
	is "A3 octets 4 to 19 are GID 0" "${addr:12}" \
		"$(gid_of 1 | tr -d : | sed 's/../&:/g; s/:$//')"
	is "A4 broadcast address" "$(cat "$ib_a/broadcast")" \
		00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff
	is "A5 dev_port of port 1" "$(cat "$ib_a/dev_port")" 0
	is "A5 dev_port of port 2" "$(in_b cat "/sys/class/net/$T_IF_B/dev_port")" 1
	is "A5 dev_id of port 1" "$(cat "$ib_a/dev_id")" 0x0
	is "A5 dev_id of port 2" "$(in_b cat "/sys/class/net/$T_IF_B/dev_id")" 0x1
	is "A5 device is that of the HCA" "$(realpath "$ib_a/device")" \
		"$(realpath /sys/class/infiniband/vib0/device)"
	is "A6 transmit queue length is twice the send ring" \
		"$(cat "$ib_a/tx_queue_len")" $((2 * $(cat "$params/send_queue_size")))
	is "permanent address is that of the first moment" \
		"$(ethtool -P "$T_IF_A" | sed 's/.*: //')" "$addr"
	is "address is a permanent one" "$(cat "$ib_a/addr_assign_type")" 0
	is "P_Key" "$(cat "$ib_a/pkey")" 0xffff
	is "mode" "$(cat "$ib_a/mode")" datagram
	is "umcast" "$(cat "$ib_a/umcast")" 0
	ip link set "$T_IF_A" down
	restart_a
	is "address stays over down and up" "$(cat "$ib_a/address")" "$addr"
}

part_identity_ip()
{
	local json

	json=$(ip -d -j link show "$T_IF_A")
	is "A42 kind and values of a parent" "$(python3 -c '
import json, sys
info = json.load(sys.stdin)[0]["linkinfo"]
print(info["info_kind"], sorted(info["info_data"].items()))' <<<"$json")" \
		"ipoib [('key', '0xffff'), ('mode', 'datagram'), ('umcast', '0000')]"
	differs "limits of the MTU in ip -d" "$(python3 -c '
import json, sys
link = json.load(sys.stdin)[0]
print(link["min_mtu"], link["max_mtu"])' <<<"$json")" "0 65520" "72 4092" \
		"the limits that hold, instead of some that are refused"
	is "one queue each way" "$(grep -o 'numtxqueues 1 numrxqueues 1 ' \
		<(ip -d link show "$T_IF_A"))" "numtxqueues 1 numrxqueues 1 "
}

part_identity_ethtool()
{
	local names

	is "A57 ethtool -i: driver" "$(ethtool -i "$T_IF_A" | sed -n 's/^driver: //p')" ib_ipoib
	is "ethtool -i: bus-info" "$(ethtool -i "$T_IF_A" | sed -n 's/^bus-info: //p')" vib.0
	is "ethtool -i: firmware of the HCA" \
		"$(ethtool -i "$T_IF_A" | sed -n 's/^firmware-version: //p')" \
		"$(cat /sys/class/infiniband/vib0/fw_ver)"
	names=$(ethtool -S "$T_IF_A" | sed -n 's/^ *\([a-z_0-9]*\): .*/\1/p' | tr '\n' ' ')
	is "A57 ethtool -S: the eight counters, in this order, and no others" "$names" \
		"rx_packets tx_packets rx_bytes tx_bytes tx_errors rx_dropped tx_dropped multicast "
	differs "ethtool -T: stamps of sends, made in software" \
		"$(ethtool -T "$T_IF_A" | sed -n 's/^.*\(software-transmit\).*/\1/p')" "" software-transmit \
		"latency tools need them"
	check "ethtool -k: VLANs are refused" grep -q 'vlan-challenged: on \[fixed\]' \
		<(ethtool -k "$T_IF_A")
	check "ethtool -k: scatter-gather" grep -q '^scatter-gather: on' <(ethtool -k "$T_IF_A")
	check "ethtool -k: checksums of IPv4" grep -q 'tx-checksum-ipv4: on' <(ethtool -k "$T_IF_A")
	check "ethtool -k: TSO" grep -q 'tx-tcp-segmentation: on' <(ethtool -k "$T_IF_A")
	check "ethtool -k: no LRO" grep -q 'large-receive-offload: off \[fixed\]' \
		<(ethtool -k "$T_IF_A")
	check "checksums off" ethtool -K "$T_IF_A" tx off rx off tso off
	check "B answers without them" ping_b
	check "checksums on" ethtool -K "$T_IF_A" tx on rx on tso on
}

# speed_of IF: as ethtool prints it
speed_of()
{
	ethtool "$1" 2>/dev/null | sed -n 's/.*Speed: //p'
}

part_identity_speed()
{
	is "A58 speed is that of a lane times the lanes" "$(speed_of "$T_IF_A")" 40000Mb/s
	is "A58 the file speed agrees" "$(cat "$ib_a/speed")" 40000
	check "duplex, port, link" sh -c "ethtool $T_IF_A | grep -q 'Duplex: Full' &&
		ethtool $T_IF_A | grep -q 'Port: Other' && ethtool $T_IF_A | grep -q 'Link detected: yes'"
	ctl link vib0:1 down
	wait_for 10 no_carrier_a
	is "A58 unknown without carrier" "$(speed_of "$T_IF_A")" "Unknown!"
	check "link not detected" sh -c "ethtool $T_IF_A | grep -q 'Link detected: no'"
	ctl link vib0:1 up
	wait_carrier 30
}

part_identity_rename()
{
	ip link set "$T_IF_A" down
	ip link set "$T_IF_A" name other0
	check "A59 debugfs files are renamed with the interface" \
		[ -e "$ipoib_dbg/other0_mcg" -a -e "$ipoib_dbg/other0_path" ]
	check_not "A59 and not there under the old name" [ -e "$ipoib_dbg/${T_IF_A}_mcg" ]
	ip link set other0 name "$T_IF_A"
	restart_a
	nl new link="$T_IF_A" name=c0 pkey="$T_PKEY" >/dev/null
	check "A59 a child has its files" [ -e "$ipoib_dbg/c0_mcg" -a -e "$ipoib_dbg/c0_path" ]
	ip link del c0
	check_not "A59 which go with it" [ -e "$ipoib_dbg/c0_mcg" -o -e "$ipoib_dbg/c0_path" ]
}

part_identity_address
part_identity_ip
part_identity_ethtool
part_identity_speed
part_identity_rename
check "B answers" wait_for 20 ping_b
