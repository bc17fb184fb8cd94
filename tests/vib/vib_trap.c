// SPDX-License-Identifier: GPL-2.0
/*
 * Notices to the subnet manager (traps).
 *
 * Each HCA port and each switch's management port owns a small queue with one slot per kind of
 * notice. Raising a notice fills its slot and kicks a delayed work, which sends the SMP and repeats
 * it until the manager represses it or the tries are used up. Raising again while a slot is
 * pending replaces its content under a new transaction ID and starts over, so that the last news
 * always gets through. Notices about wrong keys are limited in rate. While a port knows no subnet
 * manager its notices are forgotten: the first sweep will look at everything anyway.
 *
 * Notices are raised from any context, also under locks of a sender; the work runs in process
 * context and is the only one that sends. The queue's lock is a leaf and is dropped to send.
 */
#include "vib_fabric.h"

#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "vib.h"

#define TRAP_TRIES	5
#define TRAP_WAIT	HZ
#define TRAP_WAIT_MAX	(8 * HZ)
#define TRAP_GAP	(HZ / 10)	/* between two accepted reports of a wrong P_Key or Q_Key */

static const u16 trap_num[VIB_TRAP_NR] = {
	[VIB_TRAP_LINK_STATE] = 128,
	[VIB_TRAP_INTEGRITY] = 129,
	[VIB_TRAP_OVERRUN] = 130,
	[VIB_TRAP_WATCHDOG] = 131,
	[VIB_TRAP_LOCAL_CHANGE] = 144,
	[VIB_TRAP_MKEY] = 256,
	[VIB_TRAP_PKEY] = 257,
	[VIB_TRAP_QKEY] = 258,
	[VIB_TRAP_SW_PKEY] = 259,
};

static const u8 trap_type[VIB_TRAP_NR] = {
	[VIB_TRAP_LINK_STATE] = IB_NOTICE_TYPE_URGENT,
	[VIB_TRAP_INTEGRITY] = IB_NOTICE_TYPE_URGENT,
	[VIB_TRAP_OVERRUN] = IB_NOTICE_TYPE_URGENT,
	[VIB_TRAP_WATCHDOG] = IB_NOTICE_TYPE_URGENT,
	[VIB_TRAP_LOCAL_CHANGE] = IB_NOTICE_TYPE_INFO,
	[VIB_TRAP_MKEY] = IB_NOTICE_TYPE_SECURITY,
	[VIB_TRAP_PKEY] = IB_NOTICE_TYPE_SECURITY,
	[VIB_TRAP_QKEY] = IB_NOTICE_TYPE_SECURITY,
	[VIB_TRAP_SW_PKEY] = IB_NOTICE_TYPE_SECURITY,
};

/* Details of the notice about a P_Key that a switch port refused */
struct trap_sw_pkey {
	__be16 data_valid;
	__be16 lid1;
	__be16 lid2;
	__be16 pkey;
	__be32 sl_qp1;
	__be32 qp2;
	union ib_gid gid1;
	union ib_gid gid2;
	__be16 sw_lid;
	u8 port_num;
} __packed;

#define TRAP_SW_PKEY_VALID	0x03ff	/* one bit for each field; absent GIDs are zero */

/* Where and when the notices of a port go; read under its lock */
struct trap_dest {
	u16 sm_lid;
	u16 lid;
	u8 sl;
	u8 state;
	unsigned long wait;
};

static void trap_dest(struct vib_lport *lp, struct trap_dest *dest)
{
	unsigned long flags;
	u64 usec;

	spin_lock_irqsave(&lp->lock, flags);
	dest->sm_lid = lp->sm_lid;
	dest->lid = lp->lid;
	dest->sl = lp->sm_sl;
	dest->state = lp->state;
	usec = (4096ULL << lp->subnet_timeout) / 1000;
	spin_unlock_irqrestore(&lp->lock, flags);
	dest->wait = clamp_t(u64, div_u64(usec * HZ, USEC_PER_SEC), TRAP_WAIT, TRAP_WAIT_MAX);
}

static void trap_build(struct ib_smp *smp, const struct vib_trap *trap, u16 lid)
{
	struct ib_mad_notice_attr *notice = (struct ib_mad_notice_attr *)smp->data;

	memset(smp, 0, sizeof(*smp));
	smp->base_version = IB_MGMT_BASE_VERSION;
	smp->mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED;
	smp->class_version = 1;
	smp->method = IB_MGMT_METHOD_TRAP;
	smp->tid = cpu_to_be64(trap->tid);
	smp->attr_id = IB_SMP_ATTR_NOTICE;
	memcpy(smp->data, trap->notice, sizeof(trap->notice));
	notice->issuer_lid = cpu_to_be16(lid);
}

