// SPDX-License-Identifier: GPL-2.0
/*
 * The transmit ring: slots, work requests, completions.
 *
 * Packets come in from ipoib_xmit.c and from ipoib_target.c with everything
 * decided; this room maps them, posts them and takes them back.  Requests are
 * chained while the stack has more to send, and one doorbell posts the chain;
 * only the last request of a chain asks for a completion, which takes back all
 * slots up to its own.
 *
 * A post that fails leaves tombstones: slots without a packet that the poll
 * steps over.  That way the ring, and BQL, have one consumer only.
 *
 * Contexts: send and flush run under the transmit queue lock; the poll is the
 * only consumer; start, stop, open and close run in the control path.
 */
#include "ipoib_tx.h"

#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <net/netdev_queues.h>

#include "ipoib.h"
#include "ipoib_target.h"
#include "ipoib_trace.h"

/**
 * ipoib_tx_unmap - undo ipoib_tx_map()
 * @ca: InfiniBand device
 * @slot: slot with a packet
 *
 * Context: any.
 */
void ipoib_tx_unmap(struct ib_device *ca, struct ipoib_tx_slot *slot)
{
	struct sk_buff *skb = slot->skb;
	skb_frag_t *frag;
	int i = 0, f = 0;

	if (ib_uses_virt_dma(ca))
		return;

	if (slot->head)
		ib_dma_unmap_single(ca, slot->map[i++], skb_headlen(skb),
				    DMA_TO_DEVICE);
	for (; i < slot->nr_maps; i++, f++) {
		frag = &skb_shinfo(skb)->frags[f];
		ib_dma_unmap_page(ca, slot->map[i], skb_frag_size(frag),
				  DMA_TO_DEVICE);
	}
}

/**
 * ipoib_tx_map - make a packet readable for the HCA
 * @ca: InfiniBand device
 * @slot: slot with a packet; its nr_maps says how long the gather list is
 * @sge: gather list to fill
 * @hlen: bytes of the linear part to leave out: the headers of a segmented
 *	packet go with the work request
 *
 * Context: any.
 * Return: 0 or -ENOMEM.
 */
int ipoib_tx_map(struct ib_device *ca, struct ipoib_tx_slot *slot,
		 struct ib_sge *sge, u32 hlen)
{
	u32 linear = skb_headlen(slot->skb) - hlen;
	struct sk_buff *skb = slot->skb;
	skb_frag_t *frag;
	u64 addr;
	int i;

	slot->nr_maps = 0;
	slot->head = false;
	if (linear) {
		/* mapped from its start: unmapping need not know hlen */
		addr = ib_dma_map_single(ca, skb->data, skb_headlen(skb),
					 DMA_TO_DEVICE);
		if (unlikely(ib_dma_mapping_error(ca, addr)))
			goto err_unmap;
		slot->head = true;
		slot->map[0] = addr;
		slot->nr_maps = 1;
		sge[0].addr = addr + hlen;
		sge[0].length = linear;
	}
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		frag = &skb_shinfo(skb)->frags[i];
		addr = ib_dma_map_page(ca, skb_frag_page(frag),
				       skb_frag_off(frag), skb_frag_size(frag),
				       DMA_TO_DEVICE);
		if (unlikely(ib_dma_mapping_error(ca, addr)))
			goto err_unmap;
		sge[slot->nr_maps].addr = addr;
		sge[slot->nr_maps].length = skb_frag_size(frag);
		slot->map[slot->nr_maps++] = addr;
	}
	return 0;

err_unmap:
	ipoib_tx_unmap(ca, slot);
	return -ENOMEM;
}

static void tx_drop(struct ipoib_txq *txq, struct sk_buff *skb, bool error,
		    enum skb_drop_reason reason)
{
	if (error) {
		u64_stats_update_begin(&txq->xmit_syncp);
		txq->errors++;
		u64_stats_update_end(&txq->xmit_syncp);
	} else {
		dev_core_stats_tx_dropped_inc(txq->dev->dev);
	}
	dev_kfree_skb_any_reason(skb, reason);
}

