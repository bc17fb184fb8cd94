// SPDX-License-Identifier: GPL-2.0
/*
 * Connections: those that we make, and those that peers make to us.
 *
 * A connection carries packets from the side that asked for it to the other
 * one; two hosts that talk to each other have two.  Ours hang on the target of
 * the peer's port, one for each of its UD queue pairs; transmit makes them when
 * a packet goes to a peer that accepts connections.  Everything after that is
 * done by the control worker, one step at a time:
 *
 *	NEW -> REQ_SENT -> LIVE -> CLOSING -> FLUSHING -> DEAD
 *	  \        \          \                 ^    \
 *	   \        +----------+----------------+     +-> HELD -> NEW ...
 *	    +-> HELD                                  +-> NEW ...
 *
 * What the connection manager, the HCA and transmit have to say is a bit in
 * c->news, and the connection joins the list of those that the worker visits.
 * The worker alone calls the connection manager, and it never waits for a peer.
 * A connection that failed is held: packets go by UD, and after a while that
 * doubles with each failure the next packet makes another attempt.  But where
 * nobody listens there is another service ID to try, at once, and packets that
 * are too big for UD wait for that, too.
 *
 * A connection made by a peer is complete when its REQ has been answered, which
 * the callback does; it ends in the worker, too.
 *
 * Life: the lists own a reference, as does the todo list; transmit finds a
 * connection under RCU and holds none.  A queue pair is destroyed when all its
 * sends have come back and none of its receives can be in a completion queue
 * any more, or when the HCA has not managed that in time.
 *
 * Contexts: find and make run in transmit; tell anywhere; accept and the event
 * handler in callbacks of the connection manager, which take no mutex of ours;
 * the rest under ctl_mutex.
 */
#include "ipoib_cm_conn.h"

#include <linux/random.h>
#include <linux/slab.h>

#include <rdma/ib_cm.h>

#include "ipoib.h"
#include "ipoib_path.h"
#include "ipoib_target.h"
#include "ipoib_trace.h"

/* as the REQ says; the peer does nothing with most of it */
#define IPOIB_CM_RESPONSE	20	/* 4.096 us << 20, about 4 s */
#define IPOIB_CM_RETRIES	15
#define IPOIB_CM_RESOURCES	4

/*
 * What our own queue pairs do: a dead receiver is noticed by the HCA, a slow one
 * is waited for without end, unless we put one to it: ipoib_conn_stuck().
 */
#define IPOIB_QP_RETRIES	7
#define IPOIB_QP_RNR_RETRIES	7	/* of 3 bits: for ever */
#define IPOIB_QP_RNR_TIMER	22	/* 20.48 ms */
#define IPOIB_CM_RNR_GRANT	6	/* so often peers are asked to wait */
#define IPOIB_QP_TIMEOUT	14	/* 67 ms */

#define IPOIB_CM_GIVE_UP	(10 * HZ)	/* no answer to a REQ */
#define IPOIB_CM_LINGER		(2 * HZ)	/* of sends when closing */
#define IPOIB_CM_STUCK		(10 * HZ)	/* no send has come back */
#define IPOIB_CM_PER_PORT	64	/* connections with one port, at least */
#define IPOIB_CM_STRANGERS	4096	/* to ports whose path is not known */

/**
 * ipoib_conn_put - drop a reference
 * @c: connection; gone after this if it was the last one
 *
 * Context: any.
 */
void ipoib_conn_put(struct ipoib_conn *c)
{
	if (refcount_dec_and_test(&c->ref))
		kfree_rcu(c, rcu);
}

/**
 * ipoib_cm_wake - something has happened that the worker may wait for
 * @d: interface
 *
 * Context: any, even with interrupts off.
 */
void ipoib_cm_wake(struct ipoib_dev *d)
{
	atomic_set(&d->cm.moved, 1);
	wake_up(&d->cm.wait);
	ipoib_kick(d, IPOIB_EV_CM);
}

/**
 * ipoib_conn_tell - let the worker visit a connection
 * @c: connection, with a reference or found under RCU
 * @news: mask of IPOIB_NEWS_*
 *
 * Context: any, even with interrupts off.
 */
void ipoib_conn_tell(struct ipoib_conn *c, unsigned long news)
{
	struct ipoib_dev *d = c->dev;
	unsigned long flags;

	set_mask_bits(&c->news, 0, news);
	spin_lock_irqsave(&d->cm.lock, flags);
	if (list_empty(&c->todo) && refcount_inc_not_zero(&c->ref))
		list_add_tail(&c->todo, &d->cm.todo);
	spin_unlock_irqrestore(&d->cm.lock, flags);
	ipoib_cm_wake(d);
}

