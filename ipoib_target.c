// SPDX-License-Identifier: GPL-2.0
/*
 * Where packets go.
 *
 * A target is the common head of a path and of a multicast group: a GID, an
 * address handle once it is known, and the packets that wait for it.  This
 * room owns the table of all targets, the queue of those that the control
 * worker has to look at, and the life of address handles.  It does not know
 * why a target exists.
 *
 * Life of a target: set up, inserted (the table owns a reference), killed
 * (out of the table, marked dead, parked packets dropped), freed by RCU with
 * the last reference.  Readers find targets under RCU; whoever keeps one takes
 * a reference.
 *
 * Life of an address handle: published in target->ah, replaced or dropped by
 * the worker, then retired: one RCU grace period lets all transmits that still
 * saw it finish their posts; after that the head of the ring is its stamp, and
 * when the tail has passed the stamp nothing in the ring names the handle and
 * the worker destroys it.
 *
 * Contexts: find, insert, park and queue run in transmit (softirq); all else in
 * the control worker or in stop, under ctl_mutex.
 */
#include "ipoib_target.h"

#include <linux/jhash.h>
#include <linux/rhashtable.h>
#include <linux/slab.h>

#include "ipoib.h"

#define IPOIB_PARK_BYTES	SK_WMEM_MAX	/* per unicast path */
#define IPOIB_PARK_MCAST	64		/* packets per group */
#define IPOIB_SA_QUESTIONS	64		/* at a time, of a kind */

static const struct rhashtable_params ipoib_target_params = {
	.key_len = sizeof(union ib_gid),
	.key_offset = offsetof(struct ipoib_target, gid),
	.head_offset = offsetof(struct ipoib_target, node),
	.automatic_shrinking = true,
};

/**
 * ipoib_target_table_init - make the table of an interface
 * @d: interface
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno.
 */
int ipoib_target_table_init(struct ipoib_dev *d)
{
	int kind;

	spin_lock_init(&d->tbl_lock);
	spin_lock_init(&d->todo_lock);
	INIT_LIST_HEAD(&d->all_targets);
	INIT_LIST_HEAD(&d->todo);
	INIT_LIST_HEAD(&d->later);
	for (kind = 0; kind < IPOIB_TARGET_KINDS; kind++)
		INIT_LIST_HEAD(&d->lines[kind].waiting);
	init_llist_head(&d->retired);
	INIT_LIST_HEAD(&d->reaping);

	return rhashtable_init(&d->targets, &ipoib_target_params);
}

/**
 * ipoib_target_table_fini - free the table; all targets have been killed
 * @d: interface
 *
 * Context: process, may sleep.
 */
void ipoib_target_table_fini(struct ipoib_dev *d)
{
	WARN_ON_ONCE(!list_empty(&d->all_targets));
	rhashtable_destroy(&d->targets);
}

/**
 * ipoib_target_find - look a target up
 * @d: interface
 * @gid: 16 bytes of GID or MGID
 *
 * Context: RCU read side.
 * Return: the target, no reference taken, or NULL.
 */
struct ipoib_target *ipoib_target_find(struct ipoib_dev *d, const u8 *gid)
{
	return rhashtable_lookup(&d->targets, gid, ipoib_target_params);
}

/**
 * ipoib_target_setup - fill the head of a new path or group
 * @t: target inside freshly zeroed memory, the first member of its object
 * @d: interface
 * @kind: path or group
 * @gid: 16 bytes of GID or MGID
 *
 * The caller owns the one reference.
 *
 * Context: any.
 */
void ipoib_target_setup(struct ipoib_target *t, struct ipoib_dev *d,
			enum ipoib_target_kind kind, const u8 *gid)
{
	memcpy(t->gid.raw, gid, sizeof(t->gid.raw));
	t->used = jiffies;
	t->kind = kind;
	t->dev = d;
	spin_lock_init(&t->lock);
	__skb_queue_head_init(&t->parked);
	refcount_set(&t->ref, 1);
	INIT_HLIST_HEAD(&t->conns);
	INIT_LIST_HEAD(&t->todo);
	INIT_LIST_HEAD(&t->later);
	INIT_LIST_HEAD(&t->all);
}

/**
 * ipoib_target_insert - put a target into the table
 * @t: target just set up; the table takes over its reference
 *
 * Context: RCU read side, softirq or process.
 * Return: @t; or the target that somebody else inserted first, or an ERR_PTR
 * when the table is full.  In both of these cases @t is still the caller's.
 */
struct ipoib_target *ipoib_target_insert(struct ipoib_target *t)
{
	struct ipoib_dev *d = t->dev;
	struct ipoib_target *old;

