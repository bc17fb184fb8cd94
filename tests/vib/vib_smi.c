// SPDX-License-Identifier: GPL-2.0
/*
 * Subnet management packets on their way, and the door to the agents of an HCA.
 *
 * An SMP is copied once when it leaves its source, because directed routing writes into it at each
 * switch, and then walks from cable to cable until an HCA port takes it or a switch's agent answers
 * it; the answer walks back in the same loop. All of it happens in the context of the sender, under
 * RCU, without a lock and without an allocation. Directed-route arithmetic at an HCA is done by
 * ib_core; what follows is the part of a switch.
 *
 * Nothing in a packet is believed: paths are checked at each hop, and a budget of hops ends loops
 * that forwarding tables or paths may contain.
 */
#include "vib_fabric.h"

#include <linux/rcupdate.h>
#include <linux/string.h>

#include "vib.h"

/* There and back along the longest path, with some switches of LID routing at either end */
#define SMI_HOPS_MAX	(2 * IB_SMP_MAX_PATH_HOPS + 4 * VIB_TTL)

static const struct vib_walk smp_size = { .words = (VIB_MAD_SIZE + 32) / 4 };

/* An SMP under way */
struct smi_walk {
	struct ib_smp smp;
	u16 slid;
	u16 dlid;
	u8 sl;
	unsigned int hops;
};

/**
 * vib_pkt_from_mad - dress up a MAD that the fabric itself sends as a QP0 packet
 * @pkt: packet to fill
 * @mad: 256 bytes that must stay where they are while the packet exists
 * @slid: source LID
 * @dlid: destination LID
 * @sl: service level
 *
 * Context: any.
 */
void vib_pkt_from_mad(struct vib_pkt *pkt, void *mad, u16 slid, u16 dlid, u8 sl)
{
	memset(pkt, 0, sizeof(*pkt));
	pkt->hdr = mad;
	pkt->hdr_len = VIB_MAD_SIZE;
	pkt->len = VIB_MAD_SIZE;
	pkt->slid = slid;
	pkt->dlid = dlid;
	pkt->sl = sl;
	pkt->vl15 = true;
	pkt->smp = true;
	pkt->pkey = IB_DEFAULT_PKEY_FULL;
}

/* Hands the SMP to the HCA port at which it has arrived */
static noinline_for_stack void smi_deliver(struct smi_walk *walk, struct vib_lport *lp)
{
	struct vib_pkt pkt;

	vib_pkt_from_mad(&pkt, &walk->smp, walk->slid, walk->dlid, walk->sl);
	vib_ud_deliver(lp->port, &pkt);
}

/* Hands the SMP to the machine at the other end of a wire */
static noinline_for_stack void smi_to_wire(struct smi_walk *walk, struct vib_lport *far)
{
	struct vib_pkt pkt;

	vib_pkt_from_mad(&pkt, &walk->smp, walk->slid, walk->dlid, walk->sl);
	vib_wire_xmit(far, &pkt, walk->hops);
}

static noinline_for_stack void smi_capture(struct smi_walk *walk, struct vib_lport *out,
					   struct vib_lport *in)
{
	struct vib_pkt pkt;

	if (!static_branch_unlikely(&vib_capture_key))
		return;
	vib_pkt_from_mad(&pkt, &walk->smp, walk->slid, walk->dlid, walk->sl);
	vib_capture(out, in, &pkt);
}

/* Does the SMP fall to a rule of a fault stage? */
static noinline_for_stack bool smi_harmed(struct smi_walk *walk, struct vib_lport *out,
					  struct vib_lport *in)
{
	struct vib_pkt pkt;

	if (!static_branch_unlikely(&vib_fault_key))
		return false;
	vib_pkt_from_mad(&pkt, &walk->smp, walk->slid, walk->dlid, walk->sl);
	return vib_fault_cross(out, in, &pkt, walk->hops);
}

/* Moves the SMP over the cable of @out; returns the port at the far end or NULL if it was lost */
static struct vib_lport *smi_cross(struct smi_walk *walk, struct vib_lport *out)
{
	struct vib_lport *in = rcu_dereference(out->peer);