static void conn_count(struct ipoib_conn *c, u64 *count)
{
	unsigned long flags;

	spin_lock_irqsave(&c->dev->cm.lock, flags);
	++*count;
	spin_unlock_irqrestore(&c->dev->cm.lock, flags);
}

/* The state is read by transmit, and by the pump under the queue lock */
static bool conn_move(struct ipoib_conn *c, enum ipoib_conn_state to)
{
	struct netdev_queue *nq = c->dev->txq.nq;

	if (!ipoib_conn_may_move(c->state, to)) {
		WARN_ONCE(1, "%s: no way for a connection from %s to %s\n",
			  c->dev->dev->name, ipoib_conn_state_name(c->state),
			  ipoib_conn_state_name(to));
		return false;
	}
	trace_ipoib_conn(c->dev->dev, c->gid.raw, to);
	ipoib_dbg(c->dev, "connection %s %pI6: %s -> %s\n",
		  c->active ? "to" : "from", c->gid.raw,
		  ipoib_conn_state_name(c->state), ipoib_conn_state_name(to));
	__netif_tx_lock_bh(nq);
	/* pairs with the acquire in cm_state() */
	smp_store_release(&c->state, to);
	__netif_tx_unlock_bh(nq);
	return true;
}

static void conn_list(struct ipoib_conn *c, struct list_head *list)
{
	spin_lock_irq(&c->dev->cm.lock);
	list_move_tail(&c->all, list);
	spin_unlock_irq(&c->dev->cm.lock);
}

static void conn_due_at(struct ipoib_conn *c, unsigned long when)
{
	c->due = when;
	c->due_set = true;
	ipoib_cm_due_at(&c->dev->cm, when);
}

static void conn_due(struct ipoib_conn *c, unsigned long delay)
{
	conn_due_at(c, jiffies + delay);
}

/**
 * ipoib_conn_find - look a connection up
 * @t: target of the peer's port
 * @qpn: its UD queue pair
 *
 * Context: RCU read side.
 * Return: the connection, no reference taken, or NULL.
 */
struct ipoib_conn *ipoib_conn_find(struct ipoib_target *t, u32 qpn)
{
	struct ipoib_conn *c;

	hlist_for_each_entry_rcu(c, &t->conns, link)
		if (c->qpn == qpn)
			return c;
	return NULL;
}

static struct ipoib_conn *conn_alloc(struct ipoib_dev *d, bool active,
				     gfp_t gfp)
{
	struct ipoib_conn *c = kzalloc(sizeof(*c), gfp);

	if (!c)
		return NULL;
	c->dev = d;
	c->active = active;
	c->base = IPOIB_CM_SID_LINUX;
	/* so that a packet in this very tick makes a difference */
	c->used = jiffies - 1;
	c->born = c->used;
	__skb_queue_head_init(&c->backlog);
	skb_queue_head_init(&c->lost);
	timer_setup(&c->watch, ipoib_cm_tx_watch, 0);
	INIT_HLIST_NODE(&c->link);
	INIT_LIST_HEAD(&c->all);
	INIT_LIST_HEAD(&c->todo);
	refcount_set(&c->ref, 1);
	return c;
}

/* One port does not get more than half of all, where these are many */
static u32 conn_share(const struct ipoib_dev *d)
{
	u32 half = ipoib_cm_max_passive(d) / 2;

	return clamp(half, IPOIB_CM_PER_PORT, U16_MAX);
}

/*
 * A peer may name another queue pair in each ARP, and other ports that do not
 * exist: there is an end to those that we ask for.  While their paths are not
 * known all ports are strangers, and have the same number in common that a few
 * may have each.
 */
static bool conn_is_full(const struct ipoib_target *t)
{
	u32 strangers = READ_ONCE(t->dev->strangers[IPOIB_TARGET_PATH]);
	u32 most = conn_share(t->dev);

	if (READ_ONCE(t->stranger))
		most = min(most, max(IPOIB_CM_STRANGERS / max(strangers, 1), 1));
	return READ_ONCE(t->nr_conns) >= most;
}

/**
 * ipoib_conn_make - want a connection
 * @t: target of the peer's port
 * @qpn: its UD queue pair
 *
 * Context: transmit, RCU read side, transmit queue lock held.
 * Return: the connection, which the worker will ask for, or NULL, also if there
 * are enough to this port.
 */
struct ipoib_conn *ipoib_conn_make(struct ipoib_target *t, u32 qpn)
{
	struct ipoib_dev *d = t->dev;
	struct ipoib_conn *c;
	unsigned long flags;

