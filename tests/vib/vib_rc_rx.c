// SPDX-License-Identifier: GPL-2.0
/*
 * Reliable connections, the receiving half: packets in order, put together in posted buffers.
 *
 * vib_rc_rx() is called for each packet that reaches the port of its connection, in the context of
 * whoever carries it: the sender, the timer of stored packets, the receive path of a wire. All is
 * done under the rq_lock of the receiving QP; what is to be answered is sent after it was dropped.
 *
 * A message fills one receive. It is taken with the first packet, from the QP's own queue or the
 * shared one, and completed with the last. A packet that comes too early is refused once, with the
 * number of the one that is missing; one that was seen before is only acknowledged. A packet that
 * makes no sense, or a message longer than its buffer, ends the connection.
 */
#include "vib.h"

#include <linux/minmax.h>
#include <linux/rcupdate.h>

#define AETH_ACK	0x1f	/* syndromes; here with credits that nobody counts */
#define AETH_RNR	0x20
#define AETH_NAK	0x60
#define AETH_NONE	0x100	/* nothing is to be said */

#define NAK_SEQUENCE	0
#define NAK_INVALID	1
#define NAK_OPERATION	3

static bool op_is_first(u8 op)
{
	return op == IB_OPCODE_RC_SEND_FIRST || op == IB_OPCODE_RC_SEND_ONLY ||
	       op == IB_OPCODE_RC_SEND_ONLY_WITH_IMMEDIATE;
}

static bool op_is_last(u8 op)
{
	return op != IB_OPCODE_RC_SEND_FIRST && op != IB_OPCODE_RC_SEND_MIDDLE;
}

/* A message goes on where it was, and only its last packet is shorter than the path's MTU */
static bool rx_makes_sense(const struct vib_rc *rc, const struct vib_pkt *pkt)
{
	if (op_is_first(pkt->op) == rc->rx_busy)
		return false;
	if (!op_is_last(pkt->op))
		return pkt->len == rc->pmtu;
	return pkt->len <= rc->pmtu && (pkt->len || op_is_first(pkt->op));
}

/* Takes the receive that the message will fill */
static bool rx_begin(struct vib_qpc *qpc)
{
	struct vib_rc *rc = qpc->rc;

	if (rc->rnr_force) {
		rc->rnr_force--;
		return false;
	}
	if (!(qpc->srq ? vib_srq_take(qpc->srq, &rc->rx_wqe, rc->rx_sge) :
			 __vib_rq_take(&qpc->rq, &rc->rx_wqe, rc->rx_sge)))
		return false;
	rc->rx_busy = true;
	rc->rx_len = 0;
	rc->rx_i = 0;
	rc->rx_off = 0;
	return true;
}

/* Puts the packet behind what the receive holds already */
static void rx_scatter(struct vib_rc *rc, const struct vib_pkt *pkt)
{
	const struct ib_sge *sge;
	u32 pos = 0, n;

	while (pos < pkt->len) {
		sge = &rc->rx_sge[rc->rx_i];
		n = min(pkt->len - pos, sge->length - rc->rx_off);
		vib_pkt_copy(pkt, vib_sge_ptr(sge) + rc->rx_off, pos, n);
		pos += n;
		rc->rx_off += n;
		if (rc->rx_off == sge->length) {
			rc->rx_i++;
			rc->rx_off = 0;
		}
	}
	rc->rx_len += pkt->len;
}

static void rx_complete(struct vib_qpc *qpc, const struct vib_pkt *pkt, enum ib_wc_status status)
{
	struct vib_rc *rc = qpc->rc;
	struct vib_cq *cq = qpc->recv_cq;
	struct vib_cqe *cqe;

	rc->rx_busy = false;
	spin_lock(&cq->lock);
	cqe = __vib_cq_reserve(cq);
	if (cqe) {
		*cqe = (struct vib_cqe) {
			.qpc = qpc,
			.wc.wr_cqe = rc->rx_wqe.wr_cqe,
			.wc.status = status,
			.wc.opcode = IB_WC_RECV,
			.wc.byte_len = rc->rx_len,
			.wc.qp = qpc->ibqp,
			.wc.ex.imm_data = pkt->imm,
			.wc.src_qp = rc->dqpn,
			.wc.slid = pkt->slid,
			.wc.sl = pkt->sl,
			.wc.pkey_index = qpc->pkey_index,
			.wc.port_num = qpc->port->num,
			.wc.wc_flags = pkt->has_imm ? IB_WC_WITH_IMM : 0,
		};
		__vib_cq_commit(cq, pkt->solicited || status != IB_WC_SUCCESS);
	}
	spin_unlock(&cq->lock);
}

/* The connection has to end; a receive that was begun tells why */
static u32 rx_break(struct vib_qpc *qpc, const struct vib_pkt *pkt, enum ib_wc_status status,
		    u8 nak)
{
	if (status != IB_WC_SUCCESS)
		rx_complete(qpc, pkt, status);
	else
		vib_qp_raise(qpc, VIB_QP_EV_REQ_ERR);
	__vib_qpc_break(qpc);
	return AETH_NAK | nak;
}

