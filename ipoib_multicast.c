// SPDX-License-Identifier: GPL-2.0
/*
 * Multicast groups: RFC 4391 sections 5 and 10.
 *
 * A group is a target whose address handle comes from an MCMemberRecord.  The
 * broadcast group is a group like any other with a role: it dictates Q_Key, MTU
 * and the rest to all others, and these wait until it is joined and attached.
 *
 *	idle -> joining (mc set) -> joined (mc set, joined) -> left (killed)
 *	          \-> idle again, next_try in the future
 *
 * Groups in the device list are joined as full member and attached to the queue
 * pair.  Groups that somebody only sends to are joined as send-only full
 * member and not attached; should the SM not know that join state, a plain full
 * membership takes its place.
 *
 * Programs may ask for thousands of groups.  These line up for the SA, but for
 * the broadcast group, which does not wait.  A fabric has only so many groups:
 * the more of ours fail, the longer is the pause before each tries again.
 *
 * When the SM asks us to register again a group joins anew but stays attached
 * and keeps its address handle, so that nothing is lost meanwhile.
 *
 * The SA calls back in process context; the callback stores the answer and
 * queues the group.  It never frees the membership: the worker does, and
 * ib_sa_free_multicast() waits for a callback under way but not for the SA.
 *
 * Context: make_sendonly runs in transmit, all else under ctl_mutex.
 */
#include "ipoib_multicast.h"

#include <linux/ratelimit.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string_choices.h>

#include "ipoib.h"
#include "ipoib_ib.h"
#include "ipoib_target.h"
#include "ipoib_trace.h"

#define IPOIB_JOIN_FULL		BIT(FULLMEMBER_JOIN)
#define IPOIB_JOIN_SENDONLY	BIT(SENDONLY_FULLMEMBER_JOIN)

#define IPOIB_MCAST_MASK_BCAST						\
	(IB_SA_MCMEMBER_REC_MGID | IB_SA_MCMEMBER_REC_PORT_GID |	\
	 IB_SA_MCMEMBER_REC_PKEY | IB_SA_MCMEMBER_REC_JOIN_STATE)

#define IPOIB_MCAST_MASK_GROUP						\
	(IPOIB_MCAST_MASK_BCAST | IB_SA_MCMEMBER_REC_QKEY |		\
	 IB_SA_MCMEMBER_REC_MTU_SELECTOR | IB_SA_MCMEMBER_REC_MTU |	\
	 IB_SA_MCMEMBER_REC_TRAFFIC_CLASS |				\
	 IB_SA_MCMEMBER_REC_RATE_SELECTOR | IB_SA_MCMEMBER_REC_RATE |	\
	 IB_SA_MCMEMBER_REC_SL | IB_SA_MCMEMBER_REC_FLOW_LABEL |	\
	 IB_SA_MCMEMBER_REC_HOP_LIMIT)

#define IPOIB_MCAST_EXACTLY	2	/* selector of MTU and rate */
#define IPOIB_MCAST_WARNINGS	20	/* for one group, and in ten seconds */
#define IPOIB_MCAST_RETRIES	64	/* in a second, of all groups */
#define IPOIB_MCAST_NO_SM	msecs_to_jiffies(50)

static DEFINE_RATELIMIT_STATE(mcast_warnings, 10 * HZ, IPOIB_MCAST_WARNINGS);

/**
 * struct ipoib_group - a multicast group
 * @t: what packets see of it
 * @mc: membership at the SA, or a join under way
 * @asking: a join is under way that others wait for
 * @joined: @mc is a membership
 * @listed: the stack wants to receive from it
 * @fallback: send-only, joined as full member for an old SM
 * @attached: the queue pair receives from it
 * @mlid: LID that it is attached with
 * @rec: record of the membership, valid once @joined was true
 * @backoff: seconds waited before the last try
 * @tries: joins that failed since the last success
 * @last_error: why the last join failed, 0 if it did not
 * @next_try: no join before this time, in ticks
 * @round: comparison with the device list that has seen it
 * @created: time in ticks
 * @answered: the SA has called back; under t.lock, with the two below
 * @status: what it said
 * @answer: its record
 *
 * All but the last three under ctl_mutex.
 */
