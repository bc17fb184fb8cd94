// SPDX-License-Identifier: GPL-2.0
/*
 * The performance management agent: traffic and error counters of link ports.
 *
 * Serves GMPs of class PerfMgmt that reach an HCA (through vib_process_mad(), which the counters
 * directory of sysfs uses too) or a switch (in the sender's context). Traffic counters are kept per
 * CPU and only ever grow; a reset notes their present value and later answers are relative to it.
 * PortCounters and PortCountersExtended are reset independently. Error counters are shared atomics.
 */
#include "vib_fabric.h"

#include <linux/minmax.h>
#include <linux/string.h>
#include <rdma/ib_pma.h>

#include "vib.h"

#define PMA_ALL_PORTS		0xff
#define PMA_CAP_ALL_PORTS	0x0100
#define PMA_CAP_EXT_WIDTH	0x0200
#define PMA_RESP_TIME		16

#define PMA_SEL_RCV_RELAY	cpu_to_be16(0x0020)
#define PMA_SEL_XMIT_CONSTRAINT	cpu_to_be16(0x0080)
#define PMA_SEL_RCV_CONSTRAINT	cpu_to_be16(0x0100)

/* Which bit of the select mask resets which error counter */
static const __be16 pma_err_select[VIB_ERR_NR] = {
	[VIB_ERR_SYMBOL] = IB_PMA_SEL_SYMBOL_ERROR,
	[VIB_ERR_LINK_RECOVERY] = IB_PMA_SEL_LINK_ERROR_RECOVERY,
	[VIB_ERR_LINK_DOWNED] = IB_PMA_SEL_LINK_DOWNED,
	[VIB_ERR_RCV] = IB_PMA_SEL_PORT_RCV_ERRORS,
	[VIB_ERR_RCV_REMPHYS] = IB_PMA_SEL_PORT_RCV_REMPHYS_ERRORS,
	[VIB_ERR_RCV_RELAY] = PMA_SEL_RCV_RELAY,
	[VIB_ERR_XMIT_DISCARD] = IB_PMA_SEL_PORT_XMIT_DISCARDS,
	[VIB_ERR_XMIT_CONSTRAINT] = PMA_SEL_XMIT_CONSTRAINT,
	[VIB_ERR_RCV_CONSTRAINT] = PMA_SEL_RCV_CONSTRAINT,
	[VIB_ERR_LOCAL_INTEGRITY] = IB_PMA_SEL_LOCAL_LINK_INTEGRITY_ERRORS,
	[VIB_ERR_OVERRUN] = IB_PMA_SEL_EXCESSIVE_BUFFER_OVERRUNS,
	[VIB_ERR_VL15_DROPPED] = IB_PMA_SEL_PORT_VL15_DROPPED,
};

/* What one request covers: one port of the node, or all of them */
struct pma_range {
	struct vib_node *node;
	unsigned int first;
	unsigned int last;
};

/**
 * vib_lport_traffic - sum up the traffic counters of a port over all CPUs
 * @lp: the link port
 * @sum: where the totals since the port was made go
 *
 * Context: any.
 */
void vib_lport_traffic(const struct vib_lport *lp, struct vib_traffic *sum)
{
	const struct vib_traffic *t;
	int cpu;

	memset(sum, 0, sizeof(*sum));
	for_each_possible_cpu(cpu) {
		t = per_cpu_ptr(lp->traffic, cpu);
		sum->tx_words += READ_ONCE(t->tx_words);
		sum->rx_words += READ_ONCE(t->rx_words);
		sum->tx_pkts[0] += READ_ONCE(t->tx_pkts[0]);
		sum->tx_pkts[1] += READ_ONCE(t->tx_pkts[1]);
		sum->rx_pkts[0] += READ_ONCE(t->rx_pkts[0]);
		sum->rx_pkts[1] += READ_ONCE(t->rx_pkts[1]);
	}
}

