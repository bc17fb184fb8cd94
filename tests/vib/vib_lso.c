// SPDX-License-Identifier: GPL-2.0
/*
 * What an adapter does to IP packets on their way out: segmentation and checksums.
 *
 * Both work on a copy of the packet's first bytes in a buffer on the stack of vib_ud_send(), and
 * leave the payload where the upper layer has it. All input is an upper layer's word, so each
 * length in a header is checked against what is there. Called under the sender's sq_lock.
 *
 * A payload begins with the four bytes of the IPoIB encapsulation: protocol number, two unused.
 */
#include "vib.h"

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>

#define LSO_ENCAP	4

/* Where things are in a header buffer that begins with the encapsulation */
struct lso_hdr {
	u8 *base;
	struct iphdr *ip4;	/* one of these two */
	struct ipv6hdr *ip6;
	u32 l4;			/* offset of the transport header */
	u32 l4_len;		/* transport header and payload, as the IP header says */
	u8 proto;
};

/* Fails for anything but a whole, unfragmented IPv4 or IPv6 header with a transport header next */
static bool lso_parse(struct lso_hdr *h, u8 *base, u32 len)
{
	__be16 proto;
	u32 total;

	if (len < LSO_ENCAP + sizeof(struct iphdr))
		return false;
	h->base = base;
	memcpy(&proto, base, sizeof(proto));
	if (proto == htons(ETH_P_IP)) {
		h->ip4 = (struct iphdr *)(base + LSO_ENCAP);
		h->ip6 = NULL;
		h->l4 = LSO_ENCAP + h->ip4->ihl * 4;
		total = ntohs(h->ip4->tot_len);
		h->proto = h->ip4->protocol;
		if (h->ip4->version != 4 || h->ip4->ihl < 5 || total < h->ip4->ihl * 4 ||
		    ip_is_fragment(h->ip4))
			return false;
		h->l4_len = total - h->ip4->ihl * 4;
	} else if (proto == htons(ETH_P_IPV6) && len >= LSO_ENCAP + sizeof(struct ipv6hdr)) {
		h->ip4 = NULL;
		h->ip6 = (struct ipv6hdr *)(base + LSO_ENCAP);
		h->l4 = LSO_ENCAP + sizeof(struct ipv6hdr);
		h->l4_len = ntohs(h->ip6->payload_len);
		h->proto = h->ip6->nexthdr;
	} else {
		return false;
	}
	return h->l4 <= len;
}

/* Sum over a stretch of the payload */
static __wsum pkt_sum(const struct vib_pkt *pkt, u32 off, u32 len)
{
	const struct ib_sge *sge = pkt->sge;
	u32 done = 0, i, n;
	__wsum sum = 0;

	if (off < pkt->hdr_len) {
		done = min(len, pkt->hdr_len - off);
		sum = csum_partial(pkt->hdr + off, done, 0);
		off = 0;
	} else {
		off -= pkt->hdr_len;
	}
	off += pkt->sge_off;
	for (i = 0; i < pkt->nsge && done < len; i++, sge++) {
		if (off >= sge->length) {
			off -= sge->length;
			continue;
		}
		n = min(len - done, sge->length - off);
		sum = csum_block_add(sum, csum_partial(vib_sge_ptr(sge) + off, n, 0),
				     done);
		done += n;
		off = 0;
	}
	return sum;
}

static __sum16 l4_fold(const struct lso_hdr *h, u32 len, __wsum sum)
{
	if (h->ip4)
		return csum_tcpudp_magic(h->ip4->saddr, h->ip4->daddr, len, h->proto, sum);
	return csum_ipv6_magic(&h->ip6->saddr, &h->ip6->daddr, len, h->proto, sum);
}

/* The checksum field of the transport header, NULL if there is none that we know */
static __sum16 *l4_check(const struct lso_hdr *h, u32 len)
{
	u8 *l4 = h->base + h->l4;

	if (h->proto == IPPROTO_TCP && len >= h->l4 + sizeof(struct tcphdr) &&
	    h->l4_len >= sizeof(struct tcphdr))
		return &((struct tcphdr *)l4)->check;
	if (h->proto == IPPROTO_UDP && len >= h->l4 + sizeof(struct udphdr) &&
	    h->l4_len >= sizeof(struct udphdr))
		return &((struct udphdr *)l4)->check;
	return NULL;
}

