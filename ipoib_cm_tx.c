// SPDX-License-Identifier: GPL-2.0
/*
 * Sending over a connection: its ring, what waits for it, completions.
 *
 * Each connection has a send ring and a queue of its own, so that a peer that
 * takes its time holds up nobody else.  A packet joins the queue, and the queue
 * is pumped into the ring as far as there is room: by transmit, by the poll when
 * sends have come back, and by the worker when the connection has come up.  All
 * three hold the transmit queue lock, and a queue that is not empty always has a
 * send on its way behind which the poll will look at it again.
 *
 * The ring is short, whatever the send ring of the interface is: many peers may
 * have a connection each, packets are large, and what waits in the queue takes
 * no memory of the HCA.
 *
 * When enough waits behind a ring that is full, the queue of the interface is
 * stopped, as for the ring of UD, until half of it has gone: so packets wait in
 * the queueing discipline, which knows whose turn it is, and none is dropped.
 * Others must not wait for a peer that does not take its packets: after a while
 * the queue is woken all the same, and what comes for that peer is dropped when
 * its own queue is full.
 *
 * What a connection that ends leaves behind goes by UD, if it fits, in the same
 * order; it waits in a queue of the interface while the ring of UD is full.
 *
 * Each has a completion queue of its own, too, which the InfiniBand core polls; it
 * spreads them over the vectors of the HCA.  Each send asks for a completion.
 *
 * Contexts: send, pump, divert and run are under the transmit queue lock or take it;
 * completions run in softirq, one at a time for a connection.
 */
#include <linux/skbuff.h>
#include <linux/slab.h>

#include "ipoib.h"
#include "ipoib_cm_conn.h"
#include "ipoib_main.h"
#include "ipoib_pmtu.h"
#include "ipoib_target.h"
#include "ipoib_trace.h"

static void cm_tx_drop(struct ipoib_dev *d, struct sk_buff *skb,
		       enum skb_drop_reason reason)
{
	dev_core_stats_tx_dropped_inc(d->dev);
	dev_kfree_skb_any_reason(skb, reason);
}

/* RC has no offloads, and no more gather entries than it has */
static enum skb_drop_reason cm_tx_shape(struct ipoib_conn *c,
					struct sk_buff *skb)
{
	if (skb->ip_summed == CHECKSUM_PARTIAL && skb_checksum_help(skb))
		return SKB_DROP_REASON_SKB_CSUM;
	if (skb_shinfo(skb)->nr_frags + 1 > c->max_sge && skb_linearize(skb))
		return SKB_DROP_REASON_NOMEM;
	return SKB_NOT_DROPPED_YET;
}

/* What the HCA did not take waits, with all that comes, for the worker */
static void cm_tx_not_posted(struct ipoib_conn *c, struct sk_buff *skb, int err)
{
	c->jammed = true;
	atomic64_inc(&c->dev->cm.tx_errors);
	if (net_ratelimit())
		netdev_warn(c->dev->dev,
			    "connection to %pI6: send failed: %pe\n",
			    c->gid.raw, ERR_PTR(err));
	skb_push(skb, IPOIB_PSEUDO_LEN);
	c->backlog_bytes += skb->truesize;
	__skb_queue_head(&c->backlog, skb);
	ipoib_conn_tell(c, IPOIB_NEWS_BROKEN);
}

/* Put a packet without its pseudo header into the ring, which has room */
static void cm_tx_post(struct ipoib_conn *c, struct sk_buff *skb)
{
	struct ipoib_cm *cm = &c->dev->cm;
	const struct ib_send_wr *bad;
	enum skb_drop_reason reason;
	struct ipoib_tx_slot *slot;
	int err;

	reason = cm_tx_shape(c, skb);
	if (unlikely(reason)) {
		cm_tx_drop(c->dev, skb, reason);
		return;
	}
	slot = &c->slot[ipoib_ring_slot(c->head, c->size)];
	slot->skb = skb;
	if (unlikely(ipoib_tx_map(c->dev->ca, slot, cm->sge, 0))) {
		atomic64_inc(&cm->tx_errors);
		dev_kfree_skb_any_reason(skb, SKB_DROP_REASON_NOMEM);
		return;
	}
	slot->bytes = skb->len;
	cm->wr.wr_cqe = &slot->cqe;
	cm->wr.num_sge = slot->nr_maps;
	skb_tx_timestamp(skb);

	/* the completion may come as soon as the request is posted */
	smp_store_release(&c->head, c->head + 1);
	err = ib_post_send(c->qp, &cm->wr, &bad);
	if (likely(!err))
		return;

	WRITE_ONCE(c->head, c->head - 1);
	ipoib_tx_unmap(c->dev->ca, slot);
	cm_tx_not_posted(c, skb, err);
}