	if (conn_is_full(t))
		return NULL;
	c = conn_alloc(d, true, GFP_ATOMIC);
	if (!c)
		return NULL;
	c->qpn = qpn;
	c->gid = t->gid;
	c->target = t;
	ipoib_conn_be_patient(c);

	spin_lock_bh(&t->lock);
	if (t->dead) {
		spin_unlock_bh(&t->lock);
		kfree(c);
		return NULL;
	}
	ipoib_target_get(t);
	c->linked = true;
	hlist_add_head_rcu(&c->link, &t->conns);
	WRITE_ONCE(t->nr_conns, t->nr_conns + 1);
	spin_lock_irqsave(&d->cm.lock, flags);
	list_add_tail(&c->all, &d->cm.active);
	spin_unlock_irqrestore(&d->cm.lock, flags);
	spin_unlock_bh(&t->lock);

	ipoib_conn_tell(c, IPOIB_NEWS_PATH);
	return c;
}

static void conn_qp_event(struct ib_event *event, void *ctx)
{
	struct ipoib_conn *c = ctx;

	switch (event->event) {
	case IB_EVENT_QP_LAST_WQE_REACHED:
		set_mask_bits(&c->events, 0, IPOIB_NEWS_LAST_WQE);
		ipoib_conn_tell(c, IPOIB_NEWS_LAST_WQE);
		break;
	case IB_EVENT_QP_FATAL:
	case IB_EVENT_QP_REQ_ERR:
	case IB_EVENT_QP_ACCESS_ERR:
		ipoib_conn_tell(c, IPOIB_NEWS_BROKEN);
		break;
	default:
		break;
	}
}

static int conn_make_qp(struct ipoib_conn *c)
{
	struct ipoib_dev *d = c->dev;
	struct ib_qp_init_attr attr = {
		.event_handler = conn_qp_event,
		.qp_context = c,
		.send_cq = c->active ? c->cq : d->cm.rx.cq,
		.recv_cq = d->cm.rx.cq,
		.srq = d->cm.rx.ring.srq,
		.cap = {
			.max_send_wr = c->active ? c->size : 1,
			.max_send_sge = c->active ?
				min_t(u32, d->ca->attrs.max_send_sge,
				      IPOIB_TX_SGE) : 1,
		},
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.qp_type = IB_QPT_RC,
	};
	struct ib_qp *qp;

	if (!attr.srq) {
		attr.cap.max_recv_wr = c->active ? IPOIB_CM_BACK_RING :
						   IPOIB_CM_OWN_RING;
		attr.cap.max_recv_sge = d->cm.rx.pieces;
	}
	c->events = 0;
	c->stamped = false;
	c->ready = false;
	qp = ib_create_qp(d->pd, &attr);
	if (IS_ERR(qp))
		return PTR_ERR(qp);
	c->qp = qp;
	c->max_sge = max_t(u32, attr.cap.max_send_sge, 1);
	return 0;
}

/*
 * One step of the queue pair, with what the connection manager knows of it.
 * Before the REP has been sent it does not know the PSN that this names.
 */
static int conn_qp_to(struct ipoib_conn *c, struct ib_cm_id *id,
		      enum ib_qp_state state, const u32 *psn)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, err;

	err = ib_cm_init_qp_attr(id, &attr, &mask);
	if (err)
		return err;
	switch (state) {
	case IB_QPS_INIT:
		/* nobody writes to our memory by himself */
		attr.qp_access_flags = IB_ACCESS_LOCAL_WRITE;
		break;
	case IB_QPS_RTR:
		attr.min_rnr_timer = IPOIB_QP_RNR_TIMER;
		if (psn)
			attr.rq_psn = *psn;
		break;
	default:
		attr.retry_cnt = IPOIB_QP_RETRIES;
		attr.rnr_retry = IPOIB_QP_RNR_RETRIES;
		attr.timeout = IPOIB_QP_TIMEOUT;
		break;
	}
	return ib_modify_qp(c->qp, &attr, mask);
}

static int conn_handler(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	struct ipoib_conn *c = id->context;
	unsigned long news = 0;
	u32 qpn;

	switch (event->event) {
	case IB_CM_REP_RECEIVED:
		c->rep_err = ipoib_cm_data_parse(event->private_data, &qpn,
						 &c->limit);
		news = IPOIB_NEWS_REP;
		break;
	case IB_CM_REJ_RECEIVED:
		c->reason = event->param.rej_rcvd.reason;
		news = IPOIB_NEWS_REJ;
		break;
	case IB_CM_REQ_ERROR:
	case IB_CM_REP_ERROR:
		news = IPOIB_NEWS_SILENT;
		break;
	case IB_CM_DREQ_RECEIVED:
		ib_send_cm_drep(id, NULL, 0);
		news = IPOIB_NEWS_CLOSED;
		break;
	case IB_CM_DREQ_ERROR:
	case IB_CM_DREP_RECEIVED:
	case IB_CM_TIMEWAIT_EXIT:
		news = IPOIB_NEWS_CLOSED;
		break;
	default:
		break;
	}
	if (news)
		ipoib_conn_tell(c, news);
	return 0;
}

