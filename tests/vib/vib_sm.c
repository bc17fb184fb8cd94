// SPDX-License-Identifier: GPL-2.0
/*
 * A subnet manager inside the kernel, for tests that want the subnet up at once or want a manager
 * that misbehaves exactly as told. OpenSM remains the real one; no subnet should have both.
 *
 * A manager sits at the management port of a switch. Its sweep, in process context, goes over all
 * switches that cables lead to, gives LIDs to ports, writes forwarding tables and moves ports to
 * ACTIVE, the latter through the same agent that serves management packets, so that events come as
 * they do with a real manager. It sweeps when it is made, when a port of any switch changes and
 * when it is told to. Cables should form a tree: where they do not, the way found first is used.
 */
#include "vib_sa.h"

#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#define SM_SWITCHES_MAX	64
#define SM_PORTS_MAX	512
#define SM_QKEY		0x0b1b
#define SM_REREG	0x80

/* A port of the subnet that has a LID, or many of them */
struct sm_end {
	struct vib_lport *lp;	/* the port itself; NULL for ghosts */
	struct vib_switch *sw;	/* where it is cabled to */
	u8 port;
	u16 lid;
	u32 nlids;
};

/* All that one sweep knows; switches come in the order in which they were found */
struct sm_sweep {
	struct vib_sa *sa;
	struct vib_switch *sws[SM_SWITCHES_MAX];
	unsigned int nsws;
	struct sm_end ends[SM_PORTS_MAX];
	unsigned int nends;
};

static LIST_HEAD(vib_sas);	/* vib_ctl_mutex */
static DEFINE_SPINLOCK(sm_kick_lock);	/* vib_sas for those who only kick; a leaf */

static bool sm_knows(const struct sm_sweep *sweep, const struct vib_switch *sw)
{
	unsigned int i;

	for (i = 0; i < sweep->nsws; i++)
		if (sweep->sws[i] == sw)
			return true;
	return false;
}

static void sm_add_end(struct sm_sweep *sweep, struct vib_lport *lp, struct vib_lport *at)
{
	if (sweep->nends < SM_PORTS_MAX)
		sweep->ends[sweep->nends++] = (struct sm_end) {
			.lp = lp,
			.sw = at->sw,
			.port = at->num,
			.nlids = 1 << (lp->sw ? 0 : sweep->sa->knobs.lmc),
		};
}

/* What is at the other end of a switch's port */
static void sm_look(struct sm_sweep *sweep, struct vib_lport *lp)
{
	u32 n = 0;
	struct vib_lport *peer = rcu_dereference(lp->peer);
	struct vib_ghosts *ghosts = rcu_dereference(lp->ghosts);

	if (ghosts && sweep->nends < SM_PORTS_MAX)
		sweep->ends[sweep->nends++] = (struct sm_end) {
			.sw = lp->sw,
			.port = lp->num,
			.lid = vib_ghosts_base(ghosts, &n),
			.nlids = n,
		};
	if (peer && READ_ONCE(lp->state) >= IB_PORT_INIT && peer->port)
		sm_add_end(sweep, peer, lp);
	if (!peer || READ_ONCE(lp->state) < IB_PORT_INIT || !peer->sw ||
	    sm_knows(sweep, peer->sw) || sweep->nsws == SM_SWITCHES_MAX)
		return;
	WRITE_ONCE(peer->sw->up, peer->num);
	sweep->sws[sweep->nsws++] = peer->sw;
}

static void sm_explore(struct sm_sweep *sweep)
{
	struct vib_switch *sw;
	unsigned int i, num;

	sweep->sws[sweep->nsws++] = sweep->sa->sw;
	WRITE_ONCE(sweep->sa->sw->up, 0);
	for (i = 0; i < sweep->nsws; i++) {
		sw = sweep->sws[i];
		sm_add_end(sweep, &sw->lport[0], &sw->lport[0]);
		for (num = 1; num <= sw->node.nports; num++)
			sm_look(sweep, &sw->lport[num]);
	}
}

