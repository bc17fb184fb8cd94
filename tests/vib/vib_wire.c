// SPDX-License-Identifier: GPL-2.0
/*
 * Wires: cables whose other end is in another machine (or elsewhere in this one), by way of an
 * Ethernet interface.
 *
 *	echo "wire sw0:8 eth0" >ctl	what leaves port 8 of sw0 goes out by eth0, and vice versa
 *	echo "unwire sw0:8" >ctl	the same by "unwire eth0"
 *	cat wires			a line for each, in key=value words
 *
 * To the port at this end a wire looks like any other cable: its peer is a link port that stands
 * for the far one and is ACTIVE as long as the link is up. Whether it is up is agreed by hellos:
 *
 * - Each end says hello twice a second, and at once when something has changed: who it is (a
 *   number drawn when the wire was made), whom it hears, whether its port wants the link, how
 *   often the link has gone down here, and how often, as far as it knows, there. The link trains
 *   when both want it, hear each other and the other end knows of every time that it went down
 *   here.
 * - It goes down when the other end does not want it any more, was made anew, or has been silent
 *   for too long; when the interface goes down, loses its carrier or leaves its network namespace;
 *   and when the other end says that it went down there, be it for a moment. So no end trains
 *   while the other one still is what it was before.
 *
 * Frames are Ethernet frames of a type reserved for experiments: a header with magic, session and
 * sequence number, then a hello or a packet as vib_pack() writes it. Whatever comes in is checked
 * before anything is done with it; what fails a check is counted and dropped. A gap in the sequence
 * numbers is counted too, and nothing else: datagrams may be lost.
 *
 * Senders may hold any lock and have interrupts off, in which state no network driver wants to be
 * called. Therefore frames are queued, and a tasklet hands them to the interface, past its queueing
 * discipline. If the interface is busy, the queue waits; it holds thousands of frames and drops
 * only beyond. Arriving frames run through the fabric in the softirq that received them.
 *
 * Locks: vib_wire_mutex (the list; inside RTNL, around vib_topo_mutex) - wire->lock (the session;
 * around vib_link_lock) - wire->txq.lock (queue, sequence number, address of the peer; a leaf).
 */
#include "vib.h"

#include <linux/etherdevice.h>
#include <linux/if_arp.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/random.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/timer.h>

#define WIRE_ETH_P		0x88b5	/* local experimental */
#define WIRE_MAGIC		0x5649
#define WIRE_VERSION		1
#define WIRE_HELLO_MS		500
#define WIRE_QUEUE_MAX		8192	/* frames */
#define WIRE_WANTED		0x01

enum wire_type {
	WIRE_HELLO = 1,
	WIRE_BYE,
	WIRE_DATA,
};

struct wire_hdr {
	__be16 magic;
	u8 version;
	u8 type;
	__be32 session;		/* of the sender */
	__be32 seq;
	__be16 len;		/* of what follows */
	u8 hops;		/* that a packet may still do */
	u8 reserved;
} __packed;

struct wire_hello {
	__be32 heard;		/* session that the sender hears, or 0 */
	__be32 falls;		/* how often the link went down there */
	__be32 seen;		/* how often it went down here, as far as they know there */
	u8 flags;
	u8 width;
	u8 speed;
	u8 reserved;
} __packed;

/* What a wire counts */
enum wire_count {
	WIRE_TX,
	WIRE_RX,
	WIRE_TX_FULL,		/* queue full, or no memory for a frame */
	WIRE_TX_LONG,		/* longer than the interface takes */
	WIRE_TX_FAILED,		/* the interface has thrown it away */
	WIRE_GAP,		/* frames that the other end has sent and that did not come */
	WIRE_LATE,		/* frames that came behind later ones */
	WIRE_BAD_FRAME,		/* header, version, length */
	WIRE_BAD_SESSION,	/* from somebody else than the peer */
	WIRE_BAD_PACKET,	/* contains nothing that vib_pack() writes */
	WIRE_RX_DOWN,		/* the port here is not far enough up, or there is none */
	WIRE_RX_LONG,		/* longer than the port's MTU */
	WIRE_COUNTS,
};