/*
 * Make a packet fit the HCA: headers of a segmented one linear, not more
 * pieces than gather entries.  0, or the reason to drop it.
 */
static enum skb_drop_reason tx_shape(struct ipoib_txq *txq,
				     struct sk_buff *skb, u32 *hlen)
{
	u32 pieces;

	*hlen = 0;
	if (skb_is_gso(skb)) {
		*hlen = skb_tcp_all_headers(skb);
		if (unlikely(!pskb_may_pull(skb, *hlen)))
			return SKB_DROP_REASON_HDR_TRUNC;
	}

	pieces = skb_shinfo(skb)->nr_frags + (skb_headlen(skb) > *hlen);
	if (unlikely(pieces > txq->max_sge)) {
		if (skb_linearize(skb))
			return SKB_DROP_REASON_NOMEM;
	}
	return SKB_NOT_DROPPED_YET;
}

/* Octets of the largest datagram that a packet becomes */
static u32 tx_octets(const struct sk_buff *skb, u32 hlen)
{
	return hlen ? hlen + skb_shinfo(skb)->gso_size : skb->len;
}

static void tx_fill_wr(struct ipoib_txq *txq, struct ipoib_tx_wr *wr,
		       struct ipoib_tx_slot *slot, const struct ipoib_ah *ah,
		       u32 qpn, u32 hlen)
{
	struct sk_buff *skb = slot->skb;
	struct ib_ud_wr *ud = &wr->ud;

	ud->wr.wr_cqe = &slot->cqe;
	ud->wr.num_sge = slot->nr_maps;
	ud->wr.send_flags = skb->ip_summed == CHECKSUM_PARTIAL ?
			    IB_SEND_IP_CSUM : 0;
	ud->ah = ah->ah;
	ud->remote_qpn = qpn;
	ud->remote_qkey = txq->dev->mcast.qkey;
	slot->bytes = skb->len;
	slot->packets = 1;
	if (!hlen) {
		ud->wr.opcode = IB_WR_SEND;
		return;
	}

	ud->wr.opcode = IB_WR_LSO;
	ud->mss = skb_shinfo(skb)->gso_size;
	ud->header = skb->data;
	ud->hlen = hlen;
	slot->packets = skb_shinfo(skb)->gso_segs;
	if (slot->packets > 1)
		slot->bytes += (slot->packets - 1) * hlen;
}

/**
 * ipoib_tx_send - put one packet on its way
 * @txq: ring with room for at least one packet
 * @skb: packet, encapsulation header first; taken over in every case
 * @ah: where it goes
 * @qpn: queue pair there
 * @more: another packet follows at once, the doorbell may wait for it
 *
 * After a call with @more the caller has to make one without, or to call
 * ipoib_tx_flush(), before it lets go of the lock.
 *
 * Context: transmit queue lock held, bh off.
 * Return: false when the packet was dropped, and counted.
 */
