// SPDX-License-Identifier: GPL-2.0
/*
 * The receive ring: buffers, completions, delivery to the stack.
 *
 * Buffers are pages of a page_pool.  A packet is built around its buffer
 * without a copy and the page comes back to the pool when the stack is done
 * with it, so that no memory is allocated, cleared or mapped while traffic is
 * steady.  A completed buffer is replaced before it is handed up; when there is
 * no page the packet is dropped and its buffer posted again: the ring never
 * runs dry for lack of memory.
 *
 *	[headroom][GRH 40][encapsulation 4][packet ...][skb_shared_info]
 *
 * The stack wants a 20-byte pseudo header in front of the encapsulation; it
 * takes the place of the last 20 bytes of the GRH once that has been read.
 *
 * Contexts: the poll is the only consumer and the only one to post again;
 * fill, close and forget run in the control path.
 */
#include "ipoib_rx.h"

#include <linux/if_ether.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <net/page_pool/helpers.h>

#include "ipoib.h"
#include "ipoib_path.h"
#include "ipoib_trace.h"

#define IPOIB_RX_HEADROOM	NET_SKB_PAD

static u64 rx_dma_addr(const struct ipoib_rxq *rxq, void *va)
{
	if (ib_uses_virt_dma(rxq->dev->ca))
		return (uintptr_t)va + IPOIB_RX_HEADROOM;
	return page_pool_get_dma_addr(virt_to_head_page(va)) +
	       IPOIB_RX_HEADROOM;
}

static void *rx_new_buf(struct ipoib_rxq *rxq, gfp_t gfp)
{
	struct page *page = page_pool_alloc_pages(rxq->pool, gfp);

	return page ? page_address(page) : NULL;
}

static void rx_free_buf(struct ipoib_rxq *rxq, void *va, bool direct)
{
	page_pool_put_full_page(rxq->pool, virt_to_head_page(va), direct);
}

/* Add a slot to the chain of the next post */
static void rx_chain(struct ipoib_rxq *rxq, struct ipoib_rx_slot *slot, int n)
{
	struct ib_recv_wr *wr = &rxq->wr[n];

	rxq->sge[n].addr = rx_dma_addr(rxq, slot->va);
	wr->wr_cqe = &slot->cqe;
	wr->next = &rxq->wr[n + 1];
	slot->posted = true;
}

static int rx_post(struct ipoib_rxq *rxq, int n)
{
	const struct ib_recv_wr *bad = NULL;
	struct ipoib_rx_slot *slot;
	int err;

	if (!n)
		return 0;

	rxq->wr[n - 1].next = NULL;
	err = ib_post_recv(rxq->qp, rxq->wr, &bad);
	if (likely(!err)) {
		rxq->posted += n;
		return 0;
	}

	if (!bad)
		bad = rxq->wr;
	rxq->posted += bad - rxq->wr;
	for (; bad; bad = bad->next) {
		slot = container_of(bad->wr_cqe, struct ipoib_rx_slot, cqe);
		slot->posted = false;
		rx_free_buf(rxq, slot->va, false);
		slot->va = NULL;
	}
	return err;
}

/**
 * ipoib_rx_trace_error - record that a completion brought no packet
 * @d: interface
 * @wc: completion in error, or of an impossible length
 *
 * Context: any.
 */
void ipoib_rx_trace_error(const struct ipoib_dev *d, const struct ib_wc *wc)
{
	bool whole = wc->status == IB_WC_SUCCESS;

	trace_ipoib_rx_drop(d->dev,
			    whole ? "length" : ib_wc_status_msg(wc->status),
			    whole ? wc->byte_len : 0);
}

static void rx_count_error(struct ipoib_rxq *rxq, const struct ib_wc *wc)
{
	bool length = wc->status == IB_WC_SUCCESS;

	ipoib_rx_trace_error(rxq->dev, wc);
	u64_stats_update_begin(&rxq->syncp);
	rxq->errors++;
	rxq->length_errors += length;
	u64_stats_update_end(&rxq->syncp);
}

static void rx_set_type(struct sk_buff *skb, enum ipoib_rx_class class)
{
	switch (class) {
	case IPOIB_RX_BROADCAST:
		skb->pkt_type = PACKET_BROADCAST;
		break;
	case IPOIB_RX_MULTICAST:
		skb->pkt_type = PACKET_MULTICAST;
		break;
	default:
		skb->pkt_type = PACKET_HOST;
		break;
	}
}

