// SPDX-License-Identifier: GPL-2.0
/*
 * The subnet management agent of HCAs and switches.
 *
 * Owns the meaning of the attributes that the subnet manager reads and writes. A request is
 * answered in place: the caller hands in a copy that becomes the reply. Called by vib_process_mad()
 * for an HCA (process context or below, from MAD work items) and by the switch's SMP path in the
 * context of whoever sent the packet, so nothing here sleeps or allocates.
 *
 * A Set is checked whole before any of it is applied. Values are changed under the lock of the port
 * or switch that holds them; events follow after the lock is gone and before the reply leaves.
 */
#include "vib_fabric.h"

#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "vib.h"

#define SMA_OK		IB_MGMT_MAD_STATUS_SUCCESS
#define SMA_VALUE	IB_MGMT_MAD_STATUS_INVALID_ATTRIB_VALUE
#define SMA_ATTR	IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD_ATTRIB

#define SMA_RESP_TIME	16	/* 4.096 us << 16: what we promise to stay below */
#define SMA_VLARB_CAP	8

#define PI_PHYS_POLLING		2
#define PI_PHYS_DISABLED	3
#define PI_REREG		0x80
#define PI_ENFORCE_IN		0x08
#define PI_ENFORCE_OUT		0x04
#define PI_FILTER_RAW		0x03

/* SwitchInfo as it stands in the SMP */
struct sma_switch_info {
	__be16 lft_cap;
	__be16 rft_cap;
	__be16 mft_cap;
	__be16 lft_top;
	u8 def_port;
	u8 def_mcast_primary;
	u8 def_mcast_other;
	u8 life_state;		/* life time 5 bits, state change 1, SL to VL mapping 2 */
	__be16 lids_per_port;
	__be16 part_enf_cap;
	u8 enf_flags;
	u8 resv;
	__be16 mft_top;
};

#define SI_STATE_CHANGE		0x04
#define SI_ENFORCE_IN_CAP	0x80
#define SI_ENFORCE_OUT_CAP	0x40

/* One request while it is handled */
struct sma_req {
	struct vib_lport *in;	/* where it came in */
	struct vib_lport *end;	/* the port that carries LID and M_Key for it */
	struct vib_node *node;
	struct vib_switch *sw;
	struct ib_smp *smp;
	u32 mod;
	bool hide_mkey;
	bool rereg;		/* echo the client re-register bit */
};

struct sma_attr {
	__be16 id;
	bool on_hca;
	bool on_switch;
	u16 (*get)(struct sma_req *req);
	u16 (*set)(struct sma_req *req);
};

static u16 sma_get_node_desc(struct sma_req *req)
{
	memcpy(req->smp->data, req->node->desc, IB_DEVICE_NODE_DESC_MAX);
	return SMA_OK;
}

static u16 sma_get_node_info(struct sma_req *req)
{
	struct ib_node_info *ni = (struct ib_node_info *)req->smp->data;

	ni->base_version = IB_MGMT_BASE_VERSION;
	ni->class_version = 1;
	ni->node_type = req->sw ? RDMA_NODE_IB_SWITCH : RDMA_NODE_IB_CA;
	ni->num_ports = req->node->nports;
	ni->sys_guid = cpu_to_be64(req->node->sys_guid);
	ni->node_guid = cpu_to_be64(req->node->guid);
	ni->port_guid = cpu_to_be64(req->end->guids[0]);
	ni->partition_cap = cpu_to_be16(req->end->npkeys);
	ni->device_id = cpu_to_be16(req->sw ? 2 : 1);
	ni->revision = cpu_to_be32(1);
	ni->local_port_num = req->in->num;
	put_unaligned_be24(VIB_OUI, ni->vendor_id);
	return SMA_OK;
}

