// SPDX-License-Identifier: GPL-2.0
/*
 * Ghost peers: thousands of hosts that are not there.
 *
 * Behind a switch port without a cable lies a range of LIDs. Everything sent to one of them arrives
 * and is counted, and is answered as far as the mode says: ARP and neighbour solicitations, echo
 * requests. What a ghost is follows from its LID, there is no state for each of them:
 *
 *	GUID	| 0x02564942 | vmid:8 | 3:4 | LID:20 |
 *	QPN	0x800000 + LID
 *	IPv4	first address + (LID - first LID); in any IPv6 prefix the GUID is the interface
 *
 * Ghosts take part in every multicast group and are known to the built-in subnet manager; OpenSM
 * does not see them. Packets come in the context of their sender, under RCU; answers leave as
 * frames.
 */
#include "vib.h"

#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/if_arp.h>
#include <linux/if_infiniband.h>
#include <linux/inet.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/rculist.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/unaligned.h>
#include <net/checksum.h>
#include <net/ip6_checksum.h>

#define GHOST_QPN	0x800000
#define GHOST_LEN_MAX	2048	/* longer requests are not answered */
#define GHOST_ND_OPT	24	/* link-layer address option: 4 bytes and the address */
#define GHOST_HOP_LIMIT	255
#define NS_TYPE		135
#define NA_TYPE		136
#define NA_FLAGS	0x60	/* solicited, override */
#define ND_TARGET_LLADDR 2

enum ghost_mode {
	GHOST_DROP,
	GHOST_ARP,
	GHOST_ECHO,		/* ARP too */
};

enum ghost_count {
	GHOST_RX,
	GHOST_RX_MCAST,
	GHOST_N_ARP,
	GHOST_N_ND,
	GHOST_N_ECHO,
	GHOST_COUNTS,
};

static const char *const mode_names[] = { "drop", "arp", "echo" };

/* A range of ghosts at a switch port */
struct vib_ghosts {
	struct list_head entry;		/* ghost_list; RCU for readers */
	struct vib_lport *at;
	u16 base;
	u32 n;
	u32 ip;				/* host order, of the first one */
	enum ghost_mode mode;
	atomic64_t count[GHOST_COUNTS];
};

/* ARP as it stands behind the encapsulation header */
struct ghost_arp {
	struct arphdr hdr;
	u8 src_hw[INFINIBAND_ALEN];
	__be32 sip;
	u8 dst_hw[INFINIBAND_ALEN];
	__be32 tip;
} __packed;

struct ghost_nd {
	struct ipv6hdr ip;
	u8 type;
	u8 code;
	__sum16 sum;
	__be32 flags;
	struct in6_addr target;
	u8 opt[GHOST_ND_OPT];
} __packed;

#define GHOST_NS_LEN	offsetof(struct ghost_nd, opt)
#define GHOST_ENCAP	4

static LIST_HEAD(ghost_list);	/* vib_ctl_mutex for writers */

static bool ghosts_have(const struct vib_ghosts *ghosts, u32 lid)
{
	return lid >= ghosts->base && lid - ghosts->base < ghosts->n;
}

static u64 ghost_guid(u16 lid)
{
	return vib_guid(VIB_GUID_GHOST, lid >> 8, lid & 0xff);
}

/**
 * vib_ghost_lid - LID of the ghost with this GUID
 * @guid: GUID, host order
 *
 * Context: RCU read section.
 * Return: its LID, or 0 if there is no such ghost.
 */
u16 vib_ghost_lid(u64 guid)
{
	const struct vib_ghosts *ghosts;
	u16 lid = guid & 0xffff;

	if (guid != ghost_guid(lid))
		return 0;
	list_for_each_entry_rcu(ghosts, &ghost_list, entry)
		if (ghosts_have(ghosts, lid))
			return lid;
	return 0;
}

/**
 * vib_ghosts_each - call a function with the first LID of each range
 * @fn: the function
 * @data: its first argument
 *
 * Context: RCU read section.
 */
void vib_ghosts_each(void (*fn)(void *data, u16 lid), void *data)
{
	const struct vib_ghosts *ghosts;

	list_for_each_entry_rcu(ghosts, &ghost_list, entry)
		fn(data, ghosts->base);
}