static void rx_deliver(struct ipoib_rxq *rxq, struct sk_buff *skb, void *va,
		       const struct ib_wc *wc, enum ipoib_rx_class class)
{
	struct net_device *dev = rxq->dev->dev;
	struct ipoib_encap *encap;
	u32 len;

	len = wc->byte_len - IPOIB_GRH_LEN - IPOIB_ENCAP_LEN;
	encap = va + IPOIB_RX_HEADROOM + IPOIB_GRH_LEN;

	skb_mark_for_recycle(skb);
	skb_reserve(skb, IPOIB_RX_HEADROOM + IPOIB_GRH_LEN - IPOIB_PSEUDO_LEN);
	__skb_put(skb, IPOIB_HARD_LEN + len);
	memset(skb->data, 0, IPOIB_PSEUDO_LEN);
	skb_reset_mac_header(skb);
	__skb_pull(skb, IPOIB_HARD_LEN);

	skb->dev = dev;
	skb->protocol = encap->proto;
	rx_set_type(skb, class);
	if (dev->features & NETIF_F_RXCSUM && wc->wc_flags & IB_WC_IP_CSUM_OK)
		skb->ip_summed = CHECKSUM_UNNECESSARY;

	u64_stats_update_begin(&rxq->syncp);
	rxq->packets++;
	rxq->bytes += len;
	rxq->multicast += class == IPOIB_RX_MULTICAST;
	u64_stats_update_end(&rxq->syncp);
	napi_gro_receive(&rxq->napi, skb);
}

static void rx_drop(struct ipoib_rxq *rxq, const struct ib_wc *wc)
{
	trace_ipoib_rx_drop(rxq->dev->dev, "no memory", wc->byte_len);
	dev_core_stats_rx_dropped_inc(rxq->dev->dev);
}

static enum ipoib_rx_class rx_class(const struct ipoib_rxq *rxq, void *va,
				    const struct ib_wc *wc)
{
	const struct ib_grh *grh = va + IPOIB_RX_HEADROOM;
	bool has_grh = wc->wc_flags & IB_WC_GRH;

	return ipoib_hdr_rx_class(&rxq->self, wc->slid, wc->src_qp,
				  has_grh ? grh->sgid.raw : NULL,
				  grh->dgid.raw);
}

/* A request for an address tells where its sender is now */
static void rx_learn(struct ipoib_rxq *rxq, void *va, const struct ib_wc *wc)
{
	const struct ib_grh *grh = va + IPOIB_RX_HEADROOM;
	const struct ipoib_encap *encap = (void *)(grh + 1);

	if (encap->proto == htons(ETH_P_ARP) ||
	    encap->proto == htons(ETH_P_IPV6))
		ipoib_path_heard(rxq->dev, grh->sgid.raw, wc->slid);
}

/* Look at one buffer; hand it up and replace it, or leave it where it is */
static void rx_one(struct ipoib_rxq *rxq, struct ipoib_rx_slot *slot,
		   const struct ib_wc *wc)
{
	enum ipoib_rx_class class;
	struct sk_buff *skb;
	void *va = slot->va;
	void *fresh;

	if (unlikely(!ipoib_hdr_rx_len_ok(wc->byte_len) ||
		     wc->byte_len > rxq->buf_len)) {
		rx_count_error(rxq, wc);
		return;
	}
	if (!ib_uses_virt_dma(rxq->dev->ca))
		page_pool_dma_sync_for_cpu(rxq->pool, virt_to_head_page(va), 0,
					   wc->byte_len);
	class = rx_class(rxq, va, wc);
	ipoib_data_dbg(rxq->dev, "received %u bytes from QP 0x%06x, class %d\n",
		       wc->byte_len, wc->src_qp, class);
	if (unlikely(class == IPOIB_RX_ECHO))
		return;
	if (class != IPOIB_RX_HOST)
		rx_learn(rxq, va, wc);

	fresh = rx_new_buf(rxq, GFP_ATOMIC | __GFP_NOWARN);
	if (unlikely(!fresh)) {
		rx_drop(rxq, wc);
		return;
	}
	skb = napi_build_skb(va, rxq->truesize);
	if (unlikely(!skb)) {
		rx_free_buf(rxq, fresh, true);
		rx_drop(rxq, wc);
		return;
	}
	slot->va = fresh;
	rx_deliver(rxq, skb, va, wc, class);
}

static void rx_failed(struct ipoib_rxq *rxq, const struct ib_wc *wc)
{
	if (wc->status == IB_WC_WR_FLUSH_ERR)
		return;

	rx_count_error(rxq, wc);
	if (net_ratelimit())
		netdev_warn(rxq->dev->dev,
			    "receive failed: %s (vendor error 0x%x)\n",
			    ib_wc_status_msg(wc->status), wc->vendor_err);
	/* the queue pair is in error and takes no more packets */
	ipoib_kick(rxq->dev, IPOIB_EV_RESET);
}

/* The buffer stays in its slot: make sure that the HCA may write it again */
static void rx_rewind(struct ipoib_rxq *rxq, void *va)
{
	if (!ib_uses_virt_dma(rxq->dev->ca))
		ib_dma_sync_single_for_device(rxq->dev->ca,
					      rx_dma_addr(rxq, va), rxq->buf_len,
					      DMA_FROM_DEVICE);
}