static struct sk_buff *cm_tx_next(struct ipoib_conn *c)
{
	struct sk_buff *skb = __skb_dequeue(&c->backlog);

	if (skb)
		c->backlog_bytes -= skb->truesize;
	return skb;
}

/*
 * The stack has to wait for this peer; transmit queue lock held.  A burst ends
 * here, and nothing rings the doorbell for its datagrams any more.
 */
static void cm_tx_stop(struct ipoib_conn *c)
{
	ipoib_tx_flush(&c->dev->txq);
	netif_tx_stop_queue(c->dev->txq.nq);
	if (c->stops)
		return;
	c->stops = true;
	mod_timer(&c->watch, jiffies + IPOIB_CM_ENOUGH_TIME);
	trace_ipoib_ring_stop(c->dev->dev, c->head, c->tail);
}

/* It need not wait any longer; transmit queue lock held */
static void cm_tx_wake(struct ipoib_conn *c)
{
	struct ipoib_txq *txq = &c->dev->txq;

	if (!c->stops)
		return;
	c->stops = false;
	timer_delete(&c->watch);
	/* one that is full is woken by its own poll */
	if (txq->open && ipoib_tx_room(txq))
		netif_tx_wake_queue(txq->nq);
	trace_ipoib_ring_wake(c->dev->dev, c->head, c->tail);
}

/**
 * ipoib_cm_tx_watch - a peer has had the time to take what waits for it
 * @timer: of a connection for which the queue is stopped
 *
 * Context: softirq; takes the transmit queue lock.
 */
void ipoib_cm_tx_watch(struct timer_list *timer)
{
	struct ipoib_conn *c = from_timer(c, timer, watch);
	struct netdev_queue *nq = c->dev->txq.nq;

	__netif_tx_lock(nq, smp_processor_id());
	if (c->stops) {
		c->slow = true;
		cm_tx_wake(c);
	}
	__netif_tx_unlock(nq);
}

static void cm_tx_fill(struct ipoib_conn *c)
{
	struct sk_buff *skb;

	while (c->state == IPOIB_CONN_LIVE && !c->jammed &&
	       !skb_queue_empty(&c->backlog)) {
		if (!ipoib_conn_room(c)) {
			/* pairs with the one in cm_tx_done() */
			smp_mb();
			if (!ipoib_conn_room(c))
				return;
		}
		skb = cm_tx_next(c);
		skb_pull(skb, IPOIB_PSEUDO_LEN);
		cm_tx_post(c, skb);
	}
}

/**
 * ipoib_cm_tx_pump - send what waits, as far as there is room
 * @c: connection
 *
 * Context: transmit queue lock held, bh off.
 */
void ipoib_cm_tx_pump(struct ipoib_conn *c)
{
	cm_tx_fill(c);
	if (c->backlog_bytes <= IPOIB_CM_ENOUGH / 2) {
		c->slow = false;
		cm_tx_wake(c);
	} else if (c->backlog_bytes > IPOIB_CM_ENOUGH && !c->slow &&
		   c->state == IPOIB_CONN_LIVE) {
		cm_tx_stop(c);
	}
}

/**
 * ipoib_cm_tx_send - send a packet, now or when its turn comes
 * @c: connection
 * @skb: packet with its pseudo header; taken over
 *
 * Context: transmit queue lock held, bh off, RCU read side.
 */
void ipoib_cm_tx_send(struct ipoib_conn *c, struct sk_buff *skb)
{
	if (unlikely(c->backlog_bytes + skb->truesize > IPOIB_CM_BACKLOG)) {
		cm_tx_drop(c->dev, skb, SKB_DROP_REASON_FULL_RING);
		return;
	}
	c->backlog_bytes += skb->truesize;
	__skb_queue_tail(&c->backlog, skb);
	ipoib_cm_tx_pump(c);
}

static void cm_tx_count(struct ipoib_cm *cm, u32 packets, u32 bytes)
{
	struct pcpu_sw_netstats *stats = this_cpu_ptr(cm->stats);

	u64_stats_update_begin(&stats->syncp);
	u64_stats_add(&stats->tx_packets, packets);
	u64_stats_add(&stats->tx_bytes, bytes);
	u64_stats_update_end(&stats->syncp);
}

/* A send that failed: the packet is as good as before, and may go by UD */
static void cm_tx_lost(struct ipoib_conn *c, struct sk_buff *skb)
{
	if (skb->len <= READ_ONCE(c->dev->mcast.mtu)) {
		skb_push(skb, IPOIB_PSEUDO_LEN);
		skb_queue_tail(&c->lost, skb);
		return;
	}
	cm_tx_drop(c->dev, skb, SKB_DROP_REASON_DEV_READY);
}

