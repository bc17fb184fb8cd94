// SPDX-License-Identifier: GPL-2.0
/*
 * Connected mode (RFC 4755) of an interface.
 *
 * An interface that is up accepts connections in both modes, and its address
 * says so.  In connected mode it asks for connections itself, its MTU is that of
 * connections, and it has no offloads for what it sends.  Everything that fits
 * still goes by UD as long as there is no connection; groups always do.
 *
 * A change of mode takes effect at once and loses nothing: new connections are
 * made, or no longer, from then on.  On the way to datagram mode the MTU goes
 * down first; connections carry the larger packets that are still on their way
 * and end a second later.
 *
 * This room decides which way a packet takes, listens, keeps the lists and lets
 * connections do what is due.  ipoib_cm_conn.c knows what a connection is,
 * ipoib_cm_tx.c and ipoib_cm_rx.c move the packets.
 *
 * Contexts: xmit runs in transmit; the listener in a callback of the connection
 * manager, which takes no mutex of ours; set_mode, open and close under rtnl,
 * close, run, sweep and the rest under ctl_mutex.
 */
#include "ipoib_cm.h"

#include <linux/module.h>
#include <linux/netlink.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <net/netdev_queues.h>

#include <rdma/ib_cm.h>

#include "ipoib.h"
#include "ipoib_cm_conn.h"
#include "ipoib_main.h"
#include "ipoib_pmtu.h"
#include "ipoib_target.h"

#define IPOIB_CM_GRACE		HZ	/* of connections after a change of mode */
#define IPOIB_CM_WATCH		(2 * HZ)	/* between looks at live connections */
#define IPOIB_CM_UNUSED		(30 * HZ)	/* accepted, but nothing has come */

static int ipoib_max_own_ring = 128;
static uint ipoib_max_passive = 2048;
static uint ipoib_idle;
static uint ipoib_idle_passive = 600;

static int cm_max_own_ring_set(const char *text, const struct kernel_param *kp)
{
	int asked, err = kstrtoint(text, 0, &asked);

	if (err)
		return err;
	ipoib_max_own_ring = clamp(asked, 0, 4096);
	if (ipoib_max_own_ring != asked)
		pr_info(IPOIB_DRV_NAME ": max_nonsrq_conn_qp: %d is used instead of %d\n",
			ipoib_max_own_ring, asked);
	return 0;
}

static const struct kernel_param_ops cm_max_own_ring_ops = {
	.set = cm_max_own_ring_set,
	.get = param_get_int,
};

module_param_cb(max_nonsrq_conn_qp, &cm_max_own_ring_ops, &ipoib_max_own_ring,
		0444);
MODULE_PARM_DESC(max_nonsrq_conn_qp, "Connections accepted by an interface if its HCA has no shared receive queue and each has buffers of its own, 0 to 4096");
module_param_named(max_conn_qp, ipoib_max_passive, uint, 0644);
MODULE_PARM_DESC(max_conn_qp, "Connections accepted by an interface");
module_param_named(conn_idle, ipoib_idle, uint, 0644);
MODULE_PARM_DESC(conn_idle, "Seconds after which a connection without packets to send is ended, 0: as neighbours");
module_param_named(accepted_conn_idle, ipoib_idle_passive, uint, 0644);
MODULE_PARM_DESC(accepted_conn_idle, "Seconds after which an accepted connection without packets is ended");

static const u64 cm_bases[IPOIB_CM_LISTENERS] = {
	IPOIB_CM_SID_LINUX, IPOIB_CM_SID_IETF,
};

/**
 * ipoib_cm_max_own - how many connections may have receive buffers of their own?
 * @d: interface
 *
 * So many that peers make, and as many that we make.
 *
 * Context: any.
 * Return: number of connections, the same as long as the interface is up.
 */
u32 ipoib_cm_max_own(const struct ipoib_dev *d)
{
	return min_t(u32, ipoib_max_own_ring, d->ca->attrs.max_cqe /
		     (IPOIB_CM_OWN_RING + IPOIB_CM_BACK_RING));
}

/**
 * ipoib_cm_max_passive - how many connections may peers make?
 * @d: interface
 *
 * Context: any.
 * Return: number of connections.
 */
u32 ipoib_cm_max_passive(const struct ipoib_dev *d)
{
	u32 max = READ_ONCE(ipoib_max_passive);

	return d->cm.rx.ring.srq ? max : min(max, ipoib_cm_max_own(d));
}