	spin_lock_bh(&d->tbl_lock);
	old = rhashtable_lookup_get_insert_fast(&d->targets, &t->node,
						ipoib_target_params);
	if (!old) {
		list_add_tail(&t->all, &d->all_targets);
		d->strangers[t->kind] += t->stranger;
	}
	spin_unlock_bh(&d->tbl_lock);

	return old ? old : t;
}

/**
 * ipoib_target_get - take a reference
 * @t: target on which the caller has one already, or that is in the table
 *
 * Context: any.
 */
void ipoib_target_get(struct ipoib_target *t)
{
	refcount_inc(&t->ref);
}

/**
 * ipoib_target_put - drop a reference
 * @t: target; gone after this if it was the last one
 *
 * Context: any.
 */
void ipoib_target_put(struct ipoib_target *t)
{
	if (refcount_dec_and_test(&t->ref))
		kfree_rcu(t, rcu);
}

/**
 * ipoib_target_purge - drop all packets that wait
 * @t: target
 * @reason: why
 *
 * Context: process or softirq, no lock held.
 */
void ipoib_target_purge(struct ipoib_target *t, enum skb_drop_reason reason)
{
	struct sk_buff_head list;
	struct sk_buff *skb;

	__skb_queue_head_init(&list);
	spin_lock_bh(&t->lock);
	skb_queue_splice_init(&t->parked, &list);
	t->parked_bytes = 0;
	spin_unlock_bh(&t->lock);

	while ((skb = __skb_dequeue(&list))) {
		dev_core_stats_tx_dropped_inc(t->dev->dev);
		kfree_skb_reason(skb, reason);
	}
}

/**
 * ipoib_target_give_up - drop all packets that wait, and wait for another one
 * @t: target
 * @reason: why
 *
 * A packet that comes from now on has the worker visit the target.
 *
 * Context: ctl_mutex.
 */
void ipoib_target_give_up(struct ipoib_target *t, enum skb_drop_reason reason)
{
	WRITE_ONCE(t->wanted, true);
	ipoib_target_purge(t, reason);
}

/**
 * ipoib_target_await - wait for a packet, if none waits yet
 * @t: target
 *
 * Transmit looks at t->wanted after it has parked a packet: one that is not
 * seen here sees that it is wanted.
 *
 * Context: ctl_mutex.
 * Return: true when none waits; the next one has the worker visit the target.
 */
bool ipoib_target_await(struct ipoib_target *t)
{
	bool empty;

	spin_lock_bh(&t->lock);
	empty = skb_queue_empty(&t->parked);
	if (empty)
		WRITE_ONCE(t->wanted, true);
	spin_unlock_bh(&t->lock);
	return empty;
}

static bool target_enqueue(struct ipoib_target *t)
{
	struct ipoib_dev *d = t->dev;
	bool added = false;

	spin_lock_bh(&d->todo_lock);
	if (list_empty(&t->todo) && refcount_inc_not_zero(&t->ref)) {
		list_add_tail(&t->todo, &d->todo);
		added = true;
	}
	spin_unlock_bh(&d->todo_lock);
	return added;
}

/**
 * ipoib_target_queue - ask the control worker to look at a target
 * @t: target on which the caller has a reference, or found under RCU
 *
 * Context: softirq or process.
 */
void ipoib_target_queue(struct ipoib_target *t)
{
	if (target_enqueue(t))
		ipoib_kick(t->dev, IPOIB_EV_TODO);
}

/**
 * ipoib_target_visit_todo - visit the targets that wait for the worker
 * @d: interface
 * @step: called for each one, without locks
 *
 * Targets queued meanwhile are left for the next round.
 *
 * Context: ctl_mutex.
 */
void ipoib_target_visit_todo(struct ipoib_dev *d,
			     void (*step)(struct ipoib_target *t))
{
	struct ipoib_target *t;
	LIST_HEAD(list);

	lockdep_assert_held(&d->ctl_mutex);

	spin_lock_bh(&d->todo_lock);
	list_splice_init(&d->todo, &list);
	while ((t = list_first_entry_or_null(&list, struct ipoib_target,
					     todo))) {
		list_del_init(&t->todo);
		spin_unlock_bh(&d->todo_lock);
		step(t);
		ipoib_target_put(t);
		spin_lock_bh(&d->todo_lock);
	}
	spin_unlock_bh(&d->todo_lock);
}

/**
 * ipoib_target_later - visit a target again at a later time
 * @t: target
 * @when: time in ticks; the visit may come earlier
 *
 * Context: ctl_mutex.
 */
