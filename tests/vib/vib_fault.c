// SPDX-License-Identifier: GPL-2.0
/*
 * The fault stage: packets that a cable loses, delays, doubles, swaps or spoils by order of a test.
 *
 * Each link port has two stages, one for packets that leave by it and one for those that arrive. A
 * stage is a list of rules: which packets it is about, which of those it hits, and what happens to
 * them. Each packet is shown to all rules of the stages that it passes, so that one of them may
 * delay what another one spoils. A stage exists only while it has rules, and a static branch keeps
 * all of this away from packets while there is none.
 *
 * Packets pass in the context of their sender, under RCU; stage->lock guards the rules' counters
 * and is a leaf but for the frames' lock. Rules come and go in process context under vib_ctl_mutex.
 * Random numbers come from a generator of the rule's own, so that a run can be repeated.
 */
#include "vib.h"

#include <linux/prandom.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#define FAULT_PPM	1000000U
#define FAULT_PEEK	64	/* bytes of a payload that rules look at */

#define MAD_CLASS	1	/* offsets in a management datagram */
#define MAD_METHOD	3
#define MAD_ATTR	16

#define IPOIB_HDR	4	/* encapsulation: type, two bytes reserved */
#define IP6_NEXT	6
#define IP6_HDR		40
#define ICMP6_ND_FIRST	133
#define ICMP6_ND_LAST	137

DEFINE_STATIC_KEY_FALSE(vib_fault_key);

/* What the rules of a stage say about one packet */
struct fault_verdict {
	bool drop;
	bool crc;
	bool dup;
	bool flip;
	u32 flip_bit;
	u32 cut;			/* 0: as it is */
	u64 delay;			/* ns */
	struct vib_rule *hold;		/* the rule that wants to keep it */
	struct vib_frame *release;	/* one that was kept and may go on, behind this one */
};

/* One rule; numbers that say which packets are -1 for "any" */
struct vib_rule {
	struct list_head entry;
	struct vib_rule_spec spec;
	u64 seen;			/* packets that it is about */
	u64 hit;
	u64 left;			/* to be hit yet, if spec.count is set */
	struct rnd_state rnd;
	struct vib_frame *held;
	u32 held_left;
};

struct vib_fault {
	spinlock_t lock;		/* the rules and their counters */
	struct list_head rules;
};

static const char *const class_names[] = {
	[VIB_CLASS_ANY] = "any",
	[VIB_CLASS_SMP] = "smp",
	[VIB_CLASS_GMP] = "gmp",
	[VIB_CLASS_SA] = "sa",
	[VIB_CLASS_CM] = "cm",
	[VIB_CLASS_PMA] = "pma",
	[VIB_CLASS_DATA] = "data",
	[VIB_CLASS_UCAST] = "ucast",
	[VIB_CLASS_MCAST] = "mcast",
	[VIB_CLASS_ARP] = "arp",
	[VIB_CLASS_IP4] = "ip4",
	[VIB_CLASS_IP6] = "ip6",
	[VIB_CLASS_ND] = "ndisc",
	[VIB_CLASS_UD] = "ud",
	[VIB_CLASS_RC] = "rc",
	[VIB_CLASS_RC_DATA] = "rcdata",
	[VIB_CLASS_RC_ACK] = "rcack",
};

static const char *const act_names[] = {
	[VIB_ACT_DROP] = "drop",
	[VIB_ACT_CRC] = "crc",
	[VIB_ACT_DUP] = "dup",
	[VIB_ACT_FLIP] = "flip",
	[VIB_ACT_CUT] = "cut",
	[VIB_ACT_DELAY] = "delay",
	[VIB_ACT_HOLD] = "hold",
};

/**
 * vib_fault_names - turn the names in a rule into numbers
 * @spec: rule to fill
 * @class: what kind of packets, or NULL for any
 * @act: what to do with them
 *
 * Context: any.
 * Return: 0, or -EINVAL for a name that there is not.
 */
int vib_fault_names(struct vib_rule_spec *spec, const char *class, const char *act)
{
	int c = class ? match_string(class_names, ARRAY_SIZE(class_names), class) : VIB_CLASS_ANY;
	int a = act ? match_string(act_names, ARRAY_SIZE(act_names), act) : -EINVAL;

	if (c < 0 || a < 0)
		return -EINVAL;
	spec->class = c;
	spec->act = a;
	return 0;
}