/* ARP and RARP always go by UD: they make the addresses known */
static bool cm_carries(__be16 proto)
{
	return proto != cpu_to_be16(IPOIB_P_ARP) &&
	       proto != cpu_to_be16(IPOIB_P_RARP);
}

static struct ipoib_conn *cm_conn(struct ipoib_dev *d, struct ipoib_target *t,
				  const u8 *hw)
{
	const struct ipoib_encap *encap = (const void *)(hw + IPOIB_PSEUDO_LEN);
	struct ipoib_conn *c;

	if (!(hw[0] & IPOIB_CM_FLAG_RC) || !cm_carries(encap->proto))
		return NULL;
	c = ipoib_conn_find(t, ipoib_addr_qpn(hw));
	if (!c && READ_ONCE(d->cm.connected))
		c = ipoib_conn_make(t, ipoib_addr_qpn(hw));
	return c;
}

/* A packet wants one that is held: may it be asked for again? */
static enum ipoib_conn_state cm_want_back(struct ipoib_conn *c)
{
	if (!READ_ONCE(c->dev->cm.connected) ||
	    time_before(jiffies, READ_ONCE(c->next_try)))
		return IPOIB_CONN_HELD;
	if (!c->wanted) {
		WRITE_ONCE(c->wanted, true);
		ipoib_conn_be_patient(c);
		ipoib_conn_tell(c, IPOIB_NEWS_WANTED);
	}
	return IPOIB_CONN_NEW;
}

/* One that is asked for anew, or may be, is as good as a new one */
static enum ipoib_conn_state cm_state(struct ipoib_conn *c)
{
	/* pairs with the release in conn_move() */
	enum ipoib_conn_state state = smp_load_acquire(&c->state);

	if (unlikely(state == IPOIB_CONN_HELD))
		return cm_want_back(c);
	if (unlikely(state == IPOIB_CONN_FLUSHING) && READ_ONCE(c->redial))
		return IPOIB_CONN_NEW;
	return state;
}

/**
 * ipoib_cm_xmit - look whether a packet goes by a connection
 * @d: interface in connected mode, or about to leave it
 * @t: where it goes
 * @skb: packet with its pseudo header
 * @class: unicast or multicast
 *
 * Context: transmit queue lock held, bh off, RCU read side.
 * Return: true when the packet was taken over; false when it goes by UD.
 */
bool ipoib_cm_xmit(struct ipoib_dev *d, struct ipoib_target *t,
		   struct sk_buff *skb, enum ipoib_tx_class class)
{
	u32 len = skb->len - IPOIB_PSEUDO_LEN, most = READ_ONCE(d->mcast.mtu);
	enum ipoib_conn_state state = IPOIB_CONN_DEAD;
	struct ipoib_conn *c = NULL;
	u32 limit = 0;

	/* the HCA cuts these up, for UD only; they are older than the mode */
	if (unlikely(skb_is_gso(skb) || !most))
		return false;
	if (class == IPOIB_TX_UNICAST)
		c = cm_conn(d, t, skb->data);
	if (c) {
		ipoib_conn_touch(c);
		state = cm_state(c);
		limit = c->limit;
	}

	switch (ipoib_cm_route(state, len, most, limit,
			       c && time_before(jiffies, c->patient))) {
	case IPOIB_CM_BY_RC:
	case IPOIB_CM_WAITS:
		ipoib_cm_tx_send(c, skb);
		return true;
	case IPOIB_CM_TOO_BIG:
		if (state == IPOIB_CONN_LIVE)
			most = max(most, limit);
		ipoib_cm_tx_refuse(d, skb, most,
				   state == IPOIB_CONN_FLUSHING &&
				   READ_ONCE(c->again));
		return true;
	default:
		return false;
	}
}

static void cm_refuse(struct ipoib_dev *d, const char *why,
		      const union ib_gid *gid)
{
	if (net_ratelimit())
		netdev_warn(d->dev, "connection from %pI6 refused: %s\n",
			    gid->raw, why);
}