static const char *const count_names[WIRE_COUNTS] = {
	[WIRE_TX] = "tx",
	[WIRE_RX] = "rx",
	[WIRE_TX_FULL] = "tx_full",
	[WIRE_TX_LONG] = "tx_long",
	[WIRE_TX_FAILED] = "tx_failed",
	[WIRE_GAP] = "gap",
	[WIRE_LATE] = "late",
	[WIRE_BAD_FRAME] = "bad_frame",
	[WIRE_BAD_SESSION] = "bad_session",
	[WIRE_BAD_PACKET] = "bad_packet",
	[WIRE_RX_DOWN] = "rx_down",
	[WIRE_RX_LONG] = "rx_long",
};

/*
 * One wire
 *
 * I: set once   L: lock   Q: txq.lock
 */
struct vib_wire {
	struct vib_node node;		/* I: so that the topology shows it */
	char desc[IB_DEVICE_NODE_DESC_MAX];
	struct vib_lport far;		/* the port at the other end, as seen from here */
	struct net_device *dev;		/* I */
	netdevice_tracker tracker;
	struct packet_type pt;		/* I */
	u32 session;			/* I: never 0 */
	unsigned long timeout;		/* I: jiffies */
	atomic64_t count[WIRE_COUNTS];
	u8 near_mtu_cap;		/* I: of the port here, before it was wired */

	spinlock_t lock;		/* the session: what follows up to txq */
	u32 falls;			/* L: how often the link went down here */
	u32 peer;			/* L: session of the other end, 0 while nobody is heard */
	u32 peer_falls;			/* L: how often it went down there */
	u32 peer_seen;			/* L: how many of our falls they know of there */
	bool peer_wants;		/* L */
	bool peer_hears;		/* L */
	unsigned long heard;		/* L: jiffies of the last hello */
	u32 rx_seq;			/* L: what should come next */

	struct sk_buff_head txq;
	u32 tx_seq;			/* Q */
	u8 peer_mac[ETH_ALEN];		/* Q */

	struct tasklet_struct tx;
	struct timer_list hello;
	struct timer_list retry;	/* the interface was busy */
	struct list_head entry;		/* vib_wire_mutex */
};

/* vib_wires, and wires coming and going */
static DEFINE_MUTEX(vib_wire_mutex);
static LIST_HEAD(vib_wires);

static void wire_count(struct vib_wire *wire, enum wire_count what)
{
	atomic64_inc(&wire->count[what]);
}

/* --- sending -------------------------------------------------------------------------------- */

static void wire_tx(struct vib_wire *wire)
{
	struct sk_buff *skb;
	int ret;

	while ((skb = skb_dequeue(&wire->txq))) {
		ret = __dev_direct_xmit(skb, 0);
		if (!dev_xmit_complete(ret)) {
			skb_queue_head(&wire->txq, skb);
			mod_timer(&wire->retry, jiffies + 1);
			break;
		}
		wire_count(wire, ret == NET_XMIT_SUCCESS ? WIRE_TX : WIRE_TX_FAILED);
	}
}

static void wire_tx_tasklet(struct tasklet_struct *t)
{
	wire_tx(container_of(t, struct vib_wire, tx));
}

static void wire_retry(struct timer_list *t)
{
	struct vib_wire *wire = from_timer(wire, t, retry);

	tasklet_schedule(&wire->tx);
}

/* A frame with room for @len bytes behind its header, NULL if it cannot be had */
static struct sk_buff *wire_alloc(struct vib_wire *wire, u32 len)
{
	u32 need = sizeof(struct wire_hdr) + len;
	struct sk_buff *skb;

	if (need > READ_ONCE(wire->dev->mtu)) {
		wire_count(wire, WIRE_TX_LONG);
		return NULL;
	}
	skb = alloc_skb(LL_RESERVED_SPACE(wire->dev) + need + wire->dev->needed_tailroom,
			GFP_ATOMIC | __GFP_NOWARN);
	if (!skb) {
		wire_count(wire, WIRE_TX_FULL);
		return NULL;
	}
	skb_reserve(skb, LL_RESERVED_SPACE(wire->dev) + sizeof(struct wire_hdr));
	skb->dev = wire->dev;
	skb->protocol = htons(WIRE_ETH_P);
	skb_put(skb, len);
	return skb;
}

