// SPDX-License-Identifier: GPL-2.0
/*
 * Completion queues: the ring, polling, arming, and how the consumer's handler is called.
 *
 * Producers are the engines, in the context of whoever posts a send; they hold the lock of the QP
 * queue that the completion belongs to, so that completions of one queue stay in order. A slot is
 * reserved, filled and committed under cq->lock. Commit decides whether the handler is due, and
 * never calls it: a tasklet (default), an irq_work or a tasklet on another CPU does, without any
 * lock of the fabric. After vib_destroy_cq() has returned the handler is not called again.
 *
 * A slot of a send queue is given back when its completion is polled, as real adapters do it.
 * Overrunning a CQ is a fault of the upper layer: counted, reported, and its QPs go to ERR.
 */
#include "vib.h"

#include <linux/cpumask.h>
#include <linux/log2.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

static void cq_call(struct vib_cq *cq)
{
	if (cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

static void cq_tasklet(struct tasklet_struct *t)
{
	cq_call(container_of(t, struct vib_cq, tasklet));
}

/* Hard interrupt on the posting CPU */
static void cq_irq_work(struct irq_work *work)
{
	struct vib_cq *cq = container_of(work, struct vib_cq, irq_work);

	if (READ_ONCE(vib_knobs.comp) == VIB_COMP_HARDIRQ)
		cq_call(cq);
	else
		tasklet_schedule(&cq->tasklet);
}

/* Hard interrupt on the CPU of the completion vector */
static void cq_remote(void *data)
{
	struct vib_cq *cq = data;

	tasklet_schedule(&cq->tasklet);
	atomic_set_release(&cq->csd_busy, 0);
}

static unsigned int cq_target_cpu(const struct vib_cq *cq)
{
	unsigned int nth = cq->vector % num_online_cpus();
	unsigned int cpu;

	for_each_online_cpu(cpu)
		if (!nth--)
			return cpu;
	return smp_processor_id();
}

/*
 * A tasklet raised in process context with interrupts off would wait for ksoftirqd. The detour over
 * an irq_work makes it run as soon as the poster lets interrupts on again.
 */
static void cq_kick_here(struct vib_cq *cq)
{
	if (in_interrupt())
		tasklet_schedule(&cq->tasklet);
	else
		irq_work_queue(&cq->irq_work);
}

static void cq_kick_vector(struct vib_cq *cq)
{
	unsigned int cpu = cq_target_cpu(cq);

	if (cpu == smp_processor_id() || atomic_xchg(&cq->csd_busy, 1)) {
		cq_kick_here(cq);
		return;
	}
	if (smp_call_function_single_async(cpu, &cq->csd)) {
		atomic_set(&cq->csd_busy, 0);
		cq_kick_here(cq);
	}
}

static void __cq_fire(struct vib_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (cq->dead)
		return;
	cq->arm = VIB_ARM_NONE;
	cq->since_fire = 0;
	cq->fires++;
	switch (READ_ONCE(vib_knobs.comp)) {
	case VIB_COMP_HARDIRQ:
		irq_work_queue(&cq->irq_work);
		break;
	case VIB_COMP_SPREAD:
		cq_kick_vector(cq);
		break;
	default:
		cq_kick_here(cq);
	}
}

static enum hrtimer_restart cq_timer(struct hrtimer *timer)
{
	struct vib_cq *cq = container_of(timer, struct vib_cq, timer);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->held = false;
	if (cq->arm != VIB_ARM_NONE && cq->since_fire)
		__cq_fire(cq);
	spin_unlock_irqrestore(&cq->lock, flags);
	return HRTIMER_NORESTART;
}

/* Process context: an overrun takes the QPs of the CQ down and is told to its owner */
static void cq_overrun_work(struct work_struct *work)
{
	struct vib_cq *cq = container_of(work, struct vib_cq, ev_work);
	struct vib_hca *hca = cq->hca;
	struct ib_event ev = {
		.device = &hca->ibdev,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};
	struct vib_qpc *qpc;

	spin_lock_irq(&hca->obj_lock);
	list_for_each_entry(qpc, &hca->qp_list, entry)
		if (qpc->send_cq == cq || qpc->recv_cq == cq)
			vib_qpc_to_err(qpc);
	spin_unlock_irq(&hca->obj_lock);
	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&ev, cq->ibcq.cq_context);
}

/**
 * __vib_cq_reserve - the slot for the next completion
 * @cq: completion queue
 *
 * Context: cq->lock held. Follow with __vib_cq_commit() under the same hold.
 * Return: a slot to be filled completely, or NULL if the CQ overran.
 */
struct vib_cqe *__vib_cq_reserve(struct vib_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (likely(cq->head - cq->tail < cq->size))
		return &cq->ring[cq->head & cq->mask];

	vib_oracle(VIB_OR_CQ_OVERRUN);
	if (!cq->overrun && !cq->dead) {
		cq->overrun = true;
		queue_work(vib_ev_wq, &cq->ev_work);
	}
	return NULL;
}

/**
 * __vib_cq_commit - make the reserved completion visible and call for the handler if it is due
 * @cq: completion queue
 * @solicited: the completion wakes a consumer that waits for solicited ones only
 *
 * Context: cq->lock held.
 */
void __vib_cq_commit(struct vib_cq *cq, bool solicited)
{
	lockdep_assert_held(&cq->lock);
	cq->head++;
	cq->since_fire++;
	if (cq->arm == VIB_ARM_NONE || (cq->arm == VIB_ARM_SOLICITED && !solicited) ||
	    unlikely(cq->held))
		return;
	if (likely(!cq->mod_usec || cq->since_fire >= cq->mod_count))
		__cq_fire(cq);
	else if (!hrtimer_is_queued(&cq->timer))
		hrtimer_start(&cq->timer, ns_to_ktime(cq->mod_usec * NSEC_PER_USEC),
			      HRTIMER_MODE_REL);
}

/**
 * vib_poll_cq - ib_device op poll_cq
 * @ibcq: completion queue
 * @n: room in @wc
 * @wc: takes the completions
 *
 * Context: any.
 * Return: number of completions taken.
 */
int vib_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc)
{
	struct vib_cq *cq = to_vcq(ibcq);
	const struct vib_cqe *cqe;
	unsigned long flags;
	int i;

	spin_lock_irqsave(&cq->lock, flags);
	for (i = 0; i < n && cq->tail != cq->head && likely(!cq->held); i++) {
		cqe = &cq->ring[cq->tail++ & cq->mask];
		wc[i] = cqe->wc;
		if (!cqe->send)
			continue;
		if (static_branch_unlikely(&vib_ah_key))
			__vib_qp_sends_polled(cqe->qpc, cqe->qpc->sq_tail, cqe->sq_pos + 1);
		WRITE_ONCE(cqe->qpc->sq_tail, cqe->sq_pos + 1);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
	return i;
}

/**
 * vib_req_notify_cq - ib_device op req_notify_cq
 * @ibcq: completion queue
 * @flags: what to wait for, and whether to report what is already there
 *
 * Context: any.
 * Return: 1 if the caller asked to be told and completions wait, 0 if armed, or an errno.
 */
int vib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	unsigned int spurious = READ_ONCE(vib_knobs.spurious);
	struct vib_cq *cq = to_vcq(ibcq);
	unsigned long irq;
	int ret;

	ret = vib_fail(VIB_FAIL_REQ_NOTIFY);
	if (ret)
		return ret;

	spin_lock_irqsave(&cq->lock, irq);
	if (cq->arm == VIB_ARM_NONE)
		cq->since_fire = 0;
	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_NEXT_COMP)
		cq->arm = VIB_ARM_NEXT;
	else if (cq->arm == VIB_ARM_NONE)
		cq->arm = VIB_ARM_SOLICITED;
	ret = (flags & IB_CQ_REPORT_MISSED_EVENTS) && READ_ONCE(vib_knobs.missed) &&
	      cq->head != cq->tail && !cq->held;
	if (unlikely(cq->held))
		cq->since_fire = cq->head - cq->tail;
	if (unlikely(spurious && !(++cq->arms % spurious)))
		__cq_fire(cq);
	spin_unlock_irqrestore(&cq->lock, irq);
	return ret;
}