static int rx_poll_cq(struct ipoib_rxq *rxq, int budget)
{
	bool closing = READ_ONCE(rxq->closing);
	struct ipoib_rx_slot *slot;
	int i, n, chained = 0;
	void *va;

	n = ib_poll_cq(rxq->cq, min(budget, IPOIB_RX_BATCH), rxq->wc);
	if (n <= 0)
		return n;

	for (i = 0; i < n; i++) {
		slot = container_of(rxq->wc[i].wr_cqe, struct ipoib_rx_slot,
				    cqe);
		if (unlikely(!slot->posted))
			continue;
		slot->posted = false;
		rxq->posted--;
		va = slot->va;
		if (likely(rxq->wc[i].status == IB_WC_SUCCESS))
			rx_one(rxq, slot, &rxq->wc[i]);
		else
			rx_failed(rxq, &rxq->wc[i]);

		if (unlikely(closing || rxq->wc[i].status != IB_WC_SUCCESS)) {
			rx_free_buf(rxq, slot->va, true);
			slot->va = NULL;
			continue;
		}
		if (unlikely(slot->va == va))
			rx_rewind(rxq, va);
		rx_chain(rxq, slot, chained++);
	}
	if (unlikely(rx_post(rxq, chained)))
		ipoib_kick(rxq->dev, IPOIB_EV_RESET);
	return n;
}

static int rx_poll(struct napi_struct *napi, int budget)
{
	struct ipoib_rxq *rxq = container_of(napi, struct ipoib_rxq, napi);
	int done = 0, n;

	while (done < budget) {
		n = rx_poll_cq(rxq, budget - done);
		if (n <= 0)
			break;
		done += n;
		if (n < IPOIB_RX_BATCH)
			break;
	}
	if (unlikely(READ_ONCE(rxq->closing)) && ipoib_rx_drained(rxq))
		wake_up(&rxq->drained);

	if (done == budget)
		return done;
	/* more came meanwhile, or the HCA could not arm: poll again */
	if (napi_complete_done(napi, done) &&
	    ib_req_notify_cq(rxq->cq, IB_CQ_NEXT_COMP |
			     IB_CQ_REPORT_MISSED_EVENTS))
		napi_schedule(napi);
	return done;
}

/**
 * ipoib_rx_cq_event - the receive queue has completions
 * @cq: completion queue
 * @ctx: the interface
 *
 * Context: any, called by the HCA driver.
 */
void ipoib_rx_cq_event(struct ib_cq *cq, void *ctx)
{
	struct ipoib_dev *d = ctx;

	napi_schedule(&d->rxq.napi);
}

/**
 * ipoib_rx_init - make the receive ring, without buffers
 * @d: interface; its port_mtu is known
 * @size: slots, a power of two
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int ipoib_rx_init(struct ipoib_dev *d, u32 size)
{
	struct ipoib_rxq *rxq = &d->rxq;
	u32 need;

	rxq->slot = kvcalloc(size, sizeof(*rxq->slot), GFP_KERNEL);
	if (!rxq->slot)
		return -ENOMEM;

	rxq->size = size;
	rxq->dev = d;
	rxq->buf_len = IPOIB_GRH_LEN + d->port_mtu;
	need = SKB_DATA_ALIGN(IPOIB_RX_HEADROOM + rxq->buf_len) +
	       SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
	rxq->order = get_order(need);
	rxq->truesize = PAGE_SIZE << rxq->order;
	u64_stats_init(&rxq->syncp);
	init_waitqueue_head(&rxq->drained);
	return 0;
}

/**
 * ipoib_rx_fini - free the receive ring, which holds no buffers
 * @d: interface
 *
 * Context: process, may sleep.
 */
void ipoib_rx_fini(struct ipoib_dev *d)
{
	kvfree(d->rxq.slot);
	d->rxq.slot = NULL;
}

static struct page_pool *rx_make_pool(struct ipoib_rxq *rxq)
{
	struct ib_device *ca = rxq->dev->ca;
	struct page_pool_params params = {
		.order = rxq->order,
		.pool_size = rxq->size,
		.nid = ibdev_to_node(ca),
		.napi = &rxq->napi,
		.dma_dir = DMA_FROM_DEVICE,
		.max_len = rxq->buf_len,
		.offset = IPOIB_RX_HEADROOM,
		.netdev = rxq->dev->dev,
	};

	if (!ib_uses_virt_dma(ca)) {
		params.dev = ca->dma_device;
		params.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV;
	}
	return page_pool_create(&params);
}

/**
 * ipoib_rx_start - make the page pool and begin to poll
 * @d: interface whose verbs objects exist
 *
 * Context: rtnl, may sleep.
 * Return: 0 or a negative errno.
 */