void ipoib_target_later(struct ipoib_target *t, unsigned long when)
{
	struct ipoib_dev *d = t->dev;

	lockdep_assert_held(&d->ctl_mutex);

	if (list_empty(&d->later) || time_before(when, d->later_at))
		d->later_at = when;
	if (!list_empty(&t->later))
		return;
	ipoib_target_get(t);
	list_add_tail(&t->later, &d->later);
}

/**
 * ipoib_target_may_ask - may a target ask the SA now?
 * @t: target
 *
 * Many that ask at once would drown the SA, and its answers would come late: so
 * they line up.  Paths and groups do not wait for each other.
 *
 * Context: ctl_mutex.
 * Return: true when it may; what it asks then counts as under way until
 * ipoib_target_has_asked().  False when it is visited again at its turn.
 */
bool ipoib_target_may_ask(struct ipoib_target *t)
{
	struct ipoib_line *line = &t->dev->lines[t->kind];

	lockdep_assert_held(&t->dev->ctl_mutex);

	if (line->asking < IPOIB_SA_QUESTIONS) {
		line->asking++;
		return true;
	}
	if (list_empty(&t->later)) {
		ipoib_target_get(t);
		list_add_tail(&t->later, &line->waiting);
	}
	return false;
}

/**
 * ipoib_target_has_asked - a question is not under way any more
 * @t: target that was allowed to ask
 *
 * Context: ctl_mutex.
 */
void ipoib_target_has_asked(struct ipoib_target *t)
{
	t->dev->lines[t->kind].asking--;
}

/* It is somebody's turn: the first one alive is visited */
static void line_call_next(struct ipoib_line *line)
{
	struct ipoib_target *t;
	bool alive = false;

	while (!alive && !list_empty(&line->waiting)) {
		t = list_first_entry(&line->waiting, struct ipoib_target,
				     later);
		list_del_init(&t->later);
		alive = !t->dead;
		if (alive)
			ipoib_target_queue(t);
		ipoib_target_put(t);
	}
}

/**
 * ipoib_target_run_lines - let those that wait for their turn ask
 * @d: interface
 *
 * Who is called need not ask any more, so the lines are looked at in each run
 * of the worker.
 *
 * Context: ctl_mutex.
 */
void ipoib_target_run_lines(struct ipoib_dev *d)
{
	struct ipoib_line *line;
	u32 turns;

	for (line = d->lines; line < d->lines + IPOIB_TARGET_KINDS; line++) {
		turns = IPOIB_SA_QUESTIONS - line->asking;
		while (turns-- && !list_empty(&line->waiting))
			line_call_next(line);
	}
}

/**
 * ipoib_target_wake_later - queue the targets whose time has come
 * @d: interface
 * @all: do not wait for that time, nor for anybody's turn
 *
 * Context: ctl_mutex.
 */
void ipoib_target_wake_later(struct ipoib_dev *d, bool all)
{
	struct ipoib_target *t, *next;
	LIST_HEAD(list);
	int kind;

	lockdep_assert_held(&d->ctl_mutex);

	for (kind = 0; all && kind < IPOIB_TARGET_KINDS; kind++)
		list_splice_init(&d->lines[kind].waiting, &list);
	/* who is early puts itself back when it is visited */
	if (all || !time_before(jiffies, d->later_at))
		list_splice_init(&d->later, &list);
	list_for_each_entry_safe(t, next, &list, later) {
		list_del_init(&t->later);
		target_enqueue(t);
		ipoib_target_put(t);
	}
}

/**
 * ipoib_target_queue_all - have the worker look at all targets of a kind
 * @d: interface
 * @kind: path or group
 *
 * Context: process or softirq.
 */
void ipoib_target_queue_all(struct ipoib_dev *d, enum ipoib_target_kind kind)
{
	struct ipoib_target *t;

	spin_lock_bh(&d->tbl_lock);
	list_for_each_entry(t, &d->all_targets, all)
		if (t->kind == kind)
			ipoib_target_queue(t);
	spin_unlock_bh(&d->tbl_lock);
}

/**
 * ipoib_target_first - any target that is still in the table
 * @d: interface
 *
 * Context: ctl_mutex.
 * Return: a target with a reference, or NULL when the table is empty.
 */
struct ipoib_target *ipoib_target_first(struct ipoib_dev *d)
{
	struct ipoib_target *t;

	spin_lock_bh(&d->tbl_lock);
	t = list_first_entry_or_null(&d->all_targets, struct ipoib_target, all);
	if (t)
		ipoib_target_get(t);
	spin_unlock_bh(&d->tbl_lock);
	return t;
}