/* Takes the next slot that is due; fills @smp and returns true if there is something to send */
static bool trap_next(struct vib_trapq *q, const struct trap_dest *dest, struct ib_smp *smp)
{
	struct vib_trap *trap;
	unsigned long flags;
	bool found = false;

	spin_lock_irqsave(&q->lock, flags);
	for (trap = q->slot; trap < q->slot + VIB_TRAP_NR && !found; trap++) {
		if (!trap->pending || time_before(jiffies, trap->due))
			continue;
		if (trap->tries == TRAP_TRIES) {
			trap->pending = false;
			q->given_up++;
			continue;
		}
		trap->tries++;
		trap->due = jiffies + dest->wait;
		trap_build(smp, trap, dest->lid);
		q->sent++;
		found = true;
	}
	spin_unlock_irqrestore(&q->lock, flags);
	return found;
}

/* Sets the work up for the earliest pending slot */
static void trap_rearm(struct vib_trapq *q)
{
	unsigned long best = MAX_JIFFY_OFFSET;
	struct vib_trap *trap;
	unsigned long flags;
	unsigned long wait;

	spin_lock_irqsave(&q->lock, flags);
	for (trap = q->slot; trap < q->slot + VIB_TRAP_NR; trap++) {
		if (!trap->pending)
			continue;
		wait = time_after(trap->due, jiffies) ? trap->due - jiffies : 0;
		best = min(best, wait);
	}
	if (best != MAX_JIFFY_OFFSET && !q->dead)
		mod_delayed_work(system_highpri_wq, &q->work, best);
	spin_unlock_irqrestore(&q->lock, flags);
}

static void trap_work(struct work_struct *work)
{
	struct vib_trapq *q = container_of(work, struct vib_trapq, work.work);
	struct vib_lport *lp = container_of(q, struct vib_lport, traps);
	struct trap_dest dest;
	struct ib_smp smp;

	for (;;) {
		trap_dest(lp, &dest);
		if (!trap_next(q, &dest, &smp))
			break;
		if (dest.state >= IB_PORT_INIT)
			vib_smi_inject(lp, &smp, dest.sm_lid, dest.sl);
	}
	trap_rearm(q);
}

/**
 * vib_trapq_init - make the notice queue of a port ready
 * @lp: an HCA port or the management port of a switch
 *
 * Context: process, before anybody can raise a notice.
 */
void vib_trapq_init(struct vib_lport *lp)
{
	spin_lock_init(&lp->traps.lock);
	INIT_DELAYED_WORK(&lp->traps.work, trap_work);
}

/**
 * vib_trapq_stop - drop all notices of a port and stop sending
 * @lp: the port
 *
 * Context: process, may sleep. Notices raised afterwards are ignored.
 */
void vib_trapq_stop(struct vib_lport *lp)
{
	struct vib_trapq *q = &lp->traps;
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&q->lock, flags);
	q->dead = true;
	for (i = 0; i < VIB_TRAP_NR; i++)
		q->slot[i].pending = false;
	spin_unlock_irqrestore(&q->lock, flags);
	cancel_delayed_work_sync(&q->work);
}

/* Puts a notice with @details into its slot; @gap limits the rate */
static void trap_raise(struct vib_lport *lp, enum vib_trap_kind kind, unsigned long gap,
		       const void *details, size_t len)
{
	struct vib_trapq *q = &lp->traps;
	struct ib_mad_notice_attr *notice;
	struct vib_trap *trap;
	unsigned long flags;

	if (!READ_ONCE(lp->sm_lid))
		return;
	trap = &q->slot[kind];
	notice = (struct ib_mad_notice_attr *)trap->notice;
	spin_lock_irqsave(&q->lock, flags);
	if (q->dead || (gap && trap->ever && time_before(jiffies, trap->raised + gap))) {
		spin_unlock_irqrestore(&q->lock, flags);
		return;
	}
	memset(trap->notice, 0, sizeof(trap->notice));
	notice->generic_type = trap_type[kind];
	notice->prod_type_lsb = lp->sw ? IB_NOTICE_PROD_SWITCH : IB_NOTICE_PROD_CA;
	notice->trap_num = cpu_to_be16(trap_num[kind]);
	memcpy(&notice->details, details, len);
	trap->tid = ++q->next_tid;
	trap->raised = jiffies;
	trap->due = jiffies;
	trap->ever = true;
	trap->pending = true;
	trap->tries = 0;
	mod_delayed_work(system_highpri_wq, &q->work, 0);
	spin_unlock_irqrestore(&q->lock, flags);
}