/* Adds the traffic of @lp since the given kind of reset */
static void pma_add(struct vib_lport *lp, const struct vib_traffic *base, struct vib_traffic *sum)
{
	struct vib_traffic now;
	unsigned long flags;

	vib_lport_traffic(lp, &now);
	spin_lock_irqsave(&lp->lock, flags);
	sum->tx_words += now.tx_words - base->tx_words;
	sum->rx_words += now.rx_words - base->rx_words;
	sum->tx_pkts[0] += now.tx_pkts[0] - base->tx_pkts[0];
	sum->tx_pkts[1] += now.tx_pkts[1] - base->tx_pkts[1];
	sum->rx_pkts[0] += now.rx_pkts[0] - base->rx_pkts[0];
	sum->rx_pkts[1] += now.rx_pkts[1] - base->rx_pkts[1];
	spin_unlock_irqrestore(&lp->lock, flags);
}

static u64 pma_err(const struct pma_range *range, enum vib_err err)
{
	struct vib_lport *lp;
	unsigned int i;
	u64 sum = 0;

	for (i = range->first; i <= range->last; i++) {
		lp = vib_node_port(range->node, i);
		if (lp)
			sum += atomic64_read(&lp->err[err]);
	}
	return sum;
}

static u8 pma_err8(const struct pma_range *range, enum vib_err err)
{
	return min_t(u64, pma_err(range, err), U8_MAX);
}

static __be16 pma_err16(const struct pma_range *range, enum vib_err err)
{
	return cpu_to_be16(min_t(u64, pma_err(range, err), U16_MAX));
}

static __be32 pma_sat32(u64 val)
{
	return cpu_to_be32(min_t(u64, val, U32_MAX));
}

static void pma_get_errors(const struct pma_range *range, struct ib_pma_portcounters *pc)
{
	pc->symbol_error_counter = pma_err16(range, VIB_ERR_SYMBOL);
	pc->link_error_recovery_counter = pma_err8(range, VIB_ERR_LINK_RECOVERY);
	pc->link_downed_counter = pma_err8(range, VIB_ERR_LINK_DOWNED);
	pc->port_rcv_errors = pma_err16(range, VIB_ERR_RCV);
	pc->port_rcv_remphys_errors = pma_err16(range, VIB_ERR_RCV_REMPHYS);
	pc->port_rcv_switch_relay_errors = pma_err16(range, VIB_ERR_RCV_RELAY);
	pc->port_xmit_discards = pma_err16(range, VIB_ERR_XMIT_DISCARD);
	pc->port_xmit_constraint_errors = pma_err8(range, VIB_ERR_XMIT_CONSTRAINT);
	pc->port_rcv_constraint_errors = pma_err8(range, VIB_ERR_RCV_CONSTRAINT);
	pc->link_overrun_errors = min_t(u64, pma_err(range, VIB_ERR_LOCAL_INTEGRITY), 15) << 4 |
				  min_t(u64, pma_err(range, VIB_ERR_OVERRUN), 15);
	pc->vl15_dropped = pma_err16(range, VIB_ERR_VL15_DROPPED);
}

static void pma_get_counters(const struct pma_range *range, void *data)
{
	struct ib_pma_portcounters *pc = data;
	struct vib_traffic sum = {};
	struct vib_lport *lp;
	unsigned int i;

	for (i = range->first; i <= range->last; i++) {
		lp = vib_node_port(range->node, i);
		if (lp)
			pma_add(lp, &lp->base, &sum);
	}
	pma_get_errors(range, pc);
	pc->port_xmit_data = pma_sat32(sum.tx_words);
	pc->port_rcv_data = pma_sat32(sum.rx_words);
	pc->port_xmit_packets = pma_sat32(sum.tx_pkts[0] + sum.tx_pkts[1]);
	pc->port_rcv_packets = pma_sat32(sum.rx_pkts[0] + sum.rx_pkts[1]);
}