bool ipoib_tx_send(struct ipoib_txq *txq, struct sk_buff *skb,
		   const struct ipoib_ah *ah, u32 qpn, bool more)
{
	enum skb_drop_reason reason;
	struct ipoib_tx_slot *slot;
	struct ipoib_tx_wr *wr;
	u32 hlen;

	if (unlikely(!txq->open)) {
		tx_drop(txq, skb, false, SKB_DROP_REASON_DEV_READY);
		goto dropped;
	}
	reason = tx_shape(txq, skb, &hlen);
	if (unlikely(reason)) {
		tx_drop(txq, skb, true, reason);
		goto dropped;
	}
	if (unlikely(tx_octets(skb, hlen) > txq->dev->mcast.mtu)) {
		tx_drop(txq, skb, false, SKB_DROP_REASON_PKT_TOO_BIG);
		goto dropped;
	}

	slot = &txq->slot[ipoib_ring_slot(txq->head, txq->size)];
	wr = &txq->wr[txq->chained];
	slot->skb = skb;
	if (unlikely(ipoib_tx_map(txq->dev->ca, slot, wr->sge, hlen))) {
		slot->skb = NULL;
		tx_drop(txq, skb, true, SKB_DROP_REASON_NOMEM);
		goto dropped;
	}
	tx_fill_wr(txq, wr, slot, ah, qpn, hlen);
	skb_tx_timestamp(skb);

	/* the poll may run as soon as the request is posted: slot first */
	smp_store_release(&txq->head, txq->head + 1);
	txq->chained++;

	more = !__netdev_tx_sent_queue(txq->nq, slot->bytes, more);
	if (!netif_txq_maybe_stop(txq->nq, ipoib_tx_room(txq), 1,
				  txq->size / 2)) {
		trace_ipoib_ring_stop(txq->dev->dev, txq->head, txq->tail);
		more = false;
	}
	if (!more || txq->chained == IPOIB_TX_CHAIN)
		ipoib_tx_flush(txq);
	return true;

dropped:
	if (!more)
		ipoib_tx_flush(txq);
	return false;
}

/* Slots of requests that the HCA did not take: drop the packets, leave marks */
static void tx_post_failed(struct ipoib_txq *txq, u32 first,
			   const struct ib_send_wr *bad, int err)
{
	struct ipoib_tx_slot *slot;
	u32 idx;

	for (idx = first; idx != txq->head; idx++) {
		slot = &txq->slot[ipoib_ring_slot(idx, txq->size)];
		if (bad && &slot->cqe != bad->wr_cqe)
			continue;
		bad = NULL;
		ipoib_tx_unmap(txq->dev->ca, slot);
		tx_drop(txq, slot->skb, true, SKB_DROP_REASON_DEV_READY);
		slot->packets = 0;
		/* pairs with the look in tx_reap_aborted() */
		smp_store_release(&slot->skb, NULL);
	}

	if (net_ratelimit())
		netdev_warn(txq->dev->dev, "posting a send failed: %pe\n",
			    ERR_PTR(err));
	set_bit(0, &txq->aborted);
	napi_schedule(&txq->napi);
}

/**
 * ipoib_tx_flush - ring the doorbell for all packets sent with "more"
 * @txq: ring
 *
 * Context: transmit queue lock held, bh off.
 */
void ipoib_tx_flush(struct ipoib_txq *txq)
{
	const struct ib_send_wr *bad = NULL;
	u32 n = txq->chained;
	int err;

	if (!n)
		return;

	txq->wr[n - 1].ud.wr.next = NULL;
	txq->wr[n - 1].ud.wr.send_flags |= IB_SEND_SIGNALED;
	txq->chained = 0;
	err = ib_post_send(txq->qp, &txq->wr[0].ud.wr, &bad);
	if (n < IPOIB_TX_CHAIN)
		txq->wr[n - 1].ud.wr.next = &txq->wr[n].ud.wr;
	if (likely(!err))
		return;

	tx_post_failed(txq, txq->head - n, bad, err);
	/* what was posted before the failure asked for no completion */
	if (bad && bad != &txq->wr[0].ud.wr)
		ipoib_kick(txq->dev, IPOIB_EV_RESET);
}

/**
 * ipoib_tx_want_room - have the worker come back when the ring has moved
 * @txq: ring that was found without room
 *
 * Context: ctl_mutex.
 */
void ipoib_tx_want_room(struct ipoib_txq *txq)
{
	set_bit(0, &txq->stalled);
	/* the ring may have moved before the poll could see the mark */
	smp_mb__after_atomic();
	if (ipoib_tx_room(txq) && test_and_clear_bit(0, &txq->stalled))
		ipoib_kick(txq->dev, IPOIB_EV_TODO);
}

