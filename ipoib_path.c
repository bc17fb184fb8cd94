// SPDX-License-Identifier: GPL-2.0
/*
 * Paths: how to reach a port, asked from the SA once for each GID.
 *
 * A path is a target whose address handle comes from a PathRecord.  Transmit
 * makes one when it misses; everything after that is done by the control
 * worker, one step at a time:
 *
 *	IDLE -> QUERY -> IDLE, with an address handle if the SA knew the port
 *
 * A path is asked for again when the SM wants us to register again, when its
 * record is old, and when the port seems to have another LID, of which nobody
 * tells us: the stack finds that a neighbour does not answer, or a request for
 * an address comes from another LID than the one that we answer to.  It keeps
 * its old handle until the new answer is there.  After a failure the packets
 * parked are dropped and the next question waits: a dead peer costs the SA two
 * queries in three seconds.  The pause is shorter when the SA itself was silent,
 * for both ends of a path may be in one when it returns.  Paths line up for the
 * SA.
 *
 * The SA calls back in process context, at any time until the query is done;
 * the query holds a reference to the path, and keeps the interface alive.
 *
 * Context: make runs in transmit, heard in the receive poll, the neighbour
 * event in a timer, the rest under ctl_mutex.
 */
#include "ipoib_path.h"

#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string_choices.h>
#include <net/neighbour.h>
#include <net/netevent.h>

#include "ipoib.h"
#include "ipoib_multicast.h"
#include "ipoib_target.h"
#include "ipoib_trace.h"

#define IPOIB_PATH_TIMEOUT	1000			/* ms, for one query */
#define IPOIB_PATH_PAUSE	msecs_to_jiffies(1500)	/* after a refusal */
#define IPOIB_PATH_PAUSE_SILENT	msecs_to_jiffies(500)	/* no answer */
#define IPOIB_PATH_PAUSE_NO_SM	msecs_to_jiffies(100)	/* no SM known yet */
#define IPOIB_PATH_AGE		(900 * HZ)		/* of a record */

/* what is kept of a record: what comes before that, the path knows already */
#define IPOIB_PATH_REC_SKIP	offsetof(struct sa_path_rec, flow_label)
#define IPOIB_PATH_REC_KEPT	\
	(offsetofend(struct sa_path_rec, flags) - IPOIB_PATH_REC_SKIP)

/**
 * struct ipoib_path - a path to a port
 * @t: what packets see of it
 * @query: handle of the query under way, to cancel it.  Under ctl_mutex
 * @query_id: its number, to cancel it
 * @asking: there is one
 * @paused: the last query failed
 * @stale: the address handle should be asked for anew
 * @doubtful: the port may have moved; any context
 * @next_try: no query before this time, valid with @paused
 * @born: time of the record
 * @dlid: LID in the record, valid with an address handle; read in any context
 * @heard: LID that the port was last heard from and that is no news any more
 * @answered: the SA has called back; under t.lock, with the two below
 * @status: what it said
 * @rec: the path record, if it said yes, but for what comes first in one
 *
 * There may be thousands, and this fits into 256 bytes.
 */
struct ipoib_path {
	struct ipoib_target t;
	struct ib_sa_query *query;
	int query_id;
	bool asking;
	bool paused;
	bool stale;
	bool doubtful;
	unsigned long next_try;
	unsigned long born;
	u16 dlid;
	u16 heard;

	bool answered;
	int status;
	u8 rec[IPOIB_PATH_REC_KEPT];
};

static struct ipoib_path *to_path(struct ipoib_target *t)
{
	return container_of(t, struct ipoib_path, t);
}

/**
 * ipoib_path_make - find or make the path to a port
 * @d: interface
 * @gid: 16 bytes of port GID
 *
 * A new path is queued for the worker, which will ask the SA.
 *
 * Context: transmit, RCU read side.
 * Return: the path's target, without a reference, or an ERR_PTR.
 */
struct ipoib_target *ipoib_path_make(struct ipoib_dev *d, const u8 *gid)
{
	struct ipoib_target *t;
	struct ipoib_path *path;

	BUILD_BUG_ON(offsetof(struct ipoib_path, t));

	path = kzalloc(sizeof(*path), GFP_ATOMIC);
	if (!path)
		return ERR_PTR(-ENOMEM);