/* A REQ is for us only if its path is: 0, or the errno to refuse it with */
static int cm_check_req(struct ipoib_dev *d, struct ib_cm_id *id,
			const struct ib_cm_req_event_param *req)
{
	u16 pkey = be16_to_cpu(req->primary_path->pkey);
	const char *why = NULL;
	u32 reason = 0;

	if (req->qp_type != IB_QPT_RC) {
		reason = IB_CM_REJ_INVALID_TRANSPORT_TYPE;
		why = "not of type RC";
	} else if (req->port != d->port) {
		reason = IB_CM_REJ_INVALID_GID;
		why = "it is for another port";
	} else if ((pkey ^ READ_ONCE(d->pkey)) & ~IPOIB_PKEY_FULL) {
		reason = IB_CM_REJ_CONSUMER_DEFINED;
		why = "it is for another partition";
	}
	if (!why)
		return 0;
	cm_refuse(d, why, &req->primary_path->dgid);
	ib_send_cm_rej(id, reason, NULL, 0, NULL, 0);
	return -EINVAL;
}

static int cm_listener(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	const struct ib_cm_req_event_param *req = &event->param.req_rcvd;
	struct ipoib_dev *d = id->context;
	unsigned int noio;
	int err;

	if (event->event != IB_CM_REQ_RECEIVED)
		return 0;
	noio = memalloc_noio_save();
	err = cm_check_req(d, id, req);
	if (!err) {
		err = ipoib_conn_accept(d, id, event);
		if (err)
			cm_refuse(d, err == -EUSERS ? "there are too many" :
				  err == -ENOMEM ? "no memory" : "HCA",
				  &req->primary_path->dgid);
	}

	spin_lock_irq(&d->cm.lock);
	d->cm.count.req_heard++;
	d->cm.count.refused += err != 0;
	spin_unlock_irq(&d->cm.lock);
	memalloc_noio_restore(noio);
	return err;
}

static void cm_listen(struct ipoib_dev *d)
{
	struct ib_cm_id *id;
	u64 sid;
	int i, err;

	for (i = 0; i < IPOIB_CM_LISTENERS; i++) {
		sid = ipoib_cm_service_id(cm_bases[i], d->qp->qp_num);
		id = ib_create_cm_id(d->ca, cm_listener, d);
		err = PTR_ERR_OR_ZERO(id);
		if (!err) {
			err = ib_cm_listen(id, cpu_to_be64(sid));
			if (err)
				ib_destroy_cm_id(id);
		}
		if (err)
			netdev_warn(d->dev, "cannot listen for connections: %pe\n",
				    ERR_PTR(err));
		d->cm.listener[i] = err ? NULL : id;
	}
}

/**
 * ipoib_cm_open - begin to accept connections
 * @d: interface in DOWN
 *
 * Without them the interface works in datagram mode, and peers find out.
 *
 * Context: rtnl, may sleep.
 */
void ipoib_cm_open(struct ipoib_dev *d)
{
	int err;

	if (!d->cm.able)
		return;
	err = ipoib_cm_rx_open(d);
	if (err)
		netdev_warn(d->dev, "no connections: %pe\n", ERR_PTR(err));
	else
		cm_listen(d);
}

static struct ipoib_conn *cm_next_todo(struct ipoib_cm *cm,
				       struct list_head *todo)
{
	struct ipoib_conn *c;

	spin_lock_irq(&cm->lock);
	c = list_first_entry_or_null(todo, struct ipoib_conn, todo);
	if (c)
		list_del_init(&c->todo);
	spin_unlock_irq(&cm->lock);
	return c;
}

/* Each once: who has news from now on kicks the worker again */
static void cm_visit_todo(struct ipoib_cm *cm)
{
	struct ipoib_conn *c;
	LIST_HEAD(todo);

	spin_lock_irq(&cm->lock);
	list_splice_init(&cm->todo, &todo);
	spin_unlock_irq(&cm->lock);
	while ((c = cm_next_todo(cm, &todo))) {
		ipoib_conn_step(c);
		ipoib_conn_put(c);
	}
}

/* The worker alone takes connections off this list and puts them there */
static void cm_settle_all(struct ipoib_dev *d, bool overdue)
{
	struct ipoib_conn *c, *next;

	list_for_each_entry_safe(c, next, &d->cm.flushing, all)
		ipoib_conn_settle(c, overdue);
	if (list_empty(&d->cm.flushing))
		WRITE_ONCE(d->cm.rx.sync, false);
}

