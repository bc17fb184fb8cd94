// SPDX-License-Identifier: GPL-2.0
/*
 * Packets as bytes, in the layout of the InfiniBand link: for wires to other machines and for
 * captures, both of which leave the world of decoded headers.
 *
 *	LRH 8 | GRH 40, if any | BTH 12 | DETH 8 | immediate data 4, if any | payload | padding 0-3
 *
 * Packets of reliable connections have no DETH, and acknowledgments an AETH of 4 bytes instead.
 *
 * The two CRCs at the end are left out: a wire checks its frames by other means, and a capture
 * writes zeroes. Lengths in the headers count them all the same, as the real ones do.
 *
 * Packing is done for packets of our own, in the context of their sender, and cannot fail.
 * Unpacking believes nothing: whatever is not a packet that this fabric could have packed is
 * refused. Neither takes a lock or sleeps.
 */
#include "vib.h"

#include <linux/string.h>
#include <linux/unaligned.h>

#define PACK_ICRC		4
#define PACK_IMM		4
#define PACK_OP_SEND		0x64	/* BTH opcodes: UD send only, without and with immediate */
#define PACK_OP_SEND_IMM	0x65
#define PACK_VL15		15
#define PACK_LNH_BTH		2
#define PACK_LNH_GRH		3
#define PACK_GRH_BTH		0x1b	/* next header of a GRH */
#define PACK_LEN_MASK		0x7ff
#define PACK_SE			0x80
#define PACK_ACK_REQ		BIT(31)	/* in the word of the PSN */

/* Bytes of all headers of a packet */
static u32 pack_headers(const struct vib_pkt *pkt)
{
	return IB_LRH_BYTES + (pkt->has_grh ? IB_GRH_BYTES : 0) + IB_BTH_BYTES +
	       (pkt->rc ? vib_rc_ext_len(pkt) : IB_DETH_BYTES) + (pkt->has_imm ? PACK_IMM : 0);
}

/**
 * vib_pack_len - how many bytes a packet takes
 * @pkt: the packet
 *
 * Context: any.
 * Return: the number, VIB_PACK_MAX at most for a payload that a port can carry.
 */
u32 vib_pack_len(const struct vib_pkt *pkt)
{
	return pack_headers(pkt) + ALIGN(pkt->len, 4);
}

static u8 *pack_lrh(u8 *p, const struct vib_pkt *pkt)
{
	*p++ = pkt->vl15 ? PACK_VL15 << 4 : 0;
	*p++ = pkt->sl << 4 | (pkt->has_grh ? PACK_LNH_GRH : PACK_LNH_BTH);
	put_unaligned_be16(pkt->dlid, p);
	put_unaligned_be16((vib_pack_len(pkt) + PACK_ICRC) / 4, p + 2);
	put_unaligned_be16(pkt->slid, p + 4);
	return p + 6;
}

static u8 *pack_bth(u8 *p, const struct vib_pkt *pkt)
{
	u8 pad = ALIGN(pkt->len, 4) - pkt->len;
	u32 seq = 0;				/* datagrams have no use for a PSN */

	if (pkt->rc) {
		seq = pkt->psn | (pkt->ack_req ? PACK_ACK_REQ : 0);
		*p++ = pkt->op;
	} else {
		*p++ = pkt->has_imm ? PACK_OP_SEND_IMM : PACK_OP_SEND;
	}
	*p++ = (pkt->solicited ? PACK_SE : 0) | pad << 4;
	put_unaligned_be16(pkt->pkey, p);
	put_unaligned_be32(pkt->dqpn & IB_QPN_MASK, p + 2);
	put_unaligned_be32(seq, p + 6);
	return p + 10;
}