static void cm_tx_reap(struct ipoib_conn *c, u32 end, enum ib_wc_status status)
{
	u32 packets = 0, bytes = 0, tail = c->tail;
	struct ipoib_tx_slot *slot;
	struct sk_buff *skb;

	for (; tail != end; tail++) {
		slot = &c->slot[ipoib_ring_slot(tail, c->size)];
		skb = slot->skb;
		ipoib_tx_unmap(c->dev->ca, slot);
		slot->skb = NULL;
		/* completions come in order: only the last one may have failed */
		if (unlikely(status != IB_WC_SUCCESS && tail + 1 == end)) {
			cm_tx_lost(c, skb);
			continue;
		}
		packets++;
		bytes += slot->bytes;
		napi_consume_skb(skb, 1);
	}
	if (likely(packets))
		WRITE_ONCE(c->taken, jiffies);
	cm_tx_count(&c->dev->cm, packets, bytes);
	/* slots are free for transmit only when they have been emptied */
	smp_store_release(&c->tail, end);
}

static void cm_tx_failed(struct ipoib_conn *c, const struct ib_wc *wc)
{
	if (wc->status == IB_WC_WR_FLUSH_ERR)
		return;
	atomic64_inc(&c->dev->cm.tx_errors);
	if (net_ratelimit())
		netdev_warn(c->dev->dev,
			    "connection to %pI6: send failed: %s (vendor error 0x%x)\n",
			    c->gid.raw, ib_wc_status_msg(wc->status),
			    wc->vendor_err);
}

static void cm_tx_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct ipoib_tx_slot *slot = container_of(wc->wr_cqe,
						  struct ipoib_tx_slot, cqe);
	struct ipoib_conn *c = cq->cq_context;
	struct netdev_queue *nq = c->dev->txq.nq;
	bool failed = wc->status != IB_WC_SUCCESS;
	u32 end, used;

	/* pairs with the release in cm_tx_post() */
	used = ipoib_ring_used(smp_load_acquire(&c->head), c->tail);
	end = ipoib_ring_upto(c->tail, slot - c->slot, c->size);
	/* nothing we posted */
	if (unlikely(ipoib_ring_used(end, c->tail) > used))
		return;

	/* the last one back may let the worker free the queue pair */
	rcu_read_lock();
	if (unlikely(failed))
		cm_tx_failed(c, wc);
	cm_tx_reap(c, end, wc->status);

	/* pairs with the one in ipoib_cm_tx_pump() */
	smp_mb();
	if (unlikely(failed)) {
		ipoib_conn_tell(c, IPOIB_NEWS_BROKEN);
	} else if (unlikely(READ_ONCE(c->state) != IPOIB_CONN_LIVE)) {
		ipoib_conn_tell(c, IPOIB_NEWS_MOVED);
	} else if (!skb_queue_empty_lockless(&c->backlog)) {
		__netif_tx_lock(nq, smp_processor_id());
		ipoib_cm_tx_pump(c);
		__netif_tx_unlock(nq);
	}
	rcu_read_unlock();
}

/* All that waits for a connection, what failed first; transmit queue lock held */
static void cm_tx_take(struct ipoib_conn *c, struct sk_buff_head *list)
{
	spin_lock(&c->lost.lock);
	skb_queue_splice_init(&c->lost, list);
	spin_unlock(&c->lost.lock);
	skb_queue_splice_tail_init(&c->backlog, list);
	c->backlog_bytes = 0;
	c->slow = false;
	cm_tx_wake(c);
}

/**
 * ipoib_cm_tx_refuse - a packet is too big for the way that is left
 * @d: interface
 * @skb: packet with its pseudo header; taken over
 * @most: bytes that would go, encapsulation header included
 * @brief: that is so for a moment only
 *
 * A sender that is told keeps to a small MTU for ten minutes: too long if the
 * connection has ended in good order and the next packet makes a new one.
 *
 * Context: transmit or ctl_mutex.
 */
void ipoib_cm_tx_refuse(struct ipoib_dev *d, struct sk_buff *skb, u32 most,
			bool brief)
{
	if (brief)
		cm_tx_drop(d, skb, SKB_DROP_REASON_DEV_READY);
	else
		ipoib_pmtu_refuse(d, skb, most - IPOIB_ENCAP_LEN);
}

/* RCU read side, transmit queue lock held, room in the ring of UD */
static void cm_tx_by_ud(struct ipoib_dev *d, struct sk_buff *skb)
{
	struct ipoib_target *t;
	struct ipoib_ah *ah;
	u32 qpn;

	t = ipoib_target_find(d, ipoib_addr_gid(skb->data));
	ah = t ? rcu_dereference(t->ah) : NULL;
	if (!ah || !d->txq.open) {
		cm_tx_drop(d, skb, SKB_DROP_REASON_NEIGH_FAILED);
		return;
	}
	qpn = ipoib_addr_qpn(skb->data);
	skb_pull(skb, IPOIB_PSEUDO_LEN);
	ipoib_tx_send(&d->txq, skb, ah, qpn, true);
}

