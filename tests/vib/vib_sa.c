// SPDX-License-Identifier: GPL-2.0
/*
 * Answers of the built-in subnet manager: path records, multicast membership, what the class can
 * do.
 *
 * A request reaches vib_sa_rx() in the context of its sender, under RCU and locks of a queue pair.
 * It is judged by the rules that a test has made, answered from tables under sa->lock, and the
 * answer goes off as a frame after knobs.delay. Nothing in a request is believed: length, class and
 * version are checked, and what components it leaves out is not looked at.
 *
 * Groups and their members are kept here; forwarding follows from them. A member that joins is
 * routed at once, before the answer leaves; what becomes superfluous is cleaned up by the next
 * sweep.
 */
#include "vib_sa.h"

#include <linux/jhash.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#define SA_CLASS_VERSION	2
#define SA_RESP_TIME		16

#define SA_REQ_INVALID		0x0200
#define SA_NO_RECORDS		0x0300
#define SA_NO_RESOURCES		0x0100
#define SA_INSUFFICIENT		0x0600
#define SA_BAD_METHOD		0x000c

#define JOIN_FULL		0x01
#define JOIN_SEND_FULL		0x08
#define JOIN_RECEIVES		0x03	/* full and non-member */
#define JOIN_ALL		0x0f

#define SEL_SHIFT		6
#define SEL_EXACT		2

/* Records as they are in a datagram */
struct sa_path {
	__be64 service_id;
	union ib_gid dgid;
	union ib_gid sgid;
	__be16 dlid;
	__be16 slid;
	__be32 flow_hop;
	u8 tclass;
	u8 reversible_num;
	__be16 pkey;
	__be16 qos_sl;
	u8 mtu;
	u8 rate;
	u8 life;
	u8 preference;
	u8 reserved[6];
} __packed;

struct sa_mcm {
	union ib_gid mgid;
	union ib_gid gid;
	__be32 qkey;
	__be16 mlid;
	u8 mtu;
	u8 tclass;
	__be16 pkey;
	u8 rate;
	u8 life;
	__be32 sl_flow_hop;
	u8 scope_state;
	u8 proxy;
	u8 reserved[2];
} __packed;

#define PATH_NEEDS	(IB_SA_PATH_REC_DGID | IB_SA_PATH_REC_SGID)
#define MCM_NEEDS	(IB_SA_MCMEMBER_REC_MGID | IB_SA_MCMEMBER_REC_PORT_GID | \
			 IB_SA_MCMEMBER_REC_JOIN_STATE)
#define MCM_CREATES	(IB_SA_MCMEMBER_REC_QKEY | IB_SA_MCMEMBER_REC_PKEY | \
			 IB_SA_MCMEMBER_REC_SL | IB_SA_MCMEMBER_REC_FLOW_LABEL | \
			 IB_SA_MCMEMBER_REC_TRAFFIC_CLASS)

/* A request that is being answered */
struct sa_req {
	struct vib_sa *sa;
	const struct vib_pkt *pkt;
	struct ib_sa_mad *mad;	/* becomes the answer */
	ib_sa_comp_mask mask;
};

static u32 gid_hash(const union ib_gid *gid)
{
	return jhash(gid, sizeof(*gid), 0);
}

static struct sa_group *sa_find(struct vib_sa *sa, const union ib_gid *mgid)
{
	struct sa_group *group;

	lockdep_assert_held(&sa->lock);
	hash_for_each_possible(sa->groups, group, node, gid_hash(mgid))
		if (!memcmp(&group->mgid, mgid, sizeof(*mgid)))
			return group;
	return NULL;
}

static struct sa_member *sa_find_member(struct sa_group *group, const union ib_gid *gid)
{
	struct sa_member *member;

	list_for_each_entry(member, &group->members, entry)
		if (!memcmp(&member->gid, gid, sizeof(*gid)))
			return member;
	return NULL;
}

/* LID of a GID, with its LMC; 0 if nobody has it */
static u16 sa_lid_of(struct vib_sa *sa, const union ib_gid *gid, u8 *lmc)
{
	u64 guid = be64_to_cpu(gid->global.interface_id);
	unsigned int i;

	lockdep_assert_held(&sa->lock);
	*lmc = 0;
	if (be64_to_cpu(gid->global.subnet_prefix) != sa->prefix)
		return 0;
	for (i = 0; i < sa->nends; i++) {
		if (sa->ends[i].guid == guid) {
			*lmc = sa->ends[i].lmc;
			return sa->ends[i].lid;
		}
	}
	return vib_ghost_lid(guid);
}