struct ipoib_group {
	struct ipoib_target t;
	struct ib_sa_multicast *mc;
	bool asking;
	bool joined;
	bool listed;
	bool fallback;
	bool attached;
	u16 mlid;
	struct ib_sa_mcmember_rec rec;
	u32 backoff;
	u32 tries;
	int last_error;
	unsigned long next_try;
	u32 round;
	unsigned long created;

	bool answered;
	int status;
	struct ib_sa_mcmember_rec answer;
};

static struct ipoib_group *to_group(struct ipoib_target *t)
{
	return container_of(t, struct ipoib_group, t);
}

static bool group_is_bcast(const struct ipoib_group *g)
{
	return g == g->t.dev->mcast.bcast;
}

static struct ipoib_group *group_new(struct ipoib_dev *d, const u8 *mgid,
				     gfp_t gfp)
{
	struct ipoib_group *g = kzalloc(sizeof(*g), gfp);

	BUILD_BUG_ON(offsetof(struct ipoib_group, t));

	if (!g)
		return NULL;
	ipoib_target_setup(&g->t, d, IPOIB_TARGET_GROUP, mgid);
	g->created = jiffies;
	g->next_try = jiffies;
	return g;
}

/**
 * ipoib_mcast_make_sendonly - find or make a group to send to
 * @d: interface
 * @mgid: 16 bytes of MGID
 *
 * A new group is queued for the worker, which will join it.
 *
 * Context: transmit, RCU read side.
 * Return: the group's target, without a reference, or an ERR_PTR.
 */
struct ipoib_target *ipoib_mcast_make_sendonly(struct ipoib_dev *d,
					       const u8 *mgid)
{
	struct ipoib_target *t;
	struct ipoib_group *g;

	g = group_new(d, mgid, GFP_ATOMIC);
	if (!g)
		return ERR_PTR(-ENOMEM);

	g->t.wanted = true;
	g->t.stranger = true;
	t = ipoib_target_insert(&g->t);
	if (t != &g->t)
		kfree(g);
	return t;
}

static int group_join_done(int status, struct ib_sa_multicast *mc)
{
	struct ipoib_group *g = mc->context;

	/* a port event: the driver hears of it itself */
	if (status == -ENETRESET)
		return 0;

	spin_lock_bh(&g->t.lock);
	g->answered = true;
	g->status = status;
	if (!status)
		g->answer = mc->rec;
	spin_unlock_bh(&g->t.lock);

	ipoib_target_queue(&g->t);
	return 0;
}

static u8 group_join_state(const struct ipoib_group *g)
{
	if (g->listed || g->fallback || group_is_bcast(g))
		return IPOIB_JOIN_FULL;
	return IPOIB_JOIN_SENDONLY;
}

static void group_fill_rec(const struct ipoib_group *g,
			   struct ib_sa_mcmember_rec *rec)
{
	const struct ipoib_dev *d = g->t.dev;
	const struct ib_sa_mcmember_rec *bcast;

	rec->mgid = g->t.gid;
	rec->port_gid = d->gid;
	rec->pkey = cpu_to_be16(d->pkey);
	rec->join_state = group_join_state(g);
	if (group_is_bcast(g))
		return;

	bcast = &d->mcast.bcast->rec;
	rec->qkey = bcast->qkey;
	rec->mtu_selector = IPOIB_MCAST_EXACTLY;
	rec->mtu = bcast->mtu;
	rec->traffic_class = bcast->traffic_class;
	rec->rate_selector = IPOIB_MCAST_EXACTLY;
	rec->rate = bcast->rate;
	rec->sl = bcast->sl;
	rec->flow_label = bcast->flow_label;
	rec->hop_limit = bcast->hop_limit;
}

static void group_warn(struct ipoib_group *g, int status)
{
	struct net_device *dev = g->t.dev->dev;
	bool quiet = status == -ETIMEDOUT || status == -EAGAIN;

	if (group_join_state(g) == IPOIB_JOIN_SENDONLY)
		quiet = true;
	if (quiet || g->tries >= IPOIB_MCAST_WARNINGS ||
	    !__ratelimit(&mcast_warnings)) {
		ipoib_mcast_dbg(g->t.dev, "join of %pI6 failed: %pe\n",
				g->t.gid.raw, ERR_PTR(status));
		return;
	}
	netdev_warn(dev, "join of multicast group %pI6 failed: %pe\n",
		    g->t.gid.raw, ERR_PTR(status));
}