/* ctl_mutex held */
static void cm_tx_spill(struct ipoib_dev *d, struct sk_buff *skb, bool brief)
{
	u32 most = READ_ONCE(d->mcast.mtu);
	struct ipoib_cm *cm = &d->cm;

	if (skb->len - IPOIB_PSEUDO_LEN > most) {
		ipoib_cm_tx_refuse(d, skb, most, brief);
	} else if (cm->spill_bytes + skb->truesize > IPOIB_CM_BACKLOG) {
		cm_tx_drop(d, skb, SKB_DROP_REASON_FULL_RING);
	} else {
		cm->spill_bytes += skb->truesize;
		__skb_queue_tail(&cm->spill, skb);
	}
}

/* Returns true when there is no room for all that is left */
static bool cm_tx_unspill(struct ipoib_dev *d)
{
	struct ipoib_txq *txq = &d->txq;
	struct ipoib_cm *cm = &d->cm;
	struct sk_buff *skb;

	rcu_read_lock();
	__netif_tx_lock_bh(txq->nq);
	while (ipoib_tx_room(txq) || !txq->open) {
		skb = __skb_dequeue(&cm->spill);
		if (!skb)
			break;
		cm->spill_bytes -= skb->truesize;
		cm_tx_by_ud(d, skb);
	}
	ipoib_tx_flush(txq);
	__netif_tx_unlock_bh(txq->nq);
	/* who saw the queue stopped by this for a moment has gone away */
	netif_schedule_queue(txq->nq);
	rcu_read_unlock();
	return !skb_queue_empty(&cm->spill);
}

/**
 * ipoib_cm_tx_run - send by UD what connections have left behind
 * @d: interface
 *
 * What finds no room waits until the ring of UD has moved.
 *
 * Context: ctl_mutex; takes the transmit queue lock.
 */
void ipoib_cm_tx_run(struct ipoib_dev *d)
{
	if (!skb_queue_empty(&d->cm.spill) && cm_tx_unspill(d))
		ipoib_tx_want_room(&d->txq);
}

/**
 * ipoib_cm_tx_divert - send by UD what the connection will not carry
 * @c: connection that is not live
 *
 * The senders of packets that are too big for that are told so, unless there
 * will be another connection at once.
 *
 * Context: ctl_mutex; takes the transmit queue lock.
 */
void ipoib_cm_tx_divert(struct ipoib_conn *c)
{
	bool brief = c->again || c->dev->state != IPOIB_LIVE;
	struct netdev_queue *nq = c->dev->txq.nq;
	struct sk_buff_head list;
	struct sk_buff *skb;

	__skb_queue_head_init(&list);
	__netif_tx_lock_bh(nq);
	cm_tx_take(c, &list);
	__netif_tx_unlock_bh(nq);
	while ((skb = __skb_dequeue(&list)))
		cm_tx_spill(c->dev, skb, brief);
	ipoib_cm_tx_run(c->dev);
}

/**
 * ipoib_cm_tx_init - make the send ring of a connection
 * @c: connection
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno, with nothing left behind.
 */
int ipoib_cm_tx_init(struct ipoib_conn *c)
{
	struct ib_device *ca = c->dev->ca;
	u32 i;

	c->size = min_t(u32, IPOIB_CM_SENDS,
			rounddown_pow_of_two(ca->attrs.max_qp_wr));
	c->slot = kvcalloc(c->size, sizeof(*c->slot), GFP_KERNEL);
	if (!c->slot)
		return -ENOMEM;
	for (i = 0; i < c->size; i++)
		c->slot[i].cqe.done = cm_tx_done;

	c->cq = ib_alloc_cq_any(ca, c, c->size, IB_POLL_SOFTIRQ);
	if (IS_ERR(c->cq)) {
		kvfree(c->slot);
		c->slot = NULL;
		return PTR_ERR(c->cq);
	}
	c->head = 0;
	c->tail = 0;
	c->jammed = false;
	return 0;
}

/**
 * ipoib_cm_tx_fini - free the send ring; the queue pair is gone
 * @c: connection
 *
 * Context: process, may sleep.
 */
void ipoib_cm_tx_fini(struct ipoib_conn *c)
{
	struct ipoib_tx_slot *slot;
	u32 idx;

	if (!c->slot)
		return;
	timer_delete_sync(&c->watch);
	ib_free_cq(c->cq);
	/* what the HCA never gave back */
	for (idx = c->tail; idx != c->head; idx++) {
		slot = &c->slot[ipoib_ring_slot(idx, c->size)];
		ipoib_tx_unmap(c->dev->ca, slot);
		cm_tx_drop(c->dev, slot->skb, SKB_DROP_REASON_DEV_READY);
	}
	c->tail = c->head;
	kvfree(c->slot);
	c->slot = NULL;
}