/* Writes the headers, which are in the order of the queue, and queues the frame */
static void wire_queue(struct vib_wire *wire, struct sk_buff *skb, enum wire_type type, u8 hops)
{
	struct wire_hdr hdr = {
		.magic = cpu_to_be16(WIRE_MAGIC),
		.version = WIRE_VERSION,
		.type = type,
		.session = cpu_to_be32(wire->session),
		.len = cpu_to_be16(skb->len),
		.hops = hops,
	};
	unsigned long flags;

	spin_lock_irqsave(&wire->txq.lock, flags);
	if (skb_queue_len(&wire->txq) >= WIRE_QUEUE_MAX) {
		spin_unlock_irqrestore(&wire->txq.lock, flags);
		wire_count(wire, WIRE_TX_FULL);
		dev_kfree_skb_any(skb);
		return;
	}
	hdr.seq = cpu_to_be32(wire->tx_seq++);
	memcpy(skb_push(skb, sizeof(hdr)), &hdr, sizeof(hdr));
	skb_reset_network_header(skb);
	dev_hard_header(skb, wire->dev, WIRE_ETH_P, wire->peer_mac, NULL, skb->len);
	__skb_queue_tail(&wire->txq, skb);
	spin_unlock_irqrestore(&wire->txq.lock, flags);
	tasklet_schedule(&wire->tx);
}

/* Does the port at this end want the link? */
static bool wire_wanted(const struct vib_lport *near)
{
	return near && READ_ONCE(near->plugged) && READ_ONCE(near->enabled);
}

static void wire_say_hello(struct vib_wire *wire)
{
	struct sk_buff *skb = wire_alloc(wire, sizeof(struct wire_hello));
	struct wire_hello *hello;
	struct vib_lport *near;

	if (!skb)
		return;
	hello = (struct wire_hello *)skb->data;
	memset(hello, 0, sizeof(*hello));
	hello->heard = cpu_to_be32(READ_ONCE(wire->peer));
	hello->falls = cpu_to_be32(READ_ONCE(wire->falls));
	hello->seen = cpu_to_be32(READ_ONCE(wire->peer_falls));
	rcu_read_lock();
	near = rcu_dereference(wire->far.peer);
	if (wire_wanted(near)) {
		hello->flags = WIRE_WANTED;
		hello->width = READ_ONCE(near->width_en);
		hello->speed = READ_ONCE(near->speed_en);
	}
	rcu_read_unlock();
	wire_queue(wire, skb, WIRE_HELLO, 0);
}

static void wire_say_bye(struct vib_wire *wire)
{
	struct sk_buff *skb = wire_alloc(wire, 0);

	if (skb)
		wire_queue(wire, skb, WIRE_BYE, 0);
}

/**
 * vib_wire_xmit - a packet arrives at the far end of a wire
 * @far: the link port that stands for it
 * @pkt: the packet
 * @hops: switches, or for management packets cables, that it may still meet
 *
 * Context: the sender's, under RCU.
 */
void vib_wire_xmit(struct vib_lport *far, const struct vib_pkt *pkt, unsigned int hops)
{
	struct vib_wire *wire = far->wire;
	struct sk_buff *skb;

	skb = wire_alloc(wire, vib_pack_len(pkt));
	if (!skb)
		return;
	vib_pack(pkt, skb->data);
	wire_queue(wire, skb, WIRE_DATA, min_t(unsigned int, hops, U8_MAX));
}

/* --- the session ----------------------------------------------------------------------------- */

/* The link went down at one end: it trains again only after the other end has heard of it */
static void __wire_fall(struct vib_wire *wire)
{
	lockdep_assert_held(&wire->lock);
	WRITE_ONCE(wire->falls, wire->falls + 1);
	if (READ_ONCE(wire->far.plugged))
		vib_lport_link(&wire->far, false);
}

