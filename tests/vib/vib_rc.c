// SPDX-License-Identifier: GPL-2.0
/*
 * Reliable connections, the sending half: messages cut into packets, acknowledgments, patience.
 *
 * post_send copies requests into a ring and then lets the engine run, __vib_rc_run(). It sends
 * packets of RC_WINDOW at most beyond the oldest one that is not acknowledged, asks for an
 * acknowledgment at the end of each message and now and then inside it, and stops when the window
 * is full, the receiver has no buffer, or nothing is left. After a loss it goes back to the oldest
 * packet that is missing and sends everything from there again, as adapters do.
 *
 * Acknowledgments come as packets. Over cables they do so before vib_port_xmit() returns, while
 * this side holds its own sq_lock; therefore whoever brings one only leaves it in a mailbox, under
 * a leaf lock. The engine looks there after each packet. If it does not run, a tasklet makes it.
 *
 * The engine runs under sq_lock with interrupts off: in post_send, in the tasklet, and in the
 * timer, a soft one, which is there for two things: the time in which an acknowledgment has to
 * come, and the pause that a receiver without a buffer asks for.
 */
#include "vib.h"

#include <linux/hrtimer.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#define RC_WINDOW	64	/* packets */
#define RC_ACK_EVERY	16	/* packets; a power of two */
#define RC_MSG_MAX	BIT(30)
#define RC_RETRY_MAX	7	/* as a patience with missing buffers: endless */
#define RC_TIMER_MAX	31	/* largest code of both timers */
#define RC_TIME_UNIT	4096	/* ns */
#define RC_TIME_MIN	(50 * NSEC_PER_USEC)
#define RC_RNR_UNIT	(10 * NSEC_PER_USEC)
#define RC_GRACE_PAUSE	NSEC_PER_MSEC
#define RC_IMM_LEN	4

#define AETH_CODE	0x1f
#define AETH_RNR	1	/* upper three bits of a syndrome */
#define AETH_NAK	3

/* What a requester learns from the code of a NAK; the first one is not an error */
static const enum ib_wc_status nak_status[] = {
	IB_WC_RETRY_EXC_ERR,
	IB_WC_REM_INV_REQ_ERR,
	IB_WC_REM_ACCESS_ERR,
	IB_WC_REM_OP_ERR,
};

/* The pause that a code stands for */
static u64 rnr_ns(u8 code)
{
	if (!code)
		return 65536 * RC_RNR_UNIT;
	if (code == 1)
		return RC_RNR_UNIT;
	return ((u64)(2 | (code & 1)) << (code / 2 - 1)) * RC_RNR_UNIT;
}

/* How long an acknowledgment may take, 0 for ever */
static u64 rc_timeout_ns(const struct vib_qpc *qpc)
{
	u64 ns;

	if (!qpc->attr.timeout)
		return 0;
	ns = ((u64)RC_TIME_UNIT << qpc->attr.timeout) >>
	     min(READ_ONCE(vib_knobs.timeout_shift), (unsigned int)RC_TIMER_MAX);
	return max_t(u64, ns, RC_TIME_MIN);
}

static struct vib_swqe *rc_wqe(const struct vib_qpc *qpc, u32 pos)
{
	return &qpc->rc->swqe[pos & qpc->sq_mask];
}

/* Completion of the oldest request */
static void rc_complete(struct vib_qpc *qpc, enum ib_wc_status status)
{
	struct vib_rc *rc = qpc->rc;
	const struct vib_swqe *wqe = rc_wqe(qpc, rc->una);

	if (wqe->signaled || status != IB_WC_SUCCESS) {
		qpc->sq_sig_end = rc->una + 1;
		__vib_qp_send_done(qpc, wqe->wr_cqe, IB_WC_SEND, status, rc->una);
	}
	rc->una++;
}

/**
 * __vib_rc_flush - all requests that are not completed end as flushed
 * @qpc: QP context of a connection
 *
 * Context: sq_lock held.
 */