/* Leave out the first @n bytes of the list */
static void pkt_advance(struct vib_pkt *pkt, u32 n)
{
	n += pkt->sge_off;
	while (pkt->nsge && n >= pkt->sge->length) {
		n -= pkt->sge->length;
		pkt->sge++;
		pkt->nsge--;
	}
	pkt->sge_off = n;
}

/* Replace the first @n bytes of a packet that has no header buffer by the copy of them in @buf */
static void pkt_set_hdr(struct vib_pkt *pkt, void *buf, u32 n)
{
	pkt->hdr = buf;
	pkt->hdr_len = n;
	pkt_advance(pkt, n);
}

/* Puts the sums in; @check lies in the header buffer of @pkt, into which @h points as well */
static void csum_put(const struct vib_pkt *pkt, const struct lso_hdr *h, __sum16 *check)
{
	if (h->ip4)
		ip_send_check(h->ip4);
	*check = 0;
	*check = l4_fold(h, h->l4_len, pkt_sum(pkt, h->l4, h->l4_len));
	if (h->proto == IPPROTO_UDP && !*check)
		*check = CSUM_MANGLED_0;
}

/**
 * vib_csum_fill - put the checksums into a payload that lies in one piece
 * @payload: the payload; left alone without a transport header that we know
 * @len: its length
 *
 * Context: any.
 */
void vib_csum_fill(void *payload, u32 len)
{
	const struct vib_pkt pkt = { .hdr = payload, .hdr_len = len, .len = len };
	u32 n = min_t(u32, len, VIB_LSO_HDR_MAX);
	struct lso_hdr h;
	__sum16 *check;

	if (!lso_parse(&h, payload, n) || h.l4_len > len - h.l4)
		return;
	check = l4_check(&h, n);
	if (check)
		csum_put(&pkt, &h, check);
}

/**
 * vib_csum_finish - checksums as an adapter does them that does not trust anybody
 * @pkt: packet without a header buffer of its own yet
 * @buf: VIB_LSO_HDR_MAX bytes that live as long as @pkt
 * @wanted: the sender asked for sums: put them in. Else look whether they are right.
 *
 * Sets pkt->csum_ok. A packet without a transport header that we know keeps it clear.
 *
 * Context: sender's sq_lock held.
 */
void vib_csum_finish(struct vib_pkt *pkt, void *buf, bool wanted)
{
	u32 n = min_t(u32, pkt->len, VIB_LSO_HDR_MAX);
	struct lso_hdr h;
	__sum16 *check;

	vib_pkt_copy(pkt, buf, 0, n);
	if (!lso_parse(&h, buf, n) || h.l4_len > pkt->len - h.l4)
		return;
	check = l4_check(&h, n);
	if (!check)
		return;
	if (!wanted) {
		if (h.proto == IPPROTO_UDP && !*check)
			return;
		pkt->csum_ok = !l4_fold(&h, h.l4_len, pkt_sum(pkt, h.l4, h.l4_len));
		return;
	}
	pkt_set_hdr(pkt, buf, n);
	csum_put(pkt, &h, check);
	pkt->csum_ok = true;
}

/* Where the segmentation of one request stands */
struct lso_cut {
	const struct ib_ud_wr *wr;
	u32 payload;		/* bytes behind the header, in all */
	u32 pos;		/* of the segment's first byte */
	u32 len;		/* of the segment */
	u16 index;
};