static u16 sma_get_switch_info(struct sma_req *req)
{
	struct sma_switch_info *si = (struct sma_switch_info *)req->smp->data;
	struct vib_switch *sw = req->sw;
	unsigned long flags;

	if (req->mod)
		return SMA_VALUE;
	spin_lock_irqsave(&sw->lock, flags);
	si->lft_cap = cpu_to_be16(VIB_LFT_SIZE - 1);
	si->mft_cap = cpu_to_be16(VIB_MFT_SIZE);
	si->lft_top = cpu_to_be16(sw->lft_top);
	si->def_port = sw->def_port;
	si->def_mcast_primary = sw->def_mcast_primary;
	si->def_mcast_other = sw->def_mcast_other;
	si->life_state = sw->life_time << 3 | (sw->state_change ? SI_STATE_CHANGE : 0);
	si->part_enf_cap = cpu_to_be16(sw->lport[0].npkeys);
	si->enf_flags = SI_ENFORCE_IN_CAP | SI_ENFORCE_OUT_CAP;
	si->mft_top = cpu_to_be16(sw->mft_top);
	spin_unlock_irqrestore(&sw->lock, flags);
	return SMA_OK;
}

/* May this be the number of a default port? 0xff says that there is none. */
static bool sma_port_ok(const struct vib_switch *sw, u8 port)
{
	return port <= sw->node.nports || port == VIB_LFT_NONE;
}

static u16 sma_set_switch_info(struct sma_req *req)
{
	struct sma_switch_info *si = (struct sma_switch_info *)req->smp->data;
	u16 mft_top = be16_to_cpu(si->mft_top);
	u16 top = be16_to_cpu(si->lft_top);
	struct vib_switch *sw = req->sw;
	unsigned long flags;

	if (req->mod || top >= VIB_LFT_SIZE || !sma_port_ok(sw, si->def_port) ||
	    !sma_port_ok(sw, si->def_mcast_primary) || !sma_port_ok(sw, si->def_mcast_other))
		return SMA_VALUE;
	if (mft_top && mft_top != VIB_LID_PERMISSIVE &&
	    (mft_top < VIB_LID_MCAST - 1 || mft_top >= VIB_LID_MCAST + VIB_MFT_SIZE))
		return SMA_VALUE;

	spin_lock_irqsave(&sw->lock, flags);
	WRITE_ONCE(sw->lft_top, top);
	sw->mft_top = mft_top;
	sw->def_port = si->def_port;
	sw->def_mcast_primary = si->def_mcast_primary;
	sw->def_mcast_other = si->def_mcast_other;
	sw->life_time = si->life_state >> 3;
	if (si->life_state & SI_STATE_CHANGE)
		sw->state_change = false;
	spin_unlock_irqrestore(&sw->lock, flags);
	return SMA_OK;
}

/* The port that a PortInfo request is about, NULL if there is none of that number */
static struct vib_lport *sma_pi_port(const struct sma_req *req)
{
	u8 num = req->mod & 0xff;

	if (!num && !req->sw)
		return req->in;
	return vib_node_port(req->node, num);
}

static void sma_pi_fill_addr(const struct vib_lport *lp, struct ib_port_info *pi, bool hide)
{
	pi->mkey = hide ? 0 : cpu_to_be64(lp->mkey);
	pi->gid_prefix = cpu_to_be64(lp->gid_prefix);
	pi->lid = cpu_to_be16(lp->lid);
	pi->sm_lid = cpu_to_be16(lp->sm_lid);
	pi->cap_mask = cpu_to_be32(lp->cap_mask);
	pi->mkey_lease_period = cpu_to_be16(lp->mkey_lease);
	pi->mkeyprot_resv_lmc = lp->mkey_prot << 6 | lp->lmc;
	pi->vlcap_inittype = lp->init_type;
	pi->neighbormtu_mastersmsl = lp->sm_sl;
	pi->mkey_violations = cpu_to_be16(lp->mkey_violations);
	pi->qkey_violations = cpu_to_be16(lp->qkey_violations);
	pi->guid_cap = min_t(unsigned int, lp->nguids, U8_MAX);
	pi->clientrereg_resv_subnetto = lp->subnet_timeout;
	pi->resv_resptimevalue = SMA_RESP_TIME;
}