/**
 * vib_ghosts_base - LIDs of a range
 * @ghosts: the range
 * @n: takes their number
 *
 * Context: RCU read section.
 * Return: the first of them.
 */
u16 vib_ghosts_base(const struct vib_ghosts *ghosts, u32 *n)
{
	*n = ghosts->n;
	return ghosts->base;
}

static void ghost_hwaddr(const struct vib_lport *at, u16 lid, u8 *addr)
{
	put_unaligned_be32(GHOST_QPN + lid, addr);
	put_unaligned_be64(READ_ONCE(at->sw->lport[0].gid_prefix), addr + 4);
	put_unaligned_be64(ghost_guid(lid), addr + 12);
}

/* An answer from ghost @lid to whoever has sent @ask; its payload is a copy of what was asked */
static struct vib_frame *ghost_frame(const struct vib_pkt *ask, u16 lid, u32 len)
{
	struct vib_frame *frame = vib_frame_alloc(ask, len);

	if (!frame)
		return NULL;
	vib_frame_resize(frame, len);
	frame->pkt.slid = lid;
	frame->pkt.dlid = ask->slid;
	frame->pkt.sqpn = GHOST_QPN + lid;
	frame->pkt.dqpn = ask->sqpn;
	frame->pkt.has_grh = false;
	frame->pkt.csum_ok = false;
	return frame;
}

static void ghost_send(struct vib_ghosts *ghosts, struct vib_frame *frame, enum ghost_count kind)
{
	atomic64_inc(&ghosts->count[kind]);
	vib_frame_send(frame, ghosts->at, VIB_TTL, 0);
}

static void ghost_arp(struct vib_ghosts *ghosts, const struct vib_pkt *pkt, const u8 *data, u32 len)
{
	const struct ghost_arp *ask = (const struct ghost_arp *)data;
	struct vib_frame *frame;
	struct ghost_arp *arp;
	u32 lid;

	if (len < sizeof(*ask) || ask->hdr.ar_op != htons(ARPOP_REQUEST))
		return;
	lid = ntohl(ask->tip) - ghosts->ip + ghosts->base;
	if (!ghosts->ip || !ghosts_have(ghosts, lid))
		return;
	frame = ghost_frame(pkt, lid, GHOST_ENCAP + sizeof(*arp));
	if (!frame)
		return;
	arp = (struct ghost_arp *)(frame->data + GHOST_ENCAP);
	arp->hdr.ar_op = htons(ARPOP_REPLY);
	memcpy(arp->dst_hw, ask->src_hw, sizeof(arp->dst_hw));
	swap(arp->sip, arp->tip);
	ghost_hwaddr(ghosts->at, lid, arp->src_hw);
	ghost_send(ghosts, frame, GHOST_N_ARP);
}

static void ghost_nd(struct vib_ghosts *ghosts, const struct vib_pkt *pkt, const u8 *data, u32 len)
{
	const struct ghost_nd *ask = (const struct ghost_nd *)data;
	u32 body = sizeof(*ask) - sizeof(ask->ip);
	struct vib_frame *frame;
	struct ghost_nd *adv;
	u64 guid;
	u16 lid;

	if (len < GHOST_NS_LEN || ask->type != NS_TYPE || ipv6_addr_any(&ask->ip.saddr))
		return;
	guid = get_unaligned_be64(ask->target.s6_addr + 8);
	lid = guid & 0xffff;
	if (guid != ghost_guid(lid) || !ghosts_have(ghosts, lid))
		return;
	frame = ghost_frame(pkt, lid, GHOST_ENCAP + sizeof(*adv));
	if (!frame)
		return;
	adv = (struct ghost_nd *)(frame->data + GHOST_ENCAP);
	adv->ip.payload_len = htons(body);
	adv->ip.hop_limit = GHOST_HOP_LIMIT;
	adv->ip.daddr = ask->ip.saddr;
	adv->ip.saddr = ask->target;
	adv->type = NA_TYPE;
	adv->code = 0;
	adv->sum = 0;
	adv->flags = htonl((u32)NA_FLAGS << 24);
	memset(adv->opt, 0, sizeof(adv->opt));
	adv->opt[0] = ND_TARGET_LLADDR;
	adv->opt[1] = GHOST_ND_OPT / 8;
	ghost_hwaddr(ghosts->at, lid, adv->opt + 4);
	adv->sum = csum_ipv6_magic(&adv->ip.saddr, &adv->ip.daddr, body, IPPROTO_ICMPV6,
				   csum_partial(&adv->type, body, 0));
	ghost_send(ghosts, frame, GHOST_N_ND);
}

