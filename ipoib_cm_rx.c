// SPDX-License-Identifier: GPL-2.0
/*
 * Receiving over connections: buffers, completions, delivery to the stack.
 *
 * A buffer is as large as the largest packet, in pieces: pages of a page_pool.
 * Of a completed buffer only the pieces that hold data are handed up and
 * replaced, the others stay where they are; a small packet is copied, and its
 * buffer stays whole.  When there is no page the packet is dropped and its
 * buffer posted again: the ring never runs dry for lack of memory.  What the HCA
 * did not take, or could not be had in the beginning, the worker makes anew.
 *
 * All connections share one ring if the HCA can share (SRQ); otherwise each has
 * a small one of its own.  There are no buffers at all before the first
 * connection.  One NAPI instance serves all connections of an interface.
 *
 *	[encapsulation 4][packet ...]		on the wire, and in the buffer
 *
 * Before a queue pair that shares buffers is destroyed nothing of it may be left
 * in the completion queue: somebody who waits for that sets "sync", upon which
 * the poll counts how often it has found the queue empty, or has seen as many
 * completions as there is room for.
 *
 * Contexts: the poll is the only consumer and the only one to post again; open
 * and close run under rtnl, filling in the control worker or in a callback of
 * the connection manager, which keep the poll out meanwhile.
 */
#include <linux/if_ether.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/page_pool/helpers.h>

#include "ipoib.h"
#include "ipoib_cm_conn.h"
#include "ipoib_main.h"
#include "ipoib_trace.h"

#define IPOIB_CM_COPY	256	/* bytes of packet that are copied */

/* the poll is kept out meanwhile, and storage may hang on it */
#define IPOIB_CM_GFP	(GFP_NOIO | __GFP_NORETRY | __GFP_NOWARN)

static u32 rx_piece(const struct ipoib_cm_rx *rx)
{
	return PAGE_SIZE << rx->order;
}

static struct ipoib_dev *rx_dev(struct ipoib_cm_rx *rx)
{
	return container_of(rx, struct ipoib_dev, cm.rx);
}

static u64 rx_piece_addr(struct ipoib_cm_rx *rx, struct page *page)
{
	if (ib_uses_virt_dma(rx_dev(rx)->ca))
		return (uintptr_t)page_address(page);
	return page_pool_get_dma_addr(page);
}

static void rx_slot_free(struct ipoib_cm_rx *rx, struct ipoib_cm_slot *slot)
{
	u32 i;

	for (i = 0; i < rx->pieces; i++) {
		if (slot->page[i])
			page_pool_put_full_page(rx->pool, slot->page[i], false);
		slot->page[i] = NULL;
	}
}

static int rx_slot_fill(struct ipoib_cm_rx *rx, struct ipoib_cm_slot *slot)
{
	u32 i;

	for (i = 0; i < rx->pieces; i++) {
		slot->page[i] = page_pool_alloc_pages(rx->pool, IPOIB_CM_GFP);
		if (!slot->page[i]) {
			rx_slot_free(rx, slot);
			return -ENOMEM;
		}
	}
	return 0;
}

/* Give a full slot to the HCA; one that it does not take loses its pages */
static int rx_slot_post(struct ipoib_cm_rx *rx, struct ipoib_cm_slot *slot)
{
	struct ipoib_cm_ring *ring = slot->ring;
	const struct ib_recv_wr *bad;
	int err;
	u32 i;

	for (i = 0; i < rx->pieces; i++)
		rx->sge[i].addr = rx_piece_addr(rx, slot->page[i]);
	rx->wr.wr_cqe = &slot->cqe;
	slot->posted = true;
	WRITE_ONCE(ring->posted, ring->posted + 1);
	if (ring->srq)
		err = ib_post_srq_recv(ring->srq, &rx->wr, &bad);
	else
		err = ib_post_recv(ring->qp, &rx->wr, &bad);
	if (likely(!err))
		return 0;

	slot->posted = false;
	rx_slot_free(rx, slot);
	WRITE_ONCE(ring->posted, ring->posted - 1);
	return err;
}

static void rx_count_error(struct ipoib_dev *d, const struct ib_wc *wc,
			   bool length)
{
	ipoib_rx_trace_error(d, wc);
	atomic64_inc(&d->cm.rx_errors);
	if (length)
		atomic64_inc(&d->cm.rx_length_errors);
}