static void sma_pi_fill_link(const struct vib_lport *lp, struct ib_port_info *pi)
{
	pi->link_width_enabled = lp->width_en;
	pi->link_width_supported = lp->width_sup;
	pi->link_width_active = lp->width_act;
	pi->linkspeed_portstate = lp->speed_sup << 4 | lp->state;
	pi->portphysstate_linkdown = lp->phys_state << 4 | lp->link_down_default;
	pi->linkspeedactive_enabled = lp->speed_act << 4 | lp->speed_en;
	pi->neighbormtu_mastersmsl |= lp->mtu << 4;
	pi->vlcap_inittype |= lp->vl_cap << 4;
	pi->vl_high_limit = lp->vl_high_limit;
	pi->vl_arb_high_cap = SMA_VLARB_CAP;
	pi->vl_arb_low_cap = SMA_VLARB_CAP;
	pi->inittypereply_mtucap = lp->mtu_cap;
	pi->vlstallcnt_hoqlife = lp->vlstall_hoq;
	pi->operationalvl_pei_peo_fpi_fpo = lp->op_vls << 4 | lp->filter_raw |
					    (lp->enforce_in ? PI_ENFORCE_IN : 0) |
					    (lp->enforce_out ? PI_ENFORCE_OUT : 0);
	pi->pkey_violations = cpu_to_be16(lp->pkey_violations);
	pi->localphyerrors_overrunerrors = lp->err_thresholds;
}

static u16 sma_get_port_info(struct sma_req *req)
{
	struct ib_port_info *pi = (struct ib_port_info *)req->smp->data;
	struct vib_lport *lp = sma_pi_port(req);
	unsigned long flags;

	if (!lp)
		return SMA_VALUE;
	spin_lock_irqsave(&lp->lock, flags);
	if (vib_lport_is_endport(lp))
		sma_pi_fill_addr(lp, pi, req->hide_mkey);
	sma_pi_fill_link(lp, pi);
	spin_unlock_irqrestore(&lp->lock, flags);

	pi->local_port_num = req->in->num;
	if (req->rereg)
		pi->clientrereg_resv_subnetto |= PI_REREG;
	return SMA_OK;
}

/* Is the LID and all that LMC adds to it a unicast LID? What stays as it was is not judged. */
static bool sma_pi_lids_ok(const struct vib_lport *lp, const struct ib_port_info *pi)
{
	u16 sm_lid = be16_to_cpu(pi->sm_lid);
	u8 lmc = pi->mkeyprot_resv_lmc & 7;
	u16 lid = be16_to_cpu(pi->lid);
	u16 span = 1 << lmc;

	if (sm_lid != lp->sm_lid && (!sm_lid || sm_lid >= VIB_LID_MCAST))
		return false;
	if (lid == lp->lid && lmc == lp->lmc)
		return true;
	return lid && !(lid & (span - 1)) && lid + span <= VIB_LID_MCAST;
}

/* Checks a mask of enabled widths or speeds; 0 is "as it is", @all is "what is supported" */
static bool sma_pi_subset(u8 want, u8 supported, u8 all)
{
	return want == all || !(want & ~supported);
}

static bool sma_pi_link_ok(const struct vib_lport *lp, const struct ib_port_info *pi)
{
	u8 op_vls = pi->operationalvl_pei_peo_fpi_fpo >> 4;
	u8 speed = pi->linkspeedactive_enabled & 0xf;
	u8 mtu = pi->neighbormtu_mastersmsl >> 4;
	u8 idle = pi->portphysstate_linkdown & 0xf;
	u8 phys = pi->portphysstate_linkdown >> 4;
	u8 state = pi->linkspeed_portstate & 0xf;

	if (!sma_pi_subset(pi->link_width_enabled, lp->width_sup, 0xff) ||
	    !sma_pi_subset(speed, lp->speed_sup, 0xf) || op_vls > lp->vl_cap || idle > 2)
		return false;
	if (mtu != lp->mtu && (mtu < IB_MTU_256 || mtu > lp->mtu_cap))
		return false;
	if (phys && phys != PI_PHYS_POLLING && phys != PI_PHYS_DISABLED)
		return false;
	if (phys && state > IB_PORT_DOWN)
		return false;
	return __vib_lport_check_state(lp, state) == SMA_OK;
}

static u32 sma_pi_apply_addr(struct vib_lport *lp, const struct ib_port_info *pi)
{
	u32 events;

	events = __vib_lport_set_addr(lp, be64_to_cpu(pi->gid_prefix), be16_to_cpu(pi->lid),
				      pi->mkeyprot_resv_lmc & 7, be16_to_cpu(pi->sm_lid),
				      pi->neighbormtu_mastersmsl & 0xf);
	lp->mkey = be64_to_cpu(pi->mkey);
	lp->mkey_lease = be16_to_cpu(pi->mkey_lease_period);
	lp->mkey_prot = pi->mkeyprot_resv_lmc >> 6;
	lp->subnet_timeout = pi->clientrereg_resv_subnetto & 0x1f;
	lp->init_type = pi->vlcap_inittype & 0xf;
	if (!pi->mkey_violations)
		lp->mkey_violations = 0;
	if (!pi->qkey_violations)
		lp->qkey_violations = 0;
	return events;
}

