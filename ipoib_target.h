/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_TARGET_H
#define _IPOIB_TARGET_H

#include <linux/list.h>
#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/rhashtable-types.h>
#include <linux/skbuff.h>
#include <linux/spinlock.h>

#include <rdma/ib_verbs.h>

struct ipoib_dev;

/**
 * enum ipoib_target_kind - what a target is part of
 * @IPOIB_TARGET_PATH: the path to a port, see ipoib_path.c
 * @IPOIB_TARGET_GROUP: a multicast group, see ipoib_multicast.c
 */
enum ipoib_target_kind {
	IPOIB_TARGET_PATH,
	IPOIB_TARGET_GROUP,
};

#define IPOIB_TARGET_KINDS	2

/**
 * struct ipoib_line - targets of one kind and what they want of the SA
 * @asking: questions under way
 * @waiting: targets that wait for their turn to ask
 */
struct ipoib_line {
	u32 asking;
	struct list_head waiting;
};

/**
 * struct ipoib_ah - an address handle of the HCA
 * @ah: the handle
 * @dev: interface that it was made for, until it is retired
 * @stamp: ring index that has to pass before the handle is destroyed, then
 * @rcu: first waits for transmit to let go of it,
 * @retired: then has a place in dev->retired,
 * @reaping: and in the end in dev->reaping
 */
struct ipoib_ah {
	struct ib_ah *ah;
	union {
		struct ipoib_dev *dev;
		u32 stamp;
	};
	union {
		struct rcu_head rcu;
		struct llist_node retired;
		struct list_head reaping;
	};
};

/**
 * struct ipoib_target - where packets go: head of every path and group
 * @node: place in dev->targets
 * @gid: the key, a port GID or an MGID
 * @ah: address handle; NULL while packets have to be parked.  RCU read,
 *	written by the control worker under @lock
 * @used: time of the last packet, in ticks
 * @wanted: the next packet has the worker look at this target again; set
 *	before @parked is looked at or emptied under @lock, read after a
 *	packet was parked
 * @detoured: a packet for this group took another way; the group should be
 *	joined although nothing waits for it
 * @kind: path or group
 * @stranger: made by a packet, and nothing else speaks for it yet.  Under
 *	dev->tbl_lock
 * @conns: connections to queue pairs of this port; RCU read, written under
 *	@lock
 * @nr_conns: how many these are; under @lock
 * @dead: out of the table; no packet may be parked any more.  Under @lock
 * @lock: guards @dead, @parked, @parked_bytes, writes of @ah and the answer
 *	of the SA in the embedding object
 * @parked: packets that wait for @ah, still with their pseudo header
 * @parked_bytes: truesize of the packets parked
 * @ref: table, lists and callbacks hold one each
 * @next_ah: handle to be published once @parked is empty.  Under ctl_mutex
 * @dev: interface
 * @todo: place in dev->todo, empty when not queued; queueing holds a reference
 * @later: place in dev->later or in a line; holds a reference
 * @all: place in dev->all_targets
 * @rcu: end of life; it is in no list any more
 */
struct ipoib_target {
	struct rhash_head node;
	union ib_gid gid;
	struct ipoib_ah __rcu *ah;
	unsigned long used;
	bool wanted;
	bool detoured;
	u8 kind;
	bool stranger;
	struct hlist_head conns;

	bool dead;
	u16 nr_conns;
	/* guards dead, parked, and writes of ah and conns */
	spinlock_t lock;
	struct sk_buff_head parked;
	u32 parked_bytes;
	refcount_t ref;
	struct ipoib_ah *next_ah;
	struct ipoib_dev *dev;
	struct list_head todo;
	struct list_head later;
	union {
		struct list_head all;
		struct rcu_head rcu;
	};
};

int ipoib_target_table_init(struct ipoib_dev *d);
void ipoib_target_table_fini(struct ipoib_dev *d);
struct ipoib_target *ipoib_target_find(struct ipoib_dev *d, const u8 *gid);
void ipoib_target_setup(struct ipoib_target *t, struct ipoib_dev *d,
			enum ipoib_target_kind kind, const u8 *gid);
struct ipoib_target *ipoib_target_insert(struct ipoib_target *t);
void ipoib_target_get(struct ipoib_target *t);
void ipoib_target_put(struct ipoib_target *t);
bool ipoib_target_kill(struct ipoib_target *t);
void ipoib_target_queue(struct ipoib_target *t);
void ipoib_target_queue_all(struct ipoib_dev *d, enum ipoib_target_kind kind);
void ipoib_target_visit_todo(struct ipoib_dev *d,
			     void (*step)(struct ipoib_target *t));
void ipoib_target_later(struct ipoib_target *t, unsigned long when);
void ipoib_target_wake_later(struct ipoib_dev *d, bool all);
bool ipoib_target_may_ask(struct ipoib_target *t);
void ipoib_target_has_asked(struct ipoib_target *t);
void ipoib_target_run_lines(struct ipoib_dev *d);
struct ipoib_target *ipoib_target_first(struct ipoib_dev *d);
bool ipoib_target_park(struct ipoib_target *t, struct sk_buff *skb);
void ipoib_target_purge(struct ipoib_target *t, enum skb_drop_reason reason);
void ipoib_target_give_up(struct ipoib_target *t, enum skb_drop_reason reason);
bool ipoib_target_await(struct ipoib_target *t);
void ipoib_target_known(struct ipoib_target *t);
int ipoib_target_set_ah(struct ipoib_target *t, struct rdma_ah_attr *attr);
void ipoib_target_resume(struct ipoib_target *t);
void ipoib_ah_reap(struct ipoib_dev *d);
void ipoib_ah_reap_all(struct ipoib_dev *d);

#endif /* _IPOIB_TARGET_H */