/* Brings the link to the state that follows from all that is known about the other end */
static void __wire_settle(struct vib_wire *wire)
{
	bool up = wire->peer && wire->peer_hears && wire->peer_wants &&
		  wire->peer_seen == wire->falls &&
		  netif_running(wire->dev) && netif_carrier_ok(wire->dev);

	lockdep_assert_held(&wire->lock);
	if (READ_ONCE(wire->far.plugged) == up)
		return;
	if (up)
		vib_lport_link(&wire->far, true);
	else
		__wire_fall(wire);
}

/**
 * vib_wire_news - the port at this end of a wire was plugged, disabled, trained and the like
 * @far: the link port that stands for the other end
 * @fell: the link went down by that, be it for a moment
 *
 * Context: any, without a lock of the fabric, under RCU.
 */
void vib_wire_news(struct vib_lport *far, bool fell)
{
	struct vib_wire *wire = far->wire;
	unsigned long flags;

	if (fell) {
		spin_lock_irqsave(&wire->lock, flags);
		__wire_fall(wire);
		spin_unlock_irqrestore(&wire->lock, flags);
	}
	wire_say_hello(wire);
}

/* Nobody is heard any more */
static void __wire_forget(struct vib_wire *wire)
{
	lockdep_assert_held(&wire->lock);
	WRITE_ONCE(wire->peer, 0);
	wire->peer_hears = false;
	wire->peer_wants = false;
	spin_lock(&wire->txq.lock);
	eth_broadcast_addr(wire->peer_mac);
	spin_unlock(&wire->txq.lock);
	__wire_settle(wire);
}

static void wire_forget(struct vib_wire *wire)
{
	unsigned long flags;

	spin_lock_irqsave(&wire->lock, flags);
	__wire_forget(wire);
	spin_unlock_irqrestore(&wire->lock, flags);
}

/* Says hello, and looks whether the other end still does */
static void wire_hello_timer(struct timer_list *t)
{
	struct vib_wire *wire = from_timer(wire, t, hello);
	unsigned long flags;

	spin_lock_irqsave(&wire->lock, flags);
	if (wire->peer && time_after(jiffies, wire->heard + wire->timeout))
		__wire_forget(wire);
	spin_unlock_irqrestore(&wire->lock, flags);
	wire_say_hello(wire);
	mod_timer(&wire->hello, jiffies + msecs_to_jiffies(WIRE_HELLO_MS));
}

/* The first hello of this peer, or the first after a silence */
static void __wire_meet(struct vib_wire *wire, u32 session, u32 seq, const u8 *mac)
{
	lockdep_assert_held(&wire->lock);
	if (wire->peer)
		__wire_forget(wire);
	WRITE_ONCE(wire->peer, session);
	wire->rx_seq = seq;
	spin_lock(&wire->txq.lock);
	ether_addr_copy(wire->peer_mac, mac);
	spin_unlock(&wire->txq.lock);
}

/* What a hello says about the other end; the link follows. Is it to be answered at once? */
static bool __wire_learn(struct vib_wire *wire, const struct wire_hello *hello, bool first)
{
	u32 falls = be32_to_cpu(hello->falls);
	bool fell = !first && falls != wire->peer_falls;
	u32 before = wire->falls;

	lockdep_assert_held(&wire->lock);
	wire->heard = jiffies;
	WRITE_ONCE(wire->peer_falls, falls);
	wire->peer_seen = be32_to_cpu(hello->seen);
	wire->peer_hears = be32_to_cpu(hello->heard) == wire->session;
	wire->peer_wants = hello->flags & WIRE_WANTED;
	spin_lock(&wire->far.lock);
	WRITE_ONCE(wire->far.width_en, hello->width);
	WRITE_ONCE(wire->far.speed_en, hello->speed);
	spin_unlock(&wire->far.lock);
	if (fell && READ_ONCE(wire->far.plugged))
		__wire_fall(wire);
	__wire_settle(wire);
	return first || fell || wire->falls != before;
}

static bool wire_mac_is_peer(struct vib_wire *wire, const u8 *mac)
{
	bool same;

	lockdep_assert_held(&wire->lock);
	spin_lock(&wire->txq.lock);
	same = ether_addr_equal(wire->peer_mac, mac);
	spin_unlock(&wire->txq.lock);
	return same;
}