	if (!walk->hops--) {
		vib_lport_drop(out, VIB_DROP_HOPS);
		return NULL;
	}
	if (!in || READ_ONCE(out->state) < IB_PORT_INIT || READ_ONCE(in->state) < IB_PORT_INIT) {
		vib_lport_err(out, VIB_ERR_XMIT_DISCARD);
		vib_lport_drop(out, VIB_DROP_LINK);
		return NULL;
	}
	vib_lport_count_tx(out, &smp_size);
	smi_capture(walk, out, in);
	return smi_harmed(walk, out, in) ? NULL : in;
}

/* The port of the switch that the directed route names next, NULL if there is none */
static struct vib_lport *smi_dr_port(struct vib_lport *in, u8 num)
{
	if (num && num <= in->node->nports)
		return vib_node_port(in->node, num);
	vib_lport_drop(in, VIB_DROP_SMP_PATH);
	return NULL;
}

/* The port towards @dlid, for the LID routed part of a journey */
static struct vib_lport *smi_lid_port(struct vib_lport *in, struct smi_walk *walk, u16 dlid)
{
	struct vib_lport *out = vib_switch_route(in->sw, dlid);

	if (!out || !out->num) {
		vib_lport_drop(in, VIB_DROP_ROUTE);
		return NULL;
	}
	walk->dlid = dlid;
	return out;
}

/* Directed part over, on to a LID: the switch becomes the source */
static struct vib_lport *smi_dr_tail(struct vib_lport *in, struct smi_walk *walk, __be16 dlid)
{
	walk->slid = READ_ONCE(in->sw->lport[0].lid);
	return smi_lid_port(in, walk, be16_to_cpu(dlid));
}

/* On by the directed route: both LIDs are permissive then */
static struct vib_lport *smi_dr_next(struct vib_lport *in, struct smi_walk *walk, u8 num)
{
	walk->slid = VIB_LID_PERMISSIVE;
	walk->dlid = VIB_LID_PERMISSIVE;
	return smi_dr_port(in, num);
}

/* What a switch does with an SMP; *@out is where it leaves if the answer is SMI_FORWARD */
enum smi_step {
	SMI_DROP,
	SMI_LOCAL,
	SMI_FORWARD,
};

static enum smi_step smi_forward(struct vib_lport *next, struct vib_lport **out)
{
	*out = next;
	return next ? SMI_FORWARD : SMI_DROP;
}

/* A directed-route request at a switch */
static enum smi_step smi_dr_out(struct vib_lport *in, struct smi_walk *walk,
				struct vib_lport **out)
{
	struct ib_smp *smp = &walk->smp;

	if (!smp->hop_ptr && smp->hop_cnt) {
		/* came by LID: the directed part begins here */
		if (walk->dlid == VIB_LID_PERMISSIVE)
			goto bad;
		smp->hop_ptr = 1;
		return smi_forward(smi_dr_next(in, walk, smp->initial_path[1]), out);
	}
	if (smp->hop_ptr < smp->hop_cnt) {
		smp->return_path[smp->hop_ptr] = in->num;
		smp->hop_ptr++;
		return smi_forward(smi_dr_next(in, walk, smp->initial_path[smp->hop_ptr]), out);
	}
	if (smp->hop_ptr == smp->hop_cnt) {
		if (smp->hop_cnt)
			smp->return_path[smp->hop_ptr] = in->num;
		smp->hop_ptr++;
		if (smp->dr_dlid == IB_LID_PERMISSIVE)
			return SMI_LOCAL;
		return smi_forward(smi_dr_tail(in, walk, smp->dr_dlid), out);
	}
	if (smp->hop_ptr == smp->hop_cnt + 1 && walk->dlid != VIB_LID_PERMISSIVE)
		return SMI_LOCAL;
bad:
	vib_lport_drop(in, VIB_DROP_SMP_PATH);
	return SMI_DROP;
}

/* A directed-route reply at a switch, whether it passes or starts here */
static enum smi_step smi_dr_back(struct vib_lport *in, struct smi_walk *walk,
				 struct vib_lport **out)
{
	struct ib_smp *smp = &walk->smp;

	if (smp->hop_ptr > 1 && smp->hop_ptr <= smp->hop_cnt + 1) {
		smp->hop_ptr--;
		return smi_forward(smi_dr_next(in, walk, smp->return_path[smp->hop_ptr]), out);
	}
	if (smp->hop_ptr == 1 && smp->dr_slid != IB_LID_PERMISSIVE) {
		smp->hop_ptr = 0;
		return smi_forward(smi_dr_tail(in, walk, smp->dr_slid), out);
	}
	/* for a subnet manager on the switch, and there is none */
	vib_lport_drop(in, VIB_DROP_SMP_PATH);
	return SMI_DROP;
}