/* Enters a switch port into the masks of a group, those in @mft or the ones in use */
static void sa_mark(struct vib_switch *sw, u16 *mft, u16 mlid, u8 num)
{
	u16 *mask = mft ?: sw->mft;

	mask += (mlid - VIB_LID_MCAST) * sw->mft_pos + num / VIB_MFT_PORTS;
	WRITE_ONCE(*mask, *mask | BIT(num % VIB_MFT_PORTS));
}

struct sa_tables {
	struct vib_switch **sws;
	u16 **mft;
	unsigned int n;
};

static u16 *sa_table_of(const struct sa_tables *tables, const struct vib_switch *sw)
{
	unsigned int i;

	for (i = 0; tables && i < tables->n; i++)
		if (tables->sws[i] == sw)
			return tables->mft[i];
	return NULL;
}

/*
 * Makes the way between the manager's switch and a LID part of a group: all cables between switches
 * in both directions, and the last one if who is there receives. Under RCU.
 */
static void sa_route(struct vib_sa *sa, const struct sa_tables *tables, u16 mlid, u16 lid,
		     bool receives)
{
	struct vib_switch *sw = sa->sw;
	struct vib_lport *out, *peer;
	unsigned int hops;

	for (hops = 0; hops < VIB_TTL; hops++) {
		out = vib_switch_route(sw, lid);
		if (!out || !out->num)
			return;
		peer = rcu_dereference(out->peer);
		if (!peer || !peer->sw) {
			if (receives)
				sa_mark(sw, sa_table_of(tables, sw), mlid, out->num);
			return;
		}
		sa_mark(sw, sa_table_of(tables, sw), mlid, out->num);
		sa_mark(peer->sw, sa_table_of(tables, peer->sw), mlid, peer->num);
		sw = peer->sw;
	}
}

/* A group and the tables that are to be changed for it */
struct sa_routing {
	struct vib_sa *sa;
	const struct sa_tables *tables;
	u16 mlid;
};

/* Ghosts are in all groups */
static void sa_route_ghosts(void *data, u16 lid)
{
	const struct sa_routing *routing = data;

	sa_route(routing->sa, routing->tables, routing->mlid, lid, true);
}

/**
 * sa_route_groups - compute the multicast tables of a subnet and put them in place
 * @sa: manager
 * @sws: all switches
 * @mft: zeroed tables of the same size as theirs
 * @n: how many
 *
 * Context: process, vib_topo_mutex held.
 */
void sa_route_groups(struct vib_sa *sa, struct vib_switch **sws, u16 **mft, unsigned int n)
{
	const struct sa_tables tables = { .sws = sws, .mft = mft, .n = n };
	struct sa_routing routing = { .sa = sa, .tables = &tables };
	struct sa_member *member;
	struct sa_group *group;
	unsigned int bkt, i, k;
	unsigned long flags;

	rcu_read_lock();
	spin_lock_irqsave(&sa->lock, flags);
	hash_for_each(sa->groups, bkt, group, node) {
		routing.mlid = group->mlid;
		vib_ghosts_each(sa_route_ghosts, &routing);
		list_for_each_entry(member, &group->members, entry)
			sa_route(sa, &tables, group->mlid, member->lid,
				 member->state & JOIN_RECEIVES);
	}
	for (i = 0; i < n; i++)
		for (k = 0; k < VIB_MFT_SIZE * sws[i]->mft_pos; k++)
			WRITE_ONCE(sws[i]->mft[k], mft[i][k]);
	spin_unlock_irqrestore(&sa->lock, flags);
	rcu_read_unlock();
}

static void sa_drop_group(struct vib_sa *sa, struct sa_group *group)
{
	lockdep_assert_held(&sa->lock);
	hash_del(&group->node);
	sa->ngroups--;
	kfree(group);
}

static void sa_drop_member(struct vib_sa *sa, struct sa_group *group, struct sa_member *member)
{
	lockdep_assert_held(&sa->lock);
	list_del(&member->entry);
	kfree(member);
	sa->nmembers--;
	if (list_empty(&group->members) && !group->stays)
		sa_drop_group(sa, group);
}

