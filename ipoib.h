/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The objects that all rooms of the driver share, and the order of its locks.
 *
 * Lock order, outer to inner; two locks of one kind never nest:
 *
 *	rtnl > ctl_mutex > tx queue lock > tbl_lock > target->lock, todo_lock
 *	ctl_mutex > cm.rx.fill_lock;  target->lock > cm.lock
 *
 * - rtnl: what the stack sees of a netdev (address, MTU, children).
 * - ctl_mutex: state and the control side of all targets.  Sleeps.
 * - tx queue lock (of the netdev queue): transmit side of the ring.
 * - tbl_lock: list of all targets.  Spinlock, bh.
 * - target->lock: dead mark, parked packets, answers of the SA.  Spinlock, bh.
 * - todo_lock: list of targets that wait for the worker.  Spinlock, bh.
 * - cm.lock: lists of connections.  Spinlock, irq, as the HCA reports there.
 * - cm.rx.fill_lock: making the buffers that connections share.  Sleeps.
 *
 * A packet that finds its target takes the tx queue lock and RCU, nothing else.
 * Transmit never calls into the SA: it marks the target and wakes the control
 * worker.  Callbacks of the SA store their answer under target->lock and wake
 * the worker too.  The worker takes ctl_mutex and never rtnl, therefore stop
 * may wait for it; what needs rtnl is done by another work item.
 */
#ifndef _IPOIB_H
#define _IPOIB_H

#include <linux/bitops.h>
#include <linux/if_infiniband.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/rhashtable-types.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include <rdma/ib_sa.h>
#include <rdma/ib_verbs.h>

#include "ipoib_addr.h"
#include "ipoib_cm.h"
#include "ipoib_hdr.h"
#include "ipoib_policy.h"
#include "ipoib_rx.h"
#include "ipoib_target.h"
#include "ipoib_tx.h"

#define IPOIB_DRV_NAME		"ib_ipoib"
#define IPOIB_WATCHDOG		(10 * HZ)
#define IPOIB_DRAIN_TIMEOUT	(5 * HZ)
#define IPOIB_FS_FILES		5
#define IPOIB_REASON_LEN	64

struct ipoib_group;

/**
 * struct ipoib_hca - what the driver keeps for one InfiniBand device
 * @ca: the device
 * @handler: our place in its event chain
 * @ports: parent interfaces; written at add and remove only, when no event
 *	handler is registered
 */
struct ipoib_hca {
	struct ib_device *ca;
	struct ib_event_handler handler;
	struct list_head ports;
};

/**
 * struct ipoib_mcast - multicast side of an interface
 * @bcast: the broadcast group once it is wanted; owns a reference
 * @ready: the broadcast group is joined and attached
 * @dirty: the device list has to be compared with the groups
 * @qkey: Q_Key of the broadcast group, written before @ready
 * @mtu: IB MTU of the broadcast group in bytes
 * @round: number of the last comparison with the device list
 * @failing: groups whose last join failed
 *
 * All under ctl_mutex, but @qkey and @mtu are read by transmit.
 */
struct ipoib_mcast {
	struct ipoib_group *bcast;
	bool ready;
	bool dirty;
	u32 qkey;
	u32 mtu;
	u32 round;
	u32 failing;
};

