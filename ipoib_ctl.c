// SPDX-License-Identifier: GPL-2.0
/*
 * The control worker: one for each interface, and its only decider.
 *
 * Events (of the HCA, the SA, the stack) are bits in one word; the worker takes
 * them, asks ipoib_policy_plan() for the steps and takes these in order. Then it
 * lets groups and paths do what is due and sleeps until the next deadline.
 * Nothing it calls waits for the SA, so an SM that is dead delays nobody.
 *
 * What the stack sees of an interface (addresses, MTU, carrier on) is changed
 * by a second work item under rtnl, which the worker queues and never waits
 * for.  That one takes ctl_mutex only to look and to move to LIVE, and never
 * around a notifier.
 *
 * Context: process.  open and stop run under rtnl and take ctl_mutex.
 */
#include "ipoib_ctl.h"

#include <linux/rtnetlink.h>
#include <linux/sched/mm.h>
#include <net/arp.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "ipoib_cm.h"
#include "ipoib_ib.h"
#include "ipoib_multicast.h"
#include "ipoib_path.h"
#include "ipoib_target.h"
#include "ipoib_trace.h"

static bool ctl_move(struct ipoib_dev *d, enum ipoib_state to)
{
	lockdep_assert_held(&d->ctl_mutex);

	if (d->state == to)
		return true;
	if (!ipoib_policy_may_move(d->state, to)) {
		WARN_ONCE(1, "%s: no way from %s to %s\n", d->dev->name,
			  ipoib_policy_state_name(d->state),
			  ipoib_policy_state_name(to));
		return false;
	}
	trace_ipoib_state(d->dev, d->state, to);
	ipoib_dbg(d, "%s -> %s\n", ipoib_policy_state_name(d->state),
		  ipoib_policy_state_name(to));
	WRITE_ONCE(d->state, to);
	return true;
}

/* Why there is a carrier, or none: kept for debugfs, one log line a change */
static void ctl_explain(struct ipoib_dev *d)
{
	int err = ipoib_mcast_bcast_status(d);
	char why[IPOIB_REASON_LEN];

	switch (d->state) {
	case IPOIB_DOWN:
	case IPOIB_GONE:
		strscpy(why, "interface is down");
		break;
	case IPOIB_NO_PKEY:
		if (ipoib_pkey_valid(d->pkey))
			snprintf(why, sizeof(why),
				 "P_Key 0x%04x is not in the table", d->pkey);
		else
			strscpy(why, "the port has no P_Key");
		break;
	case IPOIB_WAIT_PORT:
		if (d->restart_failed)
			strscpy(why, "queue pair does not start");
		else if (!d->gid_found)
			snprintf(why, sizeof(why),
				 "GUID %016llx is not in the port's table",
				 be64_to_cpu(d->gid.global.interface_id));
		else
			strscpy(why, "port is not active");
		break;
	case IPOIB_JOINING:
		if (err)
			snprintf(why, sizeof(why), "broadcast group: %pe",
				 ERR_PTR(err));
		else
			strscpy(why, "joining the broadcast group");
		break;
	default:
		strscpy(why, "link is up");
		break;
	}
	if (!strcmp(why, d->reason))
		return;

	strscpy(d->reason, why);
	if (d->state == IPOIB_LIVE)
		netdev_info(d->dev, "%s, P_Key 0x%04x\n", why, d->pkey);
	else if (d->state == IPOIB_NO_PKEY)
		netdev_warn(d->dev, "no carrier: %s\n", why);
	else if (d->state != IPOIB_DOWN && (d->state != IPOIB_JOINING || err))
		netdev_info(d->dev, "no carrier: %s\n", why);
}

/*
 * Interfaces that have news for the stack.  They are taken from the list under
 * rtnl, as is who is removed, so nobody needs a reference: one that waits for
 * rtnl could be waited for by its owner.
 */
static LIST_HEAD(ctl_publish_list);
static DEFINE_SPINLOCK(ctl_publish_lock);
static void ctl_publish_all(struct work_struct *work);
static DECLARE_WORK(ctl_publish_work, ctl_publish_all);