/* Let the CPU see what has come; device memory order for the rest is the HCA's */
static void rx_sync(struct ipoib_cm_rx *rx, struct ipoib_cm_slot *slot, u32 len)
{
	u32 i, part;

	if (ib_uses_virt_dma(rx_dev(rx)->ca))
		return;
	for (i = 0; len; i++, len -= part) {
		part = min(len, rx_piece(rx));
		page_pool_dma_sync_for_cpu(rx->pool, slot->page[i], 0, part);
	}
}

static void rx_rewind(struct ipoib_cm_rx *rx, struct ipoib_cm_slot *slot)
{
	if (!ib_uses_virt_dma(rx_dev(rx)->ca))
		ib_dma_sync_single_for_device(rx_dev(rx)->ca,
					      rx_piece_addr(rx, slot->page[0]),
					      rx_piece(rx), DMA_FROM_DEVICE);
}

/* Hand the pieces that hold data to the packet, and put fresh ones there */
static bool rx_take_pages(struct ipoib_cm_rx *rx, struct ipoib_cm_slot *slot,
			  struct sk_buff *skb, u32 len)
{
	u32 i, n = DIV_ROUND_UP(len, rx_piece(rx)), off = IPOIB_ENCAP_LEN;
	struct page *fresh[IPOIB_CM_PIECES];
	u32 part;

	for (i = 0; i < n; i++) {
		fresh[i] = page_pool_alloc_pages(rx->pool,
						 GFP_ATOMIC | __GFP_NOWARN);
		if (unlikely(!fresh[i])) {
			while (i--)
				page_pool_put_full_page(rx->pool, fresh[i],
							true);
			return false;
		}
	}
	for (i = 0; i < n; i++, len -= part, off = 0) {
		part = min(len, rx_piece(rx));
		skb_add_rx_frag(skb, i, slot->page[i], off, part - off,
				rx_piece(rx));
		slot->page[i] = fresh[i];
	}
	skb_mark_for_recycle(skb);
	return true;
}

/* A packet in its final shape, or NULL when there is no memory */
static struct sk_buff *rx_build(struct ipoib_cm_rx *rx,
				struct ipoib_cm_slot *slot, u32 len)
{
	u32 copied = len <= IPOIB_ENCAP_LEN + IPOIB_CM_COPY ? len :
		     IPOIB_ENCAP_LEN;
	struct sk_buff *skb;

	skb = napi_alloc_skb(&rx->napi, IPOIB_HARD_LEN + IPOIB_CM_COPY);
	if (unlikely(!skb))
		return NULL;

	memset(__skb_put(skb, IPOIB_PSEUDO_LEN), 0, IPOIB_PSEUDO_LEN);
	skb_put_data(skb, page_address(slot->page[0]), copied);
	skb_reset_mac_header(skb);
	__skb_pull(skb, IPOIB_HARD_LEN);
	if (copied < len && !rx_take_pages(rx, slot, skb, len)) {
		kfree_skb(skb);
		return NULL;
	}
	if (copied == len)
		rx_rewind(rx, slot);
	return skb;
}

static void rx_deliver(struct ipoib_cm_rx *rx, struct sk_buff *skb)
{
	struct ipoib_dev *d = rx_dev(rx);
	struct pcpu_sw_netstats *stats = this_cpu_ptr(d->cm.stats);
	const struct ipoib_encap *encap;

	encap = (const void *)(skb_mac_header(skb) + IPOIB_PSEUDO_LEN);
	skb->dev = d->dev;
	skb->protocol = encap->proto;
	/* only unicast comes this way */
	skb->pkt_type = PACKET_HOST;

	u64_stats_update_begin(&stats->syncp);
	u64_stats_inc(&stats->rx_packets);
	u64_stats_add(&stats->rx_bytes, skb->len);
	u64_stats_update_end(&stats->syncp);
	napi_gro_receive(&rx->napi, skb);
}