/**
 * struct ipoib_dev - private part of a netdev, one for each interface
 *
 * Letters: I set once before registration; R under rtnl; C under ctl_mutex;
 * A atomic or bit operation; T see the lock named.
 *
 * @txq: transmit ring
 * @rxq: receive ring
 * @dev: I the netdev
 * @ca: I InfiniBand device
 * @pd: I protection domain
 * @qp: I the UD queue pair
 * @targets: paths and groups by GID; RCU read
 * @all_targets: T tbl_lock: the same as a list
 * @tbl_lock: guards @all_targets and @strangers
 * @strangers: T tbl_lock: paths that packets have made and that are not known
 *	to exist, and groups that packets alone have made; read in any context
 * @todo_lock: guards @todo
 * @todo: T todo_lock: targets that wait for the worker
 * @later: C targets that wait for a time
 * @later_at: C the earliest of these times, valid when @later is not empty
 * @lines: C paths that ask the SA or wait for their turn, and groups that do
 * @events: A mask of IPOIB_EV_* not yet seen by the worker
 * @ctl_mutex: serialises worker, open and stop
 * @state: C state of the interface, read anywhere
 * @reason: C why there is a carrier or none, for people
 * @ctl_work: the control worker
 * @publish: place among those that have news for the stack, see ctl_publish()
 * @retired: A address handles that may still be in use by the HCA
 * @reaping: C address handles with a stamp
 * @reap_wanted: A the worker waits for the transmit ring to advance
 * @async_lock: leaf; guards @async
 * @async: SA queries and RCU callbacks that will still touch this interface
 * @async_idle: woken when @async drops to zero
 * @mcast: C multicast side
 * @cm: connected mode
 * @retry_at: C the worker wants to run again at this time
 * @retry_set: C @retry_at is valid
 * @restart_failed: C the queue pair is in RESET and waits for the next try
 * @sweep_at: C time of the next look for idle targets
 * @sweep_set: C @sweep_at is valid
 * @pkey: C P_Key in use, full-member bit set
 * @pkey_index: C its index, valid with @pkey_found
 * @pkey_found: C the P_Key is in the port's table
 * @gid: C GID in use
 * @gid_found: C @gid is in the port's table
 * @admin_guid: C GUID set by the administrator, 0 for that of the port
 * @guid_is_wish: C @admin_guid came with the creation of a child: it is given up
 *	when the port does not have it at open
 * @published_pkey: R P_Key in dev->broadcast
 * @published_mtu: R group MTU that dev->mtu was made from
 * @port_mtu: I largest IB MTU of the port, bytes
 * @mtu_wish: R IP MTU asked for by the administrator, 0 for the largest
 * @port: I port number, from 1
 * @umcast: R leave groups joined by user space alone
 * @by_sysfs: I child made through create_child
 * @parent: I parent interface of a child, or NULL
 * @children: R list of children; RCU read
 * @sibling: R place in @children
 * @fs_files: R files in debugfs
 * @hca: I device-wide data
 * @hca_link: I place in hca->ports, parents only
 */
struct ipoib_dev {
	struct ipoib_txq txq;
	struct ipoib_rxq rxq;

	struct net_device *dev ____cacheline_aligned_in_smp;
	struct ib_device *ca;
	struct ib_pd *pd;
	struct ib_qp *qp;
	struct rhashtable targets;

	/* guards all_targets */
	spinlock_t tbl_lock ____cacheline_aligned_in_smp;
	struct list_head all_targets;
	/* guards todo */
	spinlock_t todo_lock;
	struct list_head todo;
	struct list_head later;
	unsigned long later_at;
	struct ipoib_line lines[IPOIB_TARGET_KINDS];
	u32 strangers[IPOIB_TARGET_KINDS];
	atomic_t events;

	/* serialises worker, open and stop */
	struct mutex ctl_mutex;
	enum ipoib_state state;
	char reason[IPOIB_REASON_LEN];
	struct delayed_work ctl_work;
	struct list_head publish;

	struct llist_head retired;
	struct list_head reaping;
	unsigned long reap_wanted;

	/* guards async */
	spinlock_t async_lock;
	u32 async;
	wait_queue_head_t async_idle;

	struct ipoib_mcast mcast;
	struct ipoib_cm cm;
	unsigned long retry_at;
	bool retry_set;
	bool restart_failed;
	unsigned long sweep_at;
	bool sweep_set;

	u16 pkey;
	u16 pkey_index;
	bool pkey_found;
	union ib_gid gid;
	bool gid_found;
	__be64 admin_guid;
	bool guid_is_wish;
	u16 published_pkey;
	u32 published_mtu;
	u32 port_mtu;
	u32 mtu_wish;
	u32 port;
	bool umcast;
	bool by_sysfs;