void __vib_rc_flush(struct vib_qpc *qpc)
{
	struct vib_rc *rc = qpc->rc;

	lockdep_assert_held(&qpc->sq_lock);
	while (rc->una != qpc->sq_head)
		rc_complete(qpc, IB_WC_WR_FLUSH_ERR);
	rc->next = rc->una;
	rc->next_psn = rc->post_psn;
	rc->una_psn = rc->post_psn;
	rc->sent_psn = rc->post_psn;
	rc->rnr_wait = false;
	rc->ticking = false;
}

/* The oldest request failed, and with it the connection */
static void rc_fail(struct vib_qpc *qpc, enum ib_wc_status status)
{
	lockdep_assert_held(&qpc->sq_lock);
	rc_complete(qpc, status);
	spin_lock(&qpc->rq_lock);
	__vib_qpc_to_err(qpc);
	spin_unlock(&qpc->rq_lock);
}

/* Goes on with the oldest packet that is not acknowledged */
static void rc_seek(struct vib_qpc *qpc)
{
	struct vib_rc *rc = qpc->rc;

	rc->next = rc->una;
	rc->next_psn = rc->una_psn;
}

/* All packets up to and with @psn have arrived; old news and lies are ignored */
static void rc_acked(struct vib_qpc *qpc, u32 psn)
{
	struct vib_rc *rc = qpc->rc;
	const struct vib_swqe *wqe;

	if (vib_psn_diff(psn, rc->una_psn) < 0 || vib_psn_diff(psn, rc->sent_psn) >= 0)
		return;
	rc->una_psn = vib_psn_add(psn, 1);
	rc->retry_left = qpc->attr.retry_cnt;
	rc->rnr_left = qpc->attr.rnr_retry;
	rc->rnr_since = 0;
	rc->ticking = false;
	while (rc->una != qpc->sq_head) {
		wqe = rc_wqe(qpc, rc->una);
		if (vib_psn_diff(rc->una_psn, wqe->psn) < (s32)wqe->npkts)
			break;
		rc_complete(qpc, IB_WC_SUCCESS);
	}
	if (vib_psn_diff(rc->next_psn, rc->una_psn) < 0)
		rc_seek(qpc);
}

/* A packet got lost, or nobody answers */
static void rc_retry(struct vib_qpc *qpc)
{
	struct vib_rc *rc = qpc->rc;

	rc->ticking = false;
	if (!rc->retry_left)
		return rc_fail(qpc, IB_WC_RETRY_EXC_ERR);
	rc->retry_left--;
	rc->resent += vib_psn_diff(rc->next_psn, rc->una_psn);
	rc_seek(qpc);
}

/*
 * The receiver has no buffer. In an emulated machine it may have none for longer than on a real
 * one, because it does not get to run; therefore some grace even for those who have no patience.
 */
static void rc_not_ready(struct vib_qpc *qpc, u8 code)
{
	struct vib_rc *rc = qpc->rc;
	ktime_t now = ktime_get();
	u64 pause = rnr_ns(code);

	rc->rnrs++;
	if (!rc->rnr_since)
		rc->rnr_since = now;
	if (!rc->rnr_left) {
		if (ktime_us_delta(now, rc->rnr_since) >= READ_ONCE(vib_knobs.rnr_grace_us))
			return rc_fail(qpc, IB_WC_RNR_RETRY_EXC_ERR);
		pause = min_t(u64, pause, RC_GRACE_PAUSE);
	} else if (rc->rnr_left < RC_RETRY_MAX) {
		rc->rnr_left--;
	}
	rc_seek(qpc);
	rc->ticking = false;
	rc->rnr_wait = true;
	rc->deadline = ktime_add_ns(now, pause);
	hrtimer_start(&rc->timer, rc->deadline, HRTIMER_MODE_ABS_SOFT);
}

