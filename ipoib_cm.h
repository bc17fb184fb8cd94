/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_CM_H
#define _IPOIB_CM_H

#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>
#include <linux/u64_stats_sync.h>
#include <linux/wait.h>

#include <rdma/ib_verbs.h>

#include "ipoib_cm_policy.h"
#include "ipoib_hdr.h"

/* pieces that make a buffer for the largest packet */
#define IPOIB_CM_PIECES		DIV_ROUND_UP(0x10000, PAGE_SIZE)
#define IPOIB_CM_BATCH		16
#define IPOIB_CM_LISTENERS	2

struct ib_cm_id;
struct ipoib_conn;
struct ipoib_dev;
struct ipoib_target;
struct netlink_ext_ack;
struct page_pool;
struct seq_file;

/**
 * struct ipoib_cm_slot - one buffer for packets of connections
 * @cqe: how a completion finds this slot
 * @ring: ring that it is part of
 * @posted: the HCA owns the buffer
 * @page: its pieces, NULL when the slot is empty
 */
struct ipoib_cm_slot {
	struct ib_cqe cqe;
	struct ipoib_cm_ring *ring;
	bool posted;
	struct page *page[IPOIB_CM_PIECES];
};

/**
 * struct ipoib_cm_ring - receive buffers, of all connections or of one
 * @slot: slot array, NULL until there is need for it
 * @srq: where they are posted if all connections share them
 * @qp: where they are posted otherwise
 * @size: slots
 * @posted: P buffers owned by the HCA
 * @lacking: P slots without a buffer
 * @closing: P do not post again
 */
struct ipoib_cm_ring {
	struct ipoib_cm_slot *slot;
	struct ib_srq *srq;
	struct ib_qp *qp;
	u32 size;
	u32 posted;
	u32 lacking;
	bool closing;
};

/**
 * struct ipoib_cm_rx - receive side of all connections of an interface
 *
 * Letters: P poll side, the NAPI instance alone; I set up while the interface
 * is being opened.
 *
 * @ring: shared buffers, if the HCA can share
 * @wc: P completions
 * @wr: P work request being put together
 * @sge: P its buffer
 * @rounds: P times that all of the completion queue was seen while @sync was set
 * @seen: P completions seen since @rounds has moved
 * @sync: somebody waits for @rounds to move
 * @pool: I pages
 * @cq: I completion queue
 * @napi: poll
 * @refill_at: C not before this time are lacking buffers made again
 * @fill_lock: one at a time fills the shared ring; taken under ctl_mutex, sleeps
 * @pause_lock: held while the poll is kept out; inside @fill_lock, sleeps
 * @order: I page order of a piece
 * @pieces: I pieces of a buffer
 * @size: I bytes that can be received, encapsulation header included
 * @open: I the above is there
 */
struct ipoib_cm_rx {
	struct ipoib_cm_ring ring;
	struct ib_wc wc[IPOIB_CM_BATCH];
	struct ib_recv_wr wr;
	struct ib_sge sge[IPOIB_CM_PIECES];
	u32 rounds;
	u32 seen;
	bool sync;

	struct page_pool *pool;
	struct ib_cq *cq;
	struct napi_struct napi;
	unsigned long refill_at;
	/* one at a time fills the shared ring */
	struct mutex fill_lock;
	/* one at a time keeps the poll out */
	struct mutex pause_lock;
	u32 order;
	u32 pieces;
	u32 size;
	bool open;
};

/**
 * struct ipoib_cm_counts - what happened, for debugfs
 * @req_sent: connections asked for
 * @req_heard: connections others asked for
 * @opened: of those asked for, answered and used
 * @accepted: of those others asked for, granted
 * @rejected: answered by a REJ
 * @silent: not answered
 * @unusable: answered, but nothing could be made of that
 * @withdrawn: no longer wanted before there was an answer
 * @refused: asked for by others, not granted
 * @broken: ended by an error
 * @idle: ended because nothing was sent
 * @too_big: packets sent back because they were too big
 *
 * Under cm->lock.
 */
struct ipoib_cm_counts {
	u64 req_sent;
	u64 req_heard;
	u64 opened;
	u64 accepted;
	u64 rejected;
	u64 silent;
	u64 unusable;
	u64 withdrawn;
	u64 refused;
	u64 broken;
	u64 idle;
	u64 too_big;
};

/**
 * struct ipoib_cm - connected mode of an interface
 * @able: I connections are accepted, and the flag octet says so
 * @connected: R the mode; read anywhere
 * @mtu: I largest IP MTU in connected mode
 * @lock: guards the lists and counts below; irq safe, a leaf
 * @todo: connections that wait for the worker
 * @active: connections made by us
 * @passive: connections made by others
 * @flushing: connections whose queue pair is in error
 * @seen: of one of the first two, those that a walk has behind it
 * @nr_passive: connections made by others that hold resources
 * @nr_back: C connections made by us with receive buffers of their own
 * @count: what happened
 * @due: C earliest deadline of a connection, valid with @due_set
 * @due_set: C
 * @watch_at: C not before this time live connections are looked at again
 * @watching: C there may be one
 * @end_at: C when to end all connections after a change to datagram mode
 * @ending: that time is set
 * @moved: A something happened that a flush waits for
 * @wait: woken with it
 * @listener: C where REQs arrive
 * @stats: packets and bytes of all connections, per CPU
 * @tx_errors: A sends that failed
 * @rx_errors: A receives that failed
 * @rx_length_errors: A of these, too short or too long
 * @too_big: packets whose senders have to be told
 * @rx: receive side
 * @spill: C packets that connections left behind, with their pseudo header
 * @spill_bytes: C their truesize
 * @wr: X send work request being put together
 * @sge: X its gather list
 *
 * X: under the transmit queue lock.
 */