/* Before the REQ the connection manager knows nothing: we know it as well */
static int conn_to_init(struct ipoib_conn *c)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.pkey_index = c->dev->pkey_index,
		.port_num = c->dev->port,
		.qp_access_flags = IB_ACCESS_LOCAL_WRITE,
	};

	return ib_modify_qp(c->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			    IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

static int conn_send_req(struct ipoib_conn *c, struct sa_path_rec *rec)
{
	struct ipoib_dev *d = c->dev;
	u8 data[IPOIB_CM_DATA_LEN];
	struct ib_cm_req_param req = {
		.primary_path = rec,
		.service_id = cpu_to_be64(ipoib_cm_service_id(c->base,
							      c->qpn)),
		.qp_num = c->qp->qp_num,
		.qp_type = IB_QPT_RC,
		.starting_psn = get_random_u32() & 0xffffff,
		.private_data = data,
		.private_data_len = sizeof(data),
		.responder_resources = IPOIB_CM_RESOURCES,
		.remote_cm_response_timeout = IPOIB_CM_RESPONSE,
		.local_cm_response_timeout = IPOIB_CM_RESPONSE,
		.max_cm_retries = IPOIB_CM_RETRIES,
		.srq = !!d->cm.rx.ring.srq,
	};

	ipoib_cm_data_build(data, d->qp->qp_num, d->cm.rx.size);
	c->dlid = be32_to_cpu(sa_path_get_dlid(rec));
	return ib_send_cm_req(c->id, &req);
}

/* Peers may send over connections that we made; not many do, so a few are enough */
static int conn_fill_back_ring(struct ipoib_conn *c)
{
	struct ipoib_cm *cm = &c->dev->cm;

	if (cm->rx.ring.srq || cm->nr_back >= ipoib_cm_max_own(c->dev))
		return 0;
	cm->nr_back++;
	c->ring.qp = c->qp;
	c->ring.closing = false;
	return ipoib_cm_rx_fill(c->dev, &c->ring, IPOIB_CM_BACK_RING);
}

/* The queue pair is gone */
static void conn_empty_ring(struct ipoib_conn *c)
{
	if (c->active && c->ring.qp)
		c->dev->cm.nr_back--;
	c->ring.qp = NULL;
	ipoib_cm_rx_empty(c->dev, &c->ring);
}

static int conn_dial(struct ipoib_conn *c, struct sa_path_rec *rec)
{
	struct ipoib_dev *d = c->dev;
	int err;

	err = ipoib_cm_rx_share(d);
	if (err)
		return err;
	err = ipoib_cm_tx_init(c);
	if (err)
		return err;
	err = conn_make_qp(c);
	if (err)
		goto err_tx;
	err = conn_to_init(c);
	if (!err)
		err = conn_fill_back_ring(c);
	if (err)
		goto err_qp;
	c->id = ib_create_cm_id(d->ca, conn_handler, c);
	if (IS_ERR(c->id)) {
		err = PTR_ERR(c->id);
		goto err_id;
	}
	err = conn_send_req(c, rec);
	if (err)
		goto err_req;
	conn_count(c, &d->cm.count.req_sent);
	return 0;

err_req:
	ib_destroy_cm_id(c->id);
err_id:
	c->id = NULL;
err_qp:
	ib_destroy_qp(c->qp);
	c->qp = NULL;
	conn_empty_ring(c);
err_tx:
	ipoib_cm_tx_fini(c);
	return err;
}

/* Leave the peer alone for a while, or not at all with a pause of 0 seconds */
static void conn_hold(struct ipoib_conn *c, u32 pause)
{
	WRITE_ONCE(c->next_try, jiffies + pause * HZ);
	c->due_set = false;
	c->base = IPOIB_CM_SID_LINUX;
	WRITE_ONCE(c->wanted, false);
	conn_move(c, IPOIB_CONN_HELD);
	ipoib_cm_tx_divert(c);
}

static void conn_fail(struct ipoib_conn *c)
{
	c->hold = ipoib_cm_hold(c->hold);
	conn_hold(c, c->hold);
}

/* Ask for a connection as soon as the path is known */
static void conn_try(struct ipoib_conn *c)
{
	struct sa_path_rec rec;
	int err;

	if (!ipoib_path_record(c->target, &rec)) {
		conn_due_at(c, READ_ONCE(c->patient));
		return;
	}
	err = conn_dial(c, &rec);
	if (err) {
		if (net_ratelimit())
			netdev_warn(c->dev->dev, "cannot ask for a connection to %pI6: %pe\n",
				    c->gid.raw, ERR_PTR(err));
		conn_fail(c);
		return;
	}
	conn_move(c, IPOIB_CONN_REQ_SENT);
	c->asked = jiffies;
	WRITE_ONCE(c->again, false);
	/* packets may have waited for the path already */
	conn_due_at(c, READ_ONCE(c->patient));
}

/* Try the other kind of service ID.  Transmit looks at the state first */
static void conn_redial(struct ipoib_conn *c)
{
	conn_move(c, IPOIB_CONN_NEW);
	WRITE_ONCE(c->redial, false);
	conn_try(c);
}

/* Out of sight of transmit, and of the worker but for the memory */
static void conn_die(struct ipoib_conn *c)
{
	struct ipoib_dev *d = c->dev;

	if (!conn_move(c, IPOIB_CONN_DEAD))
		return;
	spin_lock_irq(&d->cm.lock);
	list_del_init(&c->all);
	if (!c->active)
		d->cm.nr_passive--;
	spin_unlock_irq(&d->cm.lock);

	/* nothing can join the queue any more: transmit holds the queue lock */
	ipoib_cm_tx_divert(c);
	if (c->target)
		ipoib_target_put(c->target);
	ipoib_conn_put(c);
}

static bool conn_drained(struct ipoib_conn *c)
{
	if (!c->ready)
		return true;
	if (c->active && !ipoib_conn_sent(c))
		return false;
	if (!c->dev->cm.rx.ring.srq)
		/* pairs with the release in rx_completed() */
		return !smp_load_acquire(&c->ring.posted);
	if (!(READ_ONCE(c->events) & IPOIB_NEWS_LAST_WQE))
		return false;
	if (!c->stamped)
		c->stamp = READ_ONCE(c->dev->cm.rx.rounds);
	c->stamped = true;
	return ipoib_cm_rx_synced(c->dev, c->stamp);
}

/*
 * The poll may be looking at something of this queue pair.  Shared buffers that it
 * has taken and not given back are away until the interface goes down: no verb
 * tells which these are.
 */
static void conn_tear_qp(struct ipoib_conn *c)
{
	netdev_warn(c->dev->dev, "connection with %pI6 did not drain\n",
		    c->gid.raw);
	ipoib_cm_rx_pause(c->dev);
	ib_destroy_qp(c->qp);
	ipoib_cm_rx_resume(c->dev);
}

/**
 * ipoib_conn_settle - free the queue pair of a flushed connection
 * @c: connection in FLUSHING
 * @overdue: do not wait for the HCA any longer
 *
 * Context: ctl_mutex, may sleep.
 * Return: true when that is done; @c may be gone then.
 */
bool ipoib_conn_settle(struct ipoib_conn *c, bool overdue)
{
	struct ipoib_dev *d = c->dev;
	bool drained = conn_drained(c);

	if (!drained && !overdue)
		return false;
	if (drained)
		ib_destroy_qp(c->qp);
	else
		conn_tear_qp(c);
	c->qp = NULL;
	ipoib_cm_tx_fini(c);
	conn_empty_ring(c);
	c->due_set = false;
	if (!c->linked) {
		conn_die(c);
		return true;
	}
	conn_list(c, &d->cm.active);
	if (c->redial)
		conn_redial(c);
	else if (c->again)
		conn_hold(c, 0);
	else
		conn_fail(c);
	return true;
}

static void conn_end(struct ipoib_conn *c)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	if (!conn_move(c, IPOIB_CONN_FLUSHING))
		return;
	/* tells the peer, in the way that fits; none if a REP could not be sent */
	if (c->id)
		ib_destroy_cm_id(c->id);
	c->id = NULL;
	WRITE_ONCE(c->ring.closing, true);
	if (c->ready && ib_modify_qp(c->qp, &attr, IB_QP_STATE))
		netdev_warn(c->dev->dev, "cannot move the queue pair of a connection to ERR\n");
	conn_due(c, IPOIB_DRAIN_TIMEOUT);
	conn_list(c, &c->dev->cm.flushing);
	/* what waits need not wait for the flush */
	if (c->active && !c->redial)
		ipoib_cm_tx_divert(c);
	ipoib_cm_wake(c->dev);
}