static void pma_get_extended(const struct pma_range *range, void *data)
{
	struct ib_pma_portcounters_ext *pc = data;
	struct vib_traffic sum = {};
	struct vib_lport *lp;
	unsigned int i;

	for (i = range->first; i <= range->last; i++) {
		lp = vib_node_port(range->node, i);
		if (lp)
			pma_add(lp, &lp->base_ext, &sum);
	}
	pc->port_xmit_data = cpu_to_be64(sum.tx_words);
	pc->port_rcv_data = cpu_to_be64(sum.rx_words);
	pc->port_xmit_packets = cpu_to_be64(sum.tx_pkts[0] + sum.tx_pkts[1]);
	pc->port_rcv_packets = cpu_to_be64(sum.rx_pkts[0] + sum.rx_pkts[1]);
	pc->port_unicast_xmit_packets = cpu_to_be64(sum.tx_pkts[0]);
	pc->port_unicast_rcv_packets = cpu_to_be64(sum.rx_pkts[0]);
	pc->port_multicast_xmit_packets = cpu_to_be64(sum.tx_pkts[1]);
	pc->port_multicast_rcv_packets = cpu_to_be64(sum.rx_pkts[1]);
}

/*
 * A Set means reset whatever the value written: that is what every tool uses it for, and starting a
 * counter at some other value has no use on this fabric.
 */
static void pma_reset_counters(struct vib_lport *lp, __be16 select)
{
	struct vib_traffic now;
	unsigned long flags;
	unsigned int i;

	for (i = 0; i < VIB_ERR_NR; i++)
		if (select & pma_err_select[i])
			atomic64_set(&lp->err[i], 0);

	vib_lport_traffic(lp, &now);
	spin_lock_irqsave(&lp->lock, flags);
	if (select & IB_PMA_SEL_PORT_XMIT_DATA)
		lp->base.tx_words = now.tx_words;
	if (select & IB_PMA_SEL_PORT_RCV_DATA)
		lp->base.rx_words = now.rx_words;
	if (select & IB_PMA_SEL_PORT_XMIT_PACKETS)
		memcpy(lp->base.tx_pkts, now.tx_pkts, sizeof(now.tx_pkts));
	if (select & IB_PMA_SEL_PORT_RCV_PACKETS)
		memcpy(lp->base.rx_pkts, now.rx_pkts, sizeof(now.rx_pkts));
	spin_unlock_irqrestore(&lp->lock, flags);
}

/* The sums of packets are made of the two kinds, so selecting either resets what it names */
static void pma_reset_extended(struct vib_lport *lp, __be16 select)
{
	struct vib_traffic now;
	unsigned long flags;

	vib_lport_traffic(lp, &now);
	spin_lock_irqsave(&lp->lock, flags);
	if (select & IB_PMA_SELX_PORT_XMIT_DATA)
		lp->base_ext.tx_words = now.tx_words;
	if (select & IB_PMA_SELX_PORT_RCV_DATA)
		lp->base_ext.rx_words = now.rx_words;
	if (select & (IB_PMA_SELX_PORT_XMIT_PACKETS | IB_PMA_SELX_PORT_UNI_XMIT_PACKETS))
		lp->base_ext.tx_pkts[0] = now.tx_pkts[0];
	if (select & (IB_PMA_SELX_PORT_XMIT_PACKETS | IB_PMA_SELX_PORT_MULTI_XMIT_PACKETS))
		lp->base_ext.tx_pkts[1] = now.tx_pkts[1];
	if (select & (IB_PMA_SELX_PORT_RCV_PACKETS | IB_PMA_SELX_PORT_UNI_RCV_PACKETS))
		lp->base_ext.rx_pkts[0] = now.rx_pkts[0];
	if (select & (IB_PMA_SELX_PORT_RCV_PACKETS | IB_PMA_SELX_PORT_MULTI_RCV_PACKETS))
		lp->base_ext.rx_pkts[1] = now.rx_pkts[1];
	spin_unlock_irqrestore(&lp->lock, flags);
}