static u8 *pack_ext(u8 *p, const struct vib_pkt *pkt)
{
	if (pkt->rc) {
		if (vib_rc_ext_len(pkt))
			put_unaligned_be32(pkt->aeth, p);
		return p + vib_rc_ext_len(pkt);
	}
	put_unaligned_be32(pkt->qkey, p);
	put_unaligned_be32(pkt->sqpn & IB_QPN_MASK, p + 4);
	return p + IB_DETH_BYTES;
}

/*
 * In this machine a packet may travel with sums that are only promised. What leaves it has them,
 * as if the HCA had filled them in.
 */
static void pack_sums(const struct vib_pkt *pkt, u8 *payload)
{
	if (pkt->csum_ok && pkt->dqpn > 1 && READ_ONCE(vib_knobs.csum) == VIB_CSUM_TRUST)
		vib_csum_fill(payload, pkt->len);
}

/**
 * vib_pack - write a packet as bytes
 * @pkt: the packet
 * @buf: room for vib_pack_len() bytes
 *
 * Context: any.
 */
void vib_pack(const struct vib_pkt *pkt, u8 *buf)
{
	u8 *p = pack_lrh(buf, pkt);
	u32 len = vib_pack_len(pkt);
	struct ib_grh grh;

	if (pkt->has_grh) {
		grh = pkt->grh;
		grh.paylen = cpu_to_be16(len - IB_LRH_BYTES - IB_GRH_BYTES + PACK_ICRC);
		memcpy(p, &grh, IB_GRH_BYTES);
		p += IB_GRH_BYTES;
	}
	p = pack_bth(p, pkt);
	p = pack_ext(p, pkt);
	if (pkt->has_imm) {
		memcpy(p, &pkt->imm, PACK_IMM);
		p += PACK_IMM;
	}
	vib_pkt_copy(pkt, p, 0, pkt->len);
	pack_sums(pkt, p);
	memset(p + pkt->len, 0, ALIGN(pkt->len, 4) - pkt->len);
}

static bool unpack_lrh(struct vib_pkt *pkt, const u8 *p, u32 len)
{
	u8 lnh = p[1] & 3;

	pkt->vl15 = p[0] >> 4 == PACK_VL15;
	pkt->smp = pkt->vl15;
	pkt->sl = p[1] >> 4;
	pkt->has_grh = lnh == PACK_LNH_GRH;
	pkt->dlid = get_unaligned_be16(p + 2);
	pkt->slid = get_unaligned_be16(p + 6);
	return !(p[0] & 0xf) && (lnh == PACK_LNH_BTH || lnh == PACK_LNH_GRH) &&
	       (get_unaligned_be16(p + 4) & PACK_LEN_MASK) * 4 == len + PACK_ICRC;
}

/* @len: of what follows the GRH */
static bool unpack_grh(struct vib_pkt *pkt, const u8 *p, u32 len)
{
	memcpy(&pkt->grh, p, IB_GRH_BYTES);
	return p[0] >> 4 == 6 && pkt->grh.next_hdr == PACK_GRH_BTH &&
	       be16_to_cpu(pkt->grh.paylen) == len + PACK_ICRC;
}

/* What kind of packet is it? False for one that we do not know. */
static bool unpack_op(struct vib_pkt *pkt, u8 op)
{
	pkt->rc = op <= IB_OPCODE_RC_SEND_ONLY_WITH_IMMEDIATE || op == IB_OPCODE_RC_ACKNOWLEDGE;
	pkt->op = op;
	pkt->has_imm = op == PACK_OP_SEND_IMM || op == IB_OPCODE_RC_SEND_LAST_WITH_IMMEDIATE ||
		       op == IB_OPCODE_RC_SEND_ONLY_WITH_IMMEDIATE;
	return pkt->rc || op == PACK_OP_SEND || pkt->has_imm;
}

/* The header behind the BTH; its length, or more than there is */
static u32 unpack_ext(struct vib_pkt *pkt, const u8 *p, u32 len)
{
	u32 ext = pkt->rc ? vib_rc_ext_len(pkt) : IB_DETH_BYTES;

	if (len < ext)
		return ext;
	if (!pkt->rc) {
		pkt->qkey = get_unaligned_be32(p);
		pkt->sqpn = get_unaligned_be32(p + 4) & IB_QPN_MASK;
	} else if (ext) {
		pkt->aeth = get_unaligned_be32(p);
	}
	return ext;
}

