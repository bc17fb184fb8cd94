// SPDX-License-Identifier: GPL-2.0
/*
 * Queue pairs: creation, the state machine, posting, flushing, and the table by number.
 *
 * The ib_qp that the core knows is a thin shell. All state is in a vib_qpc, which is counted and
 * freed one grace period after its last user, because packets find it under RCU while the QP may
 * be going away. A QP that is destroyed first leaves the table and the groups, then goes to RESET
 * under both queue locks, which stops every producer of completions; only then its completions are
 * purged. Nothing of a qpc but its locks and state is touched by a packet that comes too late.
 *
 * post_send and post_recv run in any context, often with interrupts off and locks of the upper
 * layer held. UD sends are executed on the spot, so the send queue is nothing but a count of slots
 * whose completions were not polled yet. What reliable connections have beside that is in vib_rc.c.
 */
#include "vib.h"

#include <linux/log2.h>
#include <linux/rcupdate.h>
#include <linux/sched/clock.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

static const char *const qp_state_names[] = {
	[IB_QPS_RESET] = "reset",
	[IB_QPS_INIT] = "init",
	[IB_QPS_RTR] = "rtr",
	[IB_QPS_RTS] = "rts",
	[IB_QPS_SQD] = "sqd",
	[IB_QPS_SQE] = "sqe",
	[IB_QPS_ERR] = "err",
};

/**
 * vib_ah_use_put - drop a reference to the use count of an address handle
 * @use: the count
 *
 * Context: any.
 */
void vib_ah_use_put(struct vib_ah_use *use)
{
	if (refcount_dec_and_test(&use->ref))
		kfree(use);
}

/* A send names an address handle, until its slot is given back */
static void __qp_use_ah(struct vib_qpc *qpc, u32 pos, const struct ib_send_wr *wr)
{
	struct vib_ah_use *use;
	struct ib_ah *ah;

	lockdep_assert_held(&qpc->sq_lock);
	if (!qpc->sq_use)
		return;
	ah = ud_wr((struct ib_send_wr *)wr)->ah;
	use = ah ? to_vah(ah)->use : NULL;
	if (use) {
		refcount_inc(&use->ref);
		atomic_inc(&use->sends);
	}
	qpc->sq_use[pos & qpc->sq_mask] = use;
}

/**
 * __vib_qp_sends_polled - slots of a send queue are given back
 * @qpc: QP context
 * @from: first queue position
 * @to: the one behind the last
 *
 * Context: lock of the send CQ held, or the QP has no completions any more.
 */
void __vib_qp_sends_polled(struct vib_qpc *qpc, u32 from, u32 to)
{
	struct vib_ah_use **slot;

	for (; qpc->sq_use && from != to; from++) {
		slot = &qpc->sq_use[from & qpc->sq_mask];
		if (!*slot)
			continue;
		atomic_dec(&(*slot)->sends);
		vib_ah_use_put(*slot);
		*slot = NULL;
	}
}

static void qpc_free(struct rcu_head *rcu)
{
	struct vib_qpc *qpc = container_of(rcu, struct vib_qpc, rcu);

	if (qpc->rc)
		vib_rc_free(qpc->rc);
	kvfree(qpc->sq_use);
	vib_rq_free(&qpc->rq);
	kfree(qpc);
}

/**
 * vib_qpc_put - drop a reference
 * @qpc: QP context
 *
 * Context: any.
 */
void vib_qpc_put(struct vib_qpc *qpc)
{
	if (refcount_dec_and_test(&qpc->ref))
		call_rcu(&qpc->rcu, qpc_free);
}

/**
 * vib_qpc_find - the QP that a packet to a port is meant for
 * @port: where the packet arrived
 * @qpn: destination QP number; 0 and 1 are the port's own
 *
 * Context: RCU read section, in which the result is valid.
 * Return: the QP, or NULL.
 */
struct vib_qpc *vib_qpc_find(struct vib_port *port, u32 qpn)
{
	if (qpn <= 1)
		return rcu_dereference(port->mad_qp[qpn]);
	return xa_load(&port->hca->qps, qpn);
}

/**
 * vib_qp_push_flush - completion of a request that was never executed
 * @qpc: QP context
 * @cq: where it goes
 * @wr_cqe: of the request
 * @send: it was a send,
 * @sq_pos: at this queue position
 *
 * Context: any; takes cq->lock.
 */