static bool is_nd(const u8 *head, u32 len)
{
	const u8 *ip = head + IPOIB_HDR;

	return len > IPOIB_HDR + IP6_HDR && ip[IP6_NEXT] == IPPROTO_ICMPV6 &&
	       ip[IP6_HDR] >= ICMP6_ND_FIRST && ip[IP6_HDR] <= ICMP6_ND_LAST;
}

static bool match_mad_class(const struct vib_pkt *pkt, const u8 *head, u32 len, u8 class)
{
	return pkt->dqpn == 1 && len > MAD_CLASS && head[MAD_CLASS] == class;
}

/* IP over InfiniBand names the protocol in the first two bytes of a message */
static bool match_proto(const struct vib_pkt *pkt, const u8 *head, u32 len, u16 proto)
{
	if (pkt->rc && (pkt->op == IB_OPCODE_RC_SEND_MIDDLE || pkt->op == IB_OPCODE_RC_SEND_LAST ||
			pkt->op == IB_OPCODE_RC_SEND_LAST_WITH_IMMEDIATE))
		return false;
	return pkt->dqpn > 1 && len > IPOIB_HDR && get_unaligned_be16(head) == proto;
}

static bool match_class(enum vib_class class, const struct vib_pkt *pkt, const u8 *head, u32 len)
{
	bool mcast = pkt->dlid >= VIB_LID_MCAST && pkt->dlid != VIB_LID_PERMISSIVE;

	switch (class) {
	case VIB_CLASS_ANY:
		return true;
	case VIB_CLASS_SMP:
		return pkt->smp;
	case VIB_CLASS_GMP:
		return pkt->dqpn == 1;
	case VIB_CLASS_SA:
		return match_mad_class(pkt, head, len, IB_MGMT_CLASS_SUBN_ADM);
	case VIB_CLASS_CM:
		return match_mad_class(pkt, head, len, IB_MGMT_CLASS_CM);
	case VIB_CLASS_PMA:
		return match_mad_class(pkt, head, len, IB_MGMT_CLASS_PERF_MGMT);
	case VIB_CLASS_DATA:
		return pkt->dqpn > 1;
	case VIB_CLASS_UCAST:
		return pkt->dqpn > 1 && !mcast;
	case VIB_CLASS_MCAST:
		return mcast;
	case VIB_CLASS_ARP:
		return match_proto(pkt, head, len, ETH_P_ARP);
	case VIB_CLASS_IP4:
		return match_proto(pkt, head, len, ETH_P_IP);
	case VIB_CLASS_IP6:
		return match_proto(pkt, head, len, ETH_P_IPV6);
	case VIB_CLASS_ND:
		return match_proto(pkt, head, len, ETH_P_IPV6) && is_nd(head, len);
	case VIB_CLASS_UD:
		return pkt->dqpn > 1 && !pkt->rc;
	case VIB_CLASS_RC:
		return pkt->rc;
	case VIB_CLASS_RC_DATA:
		return pkt->rc && pkt->op != IB_OPCODE_RC_ACKNOWLEDGE;
	case VIB_CLASS_RC_ACK:
		return pkt->rc && pkt->op == IB_OPCODE_RC_ACKNOWLEDGE;
	}
	return false;
}

static bool match_mad(const struct vib_rule_spec *spec, const struct vib_pkt *pkt, const u8 *head,
		      u32 len)
{
	if (spec->method < 0 && spec->attr < 0)
		return true;
	if (pkt->dqpn > 1 || len < MAD_ATTR + 2)
		return false;
	return (spec->method < 0 || head[MAD_METHOD] == spec->method) &&
	       (spec->attr < 0 || get_unaligned_be16(head + MAD_ATTR) == spec->attr);
}

static bool rule_matches(const struct vib_rule_spec *spec, const struct vib_pkt *pkt,
			 const u8 *head, u32 len)
{
	return match_class(spec->class, pkt, head, len) &&
	       (spec->dlid < 0 || pkt->dlid == spec->dlid) &&
	       (spec->slid < 0 || pkt->slid == spec->slid) &&
	       (spec->qpn < 0 || pkt->dqpn == spec->qpn) && match_mad(spec, pkt, head, len);
}

/* One more packet that the rule is about: is it hit? */
static bool rule_hits(struct vib_rule *rule)
{
	const struct vib_rule_spec *spec = &rule->spec;

	if (rule->held) {
		rule->seen++;
		return false;
	}
	if (rule->seen++ < spec->skip || (spec->count && !rule->left))
		return false;
	if (spec->ppm < FAULT_PPM && prandom_u32_state(&rule->rnd) % FAULT_PPM >= spec->ppm)
		return false;
	rule->hit++;
	if (spec->count)
		rule->left--;
	return true;
}