static void rc_nak(struct vib_qpc *qpc, u8 syndrome, u32 psn)
{
	struct vib_rc *rc = qpc->rc;
	u8 code = syndrome & AETH_CODE;

	if (vib_psn_diff(psn, rc->una_psn) < 0 || vib_psn_diff(psn, rc->sent_psn) >= 0)
		return;
	if (psn != rc->una_psn)
		rc_acked(qpc, vib_psn_add(psn, VIB_PSN_MASK));
	if (syndrome >> 5 == AETH_RNR)
		rc_not_ready(qpc, code);
	else if (syndrome >> 5 == AETH_NAK && !code)
		rc_retry(qpc);
	else if (syndrome >> 5 == AETH_NAK && code < ARRAY_SIZE(nak_status))
		rc_fail(qpc, nak_status[code]);
}

/**
 * vib_rc_mail - an acknowledgment has arrived
 * @rc: the connection
 * @pkt: the packet
 *
 * Context: any, RCU read section, under any lock of other QPs.
 */
void vib_rc_mail(struct vib_rc *rc, const struct vib_pkt *pkt)
{
	struct vib_rc_mail *mail = &rc->mail;
	u8 syndrome = pkt->aeth >> 24;
	unsigned long flags;
	bool kick;

	spin_lock_irqsave(&rc->mail_lock, flags);
	if (syndrome >> 5) {
		if (!mail->naked || vib_psn_diff(pkt->psn, mail->nak_psn) >= 0) {
			mail->naked = true;
			mail->syndrome = syndrome;
			mail->nak_psn = pkt->psn;
		}
	} else if (!mail->acked || vib_psn_diff(pkt->psn, mail->ack_psn) > 0) {
		mail->acked = true;
		mail->ack_psn = pkt->psn;
	}
	kick = !rc->running && !rc->dead;
	if (kick)
		tasklet_schedule(&rc->tasklet);
	spin_unlock_irqrestore(&rc->mail_lock, flags);
}

/* Empties the mailbox; false if nothing was in it, and if so the engine may be @leaving */
static bool rc_take_mail(struct vib_rc *rc, struct vib_rc_mail *mail, bool leaving)
{
	bool any;

	spin_lock(&rc->mail_lock);
	*mail = rc->mail;
	any = mail->acked || mail->naked;
	rc->mail.acked = false;
	rc->mail.naked = false;
	rc->running = any || !leaving;
	spin_unlock(&rc->mail_lock);
	return any;
}

static bool rc_connected(const struct vib_qpc *qpc)
{
	return qpc->state == IB_QPS_RTS || qpc->state == IB_QPS_SQD;
}

static void rc_read_mail(struct vib_qpc *qpc, const struct vib_rc_mail *mail)
{
	if (mail->acked && rc_connected(qpc))
		rc_acked(qpc, mail->ack_psn);
	if (mail->naked && rc_connected(qpc))
		rc_nak(qpc, mail->syndrome, mail->nak_psn);
}

/**
 * __vib_rc_fill - the headers that all packets of a connection have in common
 * @qpc: QP context of a connection
 * @pkt: packet; its length is known
 *
 * Context: sq_lock or rq_lock held.
 */
void __vib_rc_fill(const struct vib_qpc *qpc, struct vib_pkt *pkt)
{
	const struct vib_lport *lp = &qpc->port->lport;
	u16 headers = IB_BTH_BYTES + IB_ICRC_BYTES;

	pkt->src = NULL;
	pkt->hdr = NULL;
	pkt->hdr_len = 0;
	pkt->dqpn = qpc->rc->dqpn;
	pkt->sqpn = qpc->qpn;
	pkt->qkey = 0;
	pkt->pkey_index = qpc->pkey_index;
	pkt->pkey = READ_ONCE(lp->pkeys[qpc->pkey_index]);
	pkt->smp = false;
	pkt->vl15 = false;
	pkt->csum_ok = false;
	pkt->rc = true;
	if (pkt->has_imm || pkt->op == IB_OPCODE_RC_ACKNOWLEDGE)
		headers += RC_IMM_LEN;
	vib_av_fill(&qpc->rc->av, lp, pkt, headers);
}