/* Put those on the todo list whose time has come, and find the next such time */
static void cm_look_at_list(struct ipoib_cm *cm, struct list_head *list)
{
	struct ipoib_conn *c;

	list_for_each_entry(c, list, all) {
		if (!c->due_set)
			continue;
		if (!time_before(jiffies, c->due)) {
			if (list_empty(&c->todo) &&
			    refcount_inc_not_zero(&c->ref))
				list_add_tail(&c->todo, &cm->todo);
			continue;
		}
		ipoib_cm_due_at(cm, c->due);
	}
}

static void cm_look_at_time(struct ipoib_cm *cm)
{
	if (!cm->due_set || time_before(jiffies, cm->due))
		return;
	cm->due_set = false;
	spin_lock_irq(&cm->lock);
	cm_look_at_list(cm, &cm->active);
	cm_look_at_list(cm, &cm->flushing);
	spin_unlock_irq(&cm->lock);
}

/*
 * A connection that has been seen with a reference, or NULL at the end.  One
 * walk at a time, under ctl_mutex.
 */
static struct ipoib_conn *cm_next(struct ipoib_cm *cm, struct list_head *list)
{
	struct ipoib_conn *c;

	spin_lock_irq(&cm->lock);
	c = list_first_entry_or_null(list, struct ipoib_conn, all);
	if (c) {
		list_move_tail(&c->all, &cm->seen);
		refcount_inc(&c->ref);
	} else {
		list_splice_init(&cm->seen, list);
	}
	spin_unlock_irq(&cm->lock);
	return c;
}

static void cm_unlink_all(struct ipoib_cm *cm)
{
	struct ipoib_conn *c;

	while ((c = cm_next(cm, &cm->active))) {
		ipoib_conn_unlink(c);
		ipoib_conn_put(c);
	}
}

static bool cm_has_qp(const struct ipoib_conn *c)
{
	return c->state == IPOIB_CONN_REQ_SENT ||
	       c->state == IPOIB_CONN_LIVE || c->state == IPOIB_CONN_CLOSING;
}

static void cm_end_all(struct ipoib_cm *cm, struct list_head *list)
{
	struct ipoib_conn *c;

	while ((c = cm_next(cm, list))) {
		/* the peer has done nothing wrong: it may be asked at once */
		WRITE_ONCE(c->again, true);
		if (cm_has_qp(c))
			ipoib_conn_end(c);
		else if (!c->active)
			/* it is being accepted: it ends when that is done */
			ipoib_conn_tell(c, IPOIB_NEWS_CLOSED);
		ipoib_conn_put(c);
	}
}

/* The last connections after a change to datagram mode */
static void cm_end_mode(struct ipoib_dev *d)
{
	if (!d->cm.ending || time_before(jiffies, d->cm.end_at))
		return;
	d->cm.ending = false;
	cm_unlink_all(&d->cm);
	WRITE_ONCE(d->txq.rc, false);
}

/* Who takes nothing is alive, as far as the HCA can tell, and dead for us */
static void cm_watch(struct ipoib_cm *cm)
{
	struct ipoib_conn *c;
	bool live = false;

	if (!cm->watching || time_before(jiffies, cm->watch_at))
		return;
	while ((c = cm_next(cm, &cm->active))) {
		live |= c->state == IPOIB_CONN_LIVE;
		if (c->state == IPOIB_CONN_LIVE && ipoib_conn_stuck(c)) {
			if (net_ratelimit())
				netdev_warn(c->dev->dev, "connection to %pI6: the peer takes nothing\n",
					    c->gid.raw);
			ipoib_conn_tell(c, IPOIB_NEWS_BROKEN);
		}
		ipoib_conn_put(c);
	}
	cm->watching = live;
	cm->watch_at = jiffies + IPOIB_CM_WATCH;
}

/**
 * ipoib_cm_run - let connections do what is due
 * @d: interface
 *
 * Context: ctl_mutex, may sleep.
 */
void ipoib_cm_run(struct ipoib_dev *d)
{
	struct ipoib_cm *cm = &d->cm;
	unsigned long when;

	ipoib_pmtu_run(d);
	cm_end_mode(d);
	cm_look_at_time(cm);
	cm_visit_todo(cm);
	cm_settle_all(d, false);
	ipoib_cm_tx_run(d);
	cm_watch(cm);
	if (cm->watching)
		ipoib_cm_due_at(cm, cm->watch_at);
	if (cm->ending)
		ipoib_cm_due_at(cm, cm->end_at);
	if (ipoib_cm_rx_refill(d, &when))
		ipoib_cm_due_at(cm, when);
}