/**
 * ipoib_target_park - keep a packet until the target can be reached
 * @t: target
 * @skb: packet with its pseudo header; taken over in every case
 *
 * A packet that finds no room, or a dead target, is dropped and counted.
 *
 * Context: transmit, RCU read side.
 * Return: false when an address handle has turned up meanwhile: the packet was
 * not taken and can be sent.
 */
bool ipoib_target_park(struct ipoib_target *t, struct sk_buff *skb)
{
	enum skb_drop_reason reason = SKB_DROP_REASON_NEIGH_FAILED;

	spin_lock_bh(&t->lock);
	if (rcu_access_pointer(t->ah)) {
		spin_unlock_bh(&t->lock);
		return false;
	}
	if (t->dead)
		goto drop;

	reason = SKB_DROP_REASON_NEIGH_QUEUEFULL;
	if (t->kind == IPOIB_TARGET_GROUP) {
		if (skb_queue_len(&t->parked) >= IPOIB_PARK_MCAST)
			goto drop;
	} else if (t->parked_bytes + skb->truesize > IPOIB_PARK_BYTES &&
		   !skb_queue_empty(&t->parked)) {
		goto drop;
	}

	t->parked_bytes += skb->truesize;
	__skb_queue_tail(&t->parked, skb);
	spin_unlock_bh(&t->lock);
	return true;

drop:
	spin_unlock_bh(&t->lock);
	dev_core_stats_tx_dropped_inc(t->dev->dev);
	kfree_skb_reason(skb, reason);
	return true;
}

static void ah_retired(struct rcu_head *rcu)
{
	struct ipoib_ah *ah = container_of(rcu, struct ipoib_ah, rcu);
	struct ipoib_dev *d = ah->dev;

	ah->stamp = READ_ONCE(d->txq.head);
	llist_add(&ah->retired, &d->retired);
	ipoib_kick(d, IPOIB_EV_REAP);
	ipoib_async_end(d);
}

static void ah_retire(struct ipoib_ah *ah)
{
	if (!ah)
		return;
	ipoib_async_begin(ah->dev);
	call_rcu_hurry(&ah->rcu, ah_retired);
}

static void target_swap_ah(struct ipoib_target *t, struct ipoib_ah *ah)
{
	struct ipoib_ah *old;

	spin_lock_bh(&t->lock);
	old = rcu_dereference_protected(t->ah, lockdep_is_held(&t->lock));
	rcu_assign_pointer(t->ah, ah);
	spin_unlock_bh(&t->lock);

	ah_retire(old);
}

/**
 * ipoib_target_kill - end the life of a target
 * @t: target in the table
 *
 * Its address handle is retired, its packets are dropped, the reference of the
 * table goes.
 *
 * Context: ctl_mutex.
 * Return: true when this call did it, false when it was dead already.
 */
bool ipoib_target_kill(struct ipoib_target *t)
{
	struct ipoib_dev *d = t->dev;
	bool first;

	lockdep_assert_held(&d->ctl_mutex);

	spin_lock_bh(&d->tbl_lock);
	spin_lock(&t->lock);
	first = !t->dead;
	t->dead = true;
	spin_unlock(&t->lock);
	if (first) {
		rhashtable_remove_fast(&d->targets, &t->node,
				       ipoib_target_params);
		list_del_init(&t->all);
		d->strangers[t->kind] -= t->stranger;
	}
	spin_unlock_bh(&d->tbl_lock);
	if (!first)
		return false;

	target_swap_ah(t, NULL);
	ah_retire(t->next_ah);
	t->next_ah = NULL;
	ipoib_target_purge(t, SKB_DROP_REASON_NEIGH_FAILED);
	ipoib_target_put(t);
	return true;
}

/**
 * ipoib_target_known - a target is no stranger any more
 * @t: target
 *
 * Context: ctl_mutex.
 */
void ipoib_target_known(struct ipoib_target *t)
{
	struct ipoib_dev *d = t->dev;

	if (!READ_ONCE(t->stranger))
		return;
	spin_lock_bh(&d->tbl_lock);
	t->stranger = false;
	d->strangers[t->kind]--;
	spin_unlock_bh(&d->tbl_lock);
}

/**
 * ipoib_target_set_ah - make a target reachable and send what waits for it
 * @t: target
 * @attr: address vector
 *
 * Context: ctl_mutex.
 * Return: 0, or the error of the HCA; nothing has changed then.
 */