static u8 rc_opcode(bool first, bool last, bool imm)
{
	if (first && last)
		return imm ? IB_OPCODE_RC_SEND_ONLY_WITH_IMMEDIATE : IB_OPCODE_RC_SEND_ONLY;
	if (last)
		return imm ? IB_OPCODE_RC_SEND_LAST_WITH_IMMEDIATE : IB_OPCODE_RC_SEND_LAST;
	return first ? IB_OPCODE_RC_SEND_FIRST : IB_OPCODE_RC_SEND_MIDDLE;
}

/* Packet number @n of a request */
static void rc_cut(struct vib_qpc *qpc, u32 pos, u32 n, struct vib_pkt *pkt)
{
	const struct vib_rc *rc = qpc->rc;
	const struct vib_swqe *wqe = rc_wqe(qpc, pos);
	bool last = n == wqe->npkts - 1;
	u32 off = n * rc->pmtu;

	pkt->len = min(rc->pmtu, wqe->len - off);
	pkt->sge = &rc->ssge[(pos & qpc->sq_mask) * qpc->sq_max_sge];
	pkt->nsge = wqe->nsge;
	while (pkt->nsge && off >= pkt->sge->length) {
		off -= pkt->sge->length;
		pkt->sge++;
		pkt->nsge--;
	}
	pkt->sge_off = off;
	pkt->op = rc_opcode(!n, last, wqe->has_imm);
	pkt->psn = vib_psn_add(wqe->psn, n);
	pkt->aeth = 0;
	pkt->has_imm = last && wqe->has_imm;
	pkt->imm = pkt->has_imm ? wqe->imm : 0;
	pkt->solicited = last && wqe->solicited;
	pkt->ack_req = last;
}

/* Sends the next packet, if there is one and it may be sent */
static bool rc_send_next(struct vib_qpc *qpc)
{
	struct vib_rc *rc = qpc->rc;
	const struct vib_swqe *wqe;
	struct vib_pkt pkt;
	s32 flying, n;

	if (rc->rnr_wait || !rc_connected(qpc) || rc->next == qpc->sq_head)
		return false;
	wqe = rc_wqe(qpc, rc->next);
	n = vib_psn_diff(rc->next_psn, wqe->psn);
	if (qpc->state == IB_QPS_SQD && !n)
		return false;
	if (unlikely(wqe->error)) {
		if (rc->next == rc->una)
			rc_fail(qpc, wqe->error);
		return false;
	}
	flying = vib_psn_diff(rc->next_psn, rc->una_psn);
	if (flying >= RC_WINDOW)
		return false;
	rc_cut(qpc, rc->next, n, &pkt);
	if (flying == RC_WINDOW - 1 || !((rc->next_psn + 1) & (RC_ACK_EVERY - 1)))
		pkt.ack_req = true;
	__vib_rc_fill(qpc, &pkt);
	rc->next_psn = vib_psn_add(rc->next_psn, 1);
	if (n == wqe->npkts - 1)
		rc->next++;
	if (vib_psn_diff(rc->next_psn, rc->sent_psn) > 0)
		rc->sent_psn = rc->next_psn;
	vib_port_xmit(qpc->port, &pkt);
	return true;
}

/* What is left on its way is waited for; what was waited for in SQD may be over */
static void rc_settle(struct vib_qpc *qpc)
{
	struct vib_rc *rc = qpc->rc;
	bool flying = rc->next_psn != rc->una_psn;
	u64 ns;

	if (qpc->state == IB_QPS_SQD && !flying && !rc->rnr_wait && !rc->drained) {
		rc->drained = true;
		if (qpc->attr.en_sqd_async_notify)
			vib_qp_raise(qpc, VIB_QP_EV_SQ_DRAINED);
	}
	if (likely(!flying) || rc->rnr_wait || !rc_connected(qpc))
		return;
	ns = rc_timeout_ns(qpc);
	if (!ns)
		return;
	if (!rc->ticking) {
		rc->ticking = true;
		rc->deadline = ktime_add_ns(ktime_get(), ns);
	}
	if (!hrtimer_is_queued(&rc->timer))
		hrtimer_start(&rc->timer, rc->deadline, HRTIMER_MODE_ABS_SOFT);
}