/**
 * vib_trap_repress - the subnet manager has seen a notice
 * @lp: port whose notice it was
 * @smp: the TrapRepress
 *
 * One that does not match the notice outstanding is ignored: it answers an older one.
 *
 * Context: any.
 */
void vib_trap_repress(struct vib_lport *lp, const struct ib_smp *smp)
{
	const struct ib_mad_notice_attr *notice = (const struct ib_mad_notice_attr *)smp->data;
	u16 num = be16_to_cpu(notice->trap_num);
	struct vib_trapq *q = &lp->traps;
	struct vib_trap *trap;
	unsigned long flags;

	if (smp->attr_id != IB_SMP_ATTR_NOTICE)
		return;
	spin_lock_irqsave(&q->lock, flags);
	for (trap = q->slot; trap < q->slot + VIB_TRAP_NR; trap++) {
		if (!trap->pending || trap_num[trap - q->slot] != num ||
		    trap->tid != be64_to_cpu(smp->tid))
			continue;
		trap->pending = false;
		q->repressed++;
	}
	spin_unlock_irqrestore(&q->lock, flags);
}

/**
 * vib_trap_link_state - a port of a switch went up or down
 * @sw: the switch
 *
 * Context: any.
 */
void vib_trap_link_state(struct vib_switch *sw)
{
	__be16 lid = cpu_to_be16(READ_ONCE(sw->lport[0].lid));

	trap_raise(&sw->lport[0], VIB_TRAP_LINK_STATE, 0, &lid, sizeof(lid));
}

/**
 * vib_trap_link_error - report an error threshold that was passed
 * @lp: port where it happened
 * @kind: VIB_TRAP_INTEGRITY, VIB_TRAP_OVERRUN or VIB_TRAP_WATCHDOG
 *
 * Context: any.
 * Return: 0, or -EINVAL for another kind.
 */
int vib_trap_link_error(struct vib_lport *lp, enum vib_trap_kind kind)
{
	struct vib_lport *end = lp->sw ? &lp->sw->lport[0] : lp;
	struct ib_mad_notice_attr notice = {};

	if (kind < VIB_TRAP_INTEGRITY || kind > VIB_TRAP_WATCHDOG)
		return -EINVAL;
	notice.details.ntc_129_131.lid = cpu_to_be16(READ_ONCE(end->lid));
	notice.details.ntc_129_131.port_num = lp->num;
	trap_raise(end, kind, 0, &notice.details, sizeof(notice.details.ntc_129_131));
	return 0;
}

static void trap_local_change(struct vib_lport *lp, u8 what)
{
	struct ib_mad_notice_attr notice = {};
	unsigned long flags;

	spin_lock_irqsave(&lp->lock, flags);
	notice.details.ntc_144.lid = cpu_to_be16(lp->lid);
	notice.details.ntc_144.new_cap_mask = cpu_to_be32(lp->cap_mask);
	spin_unlock_irqrestore(&lp->lock, flags);
	notice.details.ntc_144.local_changes = !!what;
	notice.details.ntc_144.change_flags = what;
	trap_raise(lp, VIB_TRAP_LOCAL_CHANGE, 0, &notice.details, sizeof(notice.details.ntc_144));
}

/**
 * vib_trap_cap_mask - the capability mask of a port has changed
 * @lp: the port
 *
 * Context: any.
 */
void vib_trap_cap_mask(struct vib_lport *lp)
{
	trap_local_change(lp, 0);
}

/**
 * vib_trap_node_desc - the node description of an HCA has changed
 * @hca: the HCA
 *
 * Context: any, while the HCA exists.
 */
void vib_trap_node_desc(struct vib_hca *hca)
{
	struct vib_node *node = &hca->node;
	struct vib_lport *lp;
	unsigned int i;

	for (i = 1; i <= node->nports; i++) {
		lp = vib_node_port(node, i);
		if (lp)
			trap_local_change(lp, IB_NOTICE_TRAP_NODE_DESC_CHG);
	}
}