/* Look at one buffer; hand its packet up, or leave it where it is */
static void rx_one(struct ipoib_cm_rx *rx, struct ipoib_cm_slot *slot,
		   const struct ib_wc *wc)
{
	struct ipoib_dev *d = rx_dev(rx);
	u32 len = wc->byte_len;
	struct sk_buff *skb;

	ipoib_conn_touch(wc->qp->qp_context);
	ipoib_data_dbg(d, "received %u bytes over a connection\n", len);
	if (unlikely(len < IPOIB_ENCAP_LEN || len > rx->size)) {
		rx_count_error(d, wc, true);
		if (net_ratelimit())
			netdev_warn(d->dev, "connection: packet of %u bytes dropped\n",
				    len);
		return;
	}
	rx_sync(rx, slot, len);
	skb = rx_build(rx, slot, len);
	if (likely(skb)) {
		rx_deliver(rx, skb);
		return;
	}
	trace_ipoib_rx_drop(d->dev, "no memory", len);
	dev_core_stats_rx_dropped_inc(d->dev);
}

static void rx_failed(struct ipoib_cm_rx *rx, const struct ib_wc *wc)
{
	struct ipoib_dev *d = rx_dev(rx);

	if (wc->status == IB_WC_WR_FLUSH_ERR)
		return;
	rx_count_error(d, wc, wc->status == IB_WC_LOC_LEN_ERR);
	if (net_ratelimit())
		netdev_warn(d->dev, "connection: receive failed: %s (vendor error 0x%x)\n",
			    ib_wc_status_msg(wc->status), wc->vendor_err);
	/* the queue pair is in error */
	ipoib_conn_tell(wc->qp->qp_context, IPOIB_NEWS_BROKEN);
}

/* Shared buffers are made up for by the worker; a peer makes a new connection */
static void rx_post_failed(struct ipoib_cm_rx *rx, struct ipoib_cm_ring *ring,
			   const struct ib_wc *wc)
{
	struct ipoib_dev *d = rx_dev(rx);

	if (net_ratelimit())
		netdev_warn(d->dev, "connection: a receive buffer could not be posted\n");
	WRITE_ONCE(ring->lacking, ring->lacking + 1);
	if (ring->srq)
		ipoib_cm_wake(d);
	else
		ipoib_conn_tell(wc->qp->qp_context, IPOIB_NEWS_BROKEN);
}

static void rx_completed(struct ipoib_cm_rx *rx, const struct ib_wc *wc)
{
	struct ipoib_cm_slot *slot = container_of(wc->wr_cqe,
						  struct ipoib_cm_slot, cqe);
	struct ipoib_cm_ring *ring = slot->ring;
	bool again, last;

	if (unlikely(!slot->posted))
		return;
	slot->posted = false;
	if (likely(wc->status == IB_WC_SUCCESS))
		rx_one(rx, slot, wc);
	else
		rx_failed(rx, wc);

	/* a shared buffer is good for others, whatever happened to this one */
	again = ring->srq || (wc->status == IB_WC_SUCCESS &&
			      !READ_ONCE(ring->closing));
	if (likely(again)) {
		ring->posted--;
		if (unlikely(rx_slot_post(rx, slot)))
			rx_post_failed(rx, ring, wc);
		return;
	}
	rx_slot_free(rx, slot);
	last = ring->posted == 1;
	/* the worker frees the ring when it sees that all have come back */
	smp_store_release(&ring->posted, ring->posted - 1);
	if (last)
		ipoib_cm_wake(rx_dev(rx));
}

/* All that was there has been seen when the queue is empty, or after a fill of it */
static void rx_count_round(struct ipoib_cm_rx *rx, int done, bool empty)
{
	rx->seen += done;
	if (!empty && rx->seen < (u32)rx->cq->cqe)
		return;
	rx->seen = 0;
	WRITE_ONCE(rx->rounds, rx->rounds + 1);
	ipoib_cm_wake(rx_dev(rx));
}

static int rx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_cm_rx *rx = container_of(napi, struct ipoib_cm_rx, napi);
	int done = 0, want, n, i;

	while (done < budget) {
		want = min(budget - done, IPOIB_CM_BATCH);
		n = ib_poll_cq(rx->cq, want, rx->wc);
		for (i = 0; i < n; i++)
			rx_completed(rx, &rx->wc[i]);
		if (n > 0)
			done += n;
		if (n < want)
			break;
	}
	if (unlikely(READ_ONCE(rx->sync)))
		rx_count_round(rx, done, done < budget);
	if (done == budget)
		return done;

	/* more came meanwhile, or the HCA could not arm: poll again */
	if (napi_complete_done(napi, done) &&
	    ib_req_notify_cq(rx->cq, IB_CQ_NEXT_COMP |
			     IB_CQ_REPORT_MISSED_EVENTS))
		napi_schedule(napi);
	return done;
}