static void sma_pi_apply_link(struct vib_lport *lp, const struct ib_port_info *pi)
{
	u8 op_vls = pi->operationalvl_pei_peo_fpi_fpo >> 4;
	u8 speed = pi->linkspeedactive_enabled & 0xf;
	u8 idle = pi->portphysstate_linkdown & 0xf;

	if (pi->link_width_enabled)
		lp->width_en = pi->link_width_enabled & lp->width_sup;
	if (speed)
		lp->speed_en = speed & lp->speed_sup;
	if (op_vls)
		lp->op_vls = op_vls;
	if (idle)
		lp->link_down_default = idle;
	WRITE_ONCE(lp->mtu, pi->neighbormtu_mastersmsl >> 4);
	lp->vl_high_limit = pi->vl_high_limit;
	lp->vlstall_hoq = pi->vlstallcnt_hoqlife;
	lp->err_thresholds = pi->localphyerrors_overrunerrors;
	lp->filter_raw = pi->operationalvl_pei_peo_fpi_fpo & PI_FILTER_RAW;
	if (!pi->pkey_violations)
		lp->pkey_violations = 0;
	if (vib_lport_is_switch(lp) && lp->num) {
		WRITE_ONCE(lp->enforce_in, pi->operationalvl_pei_peo_fpi_fpo & PI_ENFORCE_IN);
		WRITE_ONCE(lp->enforce_out, pi->operationalvl_pei_peo_fpi_fpo & PI_ENFORCE_OUT);
	}
}

/* What a Set of the states does to the link itself; needs both ends, so no port lock is held */
static void sma_pi_drive_link(struct vib_lport *lp, u8 state, u8 phys)
{
	if (vib_lport_is_endport(lp) && lp->sw)
		return;
	if (phys == PI_PHYS_DISABLED)
		vib_lport_enable(lp, false);
	else if (phys == PI_PHYS_POLLING && !READ_ONCE(lp->enabled))
		vib_lport_enable(lp, true);
	else if (phys == PI_PHYS_POLLING || state == IB_PORT_DOWN)
		vib_lport_retrain(lp);
}

static u16 sma_set_port_info(struct sma_req *req)
{
	struct ib_port_info *pi = (struct ib_port_info *)req->smp->data;
	u8 phys = pi->portphysstate_linkdown >> 4;
	u8 state = pi->linkspeed_portstate & 0xf;
	struct vib_lport *lp = sma_pi_port(req);
	unsigned long flags;
	u32 events = 0;
	bool endport;

	if (!lp)
		return SMA_VALUE;
	endport = vib_lport_is_endport(lp);

	spin_lock_irqsave(&lp->lock, flags);
	if ((endport && !sma_pi_lids_ok(lp, pi)) || !sma_pi_link_ok(lp, pi)) {
		spin_unlock_irqrestore(&lp->lock, flags);
		return SMA_VALUE;
	}
	if (endport)
		events = sma_pi_apply_addr(lp, pi);
	sma_pi_apply_link(lp, pi);
	if (state > IB_PORT_DOWN)
		events |= __vib_lport_move(lp, state);
	spin_unlock_irqrestore(&lp->lock, flags);

	sma_pi_drive_link(lp, state, phys);
	req->rereg = endport && pi->clientrereg_resv_subnetto & PI_REREG;
	if (req->rereg)
		events |= BIT(IB_EVENT_CLIENT_REREGISTER);
	vib_lport_raise(lp, events);
	return SMA_OK;
}

/* The port whose P_Key block is asked for; NULL if the port or block does not exist */
static struct vib_lport *sma_pkey_port(const struct sma_req *req, unsigned int *first)
{
	struct vib_lport *lp = req->in;

	if (req->sw)
		lp = vib_node_port(req->node, req->mod >> 16);
	*first = (req->mod & 0xffff) * VIB_PKEY_BLOCK;
	return lp && *first < lp->npkeys ? lp : NULL;
}