static void ctl_publish(struct ipoib_dev *d)
{
	if (d->dev->reg_state != NETREG_REGISTERED)
		return;
	spin_lock(&ctl_publish_lock);
	if (list_empty(&d->publish))
		list_add_tail(&d->publish, &ctl_publish_list);
	spin_unlock(&ctl_publish_lock);
	queue_work(ipoib_wq, &ctl_publish_work);
}

static void ctl_unpublish(struct ipoib_dev *d)
{
	spin_lock(&ctl_publish_lock);
	list_del_init(&d->publish);
	spin_unlock(&ctl_publish_lock);
}

static void ctl_kill(struct ipoib_target *t)
{
	if (t->kind == IPOIB_TARGET_GROUP) {
		ipoib_mcast_kill(t);
		return;
	}
	ipoib_target_get(t);
	ipoib_path_kill(t);
	/* none can join it any more */
	ipoib_cm_forget(t);
	ipoib_target_put(t);
}

static void ctl_step(struct ipoib_target *t)
{
	if (t->kind == IPOIB_TARGET_GROUP) {
		ipoib_mcast_step(t);
		return;
	}
	ipoib_path_step(t);
	ipoib_cm_path_news(t);
}

/* Leave all groups, forget all paths; the queue pair is still up */
static void ctl_flush(struct ipoib_dev *d)
{
	struct ipoib_target *t;

	while ((t = ipoib_target_first(d))) {
		ctl_kill(t);
		ipoib_target_put(t);
	}
	ipoib_mcast_forget_bcast(d);
}

/*
 * Visit each target once.  Only the worker unlinks targets, others may add some
 * at the tail meanwhile: these get their visit too.
 */
static void ctl_rejoin(struct ipoib_dev *d)
{
	struct ipoib_target *t;
	LIST_HEAD(seen);

	spin_lock_bh(&d->tbl_lock);
	while (!list_empty(&d->all_targets)) {
		t = list_first_entry(&d->all_targets, struct ipoib_target, all);
		list_move_tail(&t->all, &seen);
		spin_unlock_bh(&d->tbl_lock);
		if (t->kind == IPOIB_TARGET_GROUP)
			ipoib_mcast_rejoin(t);
		else
			ipoib_path_renew(t);
		spin_lock_bh(&d->tbl_lock);
	}
	list_splice(&seen, &d->all_targets);
	spin_unlock_bh(&d->tbl_lock);
}

/* A path lives as long as its connections, which have times of their own */
static bool ctl_may_sweep(struct ipoib_target *t)
{
	if (t->kind == IPOIB_TARGET_PATH)
		return hlist_empty(&t->conns);
	return ipoib_mcast_sweepable(t);
}

static bool ctl_is_up(struct ipoib_dev *d)
{
	return d->state != IPOIB_DOWN && d->state != IPOIB_GONE;
}

static bool ctl_sweep_due(struct ipoib_dev *d)
{
	return ctl_is_up(d) &&
	       (!d->sweep_set || !time_before(jiffies, d->sweep_at));
}

/* Idle paths and groups that nobody sends to any more have to go */
static void ctl_sweep(struct ipoib_dev *d)
{
	unsigned long gc = max(READ_ONCE(arp_tbl.gc_interval), HZ);
	struct ipoib_target *t, *next;
	unsigned long now = jiffies;
	LIST_HEAD(victims);

	if (!ctl_sweep_due(d))
		return;

	ipoib_cm_sweep(d, gc);
	spin_lock_bh(&d->tbl_lock);
	if (d->sweep_set)
		list_for_each_entry_safe(t, next, &d->all_targets, all) {
			if (ctl_may_sweep(t) &&
			    ipoib_policy_idle(now, READ_ONCE(t->used), gc))
				list_move_tail(&t->all, &victims);
			else if (t->kind == IPOIB_TARGET_PATH)
				ipoib_path_age(t, now);
		}
	d->sweep_set = !list_empty(&d->all_targets);
	spin_unlock_bh(&d->tbl_lock);
	d->sweep_at = now + gc;

	while ((t = list_first_entry_or_null(&victims, struct ipoib_target,
					     all)))
		ctl_kill(t);
}

static void ctl_set_self(struct ipoib_dev *d)
{
	struct ipoib_rx_self *self = &d->rxq.self;

	self->qpn = d->qp->qp_num;
	memcpy(self->guid, d->gid.raw + 8, sizeof(self->guid));
}