/**
 * __vib_rc_run - send what may be sent, and look at what came back
 * @qpc: QP context of a connection
 *
 * Context: sq_lock held, interrupts off.
 */
void __vib_rc_run(struct vib_qpc *qpc)
{
	struct vib_rc *rc = qpc->rc;
	struct vib_rc_mail mail;
	bool sent = true;

	lockdep_assert_held(&qpc->sq_lock);
	while (rc_take_mail(rc, &mail, !sent) || sent) {
		rc_read_mail(qpc, &mail);
		sent = rc_send_next(qpc);
	}
	rc_settle(qpc);
}

static void rc_tasklet(struct tasklet_struct *t)
{
	struct vib_rc *rc = container_of(t, struct vib_rc, tasklet);
	unsigned long flags;

	spin_lock_irqsave(&rc->qpc->sq_lock, flags);
	__vib_rc_run(rc->qpc);
	spin_unlock_irqrestore(&rc->qpc->sq_lock, flags);
}

static void rc_expired(struct vib_qpc *qpc)
{
	struct vib_rc *rc = qpc->rc;

	if (!rc_connected(qpc) || !(rc->rnr_wait || rc->ticking) ||
	    ktime_before(ktime_get(), rc->deadline))
		return;
	if (rc->rnr_wait) {
		rc->rnr_wait = false;
	} else {
		rc->timeouts++;
		rc_retry(qpc);
	}
}

static enum hrtimer_restart rc_timer(struct hrtimer *timer)
{
	struct vib_rc *rc = container_of(timer, struct vib_rc, timer);
	struct vib_qpc *qpc = rc->qpc;
	struct vib_rc_mail mail;
	unsigned long flags;

	spin_lock_irqsave(&qpc->sq_lock, flags);
	/* an acknowledgment that is only not read yet has come in time */
	if (rc_take_mail(rc, &mail, false))
		rc_read_mail(qpc, &mail);
	rc_expired(qpc);
	__vib_rc_run(qpc);
	spin_unlock_irqrestore(&qpc->sq_lock, flags);
	return HRTIMER_NORESTART;
}

/**
 * __vib_rc_post - take a send into the queue
 * @qpc: QP context of a connection, in RTS or SQD
 * @wr: the request
 * @pos: its queue position, which is free
 *
 * Context: sq_lock held; __vib_rc_run() sends it.
 */
void __vib_rc_post(struct vib_qpc *qpc, const struct ib_send_wr *wr, u32 pos)
{
	struct vib_rc *rc = qpc->rc;
	struct vib_swqe *wqe = rc_wqe(qpc, pos);

	wqe->wr_cqe = wr->wr_cqe;
	wqe->has_imm = wr->opcode == IB_WR_SEND_WITH_IMM;
	wqe->imm = wqe->has_imm ? wr->ex.imm_data : 0;
	wqe->nsge = wr->num_sge;
	wqe->len = 0;
	wqe->solicited = wr->send_flags & IB_SEND_SOLICITED;
	wqe->signaled = qpc->sig_all || wr->send_flags & IB_SEND_SIGNALED;
	wqe->error = qpc->sq_error;
	qpc->sq_error = IB_WC_SUCCESS;
	if (wr->opcode != IB_WR_SEND && !wqe->has_imm) {
		vib_oracle(VIB_OR_BAD_OPCODE);
		wqe->error = IB_WC_LOC_QP_OP_ERR;
	}
	if (!wqe->error)
		wqe->error = vib_send_list(wr, &wqe->len);
	if (!wqe->error && wqe->len > RC_MSG_MAX)
		wqe->error = IB_WC_LOC_LEN_ERR;
	memcpy(&rc->ssge[(pos & qpc->sq_mask) * qpc->sq_max_sge], wr->sg_list,
	       wr->num_sge * sizeof(*wr->sg_list));
	wqe->psn = rc->post_psn;
	wqe->npkts = wqe->error ? 1 : max(DIV_ROUND_UP(wqe->len, rc->pmtu), 1U);
	rc->post_psn = vib_psn_add(rc->post_psn, wqe->npkts);
	if (wqe->signaled)
		qpc->sq_sig_end = pos + 1;
}