static void group_has_asked(struct ipoib_group *g)
{
	if (g->asking)
		ipoib_target_has_asked(&g->t);
	g->asking = false;
}

static void group_free_mc(struct ipoib_group *g)
{
	group_has_asked(g);
	if (g->mc)
		ib_sa_free_multicast(g->mc);
	g->mc = NULL;
	g->joined = false;
	/* an answer that came just before is about the membership just freed */
	spin_lock_bh(&g->t.lock);
	g->answered = false;
	spin_unlock_bh(&g->t.lock);
}

static void group_detach(struct ipoib_group *g)
{
	if (!g->attached)
		return;
	ipoib_ib_detach(g->t.dev, &g->t.gid, g->mlid);
	g->attached = false;
}

static bool group_has_ah(const struct ipoib_group *g)
{
	return rcu_access_pointer(g->t.ah) || g->t.next_ah;
}

static bool group_gave_up(const struct ipoib_group *g)
{
	/* with a handle it still works for all we know: go on, ever slower */
	return !g->listed && !group_is_bcast(g) && !group_has_ah(g) &&
	       g->tries >= IPOIB_SENDONLY_TRIES;
}

/* Forget that joins failed, and do not wait before the next one */
static void group_start_over(struct ipoib_group *g)
{
	if (g->tries)
		g->t.dev->mcast.failing--;
	g->tries = 0;
	g->backoff = 0;
	g->next_try = jiffies;
}

static void group_pause(struct ipoib_group *g)
{
	u32 least = g->t.dev->mcast.failing / IPOIB_MCAST_RETRIES;

	if (group_is_bcast(g))
		least = 0;
	g->backoff = ipoib_policy_backoff(g->backoff);
	g->next_try = jiffies + max(g->backoff, least) * HZ;
}

static void group_failed(struct ipoib_group *g, int status)
{
	group_free_mc(g);
	g->last_error = status;
	group_warn(g, status);
	if (status == -EAGAIN) {
		/* no SM to ask yet */
		g->next_try = jiffies + IPOIB_MCAST_NO_SM;
		return;
	}

	if (!g->tries++)
		g->t.dev->mcast.failing++;
	if (status == -EINVAL && !g->fallback &&
	    group_join_state(g) == IPOIB_JOIN_SENDONLY) {
		g->fallback = true;
		g->next_try = jiffies;
	} else {
		group_pause(g);
	}
	if (!group_gave_up(g))
		return;

	/* start over when somebody sends again */
	ipoib_target_give_up(&g->t, SKB_DROP_REASON_NEIGH_FAILED);
	group_start_over(g);
	g->fallback = false;
}

static int group_use_bcast(struct ipoib_group *g)
{
	struct ipoib_dev *d = g->t.dev;
	int mtu = rdma_mtu_enum_to_int(d->ca, d->port, g->rec.mtu);
	int err;

	if (mtu < IPOIB_MTU_MIN + IPOIB_ENCAP_LEN)
		return -EINVAL;
	err = ipoib_ib_set_qkey(d, be32_to_cpu(g->rec.qkey));
	if (err)
		return err;
	WRITE_ONCE(d->mcast.qkey, be32_to_cpu(g->rec.qkey));
	WRITE_ONCE(d->mcast.mtu, mtu);
	return 0;
}

static int group_attach(struct ipoib_group *g)
{
	u16 mlid = be16_to_cpu(g->rec.mlid);
	int err;

	if (g->attached && g->mlid == mlid)
		return 0;
	group_detach(g);
	err = ipoib_ib_attach(g->t.dev, &g->t.gid, mlid);
	if (err)
		return err;
	g->attached = true;
	g->mlid = mlid;
	return 0;
}

static int group_use(struct ipoib_group *g)
{
	struct ipoib_dev *d = g->t.dev;
	struct rdma_ah_attr attr = {};
	int err;

	if (group_is_bcast(g)) {
		err = group_use_bcast(g);
		if (err)
			return err;
	}
	if (g->listed || group_is_bcast(g)) {
		err = group_attach(g);
		if (err)
			return err;
	}
	err = ib_init_ah_from_mcmember(d->ca, d->port, &g->rec, NULL,
				       IB_GID_TYPE_IB, &attr);
	if (err)
		return err;
	err = ipoib_target_set_ah(&g->t, &attr);
	rdma_destroy_ah_attr(&attr);
	return err;
}