/*
 * The GID is the first one of the port, or has the GUID that the administrator
 * has set; that one need not be in the table yet.
 */
static bool ctl_refresh_gid(struct ipoib_dev *d)
{
	const struct ib_gid_attr *attr;
	union ib_gid gid;
	bool found = true;

	if (rdma_query_gid(d->ca, d->port, 0, &gid) ||
	    ipoib_addr_gid_is_zero(gid.raw))
		return false;
	if (d->admin_guid == gid.global.interface_id)
		d->admin_guid = 0;
	if (d->admin_guid) {
		gid.global.interface_id = d->admin_guid;
		attr = rdma_find_gid_by_port(d->ca, &gid, IB_GID_TYPE_IB,
					     d->port, NULL);
		found = !IS_ERR(attr);
		if (found)
			rdma_put_gid_attr(attr);
	}
	if (found == d->gid_found && !memcmp(&gid, &d->gid, sizeof(gid)))
		return false;

	d->gid = gid;
	d->gid_found = found;
	return true;
}

/*
 * Read P_Key and GID as the port has them now.  True when the interface is not
 * what it was.
 */
static bool ctl_refresh_identity(struct ipoib_dev *d)
{
	u16 pkey = d->pkey, index = d->pkey_index;
	bool found = true, changed = false;

	if (d->parent) {
		found = !ib_find_cached_pkey(d->ca, d->port, d->pkey, &index);
	} else {
		if (ib_get_cached_pkey(d->ca, d->port, 0, &pkey))
			pkey = 0;
		found = ipoib_pkey_valid(pkey);
		pkey = found ? pkey | IPOIB_PKEY_FULL : d->pkey;
		index = 0;
	}
	if (found != d->pkey_found || pkey != d->pkey ||
	    (found && index != d->pkey_index)) {
		WRITE_ONCE(d->pkey, pkey);
		d->pkey_index = index;
		d->pkey_found = found;
		changed = true;
	}

	changed |= ctl_refresh_gid(d);
	ctl_set_self(d);
	return changed;
}

/* Where the interface is on its way to carrier, as far as the port tells */
static void ctl_look_at_port(struct ipoib_dev *d)
{
	struct ib_port_attr attr;
	int err;

	if (!d->pkey_found) {
		ctl_move(d, IPOIB_NO_PKEY);
		return;
	}
	err = ib_query_port(d->ca, d->port, &attr);
	if (err) {
		netdev_warn(d->dev, "cannot query the port: %pe\n",
			    ERR_PTR(err));
		ipoib_retry(d, HZ);
	}
	/* nobody tells that a GID has come */
	if (!d->gid_found)
		ipoib_retry(d, HZ);
	if (err || attr.state != IB_PORT_ACTIVE || !d->gid_found) {
		if (d->state == IPOIB_LIVE || d->state == IPOIB_JOINING) {
			netif_carrier_off(d->dev);
			ctl_flush(d);
		}
		ctl_move(d, IPOIB_WAIT_PORT);
		return;
	}

	d->rxq.self.lid_mask = ~((1u << attr.lmc) - 1);
	d->rxq.self.lid = attr.lid & d->rxq.self.lid_mask;
	if (d->state == IPOIB_LIVE || d->state == IPOIB_JOINING)
		return;
	/* NO_PKEY reaches JOINING by way of WAIT_PORT, as DOWN does */
	ctl_move(d, IPOIB_WAIT_PORT);
	ctl_move(d, IPOIB_JOINING);
	d->mcast.dirty = true;
}

static void ctl_restart(struct ipoib_dev *d)
{
	int err;

	d->restart_failed = false;
	ipoib_cm_restart(d);
	ipoib_ib_stop(d);
	if (!d->pkey_found)
		return;
	err = ipoib_ib_start(d);
	if (!err)
		return;

	netdev_warn(d->dev, "cannot start the queue pair: %pe\n", ERR_PTR(err));
	/* without it there is no way to carrier: come back for another try */
	d->restart_failed = true;
	ipoib_retry(d, HZ);
}