/* Callbacks are over, so no connection can come; ctl_mutex held */
static void cm_end_everything(struct ipoib_dev *d)
{
	unsigned long end = jiffies + IPOIB_DRAIN_TIMEOUT;
	struct ipoib_cm *cm = &d->cm;

	cm_unlink_all(cm);
	cm_end_all(cm, &cm->active);
	cm_end_all(cm, &cm->passive);
	while (true) {
		atomic_set(&cm->moved, 0);
		cm_visit_todo(cm);
		cm_settle_all(d, time_after(jiffies, end));
		/* what never had a queue pair has been visited, too */
		if (list_empty(&cm->flushing) && list_empty(&cm->todo))
			break;
		wait_event_timeout(cm->wait, atomic_read(&cm->moved), HZ / 10);
	}
	WARN_ON_ONCE(!list_empty(&cm->active) || !list_empty(&cm->passive));
}

/**
 * ipoib_cm_close - end all connections
 * @d: interface in DOWN, polling is on
 *
 * Context: rtnl, may sleep.  Waits for the HCA, bounded, never for a peer.
 */
void ipoib_cm_close(struct ipoib_dev *d)
{
	struct ipoib_cm *cm = &d->cm;
	int i;

	if (!cm->able)
		return;
	mutex_lock(&d->ctl_mutex);
	for (i = 0; i < IPOIB_CM_LISTENERS; i++) {
		if (cm->listener[i])
			ib_destroy_cm_id(cm->listener[i]);
		cm->listener[i] = NULL;
	}
	cm_end_everything(d);
	/* the ring of UD is closed: this drops them */
	ipoib_cm_tx_run(d);
	skb_queue_purge_reason(&cm->too_big, SKB_DROP_REASON_PKT_TOO_BIG);
	cm->due_set = false;
	cm->watching = false;
	ipoib_cm_rx_close(d);
	mutex_unlock(&d->ctl_mutex);
}

/**
 * ipoib_cm_restart - end all connections, and make those of ours anew
 * @d: interface whose P_Key, its place in the table or GID has changed
 *
 * A queue pair knows its P_Key by the place in the table: what is sent over one
 * that was made before would be in no partition, or in a wrong one.
 *
 * Context: ctl_mutex, may sleep.
 */
void ipoib_cm_restart(struct ipoib_dev *d)
{
	cm_end_all(&d->cm, &d->cm.active);
	cm_end_all(&d->cm, &d->cm.passive);
}

/* Ticks; what is beyond all clocks is as good as never */
static unsigned long cm_ticks(uint seconds)
{
	return min_t(u64, (u64)seconds * HZ, MAX_JIFFY_OFFSET);
}

static bool cm_is_idle(const struct ipoib_conn *c, unsigned long gc)
{
	unsigned long limit = 2 * gc;

	if (!c->active && c->used == c->born)
		limit = IPOIB_CM_UNUSED;
	else if (!c->active)
		limit = cm_ticks(READ_ONCE(ipoib_idle_passive));
	else if (c->state == IPOIB_CONN_LIVE && READ_ONCE(ipoib_idle))
		limit = cm_ticks(READ_ONCE(ipoib_idle));
	return limit && time_after_eq(jiffies, READ_ONCE(c->used) + limit);
}

/**
 * ipoib_cm_sweep - end connections that nobody uses
 * @d: interface
 * @gc: length of a round in ticks
 *
 * Context: ctl_mutex, may sleep.
 */
void ipoib_cm_sweep(struct ipoib_dev *d, unsigned long gc)
{
	struct ipoib_cm *cm = &d->cm;
	struct ipoib_conn *c;

	while ((c = cm_next(cm, &cm->active))) {
		if (cm_is_idle(c, gc)) {
			/* others are merely forgotten */
			cm->count.idle += c->state == IPOIB_CONN_LIVE;
			ipoib_conn_unlink(c);
		}
		ipoib_conn_put(c);
	}
	while ((c = cm_next(cm, &cm->passive))) {
		if (c->state == IPOIB_CONN_LIVE && cm_is_idle(c, gc)) {
			cm->count.idle++;
			ipoib_conn_end(c);
		}
		ipoib_conn_put(c);
	}
}

