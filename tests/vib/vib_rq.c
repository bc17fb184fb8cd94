// SPDX-License-Identifier: GPL-2.0
/*
 * Receive queues: the ring that holds posted receives, and the queues that several QPs share.
 *
 * A ring is plain memory; the receive queue of a QP is one, under the QP's rq_lock, and a shared
 * receive queue is one with a lock of its own, an owner and a limit. A QP that takes a receive out
 * of a shared queue copies it, so that the slot is free again at once.
 *
 * Receives are posted in any context. They are taken by the responder of a reliable connection,
 * under rq_lock, with interrupts off; srq->lock is taken inside that. What a shared queue has to
 * tell its owner (below the limit, failed) is said from a work item.
 */
#include "vib.h"

#include <linux/log2.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#define RQ_POISON	0xdb

/**
 * vib_rq_alloc - memory for a ring of receives
 * @rq: the ring, zeroed
 * @size: receives that it holds at most
 * @max_sge: segments that each of them may have
 *
 * Context: process.
 * Return: 0 or -ENOMEM; vib_rq_free() is right after both.
 */
int vib_rq_alloc(struct vib_rq *rq, u32 size, u32 max_sge)
{
	u32 slots = roundup_pow_of_two(max(size, 1U));

	rq->size = size;
	rq->max_sge = max(max_sge, 1U);
	rq->mask = slots - 1;
	rq->wqe = kvcalloc(slots, sizeof(*rq->wqe), GFP_KERNEL);
	rq->sge = kvcalloc(slots, sizeof(*rq->sge) * rq->max_sge, GFP_KERNEL);
	return rq->wqe && rq->sge ? 0 : -ENOMEM;
}

/**
 * vib_rq_free - give the memory of a ring back
 * @rq: the ring
 *
 * Context: any but hard interrupt.
 */
void vib_rq_free(struct vib_rq *rq)
{
	kvfree(rq->wqe);
	kvfree(rq->sge);
}

/**
 * __vib_rq_post - put a receive into a ring
 * @rq: the ring
 * @wr: the receive, with a number of segments that is allowed
 *
 * Context: the ring's lock held.
 * Return: 0, or -ENOMEM if the ring is full.
 */
int __vib_rq_post(struct vib_rq *rq, const struct ib_recv_wr *wr)
{
	u32 slot = rq->head & rq->mask;
	struct vib_rwqe *wqe = &rq->wqe[slot];
	struct ib_sge *sge = &rq->sge[slot * rq->max_sge];
	int i;

	if (rq->head - rq->tail >= rq->size)
		return -ENOMEM;
	wqe->wr_cqe = wr->wr_cqe;
	wqe->nsge = wr->num_sge;
	wqe->len = 0;
	wqe->bad_key = false;
	for (i = 0; i < wr->num_sge; i++) {
		sge[i] = wr->sg_list[i];
		wqe->len += sge[i].length;
		if (unlikely(!vib_sge_ok(&sge[i])))
			wqe->bad_key = true;
		else if (unlikely(READ_ONCE(vib_knobs.rxpoison)))
			memset(vib_sge_ptr(&sge[i]), RQ_POISON, sge[i].length);
	}
	rq->head++;
	return 0;
}

/**
 * __vib_rq_take - take the oldest receive out of a ring
 * @rq: the ring
 * @wqe: takes the receive
 * @sge: takes its segments
 *
 * Context: the ring's lock held.
 * Return: false if there is none.
 */
bool __vib_rq_take(struct vib_rq *rq, struct vib_rwqe *wqe, struct ib_sge *sge)
{
	u32 slot = rq->tail & rq->mask;

	if (rq->head == rq->tail)
		return false;
	*wqe = rq->wqe[slot];
	memcpy(sge, &rq->sge[slot * rq->max_sge], wqe->nsge * sizeof(*sge));
	rq->tail++;
	return true;
}