static void ctl_recover(struct ipoib_dev *d)
{
	if (ipoib_ib_recover(d))
		ipoib_kick(d, IPOIB_EV_RESET);
}

static void ctl_take_steps(struct ipoib_dev *d, u32 steps)
{
	bool up = ctl_is_up(d);

	if (steps & IPOIB_STEP_IDENTITY && ctl_refresh_identity(d)) {
		ctl_publish(d);
		if (up)
			steps |= IPOIB_STEP_CARRIER_OFF | IPOIB_STEP_FLUSH |
				 IPOIB_STEP_RESTART | IPOIB_STEP_PORT;
	}
	if (!up)
		return;

	if (steps & IPOIB_STEP_CARRIER_OFF)
		netif_carrier_off(d->dev);
	if (steps & IPOIB_STEP_FLUSH) {
		ctl_flush(d);
		if (d->state == IPOIB_LIVE || d->state == IPOIB_JOINING)
			ctl_move(d, IPOIB_WAIT_PORT);
	}
	if (steps & IPOIB_STEP_RESTART)
		ctl_restart(d);
	if (steps & IPOIB_STEP_PORT && !d->restart_failed)
		ctl_look_at_port(d);
	if (steps & IPOIB_STEP_REJOIN)
		ctl_rejoin(d);
	if (steps & IPOIB_STEP_MCLIST)
		d->mcast.dirty = true;
	if (steps & IPOIB_STEP_RECOVER)
		ctl_recover(d);
}

/*
 * Also while there is no port to send by: what was due when it went away has
 * to be let go of, or the worker would be called for it for ever.
 */
static void ctl_run_targets(struct ipoib_dev *d)
{
	ipoib_target_wake_later(d, false);
	ipoib_target_visit_todo(d, ctl_step);
	ipoib_target_run_lines(d);
	ctl_sweep(d);
}

static void ctl_run_groups(struct ipoib_dev *d)
{
	if (d->state != IPOIB_JOINING && d->state != IPOIB_LIVE)
		return;
	ipoib_mcast_run(d);
	if (d->mcast.ready && (d->state == IPOIB_JOINING ||
			       d->mcast.mtu != READ_ONCE(d->published_mtu)))
		ctl_publish(d);
}

static void ctl_earlier(unsigned long *when, bool *set, unsigned long other)
{
	if (!*set || time_before(other, *when))
		*when = other;
	*set = true;
}

static void ctl_sleep(struct ipoib_dev *d)
{
	unsigned long when = 0, now = jiffies;
	bool set = false;

	if (!list_empty(&d->later))
		ctl_earlier(&when, &set, d->later_at);
	if (d->sweep_set)
		ctl_earlier(&when, &set, d->sweep_at);
	if (d->retry_set)
		ctl_earlier(&when, &set, d->retry_at);
	if (d->cm.due_set)
		ctl_earlier(&when, &set, d->cm.due);
	if (!set)
		return;
	/* does nothing when somebody has kicked the worker meanwhile */
	queue_delayed_work(ipoib_wq, &d->ctl_work,
			   time_after(when, now) ? when - now : 0);
}

static void ctl_work(struct work_struct *work)
{
	struct ipoib_dev *d = container_of(to_delayed_work(work),
					   struct ipoib_dev, ctl_work);
	u32 events, steps;
	unsigned int noio;

	/* storage may hang on this interface, which waits for this work */
	noio = memalloc_noio_save();
	mutex_lock(&d->ctl_mutex);
	events = atomic_xchg(&d->events, 0);
	if (d->retry_set && !time_before(jiffies, d->retry_at)) {
		d->retry_set = false;
		events |= d->restart_failed ? IPOIB_EV_RESET : IPOIB_EV_OPEN;
		d->restart_failed = false;
	}

	/* nobody tells of a new subnet prefix alone: look now and then */
	if (ctl_sweep_due(d))
		events |= IPOIB_EV_GID;

	steps = ipoib_policy_plan(d->state, events);
	ctl_take_steps(d, steps);
	ctl_run_groups(d);
	ctl_run_targets(d);
	/* the broadcast group may just have become ready */
	ctl_run_groups(d);
	ipoib_cm_run(d);
	ctl_explain(d);
	ipoib_ah_reap(d);
	if (d->state != IPOIB_GONE)
		ctl_sleep(d);
	mutex_unlock(&d->ctl_mutex);
	memalloc_noio_restore(noio);
}