void vib_qp_push_flush(struct vib_qpc *qpc, struct vib_cq *cq, struct ib_cqe *wr_cqe, bool send,
		       u32 sq_pos)
{
	struct vib_cqe *cqe;
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cqe = __vib_cq_reserve(cq);
	if (cqe) {
		*cqe = (struct vib_cqe) {
			.wc.wr_cqe = wr_cqe,
			.wc.status = IB_WC_WR_FLUSH_ERR,
			.wc.qp = qpc->ibqp,
			.qpc = qpc,
			.send = send,
			.sq_pos = sq_pos,
		};
		__vib_cq_commit(cq, true);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
}

static void __qp_flush_recv(struct vib_qpc *qpc)
{
	struct vib_rq *rq = &qpc->rq;

	lockdep_assert_held(&qpc->rq_lock);
	if (qpc->rc && qpc->rc->rx_busy) {
		qpc->rc->rx_busy = false;
		vib_qp_push_flush(qpc, qpc->recv_cq, qpc->rc->rx_wqe.wr_cqe, false, 0);
	}
	while (rq->tail != rq->head)
		vib_qp_push_flush(qpc, qpc->recv_cq, rq->wqe[rq->tail++ & rq->mask].wr_cqe, false,
				  0);
}

/**
 * __vib_qpc_to_err - a QP enters ERR, with all that was posted to it
 * @qpc: QP context, not in RESET
 *
 * Context: sq_lock and rq_lock held.
 */
void __vib_qpc_to_err(struct vib_qpc *qpc)
{
	lockdep_assert_held(&qpc->sq_lock);
	lockdep_assert_held(&qpc->rq_lock);
	if (qpc->state == IB_QPS_ERR)
		return;
	qpc->state = IB_QPS_ERR;
	if (qpc->rc)
		__vib_rc_flush(qpc);
	__qp_flush_recv(qpc);
	if (qpc->srq)
		vib_qp_raise(qpc, VIB_QP_EV_LAST_WQE);
}

/**
 * vib_qpc_to_err - move a QP into ERR and flush what it still has posted
 * @qpc: QP context
 *
 * Context: any; takes both queue locks.
 */
void vib_qpc_to_err(struct vib_qpc *qpc)
{
	unsigned long flags;

	spin_lock_irqsave(&qpc->sq_lock, flags);
	spin_lock(&qpc->rq_lock);
	if (qpc->state != IB_QPS_RESET)
		__vib_qpc_to_err(qpc);
	spin_unlock(&qpc->rq_lock);
	spin_unlock_irqrestore(&qpc->sq_lock, flags);
}

/* Process context */
static void qp_ev_work(struct work_struct *work)
{
	static const enum ib_event_type types[VIB_QP_EV_NR] = {
		[VIB_QP_EV_COMM_EST] = IB_EVENT_COMM_EST,
		[VIB_QP_EV_SQ_DRAINED] = IB_EVENT_SQ_DRAINED,
		[VIB_QP_EV_REQ_ERR] = IB_EVENT_QP_REQ_ERR,
		[VIB_QP_EV_FATAL] = IB_EVENT_QP_FATAL,
		[VIB_QP_EV_LAST_WQE] = IB_EVENT_QP_LAST_WQE_REACHED,
	};
	struct vib_qpc *qpc = container_of(work, struct vib_qpc, ev_work);
	struct ib_event ev = {
		.device = &qpc->hca->ibdev,
		.element.qp = qpc->ibqp,
	};
	int i;

	if (READ_ONCE(qpc->rq_broken))
		vib_qpc_to_err(qpc);
	for (i = 0; i < VIB_QP_EV_NR; i++) {
		if (!test_and_clear_bit(i, &qpc->events) || !qpc->ibqp->event_handler)
			continue;
		ev.event = types[i];
		qpc->ibqp->event_handler(&ev, qpc->ibqp->qp_context);
	}
}

/**
 * vib_qp_raise - tell the owner of a QP something, soon
 * @qpc: QP context
 * @ev: what
 *
 * Context: any, under one of the QP's locks.
 */
void vib_qp_raise(struct vib_qpc *qpc, enum vib_qp_ev ev)
{
	set_bit(ev, &qpc->events);
	queue_work(vib_ev_wq, &qpc->ev_work);
}

/**
 * __vib_qpc_break - a receive failed: stop receiving now, enter ERR soon
 * @qpc: QP context
 *
 * The sender's side of the QP has to change state too, and its lock is not to be taken here.
 *
 * Context: qpc->rq_lock held.
 */
void __vib_qpc_break(struct vib_qpc *qpc)
{
	lockdep_assert_held(&qpc->rq_lock);
	if (qpc->rq_broken)
		return;
	qpc->rq_broken = true;
	queue_work(vib_ev_wq, &qpc->ev_work);
}

static int qp_check_init(const struct ib_qp_init_attr *init)
{
	const u32 flags = IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK | IB_QP_CREATE_IPOIB_UD_LSO;
	const struct ib_qp_cap *cap = &init->cap;

	if (init->qp_type != IB_QPT_SMI && init->qp_type != IB_QPT_GSI &&
	    init->qp_type != IB_QPT_UD && init->qp_type != IB_QPT_RC)
		return -EOPNOTSUPP;
	if (init->create_flags & ~flags)
		return -EOPNOTSUPP;
	if (init->qp_type == IB_QPT_RC ? init->create_flags : !!init->srq)
		return -EOPNOTSUPP;
	if (!init->send_cq || !init->recv_cq || cap->max_inline_data ||
	    cap->max_send_wr > VIB_MAX_WR || cap->max_recv_wr > VIB_MAX_WR ||
	    cap->max_send_sge > vib_knobs.max_sge || cap->max_recv_sge > vib_knobs.max_sge)
		return -EINVAL;
	return 0;
}

static struct vib_qpc *qpc_alloc(struct vib_hca *hca, const struct ib_qp_init_attr *init)
{
	const struct ib_qp_cap *cap = &init->cap;
	struct vib_qpc *qpc;
	u32 slots;
	int ret;

	qpc = kzalloc(sizeof(*qpc), GFP_KERNEL);
	if (!qpc)
		return NULL;
	qpc->sq_size = cap->max_send_wr;
	qpc->sq_max_sge = max(cap->max_send_sge, 1U);
	slots = roundup_pow_of_two(max(qpc->sq_size, 1U));
	qpc->sq_mask = slots - 1;
	ret = vib_rq_alloc(&qpc->rq, init->srq ? 0 : cap->max_recv_wr, cap->max_recv_sge);
	if (!ret && init->qp_type == IB_QPT_RC) {
		ret = vib_rc_alloc(qpc);
	} else if (!ret && static_branch_unlikely(&vib_ah_key)) {
		qpc->sq_use = kvcalloc(slots, sizeof(*qpc->sq_use), GFP_KERNEL);
		ret = qpc->sq_use ? 0 : -ENOMEM;
	}
	if (ret) {
		qpc_free(&qpc->rcu);
		return NULL;
	}
	qpc->hca = hca;
	qpc->srq = init->srq ? to_vsrq(init->srq) : NULL;
	qpc->type = init->qp_type;
	qpc->state = IB_QPS_RESET;
	qpc->send_cq = to_vcq(init->send_cq);
	qpc->recv_cq = to_vcq(init->recv_cq);
	qpc->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qpc->block_loop = init->create_flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	qpc->init_attr = *init;
	spin_lock_init(&qpc->sq_lock);
	spin_lock_init(&qpc->rq_lock);
	refcount_set(&qpc->ref, 1);
	INIT_WORK(&qpc->ev_work, qp_ev_work);
	INIT_LIST_HEAD(&qpc->entry);
	return qpc;
}

/* Give the QP its number. The numbers go round, since peers remember those of dead QPs. */
static int qp_hook(struct vib_qpc *qpc, u32 port_num)
{
	const struct xa_limit range = XA_LIMIT(VIB_QPN_MIN, VIB_QPN_MAX);
	struct vib_hca *hca = qpc->hca;
	struct vib_port *port;
	int ret = 0;

	if (qpc->type > IB_QPT_GSI) {
		ret = xa_alloc_cyclic_irq(&hca->qps, &qpc->qpn, qpc, range, &hca->qpn_next,
					  GFP_KERNEL);
		return min(ret, 0);
	}

	port = vib_hca_port(hca, port_num);
	if (!port)
		return -EINVAL;
	qpc->qpn = qpc->type == IB_QPT_GSI;
	spin_lock_irq(&hca->obj_lock);
	if (rcu_access_pointer(port->mad_qp[qpc->qpn])) {
		ret = -EBUSY;
	} else {
		qpc->port = port;
		rcu_assign_pointer(port->mad_qp[qpc->qpn], qpc);
	}
	spin_unlock_irq(&hca->obj_lock);
	return ret;
}

static void qp_unhook(struct vib_qpc *qpc)
{
	struct vib_hca *hca = qpc->hca;

	if (qpc->type > IB_QPT_GSI)
		xa_erase_irq(&hca->qps, qpc->qpn);
	spin_lock_irq(&hca->obj_lock);
	if (qpc->type <= IB_QPT_GSI)
		RCU_INIT_POINTER(qpc->port->mad_qp[qpc->qpn], NULL);
	list_del_init(&qpc->entry);
	spin_unlock_irq(&hca->obj_lock);
}

/**
 * vib_create_qp - ib_device op create_qp
 * @ibqp: embedded in the object that the core allocated
 * @init: type, queues and sizes
 * @udata: always NULL here
 *
 * Context: process.
 * Return: 0 or an errno.
 */
int vib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata)
{
	struct vib_hca *hca = to_vhca(ibqp->device);
	struct vib_qpc *qpc;
	int ret;

	ret = vib_fail(VIB_FAIL_CREATE_QP);
	if (!ret)
		ret = qp_check_init(init);
	if (ret)
		return ret;
	qpc = qpc_alloc(hca, init);
	if (!qpc)
		return -ENOMEM;
	qpc->ibqp = ibqp;
	container_of(ibqp, struct vib_qp, ibqp)->qpc = qpc;
	ret = qp_hook(qpc, init->port_num);
	if (ret) {
		vib_qpc_put(qpc);
		return ret;
	}
	ibqp->qp_num = qpc->qpn;
	spin_lock_irq(&hca->obj_lock);
	list_add_tail(&qpc->entry, &hca->qp_list);
	spin_unlock_irq(&hca->obj_lock);
	vib_obj_add(VIB_OBJ_QP);
	if (qpc->rc)
		vib_obj_add(VIB_OBJ_RC);
	return 0;
}

