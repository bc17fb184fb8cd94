/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_TX_H
#define _IPOIB_TX_H

#include <linux/netdevice.h>
#include <linux/u64_stats_sync.h>

#include <rdma/ib_verbs.h>

#include "ipoib_ring.h"

#define IPOIB_TX_SGE		(MAX_SKB_FRAGS + 1)
#define IPOIB_TX_CHAIN		8	/* work requests for one doorbell */
#define IPOIB_WC_BATCH		16

struct ipoib_ah;
struct ipoib_dev;

/**
 * struct ipoib_tx_slot - one send on its way
 * @cqe: how a completion finds this slot
 * @skb: the packet, NULL when the post failed and it is gone already
 * @bytes: bytes told to BQL
 * @packets: packets on the wire, several for a segmented one
 * @head: @map[0] maps the linear part, else a fragment
 * @nr_maps: valid entries of @map
 * @map: bus addresses
 */
struct ipoib_tx_slot {
	struct ib_cqe cqe;
	struct sk_buff *skb;
	u32 bytes;
	u16 packets;
	u8 head;
	u8 nr_maps;
	u64 map[IPOIB_TX_SGE];
};

/**
 * struct ipoib_tx_wr - a work request being put together
 * @ud: the request
 * @sge: its gather list
 */
struct ipoib_tx_wr {
	struct ib_ud_wr ud;
	struct ib_sge sge[IPOIB_TX_SGE];
};

/**
 * struct ipoib_txq - a transmit ring and its completion queue
 *
 * Letters: X transmit side, under the lock of @nq; P poll side, the NAPI
 * instance alone; I set up while the ring is closed.
 *
 * @head: X next slot to fill, free-running; read by P
 * @chained: X requests put together but not posted
 * @open: X packets may be posted
 * @rc: connections may carry packets, too; written by the control path
 * @errors: X sends that could not be posted
 * @tail: P oldest slot in use, free-running; read by X
 * @aborted: X set, P cleared: slots whose post failed wait for the poll
 * @stalled: A bit 0: somebody waits for room, see ipoib_tx_want_room()
 * @packets: P packets sent
 * @bytes: P bytes sent, encapsulation headers included
 * @fails: P sends that completed in error
 * @syncp: P guards the three above
 * @xmit_syncp: X guards @errors
 * @slot: I slot array
 * @wr: X work requests for the next doorbell
 * @wc: P completions
 * @nq: I queue of the netdev
 * @cq: I completion queue
 * @qp: I queue pair
 * @dev: I interface
 * @napi: poll
 * @size: I slots
 * @max_sge: I gather entries of the HCA
 * @mod_usecs: interrupt moderation, microseconds; under rtnl
 * @mod_frames: interrupt moderation, completions; under rtnl
 * @drained: woken when the last slot comes back
 */
struct ipoib_txq {
	u32 head ____cacheline_aligned_in_smp;
	u32 chained;
	bool open;
	bool rc;
	u64 errors;
	struct u64_stats_sync xmit_syncp;

	u32 tail ____cacheline_aligned_in_smp;
	u64 packets;
	u64 bytes;
	u64 fails;
	struct u64_stats_sync syncp;
	struct ib_wc wc[IPOIB_WC_BATCH];

	struct ipoib_tx_slot *slot ____cacheline_aligned_in_smp;
	struct ipoib_tx_wr *wr;
	struct netdev_queue *nq;
	struct ib_cq *cq;
	struct ib_qp *qp;
	struct ipoib_dev *dev;
	u32 size;
	u32 max_sge;
	u16 mod_usecs;
	u16 mod_frames;
	unsigned long aborted;
	unsigned long stalled;
	wait_queue_head_t drained;
	struct napi_struct napi;
};

/**
 * ipoib_tx_room - slots that can be filled
 * @txq: ring
 *
 * Context: any; exact for the transmit side, a lower bound for others.
 * Return: number of slots.
 */
static inline u32 ipoib_tx_room(const struct ipoib_txq *txq)
{
	return ipoib_ring_free(READ_ONCE(txq->head), READ_ONCE(txq->tail),
			       txq->size);
}

int ipoib_tx_init(struct ipoib_dev *d, u32 size);
void ipoib_tx_fini(struct ipoib_dev *d);
void ipoib_tx_start(struct ipoib_dev *d);
void ipoib_tx_stop(struct ipoib_dev *d);
void ipoib_tx_open(struct ipoib_dev *d);
void ipoib_tx_close(struct ipoib_dev *d);
bool ipoib_tx_drained(const struct ipoib_txq *txq);
void ipoib_tx_forget(struct ipoib_dev *d);
int ipoib_tx_map(struct ib_device *ca, struct ipoib_tx_slot *slot,
		 struct ib_sge *sge, u32 hlen);
void ipoib_tx_unmap(struct ib_device *ca, struct ipoib_tx_slot *slot);
bool ipoib_tx_send(struct ipoib_txq *txq, struct sk_buff *skb,
		   const struct ipoib_ah *ah, u32 qpn, bool more);
void ipoib_tx_flush(struct ipoib_txq *txq);
void ipoib_tx_want_room(struct ipoib_txq *txq);
void ipoib_tx_stats(const struct ipoib_txq *txq, struct rtnl_link_stats64 *s);
void ipoib_tx_cq_event(struct ib_cq *cq, void *ctx);

#endif /* _IPOIB_TX_H */