/* The broadcast group is there: now the others may join */
static void mcast_now_ready(struct ipoib_dev *d)
{
	d->mcast.ready = true;
	d->mcast.dirty = true;
	ipoib_target_queue_all(d, IPOIB_TARGET_GROUP);
}

/* An answer may be about another group, or cut short */
static bool group_answer_ok(const struct ipoib_group *g)
{
	return !memcmp(&g->answer.mgid, &g->t.gid, sizeof(g->t.gid)) &&
	       be16_to_cpu(g->answer.mlid) >=
	       be16_to_cpu(IB_MULTICAST_LID_BASE);
}

static void group_answered(struct ipoib_group *g, int status)
{
	struct ipoib_dev *d = g->t.dev;

	if (!status && !group_answer_ok(g))
		status = -EPROTO;
	if (!status) {
		g->rec = g->answer;
		status = group_use(g);
	}
	trace_ipoib_join(d->dev, g->t.gid.raw, status);
	if (status) {
		group_failed(g, status);
		return;
	}

	ipoib_mcast_dbg(d, "joined %pI6, MLID 0x%04x\n", g->t.gid.raw,
			be16_to_cpu(g->rec.mlid));
	g->joined = true;
	g->last_error = 0;
	group_start_over(g);
	if (group_is_bcast(g))
		mcast_now_ready(d);
}

static void group_join(struct ipoib_group *g)
{
	struct ipoib_dev *d = g->t.dev;
	struct ib_sa_mcmember_rec rec = {};
	struct ib_sa_multicast *mc;

	WRITE_ONCE(g->t.detoured, false);
	group_fill_rec(g, &rec);
	ipoib_mcast_dbg(d, "joining %pI6, join state %u\n", g->t.gid.raw,
			rec.join_state);
	mc = ib_sa_join_multicast(&ipoib_sa_client, d->ca, d->port, &rec,
				  group_is_bcast(g) ? IPOIB_MCAST_MASK_BCAST :
						      IPOIB_MCAST_MASK_GROUP,
				  GFP_KERNEL, group_join_done, g);
	if (IS_ERR(mc))
		group_failed(g, PTR_ERR(mc));
	else
		g->mc = mc;
}

static bool group_may_ask(struct ipoib_group *g)
{
	if (group_is_bcast(g))
		return true;
	g->asking = ipoib_target_may_ask(&g->t);
	return g->asking;
}

static void group_try(struct ipoib_group *g)
{
	struct ipoib_dev *d = g->t.dev;

	if (g->mc || (d->state != IPOIB_JOINING && d->state != IPOIB_LIVE))
		return;
	if (!group_is_bcast(g) && !d->mcast.ready)
		return;
	/* given up, or nothing to send: wait for a packet */
	if (!g->listed && !group_is_bcast(g) && !g->tries &&
	    !group_has_ah(g) && !READ_ONCE(g->t.detoured) &&
	    ipoib_target_await(&g->t))
		return;

	if (!time_before(jiffies, g->next_try)) {
		if (!group_may_ask(g))
			return;
		group_join(g);
	}
	if (!g->mc)
		ipoib_target_later(&g->t, g->next_try);
}

/**
 * ipoib_mcast_step - let a group do what is due
 * @t: the group's target
 *
 * Context: ctl_mutex, may sleep.
 */
void ipoib_mcast_step(struct ipoib_target *t)
{
	struct ipoib_group *g = to_group(t);
	bool answered;
	int status;

	if (t->dead)
		return;

	spin_lock_bh(&t->lock);
	answered = g->answered;
	status = g->status;
	g->answered = false;
	spin_unlock_bh(&t->lock);

	if (answered && g->mc) {
		group_has_asked(g);
		group_answered(g, status);
	}
	ipoib_target_resume(t);
	group_try(g);
}

/**
 * ipoib_mcast_kill - leave a group and forget it
 * @t: the group's target
 *
 * Context: ctl_mutex, may sleep; does not wait for the SA.
 */
void ipoib_mcast_kill(struct ipoib_target *t)
{
	struct ipoib_group *g = to_group(t);

	if (t->dead)
		return;
	if (g->joined)
		trace_ipoib_leave(t->dev->dev, t->gid.raw, 0);
	group_free_mc(g);
	group_start_over(g);
	group_detach(g);
	ipoib_target_kill(t);
}

