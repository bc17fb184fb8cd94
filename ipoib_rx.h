/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_RX_H
#define _IPOIB_RX_H

#include <linux/netdevice.h>
#include <linux/u64_stats_sync.h>

#include <rdma/ib_verbs.h>

#include "ipoib_hdr.h"

#define IPOIB_RX_BATCH		16

struct ipoib_dev;
struct page_pool;

/**
 * struct ipoib_rx_slot - one buffer of the receive ring
 * @cqe: how a completion finds this slot
 * @va: the buffer, NULL when the slot is empty
 * @posted: the HCA owns the buffer
 */
struct ipoib_rx_slot {
	struct ib_cqe cqe;
	void *va;
	bool posted;
};

/**
 * struct ipoib_rxq - a receive ring and its completion queue
 *
 * Letters: P poll side, the NAPI instance alone; I set up while the ring is
 * closed.
 *
 * @self: who we are, to know our own echoes; written by the control worker
 * @posted: P buffers owned by the HCA
 * @closing: the queue pair is being drained: do not post again
 * @packets: P packets handed to the stack
 * @bytes: P their bytes
 * @multicast: P of these, sent to a group other than broadcast
 * @errors: P completed in error
 * @length_errors: P too short to be a packet
 * @syncp: P guards the counters
 * @slot: I slot array
 * @wc: P completions
 * @wr: P work requests for the next post
 * @sge: P their buffers
 * @pool: I pages
 * @cq: I completion queue
 * @qp: I queue pair
 * @dev: I interface
 * @size: I slots
 * @buf_len: I bytes that the HCA may write
 * @truesize: I bytes of a buffer in all
 * @order: I page order of a buffer
 * @mod_usecs: interrupt moderation, microseconds; under rtnl
 * @mod_frames: interrupt moderation, completions; under rtnl
 * @drained: woken when the last buffer comes back
 * @napi: poll
 */
struct ipoib_rxq {
	struct ipoib_rx_self self ____cacheline_aligned_in_smp;

	u32 posted ____cacheline_aligned_in_smp;
	bool closing;
	u64 packets;
	u64 bytes;
	u64 multicast;
	u64 errors;
	u64 length_errors;
	struct u64_stats_sync syncp;
	struct ib_wc wc[IPOIB_RX_BATCH];
	struct ib_recv_wr wr[IPOIB_RX_BATCH];
	struct ib_sge sge[IPOIB_RX_BATCH];

	struct ipoib_rx_slot *slot ____cacheline_aligned_in_smp;
	struct page_pool *pool;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ipoib_dev *dev;
	u32 size;
	u32 buf_len;
	u32 truesize;
	u32 order;
	u16 mod_usecs;
	u16 mod_frames;
	wait_queue_head_t drained;
	struct napi_struct napi;
};

int ipoib_rx_init(struct ipoib_dev *d, u32 size);
void ipoib_rx_fini(struct ipoib_dev *d);
int ipoib_rx_start(struct ipoib_dev *d);
void ipoib_rx_stop(struct ipoib_dev *d);
int ipoib_rx_fill(struct ipoib_dev *d);
void ipoib_rx_close(struct ipoib_dev *d);
bool ipoib_rx_drained(const struct ipoib_rxq *rxq);
void ipoib_rx_forget(struct ipoib_dev *d);
void ipoib_rx_stats(const struct ipoib_rxq *rxq, struct rtnl_link_stats64 *s);
void ipoib_rx_trace_error(const struct ipoib_dev *d, const struct ib_wc *wc);
void ipoib_rx_cq_event(struct ib_cq *cq, void *ctx);

#endif /* _IPOIB_RX_H */