/**
 * ipoib_conn_end - end a connection at once
 * @c: connection with a queue pair, REQ_SENT, LIVE or CLOSING
 *
 * Context: ctl_mutex, may sleep.
 */
void ipoib_conn_end(struct ipoib_conn *c)
{
	if (c->state == IPOIB_CONN_REQ_SENT)
		conn_count(c, &c->dev->cm.count.withdrawn);
	conn_end(c);
}

/* The peer agrees: bring the queue pair up, send what waits, and say so */
static int conn_go_live(struct ipoib_conn *c)
{
	struct netdev_queue *nq = c->dev->txq.nq;
	int err = c->rep_err;

	if (err)
		return err;
	err = conn_qp_to(c, c->id, IB_QPS_RTR, NULL);
	if (err)
		return err;
	c->ready = true;
	err = conn_qp_to(c, c->id, IB_QPS_RTS, NULL);
	if (err)
		return err;

	c->born = jiffies;
	c->taken = c->born;
	WRITE_ONCE(c->again, false);
	c->due_set = false;
	c->moved = c->born;
	c->moved_to = c->tail;
	c->dev->cm.watching = true;
	ipoib_conn_touch(c);
	conn_move(c, IPOIB_CONN_LIVE);
	__netif_tx_lock_bh(nq);
	ipoib_cm_tx_pump(c);
	__netif_tx_unlock_bh(nq);
	conn_count(c, &c->dev->cm.count.opened);
	return ib_send_cm_rtu(c->id, NULL, 0);
}

