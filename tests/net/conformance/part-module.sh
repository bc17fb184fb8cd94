# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154,SC2016,SC2317
#
# The module: one interface a port, its parameters, loading by alias.

# ib_netdevs: how many interfaces there are in both namespaces
ib_netdevs()
{
	{ ip -o link; ip -n "$T_NS_B" -o link; } | grep -c link/infiniband
}

part_module_ports()
{
	local ports

	ports=$(find /sys/class/infiniband/*/ports/ -mindepth 1 -maxdepth 1 | wc -l)
	check "module loads" load
	is "A1 one interface for each InfiniBand port" "$(ib_netdevs)" "$ports"
	is "A8 MTU before the interface was ever up: that of the port, less 4" "$(cat "$ib_a/mtu")" 4092
	check_not "no carrier before it is up" carrier_a
	if ip link add dummy0 type dummy && modprobe rdma_rxe 2>/dev/null &&
	   rdma link add rxe0 type rxe netdev dummy0 2>/dev/null; then
		load
		is "A1 none for a RoCE port" "$(ib_netdevs)" "$ports"
		rdma link delete rxe0
		modprobe -r rdma_rxe
	else
		skip "A1 none for a RoCE port" "no rdma_rxe in this kernel"
	fi
	ip link del dummy0
}

# param NAME VALUE: what the module makes of a parameter
param()
{
	load "$1=$2" && cat "$params/$1"
}

part_module_parameters()
{
	is "A7 send_queue_size=100" "$(param send_queue_size 100)" 128
	is "A7 send_queue_size=300" "$(param send_queue_size 300)" 512
	is "A6 transmit queue length is twice the send ring" \
		"$(cat "$ib_a/tx_queue_len")" $((2 * $(cat "$params/send_queue_size")))
	is "A7 send_queue_size=100000" "$(param send_queue_size 100000)" 8192
	is "A7 recv_queue_size=1" "$(param recv_queue_size 1)" 2
	is "recv_queue_size=8193" "$(param recv_queue_size 8193)" 8192
	is "A7 max_nonsrq_conn_qp=9999" "$(param max_nonsrq_conn_qp 9999 2>/dev/null)" 4096
	if [ "$T_DRIVER" = ours ]; then
		# the stock driver shifts by a negative number here
		is "send_queue_size=0 is the least" "$(param send_queue_size 0)" 128
		is "send_queue_size=-5 is the least" "$(param send_queue_size -5)" 128
		is "recv_queue_size=-1 is the least" "$(param recv_queue_size -1)" 2
	fi
	check_not "send_queue_size=many is refused" load send_queue_size=many
	check "and leaves no interface" [ "$(ib_netdevs)" = 0 ]
	load
	is "send ring by default" "$(cat "$params/send_queue_size")" 128
	is "receive ring by default" "$(cat "$params/recv_queue_size")" 256
	is "parameters cannot be written" "$(poke write "$params/send_queue_size" 256)" EACCES
}

part_module_alias()
{
	modprobe -r ib_ipoib
	refused_add=$(nl new name=x)
	is "A64 a link of kind ipoib without parent is refused" "${refused_add%% *}" EINVAL
	check "A64 but has loaded the module" test -d /sys/module/ib_ipoib
	check "A64 and its interfaces are there" wait_for 20 exists "$T_IF_B"
	if [ "$T_DRIVER" = ours ]; then
		check "A64 and was told why" [ "$refused_add" != EINVAL ]
	fi
}

part_module_ports
part_module_parameters
part_module_alias
check "interfaces up again" bring_up
check "B answers" wait_for 20 ping_b