/* Members for which @all, or that have no LID any more, or another one */
static void sa_drop_members(struct vib_sa *sa, struct sa_group *group, bool all)
{
	struct sa_member *member, *next;
	bool last;
	u8 lmc;

	list_for_each_entry_safe(member, next, &group->members, entry) {
		if (!all && sa_lid_of(sa, &member->gid, &lmc) == member->lid)
			continue;
		last = list_is_singular(&group->members);
		sa_drop_member(sa, group, member);
		if (last)
			return;
	}
}

/**
 * sa_forget_members - strike off members that are gone
 * @sa: manager
 * @all: all of them, as a manager that begins without memories
 *
 * Context: process.
 */
void sa_forget_members(struct vib_sa *sa, bool all)
{
	struct hlist_node *next;
	struct sa_group *group;
	unsigned long flags;
	unsigned int bkt;

	spin_lock_irqsave(&sa->lock, flags);
	hash_for_each_safe(sa->groups, bkt, next, group, node)
		sa_drop_members(sa, group, all);
	spin_unlock_irqrestore(&sa->lock, flags);
}

/**
 * sa_groups_free - forget all groups and rules of a manager that nobody can ask any more
 * @sa: manager
 *
 * Context: process.
 */
void sa_groups_free(struct vib_sa *sa)
{
	struct hlist_node *next;
	struct sa_group *group;
	unsigned int bkt;

	spin_lock_irq(&sa->lock);
	hash_for_each_safe(sa->groups, bkt, next, group, node) {
		group->stays = true;
		sa_drop_members(sa, group, true);
		sa_drop_group(sa, group);
	}
	spin_unlock_irq(&sa->lock);
	vib_sa_rules_clear(sa);
}

/* Numbers go round: with more groups than the switches have room for, some share one */
static struct sa_group *sa_new_group(struct vib_sa *sa, const struct sa_group *like)
{
	struct sa_group *group = kmemdup(like, sizeof(*like), GFP_ATOMIC);

	lockdep_assert_held(&sa->lock);
	if (!group)
		return NULL;
	INIT_LIST_HEAD(&group->members);
	group->mlid = VIB_LID_MCAST + sa->mlid_next++ % VIB_MFT_SIZE;
	hash_add(sa->groups, &group->node, gid_hash(&group->mgid));
	sa->ngroups++;
	return group;
}

static void sa_broadcast_gid(union ib_gid *gid, u8 scope, u16 pkey)
{
	const u8 raw[16] = {
		0xff, 0x10 | scope, 0x40, 0x1b, pkey >> 8, pkey & 0xff, 0, 0, 0, 0, 0, 0,
		0xff, 0xff, 0xff, 0xff
	};

	memcpy(gid->raw, raw, sizeof(raw));
}

/**
 * sa_group_add - make the IPv4 broadcast group of a partition, or change it
 * @sa: manager
 * @pkey: the partition
 * @like: Q_Key, MTU, rate, life time, service level and scope
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int sa_group_add(struct vib_sa *sa, u16 pkey, const struct sa_group *like)
{
	struct sa_group want = *like;
	struct sa_group *group;
	int ret = 0;

	want.pkey = pkey | 0x8000;
	want.stays = true;
	sa_broadcast_gid(&want.mgid, like->scope, want.pkey);
	spin_lock_irq(&sa->lock);
	group = sa_find(sa, &want.mgid);
	if (!group)
		group = sa_new_group(sa, &want);
	if (group) {
		group->qkey = want.qkey;
		group->mtu = want.mtu;
		group->rate = want.rate;
		group->sl_flow_hop = want.sl_flow_hop;
		group->stays = true;
	} else {
		ret = -ENOMEM;
	}
	spin_unlock_irq(&sa->lock);
	return ret;
}

/**
 * sa_group_del - let the broadcast group of a partition die, and its members with it
 * @sa: manager
 * @pkey: the partition
 *
 * Context: process.
 * Return: 0 or -ENOENT.
 */