static void cm_for_target(struct ipoib_target *t,
			  void (*act)(struct ipoib_conn *c))
{
	struct ipoib_conn *c;

	lockdep_assert_held(&t->dev->ctl_mutex);

	/* the worker alone takes connections off */
	rcu_read_lock();
	hlist_for_each_entry_rcu(c, &t->conns, link)
		act(c);
	rcu_read_unlock();
}

static void cm_path_news(struct ipoib_conn *c)
{
	ipoib_conn_tell(c, IPOIB_NEWS_PATH);
}

/**
 * ipoib_cm_forget - a target is going away, and its connections with it
 * @t: dead target with a reference
 *
 * Context: ctl_mutex.
 */
void ipoib_cm_forget(struct ipoib_target *t)
{
	cm_for_target(t, ipoib_conn_unlink);
}

/**
 * ipoib_cm_path_news - the path to a target may have changed
 * @t: target
 *
 * Context: ctl_mutex.
 */
void ipoib_cm_path_news(struct ipoib_target *t)
{
	cm_for_target(t, cm_path_news);
}

static void cm_to_connected(struct ipoib_dev *d)
{
	struct net_device *dev = d->dev;

	mutex_lock(&d->ctl_mutex);
	d->cm.ending = false;
	WRITE_ONCE(d->cm.connected, true);
	WRITE_ONCE(d->txq.rc, true);
	mutex_unlock(&d->ctl_mutex);

	netdev_update_features(dev);
	dev->max_mtu = d->cm.mtu;
	if (dev_set_mtu(dev, d->cm.mtu))
		netdev_warn(dev, "cannot set the MTU to %u\n", d->cm.mtu);
	if (net_ratelimit())
		netdev_warn(dev, "connected mode: multicast packets larger than the MTU of the group are dropped\n");
}

static void cm_to_datagram(struct ipoib_dev *d)
{
	u32 group = READ_ONCE(d->mcast.mtu), limit, mtu;
	struct net_device *dev = d->dev;

	WRITE_ONCE(d->cm.connected, false);
	limit = ipoib_policy_mtu(0, d->port_mtu, group);
	mtu = min(limit, dev->mtu);
	if (dev_set_mtu(dev, mtu))
		netdev_warn(dev, "cannot set the MTU to %u\n", mtu);
	d->mtu_wish = ipoib_policy_mtu_wish(mtu, limit);
	dev->max_mtu = ipoib_policy_mtu(0, d->port_mtu, 0);
	netdev_update_features(dev);

	mutex_lock(&d->ctl_mutex);
	d->cm.end_at = jiffies + IPOIB_CM_GRACE;
	d->cm.ending = true;
	mutex_unlock(&d->ctl_mutex);
	ipoib_kick(d, IPOIB_EV_CM);
}

/**
 * ipoib_cm_set_mode - change between datagram and connected mode
 * @d: interface
 * @connected: mode wanted
 * @extack: why not, or NULL
 *
 * Context: rtnl, which is kept.
 * Return: 0 or -EINVAL.
 */
int ipoib_cm_set_mode(struct ipoib_dev *d, bool connected,
		      struct netlink_ext_ack *extack)
{
	ASSERT_RTNL();

	if (d->cm.connected == connected)
		return 0;
	if (connected && !d->cm.able) {
		NL_SET_ERR_MSG(extack, "the port has no connection manager");
		return -EINVAL;
	}
	if (connected)
		cm_to_connected(d);
	else
		cm_to_datagram(d);
	return 0;
}

/**
 * ipoib_cm_init - prepare connected mode of a new interface
 * @d: interface with its verbs objects
 *
 * Context: rtnl, during registration.
 * Return: 0 or -ENOMEM.
 */