/**
 * vib_modify_cq - ib_device op modify_cq: moderation
 * @ibcq: completion queue
 * @count: call the handler after this many completions,
 * @period: or this many microseconds after the first one; 0 turns moderation off
 *
 * Context: any.
 * Return: 0, or an errno that a test ordered.
 */
int vib_modify_cq(struct ib_cq *ibcq, u16 count, u16 period)
{
	struct vib_cq *cq = to_vcq(ibcq);
	unsigned long flags;
	int ret;

	ret = vib_fail(VIB_FAIL_MODIFY_CQ);
	if (ret)
		return ret;
	spin_lock_irqsave(&cq->lock, flags);
	cq->mod_count = count;
	cq->mod_usec = count > 1 ? period : 0;
	if (cq->arm != VIB_ARM_NONE && cq->since_fire && !cq->mod_usec && !cq->dead && !cq->held)
		hrtimer_start(&cq->timer, 0, HRTIMER_MODE_REL);
	spin_unlock_irqrestore(&cq->lock, flags);
	return 0;
}

/**
 * vib_resize_cq - ib_device op resize_cq
 * @ibcq: completion queue
 * @cqe: completions that it shall hold from now on
 * @udata: always NULL here
 *
 * Context: process.
 * Return: 0; -EINVAL for a size that is out of range or less than what waits, -ENOMEM.
 */