static void rx_cq_event(struct ib_cq *cq, void *ctx)
{
	struct ipoib_dev *d = ctx;

	napi_schedule(&d->cm.rx.napi);
}

static void rx_schedule(struct ipoib_cm_rx *rx)
{
	local_bh_disable();
	napi_schedule(&rx->napi);
	local_bh_enable();
}

/**
 * ipoib_cm_rx_synced - has all been seen that was there at a time?
 * @d: interface
 * @stamp: value of rx.rounds at that time
 *
 * If not, the poll will look and wake those who wait.
 *
 * Context: ctl_mutex.
 * Return: true when all that was in the completion queue has been seen.
 */
bool ipoib_cm_rx_synced(struct ipoib_dev *d, u32 stamp)
{
	struct ipoib_cm_rx *rx = &d->cm.rx;

	/* the first round may have looked before that time */
	if (READ_ONCE(rx->rounds) - stamp >= 2)
		return true;
	WRITE_ONCE(rx->sync, true);
	rx_schedule(rx);
	return false;
}

static bool rx_may_share(const struct ib_device *ca)
{
	return ca->ops.create_srq && ca->attrs.max_srq > 0 &&
	       ca->attrs.max_srq_sge > 0 && ca->attrs.max_srq_wr > 1;
}

/**
 * ipoib_cm_rx_plan - how large can packets be?
 * @d: interface
 *
 * Buffers that are shared are made of single pages.  Others are made of larger
 * pieces when the HCA takes few.
 *
 * Context: process, before registration.
 */
void ipoib_cm_rx_plan(struct ipoib_dev *d)
{
	struct ipoib_cm_rx *rx = &d->cm.rx;
	struct ib_device_attr *attrs = &d->ca->attrs;
	u32 most = IPOIB_CM_PIECES;

	mutex_init(&rx->fill_lock);
	mutex_init(&rx->pause_lock);
	rx->order = 0;
	if (rx_may_share(d->ca)) {
		rx->pieces = min_t(u32, attrs->max_srq_sge, most);
	} else {
		rx->pieces = clamp_t(u32, attrs->max_recv_sge, 1, most);
		rx->pieces = rounddown_pow_of_two(rx->pieces);
		rx->order = order_base_2(DIV_ROUND_UP(most, rx->pieces));
	}
	rx->size = ipoib_cm_receive_size(rx->pieces, rx_piece(rx));
}

static struct page_pool *rx_make_pool(struct ipoib_dev *d)
{
	struct ipoib_cm_rx *rx = &d->cm.rx;
	struct page_pool_params params = {
		.order = rx->order,
		.pool_size = 1024,
		.nid = ibdev_to_node(d->ca),
		.napi = &rx->napi,
		.dma_dir = DMA_FROM_DEVICE,
		.max_len = rx_piece(rx),
		.netdev = d->dev,
	};

	if (!ib_uses_virt_dma(d->ca)) {
		params.dev = d->ca->dma_device;
		params.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV;
	}
	return page_pool_create(&params);
}

static u32 rx_ring_size(const struct ipoib_dev *d)
{
	return min_t(u32, ipoib_recvq_size, d->ca->attrs.max_srq_wr);
}

static void rx_make_srq(struct ipoib_dev *d)
{
	struct ipoib_cm_rx *rx = &d->cm.rx;
	struct ib_srq_init_attr attr = {
		.srq_type = IB_SRQT_BASIC,
		.attr = {
			.max_wr = rx_ring_size(d),
			.max_sge = rx->pieces,
		},
	};

	rx->ring.srq = ib_create_srq(d->pd, &attr);
	if (!IS_ERR(rx->ring.srq))
		return;
	netdev_warn(d->dev, "no shared receive queue: %pe\n", rx->ring.srq);
	rx->ring.srq = NULL;
}