/* Process context: tells the owner */
static void srq_ev_work(struct work_struct *work)
{
	struct vib_srq *srq = container_of(work, struct vib_srq, ev_work);
	struct ib_event ev = {
		.device = &srq->hca->ibdev,
		.element.srq = &srq->ibsrq,
	};
	bool limit, failed;

	spin_lock_irq(&srq->lock);
	limit = srq->limit_hit;
	failed = srq->failed;
	srq->limit_hit = false;
	srq->failed = false;
	spin_unlock_irq(&srq->lock);
	if (!srq->ibsrq.event_handler)
		return;
	if (limit) {
		ev.event = IB_EVENT_SRQ_LIMIT_REACHED;
		srq->ibsrq.event_handler(&ev, srq->ibsrq.srq_context);
	}
	if (failed) {
		ev.event = IB_EVENT_SRQ_ERR;
		srq->ibsrq.event_handler(&ev, srq->ibsrq.srq_context);
	}
}

/* Fewer receives than the limit? Then it is told, once, and the limit is disarmed. */
static void __srq_check_limit(struct vib_srq *srq)
{
	lockdep_assert_held(&srq->lock);
	if (srq->rq.head - srq->rq.tail >= srq->limit)
		return;
	srq->limit = 0;
	srq->limit_hit = true;
	queue_work(vib_ev_wq, &srq->ev_work);
}

/**
 * vib_create_srq - ib_device op create_srq
 * @ibsrq: embedded in the object that the core allocated
 * @init: type, size and limit
 * @udata: always NULL here
 *
 * Context: process.
 * Return: 0 or an errno; -EOPNOTSUPP if the HCA offers none.
 */
int vib_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata)
{
	struct vib_hca *hca = to_vhca(ibsrq->device);
	struct vib_srq *srq = to_vsrq(ibsrq);
	int ret;

	ret = vib_fail(VIB_FAIL_CREATE_SRQ);
	if (ret)
		return ret;
	if (!hca->srq_cap || init->srq_type != IB_SRQT_BASIC)
		return -EOPNOTSUPP;
	if (!init->attr.max_wr || init->attr.max_wr > VIB_MAX_SRQ_WR ||
	    init->attr.max_sge > READ_ONCE(vib_knobs.srq_sge) ||
	    init->attr.srq_limit > init->attr.max_wr)
		return -EINVAL;
	ret = vib_rq_alloc(&srq->rq, init->attr.max_wr, init->attr.max_sge);
	if (ret) {
		vib_rq_free(&srq->rq);
		return ret;
	}
	srq->hca = hca;
	srq->limit = init->attr.srq_limit;
	spin_lock_init(&srq->lock);
	INIT_WORK(&srq->ev_work, srq_ev_work);
	spin_lock_irq(&hca->obj_lock);
	srq->num = ++hca->srq_next;
	list_add_tail(&srq->entry, &hca->srqs);
	spin_unlock_irq(&hca->obj_lock);
	vib_obj_add(VIB_OBJ_SRQ);
	return 0;
}

/**
 * vib_modify_srq - ib_device op modify_srq: arms the limit
 * @ibsrq: shared receive queue
 * @attr: new values
 * @mask: which of them count
 * @udata: always NULL here
 *
 * Context: any.
 * Return: 0, or -EINVAL for a limit beyond the size or a new size.
 */
int vib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata)
{
	struct vib_srq *srq = to_vsrq(ibsrq);
	unsigned long flags;
	int ret;

	ret = vib_fail(VIB_FAIL_MODIFY_SRQ);
	if (ret)
		return ret;
	if (mask & ~IB_SRQ_LIMIT || (mask & IB_SRQ_LIMIT && attr->srq_limit > srq->rq.size))
		return -EINVAL;
	spin_lock_irqsave(&srq->lock, flags);
	if (mask & IB_SRQ_LIMIT) {
		srq->limit = attr->srq_limit;
		__srq_check_limit(srq);
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	return 0;
}

/**
 * vib_query_srq - ib_device op query_srq
 * @ibsrq: shared receive queue
 * @attr: takes sizes and limit, which is 0 once it was reached
 *
 * Context: any.
 * Return: 0, or an errno that a test ordered.
 */
int vib_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr)
{
	struct vib_srq *srq = to_vsrq(ibsrq);
	int ret;

	ret = vib_fail(VIB_FAIL_QUERY_SRQ);
	if (ret)
		return ret;
	*attr = (struct ib_srq_attr) {
		.max_wr = srq->rq.size,
		.max_sge = srq->rq.max_sge,
		.srq_limit = READ_ONCE(srq->limit),
	};
	return 0;
}