static void tx_reap(struct ipoib_txq *txq, u32 end, int budget)
{
	u32 packets = 0, bytes = 0, bql = 0, done = 0;
	struct ipoib_tx_slot *slot;
	u32 tail = txq->tail;

	for (; tail != end; tail++) {
		slot = &txq->slot[ipoib_ring_slot(tail, txq->size)];
		done++;
		bql += slot->bytes;
		if (unlikely(!slot->skb))
			continue;
		ipoib_tx_unmap(txq->dev->ca, slot);
		if (likely(slot->packets)) {
			packets += slot->packets;
			bytes += slot->bytes;
			napi_consume_skb(slot->skb, budget);
		} else {
			dev_kfree_skb_any_reason(slot->skb,
						 SKB_DROP_REASON_DEV_READY);
		}
		slot->skb = NULL;
	}

	u64_stats_update_begin(&txq->syncp);
	txq->packets += packets;
	txq->bytes += bytes;
	u64_stats_update_end(&txq->syncp);

	/* slots are free for transmit only when they have been emptied */
	smp_store_release(&txq->tail, tail);
	if (!__netif_txq_completed_wake(txq->nq, done, bql, ipoib_tx_room(txq),
					txq->size / 2, !READ_ONCE(txq->open)))
		trace_ipoib_ring_wake(txq->dev->dev, txq->head, tail);
}

/* Step over the marks of failed posts, once nothing before them is left */
static void tx_reap_aborted(struct ipoib_txq *txq)
{
	u32 end = txq->tail, head;
	struct ipoib_tx_slot *slot;

	if (!test_and_clear_bit(0, &txq->aborted))
		return;

	/* pairs with the release in ipoib_tx_send() */
	head = smp_load_acquire(&txq->head);
	while (end != head) {
		slot = &txq->slot[ipoib_ring_slot(end, txq->size)];
		/* pairs with the release in tx_post_failed() */
		if (smp_load_acquire(&slot->skb))
			break;
		end++;
	}
	if (end != txq->tail)
		tx_reap(txq, end, 0);
	if (end != head)
		set_bit(0, &txq->aborted);
}

/* A packet that we took back ourselves was dropped; reaping it says why */
static void tx_flushed(struct ipoib_txq *txq, struct ipoib_tx_slot *slot)
{
	slot->packets = 0;
	if (slot->skb)
		dev_core_stats_tx_dropped_inc(txq->dev->dev);
}

/* One that did not go out is an error, or a drop if we flushed it */
static void tx_failed(struct ipoib_txq *txq, struct ipoib_tx_slot *slot,
		      const struct ib_wc *wc)
{
	if (wc->status == IB_WC_WR_FLUSH_ERR) {
		tx_flushed(txq, slot);
		return;
	}

	slot->packets = 0;
	u64_stats_update_begin(&txq->syncp);
	txq->fails++;
	u64_stats_update_end(&txq->syncp);
	if (net_ratelimit())
		netdev_warn(txq->dev->dev, "send failed: %s (vendor error 0x%x)\n",
			    ib_wc_status_msg(wc->status), wc->vendor_err);
	ipoib_kick(txq->dev, IPOIB_EV_SEND_ERR);
}

static int tx_poll_cq(struct ipoib_txq *txq, int budget)
{
	struct ipoib_tx_slot *slot;
	u32 end = txq->tail, next;
	int i, n;
	u32 used;

	n = ib_poll_cq(txq->cq, IPOIB_WC_BATCH, txq->wc);
	/* pairs with the release in ipoib_tx_send() */
	used = ipoib_ring_used(smp_load_acquire(&txq->head), txq->tail);
	for (i = 0; i < n; i++) {
		slot = container_of(txq->wc[i].wr_cqe, struct ipoib_tx_slot,
				    cqe);
		next = ipoib_ring_upto(txq->tail, slot - txq->slot, txq->size);
		/* nothing we posted: a leftover from before a reset */
		if (unlikely(ipoib_ring_used(next, txq->tail) > used))
			continue;
		if (unlikely(txq->wc[i].status != IB_WC_SUCCESS))
			tx_failed(txq, slot, &txq->wc[i]);
		end = next;
	}
	if (n > 0)
		tx_reap(txq, end, budget);
	return n;
}

