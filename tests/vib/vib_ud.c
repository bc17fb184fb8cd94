// SPDX-License-Identifier: GPL-2.0
/*
 * The datagram engine: from a send request to a packet, and from a packet into a posted buffer.
 *
 * vib_ud_send() builds the packet on the stack, in the context of post_send, under the sender's
 * sq_lock. The fabric carries it to vib_ud_deliver() of each port that it reaches, still inside the
 * same call. Delivery checks it as an adapter does, copies it once and pushes the completion, under
 * the rq_lock of the receiving QP. A packet that fails a check is dropped and counted.
 *
 * Receive buffers begin with room for a global route header; it is left alone if none came.
 */
#include "vib.h"

#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/string.h>

#define UD_SCRIBBLE	0xa5

/**
 * vib_sge_ok - may the HCA use this piece of memory?
 * @sge: local segment as posted
 *
 * Context: any.
 * Return: true if it carries our key and lies in the kernel's direct map.
 */
bool vib_sge_ok(const struct ib_sge *sge)
{
	const void *addr = vib_sge_ptr(sge);

	if (unlikely(sge->lkey != VIB_LKEY)) {
		vib_oracle(VIB_OR_LKEY_BAD);
		return false;
	}
	if (unlikely(sge->length && (!virt_addr_valid(addr) ||
				     !virt_addr_valid(addr + sge->length - 1)))) {
		vib_oracle(VIB_OR_SGE_NOT_KERNEL);
		return false;
	}
	return true;
}

/**
 * vib_pkt_copy - gather a part of a packet's payload
 * @pkt: packet
 * @buf: takes the bytes
 * @off: where in the payload to begin
 * @len: how many
 *
 * Context: any.
 * Return: number of bytes copied, less than @len if the payload ends before.
 */
u32 vib_pkt_copy(const struct vib_pkt *pkt, void *buf, u32 off, u32 len)
{
	const struct ib_sge *sge = pkt->sge;
	u32 done = 0, i, n;

	if (off >= pkt->len)
		return 0;
	len = min(len, pkt->len - off);
	if (off < pkt->hdr_len) {
		done = min(len, pkt->hdr_len - off);
		memcpy(buf, pkt->hdr + off, done);
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
		memcpy(buf + done, vib_sge_ptr(sge) + off, n);
		done += n;
		off = 0;
	}
	return done;
}

/**
 * vib_rx_drop - count a packet that a port threw away
 * @port: HCA port
 * @why: reason
 *
 * Context: any.
 */
void vib_rx_drop(struct vib_port *port, enum vib_rx_drop why)
{
	atomic64_inc(&port->rx_drops[why]);
}

/**
 * vib_pkey_match - may these two talk?
 * @mine: P_Key of the receiver
 * @theirs: P_Key in the packet
 *
 * Context: any.
 * Return: true if they are of one partition and one of them at least is a full member.
 */
bool vib_pkey_match(u16 mine, u16 theirs)
{
	return !((mine ^ theirs) & 0x7fff) && (mine | theirs) & 0x8000 && mine & 0x7fff;
}

/* Index of the port's P_Key that lets this packet in, or negative */
static int ud_check_pkey(const struct vib_port *port, const struct vib_qpc *qpc,
			 const struct vib_pkt *pkt)
{
	u16 index = READ_ONCE(qpc->pkey_index);

	if (qpc->type == IB_QPT_SMI)
		return 0;
	if (qpc->type == IB_QPT_GSI)
		return vib_lport_find_pkey(&port->lport, pkt->pkey);
	return vib_pkey_match(READ_ONCE(port->lport.pkeys[index]), pkt->pkey) ? index : -ENOENT;
}