/**
 * vib_destroy_srq - ib_device op destroy_srq
 * @ibsrq: shared receive queue that no QP uses
 * @udata: always NULL here
 *
 * Context: process; waits for an event handler that is running.
 * Return: 0, or -EBUSY if a QP still uses it.
 */
int vib_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata)
{
	struct vib_srq *srq = to_vsrq(ibsrq);

	if (atomic_read(&ibsrq->usecnt)) {
		vib_oracle(VIB_OR_DEALLOC_BUSY);
		return -EBUSY;
	}
	spin_lock_irq(&srq->hca->obj_lock);
	list_del(&srq->entry);
	spin_unlock_irq(&srq->hca->obj_lock);
	cancel_work_sync(&srq->ev_work);
	vib_rq_free(&srq->rq);
	vib_obj_del(VIB_OBJ_SRQ);
	return 0;
}

/**
 * vib_post_srq_recv - ib_device op post_srq_recv
 * @ibsrq: shared receive queue
 * @wr: list of requests
 * @bad_wr: the first one that was not taken
 *
 * Context: any.
 * Return: 0; -EINVAL for too many segments, -ENOMEM if the queue is full.
 */
int vib_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr)
{
	struct vib_srq *srq = to_vsrq(ibsrq);
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&srq->lock, flags);
	for (; wr; wr = wr->next) {
		ret = vib_fail(VIB_FAIL_POST_SRQ_RECV);
		if (!ret && (wr->num_sge < 0 || wr->num_sge > srq->rq.max_sge))
			ret = -EINVAL;
		if (!ret)
			ret = __vib_rq_post(&srq->rq, wr);
		if (ret)
			break;
	}
	spin_unlock_irqrestore(&srq->lock, flags);
	if (ret)
		*bad_wr = wr;
	return ret;
}

/**
 * vib_srq_take - take the oldest receive out of a shared receive queue
 * @srq: shared receive queue
 * @wqe: takes the receive
 * @sge: takes its segments
 *
 * Context: interrupts off, under the rq_lock of a QP that uses it.
 * Return: false if there is none.
 */
bool vib_srq_take(struct vib_srq *srq, struct vib_rwqe *wqe, struct ib_sge *sge)
{
	bool taken;

	spin_lock(&srq->lock);
	taken = __vib_rq_take(&srq->rq, wqe, sge);
	if (taken)
		__srq_check_limit(srq);
	spin_unlock(&srq->lock);
	return taken;
}

/**
 * vib_srq_fail - let the owner of a shared receive queue think that it failed
 * @hca: HCA
 * @num: number of the queue
 *
 * Context: process.
 * Return: 0, or -ENOENT.
 */
int vib_srq_fail(struct vib_hca *hca, u32 num)
{
	struct vib_srq *srq;
	int ret = -ENOENT;

	spin_lock_irq(&hca->obj_lock);
	list_for_each_entry(srq, &hca->srqs, entry) {
		if (srq->num != num)
			continue;
		spin_lock(&srq->lock);
		srq->failed = true;
		queue_work(vib_ev_wq, &srq->ev_work);
		spin_unlock(&srq->lock);
		ret = 0;
		break;
	}
	spin_unlock_irq(&hca->obj_lock);
	return ret;
}

/**
 * vib_srqs_show - one line for each shared receive queue of an HCA
 * @hca: HCA
 * @s: output
 *
 * Context: process.
 */
void vib_srqs_show(struct vib_hca *hca, struct seq_file *s)
{
	struct vib_srq *srq;

	spin_lock_irq(&hca->obj_lock);
	list_for_each_entry(srq, &hca->srqs, entry)
		seq_printf(s, "srq=%u size=%u used=%u sge=%u limit=%u qps=%d\n", srq->num,
			   srq->rq.size, srq->rq.head - srq->rq.tail, srq->rq.max_sge, srq->limit,
			   atomic_read(&srq->ibsrq.usecnt));
	spin_unlock_irq(&hca->obj_lock);
}