/* Header of the segment that @cut stands at; @h points into a fresh copy of the request's header */
static void lso_make_header(const struct lso_cut *cut, struct lso_hdr *h)
{
	struct tcphdr *th = (struct tcphdr *)(h->base + h->l4);
	u32 l4_len = cut->wr->hlen - h->l4 + cut->len;

	if (h->ip4) {
		h->ip4->tot_len = htons(h->l4 - LSO_ENCAP + l4_len);
		h->ip4->id = htons(ntohs(h->ip4->id) + cut->index);
		ip_send_check(h->ip4);
	} else {
		h->ip6->payload_len = htons(l4_len);
	}
	h->l4_len = l4_len;
	th->seq = htonl(ntohl(th->seq) + cut->pos);
	if (cut->pos + cut->len < cut->payload) {
		th->fin = 0;
		th->psh = 0;
	}
	if (cut->index)
		th->cwr = 0;
}

static void lso_checksum(struct vib_pkt *pkt, struct lso_hdr *h)
{
	struct tcphdr *th = (struct tcphdr *)(h->base + h->l4);
	enum vib_csum mode = READ_ONCE(vib_knobs.csum);

	pkt->csum_ok = mode != VIB_CSUM_OFF;
	if (mode != VIB_CSUM_FULL)
		return;
	th->check = 0;
	th->check = l4_fold(h, h->l4_len, pkt_sum(pkt, h->l4, h->l4_len));
}

/* A header that can be cut: TCP directly behind IP, and nothing but the TCP header at the end */
static bool lso_check_header(const struct ib_ud_wr *wr, u8 *buf, struct lso_hdr *h)
{
	const struct tcphdr *th;

	if (wr->hlen < LSO_ENCAP || wr->hlen > VIB_LSO_HDR_MAX || wr->mss <= 0 || !wr->header)
		return false;
	memcpy(buf, wr->header, wr->hlen);
	/* The total length may be anything in a header that is to be cut */
	if (wr->hlen >= LSO_ENCAP + sizeof(struct iphdr) && buf[LSO_ENCAP] >> 4 == 4)
		((struct iphdr *)(buf + LSO_ENCAP))->tot_len = htons(wr->hlen - LSO_ENCAP);
	if (!lso_parse(h, buf, wr->hlen) || h->proto != IPPROTO_TCP ||
	    h->l4 + sizeof(*th) > wr->hlen)
		return false;
	th = (const struct tcphdr *)(buf + h->l4);
	return th->doff >= 5 && h->l4 + th->doff * 4 == wr->hlen;
}

/**
 * vib_lso_send - cut a large TCP segment into packets and send them
 * @qpc: sender
 * @wr: request of opcode IB_WR_LSO
 * @pkt: addresses and payload filled in
 *
 * Context: sender's sq_lock held, RCU read section.
 * Return: the status for the request's one completion.
 */
enum ib_wc_status vib_lso_send(struct vib_qpc *qpc, const struct ib_ud_wr *wr,
			       struct vib_pkt *pkt)
{
	struct lso_cut cut = { .wr = wr, .payload = pkt->len };
	u8 buf[VIB_LSO_HDR_MAX];
	struct lso_hdr h;

	if (unlikely(qpc->type != IB_QPT_UD ||
		     !(qpc->init_attr.create_flags & IB_QP_CREATE_IPOIB_UD_LSO) ||
		     !lso_check_header(wr, buf, &h))) {
		vib_oracle(VIB_OR_LSO_BAD);
		return IB_WC_LOC_QP_OP_ERR;
	}
	if (unlikely((u32)wr->hlen + min_t(u32, wr->mss, pkt->len) > vib_port_mtu(qpc->port))) {
		vib_oracle(VIB_OR_UD_TOO_LONG);
		return IB_WC_LOC_LEN_ERR;
	}
	do {
		cut.len = min_t(u32, wr->mss, cut.payload - cut.pos);
		memcpy(buf, wr->header, wr->hlen);
		lso_make_header(&cut, &h);
		pkt->hdr = buf;
		pkt->hdr_len = wr->hlen;
		pkt->len = wr->hlen + cut.len;
		lso_checksum(pkt, &h);
		vib_port_xmit(qpc->port, pkt);
		pkt_advance(pkt, cut.len);
		cut.pos += cut.len;
		cut.index++;
	} while (cut.pos < cut.payload);
	return IB_WC_SUCCESS;
}