int sa_group_del(struct vib_sa *sa, u16 pkey)
{
	struct sa_group *group;
	union ib_gid mgid;

	sa_broadcast_gid(&mgid, 2, pkey | 0x8000);
	spin_lock_irq(&sa->lock);
	group = sa_find(sa, &mgid);
	if (group) {
		group->stays = true;
		sa_drop_members(sa, group, true);
		sa_drop_group(sa, group);
	}
	spin_unlock_irq(&sa->lock);
	return group ? 0 : -ENOENT;
}

static u16 sa_cpi(struct sa_req *req)
{
	struct ib_class_port_info *cpi = (struct ib_class_port_info *)req->mad->data;

	memset(cpi, 0, sizeof(*cpi));
	cpi->base_version = IB_MGMT_BASE_VERSION;
	cpi->class_version = SA_CLASS_VERSION;
	ib_set_cpi_resp_time(cpi, SA_RESP_TIME);
	if (req->sa->knobs.sendonly)
		ib_set_cpi_capmask2(cpi, SA_CAP_SENDONLY);
	return 0;
}

static u16 sa_path(struct sa_req *req)
{
	struct sa_path *path = (struct sa_path *)req->mad->data;
	const struct sa_knobs *knobs = &req->sa->knobs;
	u16 dlid, slid;
	u8 dlmc, slmc;

	if ((req->mask & PATH_NEEDS) != PATH_NEEDS)
		return SA_INSUFFICIENT;
	dlid = sa_lid_of(req->sa, &path->dgid, &dlmc);
	slid = sa_lid_of(req->sa, &path->sgid, &slmc);
	if (!dlid || !slid)
		return SA_NO_RECORDS;
	if (knobs->spread)
		dlid |= req->sa->turn++ & ((1 << dlmc) - 1);
	path->dlid = cpu_to_be16(dlid);
	path->slid = cpu_to_be16(slid);
	path->flow_hop = 0;
	path->reversible_num = 0x80;
	if (!(req->mask & IB_SA_PATH_REC_PKEY))
		path->pkey = cpu_to_be16(IB_DEFAULT_PKEY_FULL);
	path->qos_sl = cpu_to_be16(knobs->sl);
	path->mtu = SEL_EXACT << SEL_SHIFT | knobs->mtu;
	path->rate = SEL_EXACT << SEL_SHIFT | knobs->rate;
	path->life = SEL_EXACT << SEL_SHIFT | knobs->life;
	path->preference = 0;
	return 0;
}

static void mcm_fill(struct sa_mcm *mcm, const struct sa_group *group, u8 state)
{
	mcm->qkey = cpu_to_be32(group->qkey);
	mcm->mlid = cpu_to_be16(group->mlid);
	mcm->mtu = SEL_EXACT << SEL_SHIFT | group->mtu;
	mcm->tclass = group->tclass;
	mcm->pkey = cpu_to_be16(group->pkey);
	mcm->rate = SEL_EXACT << SEL_SHIFT | group->rate;
	mcm->life = SEL_EXACT << SEL_SHIFT | group->life;
	mcm->sl_flow_hop = cpu_to_be32(group->sl_flow_hop);
	mcm->scope_state = group->scope << 4 | state;
}

/* A group as somebody wants it who may make one: a full member that says all that is needed */
static struct sa_group *mcm_create(struct sa_req *req, const struct sa_mcm *mcm, u16 *status)
{
	struct sa_group like = {
		.mgid = mcm->mgid,
		.qkey = be32_to_cpu(mcm->qkey),
		.pkey = be16_to_cpu(mcm->pkey),
		.mtu = req->mask & IB_SA_MCMEMBER_REC_MTU ? mcm->mtu & 0x3f : req->sa->knobs.mtu,
		.rate = req->mask & IB_SA_MCMEMBER_REC_RATE ? mcm->rate & 0x3f : IB_RATE_10_GBPS,
		.life = req->sa->knobs.life,
		.tclass = mcm->tclass,
		.sl_flow_hop = be32_to_cpu(mcm->sl_flow_hop),
		.scope = mcm->mgid.raw[1] & 0xf,
	};
	u8 state = mcm->scope_state & JOIN_ALL;
	struct sa_group *group;

	*status = SA_REQ_INVALID;
	if (!(state & JOIN_FULL) && !(state & JOIN_SEND_FULL && req->sa->knobs.sendonly))
		return NULL;
	*status = SA_INSUFFICIENT;
	if ((req->mask & MCM_CREATES) != MCM_CREATES)
		return NULL;
	group = sa_new_group(req->sa, &like);
	*status = group ? 0 : SA_NO_RESOURCES;
	return group;
}

