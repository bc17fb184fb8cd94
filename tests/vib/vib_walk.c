// SPDX-License-Identifier: GPL-2.0
/*
 * The way of a packet: out of an HCA, over cables, and what it leaves in the counters of the ports.
 *
 * All of it runs in the context of the packet's sender, usually under the lock of its send queue
 * and with interrupts off, under RCU and without a lock. Single words of link ports are read here
 * that management writes elsewhere under the port's lock; a packet that overlaps with such a change
 * meets either value.
 */
#include "vib_fabric.h"

#include <linux/rcupdate.h>

#include "vib.h"

/**
 * vib_lport_err - count an error of a port
 * @lp: the port
 * @err: which
 *
 * Context: any.
 */
void vib_lport_err(struct vib_lport *lp, enum vib_err err)
{
	atomic64_inc(&lp->err[err]);
}

/**
 * vib_lport_count_tx - a packet leaves a port
 * @lp: the port
 * @walk: its size and kind
 *
 * Context: any in which the CPU cannot change.
 */
void vib_lport_count_tx(struct vib_lport *lp, const struct vib_walk *walk)
{
	this_cpu_add(lp->traffic->tx_words, walk->words);
	this_cpu_inc(lp->traffic->tx_pkts[walk->mcast]);
}

/**
 * vib_lport_count_rx - a packet enters a port
 * @lp: the port
 * @walk: its size and kind
 *
 * Context: any in which the CPU cannot change.
 */
void vib_lport_count_rx(struct vib_lport *lp, const struct vib_walk *walk)
{
	this_cpu_add(lp->traffic->rx_words, walk->words);
	this_cpu_inc(lp->traffic->rx_pkts[walk->mcast]);
}

/**
 * vib_walk_init - begin the walk of a data packet
 * @walk: the walk
 * @pkt: the packet
 *
 * Context: any.
 */
void vib_walk_init(struct vib_walk *walk, struct vib_pkt *pkt)
{
	u32 len = IB_LRH_BYTES + IB_BTH_BYTES + IB_DETH_BYTES + IB_ICRC_BYTES + ALIGN(pkt->len, 4);

	if (pkt->rc)
		len += vib_rc_ext_len(pkt) - IB_DETH_BYTES;
	if (pkt->has_grh)
		len += IB_GRH_BYTES;
	if (pkt->has_imm)
		len += sizeof(pkt->imm);
	walk->pkt = pkt;
	walk->words = len / 4;
	walk->copies = VIB_COPIES_MAX;
	walk->mcast = pkt->dlid >= VIB_LID_MCAST;
}

/* The packet has come in by @in */
static void walk_in(struct vib_walk *walk, struct vib_lport *in, int ttl)
{
	if (in->wire) {
		vib_wire_xmit(in, walk->pkt, ttl);
		return;
	}
	vib_lport_count_rx(in, walk);
	if (in->port)
		vib_ud_deliver(in->port, walk->pkt);
	else
		vib_switch_rx(walk, in, ttl);
}

/**
 * vib_walk_out - a data packet leaves by a port and goes on from the far end of its cable
 * @walk: the packet's walk
 * @out: the port
 * @ttl: switches that it may still meet
 *
 * Context: the sender's, under RCU.
 */
void vib_walk_out(struct vib_walk *walk, struct vib_lport *out, int ttl)
{
	struct vib_lport *in = rcu_dereference(out->peer);
	struct vib_ghosts *ghosts;

	ghosts = in ? NULL : rcu_dereference(out->ghosts);
	if (ghosts) {
		vib_lport_count_tx(out, walk);
		vib_ghosts_rx(ghosts, walk->pkt);
		return;
	}
	if (!in || READ_ONCE(out->state) != IB_PORT_ACTIVE ||
	    READ_ONCE(in->state) != IB_PORT_ACTIVE) {
		vib_lport_err(out, VIB_ERR_XMIT_DISCARD);
		vib_lport_drop(out, VIB_DROP_LINK);
		return;
	}
	if (!walk->copies || walk->pkt->len > ib_mtu_enum_to_int(READ_ONCE(out->mtu))) {
		vib_lport_err(out, VIB_ERR_XMIT_DISCARD);
		vib_lport_drop(out, walk->copies ? VIB_DROP_MTU : VIB_DROP_HOPS);
		return;
	}
	walk->copies--;
	vib_lport_count_tx(out, walk);
	vib_capture(out, in, walk->pkt);
	if (!vib_fault_cross(out, in, walk->pkt, ttl))
		walk_in(walk, in, ttl);
}

/**
 * vib_walk_arrive - a data packet that was stored comes in by a port
 * @in: the port
 * @pkt: the packet
 * @ttl: switches that it may still meet
 *
 * Context: softirq, under RCU.
 */
void vib_walk_arrive(struct vib_lport *in, struct vib_pkt *pkt, int ttl)
{
	struct vib_walk walk;

	vib_walk_init(&walk, pkt);
	walk_in(&walk, in, ttl);
}

/* Is @dlid one of the LIDs of this port? */
static bool port_owns_lid(const struct vib_lport *lp, u16 dlid)
{
	u16 lid = READ_ONCE(lp->lid);

	return lid && (dlid & ~((1 << READ_ONCE(lp->lmc)) - 1)) == lid;
}

static void port_xmit_data(struct vib_port *port, struct vib_pkt *pkt)
{
	struct vib_lport *lp = &port->lport;
	struct vib_walk walk;

	if (READ_ONCE(lp->state) != IB_PORT_ACTIVE) {
		vib_lport_err(lp, VIB_ERR_XMIT_DISCARD);
		vib_lport_drop(lp, VIB_DROP_LINK);
		return;
	}
	if (!pkt->dlid || pkt->dlid == VIB_LID_PERMISSIVE) {
		vib_lport_drop(lp, VIB_DROP_LID);
		return;
	}
	if (port_owns_lid(lp, pkt->dlid)) {
		vib_ud_deliver(port, pkt);
		return;
	}
	if (pkt->dlid >= VIB_LID_MCAST)
		vib_ud_deliver(port, pkt);
	vib_walk_init(&walk, pkt);
	vib_walk_out(&walk, lp, VIB_TTL);
}

/**
 * vib_port_xmit - a packet leaves a queue pair of an HCA port
 * @port: the port
 * @pkt: the packet
 *
 * What is addressed to the port's own LID turns round inside it, a multicast packet is delivered
 * inside and sent out, everything else goes out by the cable. Management packets of QP0 with the
 * permissive LID always go out.
 *
 * Context: IRQs off or in softirq, usually under the sender's queue lock. Never sleeps.
 */
void vib_port_xmit(struct vib_port *port, struct vib_pkt *pkt)
{
	rcu_read_lock();
	if (!pkt->smp)
		port_xmit_data(port, pkt);
	else if (port_owns_lid(&port->lport, pkt->dlid))
		vib_ud_deliver(port, pkt);
	else
		vib_smi_xmit(&port->lport, pkt);
	rcu_read_unlock();
}