/* Spread GRH and payload over the buffers of a receive request */
static void ud_scatter(const struct vib_pkt *pkt, const struct ib_sge *sge, u32 nsge)
{
	u32 pos = 0, end = VIB_GRH_LEN + pkt->len, n, room;
	u8 *dst;

	for (; nsge && pos < end; nsge--, sge++) {
		dst = vib_sge_ptr(sge);
		room = sge->length;
		if (pos < VIB_GRH_LEN) {
			n = min(room, VIB_GRH_LEN - pos);
			if (pkt->has_grh)
				memcpy(dst, (const u8 *)&pkt->grh + pos, n);
			else if (unlikely(READ_ONCE(vib_knobs.scribble)))
				memset(dst, UD_SCRIBBLE, n);
			pos += n;
			dst += n;
			room -= n;
		}
		pos += vib_pkt_copy(pkt, dst, pos - VIB_GRH_LEN, room);
	}
}

static void __ud_complete(struct vib_port *port, struct vib_qpc *qpc, const struct vib_pkt *pkt,
			  struct ib_cqe *wr_cqe, enum ib_wc_status status, u16 pkey_index)
{
	u16 path_mask = (1 << READ_ONCE(port->lport.lmc)) - 1;
	struct vib_cq *cq = qpc->recv_cq;
	struct vib_cqe *cqe;
	struct ib_wc *wc;

	spin_lock(&cq->lock);
	cqe = __vib_cq_reserve(cq);
	if (unlikely(!cqe))
		goto unlock;
	cqe->qpc = qpc;
	cqe->send = false;
	wc = &cqe->wc;
	wc->wr_cqe = wr_cqe;
	wc->status = status;
	wc->opcode = IB_WC_RECV;
	wc->vendor_err = 0;
	wc->byte_len = pkt->len + VIB_GRH_LEN;
	wc->qp = qpc->ibqp;
	wc->ex.imm_data = pkt->imm;
	wc->src_qp = pkt->sqpn;
	wc->slid = pkt->slid;
	wc->sl = pkt->sl;
	wc->dlid_path_bits = pkt->dlid < VIB_LID_MCAST ? pkt->dlid & path_mask : 0;
	wc->pkey_index = pkey_index;
	wc->port_num = port->num;
	wc->wc_flags = (pkt->has_grh ? IB_WC_GRH : 0) | (pkt->has_imm ? IB_WC_WITH_IMM : 0) |
		       (pkt->csum_ok ? IB_WC_IP_CSUM_OK : 0);
	__vib_cq_commit(cq, pkt->solicited || status != IB_WC_SUCCESS);
unlock:
	spin_unlock(&cq->lock);
}

/* What is left once the QP's receive queue is ours: state, Q_Key, a buffer, the copy */
static void __ud_rx(struct vib_port *port, struct vib_qpc *qpc, const struct vib_pkt *pkt,
		    u16 pkey_index)
{
	enum ib_wc_status status = IB_WC_SUCCESS;
	struct vib_rwqe *wqe;
	u32 slot;

	lockdep_assert_held(&qpc->rq_lock);
	if (qpc->state < IB_QPS_RTR || qpc->state == IB_QPS_ERR || qpc->rq_broken)
		return vib_rx_drop(port, VIB_RXD_QPN);
	if (qpc->qpn && unlikely(pkt->qkey != qpc->qkey)) {
		vib_rx_drop(port, VIB_RXD_QKEY);
		vib_oracle(VIB_OR_QKEY_VIOLATION);
		return vib_port_qkey_violation(port, pkt);
	}
	if (unlikely(qpc->rq.head == qpc->rq.tail)) {
		atomic64_inc(&qpc->drops);
		if (pkt->vl15)
			vib_lport_err(&port->lport, VIB_ERR_VL15_DROPPED);
		else
			vib_oracle(VIB_OR_RX_NO_BUFFER);
		return vib_rx_drop(port, VIB_RXD_NO_BUFFER);
	}
	slot = qpc->rq.tail++ & qpc->rq.mask;
	wqe = &qpc->rq.wqe[slot];
	if (unlikely(wqe->bad_key)) {
		status = IB_WC_LOC_PROT_ERR;
	} else if (unlikely(wqe->len < pkt->len + VIB_GRH_LEN)) {
		vib_rx_drop(port, VIB_RXD_TOO_LONG);
		vib_oracle(VIB_OR_RX_TOO_SMALL);
		status = IB_WC_LOC_LEN_ERR;
	} else {
		ud_scatter(pkt, &qpc->rq.sge[slot * qpc->rq.max_sge], wqe->nsge);
	}
	if (unlikely(status != IB_WC_SUCCESS))
		__vib_qpc_break(qpc);
	__ud_complete(port, qpc, pkt, wqe->wr_cqe, status, pkey_index);
}