static void ghost_echo4(struct vib_ghosts *ghosts, const struct vib_pkt *pkt, const u8 *data,
			u32 len)
{
	const struct iphdr *ask = (const struct iphdr *)data;
	struct vib_frame *frame;
	struct icmphdr *icmp;
	struct iphdr *ip;
	u32 head;

	if (len < sizeof(*ask) || ask->protocol != IPPROTO_ICMP || ask->frag_off & htons(0x1fff))
		return;
	head = ask->ihl * 4;
	if (head < sizeof(*ask) || len < head + sizeof(*icmp) || data[head] != ICMP_ECHO)
		return;
	frame = ghost_frame(pkt, pkt->dlid, pkt->len);
	if (!frame)
		return;
	ip = (struct iphdr *)(frame->data + GHOST_ENCAP);
	icmp = (struct icmphdr *)(frame->data + GHOST_ENCAP + head);
	swap(ip->saddr, ip->daddr);
	icmp->type = ICMP_ECHOREPLY;
	csum_replace2(&icmp->checksum, htons(ICMP_ECHO << 8), htons(ICMP_ECHOREPLY << 8));
	ghost_send(ghosts, frame, GHOST_N_ECHO);
}

static void ghost_ip6(struct vib_ghosts *ghosts, const struct vib_pkt *pkt, const u8 *data, u32 len)
{
	const struct ipv6hdr *ask = (const struct ipv6hdr *)data;
	struct vib_frame *frame;
	struct icmp6hdr *icmp;
	struct ipv6hdr *ip;

	if (len < sizeof(*ask) + sizeof(*icmp) || ask->nexthdr != IPPROTO_ICMPV6)
		return;
	if (data[sizeof(*ask)] != ICMPV6_ECHO_REQUEST)
		return ghost_nd(ghosts, pkt, data, len);
	if (ghosts->mode != GHOST_ECHO || pkt->dlid >= VIB_LID_MCAST)
		return;
	frame = ghost_frame(pkt, pkt->dlid, pkt->len);
	if (!frame)
		return;
	ip = (struct ipv6hdr *)(frame->data + GHOST_ENCAP);
	icmp = (struct icmp6hdr *)(ip + 1);
	swap(ip->saddr, ip->daddr);
	icmp->icmp6_type = ICMPV6_ECHO_REPLY;
	csum_replace2(&icmp->icmp6_cksum, htons(ICMPV6_ECHO_REQUEST << 8),
		      htons(ICMPV6_ECHO_REPLY << 8));
	ghost_send(ghosts, frame, GHOST_N_ECHO);
}

/* Answers what deserves an answer; the payload is copied to look at it */
static void ghost_answer(struct vib_ghosts *ghosts, const struct vib_pkt *pkt)
{
	struct vib_frame *copy = vib_frame_alloc(pkt, 0);
	const u8 *data;
	u32 len;

	if (!copy)
		return;
	data = copy->data + GHOST_ENCAP;
	len = pkt->len - GHOST_ENCAP;
	switch (get_unaligned_be16(copy->data)) {
	case ETH_P_ARP:
		ghost_arp(ghosts, pkt, data, len);
		break;
	case ETH_P_IP:
		if (ghosts->mode == GHOST_ECHO && pkt->dlid < VIB_LID_MCAST)
			ghost_echo4(ghosts, pkt, data, len);
		break;
	case ETH_P_IPV6:
		ghost_ip6(ghosts, pkt, data, len);
		break;
	}
	kfree(copy);
}

/**
 * vib_ghosts_rx - a data packet leaves a switch by a port that has ghosts behind it
 * @ghosts: the ghosts
 * @pkt: the packet
 *
 * Context: the sender's, under RCU.
 */
