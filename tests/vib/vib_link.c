// SPDX-License-Identifier: GPL-2.0
/*
 * Links: cables, and the states of the ports at their ends.
 *
 * Whether a link is up depends on both of its ends, so that decision and the peer pointers sit
 * under the one vib_link_lock; inside it each end's lock is taken in turn, never two at once. What
 * happened is noted while locks are held and announced when they are gone: as events to the clients
 * of an HCA, as a state change and a notice at a switch.
 *
 * Called by management (subnet management agent, control file, creation and removal of nodes) from
 * any context; only vib_uncable() sleeps, because it waits for packets to leave the cable.
 */
#include "vib_fabric.h"

#include <linux/bitops.h>
#include <linux/rcupdate.h>

#include "vib.h"

/* peer pointers, plugged and enabled of all ports */
static DEFINE_SPINLOCK(vib_link_lock);

/* What a change of a link means for one of its ends */
struct link_news {
	struct vib_lport *lp;
	u32 events;
	bool moved;
	bool fell;
};

/* One end of the link goes down; vib_link_lock held */
static void link_end_down(struct link_news *news)
{
	struct vib_lport *lp = news->lp;

	lockdep_assert_held(&vib_link_lock);
	spin_lock(&lp->lock);
	if (lp->state == IB_PORT_ACTIVE)
		news->events |= BIT(IB_EVENT_PORT_ERR);
	if (lp->state != IB_PORT_DOWN) {
		vib_lport_err(lp, VIB_ERR_LINK_DOWNED);
		WRITE_ONCE(lp->state, IB_PORT_DOWN);
		news->moved = true;
		news->fell = true;
	}
	lp->phys_state = lp->enabled ? IB_PORT_PHYS_STATE_POLLING : IB_PORT_PHYS_STATE_DISABLED;
	spin_unlock(&lp->lock);
}

/* One end of the link has trained; vib_link_lock held */
static void link_end_up(struct link_news *news, u8 width, u8 speed)
{
	struct vib_lport *lp = news->lp;

	lockdep_assert_held(&vib_link_lock);
	spin_lock(&lp->lock);
	if (lp->state == IB_PORT_DOWN) {
		lp->width_act = BIT(fls(width) - 1);
		lp->speed_act = BIT(fls(speed) - 1);
		lp->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
		/* what the far end of a wire is up to is decided there */
		WRITE_ONCE(lp->state, lp->wire ? IB_PORT_ACTIVE : IB_PORT_INIT);
		news->moved = true;
	}
	spin_unlock(&lp->lock);
}

/*
 * Brings both ends of the link of news[0].lp to the state that they should have, by way of DOWN if
 * @retrain says so. vib_link_lock held. Without a peer it is about the one end only.
 */
static void link_run(struct link_news news[2], bool retrain)
{
	struct vib_lport *a = news[0].lp;
	struct vib_lport *b = rcu_dereference_protected(a->peer,
							lockdep_is_held(&vib_link_lock));
	u8 width = 0, speed = 0;

	news[1].lp = b;
	/* over a wire, training is agreed on by both its ends */
	if (retrain && b && b->wire)
		b->plugged = false;
	if (b && a->plugged && b->plugged && a->enabled && b->enabled) {
		width = READ_ONCE(a->width_en) & READ_ONCE(b->width_en);
		speed = READ_ONCE(a->speed_en) & READ_ONCE(b->speed_en);
	}
	if (retrain || !width || !speed) {
		link_end_down(&news[0]);
		if (b)
			link_end_down(&news[1]);
	}
	if (width && speed) {
		link_end_up(&news[0], width, speed);
		link_end_up(&news[1], width, speed);
	}
}

/* news[0] is about the end that something was done to: a wire itself is not told what it did */
static void link_announce(const struct link_news news[2])
{
	int i;

	if (news[1].lp && news[1].lp->wire)
		vib_wire_news(news[1].lp, news[1].fell);
	for (i = 0; i < 2; i++) {
		if (!news[i].lp || !news[i].moved)
			continue;
		if (news[i].lp->sw)
			vib_switch_link_changed(news[i].lp->sw);
		else
			vib_lport_raise(news[i].lp, news[i].events);
	}
}

/* Sets *@flag, which says whether the link of @lp may be up, and does what follows from it */
static void link_set(struct vib_lport *lp, bool *flag, bool val, bool retrain)
{
	struct link_news news[2] = { { .lp = lp } };
	unsigned long flags;

	rcu_read_lock();
	spin_lock_irqsave(&vib_link_lock, flags);
	*flag = val;
	link_run(news, retrain);
	spin_unlock_irqrestore(&vib_link_lock, flags);
	link_announce(news);
	rcu_read_unlock();
}

/**
 * vib_lport_link - put the cable into one end or take it out
 * @lp: the end
 * @up: whether it is in
 *
 * Context: any, without a lock of the fabric.
 */
void vib_lport_link(struct vib_lport *lp, bool up)
{
	link_set(lp, &lp->plugged, up, false);
}