static u16 sma_get_pkeys(struct sma_req *req)
{
	__be16 *out = (__be16 *)req->smp->data;
	struct vib_lport *lp;
	unsigned int first;
	unsigned long flags;
	unsigned int i;

	lp = sma_pkey_port(req, &first);
	if (!lp)
		return SMA_VALUE;
	spin_lock_irqsave(&lp->lock, flags);
	for (i = 0; i < VIB_PKEY_BLOCK && first + i < lp->npkeys; i++)
		out[i] = cpu_to_be16(lp->pkeys[first + i]);
	spin_unlock_irqrestore(&lp->lock, flags);
	return SMA_OK;
}

static u16 sma_set_pkeys(struct sma_req *req)
{
	const __be16 *data = (const __be16 *)req->smp->data;
	u16 pkeys[VIB_PKEY_BLOCK];
	struct vib_lport *lp;
	unsigned int first;
	unsigned int i, n;

	lp = sma_pkey_port(req, &first);
	if (!lp)
		return SMA_VALUE;
	n = min_t(unsigned int, VIB_PKEY_BLOCK, lp->npkeys - first);
	for (i = 0; i < n; i++)
		pkeys[i] = be16_to_cpu(data[i]);
	if (vib_lport_set_pkeys(lp, first, pkeys, n))
		vib_lport_raise(lp, BIT(IB_EVENT_PKEY_CHANGE));
	return SMA_OK;
}

static u16 sma_get_guids(struct sma_req *req)
{
	__be64 *out = (__be64 *)req->smp->data;
	struct vib_lport *lp = req->end;
	unsigned long flags;
	unsigned int i;

	if (req->mod >= DIV_ROUND_UP(lp->nguids, VIB_GUID_BLOCK))
		return SMA_VALUE;
	spin_lock_irqsave(&lp->lock, flags);
	for (i = req->mod * VIB_GUID_BLOCK; i < lp->nguids && i < (req->mod + 1) * VIB_GUID_BLOCK;
	     i++)
		*out++ = cpu_to_be64(lp->guids[i]);
	spin_unlock_irqrestore(&lp->lock, flags);
	return SMA_OK;
}

static u16 sma_set_guids(struct sma_req *req)
{
	const __be64 *data = (const __be64 *)req->smp->data;
	struct vib_lport *lp = req->end;
	u64 guids[VIB_GUID_BLOCK];
	unsigned int first, i, n;

	if (req->mod >= DIV_ROUND_UP(lp->nguids, VIB_GUID_BLOCK))
		return SMA_VALUE;
	first = req->mod * VIB_GUID_BLOCK;
	n = min_t(unsigned int, VIB_GUID_BLOCK, lp->nguids - first);
	for (i = 0; i < n; i++)
		guids[i] = be64_to_cpu(data[i]);
	if (vib_lport_set_guids(lp, first, guids, n))
		vib_lport_raise(lp, BIT(IB_EVENT_GID_CHANGE));
	return SMA_OK;
}

/* Where the SL to VL map in question is kept, and the lock over it */
static u8 *sma_sl2vl(const struct sma_req *req, spinlock_t **lock)
{
	u8 out = req->mod & 0xff, in = req->mod >> 8;

	if (!req->sw) {
		*lock = &req->in->lock;
		return req->in->sl2vl;
	}
	if (req->mod >> 16 || out > req->node->nports || in > req->node->nports)
		return NULL;
	*lock = &req->sw->lock;
	return req->sw->sl2vl + (in * (req->node->nports + 1) + out) * sizeof(req->in->sl2vl);
}

static u16 sma_get_sl2vl(struct sma_req *req)
{
	spinlock_t *lock;	/* over the map */
	unsigned long flags;
	u8 *map;

	map = sma_sl2vl(req, &lock);
	if (!map)
		return SMA_VALUE;
	spin_lock_irqsave(lock, flags);
	memcpy(req->smp->data, map, sizeof(req->in->sl2vl));
	spin_unlock_irqrestore(lock, flags);
	return SMA_OK;
}