/**
 * vib_rc_alloc - what a connection has beside other QPs
 * @qpc: QP context with its sizes
 *
 * Context: process.
 * Return: 0 or -ENOMEM; vib_rc_free() has to follow if qpc->rc is set.
 */
int vib_rc_alloc(struct vib_qpc *qpc)
{
	struct vib_rc *rc;

	rc = kzalloc(sizeof(*rc), GFP_KERNEL);
	if (!rc)
		return -ENOMEM;
	qpc->rc = rc;
	rc->qpc = qpc;
	rc->swqe = kvcalloc(qpc->sq_mask + 1, sizeof(*rc->swqe), GFP_KERNEL);
	rc->ssge = kvcalloc(qpc->sq_mask + 1, sizeof(*rc->ssge) * qpc->sq_max_sge, GFP_KERNEL);
	rc->rx_sge = kcalloc(VIB_MAX_SGE, sizeof(*rc->rx_sge), GFP_KERNEL);
	if (!rc->swqe || !rc->ssge || !rc->rx_sge)
		return -ENOMEM;
	spin_lock_init(&rc->mail_lock);
	tasklet_setup(&rc->tasklet, rc_tasklet);
	hrtimer_init(&rc->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	rc->timer.function = rc_timer;
	return 0;
}

/**
 * vib_rc_free - free it
 * @rc: connection, stopped if it was ever used
 *
 * Context: any but hard interrupt.
 */
void vib_rc_free(struct vib_rc *rc)
{
	kvfree(rc->swqe);
	kvfree(rc->ssge);
	kfree(rc->rx_sge);
	kfree(rc);
}

/**
 * vib_rc_stop - no more timer and tasklet
 * @rc: connection in RESET, no longer in the table of QPs
 *
 * Context: process, may sleep.
 */
void vib_rc_stop(struct vib_rc *rc)
{
	spin_lock_irq(&rc->mail_lock);
	rc->dead = true;
	spin_unlock_irq(&rc->mail_lock);
	hrtimer_cancel(&rc->timer);
	tasklet_kill(&rc->tasklet);
}

/**
 * __vib_rc_reset - back to the beginning
 * @qpc: QP context of a connection
 *
 * Context: sq_lock and rq_lock held.
 */
void __vib_rc_reset(struct vib_qpc *qpc)
{
	struct vib_rc *rc = qpc->rc;

	hrtimer_try_to_cancel(&rc->timer);
	spin_lock(&rc->mail_lock);
	rc->mail.acked = false;
	rc->mail.naked = false;
	spin_unlock(&rc->mail_lock);
	rc->una = 0;
	rc->next = 0;
	rc->rnr_wait = false;
	rc->ticking = false;
	rc->drained = false;
	rc->rnr_since = 0;
	rc->msn = 0;
	rc->nak_sent = false;
	rc->rx_busy = false;
	rc->est_told = false;
	rc->rnr_force = 0;
}

/**
 * __vib_rc_check_attr - may a connection be given these attributes?
 * @qpc: QP context of a connection
 * @attr: the attributes
 * @mask: which of them count
 *
 * Context: sq_lock and rq_lock held.
 * Return: 0 or -EINVAL.
 */
int __vib_rc_check_attr(const struct vib_qpc *qpc, const struct ib_qp_attr *attr, int mask)
{
	struct vib_av av;

	if (mask & IB_QP_AV && (vib_av_set(qpc->hca, &av, &attr->ah_attr) || !av.dlid ||
				av.dlid >= VIB_LID_MCAST))
		return -EINVAL;
	if (mask & IB_QP_PATH_MTU &&
	    (attr->path_mtu < IB_MTU_256 || !qpc->port ||
	     attr->path_mtu > qpc->port->lport.mtu_cap))
		return -EINVAL;
	if ((mask & IB_QP_TIMEOUT && attr->timeout > RC_TIMER_MAX) ||
	    (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > RC_TIMER_MAX) ||
	    (mask & IB_QP_RETRY_CNT && attr->retry_cnt > RC_RETRY_MAX) ||
	    (mask & IB_QP_RNR_RETRY && attr->rnr_retry > RC_RETRY_MAX) ||
	    (mask & IB_QP_MAX_QP_RD_ATOMIC && attr->max_rd_atomic > VIB_MAX_RD_ATOM) ||
	    (mask & IB_QP_MAX_DEST_RD_ATOMIC && attr->max_dest_rd_atomic > VIB_MAX_RD_ATOM))
		return -EINVAL;
	if (mask & IB_QP_DEST_QPN && attr->dest_qp_num & ~IB_QPN_MASK)
		return -EINVAL;
	return 0;
}

/* Values that are only kept, to be read back or used as they are */
static void rc_apply_plain(struct ib_qp_attr *to, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_PATH_MTU)
		to->path_mtu = attr->path_mtu;
	if (mask & IB_QP_DEST_QPN)
		to->dest_qp_num = attr->dest_qp_num;
	if (mask & IB_QP_TIMEOUT)
		to->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		to->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		to->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_MIN_RNR_TIMER)
		to->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		to->max_rd_atomic = attr->max_rd_atomic;
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		to->max_dest_rd_atomic = attr->max_dest_rd_atomic;
	if (mask & IB_QP_ACCESS_FLAGS)
		to->qp_access_flags = attr->qp_access_flags;
	if (mask & IB_QP_PATH_MIG_STATE)
		to->path_mig_state = attr->path_mig_state;
}

