/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the two halves of the built-in subnet manager share: vib_sm.c, which brings a subnet up, and
 * vib_sa.c, which answers queries about it.
 *
 * Locks, outer to inner:
 *
 *	vib_ctl_mutex	managers come and go, settings and rules
 *	vib_topo_mutex	a sweep looks at nodes and cables
 *	sa->lock	groups, members, the table of GUIDs, rules and counters; interrupts off
 *	sw->lock	forwarding tables
 *
 * A query is answered in the context of its sender, under its queue lock and RCU, so nothing in
 * vib_sa.c sleeps. The answer leaves later, as a frame.
 */
#ifndef VIB_SA_H
#define VIB_SA_H

#include <linux/bitmap.h>
#include <linux/hashtable.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>
#include <rdma/ib_sa.h>

#include "vib.h"

#define SA_ENDS_MAX	1024	/* GUIDs that a manager knows, ghosts not counted */
#define SA_HASH_BITS	10
#define SA_LAZY		(HZ / 5)	/* what somebody leaves behind is swept up then */
#define SA_CAP_SENDONLY	IB_SA_CAP_MASK2_SENDONLY_FULL_MEM_SUPPORT

/* Requests that are counted apart */
enum sa_kind {
	SA_CPI,
	SA_PATH,
	SA_MCM_GET,
	SA_JOIN,
	SA_LEAVE,
	SA_OTHER,
	SA_KINDS,
};

/* What a rule makes of a request */
enum sa_act {
	SA_ACT_SILENT,
	SA_ACT_REFUSE,		/* with a status */
	SA_ACT_LATE,
	SA_ACT_TWICE,
	SA_ACT_CUT,		/* the answer is too short */
	SA_ACT_TID,		/* it belongs to another request */
	SA_ACT_GID,		/* it is about another GID */
	SA_ACT_LID,		/* it names another LID */
};

struct sa_rule {
	struct list_head entry;
	enum sa_act act;
	int attr, method;	/* -1: any */
	u32 skip, count;	/* as in struct vib_rule_spec */
	u32 status, us, len, lid;
	u64 seen, hit;
};

struct sa_member {
	struct list_head entry;
	union ib_gid gid;
	u16 lid;
	u8 state;		/* join state bits */
};

struct sa_group {
	struct hlist_node node;
	struct list_head members;
	union ib_gid mgid;
	u32 qkey;
	u16 mlid;
	u16 pkey;
	u8 mtu, rate, life;
	u8 tclass;
	u32 sl_flow_hop;	/* as in the record */
	u8 scope;
	bool stays;		/* without members, too */
};

/* A GUID that the manager has given a LID */
struct sa_end {
	u64 guid;
	u16 lid;
	u8 lmc;
};

/* What "sa set" changes */
struct sa_knobs {
	u32 sl, rate, mtu, life;	/* of path records */
	u32 delay;			/* of each answer, us */
	u32 sendonly;			/* says that it knows send-only full members */
	u32 lmc;
	u32 spread;			/* path records go through the LIDs of a port */
};

/* A subnet manager with its database, at the management port of a switch */
struct vib_sa {
	struct vib_switch *sw;
	struct delayed_work sweep;
	bool changed;			/* ports or cables: the next sweep is a full one */
	struct list_head entry;		/* vib_sas, under vib_ctl_mutex */
	u16 lid;
	u64 prefix;
	bool rereg;			/* the next sweep asks for re-registration */

	spinlock_t lock;		/* all that follows */
	struct sa_knobs knobs;
	DECLARE_HASHTABLE(groups, SA_HASH_BITS);
	unsigned int ngroups;
	unsigned int nmembers;		/* of all groups */
	unsigned int mlid_next;
	struct list_head rules;
	struct sa_end *ends;		/* SA_ENDS_MAX */
	unsigned int nends;
	u32 turn;			/* for knobs.spread */
	u64 asked[SA_KINDS];
	u64 refused;
	u64 traps;
	u64 sweeps;
	unsigned long *lids;		/* bitmap of LIDs in use; the sweep's alone */
};

/* vib_sa.c */
void sa_forget_members(struct vib_sa *sa, bool all);
void sa_route_groups(struct vib_sa *sa, struct vib_switch **sws, u16 **mft, unsigned int n);
void sa_groups_free(struct vib_sa *sa);
int sa_group_add(struct vib_sa *sa, u16 pkey, const struct sa_group *like);
int sa_group_del(struct vib_sa *sa, u16 pkey);

#endif /* VIB_SA_H */