static void rule_apply(struct vib_rule *rule, const struct vib_pkt *pkt, struct fault_verdict *v)
{
	const struct vib_rule_spec *spec = &rule->spec;

	switch (spec->act) {
	case VIB_ACT_CRC:
		v->crc = true;
		fallthrough;
	case VIB_ACT_DROP:
		v->drop = true;
		break;
	case VIB_ACT_DUP:
		v->dup = true;
		break;
	case VIB_ACT_FLIP:
		v->flip = pkt->len;
		v->flip_bit = prandom_u32_state(&rule->rnd) % max(pkt->len * 8, 1U);
		break;
	case VIB_ACT_CUT:
		v->cut = spec->len;
		break;
	case VIB_ACT_DELAY:
		v->delay += spec->us * NSEC_PER_USEC;
		if (spec->jitter)
			v->delay += prandom_u32_state(&rule->rnd) % spec->jitter * NSEC_PER_USEC;
		break;
	case VIB_ACT_HOLD:
		v->hold = rule;
		break;
	}
}

/* Shows the packet to the rules of a stage; its lock is held */
static void stage_judge(struct vib_fault *stage, const struct vib_pkt *pkt, const u8 *head, u32 len,
			struct fault_verdict *v)
{
	struct vib_rule *rule;

	lockdep_assert_held(&stage->lock);
	list_for_each_entry(rule, &stage->rules, entry) {
		if (!rule_matches(&rule->spec, pkt, head, len))
			continue;
		if (rule->held && !--rule->held_left) {
			v->release = rule->held;
			rule->held = NULL;
			rule->seen++;
			continue;
		}
		if (rule_hits(rule))
			rule_apply(rule, pkt, v);
	}
}

static void fault_drop(struct vib_lport *out, struct vib_lport *in, bool leaving, bool crc)
{
	if (crc) {
		vib_lport_err(in, VIB_ERR_SYMBOL);
		vib_lport_err(in, VIB_ERR_RCV);
	} else if (leaving) {
		vib_lport_err(out, VIB_ERR_XMIT_DISCARD);
	}
	vib_lport_drop(leaving ? out : in, VIB_DROP_FAULT);
}

/* The packet as a frame with all that was done to it */
static struct vib_frame *fault_frame(const struct vib_pkt *pkt, const struct fault_verdict *v)
{
	struct vib_frame *frame = vib_frame_alloc(pkt, 0);

	if (!frame)
		return NULL;
	if (v->flip) {
		frame->data[v->flip_bit / 8] ^= BIT(v->flip_bit % 8);
		frame->pkt.csum_ok = false;
	}
	if (v->cut && v->cut < frame->pkt.len)
		vib_frame_resize(frame, v->cut);
	return frame;
}

/* One stage of the way; true if the packet does not go on from here by itself */
static bool stage_pass(struct vib_fault *stage, struct vib_lport *out, struct vib_lport *in,
		       bool leaving, const struct vib_pkt *pkt, unsigned int hops)
{
	struct fault_verdict v = {};
	struct vib_frame *frame;
	u8 head[FAULT_PEEK];
	unsigned long flags;
	bool gone, kept;
	u32 len;

	len = vib_pkt_copy(pkt, head, 0, sizeof(head));
	spin_lock_irqsave(&stage->lock, flags);
	stage_judge(stage, pkt, head, len, &v);
	gone = v.drop || v.flip || v.cut || v.delay || v.hold;
	kept = v.hold && !v.drop;
	if (kept) {
		v.hold->held = fault_frame(pkt, &v);
		v.hold->held_left = v.hold->spec.after;
	}
	spin_unlock_irqrestore(&stage->lock, flags);

	if (v.drop)
		fault_drop(out, in, leaving, v.crc);
	if (gone && !v.drop && !kept) {
		frame = fault_frame(pkt, &v);
		if (frame)
			vib_frame_send(frame, in, hops, v.delay);
	}
	if (v.dup && !v.drop) {
		frame = fault_frame(pkt, &v);
		if (frame)
			vib_frame_send(frame, in, hops, v.delay);
	}
	if (v.release)
		vib_frame_send(v.release, in, hops, v.delay);
	return gone;
}

/**
 * __vib_fault_cross - a packet is on the cable between two ports
 * @out: port that it has left
 * @in: port at which it would arrive
 * @pkt: packet
 * @hops: what vib_frame_send() wants to know
 *
 * Context: the sender's, under RCU.
 * Return: true if it does not arrive now; it may do so later, or never.
 */