/* rtnl held */
static void publish_write_pkey(struct net_device *dev, u16 pkey)
{
	u8 addr[IPOIB_ALEN];

	netif_addr_lock_bh(dev);
	memcpy(addr, dev->broadcast, IPOIB_ALEN);
	ipoib_addr_set_pkey(addr, pkey);
	memcpy((u8 *)dev->broadcast, addr, IPOIB_ALEN);
	netif_addr_unlock_bh(dev);
}

/* Give a netdev the broadcast address of a partition.  rtnl held */
static void publish_pkey(struct net_device *dev, u16 pkey)
{
	/* groups in the device list carry the P_Key: the stack has to take
	 * them back and map them again
	 */
	call_netdevice_notifiers(NETDEV_PRE_TYPE_CHANGE, dev);
	publish_write_pkey(dev, pkey);
	call_netdevice_notifiers(NETDEV_POST_TYPE_CHANGE, dev);
}

/*
 * A bond has a copy of the broadcast address, and does not listen to anything
 * that could tell it that this has changed.  rtnl held.
 */
static struct net_device *publish_find_bond(struct net_device *dev)
{
	struct net_device *bond = netdev_master_upper_dev_get(dev);

	if (bond && bond->type == dev->type &&
	    ipoib_addr_pkey(bond->broadcast) == ipoib_addr_pkey(dev->broadcast))
		return bond;
	return NULL;
}

/* Bring a changed P_Key or GID to the stack.  rtnl held, ctl_mutex not */
static void publish_identity(struct ipoib_dev *d)
{
	struct net_device *dev = d->dev, *bond;
	u8 addr[IPOIB_ALEN];
	u16 pkey;

	mutex_lock(&d->ctl_mutex);
	ipoib_addr_build(addr, dev->dev_addr[0], d->qp->qp_num, d->gid.raw);
	pkey = d->pkey;
	mutex_unlock(&d->ctl_mutex);

	if (memcmp(addr, dev->dev_addr, IPOIB_ALEN)) {
		dev_addr_set(dev, addr);
		call_netdevice_notifiers(NETDEV_CHANGEADDR, dev);
	}
	if (pkey == d->published_pkey)
		return;

	bond = publish_find_bond(dev);
	publish_pkey(dev, pkey);
	if (bond)
		publish_pkey(bond, pkey);
	d->published_pkey = pkey;
	ipoib_kick(d, IPOIB_EV_MCLIST);
}

/* The MTU follows the broadcast group.  rtnl held, ctl_mutex not */
static void publish_mtu(struct ipoib_dev *d)
{
	u32 group = READ_ONCE(d->mcast.mtu), wish = d->mtu_wish, mtu;
	struct net_device *dev = d->dev;

	/* that of connected mode has nothing to do with the group */
	mtu = d->cm.connected ? dev->mtu :
	      ipoib_policy_mtu(wish, d->port_mtu, group);
	if (dev->mtu != mtu && dev_set_mtu(dev, mtu))
		netdev_warn(dev, "cannot set the MTU to %u\n", mtu);
	/* our own change is no wish of the administrator */
	d->mtu_wish = wish;
	WRITE_ONCE(d->published_mtu, group);
}

/* Look again, and turn carrier on.  rtnl held, ctl_mutex not */
static void publish_live(struct ipoib_dev *d)
{
	mutex_lock(&d->ctl_mutex);
	if (d->state == IPOIB_JOINING && d->mcast.ready &&
	    d->pkey == d->published_pkey &&
	    d->mcast.mtu == d->published_mtu && ctl_move(d, IPOIB_LIVE)) {
		netif_carrier_on(d->dev);
		/* a packet may have slipped in while the last ones were flushed */
		ipoib_target_queue_all(d, IPOIB_TARGET_PATH);
	}
	ctl_explain(d);
	mutex_unlock(&d->ctl_mutex);
}

static void publish_one(struct ipoib_dev *d)
{
	publish_identity(d);
	if (READ_ONCE(d->mcast.ready)) {
		publish_mtu(d);
		publish_live(d);
	}
}