/* Headers behind the GRH; @len: from there to the end of the padding, a BTH at least */
static bool unpack_transport(struct vib_pkt *pkt, const u8 *p, u32 len)
{
	u32 hdr = IB_BTH_BYTES, pad = p[1] >> 4 & 3, seq = get_unaligned_be32(p + 8);

	if (!unpack_op(pkt, p[0]) || p[1] & 0xf)
		return false;
	hdr += unpack_ext(pkt, p + hdr, len - hdr);
	if (pkt->has_imm)
		hdr += PACK_IMM;
	if (len < hdr + pad)
		return false;
	pkt->solicited = p[1] & PACK_SE;
	pkt->pkey = get_unaligned_be16(p + 2);
	pkt->dqpn = get_unaligned_be32(p + 4) & IB_QPN_MASK;
	pkt->psn = seq & VIB_PSN_MASK;
	pkt->ack_req = seq & PACK_ACK_REQ;
	if (pkt->has_imm)
		memcpy(&pkt->imm, p + hdr - PACK_IMM, PACK_IMM);
	pkt->hdr = p + hdr;
	pkt->len = len - hdr - pad;
	pkt->hdr_len = pkt->len;
	return pkt->len <= VIB_PACK_PAYLOAD_MAX;
}

/* Does the packet make sense? Management and data do not mix, and LIDs are what they can be. */
static bool unpack_sane(const struct vib_pkt *pkt)
{
	const struct ib_smp *smp = pkt->hdr;

	if (pkt->rc)
		return !pkt->smp && pkt->dqpn > 1 && pkt->slid && pkt->slid < VIB_LID_MCAST &&
		       pkt->dlid && pkt->dlid < VIB_LID_MCAST &&
		       (pkt->op != IB_OPCODE_RC_ACKNOWLEDGE || !pkt->len);
	if (pkt->smp)
		return !pkt->dqpn && !pkt->sqpn && !pkt->has_grh && pkt->len == VIB_MAD_SIZE &&
		       (pkt->dlid < VIB_LID_MCAST || pkt->dlid == VIB_LID_PERMISSIVE) &&
		       smp->base_version == IB_MGMT_BASE_VERSION &&
		       (smp->mgmt_class == IB_MGMT_CLASS_SUBN_LID_ROUTED ||
			smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE);
	if (!pkt->dqpn || !pkt->sqpn || !pkt->slid || pkt->slid >= VIB_LID_MCAST || !pkt->dlid ||
	    pkt->dlid == VIB_LID_PERMISSIVE)
		return false;
	return pkt->dlid < VIB_LID_MCAST || pkt->has_grh;
}

/**
 * vib_unpack - read a packet out of bytes that anybody may have sent
 * @pkt: packet to fill; refers to @buf for its payload
 * @buf: the bytes
 * @len: how many
 *
 * Context: any.
 * Return: true, or false if this is no packet of ours.
 */
bool vib_unpack(struct vib_pkt *pkt, const u8 *buf, u32 len)
{
	u32 hdr = IB_LRH_BYTES;

	memset(pkt, 0, sizeof(*pkt));
	if (len % 4 || len < hdr + IB_BTH_BYTES || len > VIB_PACK_MAX ||
	    !unpack_lrh(pkt, buf, len))
		return false;
	if (pkt->has_grh) {
		hdr += IB_GRH_BYTES;
		if (len < hdr + IB_BTH_BYTES ||
		    !unpack_grh(pkt, buf + IB_LRH_BYTES, len - hdr))
			return false;
	}
	return unpack_transport(pkt, buf + hdr, len - hdr) && unpack_sane(pkt);
}