/**
 * vib_ud_rx - a packet for one QP of a port
 * @port: where it arrived
 * @qpc: a QP of that port
 * @pkt: packet
 *
 * Context: any, RCU read section; takes qpc->rq_lock.
 */
void vib_ud_rx(struct vib_port *port, struct vib_qpc *qpc, struct vib_pkt *pkt)
{
	unsigned long flags;
	int pkey_index;

	pkey_index = ud_check_pkey(port, qpc, pkt);
	if (unlikely(pkey_index < 0)) {
		vib_rx_drop(port, VIB_RXD_PKEY);
		vib_oracle(VIB_OR_PKEY_VIOLATION);
		vib_port_pkey_violation(port, pkt);
		return;
	}
	spin_lock_irqsave(&qpc->rq_lock, flags);
	__ud_rx(port, qpc, pkt, pkey_index);
	spin_unlock_irqrestore(&qpc->rq_lock, flags);
}

static bool ud_dlid_is_mine(const struct vib_port *port, const struct vib_pkt *pkt)
{
	u16 mask = ~((1 << READ_ONCE(port->lport.lmc)) - 1);
	u16 lid = READ_ONCE(port->lport.lid);

	if (pkt->smp && pkt->dlid == VIB_LID_PERMISSIVE)
		return true;
	return pkt->dlid && ((pkt->dlid ^ lid) & mask) == 0;
}

/**
 * vib_ud_deliver - a packet arrives at an HCA port
 * @port: HCA port
 * @pkt: packet; stays the caller's
 *
 * Context: any, RCU read section. Takes the rq_lock of the QP that it is for.
 */
void vib_ud_deliver(struct vib_port *port, struct vib_pkt *pkt)
{
	struct vib_qpc *qpc;

	if (unlikely(!pkt->smp && READ_ONCE(port->lport.state) != IB_PORT_ACTIVE))
		return vib_rx_drop(port, VIB_RXD_PORT);
	if (pkt->dlid >= VIB_LID_MCAST && pkt->dlid != VIB_LID_PERMISSIVE) {
		if (likely(pkt->has_grh))
			return vib_mcast_deliver(port, pkt);
		vib_oracle(VIB_OR_GRH_MISSING);
		return vib_rx_drop(port, VIB_RXD_GRH);
	}
	if (unlikely(!ud_dlid_is_mine(port, pkt)))
		return vib_rx_drop(port, VIB_RXD_LID);
	qpc = vib_qpc_find(port, pkt->dqpn);
	/* A QP serves one port, and management packets reach management QPs only */
	if (unlikely(!qpc || READ_ONCE(qpc->port) != port || pkt->smp != !pkt->dqpn ||
		     pkt->rc != !!qpc->rc))
		return vib_rx_drop(port, VIB_RXD_QPN);
	if (pkt->rc)
		vib_rc_rx(port, qpc, pkt);
	else
		vib_ud_rx(port, qpc, pkt);
}

/**
 * vib_send_list - look at lengths and keys of a send list
 * @wr: request
 * @len: takes the number of bytes
 *
 * Context: any.
 * Return: success, or the status that the request has to end with.
 */
enum ib_wc_status vib_send_list(const struct ib_send_wr *wr, u32 *len)
{
	u64 sum = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (unlikely(!vib_sge_ok(&wr->sg_list[i])))
			return IB_WC_LOC_PROT_ERR;
		sum += wr->sg_list[i].length;
	}
	if (unlikely(sum > U32_MAX / 2))
		return IB_WC_LOC_LEN_ERR;
	*len = sum;
	return IB_WC_SUCCESS;
}