/**
 * __vib_rc_apply - take over attributes that are in order
 * @qpc: QP context of a connection
 * @attr: the attributes
 * @mask: which of them count
 *
 * Context: sq_lock and rq_lock held.
 */
void __vib_rc_apply(struct vib_qpc *qpc, const struct ib_qp_attr *attr, int mask)
{
	struct vib_rc *rc = qpc->rc;

	rc_apply_plain(&qpc->attr, attr, mask);
	if (mask & IB_QP_AV) {
		vib_av_set(qpc->hca, &rc->av, &attr->ah_attr);
		qpc->attr.ah_attr = attr->ah_attr;
		qpc->attr.ah_attr.grh.sgid_attr = NULL;
	}
	if (mask & IB_QP_PATH_MTU)
		rc->pmtu = ib_mtu_enum_to_int(attr->path_mtu);
	if (mask & IB_QP_DEST_QPN)
		rc->dqpn = attr->dest_qp_num;
	if (mask & IB_QP_RQ_PSN) {
		qpc->attr.rq_psn = attr->rq_psn & VIB_PSN_MASK;
		rc->epsn = qpc->attr.rq_psn;
	}
	if (mask & IB_QP_SQ_PSN) {
		rc->post_psn = qpc->attr.sq_psn;
		rc->una_psn = rc->post_psn;
		rc->next_psn = rc->post_psn;
		rc->sent_psn = rc->post_psn;
	}
	if (mask & IB_QP_RETRY_CNT)
		rc->retry_left = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		rc->rnr_left = attr->rnr_retry;
	if (mask & IB_QP_STATE && attr->qp_state != IB_QPS_SQD)
		rc->drained = false;
}

/**
 * vib_rc_show - what is special about a connection, for the line of its QP
 * @qpc: QP context of a connection
 * @s: output
 *
 * Context: process.
 */
void vib_rc_show(const struct vib_qpc *qpc, struct seq_file *s)
{
	const struct vib_rc *rc = qpc->rc;

	seq_printf(s, " dqpn=%#x dlid=%#x pmtu=%u srq=%u psn=%#x epsn=%#x sent=%d resent=%llu timeouts=%llu rnrs=%llu msgs=%u",
		   rc->dqpn, rc->av.dlid, rc->pmtu, qpc->srq ? qpc->srq->num : 0, rc->una_psn,
		   rc->epsn, vib_psn_diff(rc->next_psn, rc->una_psn), rc->resent, rc->timeouts,
		   rc->rnrs, rc->msn);
}