static int rx_make_cq(struct ipoib_dev *d)
{
	u32 entries = d->cm.rx.ring.srq ? rx_ring_size(d) :
		      ipoib_cm_max_own(d) *
		      (IPOIB_CM_OWN_RING + IPOIB_CM_BACK_RING);
	struct ib_cq_init_attr attr = {
		.cqe = min_t(u32, entries + 1, d->ca->attrs.max_cqe),
		.comp_vector = d->port % d->ca->num_comp_vectors,
	};

	d->cm.rx.cq = ib_create_cq(d->ca, rx_cq_event, NULL, d, &attr);
	return PTR_ERR_OR_ZERO(d->cm.rx.cq);
}

static void rx_prepare_wr(struct ipoib_dev *d)
{
	struct ipoib_cm_rx *rx = &d->cm.rx;
	u32 i;

	rx->wr.next = NULL;
	rx->wr.sg_list = rx->sge;
	rx->wr.num_sge = rx->pieces;
	for (i = 0; i < rx->pieces; i++) {
		rx->sge[i].length = rx_piece(rx);
		rx->sge[i].lkey = d->pd->local_dma_lkey;
	}
}

/**
 * ipoib_cm_moderate - moderate interrupts of connections as those of datagrams
 * @d: interface; its receive ring has the values, which the HCA has taken
 *
 * Context: rtnl.
 */
void ipoib_cm_moderate(struct ipoib_dev *d)
{
	int err;

	if (!d->cm.rx.open)
		return;
	err = rdma_set_cq_moderation(d->cm.rx.cq, d->rxq.mod_frames,
				     d->rxq.mod_usecs);
	if (err)
		netdev_warn(d->dev, "connections: moderation is not taken: %pe\n",
			    ERR_PTR(err));
}

/**
 * ipoib_cm_rx_open - make what all connections share, and begin to poll
 * @d: interface
 *
 * Context: rtnl, may sleep.
 * Return: 0 or a negative errno, with nothing left behind.
 */
int ipoib_cm_rx_open(struct ipoib_dev *d)
{
	struct ipoib_cm_rx *rx = &d->cm.rx;
	int err;

	rx->pool = rx_make_pool(d);
	if (IS_ERR(rx->pool))
		return PTR_ERR(rx->pool);
	if (rx_may_share(d->ca))
		rx_make_srq(d);
	err = rx_make_cq(d);
	if (err)
		goto err_srq;

	rx_prepare_wr(d);
	rx->refill_at = jiffies;
	netif_napi_add(d->dev, &rx->napi, rx_poll);
	napi_enable(&rx->napi);
	rx->open = true;
	if (d->rxq.mod_frames || d->rxq.mod_usecs)
		ipoib_cm_moderate(d);
	rx_schedule(rx);
	return 0;

err_srq:
	if (rx->ring.srq)
		ib_destroy_srq(rx->ring.srq);
	rx->ring.srq = NULL;
	page_pool_destroy(rx->pool);
	return err;
}

/**
 * ipoib_cm_rx_close - undo ipoib_cm_rx_open(); no connection is left
 * @d: interface
 *
 * Context: rtnl, may sleep.
 */
void ipoib_cm_rx_close(struct ipoib_dev *d)
{
	struct ipoib_cm_rx *rx = &d->cm.rx;

	if (!rx->open)
		return;
	rx->open = false;
	napi_disable(&rx->napi);
	/* a poll that has just ended may still have to arm the queue */
	netif_napi_del(&rx->napi);
	if (rx->ring.srq)
		ib_destroy_srq(rx->ring.srq);
	ipoib_cm_rx_empty(d, &rx->ring);
	ib_destroy_cq(rx->cq);
	page_pool_destroy(rx->pool);
	memset(&rx->ring, 0, sizeof(rx->ring));
}

/**
 * ipoib_cm_rx_pause - keep the poll out
 * @d: interface that is open
 *
 * Context: process, may sleep.
 */
void ipoib_cm_rx_pause(struct ipoib_dev *d)
{
	mutex_lock(&d->cm.rx.pause_lock);
	napi_disable(&d->cm.rx.napi);
}

/**
 * ipoib_cm_rx_resume - let it in again
 * @d: interface that is open
 *
 * Context: process, may sleep.
 */
void ipoib_cm_rx_resume(struct ipoib_dev *d)
{
	napi_enable(&d->cm.rx.napi);
	/* the poll arms the completion queue when it has found it empty */
	rx_schedule(&d->cm.rx);
	mutex_unlock(&d->cm.rx.pause_lock);
}