static u16 mcm_fits(const struct sa_req *req, const struct sa_mcm *mcm,
		    const struct sa_group *group)
{
	if (req->mask & IB_SA_MCMEMBER_REC_QKEY && be32_to_cpu(mcm->qkey) != group->qkey)
		return SA_REQ_INVALID;
	if (req->mask & IB_SA_MCMEMBER_REC_PKEY &&
	    (be16_to_cpu(mcm->pkey) ^ group->pkey) & 0x7fff)
		return SA_REQ_INVALID;
	return 0;
}

static u16 sa_join(struct sa_req *req)
{
	struct sa_mcm *mcm = (struct sa_mcm *)req->mad->data;
	struct sa_routing routing = { .sa = req->sa };
	u8 state = mcm->scope_state & JOIN_ALL;
	struct sa_member *member;
	struct sa_group *group;
	u16 status = 0, lid;
	u8 lmc;

	if ((req->mask & MCM_NEEDS) != MCM_NEEDS)
		return SA_INSUFFICIENT;
	lid = sa_lid_of(req->sa, &mcm->gid, &lmc);
	if (!lid || !state || mcm->mgid.raw[0] != 0xff)
		return SA_REQ_INVALID;
	group = sa_find(req->sa, &mcm->mgid);
	if (group)
		status = mcm_fits(req, mcm, group);
	else
		group = mcm_create(req, mcm, &status);
	if (status)
		return status;
	member = sa_find_member(group, &mcm->gid);
	if (!member) {
		member = kzalloc(sizeof(*member), GFP_ATOMIC);
		if (!member)
			return SA_NO_RESOURCES;
		member->gid = mcm->gid;
		list_add_tail(&member->entry, &group->members);
		req->sa->nmembers++;
	}
	member->lid = lid;
	member->state |= state;
	routing.mlid = group->mlid;
	vib_ghosts_each(sa_route_ghosts, &routing);
	sa_route(req->sa, NULL, group->mlid, lid, member->state & JOIN_RECEIVES);
	mcm_fill(mcm, group, member->state);
	return 0;
}

static u16 sa_leave(struct sa_req *req)
{
	struct sa_mcm *mcm = (struct sa_mcm *)req->mad->data;
	u8 state = mcm->scope_state & JOIN_ALL;
	struct sa_member *member;
	struct sa_group *group;

	if ((req->mask & MCM_NEEDS) != MCM_NEEDS)
		return SA_INSUFFICIENT;
	group = sa_find(req->sa, &mcm->mgid);
	member = group ? sa_find_member(group, &mcm->gid) : NULL;
	if (!member || !(member->state & state))
		return SA_REQ_INVALID;
	mcm_fill(mcm, group, member->state & ~state);
	member->state &= ~state;
	if (!member->state)
		sa_drop_member(req->sa, group, member);
	queue_delayed_work(system_unbound_wq, &req->sa->sweep, SA_LAZY);
	return 0;
}

static u16 sa_get_mcm(struct sa_req *req)
{
	struct sa_mcm *mcm = (struct sa_mcm *)req->mad->data;
	struct sa_group *group;

	if (!(req->mask & IB_SA_MCMEMBER_REC_MGID))
		return SA_INSUFFICIENT;
	group = sa_find(req->sa, &mcm->mgid);
	if (!group)
		return SA_NO_RECORDS;
	memset(&mcm->gid, 0, sizeof(mcm->gid));
	mcm_fill(mcm, group, 0);
	return 0;
}

/* Subscriptions and services are taken and forgotten */
static u16 sa_accept(struct sa_req *req)
{
	return 0;
}

