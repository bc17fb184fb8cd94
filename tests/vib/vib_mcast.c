// SPDX-License-Identifier: GPL-2.0
/*
 * Which QPs of a port take part in which multicast group.
 *
 * A small hash table per port, keyed by MGID: the receiver goes by the GID in the global route
 * header, never by the LID alone. Several QPs may attach to one group, each gets a copy. Packets
 * walk the table under RCU; attach and detach are serialised by port->mcast_lock. An entry holds a
 * reference to its QP context.
 */
#include "vib.h"

#include <linux/jhash.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

static struct hlist_head *mcast_bucket(struct vib_port *port, const union ib_gid *mgid)
{
	return &port->mcast[jhash(mgid, sizeof(*mgid), 0) & ((1 << VIB_MCAST_BITS) - 1)];
}

static bool gid_equal(const union ib_gid *a, const union ib_gid *b)
{
	return a->global.subnet_prefix == b->global.subnet_prefix &&
	       a->global.interface_id == b->global.interface_id;
}

static struct vib_mcm *__mcast_find(struct vib_port *port, const struct vib_qpc *qpc,
				    const union ib_gid *mgid)
{
	struct vib_mcm *mcm;

	lockdep_assert_held(&port->mcast_lock);
	hlist_for_each_entry(mcm, mcast_bucket(port, mgid), node)
		if (mcm->qpc == qpc && gid_equal(&mcm->mgid, mgid))
			return mcm;
	return NULL;
}

static void __mcast_remove(struct vib_mcm *mcm)
{
	hlist_del_rcu(&mcm->node);
	atomic_dec(&mcm->qpc->attached);
	vib_obj_del(VIB_OBJ_ATTACH);
	vib_qpc_put(mcm->qpc);
	kfree_rcu(mcm, rcu);
}

static struct vib_port *mcast_port(const struct vib_qpc *qpc)
{
	return qpc->type == IB_QPT_UD ? READ_ONCE(qpc->port) : NULL;
}

/**
 * vib_attach_mcast - ib_device op attach_mcast
 * @ibqp: UD queue pair that has a port, that is, INIT or later
 * @gid: group
 * @lid: multicast LID that the group travels to
 *
 * Context: process.
 * Return: 0 or an errno; attaching twice is an error.
 */
int vib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct vib_qpc *qpc = to_vqpc(ibqp);
	struct vib_port *port = mcast_port(qpc);
	struct vib_mcm *mcm;
	int ret;

	ret = vib_fail(VIB_FAIL_ATTACH_MCAST);
	if (ret)
		return ret;
	if (!port || gid->raw[0] != 0xff || lid < VIB_LID_MCAST || lid == VIB_LID_PERMISSIVE)
		return -EINVAL;
	mcm = kzalloc(sizeof(*mcm), GFP_KERNEL);
	if (!mcm)
		return -ENOMEM;
	mcm->qpc = qpc;
	mcm->mgid = *gid;
	mcm->mlid = lid;

	spin_lock_irq(&port->mcast_lock);
	if (__mcast_find(port, qpc, gid)) {
		spin_unlock_irq(&port->mcast_lock);
		vib_oracle(VIB_OR_ATTACH_TWICE);
		kfree(mcm);
		return -EINVAL;
	}
	refcount_inc(&qpc->ref);
	atomic_inc(&qpc->attached);
	vib_obj_add(VIB_OBJ_ATTACH);
	hlist_add_head_rcu(&mcm->node, mcast_bucket(port, gid));
	spin_unlock_irq(&port->mcast_lock);
	return 0;
}

/**
 * vib_detach_mcast - ib_device op detach_mcast
 * @ibqp: UD queue pair
 * @gid: group
 * @lid: multicast LID
 *
 * Context: process.
 * Return: 0, or -EINVAL if it was not attached.
 */
int vib_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid)
{
	struct vib_qpc *qpc = to_vqpc(ibqp);
	struct vib_port *port = mcast_port(qpc);
	struct vib_mcm *mcm = NULL;

	if (port) {
		spin_lock_irq(&port->mcast_lock);
		mcm = __mcast_find(port, qpc, gid);
		if (mcm)
			__mcast_remove(mcm);
		spin_unlock_irq(&port->mcast_lock);
	}
	if (!mcm) {
		vib_oracle(VIB_OR_DETACH_NOT_ATTACHED);
		return -EINVAL;
	}
	return 0;
}

/**
 * vib_mcast_detach_all - take a QP out of all groups
 * @qpc: queue pair that is being destroyed
 *
 * Context: process.
 */
void vib_mcast_detach_all(struct vib_qpc *qpc)
{
	struct vib_port *port = mcast_port(qpc);
	struct hlist_node *next;
	struct vib_mcm *mcm;
	int i;

	if (!port)
		return;
	spin_lock_irq(&port->mcast_lock);
	for (i = 0; i < ARRAY_SIZE(port->mcast); i++)
		hlist_for_each_entry_safe(mcm, next, &port->mcast[i], node)
			if (mcm->qpc == qpc)
				__mcast_remove(mcm);
	spin_unlock_irq(&port->mcast_lock);
}

/**
 * vib_mcast_deliver - hand a packet to each QP of a port that is attached to its group
 * @port: where it arrived, which may be the port that sent it
 * @pkt: packet with a GRH
 *
 * The sending QP is left out if it was created so.
 *
 * Context: RCU read section.
 */
void vib_mcast_deliver(struct vib_port *port, struct vib_pkt *pkt)
{
	struct vib_mcm *mcm;
	bool any = false;

	hlist_for_each_entry_rcu(mcm, mcast_bucket(port, &pkt->grh.dgid), node) {
		if (!gid_equal(&mcm->mgid, &pkt->grh.dgid))
			continue;
		any = true;
		if (mcm->qpc != pkt->src || !mcm->qpc->block_loop)
			vib_ud_rx(port, mcm->qpc, pkt);
	}
	if (!any)
		atomic64_inc(&port->rx_drops[VIB_RXD_MCAST]);
}

/**
 * vib_mcast_show - one line for each QP in a group of a port
 * @port: HCA port
 * @s: output
 *
 * Context: process.
 */
void vib_mcast_show(struct vib_port *port, struct seq_file *s)
{
	struct vib_mcm *mcm;
	int i;

	rcu_read_lock();
	for (i = 0; i < ARRAY_SIZE(port->mcast); i++)
		hlist_for_each_entry_rcu(mcm, &port->mcast[i], node)
			seq_printf(s, "port=%u mgid=%pI6c mlid=%#x qpn=%#x\n", port->num,
				   mcm->mgid.raw, mcm->mlid, mcm->qpc->qpn);
	rcu_read_unlock();
}