int ipoib_rx_start(struct ipoib_dev *d)
{
	struct ipoib_rxq *rxq = &d->rxq;
	int i;

	rxq->pool = rx_make_pool(rxq);
	if (IS_ERR(rxq->pool)) {
		i = PTR_ERR(rxq->pool);
		rxq->pool = NULL;
		return i;
	}
	for (i = 0; i < IPOIB_RX_BATCH; i++) {
		rxq->wr[i].sg_list = &rxq->sge[i];
		rxq->wr[i].num_sge = 1;
		rxq->sge[i].length = rxq->buf_len;
		rxq->sge[i].lkey = d->pd->local_dma_lkey;
	}
	netif_napi_add(d->dev, &rxq->napi, rx_poll);
	napi_enable(&rxq->napi);
	netif_queue_set_napi(d->dev, 0, NETDEV_QUEUE_TYPE_RX, &rxq->napi);
	return 0;
}

/**
 * ipoib_rx_stop - end polling and give the pages back; the ring is empty
 * @d: interface
 *
 * Context: rtnl, may sleep.
 */
void ipoib_rx_stop(struct ipoib_dev *d)
{
	struct ipoib_rxq *rxq = &d->rxq;

	netif_queue_set_napi(d->dev, 0, NETDEV_QUEUE_TYPE_RX, NULL);
	napi_disable(&rxq->napi);
	page_pool_destroy(rxq->pool);
	rxq->pool = NULL;
	netif_napi_del(&rxq->napi);
}

/**
 * ipoib_rx_fill - post all buffers of the ring
 * @d: interface, ring empty, queue pair in INIT or beyond
 *
 * Context: ctl_mutex, may sleep.
 * Return: 0 or a negative errno; some buffers may have been posted then.
 */
int ipoib_rx_fill(struct ipoib_dev *d)
{
	struct ipoib_rxq *rxq = &d->rxq;
	int err = 0, n = 0;
	u32 i;

	/* pages and work requests belong to the poll: keep it out */
	napi_disable(&rxq->napi);
	WRITE_ONCE(rxq->closing, false);
	for (i = 0; i < rxq->size && !err; i++) {
		rxq->slot[i].va = rx_new_buf(rxq, GFP_KERNEL);
		if (!rxq->slot[i].va) {
			err = -ENOMEM;
			break;
		}
		rx_chain(rxq, &rxq->slot[i], n++);
		if (n == IPOIB_RX_BATCH) {
			err = rx_post(rxq, n);
			n = 0;
		}
	}
	err = rx_post(rxq, n) ?: err;
	napi_enable(&rxq->napi);

	/* the poll arms the completion queue when it has found it empty */
	local_bh_disable();
	napi_schedule(&rxq->napi);
	local_bh_enable();
	return err;
}

/**
 * ipoib_rx_close - post no buffer again
 * @d: interface
 *
 * Context: ctl_mutex.
 */
void ipoib_rx_close(struct ipoib_dev *d)
{
	WRITE_ONCE(d->rxq.closing, true);
}

/**
 * ipoib_rx_drained - has the HCA given all buffers back?
 * @rxq: ring being closed
 *
 * Context: any.
 * Return: true when it has.
 */
bool ipoib_rx_drained(const struct ipoib_rxq *rxq)
{
	return !READ_ONCE(rxq->posted);
}

/**
 * ipoib_rx_forget - take back what a reset queue pair will never complete
 * @d: interface, ring closed, queue pair in RESET
 *
 * Context: ctl_mutex, may sleep; polling is on.
 */
void ipoib_rx_forget(struct ipoib_dev *d)
{
	struct ipoib_rxq *rxq = &d->rxq;
	u32 i;

	napi_disable(&rxq->napi);
	for (i = 0; i < rxq->size; i++) {
		if (rxq->slot[i].va)
			rx_free_buf(rxq, rxq->slot[i].va, false);
		rxq->slot[i].va = NULL;
		rxq->slot[i].posted = false;
	}
	rxq->posted = 0;
	napi_enable(&rxq->napi);
}

/**
 * ipoib_rx_stats - add the counters of the ring
 * @rxq: ring
 * @s: sums
 *
 * Context: any.
 */
void ipoib_rx_stats(const struct ipoib_rxq *rxq, struct rtnl_link_stats64 *s)
{
	u64 packets, bytes, multicast, errors, length_errors;
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&rxq->syncp);
		packets = rxq->packets;
		bytes = rxq->bytes;
		multicast = rxq->multicast;
		errors = rxq->errors;
		length_errors = rxq->length_errors;
	} while (u64_stats_fetch_retry(&rxq->syncp, start));

	s->rx_packets += packets;
	s->rx_bytes += bytes;
	s->multicast += multicast;
	s->rx_errors += errors;
	s->rx_length_errors += length_errors;
}