/* Nothing that was posted or completed before survives RESET */
static void qp_purge(struct vib_qpc *qpc)
{
	vib_cq_purge(qpc->recv_cq, qpc);
	vib_cq_purge(qpc->send_cq, qpc);
}

static void __qp_reset(struct vib_qpc *qpc)
{
	lockdep_assert_held(&qpc->sq_lock);
	lockdep_assert_held(&qpc->rq_lock);
	qpc->state = IB_QPS_RESET;
	qpc->rq.tail = qpc->rq.head;
	qpc->rq_broken = false;
	qpc->events = 0;
	if (qpc->rc)
		__vib_rc_reset(qpc);
	qp_purge(qpc);
	__vib_qp_sends_polled(qpc, READ_ONCE(qpc->sq_tail), qpc->sq_head);
	qpc->sq_head = 0;
	qpc->sq_sig_end = 0;
	WRITE_ONCE(qpc->sq_tail, 0);
}

/**
 * vib_destroy_qp - ib_device op destroy_qp
 * @ibqp: queue pair
 * @udata: always NULL here
 *
 * Context: process; waits for event work of the QP.
 * Return: 0.
 */
int vib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct vib_qpc *qpc = to_vqpc(ibqp);

	qp_unhook(qpc);
	if (atomic_read(&qpc->attached)) {
		vib_oracle(VIB_OR_QP_ATTACHED);
		vib_mcast_detach_all(qpc);
	}
	spin_lock_irq(&qpc->sq_lock);
	spin_lock(&qpc->rq_lock);
	qpc->dying = true;
	__qp_reset(qpc);
	spin_unlock(&qpc->rq_lock);
	spin_unlock_irq(&qpc->sq_lock);
	if (qpc->rc) {
		vib_rc_stop(qpc->rc);
		vib_obj_del(VIB_OBJ_RC);
	}
	cancel_work_sync(&qpc->ev_work);
	vib_obj_del(VIB_OBJ_QP);
	vib_qpc_put(qpc);
	return 0;
}