/* Wake those who wait for the ring to move or to become empty */
static void tx_moved(struct ipoib_txq *txq)
{
	struct ipoib_dev *d = txq->dev;

	/* pairs with the barriers after the marks are set */
	smp_mb();
	if (unlikely(test_bit(0, &txq->stalled)) &&
	    test_and_clear_bit(0, &txq->stalled))
		ipoib_kick(d, IPOIB_EV_TODO);
	if (unlikely(test_bit(0, &d->reap_wanted)) &&
	    test_and_clear_bit(0, &d->reap_wanted))
		ipoib_kick(d, IPOIB_EV_REAP);
	if (unlikely(!READ_ONCE(txq->open)) && ipoib_tx_drained(txq))
		wake_up(&txq->drained);
}

static int tx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_txq *txq = container_of(napi, struct ipoib_txq, napi);
	int done = 0, n;

	do {
		n = tx_poll_cq(txq, budget);
		if (n <= 0)
			break;
		done += n;
	} while (n == IPOIB_WC_BATCH && done < NAPI_POLL_WEIGHT);

	if (unlikely(test_bit(0, &txq->aborted)))
		tx_reap_aborted(txq);
	tx_moved(txq);

	if (n == IPOIB_WC_BATCH || !budget)
		return budget;
	/* more came meanwhile, or the HCA could not arm: poll again */
	if (napi_complete_done(napi, 0) &&
	    ib_req_notify_cq(txq->cq, IB_CQ_NEXT_COMP |
			     IB_CQ_REPORT_MISSED_EVENTS))
		napi_schedule(napi);
	return 0;
}

/**
 * ipoib_tx_cq_event - the send queue has completions
 * @cq: completion queue
 * @ctx: the interface
 *
 * Context: any, called by the HCA driver.
 */
void ipoib_tx_cq_event(struct ib_cq *cq, void *ctx)
{
	struct ipoib_dev *d = ctx;

	napi_schedule(&d->txq.napi);
}

/**
 * ipoib_tx_init - make the transmit ring
 * @d: interface
 * @size: slots, a power of two
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int ipoib_tx_init(struct ipoib_dev *d, u32 size)
{
	struct ipoib_txq *txq = &d->txq;

	txq->slot = kvcalloc(size, sizeof(*txq->slot), GFP_KERNEL);
	txq->wr = kvcalloc(IPOIB_TX_CHAIN, sizeof(*txq->wr), GFP_KERNEL);
	if (!txq->slot || !txq->wr) {
		ipoib_tx_fini(d);
		return -ENOMEM;
	}

	txq->size = size;
	txq->dev = d;
	txq->nq = netdev_get_tx_queue(d->dev, 0);
	u64_stats_init(&txq->syncp);
	u64_stats_init(&txq->xmit_syncp);
	init_waitqueue_head(&txq->drained);
	return 0;
}

/**
 * ipoib_tx_fini - free the transmit ring, which is empty
 * @d: interface
 *
 * Context: process, may sleep.
 */
void ipoib_tx_fini(struct ipoib_dev *d)
{
	kvfree(d->txq.slot);
	kvfree(d->txq.wr);
	d->txq.slot = NULL;
	d->txq.wr = NULL;
}

static void tx_prepare_wrs(struct ipoib_txq *txq)
{
	struct ipoib_tx_wr *wr;
	int i, s;

	for (i = 0; i < IPOIB_TX_CHAIN; i++) {
		wr = &txq->wr[i];
		wr->ud.wr.sg_list = wr->sge;
		wr->ud.wr.next = i + 1 < IPOIB_TX_CHAIN ?
				 &txq->wr[i + 1].ud.wr : NULL;
		for (s = 0; s < IPOIB_TX_SGE; s++)
			wr->sge[s].lkey = txq->dev->pd->local_dma_lkey;
	}
}

/**
 * ipoib_tx_start - begin to poll
 * @d: interface whose verbs objects exist
 *
 * Context: rtnl.
 */
