// SPDX-License-Identifier: GPL-2.0
/*
 * From the stack to the ring: build the link-layer header, classify a packet,
 * find its target, send it or leave it there.
 *
 * A hit costs one table look-up under RCU.  A miss makes the path or the
 * send-only group, parks the packet on it and wakes the control worker; nothing
 * here calls into the SA, as transmit may run above code that holds its locks.
 *
 * Context: ndo_start_xmit, transmit queue lock held, bh off.
 */
#include "ipoib_xmit.h"

#include <linux/if_ether.h>
#include <linux/ratelimit.h>
#include <linux/skbuff.h>
#include <net/netdev_queues.h>

#include "ipoib.h"
#include "ipoib_cm.h"
#include "ipoib_multicast.h"
#include "ipoib_path.h"
#include "ipoib_target.h"

/* paths of which nothing is known; groups, as many as there are LIDs for them */
static const struct {
	u32 most;
	const char *what;
} xmit_strangers[IPOIB_TARGET_KINDS] = {
	[IPOIB_TARGET_PATH] = { 4096, "unknown peers" },
	[IPOIB_TARGET_GROUP] = { 16383, "groups that are sent to only" },
};

/*
 * The destination travels in front of the packet: the stack has no other place
 * for 20 bytes that survive queueing.
 */
static int xmit_header_create(struct sk_buff *skb, struct net_device *dev,
			      unsigned short type, const void *daddr,
			      const void *saddr, unsigned int len)
{
	struct ipoib_pseudo *pseudo;
	struct ipoib_encap *encap;

	encap = skb_push(skb, sizeof(*encap));
	encap->proto = htons(type);
	encap->reserved = 0;

	pseudo = skb_push(skb, sizeof(*pseudo));
	if (!daddr) {
		memset(pseudo, 0, sizeof(*pseudo));
		return -IPOIB_HARD_LEN;
	}
	memcpy(pseudo->hwaddr, daddr, sizeof(pseudo->hwaddr));
	return IPOIB_HARD_LEN;
}

const struct header_ops ipoib_header_ops = {
	.create = xmit_header_create,
};

static void xmit_drop(struct ipoib_dev *d, struct sk_buff *skb,
		      enum skb_drop_reason reason)
{
	dev_core_stats_tx_dropped_inc(d->dev);
	dev_kfree_skb_any_reason(skb, reason);
}

/* once a minute is enough to know of it */
static DEFINE_RATELIMIT_STATE(xmit_full, 60 * HZ, 1);

/*
 * No target yet: make one, or an ERR_PTR when that cannot be.  Anybody on the
 * fabric can make us answer to GIDs that do not exist, and any program here can
 * send to them, and to groups that exist for it alone: so there is an end to
 * both.
 */
static struct ipoib_target *xmit_make_target(struct ipoib_dev *d,
					     enum ipoib_tx_class class,
					     const u8 *gid)
{
	enum ipoib_target_kind kind = class == IPOIB_TX_MCAST ?
				      IPOIB_TARGET_GROUP : IPOIB_TARGET_PATH;
	u32 most = xmit_strangers[kind].most;

	if (READ_ONCE(d->state) != IPOIB_LIVE)
		return ERR_PTR(-ENETDOWN);
	if (READ_ONCE(d->strangers[kind]) >= most) {
		if (__ratelimit(&xmit_full))
			netdev_warn(d->dev, "%u %s, packets to new ones are dropped\n",
				    most, xmit_strangers[kind].what);
		return ERR_PTR(-ENOBUFS);
	}
	if (kind == IPOIB_TARGET_GROUP)
		return ipoib_mcast_make_sendonly(d, gid);
	return ipoib_path_make(d, gid);
}

static enum skb_drop_reason xmit_why(long err)
{
	switch (err) {
	case -ENETDOWN:
		return SKB_DROP_REASON_DEV_READY;
	case -ENOBUFS:
		return SKB_DROP_REASON_NEIGH_CREATEFAIL;
	default:
		return SKB_DROP_REASON_NOMEM;
	}
}

static void xmit_touch(struct ipoib_target *t)
{
	unsigned long now = jiffies;

	/* keep the cache line clean for the rest of the tick */
	if (time_before(READ_ONCE(t->used), now))
		WRITE_ONCE(t->used, now);
	if (unlikely(READ_ONCE(t->wanted)) && xchg(&t->wanted, false))
		ipoib_target_queue(t);
}

/*
 * Neighbour discovery must not wait for a group: the SM answers a join before
 * its switches forward to the new member, and a solicitation sent in between is
 * lost and repeated a second later.  All nodes listen to the all-nodes group,
 * so until the solicited-node group is joined, its packets go there.
 */