/**
 * ipoib_mcast_forget_bcast - the broadcast group has been killed
 * @d: interface
 *
 * Context: ctl_mutex.
 */
void ipoib_mcast_forget_bcast(struct ipoib_dev *d)
{
	struct ipoib_group *bcast = d->mcast.bcast;

	d->mcast.ready = false;
	d->mcast.dirty = true;
	if (!bcast)
		return;
	d->mcast.bcast = NULL;
	ipoib_target_put(&bcast->t);
}

/**
 * ipoib_mcast_rejoin - the SM has forgotten our membership: join again
 * @t: the group's target; stays attached and usable meanwhile
 *
 * Context: ctl_mutex, may sleep.
 */
void ipoib_mcast_rejoin(struct ipoib_target *t)
{
	struct ipoib_group *g = to_group(t);

	group_free_mc(g);
	group_start_over(g);
	g->fallback = false;
	if (group_is_bcast(g))
		t->dev->mcast.ready = false;
	ipoib_target_queue(t);
}

/**
 * ipoib_mcast_sweepable - may a group be left when nobody sends to it?
 * @t: the group's target
 *
 * Context: ctl_mutex.
 * Return: true for groups that were joined for sending only.
 */
bool ipoib_mcast_sweepable(struct ipoib_target *t)
{
	struct ipoib_group *g = to_group(t);

	return !g->listed && !group_is_bcast(g);
}

/**
 * ipoib_mcast_traffic_class - TClass of the partition
 * @d: interface
 *
 * Context: ctl_mutex.
 * Return: TClass of the broadcast group, 0 before it is joined.
 */
u8 ipoib_mcast_traffic_class(struct ipoib_dev *d)
{
	return d->mcast.bcast ? d->mcast.bcast->rec.traffic_class : 0;
}

/**
 * ipoib_mcast_bcast_status - how the broadcast group is doing
 * @d: interface
 *
 * Context: ctl_mutex.
 * Return: 0 when it is joined or being joined, or why the last join failed.
 */
int ipoib_mcast_bcast_status(struct ipoib_dev *d)
{
	return d->mcast.bcast ? d->mcast.bcast->last_error : 0;
}

/**
 * ipoib_mcast_show - a group for debugfs
 * @t: the group's target
 * @s: where to print it
 *
 * Context: ctl_mutex.
 */
void ipoib_mcast_show(struct ipoib_target *t, struct seq_file *s)
{
	struct ipoib_group *g = to_group(t);

	seq_printf(s, "  created: %10ld\n", g->created);
	seq_printf(s, "  queuelen: %9u\n", skb_queue_len_lockless(&t->parked));
	seq_printf(s, "  complete: %9s\n",
		   str_yes_no(rcu_access_pointer(t->ah)));
	seq_printf(s, "  send_only: %8s\n",
		   str_yes_no(!g->listed && !group_is_bcast(g)));
}

static void mcast_make_bcast(struct ipoib_dev *d)
{
	struct ipoib_target *t;
	struct ipoib_group *g;
	u8 hw[IPOIB_ALEN];

	netif_addr_lock_bh(d->dev);
	memcpy(hw, d->dev->broadcast, IPOIB_ALEN);
	netif_addr_unlock_bh(d->dev);
	ipoib_addr_set_pkey(hw, d->pkey);

	g = group_new(d, ipoib_addr_gid(hw), GFP_KERNEL);
	if (!g) {
		ipoib_retry(d, HZ);
		return;
	}
	rcu_read_lock();
	t = ipoib_target_insert(&g->t);
	if (t != &g->t)
		kfree(g);
	/* the address may be that of a port: an administrator can set any */
	if (IS_ERR(t) || t->kind != IPOIB_TARGET_GROUP) {
		rcu_read_unlock();
		ipoib_retry(d, HZ);
		return;
	}
	ipoib_target_get(t);
	rcu_read_unlock();

	ipoib_target_known(t);
	d->mcast.bcast = to_group(t);
	memcpy(d->rxq.self.mgid, t->gid.raw, IPOIB_GID_LEN);
	ipoib_target_queue(t);
}

