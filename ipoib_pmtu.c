// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that are too big for where they go.
 *
 * In connected mode the MTU of the interface is that of connections, while
 * peers in datagram mode, groups, and peers without a connection at the moment
 * take less.  The sender of such a packet is told by ICMP, and the route learns
 * the smaller MTU.  Transmit cannot do that itself, as it may run with locks of
 * the stack held: the packets are put aside for the control worker.
 *
 * Contexts: refuse runs in transmit or under ctl_mutex, run in the worker.
 */
#include "ipoib_pmtu.h"

#include <linux/icmpv6.h>
#include <linux/if_ether.h>
#include <linux/skbuff.h>
#include <net/dst.h>
#include <net/icmp.h>
#include <net/ip.h>

#include "ipoib.h"

#define IPOIB_PMTU_QUEUE	64	/* packets that wait for the worker */

struct pmtu_cb {
	u32 mtu;
};

static struct pmtu_cb *pmtu_cb(struct sk_buff *skb)
{
	BUILD_BUG_ON(sizeof(struct pmtu_cb) > sizeof(skb->cb));
	return (struct pmtu_cb *)skb->cb;
}

/**
 * ipoib_pmtu_refuse - drop a packet and tell its sender that it is too big
 * @d: interface
 * @skb: packet with its link-layer header; taken over
 * @mtu: IP MTU that would do
 *
 * Context: any, transmit included.
 */
void ipoib_pmtu_refuse(struct ipoib_dev *d, struct sk_buff *skb, u32 mtu)
{
	struct ipoib_cm *cm = &d->cm;
	unsigned long flags;

	dev_core_stats_tx_dropped_inc(d->dev);
	atomic64_inc(&cm->tx_errors);
	spin_lock_irqsave(&cm->lock, flags);
	cm->count.too_big++;
	spin_unlock_irqrestore(&cm->lock, flags);

	if ((skb->protocol != htons(ETH_P_IP) &&
	     skb->protocol != htons(ETH_P_IPV6)) ||
	    skb_queue_len_lockless(&cm->too_big) >= IPOIB_PMTU_QUEUE) {
		dev_kfree_skb_any_reason(skb, SKB_DROP_REASON_PKT_TOO_BIG);
		return;
	}
	pmtu_cb(skb)->mtu = mtu;
	skb_queue_tail(&cm->too_big, skb);
	ipoib_kick(d, IPOIB_EV_CM);
}

static void pmtu_answer(struct sk_buff *skb)
{
	u32 mtu = pmtu_cb(skb)->mtu;

	skb_pull(skb, IPOIB_HARD_LEN);
	/* the stack looks for options of its own there */
	memset(skb->cb, 0, sizeof(skb->cb));
	skb_dst_update_pmtu_no_confirm(skb, mtu);
	if (skb->protocol == htons(ETH_P_IP))
		icmp_send(skb, ICMP_DEST_UNREACH, ICMP_FRAG_NEEDED, htonl(mtu));
	else
		icmpv6_send(skb, ICMPV6_PKT_TOOBIG, 0, mtu);
}

/**
 * ipoib_pmtu_run - answer the senders of packets that were too big
 * @d: interface
 *
 * Context: ctl_mutex, may sleep.
 */
void ipoib_pmtu_run(struct ipoib_dev *d)
{
	struct sk_buff_head *queue = &d->cm.too_big, list;
	struct sk_buff *skb;

	/* who adds one from now on kicks the worker again */
	__skb_queue_head_init(&list);
	spin_lock_irq(&queue->lock);
	skb_queue_splice_init(queue, &list);
	spin_unlock_irq(&queue->lock);
	while ((skb = __skb_dequeue(&list))) {
		pmtu_answer(skb);
		kfree_skb_reason(skb, SKB_DROP_REASON_PKT_TOO_BIG);
	}
}