static struct ipoib_dev *publish_next(struct list_head *list)
{
	struct ipoib_dev *d;

	spin_lock(&ctl_publish_lock);
	d = list_first_entry_or_null(list, struct ipoib_dev, publish);
	if (d)
		list_del_init(&d->publish);
	spin_unlock(&ctl_publish_lock);
	return d;
}

static void ctl_publish_all(struct work_struct *work)
{
	struct ipoib_dev *d;
	LIST_HEAD(list);

	rtnl_lock();
	spin_lock(&ctl_publish_lock);
	list_splice_init(&ctl_publish_list, &list);
	spin_unlock(&ctl_publish_lock);
	while ((d = publish_next(&list)))
		publish_one(d);
	rtnl_unlock();
}

/**
 * ipoib_ctl_init - prepare the control side of a new interface
 * @d: interface, zeroed
 *
 * Context: process.
 */
void ipoib_ctl_init(struct ipoib_dev *d)
{
	mutex_init(&d->ctl_mutex);
	spin_lock_init(&d->async_lock);
	init_waitqueue_head(&d->async_idle);
	INIT_DELAYED_WORK(&d->ctl_work, ctl_work);
	INIT_LIST_HEAD(&d->publish);
	INIT_LIST_HEAD(&d->children);
	INIT_LIST_HEAD(&d->sibling);
	d->state = IPOIB_DOWN;
}

/**
 * ipoib_ctl_first_look - read P_Key and GID before an interface is registered
 * @d: interface with its verbs objects; children have their P_Key set
 *
 * Context: process, may sleep.
 * Return: 0, or an errno when the port has no GID.
 */
int ipoib_ctl_first_look(struct ipoib_dev *d)
{
	union ib_gid gid;
	int err;

	mutex_lock(&d->ctl_mutex);
	if (!d->pkey)
		d->pkey = IPOIB_PKEY_FULL;
	err = rdma_query_gid(d->ca, d->port, 0, &gid);
	ctl_refresh_identity(d);
	d->published_pkey = d->pkey;
	mutex_unlock(&d->ctl_mutex);
	return err;
}

/**
 * ipoib_ctl_keep_pkey - the broadcast address may have been set by hand
 * @d: interface, registered
 *
 * Its scope is for the administrator to choose.  The P_Key is ours, and goes
 * back before the stack maps any group by it.
 *
 * Context: rtnl.
 */
void ipoib_ctl_keep_pkey(struct ipoib_dev *d)
{
	if (ipoib_addr_pkey(d->dev->broadcast) != d->published_pkey)
		publish_write_pkey(d->dev, d->published_pkey);
}

/**
 * ipoib_ctl_set_guid - take another GUID into the address
 * @d: interface
 * @guid: interface id of the new GID, which the SM may hand out later
 *
 * Until the GID is in the port's table there is no carrier.
 *
 * Context: rtnl.
 */
void ipoib_ctl_set_guid(struct ipoib_dev *d, __be64 guid)
{
	bool restart;

	mutex_lock(&d->ctl_mutex);
	d->admin_guid = guid;
	d->guid_is_wish = false;
	restart = ctl_refresh_identity(d) && d->state != IPOIB_DOWN;
	mutex_unlock(&d->ctl_mutex);

	publish_identity(d);
	if (restart)
		ipoib_kick(d, IPOIB_EV_RESET);
}

/**
 * ipoib_ctl_open - set an interface up
 * @d: interface in DOWN, polling is on
 *
 * Never waits for SM or port: carrier comes when it comes.
 *
 * Context: rtnl.
 * Return: 0 or a negative errno.
 */
int ipoib_ctl_open(struct ipoib_dev *d)
{
	int err = 0;

	mutex_lock(&d->ctl_mutex);
	ctl_refresh_identity(d);
	if (!d->gid_found && d->guid_is_wish) {
		netdev_info(d->dev, "GUID %016llx is not in the port's table, using that of the port\n",
			    be64_to_cpu(d->admin_guid));
		d->admin_guid = 0;
		ctl_refresh_identity(d);
	}
	if (d->pkey_found)
		err = ipoib_ib_start(d);
	if (!err) {
		d->restart_failed = false;
		d->mcast.dirty = true;
		if (d->pkey_found)
			ctl_move(d, IPOIB_WAIT_PORT);
		ctl_look_at_port(d);
		ctl_publish(d);
	}
	mutex_unlock(&d->ctl_mutex);

	if (!err)
		ipoib_kick(d, IPOIB_EV_OPEN);
	return err;
}