static void conn_up(struct ipoib_conn *c)
{
	struct ipoib_cm_counts *count = &c->dev->cm.count;
	int err = conn_go_live(c);

	if (!err)
		return;
	conn_count(c, c->state == IPOIB_CONN_LIVE ? &count->broken :
		   &count->unusable);
	if (net_ratelimit())
		netdev_warn(c->dev->dev, "cannot use the connection to %pI6: %pe\n",
			    c->gid.raw, ERR_PTR(err));
	conn_end(c);
}

static void conn_refused(struct ipoib_conn *c, unsigned long news)
{
	struct ipoib_cm_counts *count = &c->dev->cm.count;

	if (news & IPOIB_NEWS_REJ) {
		conn_count(c, &count->rejected);
		c->base = ipoib_cm_next_base(c->base, c->reason);
		/* transmit reads it when the state says that it is flushed */
		WRITE_ONCE(c->redial, c->base != IPOIB_CM_SID_LINUX);
		ipoib_dbg(c->dev, "connection to %pI6 rejected, reason %u\n",
			  c->gid.raw, c->reason);
	} else {
		conn_count(c, &count->silent);
	}
	conn_end(c);
}

/**
 * ipoib_conn_stuck - does the peer take what it is sent?
 * @c: connection
 *
 * Asked now and then, it remembers what it has seen.
 *
 * Context: ctl_mutex.
 * Return: true when sends are out and none has come back for long.
 */
bool ipoib_conn_stuck(struct ipoib_conn *c)
{
	u32 tail = READ_ONCE(c->tail);

	if (tail != c->moved_to || ipoib_conn_sent(c)) {
		c->moved_to = tail;
		c->moved = jiffies;
		return false;
	}
	return time_after(jiffies, c->moved + IPOIB_CM_STUCK);
}

static bool conn_moved_away(struct ipoib_conn *c, unsigned long news)
{
	struct sa_path_rec rec;

	if (!(news & IPOIB_NEWS_PATH) || !c->active)
		return false;
	return ipoib_path_record(c->target, &rec) &&
	       be32_to_cpu(sa_path_get_dlid(&rec)) != c->dlid;
}

/* Has the peer taken something for more than a moment, or all there was? */
static bool conn_is_good(struct ipoib_conn *c, bool broken)
{
	unsigned long taken = READ_ONCE(c->taken);

	if (taken == c->born)
		return false;
	return time_after(taken, c->born + HZ) || ipoib_conn_sent(c) ||
	       (broken && !ipoib_conn_stuck(c));
}

static void conn_step_live(struct ipoib_conn *c, unsigned long news)
{
	bool broken = news & (IPOIB_NEWS_BROKEN | IPOIB_NEWS_REJ |
			      IPOIB_NEWS_SILENT);
	bool lasted = time_after(jiffies, c->born + HZ);
	bool moved = conn_moved_away(c, news);

	if (broken)
		conn_count(c, &c->dev->cm.count.broken);
	/* a peer that grants and takes nothing is asked ever less often */
	if (lasted && conn_is_good(c, broken))
		c->hold = 0;
	WRITE_ONCE(c->again, !broken && (lasted || moved));
	if (broken || news & IPOIB_NEWS_CLOSED || moved) {
		ipoib_conn_end(c);
	} else if (!c->linked && c->active) {
		conn_move(c, IPOIB_CONN_CLOSING);
		ipoib_cm_tx_divert(c);
		conn_due(c, IPOIB_CM_LINGER);
		if (ipoib_conn_sent(c))
			ipoib_conn_end(c);
	}
}