/* The packet that was waited for; returns a syndrome, the expected PSN is that of the answer */
static u32 rx_expected(struct vib_port *port, struct vib_qpc *qpc, const struct vib_pkt *pkt)
{
	struct vib_rc *rc = qpc->rc;

	if (unlikely(!rx_makes_sense(rc, pkt)))
		return rx_break(qpc, pkt, IB_WC_SUCCESS, NAK_INVALID);
	if (op_is_first(pkt->op) && unlikely(!rx_begin(qpc))) {
		rc->nak_sent = true;
		atomic64_inc(&qpc->drops);
		return AETH_RNR | qpc->attr.min_rnr_timer;
	}
	if (unlikely(rc->rx_wqe.bad_key))
		return rx_break(qpc, pkt, IB_WC_LOC_PROT_ERR, NAK_OPERATION);
	if (unlikely(pkt->len > rc->rx_wqe.len - rc->rx_len)) {
		vib_rx_drop(port, VIB_RXD_TOO_LONG);
		vib_oracle(VIB_OR_RX_TOO_SMALL);
		return rx_break(qpc, pkt, IB_WC_LOC_LEN_ERR, NAK_INVALID);
	}
	if (unlikely(qpc->state == IB_QPS_RTR && !rc->est_told)) {
		rc->est_told = true;
		vib_qp_raise(qpc, VIB_QP_EV_COMM_EST);
	}
	rx_scatter(rc, pkt);
	rc->nak_sent = false;
	rc->epsn = vib_psn_add(rc->epsn, 1);
	if (op_is_last(pkt->op)) {
		rc->msn = vib_psn_add(rc->msn, 1);
		rx_complete(qpc, pkt, IB_WC_SUCCESS);
	}
	return pkt->ack_req ? AETH_ACK : AETH_NONE;
}

/* Any packet of a message; returns a syndrome */
static u32 rx_packet(struct vib_port *port, struct vib_qpc *qpc, const struct vib_pkt *pkt)
{
	struct vib_rc *rc = qpc->rc;
	s32 ahead;

	if (qpc->state < IB_QPS_RTR || qpc->state == IB_QPS_ERR || qpc->rq_broken) {
		vib_rx_drop(port, VIB_RXD_QPN);
		return AETH_NONE;
	}
	ahead = vib_psn_diff(pkt->psn, rc->epsn);
	if (likely(!ahead))
		return rx_expected(port, qpc, pkt);
	if (ahead < 0)
		return pkt->ack_req ? AETH_ACK : AETH_NONE;
	if (rc->nak_sent)
		return AETH_NONE;
	rc->nak_sent = true;
	return AETH_NAK | NAK_SEQUENCE;
}

/* Fills in the answer; false if there is none */
static bool rx_answer(struct vib_qpc *qpc, u32 syndrome, struct vib_pkt *ack)
{
	struct vib_rc *rc = qpc->rc;

	if (syndrome == AETH_NONE)
		return false;
	ack->len = 0;
	ack->sge = NULL;
	ack->nsge = 0;
	ack->sge_off = 0;
	ack->op = IB_OPCODE_RC_ACKNOWLEDGE;
	/* good news are about the last packet that came, bad ones about the next */
	ack->psn = syndrome == AETH_ACK ? vib_psn_add(rc->epsn, VIB_PSN_MASK) : rc->epsn;
	ack->aeth = syndrome << 24 | rc->msn;
	ack->has_imm = false;
	ack->imm = 0;
	ack->solicited = false;
	ack->ack_req = false;
	__vib_rc_fill(qpc, ack);
	return true;
}

/* Does the packet come from where the connection leads to? */
static bool rx_is_of_peer(struct vib_port *port, struct vib_qpc *qpc, const struct vib_pkt *pkt)
{
	u16 index = READ_ONCE(qpc->pkey_index);

	if (unlikely(!vib_pkey_match(READ_ONCE(port->lport.pkeys[index]), pkt->pkey))) {
		vib_rx_drop(port, VIB_RXD_PKEY);
		vib_oracle(VIB_OR_PKEY_VIOLATION);
		vib_port_pkey_violation(port, pkt);
		return false;
	}
	if (unlikely(pkt->slid != READ_ONCE(qpc->rc->av.dlid))) {
		vib_rx_drop(port, VIB_RXD_LID);
		return false;
	}
	return true;
}

/**
 * vib_rc_rx - a packet for a reliable connection of a port
 * @port: where it arrived
 * @qpc: a connection of that port
 * @pkt: packet
 *
 * Context: any, RCU read section; takes qpc->rq_lock.
 */
void vib_rc_rx(struct vib_port *port, struct vib_qpc *qpc, const struct vib_pkt *pkt)
{
	struct vib_pkt ack;
	unsigned long flags;
	bool answer;

	if (!rx_is_of_peer(port, qpc, pkt))
		return;
	if (pkt->op == IB_OPCODE_RC_ACKNOWLEDGE)
		return vib_rc_mail(qpc->rc, pkt);
	spin_lock_irqsave(&qpc->rq_lock, flags);
	answer = rx_answer(qpc, rx_packet(port, qpc, pkt), &ack);
	spin_unlock_irqrestore(&qpc->rq_lock, flags);
	if (answer)
		vib_port_xmit(port, &ack);
}