static u16 sma_set_sl2vl(struct sma_req *req)
{
	spinlock_t *lock;	/* over the map */
	unsigned long flags;
	u8 *map;

	map = sma_sl2vl(req, &lock);
	if (!map)
		return SMA_VALUE;
	spin_lock_irqsave(lock, flags);
	memcpy(map, req->smp->data, sizeof(req->in->sl2vl));
	spin_unlock_irqrestore(lock, flags);
	return SMA_OK;
}

/* Blocks 1 and 3 hold the low and the high table; 2 and 4 their second halves, which we lack */
static u8 *sma_vlarb(const struct sma_req *req, struct vib_lport **lp)
{
	u16 block = req->mod >> 16;

	*lp = req->sw ? vib_node_port(req->node, req->mod & 0xffff) : req->in;
	if (!*lp || (block != 1 && block != 3))
		return NULL;
	return (*lp)->vlarb[block / 2];
}

static u16 sma_get_vlarb(struct sma_req *req)
{
	struct vib_lport *lp;
	unsigned long flags;
	u8 *table;

	table = sma_vlarb(req, &lp);
	if (!table)
		return SMA_VALUE;
	spin_lock_irqsave(&lp->lock, flags);
	memcpy(req->smp->data, table, IB_SMP_DATA_SIZE);
	spin_unlock_irqrestore(&lp->lock, flags);
	return SMA_OK;
}

static u16 sma_set_vlarb(struct sma_req *req)
{
	struct vib_lport *lp;
	unsigned long flags;
	u8 *table;

	table = sma_vlarb(req, &lp);
	if (!table)
		return SMA_VALUE;
	spin_lock_irqsave(&lp->lock, flags);
	memcpy(table, req->smp->data, IB_SMP_DATA_SIZE);
	spin_unlock_irqrestore(&lp->lock, flags);
	return SMA_OK;
}

static u16 sma_get_lft(struct sma_req *req)
{
	if (req->mod >= VIB_LFT_SIZE / VIB_LFT_BLOCK)
		return SMA_VALUE;
	memcpy(req->smp->data, req->sw->lft + req->mod * VIB_LFT_BLOCK, VIB_LFT_BLOCK);
	return SMA_OK;
}

static u16 sma_set_lft(struct sma_req *req)
{
	const u8 *data = req->smp->data;
	struct vib_switch *sw = req->sw;
	unsigned long flags;
	unsigned int i;
	u8 *lft;

	if (req->mod >= VIB_LFT_SIZE / VIB_LFT_BLOCK)
		return SMA_VALUE;
	for (i = 0; i < VIB_LFT_BLOCK; i++)
		if (!sma_port_ok(sw, data[i]))
			return SMA_VALUE;
	lft = sw->lft + req->mod * VIB_LFT_BLOCK;
	spin_lock_irqsave(&sw->lock, flags);
	for (i = 0; i < VIB_LFT_BLOCK; i++)
		WRITE_ONCE(lft[i], data[i]);
	spin_unlock_irqrestore(&sw->lock, flags);
	return SMA_OK;
}

/* First of the masks that a multicast forwarding block is about, NULL if beyond the tables */
static u16 *sma_mft(const struct sma_req *req)
{
	u32 block = req->mod & 0x1ff;
	u32 pos = req->mod >> 28;

	if (req->mod & 0x0ffffe00 || block >= VIB_MFT_SIZE / VIB_MFT_BLOCK ||
	    pos >= req->sw->mft_pos)
		return NULL;
	return req->sw->mft + block * VIB_MFT_BLOCK * req->sw->mft_pos + pos;
}

static u16 sma_get_mft(struct sma_req *req)
{
	__be16 *out = (__be16 *)req->smp->data;
	u16 *mft = sma_mft(req);
	unsigned int i;

	if (!mft)
		return SMA_VALUE;
	for (i = 0; i < VIB_MFT_BLOCK; i++)
		out[i] = cpu_to_be16(READ_ONCE(mft[i * req->sw->mft_pos]));
	return SMA_OK;
}

