/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_CM_CONN_H
#define _IPOIB_CM_CONN_H

#include <linux/bits.h>
#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <linux/timer.h>

#include <rdma/ib_verbs.h>

#include "ipoib_cm.h"
#include "ipoib_cm_policy.h"
#include "ipoib_ring.h"

#define IPOIB_CM_BACKLOG	SZ_4M		/* bytes that wait for one peer, or for UD */
#define IPOIB_CM_ENOUGH		SZ_1M		/* of these, then the stack waits, */
#define IPOIB_CM_ENOUGH_TIME	(HZ / 2)	/* but only so long */
#define IPOIB_CM_PATIENCE	(2 * HZ)	/* of packets too big for UD */
#define IPOIB_CM_SENDS		32	/* slots of a send ring, a power of two */

struct ib_cm_event;
struct ib_cm_id;
struct ipoib_target;
struct ipoib_tx_slot;
struct sa_path_rec;

/* what a connection has been told, for the worker to act upon */
#define IPOIB_NEWS_REP		BIT(0)	/* the peer agrees */
#define IPOIB_NEWS_REJ		BIT(1)	/* the peer refuses */
#define IPOIB_NEWS_SILENT	BIT(2)	/* the peer does not answer */
#define IPOIB_NEWS_CLOSED	BIT(3)	/* the peer has ended it */
#define IPOIB_NEWS_BROKEN	BIT(4)	/* a send failed, or the queue pair */
#define IPOIB_NEWS_PATH		BIT(5)	/* look at the path again */
#define IPOIB_NEWS_WANTED	BIT(6)	/* a packet wants a held one back */
#define IPOIB_NEWS_MOVED	BIT(7)	/* sends have come back */
#define IPOIB_NEWS_LAST_WQE	BIT(8)	/* takes no more shared buffers */

/**
 * struct ipoib_conn - a connection to one peer, made by us or by the peer
 *
 * Letters: R read by transmit under RCU; X transmit side, under the transmit
 * queue lock; P completion side, one context at a time; C ctl_mutex; I set
 * before others see it; A atomic.
 *
 * @link: R place in target->conns; written under target->lock
 * @qpn: I UD queue pair of the peer
 * @state: R enum ipoib_conn_state, written under the transmit queue lock
 * @active: I made by us: carries our packets
 * @linked: C a target leads here; others end when they have been flushed
 * @wanted: X a packet has asked for a held connection
 * @redial: R nobody listens where it was asked for: that is tried elsewhere as
 *	soon as it has been flushed
 * @limit: R bytes that the peer takes, encapsulation header included
 * @used: A time of the last packet
 * @patient: X until then packets may wait for the connection
 * @next_try: R not asked for again before this time
 * @dev: I interface
 * @slot: send ring
 * @qp: queue pair, NULL while there is none
 * @cq: completion queue of sends
 * @size: I slots of the send ring
 * @max_sge: gather entries of @qp
 * @head: X next slot to fill, free-running; read by P
 * @backlog: X packets that wait, with their pseudo header
 * @backlog_bytes: X their truesize
 * @stops: X the queue of the interface was stopped for it
 * @slow: X it takes too long, and the queue is not stopped for it any more
 * @watch: runs as long as @stops is set
 * @jammed: X the HCA has refused a send
 * @tail: P oldest slot in use, free-running; read by X
 * @taken: P time at which the peer took something; read by C
 * @lost: packets whose send failed, with their pseudo header
 * @target: I where it hangs, with a reference; NULL if made by the peer
 * @gid: I GID of the peer
 * @dlid: C LID that it was made for
 * @id: C handle at the connection manager
 * @news: A mask of IPOIB_NEWS_*
 * @events: A bit IPOIB_NEWS_LAST_WQE stays here
 * @reason: reason of a REJ, valid with IPOIB_NEWS_REJ
 * @rep_err: 0 if the REP made sense, valid with IPOIB_NEWS_REP
 * @base: C kind of service ID dialled
 * @hold: C last pause in seconds
 * @born: C time at which it became live; @used of one that the peer made, before
 *	there was a packet
 * @asked: C time at which it was asked for
 * @again: C the last one ended in good order: it may be asked for at once; read
 *	by X
 * @moved: C time at which sends were last seen to come back, or none was out
 * @moved_to: C value of @tail then
 * @due: C time of the next look, valid with @due_set
 * @due_set: C
 * @ready: C the queue pair has left INIT
 * @stamped: C @stamp is valid
 * @stamp: C value of rx.rounds when the last shared buffer was taken
 * @ring: own receive buffers, if the HCA cannot share; its qp is set as long as
 *	there are some
 * @all: place in one of the lists of struct ipoib_cm
 * @todo: place in cm->todo; holds a reference
 * @ref: lists hold one each
 * @rcu: end of life
 */
struct ipoib_conn {
	struct hlist_node link;
	u32 qpn;
	u8 state;
	bool active;
	bool linked;
	bool wanted;
	bool redial;
	u32 limit;
	unsigned long used;
	unsigned long patient;
	unsigned long next_try;
	struct ipoib_dev *dev;
	struct ipoib_tx_slot *slot;
	struct ib_qp *qp;
	struct ib_cq *cq;
	u32 size;
	u32 max_sge;

	u32 head ____cacheline_aligned_in_smp;
	struct sk_buff_head backlog;
	u32 backlog_bytes;
	bool stops;
	bool slow;
	bool jammed;
	struct timer_list watch;