static bool sm_lid_free(const struct vib_sa *sa, unsigned int lid, unsigned int n)
{
	return lid && lid + n <= VIB_LFT_SIZE &&
	       find_next_bit(sa->lids, lid + n, lid) >= lid + n;
}

/* Everybody keeps the LID that it has if nobody else has it; then the others get one */
static void sm_give_lids(struct sm_sweep *sweep)
{
	struct vib_sa *sa = sweep->sa;
	unsigned int lid, pass;
	struct sm_end *end;

	sweep->ends[0].lid = sa->lid;
	bitmap_zero(sa->lids, VIB_LFT_SIZE);
	for (end = sweep->ends; end < sweep->ends + sweep->nends; end++)
		if (end->lid)
			bitmap_set(sa->lids, end->lid, end->nlids);
	for (pass = 0; pass < 2; pass++) {
		for (end = sweep->ends + 1; end < sweep->ends + sweep->nends; end++) {
			if (end->lid)
				continue;
			lid = READ_ONCE(end->lp->lid) & -end->nlids;
			if (pass)
				for (lid = end->nlids; lid < VIB_LFT_SIZE; lid += end->nlids)
					if (sm_lid_free(sa, lid, end->nlids))
						break;
			if (!sm_lid_free(sa, lid, end->nlids))
				continue;
			bitmap_set(sa->lids, lid, end->nlids);
			end->lid = lid;
		}
	}
}

/* Asks the agent of a port's node for PortInfo, or writes it */
static bool sm_port_info(struct vib_lport *lp, struct ib_smp *smp, u8 method)
{
	smp->base_version = IB_MGMT_BASE_VERSION;
	smp->mgmt_class = IB_MGMT_CLASS_SUBN_LID_ROUTED;
	smp->class_version = 1;
	smp->method = method;
	smp->status = 0;
	smp->attr_id = IB_SMP_ATTR_PORT_INFO;
	smp->attr_mod = cpu_to_be32(lp->num);
	return vib_sma_handle(lp->sw ? &lp->sw->lport[0] : lp, smp, 0, true) == VIB_MAD_REPLY &&
	       !smp->status;
}

/* Writes what the manager wants of a port and moves it towards @state; asks for re-registration */
static void sm_set_port(struct vib_sa *sa, struct vib_lport *lp, const struct sm_end *end, u8 state,
			bool rereg)
{
	struct ib_smp smp = {};
	struct ib_port_info *pi = (struct ib_port_info *)smp.data;

	if (!sm_port_info(lp, &smp, IB_MGMT_METHOD_GET))
		return;
	if (end && end->lid) {
		pi->gid_prefix = cpu_to_be64(sa->prefix);
		pi->lid = cpu_to_be16(end->lid);
		/* its own switch has nobody to send notices to */
		if (lp != &sa->sw->lport[0])
			pi->sm_lid = cpu_to_be16(sa->lid);
		pi->mkeyprot_resv_lmc = (pi->mkeyprot_resv_lmc & ~7) | ilog2(end->nlids);
	}
	pi->linkspeed_portstate = (pi->linkspeed_portstate & 0xf0) | state;
	pi->portphysstate_linkdown &= 0x0f;
	pi->clientrereg_resv_subnetto &= ~SM_REREG;
	if (rereg)
		pi->clientrereg_resv_subnetto |= SM_REREG;
	sm_port_info(lp, &smp, IB_MGMT_METHOD_SET);
}