static void conn_step_asked(struct ipoib_conn *c, unsigned long news, bool due)
{
	if (news & IPOIB_NEWS_REP) {
		conn_up(c);
		/* the worker may be late, and there is more news */
		if (c->state == IPOIB_CONN_LIVE)
			conn_step_live(c, news);
	} else if (news & (IPOIB_NEWS_REJ | IPOIB_NEWS_SILENT |
			   IPOIB_NEWS_CLOSED | IPOIB_NEWS_BROKEN)) {
		conn_refused(c, news);
	} else if (!c->linked) {
		ipoib_conn_end(c);
	} else if (due && time_before(jiffies, c->asked + IPOIB_CM_GIVE_UP)) {
		/* packets too big for UD have waited long enough */
		ipoib_cm_tx_divert(c);
		conn_due(c, IPOIB_CM_PATIENCE);
	} else if (due) {
		conn_refused(c, IPOIB_NEWS_SILENT);
	}
}

static void conn_step_held(struct ipoib_conn *c, unsigned long news)
{
	if (!c->linked) {
		conn_die(c);
	} else if (news & IPOIB_NEWS_WANTED &&
		   !time_before(jiffies, c->next_try)) {
		conn_move(c, IPOIB_CONN_NEW);
		conn_try(c);
	}
}

/**
 * ipoib_conn_step - let a connection do what is due
 * @c: connection with a reference
 *
 * Context: ctl_mutex, may sleep.
 */
void ipoib_conn_step(struct ipoib_conn *c)
{
	bool due = c->due_set && !time_before(jiffies, c->due);
	unsigned long news;

	/*
	 * Still in the hands of ipoib_conn_accept(), which asks for a visit.
	 * Pairs with the release in conn_move().
	 */
	if (!c->active && smp_load_acquire(&c->state) == IPOIB_CONN_NEW)
		return;
	news = xchg(&c->news, 0);
	if (due)
		c->due_set = false;
	switch (c->state) {
	case IPOIB_CONN_NEW:
		if (!c->linked)
			conn_die(c);
		else if (due)
			conn_fail(c);
		else
			conn_try(c);
		break;
	case IPOIB_CONN_REQ_SENT:
		conn_step_asked(c, news, due);
		break;
	case IPOIB_CONN_LIVE:
		conn_step_live(c, news);
		break;
	case IPOIB_CONN_CLOSING:
		if (due || ipoib_conn_sent(c) || news & (IPOIB_NEWS_BROKEN |
							 IPOIB_NEWS_CLOSED))
			ipoib_conn_end(c);
		break;
	case IPOIB_CONN_FLUSHING:
		ipoib_conn_settle(c, due);
		break;
	case IPOIB_CONN_HELD:
		conn_step_held(c, news);
		break;
	default:
		break;
	}
}

/**
 * ipoib_conn_unlink - no target leads to this connection any more
 * @c: connection; it ends when its sends have come back
 *
 * Context: ctl_mutex.
 */
void ipoib_conn_unlink(struct ipoib_conn *c)
{
	if (!c->linked)
		return;
	spin_lock_bh(&c->target->lock);
	hlist_del_init_rcu(&c->link);
	WRITE_ONCE(c->target->nr_conns, c->target->nr_conns - 1);
	spin_unlock_bh(&c->target->lock);
	c->linked = false;
	ipoib_conn_tell(c, IPOIB_NEWS_PATH);
}

/*
 * The GID is what a peer says, the LID is harder to forge: both count.
 * cm->lock held.
 */
static u32 conn_from(const struct list_head *list, const struct ipoib_conn *like)
{
	const struct ipoib_conn *c;
	u32 n = 0;

	list_for_each_entry(c, list, all)
		n += !c->active &&
		     (c->dlid == like->dlid ||
		      !memcmp(&c->gid, &like->gid, sizeof(c->gid)));
	return n;
}