/* Decides about an SMP that came in by @in; it is ours if SMI_LOCAL is returned */
static enum smi_step smi_at_switch(struct vib_lport *in, struct smi_walk *walk,
				   struct vib_lport **out)
{
	struct ib_smp *smp = &walk->smp;
	u16 lid = READ_ONCE(in->sw->lport[0].lid);

	if (walk->dlid != VIB_LID_PERMISSIVE && walk->dlid != lid)
		return smi_forward(smi_lid_port(in, walk, walk->dlid), out);
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_LID_ROUTED)
		return SMI_LOCAL;
	if (smp->hop_cnt >= IB_SMP_MAX_PATH_HOPS || smp->hop_ptr > smp->hop_cnt + 1) {
		vib_lport_drop(in, VIB_DROP_SMP_PATH);
		return SMI_DROP;
	}
	if (ib_get_smp_direction(smp))
		return smi_dr_back(in, walk, out);
	return smi_dr_out(in, walk, out);
}

/* The agent of the switch answers; returns the port by which the answer leaves, or NULL */
static struct vib_lport *smi_answer(struct vib_lport *in, struct smi_walk *walk)
{
	struct ib_smp *smp = &walk->smp;
	struct vib_lport *out = NULL;
	u16 from = walk->slid;

	if (!vib_sa_trap(in->sw, smp) && vib_sma_handle(in, smp, from, false) != VIB_MAD_REPLY)
		return NULL;
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_LID_ROUTED || walk->dlid != VIB_LID_PERMISSIVE) {
		if (from == VIB_LID_PERMISSIVE) {
			/* a neighbour that has no LID yet */
			walk->dlid = VIB_LID_PERMISSIVE;
			return in;
		}
		walk->slid = READ_ONCE(in->sw->lport[0].lid);
		return smi_lid_port(in, walk, from);
	}
	if (smi_dr_back(in, walk, &out) != SMI_FORWARD)
		return NULL;
	return out;
}

/* The SMP has come in by @in; returns the port by which it, or its answer, leaves, or NULL */
static struct vib_lport *smi_in(struct smi_walk *walk, struct vib_lport *in)
{
	struct vib_lport *out = NULL;

	if (in->wire) {
		smi_to_wire(walk, in);
		return NULL;
	}
	vib_lport_count_rx(in, &smp_size);
	if (!in->sw) {
		smi_deliver(walk, in);
		return NULL;
	}
	switch (smi_at_switch(in, walk, &out)) {
	case SMI_FORWARD:
		return out;
	case SMI_LOCAL:
		return smi_answer(in, walk);
	default:
		return NULL;
	}
}

/* Carries the SMP from @out until it is delivered, answered and delivered, or lost */
static void smi_carry(struct smi_walk *walk, struct vib_lport *out)
{
	struct vib_lport *in;

	while (out) {
		in = smi_cross(walk, out);
		out = in ? smi_in(walk, in) : NULL;
	}
}

/**
 * vib_smi_arrive - an SMP that was stored comes in by a port
 * @in: the port
 * @pkt: the SMP
 * @hops: cables that it may still cross
 *
 * Context: softirq, under RCU.
 */
void vib_smi_arrive(struct vib_lport *in, const struct vib_pkt *pkt, unsigned int hops)
{
	struct smi_walk walk = {
		.slid = pkt->slid,
		.dlid = pkt->dlid,
		.sl = pkt->sl,
		.hops = hops,
	};

	if (vib_pkt_copy(pkt, &walk.smp, 0, VIB_MAD_SIZE) == VIB_MAD_SIZE)
		smi_carry(&walk, smi_in(&walk, in));
	else
		vib_lport_drop(in, VIB_DROP_SMP_SIZE);
}

static bool smi_class_ok(const struct ib_smp *smp)
{
	return smp->base_version == IB_MGMT_BASE_VERSION &&
	       (smp->mgmt_class == IB_MGMT_CLASS_SUBN_LID_ROUTED ||
		smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE);
}