static u16 sma_set_mft(struct sma_req *req)
{
	const __be16 *data = (const __be16 *)req->smp->data;
	unsigned int first = (req->mod >> 28) * VIB_MFT_PORTS;
	struct vib_switch *sw = req->sw;
	u16 *mft = sma_mft(req);
	unsigned long flags;
	unsigned int i;
	u16 valid;

	if (!mft)
		return SMA_VALUE;
	valid = GENMASK(min_t(unsigned int, sw->node.nports - first, VIB_MFT_PORTS - 1), 0);
	for (i = 0; i < VIB_MFT_BLOCK; i++)
		if (be16_to_cpu(data[i]) & ~valid)
			return SMA_VALUE;
	spin_lock_irqsave(&sw->lock, flags);
	for (i = 0; i < VIB_MFT_BLOCK; i++)
		WRITE_ONCE(mft[i * sw->mft_pos], be16_to_cpu(data[i]));
	spin_unlock_irqrestore(&sw->lock, flags);
	return SMA_OK;
}

static u16 sma_get_led(struct sma_req *req)
{
	req->smp->data[0] = READ_ONCE(req->end->led);
	return SMA_OK;
}

static u16 sma_set_led(struct sma_req *req)
{
	WRITE_ONCE(req->end->led, req->smp->data[0] & 0x80);
	return SMA_OK;
}

static const struct sma_attr sma_attrs[] = {
	{ IB_SMP_ATTR_NODE_DESC, true, true, sma_get_node_desc },
	{ IB_SMP_ATTR_NODE_INFO, true, true, sma_get_node_info },
	{ IB_SMP_ATTR_SWITCH_INFO, false, true, sma_get_switch_info, sma_set_switch_info },
	{ IB_SMP_ATTR_PORT_INFO, true, true, sma_get_port_info, sma_set_port_info },
	{ IB_SMP_ATTR_PKEY_TABLE, true, true, sma_get_pkeys, sma_set_pkeys },
	{ IB_SMP_ATTR_GUID_INFO, true, true, sma_get_guids, sma_set_guids },
	{ IB_SMP_ATTR_SL_TO_VL_TABLE, true, true, sma_get_sl2vl, sma_set_sl2vl },
	{ IB_SMP_ATTR_VL_ARB_TABLE, true, true, sma_get_vlarb, sma_set_vlarb },
	{ IB_SMP_ATTR_LINEAR_FORWARD_TABLE, false, true, sma_get_lft, sma_set_lft },
	{ IB_SMP_ATTR_MCAST_FORWARD_TABLE, false, true, sma_get_mft, sma_set_mft },
	{ IB_SMP_ATTR_LED_INFO, true, true, sma_get_led, sma_set_led },
};

static const struct sma_attr *sma_find(const struct sma_req *req)
{
	const struct sma_attr *attr;

	for (attr = sma_attrs; attr < sma_attrs + ARRAY_SIZE(sma_attrs); attr++)
		if (attr->id == req->smp->attr_id && (req->sw ? attr->on_switch : attr->on_hca))
			return attr;
	return NULL;
}

enum sma_mkey {
	SMA_MKEY_GOOD,
	SMA_MKEY_HIDE,		/* may read, but not the key itself */
	SMA_MKEY_BAD,
};

/* Judges the M_Key of @smp against the one of @lp and counts a miss */
static enum sma_mkey sma_check_mkey(struct vib_lport *lp, const struct ib_smp *smp)
{
	enum sma_mkey res = SMA_MKEY_BAD;
	unsigned long flags;

	spin_lock_irqsave(&lp->lock, flags);
	if (lp->lease_running && time_after(jiffies, lp->lease_end)) {
		lp->lease_running = false;
		lp->mkey_prot = 0;
	}
	if (!lp->mkey || be64_to_cpu(smp->mkey) == lp->mkey) {
		lp->lease_running = false;
		res = SMA_MKEY_GOOD;
	} else if (smp->method == IB_MGMT_METHOD_GET && lp->mkey_prot < 2) {
		res = lp->mkey_prot ? SMA_MKEY_HIDE : SMA_MKEY_GOOD;
	} else {
		if (lp->mkey_violations < U16_MAX)
			lp->mkey_violations++;
		if (lp->mkey_lease && !lp->lease_running) {
			lp->lease_running = true;
			lp->lease_end = jiffies + lp->mkey_lease * HZ;
		}
	}
	spin_unlock_irqrestore(&lp->lock, flags);
	return res;
}