/**
 * vib_trap_mkey - an SMP came with the wrong M_Key
 * @lp: port whose key it missed
 * @smp: the SMP
 * @slid: source LID of the packet
 *
 * Context: any.
 */
void vib_trap_mkey(struct vib_lport *lp, const struct ib_smp *smp, u16 slid)
{
	struct ib_mad_notice_attr notice = {};
	unsigned int hops;

	notice.details.ntc_256.lid = cpu_to_be16(slid);
	notice.details.ntc_256.method = smp->method;
	notice.details.ntc_256.attr_id = smp->attr_id;
	notice.details.ntc_256.attr_mod = smp->attr_mod;
	notice.details.ntc_256.mkey = smp->mkey;
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE) {
		hops = min_t(unsigned int, smp->hop_cnt, IB_SMP_MAX_PATH_HOPS - 1);
		notice.details.ntc_256.dr_slid = smp->dr_slid;
		notice.details.ntc_256.dr_trunc_hop = IB_NOTICE_TRAP_DR_NOTICE;
		if (hops > sizeof(notice.details.ntc_256.dr_rtn_path)) {
			notice.details.ntc_256.dr_trunc_hop |= IB_NOTICE_TRAP_DR_TRUNC;
			hops = sizeof(notice.details.ntc_256.dr_rtn_path);
		}
		notice.details.ntc_256.dr_trunc_hop |= hops;
		memcpy(notice.details.ntc_256.dr_rtn_path, smp->return_path + 1, hops);
	}
	trap_raise(lp, VIB_TRAP_MKEY, TRAP_GAP, &notice.details, sizeof(notice.details.ntc_256));
}

/**
 * vib_trap_key - a packet for this HCA port came with a wrong P_Key or Q_Key
 * @lp: the port
 * @kind: VIB_TRAP_PKEY or VIB_TRAP_QKEY
 * @pkt: the packet
 *
 * Context: any; accepts one report per kind in a tenth of a second.
 */
void vib_trap_key(struct vib_lport *lp, enum vib_trap_kind kind, const struct vib_pkt *pkt)
{
	struct ib_mad_notice_attr notice = {};
	u32 key = kind == VIB_TRAP_PKEY ? pkt->pkey : pkt->qkey;

	notice.details.ntc_257_258.lid1 = cpu_to_be16(pkt->slid);
	notice.details.ntc_257_258.lid2 = cpu_to_be16(pkt->dlid);
	notice.details.ntc_257_258.key = cpu_to_be32(key);
	notice.details.ntc_257_258.sl_qp1 = cpu_to_be32((u32)pkt->sl << 28 | pkt->sqpn);
	notice.details.ntc_257_258.qp2 = cpu_to_be32(pkt->dqpn);
	if (pkt->has_grh) {
		notice.details.ntc_257_258.gid1 = pkt->grh.sgid;
		notice.details.ntc_257_258.gid2 = pkt->grh.dgid;
	}
	trap_raise(lp, kind, TRAP_GAP, &notice.details, sizeof(notice.details.ntc_257_258));
}

/**
 * vib_trap_sw_pkey - a switch port refused the P_Key of a packet
 * @lp: the external port
 * @pkt: the packet
 *
 * Context: any; accepts one report per switch in a tenth of a second.
 */
void vib_trap_sw_pkey(struct vib_lport *lp, const struct vib_pkt *pkt)
{
	struct vib_lport *mgmt = &lp->sw->lport[0];
	struct trap_sw_pkey det = {
		.data_valid = cpu_to_be16(TRAP_SW_PKEY_VALID),
		.lid1 = cpu_to_be16(pkt->slid),
		.lid2 = cpu_to_be16(pkt->dlid),
		.pkey = cpu_to_be16(pkt->pkey),
		.sl_qp1 = cpu_to_be32((u32)pkt->sl << 28 | pkt->sqpn),
		.qp2 = cpu_to_be32(pkt->dqpn),
		.sw_lid = cpu_to_be16(READ_ONCE(mgmt->lid)),
		.port_num = lp->num,
	};

	if (pkt->has_grh) {
		det.gid1 = pkt->grh.sgid;
		det.gid2 = pkt->grh.dgid;
	}
	trap_raise(mgmt, VIB_TRAP_SW_PKEY, TRAP_GAP, &det, sizeof(det));
}