int vib_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata)
{
	struct vib_cq *cq = to_vcq(ibcq);
	struct vib_cqe *ring;
	u32 slots, i, used;
	int ret;

	ret = vib_fail(VIB_FAIL_RESIZE_CQ);
	if (ret)
		return ret;
	if (cqe < 1 || cqe > VIB_MAX_CQE)
		return -EINVAL;
	slots = roundup_pow_of_two(cqe);
	ring = kvcalloc(slots, sizeof(*ring), GFP_KERNEL);
	if (!ring)
		return -ENOMEM;
	spin_lock_irq(&cq->lock);
	used = cq->head - cq->tail;
	if (used > cqe) {
		ret = -EINVAL;
	} else {
		for (i = 0; i < used; i++)
			ring[i] = cq->ring[(cq->tail + i) & cq->mask];
		swap(cq->ring, ring);
		cq->tail = 0;
		cq->head = used;
		cq->mask = slots - 1;
		cq->size = cqe;
		ibcq->cqe = cqe;
	}
	spin_unlock_irq(&cq->lock);
	kvfree(ring);
	return ret;
}

/**
 * vib_cq_hold - keep the completions of a CQ back for a while
 * @cq: completion queue
 * @ms: how long; 0 lets them go
 *
 * Context: any.
 */
void vib_cq_hold(struct vib_cq *cq, unsigned int ms)
{
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->held = true;
	if (!cq->dead)
		hrtimer_start(&cq->timer, ms_to_ktime(ms), HRTIMER_MODE_REL);
	spin_unlock_irqrestore(&cq->lock, flags);
}

/**
 * vib_cq_purge - forget the completions of a QP that is about to go away
 * @cq: completion queue
 * @qpc: the QP; it no longer produces completions
 *
 * Context: any; takes cq->lock.
 */
void vib_cq_purge(struct vib_cq *cq, const struct vib_qpc *qpc)
{
	unsigned long flags;
	u32 from, to;

	spin_lock_irqsave(&cq->lock, flags);
	for (from = to = cq->tail; from != cq->head; from++) {
		if (cq->ring[from & cq->mask].qpc == qpc)
			continue;
		if (from != to)
			cq->ring[to & cq->mask] = cq->ring[from & cq->mask];
		to++;
	}
	cq->head = to;
	spin_unlock_irqrestore(&cq->lock, flags);
}