	ipoib_target_setup(&path->t, d, IPOIB_TARGET_PATH, gid);
	path->t.wanted = true;
	path->t.stranger = true;
	t = ipoib_target_insert(&path->t);
	if (t != &path->t)
		kfree(path);
	return t;
}

static void path_get_record(struct ipoib_path *path, struct sa_path_rec *rec)
{
	memset(rec, 0, sizeof(*rec));
	rec->sgid = path->t.dev->gid;
	rec->dgid = path->t.gid;
	spin_lock_bh(&path->t.lock);
	memcpy((u8 *)rec + IPOIB_PATH_REC_SKIP, path->rec, sizeof(path->rec));
	spin_unlock_bh(&path->t.lock);
}

/* The prefix may be another spelling of the same subnet, the GUID may not */
static bool path_is_about(const struct ipoib_path *path,
			  const struct sa_path_rec *rec)
{
	return rec->dgid.global.interface_id ==
	       path->t.gid.global.interface_id;
}

/* A LID of a port: what a record that was cut short has is 0 */
static bool path_lid_ok(struct sa_path_rec *rec)
{
	u32 lid = be32_to_cpu(sa_path_get_dlid(rec));

	return lid && (rec->rec_type == SA_PATH_REC_TYPE_OPA ||
		       lid < be16_to_cpu(IB_MULTICAST_LID_BASE));
}

static void path_answer(int status, struct sa_path_rec *rec,
			unsigned int num, void *ctx)
{
	struct ipoib_path *path = ctx;
	struct ipoib_dev *d = path->t.dev;

	if (!status && (!rec || !num))
		status = -EINVAL;
	else if (!status && (!path_is_about(path, rec) || !path_lid_ok(rec)))
		status = -EPROTO;

	spin_lock_bh(&path->t.lock);
	path->status = status;
	if (!status)
		memcpy(path->rec, (u8 *)rec + IPOIB_PATH_REC_SKIP,
		       sizeof(path->rec));
	path->answered = true;
	spin_unlock_bh(&path->t.lock);

	ipoib_target_queue(&path->t);
	ipoib_target_put(&path->t);
	ipoib_async_end(d);
}

static void path_pause(struct ipoib_path *path, int status)
{
	unsigned long pause = IPOIB_PATH_PAUSE;

	if (status == -EAGAIN)
		pause = IPOIB_PATH_PAUSE_NO_SM;
	else if (status == -ETIMEDOUT)
		pause = IPOIB_PATH_PAUSE_SILENT;
	path->paused = true;
	path->next_try = jiffies + pause;
}

static void path_ask(struct ipoib_path *path)
{
	struct ipoib_dev *d = path->t.dev;
	struct sa_path_rec rec = {
		.sgid = d->gid,
		.dgid = path->t.gid,
		.pkey = cpu_to_be16(d->pkey),
		.numb_path = 1,
		.traffic_class = ipoib_mcast_traffic_class(d),
	};
	int id;

	rec.rec_type = rdma_cap_opa_ah(d->ca, d->port) ? SA_PATH_REC_TYPE_OPA :
							 SA_PATH_REC_TYPE_IB;
	ipoib_dbg(d, "path query for %pI6\n", path->t.gid.raw);
	path->asking = true;
	ipoib_target_get(&path->t);
	ipoib_async_begin(d);
	id = ib_sa_path_rec_get(&ipoib_sa_client, d->ca, d->port, &rec,
				IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID |
				IB_SA_PATH_REC_NUMB_PATH |
				IB_SA_PATH_REC_TRAFFIC_CLASS |
				IB_SA_PATH_REC_PKEY, IPOIB_PATH_TIMEOUT,
				GFP_KERNEL, path_answer, path, &path->query);
	if (id >= 0) {
		path->query_id = id;
		path->stale = false;
		return;
	}

	path->asking = false;
	ipoib_target_has_asked(&path->t);
	ipoib_target_put(&path->t);
	ipoib_async_end(d);
	ipoib_dbg(d, "path query for %pI6 not sent: %pe\n", path->t.gid.raw,
		  ERR_PTR(id));
	path_pause(path, id);
	if (id != -EAGAIN)
		ipoib_target_give_up(&path->t, SKB_DROP_REASON_NEIGH_FAILED);
	else if (!ipoib_target_await(&path->t))
		/* what is parked waits for an SM */
		ipoib_target_later(&path->t, path->next_try);
}