/* Addresses of the device list, copied so that its lock is a leaf */
static u8 (*mcast_copy_list(struct ipoib_dev *d, u32 *count))[IPOIB_ALEN]
{
	struct net_device *dev = d->dev;
	struct netdev_hw_addr *ha;
	u8 (*list)[IPOIB_ALEN];
	u32 room;

	do {
		room = READ_ONCE(dev->mc.count);
		*count = 0;
		list = kvcalloc(room + 1, IPOIB_ALEN, GFP_KERNEL);
		if (!list)
			return NULL;

		netif_addr_lock_bh(dev);
		if (dev->mc.count <= room) {
			netdev_for_each_mc_addr(ha, dev)
				if (ipoib_addr_in_partition(ha->addr,
							    dev->broadcast))
					memcpy(list[(*count)++], ha->addr,
					       IPOIB_ALEN);
			netif_addr_unlock_bh(dev);
			return list;
		}
		netif_addr_unlock_bh(dev);
		kvfree(list);
	} while (true);
}

static bool mcast_left_to_user(struct ipoib_dev *d, const u8 *mgid)
{
	struct ib_sa_mcmember_rec rec;
	union ib_gid gid;

	if (!READ_ONCE(d->umcast))
		return false;
	memcpy(gid.raw, mgid, sizeof(gid.raw));
	return !ib_sa_get_mcmember_rec(d->ca, d->port, &gid, &rec);
}

static void mcast_again(struct ipoib_dev *d)
{
	d->mcast.dirty = true;
	ipoib_retry(d, HZ);
}

static void mcast_list_one(struct ipoib_dev *d, const u8 *mgid)
{
	struct ipoib_target *t;
	struct ipoib_group *g;

	rcu_read_lock();
	t = ipoib_target_find(d, mgid);
	rcu_read_unlock();
	/* only the worker kills, so that t stays valid */
	if (!t && mcast_left_to_user(d, mgid))
		return;
	if (!t) {
		g = group_new(d, mgid, GFP_KERNEL);
		if (!g) {
			mcast_again(d);
			return;
		}
		g->listed = true;
		rcu_read_lock();
		t = ipoib_target_insert(&g->t);
		rcu_read_unlock();
		if (t != &g->t)
			kfree(g);
		if (IS_ERR(t)) {
			mcast_again(d);
			return;
		}
	}
	if (t->kind != IPOIB_TARGET_GROUP)
		return;

	g = to_group(t);
	g->round = d->mcast.round;
	if (!g->listed && !group_is_bcast(g)) {
		/* so far we only sent: become a full member */
		group_free_mc(g);
		group_start_over(g);
	}
	g->listed = true;
	ipoib_target_known(t);
	ipoib_target_queue(t);
}

static void mcast_kill_unlisted(struct ipoib_dev *d)
{
	struct ipoib_target *t, *next;
	struct ipoib_group *g;
	LIST_HEAD(victims);

	spin_lock_bh(&d->tbl_lock);
	list_for_each_entry_safe(t, next, &d->all_targets, all) {
		if (t->kind != IPOIB_TARGET_GROUP)
			continue;
		g = to_group(t);
		if (g->listed && !group_is_bcast(g) &&
		    g->round != d->mcast.round)
			list_move_tail(&t->all, &victims);
	}
	spin_unlock_bh(&d->tbl_lock);

	while ((t = list_first_entry_or_null(&victims, struct ipoib_target,
					     all)))
		ipoib_mcast_kill(t);
}

static void mcast_follow_list(struct ipoib_dev *d)
{
	u8 (*list)[IPOIB_ALEN];
	u32 i, count;

	/* groups of the list are still those of another partition */
	if (READ_ONCE(d->published_pkey) != d->pkey)
		return;

	d->mcast.dirty = false;
	list = mcast_copy_list(d, &count);
	if (!list) {
		mcast_again(d);
		return;
	}

	d->mcast.round++;
	for (i = 0; i < count; i++)
		mcast_list_one(d, ipoib_addr_gid(list[i]));
	kvfree(list);
	mcast_kill_unlisted(d);
}

/**
 * ipoib_mcast_run - see to the groups of an interface whose port is ACTIVE
 * @d: interface in JOINING or LIVE
 *
 * Context: ctl_mutex, may sleep.
 */
void ipoib_mcast_run(struct ipoib_dev *d)
{
	if (!d->mcast.bcast)
		mcast_make_bcast(d);
	if (d->mcast.ready && d->mcast.dirty)
		mcast_follow_list(d);
}