static void wire_rx_hello(struct vib_wire *wire, const struct wire_hdr *hdr, const u8 *mac,
			  const struct wire_hello *hello)
{
	u32 session = be32_to_cpu(hdr->session);
	bool answer = false, first, ours;
	unsigned long flags;

	spin_lock_irqsave(&wire->lock, flags);
	/* made anew at the same address: the old one is gone. From elsewhere: one too many. */
	ours = !wire->peer || wire->peer == session || wire_mac_is_peer(wire, mac);
	if (ours) {
		first = wire->peer != session;
		if (first)
			__wire_meet(wire, session, be32_to_cpu(hdr->seq) + 1, mac);
		answer = __wire_learn(wire, hello, first);
	}
	spin_unlock_irqrestore(&wire->lock, flags);
	if (!ours)
		wire_count(wire, WIRE_BAD_SESSION);
	else if (answer)
		wire_say_hello(wire);
}

/* A frame of the peer: which ones are missing before it, or is it one of those itself? */
static void __wire_rx_seq(struct vib_wire *wire, u32 seq)
{
	s32 ahead = seq - wire->rx_seq;

	lockdep_assert_held(&wire->lock);
	if (ahead < 0) {
		wire_count(wire, WIRE_LATE);
		atomic64_dec_if_positive(&wire->count[WIRE_GAP]);
		return;
	}
	atomic64_add(ahead, &wire->count[WIRE_GAP]);
	wire->rx_seq = seq + 1;
}

/* Does the frame come from the peer? */
static bool wire_rx_session(struct vib_wire *wire, const struct wire_hdr *hdr)
{
	unsigned long flags;
	bool ours;

	spin_lock_irqsave(&wire->lock, flags);
	ours = wire->peer && wire->peer == be32_to_cpu(hdr->session);
	if (ours)
		__wire_rx_seq(wire, be32_to_cpu(hdr->seq));
	spin_unlock_irqrestore(&wire->lock, flags);
	return ours;
}

/* --- receiving ------------------------------------------------------------------------------- */

/* A packet that has passed all checks of its form arrives at the port at this end */
static void wire_arrive(struct vib_wire *wire, struct vib_lport *near, struct vib_pkt *pkt, u8 hops)
{
	enum vib_csum mode = READ_ONCE(vib_knobs.csum);
	u8 buf[VIB_LSO_HDR_MAX];

	vib_capture(&wire->far, near, pkt);
	if (pkt->smp) {
		if (!vib_fault_cross(&wire->far, near, pkt, hops))
			vib_smi_arrive(near, pkt, hops);
		return;
	}
	pkt->csum_ok = mode == VIB_CSUM_LIE;
	if (pkt->dqpn > 1 && !pkt->rc && (mode == VIB_CSUM_TRUST || mode == VIB_CSUM_FULL))
		vib_csum_finish(pkt, buf, false);
	hops = min_t(u8, hops, VIB_TTL);
	if (!vib_fault_cross(&wire->far, near, pkt, hops))
		vib_walk_arrive(near, pkt, hops);
}

static void wire_rx_data(struct vib_wire *wire, const u8 *data, u32 len, u8 hops)
{
	struct vib_lport *near;
	struct vib_pkt pkt;

	if (!vib_unpack(&pkt, data, len)) {
		wire_count(wire, WIRE_BAD_PACKET);
		return;
	}
	rcu_read_lock();
	near = rcu_dereference(wire->far.peer);
	if (!near || READ_ONCE(wire->far.state) == IB_PORT_DOWN ||
	    READ_ONCE(near->state) < (pkt.smp ? IB_PORT_INIT : IB_PORT_ACTIVE))
		wire_count(wire, WIRE_RX_DOWN);
	else if (pkt.len > ib_mtu_enum_to_int(READ_ONCE(near->mtu)))
		wire_count(wire, WIRE_RX_LONG);
	else
		wire_arrive(wire, near, &pkt, hops);
	rcu_read_unlock();
}