static int path_use(struct ipoib_path *path)
{
	struct ipoib_dev *d = path->t.dev;
	struct rdma_ah_attr attr = {};
	struct sa_path_rec rec;
	int err;

	path_get_record(path, &rec);
	err = ib_init_ah_attr_from_path(d->ca, d->port, &rec, &attr, NULL);
	if (err)
		return err;
	err = ipoib_target_set_ah(&path->t, &attr);
	rdma_destroy_ah_attr(&attr);
	if (!err)
		WRITE_ONCE(path->dlid, be32_to_cpu(sa_path_get_dlid(&rec)));
	return err;
}

static void path_answered(struct ipoib_path *path)
{
	struct ipoib_dev *d = path->t.dev;
	int err = path->status;

	if (!err)
		err = path_use(path);
	trace_ipoib_path(d->dev, path->t.gid.raw, err);
	if (!err) {
		ipoib_target_known(&path->t);
		path->paused = false;
		WRITE_ONCE(path->born, jiffies);
		return;
	}

	ipoib_dbg(d, "no path to %pI6: %pe\n", path->t.gid.raw, ERR_PTR(err));
	/*
	 * What we have stays in use: an SA that is silent has not said that the
	 * path is gone, and one that refuses may have just begun and not know
	 * the port yet.  Where there is no SA at all, the core of its host
	 * refuses in its place.  If the port has gone, the stack will notice.
	 */
	path->stale = rcu_access_pointer(path->t.ah);
	path_pause(path, err);
	/* a packet that comes later asks again */
	ipoib_target_give_up(&path->t, SKB_DROP_REASON_NEIGH_FAILED);
}

/**
 * ipoib_path_step - let a path do what is due
 * @t: the path's target
 *
 * Context: ctl_mutex, may sleep.
 */
void ipoib_path_step(struct ipoib_target *t)
{
	struct ipoib_path *path = to_path(t);
	struct ipoib_dev *d = t->dev;
	bool answered;

	spin_lock_bh(&t->lock);
	answered = path->answered;
	path->answered = false;
	spin_unlock_bh(&t->lock);

	if (answered) {
		path->asking = false;
		ipoib_target_has_asked(t);
		if (!t->dead)
			path_answered(path);
		return;
	}
	if (t->dead)
		return;

	ipoib_target_resume(t);
	if (xchg(&path->doubtful, false))
		path->stale = true;
	if (path->asking)
		return;
	if (!path->stale && (rcu_access_pointer(t->ah) || t->next_ah))
		return;
	if (d->state != IPOIB_LIVE) {
		WRITE_ONCE(t->wanted, true);
		return;
	}
	if (path->paused && time_before(jiffies, path->next_try)) {
		ipoib_target_later(t, path->next_try);
		return;
	}
	if (ipoib_target_may_ask(t))
		path_ask(path);
}

/**
 * ipoib_path_renew - ask the SA again at the next use
 * @t: the path's target; its address handle stays in use meanwhile
 *
 * Context: ctl_mutex.
 */
void ipoib_path_renew(struct ipoib_target *t)
{
	to_path(t)->paused = false;
	to_path(t)->stale = true;
	WRITE_ONCE(t->wanted, true);
}

/**
 * ipoib_path_age - ask the SA again when the record is old and in use
 * @t: the path's target
 * @now: time in ticks
 *
 * Context: ctl_mutex; any spinlock may be held.
 */
void ipoib_path_age(struct ipoib_target *t, unsigned long now)
{
	struct ipoib_path *path = to_path(t);

	if (rcu_access_pointer(t->ah) &&
	    time_after(now, path->born + IPOIB_PATH_AGE))
		ipoib_path_renew(t);
}

static void path_doubt(struct ipoib_target *t)
{
	WRITE_ONCE(to_path(t)->doubtful, true);
	ipoib_target_queue(t);
}

/**
 * ipoib_path_heard - a port has sent something to a group
 * @d: interface
 * @sgid: its GID, 16 bytes
 * @slid: LID that it came from
 *
 * What we send to it would go nowhere if it had another LID before.  Ports may
 * send from other LIDs than those in path records, so a LID that a query has
 * not confirmed is asked for once only; and a record of the last second is
 * believed, lest a port of two LIDs, or somebody who claims its GID, cost a
 * query with each packet.
 *
 * Context: receive poll.
 */