static int __qp_check_attr(const struct vib_qpc *qpc, const struct ib_qp_attr *attr, int mask,
			   enum ib_qp_state next)
{
	if (mask & IB_QP_CUR_STATE && attr->cur_qp_state != qpc->state &&
	    !(qpc->state == IB_QPS_SQE && attr->cur_qp_state == IB_QPS_RTS))
		return -EINVAL;
	if (!ib_modify_qp_is_ok(qpc->state, next, qpc->type, mask))
		return -EINVAL;
	if (mask & IB_QP_PORT && !vib_hca_port(qpc->hca, attr->port_num))
		return -EINVAL;
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index >= qpc->hca->npkeys)
		return -EINVAL;
	return qpc->rc ? __vib_rc_check_attr(qpc, attr, mask) : 0;
}

static void __qp_apply(struct vib_qpc *qpc, const struct ib_qp_attr *attr, int mask)
{
	if (mask & IB_QP_PORT) {
		qpc->port = vib_hca_port(qpc->hca, attr->port_num);
		qpc->attr.port_num = attr->port_num;
	}
	if (mask & IB_QP_PKEY_INDEX) {
		qpc->pkey_index = attr->pkey_index;
		qpc->attr.pkey_index = attr->pkey_index;
	}
	if (mask & IB_QP_QKEY) {
		qpc->qkey = attr->qkey;
		qpc->attr.qkey = attr->qkey;
	}
	if (mask & IB_QP_SQ_PSN)
		qpc->attr.sq_psn = attr->sq_psn & 0xffffff;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY)
		qpc->attr.en_sqd_async_notify = attr->en_sqd_async_notify;
	if (qpc->rc)
		__vib_rc_apply(qpc, attr, mask);
}