/* Everything but the content of a packet is checked when this returns true */
static bool wire_rx_check(const struct wire_hdr *hdr, u32 len, const u8 *mac)
{
	if (hdr->magic != cpu_to_be16(WIRE_MAGIC) || hdr->version != WIRE_VERSION ||
	    !hdr->session || hdr->reserved || be16_to_cpu(hdr->len) > len ||
	    !is_valid_ether_addr(mac))
		return false;
	switch (hdr->type) {
	case WIRE_HELLO:
		return be16_to_cpu(hdr->len) == sizeof(struct wire_hello);
	case WIRE_BYE:
		return !hdr->len;
	case WIRE_DATA:
		return hdr->len;
	default:
		return false;
	}
}

static void wire_rx(struct vib_wire *wire, const struct sk_buff *skb)
{
	const struct wire_hdr *hdr = (const struct wire_hdr *)skb->data;
	const u8 *data = skb->data + sizeof(*hdr);
	const u8 *mac = eth_hdr(skb)->h_source;

	if (skb->len < sizeof(*hdr) || !wire_rx_check(hdr, skb->len - sizeof(*hdr), mac)) {
		wire_count(wire, WIRE_BAD_FRAME);
		return;
	}
	/* the sequence number of a stranger's hello says nothing */
	if (!wire_rx_session(wire, hdr) && hdr->type != WIRE_HELLO) {
		wire_count(wire, WIRE_BAD_SESSION);
		return;
	}
	wire_count(wire, WIRE_RX);
	if (hdr->type == WIRE_HELLO)
		wire_rx_hello(wire, hdr, mac, (const struct wire_hello *)data);
	else if (hdr->type == WIRE_BYE)
		wire_forget(wire);
	else
		wire_rx_data(wire, data, be16_to_cpu(hdr->len), hdr->hops);
}

static int wire_rcv(struct sk_buff *skb, struct net_device *dev, struct packet_type *pt,
		    struct net_device *orig)
{
	struct vib_wire *wire = pt->af_packet_priv;

	skb = skb_share_check(skb, GFP_ATOMIC);
	if (!skb)
		return NET_RX_DROP;
	if (skb->pkt_type == PACKET_OTHERHOST || skb_linearize(skb))
		wire_count(wire, WIRE_BAD_FRAME);
	else
		wire_rx(wire, skb);
	kfree_skb(skb);
	return NET_RX_SUCCESS;
}

/* --- coming and going ------------------------------------------------------------------------ */

static struct vib_wire *__wire_on(const struct net_device *dev)
{
	struct vib_wire *wire;

	lockdep_assert_held(&vib_wire_mutex);
	list_for_each_entry(wire, &vib_wires, entry)
		if (wire->dev == dev)
			return wire;
	return NULL;
}

static void __wire_free(struct vib_wire *wire)
{
	struct vib_lport *near;

	lockdep_assert_held(&vib_wire_mutex);
	list_del(&wire->entry);
	dev_remove_pack(&wire->pt);
	timer_shutdown_sync(&wire->hello);
	wire_say_bye(wire);
	rcu_read_lock();
	near = rcu_dereference(wire->far.peer);
	if (near) {
		spin_lock_irq(&near->lock);
		near->mtu_cap = wire->near_mtu_cap;
		spin_unlock_irq(&near->lock);
	}
	rcu_read_unlock();
	/* pulls the cable too, and no packet is on its way to the wire any more */
	vib_lport_fini(&wire->far);
	local_bh_disable();
	wire_tx(wire);
	local_bh_enable();
	timer_shutdown_sync(&wire->retry);
	tasklet_kill(&wire->tx);
	skb_queue_purge(&wire->txq);
	netdev_put(wire->dev, &wire->tracker);
	vib_node_fini(&wire->node);
	kfree(wire);
}

/* The largest MTU whose packets fit into frames of the interface, 0 if there is none */
static u8 wire_mtu(const struct net_device *dev)
{
	u32 extra = sizeof(struct wire_hdr) + VIB_PACK_MAX - VIB_PACK_PAYLOAD_MAX;
	int mtu;

	for (mtu = IB_MTU_4096; mtu >= IB_MTU_256; mtu--)
		if (extra + ib_mtu_enum_to_int(mtu) <= dev->mtu)
			return mtu;
	return 0;
}