static struct ipoib_ah *xmit_detour(struct ipoib_dev *d, struct ipoib_target *t,
				    const u8 *hw)
{
	struct ipoib_target *all;
	u8 nodes[IPOIB_ALEN];
	struct ipoib_ah *ah;

	if (!ipoib_addr_is_solicited_node(hw))
		return NULL;

	memcpy(nodes, hw, sizeof(nodes));
	ipoib_addr_all_nodes(nodes);
	all = ipoib_target_find(d, ipoib_addr_gid(nodes));
	ah = all ? rcu_dereference(all->ah) : NULL;
	if (ah) {
		WRITE_ONCE(t->detoured, true);
		ipoib_target_queue(t);
	}
	return ah;
}

/* How to reach a target that has no handle yet: NULL when @skb was taken */
static struct ipoib_ah *xmit_miss(struct ipoib_dev *d, struct ipoib_target *t,
				  struct sk_buff *skb,
				  enum ipoib_tx_class class)
{
	struct ipoib_ah *ah;

	if (class == IPOIB_TX_MCAST) {
		ah = xmit_detour(d, t, skb->data);
		if (ah)
			return ah;
	}
	if (ipoib_target_park(t, skb)) {
		/* the worker may have looked just before */
		xmit_touch(t);
		return NULL;
	}

	/* resolved while we looked, and perhaps lost again */
	ah = rcu_dereference(t->ah);
	if (!ah)
		xmit_drop(d, skb, SKB_DROP_REASON_NEIGH_FAILED);
	return ah;
}

/* RCU read side; takes the packet over */
static void xmit_one(struct ipoib_dev *d, struct sk_buff *skb,
		     enum ipoib_tx_class class, bool more)
{
	const u8 *hw = skb->data;
	struct ipoib_target *t;
	struct ipoib_ah *ah;
	u32 qpn;

	ipoib_data_dbg(d, "sending %u bytes to %pI6 QP 0x%06x\n", skb->len,
		       ipoib_addr_gid(hw), ipoib_addr_qpn(hw));
	t = ipoib_target_find(d, ipoib_addr_gid(hw));
	if (unlikely(!t)) {
		t = xmit_make_target(d, class, ipoib_addr_gid(hw));
		if (IS_ERR(t)) {
			xmit_drop(d, skb, xmit_why(PTR_ERR(t)));
			goto flush;
		}
	}
	xmit_touch(t);
	if (unlikely(READ_ONCE(d->txq.rc)) && ipoib_cm_xmit(d, t, skb, class))
		goto flush;

	ah = rcu_dereference(t->ah);
	if (unlikely(!ah)) {
		ah = xmit_miss(d, t, skb, class);
		if (!ah)
			goto flush;
	}

	qpn = class == IPOIB_TX_MCAST ? IPOIB_MCAST_QPN : ipoib_addr_qpn(hw);
	__skb_pull(skb, IPOIB_PSEUDO_LEN);
	ipoib_tx_send(&d->txq, skb, ah, qpn, more);
	return;

flush:
	if (!more)
		ipoib_tx_flush(&d->txq);
}

/* The poll may wake the queue a moment after it has been filled again */
static netdev_tx_t xmit_no_room(struct ipoib_txq *txq)
{
	ipoib_tx_flush(txq);
	netif_txq_try_stop(txq->nq, ipoib_tx_room(txq), 1);
	return NETDEV_TX_BUSY;
}

/**
 * ipoib_xmit - ndo_start_xmit
 * @skb: packet with its link-layer header
 * @dev: netdev of an interface
 *
 * Context: transmit queue lock held, bh off.
 * Return: NETDEV_TX_OK, the packet is taken over; or NETDEV_TX_BUSY in the rare
 * case that the queue was woken though the ring is full.
 */
netdev_tx_t ipoib_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct ipoib_dev *d = ipoib_priv(dev);
	enum ipoib_tx_class class;
	bool more = netdev_xmit_more();

	if (unlikely(!ipoib_tx_room(&d->txq)))
		return xmit_no_room(&d->txq);
	if (unlikely(!pskb_may_pull(skb, IPOIB_HARD_LEN))) {
		xmit_drop(d, skb, SKB_DROP_REASON_HDR_TRUNC);
		goto flush;
	}

	class = ipoib_hdr_tx_class(skb->data, ((struct ipoib_encap *)
				   (skb->data + IPOIB_PSEUDO_LEN))->proto);
	if (unlikely(class == IPOIB_TX_BAD_PROTO)) {
		xmit_drop(d, skb, SKB_DROP_REASON_UNHANDLED_PROTO);
		goto flush;
	}
	/* a neighbour entry may be older than the last change of the P_Key */
	if (class == IPOIB_TX_MCAST)
		ipoib_addr_set_pkey(skb->data, READ_ONCE(d->pkey));

	rcu_read_lock();
	xmit_one(d, skb, class, more);
	rcu_read_unlock();
	return NETDEV_TX_OK;

flush:
	if (!more)
		ipoib_tx_flush(&d->txq);
	return NETDEV_TX_OK;
}