static const struct sa_op {
	enum sa_kind kind;
	u16 attr;
	u8 method;
	u8 answer;
	u16 (*run)(struct sa_req *req);
} sa_ops[] = {
	{ SA_CPI, IB_SA_ATTR_CLASS_PORTINFO, IB_MGMT_METHOD_GET, IB_MGMT_METHOD_GET_RESP, sa_cpi },
	{ SA_PATH, IB_SA_ATTR_PATH_REC, IB_MGMT_METHOD_GET, IB_MGMT_METHOD_GET_RESP, sa_path },
	{ SA_MCM_GET, IB_SA_ATTR_MC_MEMBER_REC, IB_MGMT_METHOD_GET, IB_MGMT_METHOD_GET_RESP,
	  sa_get_mcm },
	{ SA_JOIN, IB_SA_ATTR_MC_MEMBER_REC, IB_MGMT_METHOD_SET, IB_MGMT_METHOD_GET_RESP, sa_join },
	{ SA_LEAVE, IB_SA_ATTR_MC_MEMBER_REC, IB_SA_METHOD_DELETE, IB_SA_METHOD_DELETE_RESP,
	  sa_leave },
	{ SA_OTHER, IB_SA_ATTR_INFORM_INFO, IB_MGMT_METHOD_SET, IB_MGMT_METHOD_GET_RESP,
	  sa_accept },
	{ SA_OTHER, IB_SA_ATTR_SERVICE_REC, IB_MGMT_METHOD_SET, IB_MGMT_METHOD_GET_RESP,
	  sa_accept },
	{ SA_OTHER, IB_SA_ATTR_SERVICE_REC, IB_SA_METHOD_DELETE, IB_SA_METHOD_DELETE_RESP,
	  sa_accept },
};

/* The first rule that hits this request, or NULL */
static struct sa_rule *sa_judge(struct vib_sa *sa, const struct ib_mad_hdr *hdr)
{
	struct sa_rule *rule;

	lockdep_assert_held(&sa->lock);
	list_for_each_entry(rule, &sa->rules, entry) {
		if ((rule->attr >= 0 && rule->attr != be16_to_cpu(hdr->attr_id)) ||
		    (rule->method >= 0 && rule->method != hdr->method))
			continue;
		if (rule->seen++ < rule->skip || (rule->count && rule->hit >= rule->count))
			continue;
		rule->hit++;
		return rule;
	}
	return NULL;
}

/* Spoils an answer as a rule wants it; gives the length that is left of it */
static u32 sa_spoil(const struct sa_rule *rule, struct ib_sa_mad *mad)
{
	bool path = mad->mad_hdr.attr_id == cpu_to_be16(IB_SA_ATTR_PATH_REC);
	struct sa_path *rec = (struct sa_path *)mad->data;
	struct sa_mcm *mcm = (struct sa_mcm *)mad->data;

	switch (rule->act) {
	case SA_ACT_CUT:
		return min_t(u32, rule->len, VIB_MAD_SIZE);
	case SA_ACT_TID:
		mad->mad_hdr.tid ^= cpu_to_be64(1);
		break;
	case SA_ACT_GID:
		(path ? &rec->dgid : &mcm->mgid)->raw[15] ^= 1;
		break;
	case SA_ACT_LID:
		*(path ? &rec->dlid : &mcm->mlid) = cpu_to_be16(rule->lid);
		break;
	default:
		break;
	}
	return VIB_MAD_SIZE;
}

static const struct sa_op *sa_op_of(const struct ib_mad_hdr *hdr)
{
	const struct sa_op *op;

	for (op = sa_ops; op < sa_ops + ARRAY_SIZE(sa_ops); op++)
		if (op->attr == be16_to_cpu(hdr->attr_id) && op->method == hdr->method)
			return op;
	return NULL;
}

/* Turns the request into its answer */
static void sa_answer(struct sa_req *req, const struct sa_rule *rule)
{
	struct ib_mad_hdr *hdr = &req->mad->mad_hdr;
	const struct sa_op *op = sa_op_of(hdr);
	u16 status = SA_BAD_METHOD;

	req->sa->asked[op ? op->kind : SA_OTHER]++;
	if (rule && rule->act == SA_ACT_REFUSE)
		status = rule->status;
	else if (op)
		status = op->run(req);
	if (status)
		req->sa->refused++;
	hdr->method = op ? op->answer : hdr->method | IB_MGMT_METHOD_RESP;
	hdr->status = cpu_to_be16(status);
	memset(&req->mad->rmpp_hdr, 0, sizeof(req->mad->rmpp_hdr));
	req->mad->rmpp_hdr.rmpp_version = IB_MGMT_RMPP_VERSION;
}