/* One more from this port?  Counts it, as long as it is not granted too */
static bool conn_admit(struct ipoib_conn *c)
{
	struct ipoib_cm *cm = &c->dev->cm;
	u32 max = ipoib_cm_max_passive(c->dev);
	bool ok;

	spin_lock_irq(&cm->lock);
	ok = cm->nr_passive < max;
	/* in a flood of requests this walk would be all that the CPU does */
	ok = ok && conn_from(&cm->passive, c) + conn_from(&cm->seen, c) <
		   conn_share(c->dev);
	if (ok) {
		cm->nr_passive++;
		list_add_tail(&c->all, &cm->passive);
	}
	spin_unlock_irq(&cm->lock);
	return ok;
}

static int conn_answer(struct ipoib_conn *c, struct ib_cm_id *id,
		       const struct ib_cm_req_event_param *req)
{
	struct ipoib_dev *d = c->dev;
	u32 psn = get_random_u32() & 0xffffff;
	u8 data[IPOIB_CM_DATA_LEN];
	struct ib_cm_rep_param rep = {
		.starting_psn = psn,
		.private_data = data,
		.private_data_len = sizeof(data),
		.rnr_retry_count = max_t(u8, req->rnr_retry_count,
					 IPOIB_CM_RNR_GRANT),
		.srq = !!d->cm.rx.ring.srq,
	};
	int err;

	err = conn_qp_to(c, id, IB_QPS_INIT, NULL);
	if (!err && !rep.srq) {
		c->ring.qp = c->qp;
		err = ipoib_cm_rx_fill(d, &c->ring, IPOIB_CM_OWN_RING);
	}
	if (!err)
		err = conn_qp_to(c, id, IB_QPS_RTR, &psn);
	if (err)
		return err;
	c->ready = true;
	/* it never sends, so this is no more than good manners */
	if (conn_qp_to(c, id, IB_QPS_RTS, NULL))
		ipoib_dbg(d, "a connection from %pI6 only receives\n",
			  c->gid.raw);

	ipoib_cm_data_build(data, d->qp->qp_num, d->cm.rx.size);
	rep.qp_num = c->qp->qp_num;
	return ib_send_cm_rep(id, &rep);
}

/* From here on the worker may end it, and free it before we are done */
static void conn_hand_over(struct ipoib_conn *c, unsigned long news)
{
	refcount_inc(&c->ref);
	conn_move(c, IPOIB_CONN_LIVE);
	/* what has happened meanwhile was left for later */
	ipoib_conn_tell(c, news);
	ipoib_conn_put(c);
}

static void conn_forget(struct ipoib_conn *c)
{
	struct ipoib_cm *cm = &c->dev->cm;

	spin_lock_irq(&cm->lock);
	list_del_init(&c->all);
	cm->nr_passive--;
	spin_unlock_irq(&cm->lock);
	ipoib_conn_put(c);
}

/**
 * ipoib_conn_accept - answer a REQ
 * @d: interface that listens
 * @id: handle of the new connection
 * @event: the REQ
 *
 * Context: callback of the connection manager, may sleep.
 * Return: 0 when the connection stands, or a negative errno, upon which the
 * connection manager rejects it, unless that has been done already; -ENOMEM
 * lets the peer try again.
 */
int ipoib_conn_accept(struct ipoib_dev *d, struct ib_cm_id *id,
		      const struct ib_cm_event *event)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	struct ipoib_conn *c;
	u32 size;
	int err;

	c = conn_alloc(d, false, GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->gid = req->primary_path->dgid;
	c->dlid = be32_to_cpu(sa_path_get_dlid(req->primary_path));
	/* a peer that says nonsense about itself may still send */
	if (ipoib_cm_data_parse(event->private_data, &c->qpn, &size))
		ipoib_dbg(d, "%pI6 says that it takes %u bytes\n", c->gid.raw,
			  size);
	if (!conn_admit(c)) {
		ib_send_cm_rej(id, IB_CM_REJ_NO_QP, NULL, 0, NULL, 0);
		ipoib_conn_put(c);
		return -EUSERS;
	}
	err = ipoib_cm_rx_share(d);
	if (err)
		goto err_admit;
	err = conn_make_qp(c);
	if (err)
		goto err_admit;
	/*
	 * A REP that nobody answers is told of beside this callback, as soon as
	 * the peer wants.  Until it has been sent there is nothing to tell.
	 */
	id->context = c;
	id->cm_handler = conn_handler;
	err = conn_answer(c, id, req);
	if (err)
		goto err_qp;
	c->id = id;
	conn_count(c, &d->cm.count.accepted);
	conn_hand_over(c, 0);
	return 0;

err_qp:
	if (c->ready) {
		/* it may have received already: it ends as others do */
		conn_hand_over(c, IPOIB_NEWS_BROKEN);
		return err;
	}
	ib_destroy_qp(c->qp);
	conn_empty_ring(c);
err_admit:
	conn_forget(c);
	return err;
}