bool __vib_fault_cross(struct vib_lport *out, struct vib_lport *in, const struct vib_pkt *pkt,
		       unsigned int hops)
{
	struct vib_fault *stage;

	stage = rcu_dereference(out->fault[VIB_FAULT_OUT]);
	if (stage && stage_pass(stage, out, in, true, pkt, hops))
		return true;
	stage = rcu_dereference(in->fault[VIB_FAULT_IN]);
	return stage && stage_pass(stage, out, in, false, pkt, hops);
}

/**
 * vib_fault_add - add a rule to a stage
 * @lp: link port
 * @dir: the stage for packets that leave, or for those that arrive
 * @spec: the rule
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0 or -ENOMEM.
 */
int vib_fault_add(struct vib_lport *lp, enum vib_fault_dir dir, const struct vib_rule_spec *spec)
{
	struct vib_fault *stage = rcu_dereference_protected(lp->fault[dir], true);
	struct vib_rule *rule;

	rule = kzalloc(sizeof(*rule), GFP_KERNEL);
	if (!rule)
		return -ENOMEM;
	rule->spec = *spec;
	rule->left = spec->count;
	prandom_seed_state(&rule->rnd, spec->seed);
	if (!stage) {
		stage = kzalloc(sizeof(*stage), GFP_KERNEL);
		if (!stage) {
			kfree(rule);
			return -ENOMEM;
		}
		spin_lock_init(&stage->lock);
		INIT_LIST_HEAD(&stage->rules);
		rcu_assign_pointer(lp->fault[dir], stage);
		static_branch_inc(&vib_fault_key);
	}
	spin_lock_irq(&stage->lock);
	list_add_tail(&rule->entry, &stage->rules);
	spin_unlock_irq(&stage->lock);
	return 0;
}

/**
 * vib_fault_clear - take all rules away from both stages of a port
 * @lp: link port
 *
 * What a rule has kept is lost; what is delayed arrives.
 *
 * Context: process, may sleep; vib_ctl_mutex held, or the port is going away.
 */
void vib_fault_clear(struct vib_lport *lp)
{
	struct vib_rule *rule, *next;
	struct vib_fault *stage;
	int dir;

	for (dir = 0; dir < VIB_FAULT_DIRS; dir++) {
		stage = rcu_replace_pointer(lp->fault[dir], NULL, true);
		if (!stage)
			continue;
		static_branch_dec(&vib_fault_key);
		synchronize_rcu();
		list_for_each_entry_safe(rule, next, &stage->rules, entry) {
			kfree(rule->held);
			kfree(rule);
		}
		kfree(stage);
	}
}

static void fault_show_rule(struct seq_file *s, const struct vib_lport *lp, int dir,
			    const struct vib_rule *rule)
{
	seq_printf(s, "port=%s:%u dir=%s class=%s do=%s seen=%llu hit=%llu held=%d\n",
		   lp->node->name, lp->num, dir == VIB_FAULT_IN ? "in" : "out",
		   class_names[rule->spec.class], act_names[rule->spec.act], rule->seen,
		   rule->hit, !!rule->held);
}

static void fault_show_port(struct seq_file *s, const struct vib_lport *lp)
{
	const struct vib_rule *rule;
	struct vib_fault *stage;
	int dir;

	for (dir = 0; dir < VIB_FAULT_DIRS; dir++) {
		stage = rcu_dereference_protected(lp->fault[dir],
						  lockdep_is_held(&vib_ctl_mutex));
		if (!stage)
			continue;
		spin_lock_irq(&stage->lock);
		list_for_each_entry(rule, &stage->rules, entry)
			fault_show_rule(s, lp, dir, rule);
		spin_unlock_irq(&stage->lock);
	}
}

/**
 * vib_faults_show - print all rules with what they have done, and the stored packets
 * @s: where to
 * @unused: not used
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int vib_faults_show(struct seq_file *s, void *unused)
{
	const struct vib_lport *lp;
	struct vib_node *node;
	unsigned int waiting;
	unsigned int i;
	u64 lost;

	mutex_lock(&vib_ctl_mutex);
	mutex_lock(&vib_topo_mutex);
	list_for_each_entry(node, &vib_nodes, entry) {
		for (i = 0; i <= node->nports; i++) {
			lp = vib_node_port(node, i);
			if (lp)
				fault_show_port(s, lp);
		}
	}
	mutex_unlock(&vib_topo_mutex);
	mutex_unlock(&vib_ctl_mutex);
	waiting = vib_frames_stat(&lost);
	seq_printf(s, "frames waiting=%u lost=%llu\n", waiting, lost);
	return 0;
}