static int wire_init_far(struct vib_wire *wire)
{
	struct vib_lport *far = &wire->far;
	int ret;

	snprintf(wire->desc, sizeof(wire->desc), "vib wire over %s", wire->dev->name);
	ret = vib_node_init(&wire->node, wire->dev->name, wire->desc, 1, 0, 0);
	if (ret)
		return ret;
	ret = vib_lport_init(far, &wire->node, 1, 0);
	if (ret) {
		vib_node_fini(&wire->node);
		return ret;
	}
	far->wire = wire;
	far->plugged = false;
	far->mtu_cap = IB_MTU_4096;
	far->mtu = IB_MTU_4096;
	return 0;
}

static struct vib_wire *wire_alloc_on(struct net_device *dev, unsigned int timeout_ms)
{
	struct vib_wire *wire;
	int ret;

	wire = kzalloc(sizeof(*wire), GFP_KERNEL);
	if (!wire)
		return ERR_PTR(-ENOMEM);
	wire->dev = dev;
	wire->session = get_random_u32() | 1;
	wire->timeout = msecs_to_jiffies(timeout_ms);
	spin_lock_init(&wire->lock);
	skb_queue_head_init(&wire->txq);
	eth_broadcast_addr(wire->peer_mac);
	tasklet_setup(&wire->tx, wire_tx_tasklet);
	timer_setup(&wire->hello, wire_hello_timer, 0);
	timer_setup(&wire->retry, wire_retry, 0);
	ret = wire_init_far(wire);
	if (ret) {
		kfree(wire);
		return ERR_PTR(ret);
	}
	wire->pt.type = htons(WIRE_ETH_P);
	wire->pt.dev = dev;
	wire->pt.func = wire_rcv;
	wire->pt.af_packet_priv = wire;
	return wire;
}

/* The port must not promise more than the interface carries */
static void wire_limit_mtu(struct vib_wire *wire, struct vib_lport *near, u8 mtu)
{
	spin_lock_irq(&near->lock);
	wire->near_mtu_cap = near->mtu_cap;
	near->mtu_cap = min(near->mtu_cap, mtu);
	if (near->mtu > near->mtu_cap)
		WRITE_ONCE(near->mtu, near->mtu_cap);
	spin_unlock_irq(&near->lock);
}

static int __wire_add(struct vib_lport *near, struct net_device *dev, unsigned int timeout_ms)
{
	struct vib_wire *wire;
	u8 mtu;

	lockdep_assert_held(&vib_wire_mutex);
	if (dev->type != ARPHRD_ETHER)
		return -EINVAL;
	mtu = wire_mtu(dev);
	if (!mtu)
		return -EMSGSIZE;
	wire = __wire_on(dev);
	if (wire && rcu_access_pointer(wire->far.peer))
		return -EBUSY;
	if (rcu_access_pointer(near->peer) || rcu_access_pointer(near->ghosts))
		return -EBUSY;
	/* one whose port has gone */
	if (wire)
		__wire_free(wire);
	wire = wire_alloc_on(dev, timeout_ms);
	if (IS_ERR(wire))
		return PTR_ERR(wire);
	wire_limit_mtu(wire, near, mtu);
	netdev_hold(dev, &wire->tracker, GFP_KERNEL);
	list_add_tail(&wire->entry, &vib_wires);
	dev_add_pack(&wire->pt);
	vib_cable(near, &wire->far);
	mod_timer(&wire->hello, jiffies + msecs_to_jiffies(WIRE_HELLO_MS));
	return 0;
}

/**
 * vib_wire_add - run a wire from a port to a network interface
 * @near: external port of a switch or port of an HCA, without a cable; stays the caller's
 * @name: Ethernet interface in the network namespace of the caller
 * @timeout_ms: silence after which the other end counts as gone
 *
 * Context: process, vib_ctl_mutex held, may sleep and takes RTNL.
 * Return: 0; -ENODEV without such an interface, -EINVAL if it is no Ethernet, -EMSGSIZE if its MTU
 * is too small for the smallest packets, -EBUSY if it or the port is taken, -EEXIST if a node of
 * the fabric has its name, or -ENOMEM.
 */