/* Which ports of the node does the request select? False if there are none. */
static bool pma_range(struct vib_lport *in, u8 select, struct pma_range *range)
{
	range->node = in->node;
	range->first = select;
	range->last = select;
	if (select == PMA_ALL_PORTS) {
		range->first = 1;
		range->last = in->node->nports;
	}
	return vib_node_port(range->node, range->first);
}

static u16 pma_port_counters(struct vib_lport *in, struct ib_pma_mad *pm)
{
	struct ib_pma_portcounters *pc = (struct ib_pma_portcounters *)pm->data;
	bool ext = pm->mad_hdr.attr_id == IB_PMA_PORT_COUNTERS_EXT;
	__be16 select = pc->counter_select;
	u8 port_select = pc->port_select;
	struct pma_range range;
	struct vib_lport *lp;
	unsigned int i;

	if (!pma_range(in, port_select, &range))
		return IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
	for (i = range.first; i <= range.last && pm->mad_hdr.method == IB_MGMT_METHOD_SET; i++) {
		lp = vib_node_port(range.node, i);
		if (lp && ext)
			pma_reset_extended(lp, select);
		else if (lp)
			pma_reset_counters(lp, select);
	}
	memset(pm->data, 0, sizeof(pm->data));
	pc->port_select = port_select;
	pc->counter_select = select;
	if (ext)
		pma_get_extended(&range, pm->data);
	else
		pma_get_counters(&range, pm->data);
	return IB_MGMT_MAD_STATUS_SUCCESS;
}

static u16 pma_class_port_info(struct ib_pma_mad *pm)
{
	struct ib_class_port_info *cpi = (struct ib_class_port_info *)pm->data;

	if (pm->mad_hdr.method != IB_MGMT_METHOD_GET)
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	memset(pm->data, 0, sizeof(pm->data));
	cpi->base_version = IB_MGMT_BASE_VERSION;
	cpi->class_version = 1;
	cpi->capability_mask = cpu_to_be16(PMA_CAP_ALL_PORTS | PMA_CAP_EXT_WIDTH);
	ib_set_cpi_resp_time(cpi, PMA_RESP_TIME);
	return IB_MGMT_MAD_STATUS_SUCCESS;
}

static u16 pma_run(struct vib_lport *in, struct ib_pma_mad *pm)
{
	if (pm->mad_hdr.class_version != 1)
		return IB_MGMT_MAD_STATUS_BAD_VERSION;
	switch (pm->mad_hdr.attr_id) {
	case IB_PMA_CLASS_PORT_INFO:
		return pma_class_port_info(pm);
	case IB_PMA_PORT_COUNTERS:
	case IB_PMA_PORT_COUNTERS_EXT:
		return pma_port_counters(in, pm);
	default:
		return IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB;
	}
}

/**
 * vib_pma_handle - let the performance management agent of a node look at a GMP
 * @in: port that the GMP came in by
 * @mad: the GMP; becomes the reply if the verdict says so
 *
 * Context: any, no lock of the fabric held.
 * Return: VIB_MAD_REPLY for Get and Set, else VIB_MAD_PASS.
 */
enum vib_mad_verdict vib_pma_handle(struct vib_lport *in, struct ib_mad *mad)
{
	struct ib_pma_mad *pm = (struct ib_pma_mad *)mad;
	u16 status;

	if (mad->mad_hdr.method != IB_MGMT_METHOD_GET && mad->mad_hdr.method != IB_MGMT_METHOD_SET)
		return VIB_MAD_PASS;
	status = pma_run(in, pm);
	mad->mad_hdr.method = IB_MGMT_METHOD_GET_RESP;
	mad->mad_hdr.status = cpu_to_be16(status);
	return VIB_MAD_REPLY;
}