void vib_ghosts_rx(struct vib_ghosts *ghosts, const struct vib_pkt *pkt)
{
	bool mcast = pkt->dlid >= VIB_LID_MCAST;

	atomic64_inc(&ghosts->count[mcast ? GHOST_RX_MCAST : GHOST_RX]);
	if (ghosts->mode == GHOST_DROP || pkt->rc || pkt->dqpn <= 1 || pkt->len <= GHOST_ENCAP ||
	    pkt->len > GHOST_LEN_MAX)
		return;
	ghost_answer(ghosts, pkt);
}

static bool ghosts_overlap(u32 base, u32 n)
{
	const struct vib_ghosts *ghosts;

	list_for_each_entry(ghosts, &ghost_list, entry)
		if (base < ghosts->base + ghosts->n && ghosts->base < base + n)
			return true;
	return false;
}

/**
 * vib_ghosts_add - populate a switch port
 * @at: an external port without a cable
 * @base: first LID
 * @n: number of ghosts, a LID each
 * @mode: name of what they do
 * @ip: IPv4 address of the first one, or NULL
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0; -EINVAL for a bad @mode, @ip or port, -ERANGE for LIDs that are none, -EBUSY if the
 * port has a cable or ghosts, -EEXIST if another port has these LIDs, or -ENOMEM.
 */
int vib_ghosts_add(struct vib_lport *at, u32 base, u32 n, const char *mode, const char *ip)
{
	int m = match_string(mode_names, ARRAY_SIZE(mode_names), mode);
	struct vib_ghosts *ghosts;
	__be32 addr = 0;

	if (m < 0 || !at->sw || !at->num || (ip && !in4_pton(ip, -1, (u8 *)&addr, -1, NULL)))
		return -EINVAL;
	if (!base || !n || n >= VIB_LFT_SIZE || base + n > VIB_LFT_SIZE)
		return -ERANGE;
	if (rcu_access_pointer(at->peer) || rcu_access_pointer(at->ghosts))
		return -EBUSY;
	if (ghosts_overlap(base, n))
		return -EEXIST;
	ghosts = kzalloc(sizeof(*ghosts), GFP_KERNEL);
	if (!ghosts)
		return -ENOMEM;
	ghosts->at = at;
	ghosts->base = base;
	ghosts->n = n;
	ghosts->ip = ntohl(addr);
	ghosts->mode = m;
	list_add_tail_rcu(&ghosts->entry, &ghost_list);
	rcu_assign_pointer(at->ghosts, ghosts);
	vib_sm_kick();
	return 0;
}

/**
 * vib_ghosts_del - empty a switch port
 * @at: the port
 *
 * Context: process, may sleep; vib_ctl_mutex held, or the port is going away.
 * Return: 0, or -ENOENT if nobody was there.
 */
int vib_ghosts_del(struct vib_lport *at)
{
	struct vib_ghosts *ghosts = rcu_replace_pointer(at->ghosts, NULL, true);

	if (!ghosts)
		return -ENOENT;
	list_del_rcu(&ghosts->entry);
	synchronize_rcu();
	vib_frames_drop(at);
	kfree(ghosts);
	vib_sm_kick();
	return 0;
}

/**
 * vib_ghosts_show - print all ranges of ghosts and what they have seen
 * @s: where to
 * @unused: not used
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int vib_ghosts_show(struct seq_file *s, void *unused)
{
	static const char *const names[] = { "rx", "rx_mcast", "arp", "ndisc", "echo" };
	const struct vib_ghosts *ghosts;
	unsigned int i;

	mutex_lock(&vib_ctl_mutex);
	list_for_each_entry(ghosts, &ghost_list, entry) {
		seq_printf(s, "ghosts port=%s:%u base=%u n=%u mode=%s", ghosts->at->node->name,
			   ghosts->at->num, ghosts->base, ghosts->n, mode_names[ghosts->mode]);
		for (i = 0; i < ARRAY_SIZE(names); i++)
			seq_printf(s, " %s=%lld", names[i], atomic64_read(&ghosts->count[i]));
		seq_putc(s, '\n');
	}
	mutex_unlock(&vib_ctl_mutex);
	return 0;
}