/* False if the request is to be dropped for its M_Key */
static bool sma_authorize(struct sma_req *req, u16 slid)
{
	struct vib_lport *other = NULL;
	enum sma_mkey res;

	res = sma_check_mkey(req->end, req->smp);
	if (!req->sw && req->smp->attr_id == IB_SMP_ATTR_PORT_INFO)
		other = sma_pi_port(req);
	if (other && other != req->end)
		res = max(res, sma_check_mkey(other, req->smp));
	req->hide_mkey = res == SMA_MKEY_HIDE;
	if (res != SMA_MKEY_BAD)
		return true;
	vib_trap_mkey(req->end, req->smp, slid);
	vib_lport_drop(req->in, VIB_DROP_MKEY);
	return false;
}

/* Turns the request into its reply */
static void sma_reply(struct sma_req *req, u16 status)
{
	struct ib_smp *smp = req->smp;

	smp->method = IB_MGMT_METHOD_GET_RESP;
	smp->status = cpu_to_be16(status);
	if (smp->mgmt_class == IB_MGMT_CLASS_SUBN_DIRECTED_ROUTE)
		smp->status |= IB_SMP_DIRECTION;
}

static u16 sma_run(struct sma_req *req)
{
	const struct sma_attr *attr = sma_find(req);
	u16 status = SMA_OK;

	if (!attr)
		return SMA_ATTR;
	if (req->smp->method == IB_MGMT_METHOD_SET) {
		if (!attr->set)
			return SMA_ATTR;
		status = attr->set(req);
	}
	memset(req->smp->data, 0, sizeof(req->smp->data));
	return attr->get(req) ?: status;
}

/* Is this something that only a subnet manager above the HCA can answer? */
static bool sma_is_for_sm(const struct sma_req *req)
{
	return !req->sw && req->smp->attr_id == IB_SMP_ATTR_SM_INFO &&
	       READ_ONCE(req->in->cap_mask) & IB_PORT_SM;
}

/* Methods other than Get and Set */
static enum vib_mad_verdict sma_other_method(struct sma_req *req, u16 slid)
{
	switch (req->smp->method) {
	case IB_MGMT_METHOD_TRAP_REPRESS:
		if (sma_authorize(req, slid))
			vib_trap_repress(req->end, req->smp);
		return VIB_MAD_CONSUMED;
	case IB_MGMT_METHOD_TRAP:
	case IB_MGMT_METHOD_REPORT:
	case IB_MGMT_METHOD_SEND:
		break;
	default:
		if (req->smp->method & IB_MGMT_METHOD_RESP)
			break;
		sma_reply(req, IB_MGMT_MAD_STATUS_UNSUPPORTED_METHOD);
		return VIB_MAD_REPLY;
	}
	if (!req->sw)
		return VIB_MAD_PASS;
	vib_lport_drop(req->in, VIB_DROP_SMP_FORM);
	return VIB_MAD_DROP;
}

/**
 * vib_sma_handle - let the subnet management agent of a node look at an SMP
 * @in: port that the SMP came in by; the management port 0 for the switch's own
 * @smp: the SMP; becomes the reply if the verdict says so
 * @slid: source LID of the packet, for the notice about a wrong M_Key
 * @ignore_mkey: the request comes from the local kernel and needs no key
 *
 * Context: any, under RCU, no lock of the fabric held.
 * Return: what the caller has to do with it.
 */
enum vib_mad_verdict vib_sma_handle(struct vib_lport *in, struct ib_smp *smp, u16 slid,
				    bool ignore_mkey)
{
	struct sma_req req = {
		.in = in,
		.end = in->sw ? &in->sw->lport[0] : in,
		.node = in->node,
		.sw = in->sw,
		.smp = smp,
		.mod = be32_to_cpu(smp->attr_mod),
	};

	if (smp->method != IB_MGMT_METHOD_GET && smp->method != IB_MGMT_METHOD_SET)
		return sma_other_method(&req, slid);
	if (sma_is_for_sm(&req))
		return VIB_MAD_PASS;
	if (smp->base_version != IB_MGMT_BASE_VERSION || smp->class_version != 1) {
		sma_reply(&req, IB_MGMT_MAD_STATUS_BAD_VERSION);
		return VIB_MAD_REPLY;
	}
	if (!ignore_mkey && !sma_authorize(&req, slid))
		return VIB_MAD_DROP;
	sma_reply(&req, sma_run(&req));
	return VIB_MAD_REPLY;
}