void ipoib_tx_start(struct ipoib_dev *d)
{
	struct ipoib_txq *txq = &d->txq;

	tx_prepare_wrs(txq);
	netif_napi_add_tx(d->dev, &txq->napi, tx_poll);
	napi_enable(&txq->napi);
	netif_queue_set_napi(d->dev, 0, NETDEV_QUEUE_TYPE_TX, &txq->napi);
}

/**
 * ipoib_tx_stop - end polling; the ring is empty
 * @d: interface
 *
 * Context: rtnl, may sleep.
 */
void ipoib_tx_stop(struct ipoib_dev *d)
{
	netif_queue_set_napi(d->dev, 0, NETDEV_QUEUE_TYPE_TX, NULL);
	napi_disable(&d->txq.napi);
	netif_napi_del(&d->txq.napi);
}

/**
 * ipoib_tx_open - let packets in; the queue pair is ready to send
 * @d: interface
 *
 * Context: ctl_mutex.
 */
void ipoib_tx_open(struct ipoib_dev *d)
{
	struct ipoib_txq *txq = &d->txq;

	__netif_tx_lock_bh(txq->nq);
	WRITE_ONCE(txq->open, true);
	/* the poll arms the completion queue when it has found it empty */
	napi_schedule(&txq->napi);
	__netif_tx_unlock_bh(txq->nq);
	netif_tx_wake_queue(txq->nq);
}

/**
 * ipoib_tx_close - let no more packets in
 * @d: interface
 *
 * After this nothing is posted; what is in the ring has still to come back.
 *
 * Context: ctl_mutex.
 */
void ipoib_tx_close(struct ipoib_dev *d)
{
	struct ipoib_txq *txq = &d->txq;

	__netif_tx_lock_bh(txq->nq);
	WRITE_ONCE(txq->open, false);
	ipoib_tx_flush(txq);
	netif_tx_stop_queue(txq->nq);
	__netif_tx_unlock_bh(txq->nq);
}

/**
 * ipoib_tx_drained - is the ring empty?
 * @txq: ring
 *
 * Context: any.
 * Return: true when all slots have come back.
 */
bool ipoib_tx_drained(const struct ipoib_txq *txq)
{
	return READ_ONCE(txq->head) == READ_ONCE(txq->tail);
}

/**
 * ipoib_tx_forget - take back what a reset queue pair will never complete
 * @d: interface, ring closed, queue pair in RESET
 *
 * Context: ctl_mutex, may sleep; polling is on.
 */
void ipoib_tx_forget(struct ipoib_dev *d)
{
	struct ipoib_txq *txq = &d->txq;
	u32 idx;

	napi_disable(&txq->napi);
	local_bh_disable();
	for (idx = txq->tail; idx != txq->head; idx++)
		tx_flushed(txq, &txq->slot[ipoib_ring_slot(idx, txq->size)]);
	if (!ipoib_tx_drained(txq))
		tx_reap(txq, txq->head, 0);
	local_bh_enable();
	clear_bit(0, &txq->aborted);
	netdev_tx_reset_queue(txq->nq);
	napi_enable(&txq->napi);
}

/**
 * ipoib_tx_stats - add the counters of the ring
 * @txq: ring
 * @s: sums
 *
 * Context: any.
 */
void ipoib_tx_stats(const struct ipoib_txq *txq, struct rtnl_link_stats64 *s)
{
	u64 packets, bytes, fails, errors;
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&txq->syncp);
		packets = txq->packets;
		bytes = txq->bytes;
		fails = txq->fails;
	} while (u64_stats_fetch_retry(&txq->syncp, start));
	do {
		start = u64_stats_fetch_begin(&txq->xmit_syncp);
		errors = txq->errors;
	} while (u64_stats_fetch_retry(&txq->xmit_syncp, start));

	s->tx_packets += packets;
	s->tx_bytes += bytes;
	s->tx_errors += fails + errors;
}