/* All ports of the subnet, which are those of switches and what is cabled to them */
static void sm_set_ports(struct sm_sweep *sweep, u8 from, u8 to)
{
	struct vib_lport *lp;
	struct sm_end *end;
	unsigned int i, num;

	for (i = 0; i < sweep->nsws; i++) {
		for (num = 1; num <= sweep->sws[i]->node.nports; num++) {
			lp = &sweep->sws[i]->lport[num];
			if (READ_ONCE(lp->state) == from)
				sm_set_port(sweep->sa, lp, NULL, to, false);
		}
	}
	for (end = sweep->ends; end < sweep->ends + sweep->nends; end++) {
		if (!end->lid || !end->lp)
			continue;
		if (READ_ONCE(end->lp->state) == from)
			sm_set_port(sweep->sa, end->lp, end, to, to == IB_PORT_ACTIVE);
		else if (from == IB_PORT_INIT)
			sm_set_port(sweep->sa, end->lp, end, IB_PORT_NOP, false);
	}
}

/* The port of @sw towards @end: up, unless @sw is on the way from the root to it */
static u8 sm_towards(const struct vib_switch *sw, const struct sm_end *end)
{
	struct vib_switch *at = end->sw;
	struct vib_lport *peer;
	u8 port = end->port;
	unsigned int hops;

	for (hops = 0; hops < SM_SWITCHES_MAX; hops++) {
		if (at == sw)
			return port;
		peer = at->up ? rcu_dereference(at->lport[at->up].peer) : NULL;
		if (!peer || !peer->sw)
			break;
		at = peer->sw;
		port = peer->num;
	}
	return sw->up ?: VIB_LFT_NONE;
}

static void sm_write_lft(struct sm_sweep *sweep, struct vib_switch *sw)
{
	unsigned long *lids = sweep->sa->lids;
	const struct sm_end *end;
	unsigned int lid;
	unsigned long flags;
	u8 port;

	spin_lock_irqsave(&sw->lock, flags);
	for_each_clear_bit(lid, lids, VIB_LFT_SIZE)
		WRITE_ONCE(sw->lft[lid], VIB_LFT_NONE);
	for (end = sweep->ends; end < sweep->ends + sweep->nends; end++) {
		port = sm_towards(sw, end);
		for (lid = end->lid; end->lid && lid < end->lid + end->nlids; lid++)
			WRITE_ONCE(sw->lft[lid], port);
	}
	lid = find_last_bit(lids, VIB_LFT_SIZE);
	WRITE_ONCE(sw->lft_top, lid < VIB_LFT_SIZE ? lid : 0);
	sw->state_change = false;
	spin_unlock_irqrestore(&sw->lock, flags);
}

/* Remembers which GUID has which LID, for path records */
static void sm_publish(struct sm_sweep *sweep)
{
	struct vib_sa *sa = sweep->sa;
	const struct sm_end *end;
	unsigned long flags;
	unsigned int i;
	u64 guid;

	spin_lock_irqsave(&sa->lock, flags);
	sa->nends = 0;
	for (end = sweep->ends; end < sweep->ends + sweep->nends; end++) {
		for (i = 0; end->lp && i < end->lp->nguids && sa->nends < SA_ENDS_MAX; i++) {
			guid = READ_ONCE(end->lp->guids[i]);
			if (guid && end->lid)
				sa->ends[sa->nends++] = (struct sa_end) {
					.guid = guid,
					.lid = end->lid,
					.lmc = ilog2(end->nlids),
				};
		}
	}
	sa->sweeps++;
	spin_unlock_irqrestore(&sa->lock, flags);
}

/* New multicast tables are made beside the old ones, so that no group loses a packet */
static void sm_write_mfts(struct sm_sweep *sweep)
{
	u16 *mft[SM_SWITCHES_MAX];
	unsigned int i;

	for (i = 0; i < sweep->nsws; i++) {
		mft[i] = kvcalloc(VIB_MFT_SIZE * sweep->sws[i]->mft_pos, sizeof(**mft), GFP_KERNEL);
		if (!mft[i])
			break;
	}
	if (i == sweep->nsws)
		sa_route_groups(sweep->sa, sweep->sws, mft, sweep->nsws);
	while (i--)
		kvfree(mft[i]);
}