	struct ipoib_dev *parent;
	struct list_head children;
	struct list_head sibling;
	struct dentry *fs_files[IPOIB_FS_FILES];
	struct ipoib_hca *hca;
	struct list_head hca_link;
};

extern const struct net_device_ops ipoib_netdev_ops;
extern struct workqueue_struct *ipoib_wq;
extern struct ib_sa_client ipoib_sa_client;

/**
 * ipoib_kick - tell the control worker that something happened
 * @d: interface
 * @events: mask of IPOIB_EV_*
 *
 * Context: any, even with interrupts off.
 */
static inline void ipoib_kick(struct ipoib_dev *d, u32 events)
{
	atomic_or(events, &d->events);
	mod_delayed_work(ipoib_wq, &d->ctl_work, 0);
}

/**
 * ipoib_retry - let the control worker run again after a while
 * @d: interface
 * @delay: ticks
 *
 * Context: ctl_mutex.
 */
static inline void ipoib_retry(struct ipoib_dev *d, unsigned long delay)
{
	d->retry_at = jiffies + delay;
	d->retry_set = true;
}

/**
 * ipoib_async_begin - something will call back later
 * @d: interface, which will not be freed before ipoib_async_end()
 *
 * Context: any.
 */
static inline void ipoib_async_begin(struct ipoib_dev *d)
{
	unsigned long flags;

	spin_lock_irqsave(&d->async_lock, flags);
	d->async++;
	spin_unlock_irqrestore(&d->async_lock, flags);
}

/**
 * ipoib_async_end - the callback is done with the interface
 * @d: interface, may be gone after this
 *
 * Context: any.
 */
static inline void ipoib_async_end(struct ipoib_dev *d)
{
	unsigned long flags;

	spin_lock_irqsave(&d->async_lock, flags);
	if (!--d->async)
		wake_up(&d->async_idle);
	spin_unlock_irqrestore(&d->async_lock, flags);
}

/**
 * ipoib_is_ipoib - is this netdev one of ours?
 * @dev: any netdev
 *
 * The ARP type alone does not tell: a bond of IPoIB slaves has it too.
 *
 * Context: any.
 * Return: true for parents and children of this driver.
 */
static inline bool ipoib_is_ipoib(const struct net_device *dev)
{
	return dev->netdev_ops == &ipoib_netdev_ops;
}

/**
 * ipoib_priv - the interface behind a netdev
 * @dev: netdev of this driver
 *
 * Context: any.
 * Return: its private part.
 */
static inline struct ipoib_dev *ipoib_priv(const struct net_device *dev)
{
	return netdev_priv(dev);
}

#ifdef CONFIG_INFINIBAND_IPOIB_DEBUG
extern int ipoib_debug_level;
extern int ipoib_mcast_debug_level;
#else
#define ipoib_debug_level	0
#define ipoib_mcast_debug_level	0
#endif

#ifdef CONFIG_INFINIBAND_IPOIB_DEBUG_DATA
extern int ipoib_data_debug_level;
#else
#define ipoib_data_debug_level	0
#endif

#define ipoib_dbg(d, fmt, ...)						\
do {									\
	if (unlikely(ipoib_debug_level > 0))				\
		netdev_printk(KERN_DEBUG, (d)->dev, fmt, ##__VA_ARGS__); \
} while (0)

#define ipoib_mcast_dbg(d, fmt, ...)					\
do {									\
	if (unlikely(ipoib_mcast_debug_level > 0))			\
		netdev_printk(KERN_DEBUG, (d)->dev, fmt, ##__VA_ARGS__); \
} while (0)

#define ipoib_data_dbg(d, fmt, ...)					\
do {									\
	if (unlikely(ipoib_data_debug_level > 0))			\
		netdev_printk(KERN_DEBUG, (d)->dev, fmt, ##__VA_ARGS__); \
} while (0)

#endif /* _IPOIB_H */