/**
 * vib_smi_xmit - a packet leaves QP0 of an HCA port for the cable
 * @from: the HCA port
 * @pkt: the packet
 *
 * Context: any that the sender may be in, IRQs off and locks of queue pairs held, under RCU.
 */
void vib_smi_xmit(struct vib_lport *from, const struct vib_pkt *pkt)
{
	struct smi_walk walk = {
		.slid = pkt->slid,
		.dlid = pkt->dlid,
		.sl = pkt->sl,
		.hops = SMI_HOPS_MAX,
	};

	if (pkt->len != VIB_MAD_SIZE ||
	    vib_pkt_copy(pkt, &walk.smp, 0, VIB_MAD_SIZE) != VIB_MAD_SIZE) {
		vib_lport_drop(from, VIB_DROP_SMP_SIZE);
		return;
	}
	if (!smi_class_ok(&walk.smp)) {
		vib_lport_drop(from, VIB_DROP_SMP_FORM);
		return;
	}
	if (walk.dlid == VIB_LID_PERMISSIVE)
		walk.slid = VIB_LID_PERMISSIVE;
	smi_carry(&walk, from);
}

/**
 * vib_smi_inject - send an SMP of the fabric's own, routed by LID
 * @from: HCA port or management port of a switch
 * @smp: the SMP
 * @dlid: where it goes
 * @sl: service level
 *
 * Context: any but under a lock of a queue pair.
 */
void vib_smi_inject(struct vib_lport *from, struct ib_smp *smp, u16 dlid, u8 sl)
{
	struct smi_walk walk = {
		.slid = READ_ONCE(from->lid),
		.dlid = dlid,
		.sl = sl,
		.hops = SMI_HOPS_MAX,
	};
	unsigned long flags;
	struct vib_pkt pkt;

	local_irq_save(flags);
	rcu_read_lock();
	if (from->sw) {
		walk.smp = *smp;
		smi_carry(&walk, smi_lid_port(from, &walk, dlid));
	} else {
		vib_pkt_from_mad(&pkt, smp, walk.slid, dlid, sl);
		vib_port_xmit(from->port, &pkt);
	}
	rcu_read_unlock();
	local_irq_restore(flags);
}

static int smi_result(enum vib_mad_verdict verdict)
{
	switch (verdict) {
	case VIB_MAD_REPLY:
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_REPLY;
	case VIB_MAD_CONSUMED:
	case VIB_MAD_DROP:
		return IB_MAD_RESULT_SUCCESS | IB_MAD_RESULT_CONSUMED;
	default:
		return IB_MAD_RESULT_SUCCESS;
	}
}

/**
 * vib_process_mad - the agents of an HCA look at a MAD
 * @ibdev: the HCA
 * @flags: IB_MAD_IGNORE_MKEY for requests of the local kernel
 * @port_num: port that it came in by
 * @in_wc: completion of its receive, NULL if the kernel itself asks
 * @in_grh: its GRH or NULL
 * @in: the MAD
 * @out: room for the answer
 * @out_mad_size: size of that room
 * @out_mad_pkey_index: unused
 *
 * Context: any, may hold locks of ib_mad; does not sleep.
 * Return: IB_MAD_RESULT flags.
 */
int vib_process_mad(struct ib_device *ibdev, int flags, u32 port_num, const struct ib_wc *in_wc,
		    const struct ib_grh *in_grh, const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_mad_size, u16 *out_mad_pkey_index)
{
	struct vib_hca *hca = to_vhca(ibdev);
	enum vib_mad_verdict verdict;
	struct vib_lport *lp;

	lp = vib_node_port(&hca->node, port_num);
	if (!lp || *out_mad_size < sizeof(*out))
		return IB_MAD_RESULT_FAILURE;

	memcpy(out, in, sizeof(*out));
	rcu_read_lock();
	switch (in->mad_hdr.mgmt_class) {
	case IB_MGMT_CLASS_SUBN_LID_ROUTED:
	case IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE:
		verdict = vib_sma_handle(lp, (struct ib_smp *)out, in_wc ? in_wc->slid : 0,
					 flags & IB_MAD_IGNORE_MKEY);
		break;
	case IB_MGMT_CLASS_PERF_MGMT:
		verdict = vib_pma_handle(lp, out);
		break;
	default:
		verdict = VIB_MAD_PASS;
	}
	rcu_read_unlock();
	return smi_result(verdict);
}