void ipoib_path_heard(struct ipoib_dev *d, const u8 *sgid, u16 slid)
{
	struct ipoib_target *t;
	struct ipoib_path *path;

	rcu_read_lock();
	t = ipoib_target_find(d, sgid);
	if (t && t->kind == IPOIB_TARGET_PATH) {
		path = to_path(t);
		if (rcu_access_pointer(t->ah) &&
		    READ_ONCE(path->dlid) != slid &&
		    READ_ONCE(path->heard) != slid &&
		    time_after(jiffies, READ_ONCE(path->born) + HZ)) {
			WRITE_ONCE(path->heard, slid);
			path_doubt(t);
		}
	}
	rcu_read_unlock();
}

static int path_neigh_event(struct notifier_block *nb, unsigned long event,
			    void *ptr)
{
	struct neighbour *neigh = ptr;
	struct ipoib_target *t;
	u8 hw[MAX_ADDR_LEN];

	if (event != NETEVENT_NEIGH_UPDATE || !ipoib_is_ipoib(neigh->dev) ||
	    !(READ_ONCE(neigh->nud_state) & NUD_FAILED))
		return NOTIFY_DONE;

	neigh_ha_snapshot(hw, neigh, neigh->dev);
	rcu_read_lock();
	t = ipoib_target_find(ipoib_priv(neigh->dev), ipoib_addr_gid(hw));
	if (t && t->kind == IPOIB_TARGET_PATH) {
		trace_ipoib_neigh_failed(neigh->dev, t->gid.raw, -EHOSTUNREACH);
		path_doubt(t);
	}
	rcu_read_unlock();
	return NOTIFY_DONE;
}

static struct notifier_block path_neigh_notifier = {
	.notifier_call = path_neigh_event,
};

/**
 * ipoib_path_listen - begin to hear of neighbours that do not answer
 *
 * Context: process, module init.
 * Return: 0 or a negative errno.
 */
int ipoib_path_listen(void)
{
	return register_netevent_notifier(&path_neigh_notifier);
}

/**
 * ipoib_path_unlisten - undo ipoib_path_listen()
 *
 * Context: process, module exit.
 */
void ipoib_path_unlisten(void)
{
	unregister_netevent_notifier(&path_neigh_notifier);
}

/**
 * ipoib_path_record - what the SA says about a path
 * @t: the path's target
 * @rec: takes it
 *
 * Context: ctl_mutex.
 * Return: true, or false while it is not known.
 */
bool ipoib_path_record(struct ipoib_target *t, struct sa_path_rec *rec)
{
	if (!rcu_access_pointer(t->ah) && !t->next_ah)
		return false;
	path_get_record(to_path(t), rec);
	return true;
}

/**
 * ipoib_path_kill - end a path
 * @t: the path's target
 *
 * Context: ctl_mutex.
 */
void ipoib_path_kill(struct ipoib_target *t)
{
	struct ipoib_path *path = to_path(t);

	if (!ipoib_target_kill(t))
		return;
	/* a query that has been answered may be somebody else's by now */
	spin_lock_bh(&t->lock);
	if (path->asking && !path->answered)
		ib_sa_cancel_query(path->query_id, path->query);
	spin_unlock_bh(&t->lock);
}

/**
 * ipoib_path_show - a path for debugfs
 * @t: the path's target
 * @s: where to print it
 *
 * Context: ctl_mutex.
 */
void ipoib_path_show(struct ipoib_target *t, struct seq_file *s)
{
	bool complete = rcu_access_pointer(t->ah);
	struct sa_path_rec rec;
	int rate;

	seq_printf(s, "  complete: %6s\n", str_yes_no(complete));
	if (!complete)
		return;

	path_get_record(to_path(t), &rec);
	rate = ib_rate_to_mbps(rec.rate);
	seq_printf(s, "  DLID:     0x%04x\n",
		   be32_to_cpu(sa_path_get_dlid(&rec)));
	seq_printf(s, "  SL: %12d\n", rec.sl);
	seq_printf(s, "  rate: %8d.%d Gb/sec\n", rate / 1000, rate % 1000);
}