static void ud_fill(struct vib_pkt *pkt, struct vib_qpc *qpc, const struct ib_ud_wr *wr)
{
	const struct vib_lport *lp = &qpc->port->lport;

	pkt->src = qpc;
	pkt->hdr = NULL;
	pkt->hdr_len = 0;
	pkt->sge = wr->wr.sg_list;
	pkt->nsge = wr->wr.num_sge;
	pkt->sge_off = 0;
	pkt->sqpn = qpc->qpn;
	pkt->dqpn = wr->remote_qpn & IB_QPN_MASK;
	pkt->qkey = wr->remote_qkey & BIT(31) ? qpc->qkey : wr->remote_qkey;
	pkt->pkey_index = qpc->type == IB_QPT_GSI ? wr->pkey_index : qpc->pkey_index;
	pkt->smp = qpc->type == IB_QPT_SMI;
	pkt->vl15 = pkt->smp;
	pkt->pkey = pkt->smp ? IB_DEFAULT_PKEY_FULL : READ_ONCE(lp->pkeys[pkt->pkey_index]);
	pkt->solicited = wr->wr.send_flags & IB_SEND_SOLICITED;
	pkt->has_imm = wr->wr.opcode == IB_WR_SEND_WITH_IMM;
	pkt->imm = pkt->has_imm ? wr->wr.ex.imm_data : 0;
	pkt->csum_ok = false;
	pkt->rc = false;
	vib_av_fill(&to_vah(wr->ah)->av, lp, pkt, IB_BTH_BYTES + IB_DETH_BYTES + IB_ICRC_BYTES);
}

static void ud_checksum(struct vib_pkt *pkt, u8 *buf, bool wanted)
{
	switch (READ_ONCE(vib_knobs.csum)) {
	case VIB_CSUM_TRUST:
		pkt->csum_ok = wanted;
		break;
	case VIB_CSUM_FULL:
		vib_csum_finish(pkt, buf, wanted);
		break;
	case VIB_CSUM_LIE:
		pkt->csum_ok = true;
		break;
	case VIB_CSUM_OFF:
		break;
	}
}

/**
 * vib_ud_send - execute one send request
 * @qpc: sender, in RTS
 * @wr: request, part of an ib_ud_wr
 *
 * Context: qpc->sq_lock held, interrupts off, RCU read section.
 * Return: the status for its completion; anything but success puts the QP into SQE.
 */
enum ib_wc_status vib_ud_send(struct vib_qpc *qpc, const struct ib_send_wr *wr)
{
	const struct ib_ud_wr *uwr = ud_wr((struct ib_send_wr *)wr);
	u8 buf[VIB_LSO_HDR_MAX];
	enum ib_wc_status status;
	struct vib_pkt pkt;

	if (unlikely(wr->opcode != IB_WR_SEND && wr->opcode != IB_WR_SEND_WITH_IMM &&
		     wr->opcode != IB_WR_LSO)) {
		vib_oracle(VIB_OR_BAD_OPCODE);
		return IB_WC_LOC_QP_OP_ERR;
	}
	if (unlikely(!uwr->ah ||
		     (qpc->type == IB_QPT_GSI && uwr->pkey_index >= qpc->hca->npkeys)))
		return IB_WC_LOC_QP_OP_ERR;
	status = vib_send_list(wr, &pkt.len);
	if (unlikely(status != IB_WC_SUCCESS))
		return status;
	ud_fill(&pkt, qpc, uwr);
	if (wr->opcode == IB_WR_LSO)
		return vib_lso_send(qpc, uwr, &pkt);
	if (unlikely(pkt.len > vib_port_mtu(qpc->port))) {
		vib_oracle(VIB_OR_UD_TOO_LONG);
		return IB_WC_LOC_LEN_ERR;
	}
	if (qpc->type == IB_QPT_UD)
		ud_checksum(&pkt, buf, wr->send_flags & IB_SEND_IP_CSUM);
	vib_port_xmit(qpc->port, &pkt);
	return IB_WC_SUCCESS;
}