int ipoib_cm_init(struct ipoib_dev *d)
{
	struct ipoib_cm *cm = &d->cm;
	u32 i;

	cm->stats = netdev_alloc_pcpu_stats(struct pcpu_sw_netstats);
	if (!cm->stats)
		return -ENOMEM;
	spin_lock_init(&cm->lock);
	INIT_LIST_HEAD(&cm->todo);
	INIT_LIST_HEAD(&cm->active);
	INIT_LIST_HEAD(&cm->passive);
	INIT_LIST_HEAD(&cm->flushing);
	INIT_LIST_HEAD(&cm->seen);
	init_waitqueue_head(&cm->wait);
	skb_queue_head_init(&cm->too_big);
	__skb_queue_head_init(&cm->spill);
	cm->wr.opcode = IB_WR_SEND;
	cm->wr.send_flags = IB_SEND_SIGNALED;
	cm->wr.sg_list = cm->sge;
	for (i = 0; i < ARRAY_SIZE(cm->sge); i++)
		cm->sge[i].lkey = d->pd->local_dma_lkey;

	cm->watch_at = jiffies;
	ipoib_cm_rx_plan(d);
	cm->mtu = cm->rx.size - IPOIB_ENCAP_LEN;
	cm->able = rdma_cap_ib_cm(d->ca, d->port);
	return 0;
}

/**
 * ipoib_cm_fini - undo ipoib_cm_init()
 * @d: interface that is down
 *
 * Context: process.
 */
void ipoib_cm_fini(struct ipoib_dev *d)
{
	free_percpu(d->cm.stats);
	d->cm.stats = NULL;
}

/**
 * ipoib_cm_stats - add what connections have carried
 * @d: interface
 * @s: sums
 *
 * Context: any.
 */
void ipoib_cm_stats(struct ipoib_dev *d, struct rtnl_link_stats64 *s)
{
	dev_fetch_sw_netstats(s, d->cm.stats);
	s->tx_errors += atomic64_read(&d->cm.tx_errors);
	s->rx_errors += atomic64_read(&d->cm.rx_errors);
	s->rx_length_errors += atomic64_read(&d->cm.rx_length_errors);
}

static void cm_show_conn(struct seq_file *s, const struct ipoib_conn *c)
{
	seq_printf(s, "%s %pI6 qpn 0x%06x %s", c->active ? "to" : "from",
		   c->gid.raw, c->qpn, ipoib_conn_state_name(c->state));
	/* one that is being accepted, or has ended, may lose it at any time */
	if (cm_has_qp(c))
		seq_printf(s, " own_qpn 0x%06x", c->qp->qp_num);
	if (c->active)
		seq_printf(s, " limit %u sends %u waiting %u hold %u%s",
			   c->limit, ipoib_ring_used(c->head, c->tail),
			   skb_queue_len_lockless(&c->backlog), c->hold,
			   c->slow ? " slow" : "");
	if (c->ring.slot)
		seq_printf(s, " receives %u", c->ring.posted);
	seq_printf(s, " idle %lu\n", (jiffies - c->used) / HZ);
}

static void cm_show_list(struct seq_file *s, const struct list_head *list)
{
	const struct ipoib_conn *c;

	list_for_each_entry(c, list, all)
		cm_show_conn(s, c);
}

/**
 * ipoib_cm_show - connections and counts for debugfs
 * @d: interface
 * @s: where to print it
 *
 * Context: ctl_mutex.
 */
void ipoib_cm_show(struct ipoib_dev *d, struct seq_file *s)
{
	const struct ipoib_cm_counts *n = &d->cm.count;
	struct ipoib_cm *cm = &d->cm;

	spin_lock_irq(&cm->lock);
	seq_printf(s, "mode: %s\n", cm->connected ? "connected" : "datagram");
	seq_printf(s, "receive_size: %u\n", cm->rx.size);
	seq_printf(s, "shared_ring: %u of %u posted\n", cm->rx.ring.posted,
		   cm->rx.ring.size);
	seq_printf(s, "accepted: %u of %u\n", cm->nr_passive,
		   ipoib_cm_max_passive(d));
	seq_printf(s, "asked_for: %llu opened %llu rejected %llu silent %llu unusable %llu withdrawn %llu\n",
		   n->req_sent, n->opened, n->rejected, n->silent, n->unusable,
		   n->withdrawn);
	seq_printf(s, "heard: %llu accepted %llu refused %llu\n", n->req_heard,
		   n->accepted, n->refused);
	seq_printf(s, "ended: broken %llu idle %llu\n", n->broken, n->idle);
	seq_printf(s, "too_big: %llu\n", n->too_big);
	cm_show_list(s, &cm->active);
	cm_show_list(s, &cm->passive);
	cm_show_list(s, &cm->flushing);
	spin_unlock_irq(&cm->lock);
}