/**
 * vib_create_cq - ib_device op create_cq
 * @ibcq: embedded in the object that the core allocated
 * @attr: size and completion vector
 * @attrs: user context, always NULL here
 *
 * Context: process.
 * Return: 0 or an errno.
 */
int vib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	struct vib_hca *hca = to_vhca(ibcq->device);
	struct vib_cq *cq = to_vcq(ibcq);
	u32 slots;
	int ret;

	ret = vib_fail(VIB_FAIL_CREATE_CQ);
	if (ret)
		return ret;
	if (attr->flags)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > VIB_MAX_CQE)
		return -EINVAL;

	slots = roundup_pow_of_two(attr->cqe);
	cq->ring = kvcalloc(slots, sizeof(*cq->ring), GFP_KERNEL);
	if (!cq->ring)
		return -ENOMEM;
	cq->hca = hca;
	cq->mask = slots - 1;
	cq->size = attr->cqe;
	cq->vector = attr->comp_vector;
	ibcq->cqe = attr->cqe;
	spin_lock_init(&cq->lock);
	tasklet_setup(&cq->tasklet, cq_tasklet);
	init_irq_work(&cq->irq_work, cq_irq_work);
	hrtimer_init(&cq->timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	cq->timer.function = cq_timer;
	INIT_CSD(&cq->csd, cq_remote, cq);
	INIT_WORK(&cq->ev_work, cq_overrun_work);
	spin_lock_irq(&hca->obj_lock);
	list_add_tail(&cq->entry, &hca->cqs);
	spin_unlock_irq(&hca->obj_lock);
	vib_obj_add(VIB_OBJ_CQ);
	return 0;
}

/**
 * vib_destroy_cq - ib_device op destroy_cq
 * @ibcq: completion queue that no QP uses
 * @udata: always NULL here
 *
 * Context: process; waits for a handler that is running.
 * Return: 0, or -EBUSY if a QP still uses it.
 */
int vib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct vib_cq *cq = to_vcq(ibcq);
	struct vib_hca *hca = cq->hca;

	if (atomic_read(&ibcq->usecnt)) {
		vib_oracle(VIB_OR_DEALLOC_BUSY);
		return -EBUSY;
	}
	spin_lock_irq(&hca->obj_lock);
	list_del(&cq->entry);
	spin_unlock_irq(&hca->obj_lock);
	spin_lock_irq(&cq->lock);
	cq->dead = true;
	cq->arm = VIB_ARM_NONE;
	spin_unlock_irq(&cq->lock);

	/* Sources first, what they trigger last */
	cancel_work_sync(&cq->ev_work);
	hrtimer_cancel(&cq->timer);
	while (atomic_read_acquire(&cq->csd_busy))
		cond_resched();
	irq_work_sync(&cq->irq_work);
	tasklet_kill(&cq->tasklet);
	kvfree(cq->ring);
	vib_obj_del(VIB_OBJ_CQ);
	return 0;
}

/**
 * vib_cqs_show - one line for each CQ of an HCA
 * @hca: HCA
 * @s: output
 *
 * Context: process.
 */
void vib_cqs_show(struct vib_hca *hca, struct seq_file *s)
{
	static const char *const arms[] = { "none", "solicited", "next" };
	struct vib_cq *cq;

	spin_lock_irq(&hca->obj_lock);
	list_for_each_entry(cq, &hca->cqs, entry)
		seq_printf(s, "size=%u used=%u arm=%s vector=%u fires=%u moderation=%u/%u overrun=%d\n",
			   cq->size, cq->head - cq->tail, arms[cq->arm], cq->vector, cq->fires,
			   cq->mod_count, cq->mod_usec, cq->overrun);
	spin_unlock_irq(&hca->obj_lock);
}