struct ipoib_cm {
	bool able;
	bool connected;
	u32 mtu;

	/* guards the lists and counts */
	spinlock_t lock;
	struct list_head todo;
	struct list_head active;
	struct list_head passive;
	struct list_head flushing;
	struct list_head seen;
	u32 nr_passive;
	u32 nr_back;
	struct ipoib_cm_counts count;

	unsigned long due;
	bool due_set;
	unsigned long watch_at;
	bool watching;
	unsigned long end_at;
	bool ending;
	atomic_t moved;
	wait_queue_head_t wait;
	struct ib_cm_id *listener[IPOIB_CM_LISTENERS];

	struct pcpu_sw_netstats __percpu *stats;
	atomic64_t tx_errors;
	atomic64_t rx_errors;
	atomic64_t rx_length_errors;
	struct sk_buff_head too_big;
	struct ipoib_cm_rx rx;
	struct sk_buff_head spill;
	u32 spill_bytes;
	struct ib_send_wr wr;
	struct ib_sge sge[MAX_SKB_FRAGS + 1];
};

#ifdef CONFIG_INFINIBAND_IPOIB_CM
int ipoib_cm_init(struct ipoib_dev *d);
void ipoib_cm_fini(struct ipoib_dev *d);
void ipoib_cm_open(struct ipoib_dev *d);
void ipoib_cm_close(struct ipoib_dev *d);
void ipoib_cm_run(struct ipoib_dev *d);
void ipoib_cm_sweep(struct ipoib_dev *d, unsigned long gc);
void ipoib_cm_restart(struct ipoib_dev *d);
void ipoib_cm_moderate(struct ipoib_dev *d);
void ipoib_cm_forget(struct ipoib_target *t);
void ipoib_cm_path_news(struct ipoib_target *t);
bool ipoib_cm_xmit(struct ipoib_dev *d, struct ipoib_target *t,
		   struct sk_buff *skb, enum ipoib_tx_class class);
int ipoib_cm_set_mode(struct ipoib_dev *d, bool connected,
		      struct netlink_ext_ack *extack);
void ipoib_cm_stats(struct ipoib_dev *d, struct rtnl_link_stats64 *s);
void ipoib_cm_show(struct ipoib_dev *d, struct seq_file *s);
#else
/**
 * ipoib_cm_init - nothing to prepare without connected mode
 * @d: interface
 *
 * Return: 0.
 */
static inline int ipoib_cm_init(struct ipoib_dev *d)
{
	return 0;
}

/**
 * ipoib_cm_fini - nothing to undo
 * @d: interface
 */
static inline void ipoib_cm_fini(struct ipoib_dev *d)
{
}

/**
 * ipoib_cm_open - nobody listens
 * @d: interface
 */
static inline void ipoib_cm_open(struct ipoib_dev *d)
{
}

/**
 * ipoib_cm_moderate - nothing is received
 * @d: interface
 */
static inline void ipoib_cm_moderate(struct ipoib_dev *d)
{
}

/**
 * ipoib_cm_close - there are no connections
 * @d: interface
 */
static inline void ipoib_cm_close(struct ipoib_dev *d)
{
}

/**
 * ipoib_cm_run - nothing is ever due
 * @d: interface
 */
static inline void ipoib_cm_run(struct ipoib_dev *d)
{
}

/**
 * ipoib_cm_sweep - nothing is ever idle
 * @d: interface
 * @gc: length of a round in ticks
 */
static inline void ipoib_cm_sweep(struct ipoib_dev *d, unsigned long gc)
{
}

/**
 * ipoib_cm_restart - there are no connections
 * @d: interface
 */
static inline void ipoib_cm_restart(struct ipoib_dev *d)
{
}

/**
 * ipoib_cm_forget - a target has no connections
 * @t: target
 */
static inline void ipoib_cm_forget(struct ipoib_target *t)
{
}

/**
 * ipoib_cm_path_news - a target has no connections
 * @t: target
 */
static inline void ipoib_cm_path_news(struct ipoib_target *t)
{
}

/**
 * ipoib_cm_xmit - all packets go by UD
 * @d: interface
 * @t: target
 * @skb: packet
 * @class: unicast or multicast
 *
 * Return: false, the packet was not taken.
 */
static inline bool ipoib_cm_xmit(struct ipoib_dev *d, struct ipoib_target *t,
				 struct sk_buff *skb,
				 enum ipoib_tx_class class)
{
	return false;
}

/**
 * ipoib_cm_set_mode - there is no other mode than datagram
 * @d: interface
 * @connected: mode wanted
 * @extack: why not
 *
 * Return: 0 or -EINVAL.
 */
static inline int ipoib_cm_set_mode(struct ipoib_dev *d, bool connected,
				    struct netlink_ext_ack *extack)
{
	return connected ? -EINVAL : 0;
}

/**
 * ipoib_cm_stats - nothing to count
 * @d: interface
 * @s: sums
 */
static inline void ipoib_cm_stats(struct ipoib_dev *d,
				  struct rtnl_link_stats64 *s)
{
}

/**
 * ipoib_cm_show - nothing to show
 * @d: interface
 * @s: where to print it
 */
static inline void ipoib_cm_show(struct ipoib_dev *d, struct seq_file *s)
{
}
#endif

#endif /* _IPOIB_CM_H */