/**
 * ipoib_ctl_stop - set an interface down
 * @d: interface, polling is on
 *
 * After this no target exists, both rings are empty and nothing is asked from
 * the SA, although answers to cancelled questions may still come.
 *
 * Context: rtnl.  Waits for the HCA, bounded, never for the SA.
 */
void ipoib_ctl_stop(struct ipoib_dev *d)
{
	mutex_lock(&d->ctl_mutex);
	ctl_move(d, IPOIB_DOWN);
	netif_carrier_off(d->dev);
	/* a sender that still saw it live has inserted its target after this */
	ipoib_tx_close(d);
	d->retry_set = false;
	d->sweep_set = false;
	d->restart_failed = false;
	ctl_flush(d);
	/* let go of the dead ones that still wait for a visit */
	ipoib_target_wake_later(d, true);
	ipoib_target_visit_todo(d, ctl_step);
	ipoib_ib_stop(d);
	ctl_explain(d);
	mutex_unlock(&d->ctl_mutex);
}

static bool ctl_async_idle(struct ipoib_dev *d)
{
	bool idle;

	spin_lock_irq(&d->async_lock);
	idle = !d->async;
	spin_unlock_irq(&d->async_lock);
	return idle;
}

/**
 * ipoib_ctl_fini - end the control side of an interface for good
 * @d: interface in DOWN, being unregistered
 *
 * Context: rtnl.  Waits for the callbacks of cancelled queries.
 */
void ipoib_ctl_fini(struct ipoib_dev *d)
{
	mutex_lock(&d->ctl_mutex);
	ctl_move(d, IPOIB_GONE);
	mutex_unlock(&d->ctl_mutex);

	wait_event(d->async_idle, ctl_async_idle(d));
	/* files in sysfs and debugfs are still there to write to */
	disable_delayed_work_sync(&d->ctl_work);
	ctl_unpublish(d);

	mutex_lock(&d->ctl_mutex);
	ipoib_target_visit_todo(d, ctl_step);
	mutex_unlock(&d->ctl_mutex);
	ipoib_ah_reap_all(d);
}

static u32 ctl_event_bits(enum ib_event_type event)
{
	switch (event) {
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_LID_CHANGE:
		return IPOIB_EV_PORT;
	case IB_EVENT_CLIENT_REREGISTER:
		return IPOIB_EV_REREG;
	case IB_EVENT_PKEY_CHANGE:
		return IPOIB_EV_PKEY;
	case IB_EVENT_GID_CHANGE:
		return IPOIB_EV_GID;
	default:
		return 0;
	}
}

/**
 * ipoib_ctl_news - a port has news for its interface and the children of that
 * @d: parent
 * @events: mask of IPOIB_EV_*
 *
 * Context: any.
 */
void ipoib_ctl_news(struct ipoib_dev *d, u32 events)
{
	struct ipoib_dev *child;

	rcu_read_lock();
	list_for_each_entry_rcu(child, &d->children, sibling)
		ipoib_kick(child, events);
	rcu_read_unlock();
	ipoib_kick(d, events);
}

/**
 * ipoib_ctl_ib_event - the InfiniBand device has news
 * @handler: inside struct ipoib_hca
 * @event: what happened, to which port
 *
 * Context: process, called by the InfiniBand core.
 */
void ipoib_ctl_ib_event(struct ib_event_handler *handler,
			struct ib_event *event)
{
	struct ipoib_hca *hca = container_of(handler, struct ipoib_hca,
					     handler);
	u32 bits = ctl_event_bits(event->event);
	struct ipoib_dev *d;

	if (!bits)
		return;

	list_for_each_entry(d, &hca->ports, hca_link) {
		if (d->port != event->element.port_num)
			continue;
		ipoib_dbg(d, "event: %s\n", ib_event_msg(event->event));
		ipoib_ctl_news(d, bits);
	}
}