int ipoib_target_set_ah(struct ipoib_target *t, struct rdma_ah_attr *attr)
{
	struct ipoib_dev *d = t->dev;
	struct ipoib_ah *ah;
	struct ib_ah *ibah;

	ah = kzalloc(sizeof(*ah), GFP_KERNEL);
	if (!ah)
		return -ENOMEM;

	ibah = rdma_create_ah(d->pd, attr, RDMA_CREATE_AH_SLEEPABLE);
	if (IS_ERR(ibah)) {
		kfree(ah);
		return PTR_ERR(ibah);
	}
	ah->ah = ibah;
	ah->dev = d;

	if (rcu_access_pointer(t->ah)) {
		target_swap_ah(t, ah);
		return 0;
	}
	ah_retire(t->next_ah);
	t->next_ah = ah;
	ipoib_target_resume(t);
	return 0;
}

/*
 * Take the next packet to be resumed.  When there is none left the handle is
 * published in the same breath, so that no later packet overtakes a parked one.
 */
static struct sk_buff *target_unpark(struct ipoib_target *t)
{
	struct sk_buff *skb;

	spin_lock(&t->lock);
	skb = __skb_dequeue(&t->parked);
	if (skb) {
		t->parked_bytes -= skb->truesize;
	} else {
		rcu_assign_pointer(t->ah, t->next_ah);
		t->next_ah = NULL;
	}
	spin_unlock(&t->lock);
	return skb;
}

/**
 * ipoib_target_resume - send parked packets in order, then open the target
 * @t: target with a handle in next_ah
 *
 * When the ring has no room the rest stays parked, and the worker is asked to
 * come back once the ring has moved.
 *
 * Context: ctl_mutex; takes the transmit queue lock.
 */
void ipoib_target_resume(struct ipoib_target *t)
{
	struct ipoib_txq *txq = &t->dev->txq;
	struct ipoib_ah *ah = t->next_ah;
	bool stalled = false;
	struct sk_buff *skb;
	u32 qpn;

	if (!ah)
		return;

	__netif_tx_lock_bh(txq->nq);
	while (true) {
		if (!ipoib_tx_room(txq)) {
			stalled = true;
			break;
		}
		skb = target_unpark(t);
		if (!skb)
			break;
		qpn = t->kind == IPOIB_TARGET_GROUP ? IPOIB_MCAST_QPN :
		      ipoib_addr_qpn(skb->data);
		skb_pull(skb, IPOIB_PSEUDO_LEN);
		ipoib_tx_send(txq, skb, ah, qpn, true);
	}
	ipoib_tx_flush(txq);
	__netif_tx_unlock_bh(txq->nq);
	/* who saw the queue stopped by this for a moment has gone away */
	netif_schedule_queue(txq->nq);

	if (!stalled)
		return;

	target_enqueue(t);
	ipoib_tx_want_room(txq);
}

static void ah_destroy(struct ipoib_ah *ah)
{
	rdma_destroy_ah(ah->ah, RDMA_DESTROY_AH_SLEEPABLE);
	kfree(ah);
}

/**
 * ipoib_ah_reap - destroy retired handles that no send names any more
 * @d: interface
 *
 * Context: ctl_mutex, may sleep.
 */
void ipoib_ah_reap(struct ipoib_dev *d)
{
	struct llist_node *list = llist_del_all(&d->retired);
	struct ipoib_ah *ah, *next;

	llist_for_each_entry_safe(ah, next, list, retired)
		list_add_tail(&ah->reaping, &d->reaping);
	if (list_empty(&d->reaping))
		return;

	set_bit(0, &d->reap_wanted);
	/* the poll clears the mark when the tail moves: set it, then look */
	smp_mb__after_atomic();
	list_for_each_entry_safe(ah, next, &d->reaping, reaping) {
		if (!ipoib_ring_passed(READ_ONCE(d->txq.tail), ah->stamp))
			continue;
		list_del(&ah->reaping);
		ah_destroy(ah);
	}
	if (list_empty(&d->reaping))
		clear_bit(0, &d->reap_wanted);
}

/**
 * ipoib_ah_reap_all - destroy all retired handles, the ring being empty
 * @d: interface that is stopped for good, all asynchronous work ended
 *
 * Context: process, may sleep.
 */
void ipoib_ah_reap_all(struct ipoib_dev *d)
{
	struct llist_node *list = llist_del_all(&d->retired);
	struct ipoib_ah *ah, *next;

	llist_for_each_entry_safe(ah, next, list, retired)
		ah_destroy(ah);
	list_for_each_entry_safe(ah, next, &d->reaping, reaping) {
		list_del(&ah->reaping);
		ah_destroy(ah);
	}
}