	u32 tail ____cacheline_aligned_in_smp;
	unsigned long taken;
	struct sk_buff_head lost;

	struct ipoib_target *target ____cacheline_aligned_in_smp;
	union ib_gid gid;
	u32 dlid;
	struct ib_cm_id *id;
	unsigned long news;
	unsigned long events;
	u32 reason;
	int rep_err;
	u64 base;
	u32 hold;
	unsigned long born;
	unsigned long asked;
	bool again;
	unsigned long moved;
	u32 moved_to;
	unsigned long due;
	bool due_set;
	bool ready;
	bool stamped;
	u32 stamp;
	struct ipoib_cm_ring ring;
	struct list_head all;
	struct list_head todo;
	refcount_t ref;
	struct rcu_head rcu;
};

/**
 * ipoib_conn_room - slots that can be filled
 * @c: connection
 *
 * Context: any; exact for the transmit side.
 * Return: number of slots.
 */
static inline u32 ipoib_conn_room(const struct ipoib_conn *c)
{
	return ipoib_ring_free(READ_ONCE(c->head), READ_ONCE(c->tail), c->size);
}

/**
 * ipoib_conn_sent - have all sends come back?
 * @c: connection
 *
 * Context: any.
 * Return: true when they have.
 */
static inline bool ipoib_conn_sent(const struct ipoib_conn *c)
{
	return READ_ONCE(c->head) == READ_ONCE(c->tail);
}

/**
 * ipoib_conn_touch - a packet has used a connection
 * @c: connection
 *
 * Context: any.
 */
static inline void ipoib_conn_touch(struct ipoib_conn *c)
{
	unsigned long now = jiffies;

	if (READ_ONCE(c->used) != now)
		WRITE_ONCE(c->used, now);
}

/**
 * ipoib_conn_be_patient - packets that are too big for UD may wait a little
 * @c: connection that has just been wanted
 *
 * Context: transmit queue lock held.
 */
static inline void ipoib_conn_be_patient(struct ipoib_conn *c)
{
	WRITE_ONCE(c->patient, jiffies + IPOIB_CM_PATIENCE);
}

/**
 * ipoib_cm_due_at - have the worker come back at that time at the latest
 * @cm: connections of an interface
 * @when: time in ticks
 *
 * Context: ctl_mutex.
 */
static inline void ipoib_cm_due_at(struct ipoib_cm *cm, unsigned long when)
{
	if (!cm->due_set || time_before(when, cm->due))
		cm->due = when;
	cm->due_set = true;
}

/* ipoib_cm_conn.c */
struct ipoib_conn *ipoib_conn_find(struct ipoib_target *t, u32 qpn);
struct ipoib_conn *ipoib_conn_make(struct ipoib_target *t, u32 qpn);
int ipoib_conn_accept(struct ipoib_dev *d, struct ib_cm_id *id,
		      const struct ib_cm_event *event);
void ipoib_conn_tell(struct ipoib_conn *c, unsigned long news);
void ipoib_conn_unlink(struct ipoib_conn *c);
void ipoib_conn_end(struct ipoib_conn *c);
bool ipoib_conn_stuck(struct ipoib_conn *c);
bool ipoib_conn_settle(struct ipoib_conn *c, bool overdue);
void ipoib_conn_step(struct ipoib_conn *c);
void ipoib_conn_put(struct ipoib_conn *c);
void ipoib_cm_wake(struct ipoib_dev *d);

/* ipoib_cm_tx.c */
int ipoib_cm_tx_init(struct ipoib_conn *c);
void ipoib_cm_tx_fini(struct ipoib_conn *c);
void ipoib_cm_tx_watch(struct timer_list *timer);
void ipoib_cm_tx_send(struct ipoib_conn *c, struct sk_buff *skb);
void ipoib_cm_tx_pump(struct ipoib_conn *c);
void ipoib_cm_tx_divert(struct ipoib_conn *c);
void ipoib_cm_tx_run(struct ipoib_dev *d);
void ipoib_cm_tx_refuse(struct ipoib_dev *d, struct sk_buff *skb, u32 most,
			bool brief);

/* ipoib_cm_rx.c */
void ipoib_cm_rx_plan(struct ipoib_dev *d);
int ipoib_cm_rx_open(struct ipoib_dev *d);
void ipoib_cm_rx_close(struct ipoib_dev *d);
void ipoib_cm_rx_pause(struct ipoib_dev *d);
void ipoib_cm_rx_resume(struct ipoib_dev *d);
int ipoib_cm_rx_share(struct ipoib_dev *d);
bool ipoib_cm_rx_refill(struct ipoib_dev *d, unsigned long *when);
int ipoib_cm_rx_fill(struct ipoib_dev *d, struct ipoib_cm_ring *ring,
		     u32 size);
void ipoib_cm_rx_empty(struct ipoib_dev *d, struct ipoib_cm_ring *ring);
bool ipoib_cm_rx_synced(struct ipoib_dev *d, u32 stamp);

/* limits, in ipoib_cm.c */
u32 ipoib_cm_max_own(const struct ipoib_dev *d);
u32 ipoib_cm_max_passive(const struct ipoib_dev *d);

#define IPOIB_CM_OWN_RING	32	/* buffers of a connection, not shared */
#define IPOIB_CM_BACK_RING	4	/* the same if we have made it */

#endif /* _IPOIB_CM_CONN_H */