/**
 * vib_modify_qp - ib_device op modify_qp
 * @ibqp: queue pair
 * @attr: new values
 * @mask: which of them count
 * @udata: always NULL here
 *
 * Context: process; takes both queue locks.
 * Return: 0, or -EINVAL for a transition or value that is not allowed.
 */
int vib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata)
{
	struct vib_qpc *qpc = to_vqpc(ibqp);
	enum ib_qp_state next;
	int ret;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	ret = vib_fail(VIB_FAIL_MODIFY_QP);
	if (ret)
		return ret;

	spin_lock_irq(&qpc->sq_lock);
	spin_lock(&qpc->rq_lock);
	next = mask & IB_QP_STATE ? attr->qp_state : qpc->state;
	ret = __qp_check_attr(qpc, attr, mask, next);
	if (ret)
		goto unlock;
	__qp_apply(qpc, attr, mask);
	if (next == IB_QPS_RESET)
		__qp_reset(qpc);
	else if (next == IB_QPS_ERR)
		__vib_qpc_to_err(qpc);
	else
		qpc->state = next;
unlock:
	spin_unlock(&qpc->rq_lock);
	if (!ret && qpc->rc)
		__vib_rc_run(qpc);
	spin_unlock_irq(&qpc->sq_lock);
	return ret;
}

/**
 * vib_query_qp - ib_device op query_qp
 * @ibqp: queue pair
 * @attr: takes the attributes
 * @mask: which ones are asked for; all are given
 * @init: takes what the QP was created with
 *
 * Context: any.
 * Return: 0.
 */
int vib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct vib_qpc *qpc = to_vqpc(ibqp);
	unsigned long flags;
	int ret;

	ret = vib_fail(VIB_FAIL_QUERY_QP);
	if (ret)
		return ret;
	spin_lock_irqsave(&qpc->sq_lock, flags);
	*attr = qpc->attr;
	attr->qp_state = qpc->state;
	attr->cur_qp_state = qpc->state;
	attr->cap = qpc->init_attr.cap;
	attr->sq_draining = qpc->state == IB_QPS_SQD && qpc->rc && !qpc->rc->drained;
	spin_unlock_irqrestore(&qpc->sq_lock, flags);
	*init = qpc->init_attr;
	return 0;
}

/*
 * A post in a state that takes none. ib_mad destroys its queue pairs while its work may still
 * answer, and post, what it polled before: that is how every kernel does it.
 */
static void __qp_bad_state(const struct vib_qpc *qpc)
{
	if (!qpc->dying || !(qpc->type == IB_QPT_SMI || qpc->type == IB_QPT_GSI))
		vib_oracle(VIB_OR_POST_BAD_STATE);
}

/**
 * vib_post_recv - ib_device op post_recv
 * @ibqp: queue pair
 * @wr: list of requests
 * @bad_wr: the first one that was not taken
 *
 * Context: any.
 * Return: 0; -EINVAL in RESET or for too many segments, -ENOMEM if the queue is full.
 */