/* The packet that carries an answer back */
static struct vib_frame *sa_frame(const struct sa_req *req)
{
	const struct vib_pkt *ask = req->pkt;
	struct vib_pkt pkt = {
		.hdr = req->mad,
		.hdr_len = VIB_MAD_SIZE,
		.len = VIB_MAD_SIZE,
		.dqpn = ask->sqpn,
		.sqpn = 1,
		.qkey = IB_QP1_QKEY,
		.slid = ask->dlid,
		.dlid = ask->slid,
		.pkey = ask->pkey,
		.sl = ask->sl,
		.has_grh = ask->has_grh,
	};

	if (pkt.has_grh) {
		pkt.grh = ask->grh;
		pkt.grh.sgid = ask->grh.dgid;
		pkt.grh.dgid = ask->grh.sgid;
	}
	return vib_frame_alloc(&pkt, 0);
}

static bool sa_is_request(const struct vib_pkt *pkt, struct ib_sa_mad *mad)
{
	return pkt->dqpn == 1 && pkt->qkey == IB_QP1_QKEY && pkt->len == VIB_MAD_SIZE &&
	       vib_pkt_copy(pkt, mad, 0, VIB_MAD_SIZE) == VIB_MAD_SIZE &&
	       mad->mad_hdr.base_version == IB_MGMT_BASE_VERSION &&
	       mad->mad_hdr.mgmt_class == IB_MGMT_CLASS_SUBN_ADM &&
	       mad->mad_hdr.class_version == SA_CLASS_VERSION &&
	       !(mad->mad_hdr.method & IB_MGMT_METHOD_RESP);
}

/* Answers and sends as many copies as a rule wants, at the time it wants */
static noinline_for_stack void sa_serve(struct sa_req *req)
{
	struct vib_sa *sa = req->sa;
	struct vib_frame *frame;
	struct sa_rule *rule;
	u32 len = VIB_MAD_SIZE;
	unsigned int copies = 1;
	unsigned long flags;
	u64 delay;

	spin_lock_irqsave(&sa->lock, flags);
	delay = (u64)sa->knobs.delay * NSEC_PER_USEC;
	rule = sa_judge(sa, &req->mad->mad_hdr);
	if (!rule || rule->act != SA_ACT_SILENT)
		sa_answer(req, rule);
	if (rule) {
		copies = rule->act == SA_ACT_SILENT ? 0 : rule->act == SA_ACT_TWICE ? 2 : 1;
		delay += rule->act == SA_ACT_LATE ? rule->us * NSEC_PER_USEC : 0;
		len = sa_spoil(rule, req->mad);
	}
	spin_unlock_irqrestore(&sa->lock, flags);
	while (copies--) {
		frame = sa_frame(req);
		if (!frame)
			return;
		vib_frame_resize(frame, len);
		vib_frame_send(frame, &sa->sw->lport[0], VIB_TTL, delay);
	}
}

/**
 * vib_sa_rx - a general management packet for the LID of a switch
 * @sw: the switch
 * @pkt: packet
 *
 * Context: the sender's, under RCU.
 * Return: true if it was for the manager's database.
 */
bool vib_sa_rx(struct vib_switch *sw, const struct vib_pkt *pkt)
{
	struct vib_sa *sa = rcu_dereference(sw->sa);
	struct ib_sa_mad mad;
	struct sa_req req = { .sa = sa, .pkt = pkt, .mad = &mad };

	if (!sa || !sa_is_request(pkt, &mad))
		return false;
	req.mask = mad.sa_hdr.comp_mask;
	sa_serve(&req);
	return true;
}

/**
 * vib_sa_trap - a notice for the LID of a switch: the manager takes note of it
 * @sw: the switch
 * @smp: the notice; becomes its TrapRepress
 *
 * Context: the sender's, under RCU.
 * Return: true if there is a manager.
 */
bool vib_sa_trap(struct vib_switch *sw, struct ib_smp *smp)
{
	struct vib_sa *sa = rcu_dereference(sw->sa);
	unsigned long flags;

	if (!sa || smp->method != IB_MGMT_METHOD_TRAP)
		return false;
	spin_lock_irqsave(&sa->lock, flags);
	sa->traps++;
	spin_unlock_irqrestore(&sa->lock, flags);
	smp->method = IB_MGMT_METHOD_TRAP_REPRESS;
	return true;
}