int vib_wire_add(struct vib_lport *near, const char *name, unsigned int timeout_ms)
{
	struct net_device *dev;
	int ret = -ENODEV;

	rtnl_lock();
	mutex_lock(&vib_wire_mutex);
	dev = __dev_get_by_name(current->nsproxy->net_ns, name);
	if (dev)
		ret = __wire_add(near, dev, timeout_ms);
	mutex_unlock(&vib_wire_mutex);
	rtnl_unlock();
	return ret;
}

/**
 * vib_wire_del - remove a wire
 * @near: the port at this end, or NULL to go by @name
 * @name: name that the interface had when the wire was made
 *
 * Context: process, vib_ctl_mutex held, may sleep.
 * Return: 0, or -ENOTCONN if there is no such wire.
 */
int vib_wire_del(const struct vib_lport *near, const char *name)
{
	struct vib_wire *wire;
	int ret = -ENOTCONN;

	mutex_lock(&vib_wire_mutex);
	list_for_each_entry(wire, &vib_wires, entry) {
		if (near ? rcu_access_pointer(wire->far.peer) != near :
			   strcmp(wire->node.name, name))
			continue;
		__wire_free(wire);
		ret = 0;
		break;
	}
	mutex_unlock(&vib_wire_mutex);
	return ret;
}

static int wire_netdev_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct vib_wire *wire;

	mutex_lock(&vib_wire_mutex);
	wire = __wire_on(dev);
	if (wire) {
		switch (event) {
		case NETDEV_UNREGISTER:
			__wire_free(wire);
			break;
		case NETDEV_GOING_DOWN:
		case NETDEV_DOWN:
			wire_forget(wire);
			break;
		case NETDEV_UP:
		case NETDEV_CHANGE:
			if (!netif_carrier_ok(dev))
				wire_forget(wire);
			wire_say_hello(wire);
			break;
		}
	}
	mutex_unlock(&vib_wire_mutex);
	return NOTIFY_DONE;
}

static struct notifier_block wire_notifier = {
	.notifier_call = wire_netdev_event,
};

/**
 * vib_wires_show - print all wires
 * @s: where to
 * @unused: not used
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int vib_wires_show(struct seq_file *s, void *unused)
{
	struct vib_lport *near;
	struct vib_wire *wire;
	int i;

	mutex_lock(&vib_wire_mutex);
	list_for_each_entry(wire, &vib_wires, entry) {
		rcu_read_lock();
		near = rcu_dereference(wire->far.peer);
		if (near)
			seq_printf(s, "wire port=%s:%u", near->node->name, near->num);
		else
			seq_puts(s, "wire port=none");
		rcu_read_unlock();
		seq_printf(s, " dev=%s up=%d heard=%d wanted=%d queued=%u", wire->node.name,
			   READ_ONCE(wire->far.state) != IB_PORT_DOWN, !!READ_ONCE(wire->peer),
			   READ_ONCE(wire->peer_wants), skb_queue_len_lockless(&wire->txq));
		for (i = 0; i < WIRE_COUNTS; i++)
			seq_printf(s, " %s=%lld", count_names[i], atomic64_read(&wire->count[i]));
		seq_putc(s, '\n');
	}
	mutex_unlock(&vib_wire_mutex);
	return 0;
}

/**
 * vib_wire_init - begin to listen to what happens to network interfaces
 *
 * Context: process.
 * Return: 0 or an errno.
 */
int vib_wire_init(void)
{
	return register_netdevice_notifier(&wire_notifier);
}

/**
 * vib_wire_exit - remove what wires are left
 *
 * Context: process, may sleep.
 */
void vib_wire_exit(void)
{
	struct vib_wire *wire, *next;

	mutex_lock(&vib_wire_mutex);
	list_for_each_entry_safe(wire, next, &vib_wires, entry)
		__wire_free(wire);
	mutex_unlock(&vib_wire_mutex);
	unregister_netdevice_notifier(&wire_notifier);
}