int vib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr)
{
	struct vib_qpc *qpc = to_vqpc(ibqp);
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&qpc->rq_lock, flags);
	for (; wr; wr = wr->next) {
		ret = vib_fail(VIB_FAIL_POST_RECV);
		if (ret)
			break;
		if (qpc->state == IB_QPS_RESET) {
			__qp_bad_state(qpc);
			ret = -EINVAL;
			break;
		}
		if (wr->num_sge < 0 || wr->num_sge > qpc->rq.max_sge || qpc->srq) {
			ret = -EINVAL;
			break;
		}
		if (qpc->state == IB_QPS_ERR) {
			vib_qp_push_flush(qpc, qpc->recv_cq, wr->wr_cqe, false, 0);
			continue;
		}
		ret = __vib_rq_post(&qpc->rq, wr);
		if (ret)
			break;
	}
	spin_unlock_irqrestore(&qpc->rq_lock, flags);
	if (ret)
		*bad_wr = wr;
	return ret;
}

/**
 * __vib_qp_send_done - completion of a send
 * @qpc: QP context
 * @wr_cqe: of the request
 * @opcode: what it was
 * @status: how it ended
 * @pos: its queue position
 *
 * Context: sq_lock held.
 */
void __vib_qp_send_done(struct vib_qpc *qpc, struct ib_cqe *wr_cqe, enum ib_wc_opcode opcode,
			enum ib_wc_status status, u32 pos)
{
	struct vib_cq *cq = qpc->send_cq;
	struct vib_cqe *cqe;

	spin_lock(&cq->lock);
	cqe = __vib_cq_reserve(cq);
	if (cqe) {
		cqe->wc.wr_cqe = wr_cqe;
		cqe->wc.status = status;
		cqe->wc.opcode = opcode;
		cqe->wc.vendor_err = 0;
		cqe->wc.byte_len = 0;
		cqe->wc.wc_flags = 0;
		cqe->wc.qp = qpc->ibqp;
		cqe->qpc = qpc;
		cqe->send = true;
		cqe->sq_pos = pos;
		__vib_cq_commit(cq, status != IB_WC_SUCCESS);
	}
	spin_unlock(&cq->lock);
}

/* Ring full is normal; full of WRs that nobody asked to be told about is for ever */
static int __qp_ring_full(struct vib_qpc *qpc)
{
	if (qpc->sq_size && (s32)(qpc->sq_sig_end - READ_ONCE(qpc->sq_tail)) <= 0)
		vib_oracle(VIB_OR_SEND_WRAP);
	return -ENOMEM;
}

static int __qp_send_one(struct vib_qpc *qpc, const struct ib_send_wr *wr)
{
	enum ib_wc_opcode opcode = wr->opcode == IB_WR_LSO ? IB_WC_LSO : IB_WC_SEND;
	enum ib_wc_status status;
	bool signaled;
	u32 pos;
	int ret;

	ret = vib_fail(VIB_FAIL_POST_SEND);
	if (ret)
		return ret;
	if (unlikely(qpc->state < IB_QPS_RTS)) {
		__qp_bad_state(qpc);
		return -EINVAL;
	}
	if (unlikely(qpc->hca->fatal))
		return -EIO;
	if (wr->num_sge < 0 || wr->num_sge > qpc->sq_max_sge)
		return -EINVAL;
	if (unlikely(qpc->sq_head - READ_ONCE(qpc->sq_tail) >= qpc->sq_size))
		return __qp_ring_full(qpc);

	pos = qpc->sq_head++;
	if (static_branch_unlikely(&vib_ah_key))
		__qp_use_ah(qpc, pos, wr);
	if (unlikely(qpc->state > IB_QPS_SQD)) {
		qpc->sq_sig_end = pos + 1;
		__vib_qp_send_done(qpc, wr->wr_cqe, opcode, IB_WC_WR_FLUSH_ERR, pos);
		return 0;
	}
	if (qpc->rc) {
		__vib_rc_post(qpc, wr, pos);
		return 0;
	}
	signaled = qpc->sig_all || wr->send_flags & IB_SEND_SIGNALED;
	status = qpc->sq_error;
	if (likely(status == IB_WC_SUCCESS))
		status = vib_ud_send(qpc, wr);
	qpc->sq_error = IB_WC_SUCCESS;
	if (unlikely(status != IB_WC_SUCCESS)) {
		qpc->state = IB_QPS_SQE;
		signaled = true;
	}
	if (signaled) {
		qpc->sq_sig_end = pos + 1;
		__vib_qp_send_done(qpc, wr->wr_cqe, opcode, status, pos);
	}
	return 0;
}