static int rx_make_ring(struct ipoib_cm_ring *ring, u32 size)
{
	u32 i;

	ring->slot = kvcalloc(size, sizeof(*ring->slot), GFP_KERNEL);
	if (!ring->slot)
		return -ENOMEM;
	for (i = 0; i < size; i++)
		ring->slot[i].ring = ring;
	ring->size = size;
	ring->lacking = size;
	return 0;
}

/* Pages and the work request belong to the poll: it has to be kept out */
static int rx_fill(struct ipoib_cm_rx *rx, struct ipoib_cm_ring *ring)
{
	struct ipoib_cm_slot *slot = ring->slot;
	int err;

	for (; ring->lacking; slot++) {
		if (slot->posted)
			continue;
		err = rx_slot_fill(rx, slot);
		if (!err)
			err = rx_slot_post(rx, slot);
		if (err)
			return err;
		WRITE_ONCE(ring->lacking, ring->lacking - 1);
	}
	return 0;
}

/**
 * ipoib_cm_rx_fill - make the buffers that a ring lacks and post them
 * @d: interface
 * @ring: ring; where to post is set
 * @size: slots, if it has none yet
 *
 * Context: process, may sleep.
 * Return: 0 or a negative errno; the ring has to be emptied in any case.
 */
int ipoib_cm_rx_fill(struct ipoib_dev *d, struct ipoib_cm_ring *ring, u32 size)
{
	int err = ring->slot ? 0 : rx_make_ring(ring, size);

	if (err)
		return err;
	ipoib_cm_rx_pause(d);
	err = rx_fill(&d->cm.rx, ring);
	ipoib_cm_rx_resume(d);
	return err;
}

/**
 * ipoib_cm_rx_share - see to it that there are shared buffers
 * @d: interface
 *
 * Context: process, may sleep.
 * Return: 0, also when the HCA cannot share, or a negative errno; -ENODEV if
 * connections cannot be had.
 */
int ipoib_cm_rx_share(struct ipoib_dev *d)
{
	struct ipoib_cm_rx *rx = &d->cm.rx;
	int err = 0;

	if (!rx->open)
		return -ENODEV;
	if (!rx->ring.srq)
		return 0;
	mutex_lock(&rx->fill_lock);
	if (!rx->ring.slot || READ_ONCE(rx->ring.lacking) == rx->ring.size)
		err = ipoib_cm_rx_fill(d, &rx->ring, rx_ring_size(d));
	/* a ring that is not quite full is good enough; the worker adds to it */
	if (err && READ_ONCE(rx->ring.lacking) < rx->ring.size) {
		ipoib_cm_wake(d);
		err = 0;
	}
	mutex_unlock(&rx->fill_lock);
	return err;
}

/**
 * ipoib_cm_rx_refill - make up for shared buffers that could not be had
 * @d: interface
 * @when: takes the time of the next attempt
 *
 * Context: ctl_mutex, may sleep.
 * Return: true when there has to be one.
 */
bool ipoib_cm_rx_refill(struct ipoib_dev *d, unsigned long *when)
{
	struct ipoib_cm_rx *rx = &d->cm.rx;

	if (!rx->open || !READ_ONCE(rx->ring.lacking))
		return false;
	if (!time_before(jiffies, rx->refill_at)) {
		mutex_lock(&rx->fill_lock);
		ipoib_cm_rx_fill(d, &rx->ring, rx_ring_size(d));
		mutex_unlock(&rx->fill_lock);
		rx->refill_at = jiffies + HZ;
	}
	*when = rx->refill_at;
	return READ_ONCE(rx->ring.lacking);
}

/**
 * ipoib_cm_rx_empty - free a ring that the HCA has no access to any more
 * @d: interface
 * @ring: ring; its queue pair or shared queue has been destroyed
 *
 * Context: process, may sleep.
 */
void ipoib_cm_rx_empty(struct ipoib_dev *d, struct ipoib_cm_ring *ring)
{
	u32 i;

	if (!ring->slot)
		return;
	for (i = 0; i < ring->size; i++)
		rx_slot_free(&d->cm.rx, &ring->slot[i]);
	kvfree(ring->slot);
	ring->slot = NULL;
	ring->posted = 0;
	ring->lacking = 0;
}