/**
 * vib_port_link - put the cable into an HCA port or take it out
 * @port: the port
 * @up: whether it is in
 *
 * Context: any, without a lock of the fabric.
 */
void vib_port_link(struct vib_port *port, bool up)
{
	vib_lport_link(&port->lport, up);
}

/**
 * vib_lport_enable - management disables a port, or lets it poll again
 * @lp: the port
 * @on: false for disabled
 *
 * Context: any, without a lock of the fabric.
 */
void vib_lport_enable(struct vib_lport *lp, bool on)
{
	link_set(lp, &lp->enabled, on, false);
}

/**
 * vib_lport_retrain - take the link down and train it again
 * @lp: one of its ends
 *
 * Context: any, without a lock of the fabric.
 */
void vib_lport_retrain(struct vib_lport *lp)
{
	struct link_news news[2] = { { .lp = lp } };
	unsigned long flags;

	rcu_read_lock();
	spin_lock_irqsave(&vib_link_lock, flags);
	link_run(news, true);
	spin_unlock_irqrestore(&vib_link_lock, flags);
	link_announce(news);
	rcu_read_unlock();
}

/**
 * vib_cable - run a cable between two ports
 * @a: one end
 * @b: the other end
 *
 * The link trains at once if both ends are plugged and enabled.
 *
 * Context: process.
 * Return: 0, -EINVAL for ends that take no cable, -EBUSY if one has a cable already.
 */
int vib_cable(struct vib_lport *a, struct vib_lport *b)
{
	struct link_news news[2] = { { .lp = a } };
	unsigned long flags;
	int ret = 0;

	if (a == b || !a->num || !b->num)
		return -EINVAL;
	rcu_read_lock();
	spin_lock_irqsave(&vib_link_lock, flags);
	if (rcu_access_pointer(a->peer) || rcu_access_pointer(b->peer)) {
		ret = -EBUSY;
	} else {
		rcu_assign_pointer(a->peer, b);
		rcu_assign_pointer(b->peer, a);
		link_run(news, false);
	}
	spin_unlock_irqrestore(&vib_link_lock, flags);
	link_announce(news);
	rcu_read_unlock();
	return ret;
}

/**
 * vib_uncable - remove the cable of a port
 * @lp: either end
 *
 * Context: process, may sleep: no packet is on the cable any more when it returns.
 * Return: 0, or -ENOTCONN if there is no cable.
 */
int vib_uncable(struct vib_lport *lp)
{
	struct link_news news[2] = { { .lp = lp } };
	unsigned long flags;

	rcu_read_lock();
	spin_lock_irqsave(&vib_link_lock, flags);
	news[1].lp = rcu_dereference_protected(lp->peer, lockdep_is_held(&vib_link_lock));
	if (news[1].lp) {
		RCU_INIT_POINTER(lp->peer, NULL);
		RCU_INIT_POINTER(news[1].lp->peer, NULL);
		link_end_down(&news[0]);
		link_end_down(&news[1]);
	}
	spin_unlock_irqrestore(&vib_link_lock, flags);
	link_announce(news);
	rcu_read_unlock();
	if (!news[1].lp)
		return -ENOTCONN;
	synchronize_rcu();
	return 0;
}

/**
 * __vib_lport_check_state - may management set this port state now?
 * @lp: the port, its lock held
 * @state: PortState of a Set, 0 for no change
 *
 * Context: any, @lp->lock held.
 * Return: 0 or the MAD status that refuses it.
 */
u16 __vib_lport_check_state(const struct vib_lport *lp, u8 state)
{
	bool ok;

	lockdep_assert_held(&lp->lock);
	switch (state) {
	case IB_PORT_NOP:
	case IB_PORT_DOWN:
		ok = true;
		break;
	case IB_PORT_ARMED:
		ok = lp->state == IB_PORT_INIT || lp->state == IB_PORT_ARMED;
		break;
	case IB_PORT_ACTIVE:
		ok = lp->state == IB_PORT_ARMED || lp->state == IB_PORT_ACTIVE;
		break;
	default:
		ok = false;
	}
	if (lp->sw && !lp->num && state == IB_PORT_ARMED)
		ok = true;	/* the management port is ACTIVE whatever is written */
	return ok ? 0 : IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE;
}

/**
 * __vib_lport_move - management moves a port to ARMED or ACTIVE
 * @lp: the port, its lock held
 * @state: a state that __vib_lport_check_state() allowed
 *
 * Context: any, @lp->lock held.
 * Return: the events that this is worth.
 */
u32 __vib_lport_move(struct vib_lport *lp, u8 state)
{
	lockdep_assert_held(&lp->lock);
	if (lp->state == state || (lp->sw && !lp->num))
		return 0;
	WRITE_ONCE(lp->state, state);
	return state == IB_PORT_ACTIVE ? BIT(IB_EVENT_PORT_ACTIVE) : 0;
}