static int qp_post_list(struct vib_qpc *qpc, const struct ib_send_wr *wr,
			const struct ib_send_wr **bad_wr)
{
	struct vib_cost *cost;
	unsigned long flags;
	u64 start = 0;
	u32 done = 0;
	int ret = 0;

	spin_lock_irqsave(&qpc->sq_lock, flags);
	if (static_branch_unlikely(&vib_cost_key))
		start = local_clock();
	rcu_read_lock();
	for (; wr; wr = wr->next, done++) {
		ret = __qp_send_one(qpc, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	if (qpc->rc)
		__vib_rc_run(qpc);
	rcu_read_unlock();
	if (static_branch_unlikely(&vib_cost_key)) {
		cost = this_cpu_ptr(&vib_cost);
		cost->ns += local_clock() - start;
		cost->calls++;
		cost->wrs += done;
	}
	spin_unlock_irqrestore(&qpc->sq_lock, flags);
	return ret;
}

/**
 * vib_post_send - ib_device op post_send: sends, and delivers, on the spot
 * @ibqp: queue pair
 * @wr: list of requests
 * @bad_wr: the first one that was not taken
 *
 * Context: any. Completion handlers are only scheduled. In process context with interrupts on
 * bottom halves are kept off meanwhile, so that the handlers' tasklets run on the way out instead
 * of in ksoftirqd.
 * Return: 0; -EINVAL before RTS or for too many segments, -ENOMEM if the queue is full.
 */
int vib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr)
{
	struct vib_qpc *qpc = to_vqpc(ibqp);
	int ret;

	if (in_interrupt() || irqs_disabled())
		return qp_post_list(qpc, wr, bad_wr);

	local_bh_disable();
	ret = qp_post_list(qpc, wr, bad_wr);
	local_bh_enable();
	return ret;
}

/**
 * vib_qp_do - do something to a QP that is named by its number
 * @hca: HCA
 * @qpn: number of a QP that is not one of its ports' own
 * @fn: what to do, under sq_lock
 * @val: what it is told
 *
 * Context: process.
 * Return: what @fn says, or -ENOENT for an unknown @qpn.
 */
int vib_qp_do(struct vib_hca *hca, u32 qpn, int (*fn)(struct vib_qpc *qpc, u32 val), u32 val)
{
	struct vib_qpc *qpc;
	int ret = -ENOENT;

	/* a QP leaves the list before its CQs can go */
	spin_lock_irq(&hca->obj_lock);
	list_for_each_entry(qpc, &hca->qp_list, entry) {
		if (qpc->qpn != qpn || qpc->type <= IB_QPT_GSI)
			continue;
		spin_lock(&qpc->sq_lock);
		ret = fn(qpc, val);
		spin_unlock(&qpc->sq_lock);
		break;
	}
	spin_unlock_irq(&hca->obj_lock);
	return ret;
}

static void qp_show(const struct vib_qpc *qpc, struct seq_file *s)
{
	static const char *const types[] = {
		[IB_QPT_SMI] = "smi",
		[IB_QPT_GSI] = "gsi",
		[IB_QPT_RC] = "rc",
		[IB_QPT_UD] = "ud",
	};

	seq_printf(s, "qpn=%#x type=%s port=%d state=%s pkey_index=%u qkey=%#x sq_size=%u sq_used=%u rq_size=%u rq_used=%u groups=%d drops=%lld",
		   qpc->qpn, types[qpc->type], qpc->port ? qpc->port->num : 0,
		   qp_state_names[qpc->state], qpc->pkey_index, qpc->qkey, qpc->sq_size,
		   qpc->sq_head - READ_ONCE(qpc->sq_tail), qpc->rq.size,
		   qpc->rq.head - qpc->rq.tail, atomic_read(&qpc->attached),
		   atomic64_read(&qpc->drops));
	if (qpc->rc)
		vib_rc_show(qpc, s);
	seq_putc(s, '\n');
}

/**
 * vib_qps_show - one line for each QP of an HCA
 * @hca: HCA
 * @s: output
 *
 * Context: process.
 */
void vib_qps_show(struct vib_hca *hca, struct seq_file *s)
{
	struct vib_qpc *qpc;

	spin_lock_irq(&hca->obj_lock);
	list_for_each_entry(qpc, &hca->qp_list, entry)
		qp_show(qpc, s);
	spin_unlock_irq(&hca->obj_lock);
}