static void sm_run(struct sm_sweep *sweep)
{
	unsigned int i;
	bool rereg;

	rcu_read_lock();
	sm_explore(sweep);
	sm_give_lids(sweep);
	sm_set_ports(sweep, IB_PORT_INIT, IB_PORT_ARMED);
	for (i = 0; i < sweep->nsws; i++)
		sm_write_lft(sweep, sweep->sws[i]);
	sm_publish(sweep);
	rcu_read_unlock();
	rereg = xchg(&sweep->sa->rereg, false);
	sa_forget_members(sweep->sa, rereg);
	sm_write_mfts(sweep);
	rcu_read_lock();
	sm_set_ports(sweep, IB_PORT_ARMED, IB_PORT_ACTIVE);
	for (i = 1; rereg && i < sweep->nends; i++)
		if (sweep->ends[i].lp)
			sm_set_port(sweep->sa, sweep->ends[i].lp, &sweep->ends[i], IB_PORT_NOP,
				    true);
	rcu_read_unlock();
}

/* Somebody has left a group: nothing but multicast tables may have changed */
static void sm_run_groups(struct sm_sweep *sweep)
{
	rcu_read_lock();
	sm_explore(sweep);
	rcu_read_unlock();
	sm_write_mfts(sweep);
}

static void sm_work(struct work_struct *work)
{
	struct sm_sweep *sweep;

	sweep = kvzalloc(sizeof(*sweep), GFP_KERNEL);
	if (!sweep)
		return;
	sweep->sa = container_of(work, struct vib_sa, sweep.work);
	mutex_lock(&vib_topo_mutex);
	if (xchg(&sweep->sa->changed, false))
		sm_run(sweep);
	else
		sm_run_groups(sweep);
	mutex_unlock(&vib_topo_mutex);
	kvfree(sweep);
}

static void sm_order(struct vib_sa *sa)
{
	WRITE_ONCE(sa->changed, true);
	mod_delayed_work(system_unbound_wq, &sa->sweep, 0);
}

/**
 * vib_sm_kick - a port has changed: all managers look again
 *
 * Context: any.
 */
void vib_sm_kick(void)
{
	unsigned long flags;
	struct vib_sa *sa;

	spin_lock_irqsave(&sm_kick_lock, flags);
	list_for_each_entry(sa, &vib_sas, entry)
		sm_order(sa);
	spin_unlock_irqrestore(&sm_kick_lock, flags);
}

/**
 * vib_sm_settle - wait until all managers have seen what they were kicked for
 *
 * Context: process, may sleep; vib_ctl_mutex held.
 */
void vib_sm_settle(void)
{
	struct vib_sa *sa;

	list_for_each_entry(sa, &vib_sas, entry)
		flush_delayed_work(&sa->sweep);
}

static void sm_free(struct vib_sa *sa)
{
	kvfree(sa->ends);
	bitmap_free(sa->lids);
	kfree(sa);
}

static struct vib_sa *sm_alloc(struct vib_switch *sw, u16 lid, u64 prefix)
{
	struct vib_sa *sa;

	sa = kzalloc(sizeof(*sa), GFP_KERNEL);
	if (!sa)
		return NULL;
	sa->ends = kvcalloc(SA_ENDS_MAX, sizeof(*sa->ends), GFP_KERNEL);
	sa->lids = bitmap_zalloc(VIB_LFT_SIZE, GFP_KERNEL);
	if (!sa->ends || !sa->lids) {
		sm_free(sa);
		return NULL;
	}
	sa->sw = sw;
	sa->lid = lid;
	sa->prefix = prefix;
	sa->knobs = (struct sa_knobs) {
		.rate = IB_RATE_40_GBPS,
		.mtu = ib_mtu_int_to_enum(vib_mtu),
		.life = 18,
		.sendonly = 1,
	};
	hash_init(sa->groups);
	INIT_LIST_HEAD(&sa->rules);
	spin_lock_init(&sa->lock);
	INIT_DELAYED_WORK(&sa->sweep, sm_work);
	return sa;
}

/**
 * vib_sm_add - make a subnet manager, with the broadcast group of the default partition
 * @sw: switch at whose management port it sits
 * @lid: LID of that port
 * @prefix: GID prefix of the subnet, host order
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0, -EEXIST if the switch has one, -EINVAL for a bad LID, or -ENOMEM.
 */
int vib_sm_add(struct vib_switch *sw, u16 lid, u64 prefix)
{
	struct sa_group like = {
		.qkey = SM_QKEY,
		.mtu = ib_mtu_int_to_enum(vib_mtu),
		.rate = IB_RATE_10_GBPS,
		.life = 18,
		.scope = 2,
	};
	struct vib_sa *sa;
	int ret;

	if (!lid || lid >= VIB_LID_MCAST)
		return -EINVAL;
	if (rcu_access_pointer(sw->sa))
		return -EEXIST;
	sa = sm_alloc(sw, lid, prefix);
	if (!sa)
		return -ENOMEM;
	ret = sa_group_add(sa, IB_DEFAULT_PKEY_FULL, &like);
	if (ret) {
		sm_free(sa);
		return ret;
	}
	spin_lock_irq(&sw->lport[0].lock);
	sw->lport[0].cap_mask |= IB_PORT_SM;
	spin_unlock_irq(&sw->lport[0].lock);
	rcu_assign_pointer(sw->sa, sa);
	spin_lock_irq(&sm_kick_lock);
	list_add_tail(&sa->entry, &vib_sas);
	spin_unlock_irq(&sm_kick_lock);
	sm_order(sa);
	return 0;
}

/**
 * vib_sm_del - remove the subnet manager of a switch; ports stay as they are
 * @sw: the switch
 *
 * Context: process, may sleep; vib_ctl_mutex held, or the switch is going away.
 * Return: 0, or -ENOENT if it has none.
 */
int vib_sm_del(struct vib_switch *sw)
{
	struct vib_sa *sa = rcu_replace_pointer(sw->sa, NULL, true);

	if (!sa)
		return -ENOENT;
	spin_lock_irq(&sm_kick_lock);
	list_del(&sa->entry);
	spin_unlock_irq(&sm_kick_lock);
	cancel_delayed_work_sync(&sa->sweep);
	synchronize_rcu();
	spin_lock_irq(&sw->lport[0].lock);
	sw->lport[0].cap_mask &= ~IB_PORT_SM;
	spin_unlock_irq(&sw->lport[0].lock);
	sa_groups_free(sa);
	sm_free(sa);
	return 0;
}

/**
 * vib_sm_sweep - sweep now, and wait for the end of it
 * @sw: switch of the manager
 *
 * Context: process, may sleep; vib_ctl_mutex held.
 * Return: 0, or -ENOENT if there is no manager.
 */
int vib_sm_sweep(struct vib_switch *sw)
{
	struct vib_sa *sa = rcu_dereference_protected(sw->sa, true);

	if (!sa)
		return -ENOENT;
	sm_order(sa);
	flush_delayed_work(&sa->sweep);
	return 0;
}

/**
 * vib_sm_rereg - ask all clients of the subnet to register again
 * @sw: switch of the manager
 *
 * Its groups forget their members first, as those of a manager that has just started.
 *
 * Context: process, may sleep; vib_ctl_mutex held.
 * Return: 0, or -ENOENT if there is no manager.
 */
int vib_sm_rereg(struct vib_switch *sw)
{
	struct vib_sa *sa = rcu_dereference_protected(sw->sa, true);

	if (!sa)
		return -ENOENT;
	WRITE_ONCE(sa->rereg, true);
	return vib_sm_sweep(sw);
}
