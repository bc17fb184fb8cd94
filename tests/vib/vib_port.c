// SPDX-License-Identifier: GPL-2.0
/*
 * Nodes and link ports: creation, what the subnet manager writes into them, events, violations.
 *
 * Management (subnet management agent, control file, verbs such as query_port) reads and writes
 * values under the port's lock, from any context; events are raised when it is gone. Creation and
 * removal run in process context. What packets do with a port is in vib_walk.c.
 */
#include "vib_fabric.h"

#include <linux/bitops.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "vib.h"

#define PORT_WIDTH_1X		0x01
#define PORT_WIDTH_4X		0x02
#define PORT_WIDTH_8X		0x04
#define PORT_WIDTH_12X		0x08
#define PORT_SPEED_SDR		0x01
#define PORT_SPEED_DDR		0x02
#define PORT_SPEED_QDR		0x04

#define PORT_VL_CAP		1	/* data VL 0 only */
#define PORT_SUBNET_TIMEOUT	18
#define PORT_PREFIX		0xfe80000000000000ULL
#define PORT_POLLING		2	/* LinkDownDefaultState */
#define PORT_ERR_THRESHOLDS	0x88

#define PORT_CAPS_COMMON (IB_PORT_TRAP_SUP | IB_PORT_SYS_IMAGE_GUID_SUP | IB_PORT_SL_MAP_SUP | \
			  IB_PORT_LED_INFO_SUP)
#define PORT_CAPS_HCA (PORT_CAPS_COMMON | IB_PORT_CLIENT_REG_SUP | IB_PORT_CAP_MASK_NOTICE_SUP | \
		       IB_PORT_OTHER_LOCAL_CHANGES_SUP)
#define PORT_CAPS_SWITCH (PORT_CAPS_COMMON | IB_PORT_PKEY_SW_EXT_PORT_TRAP_SUP)

/* list of nodes; outermost lock of the fabric */
DEFINE_MUTEX(vib_topo_mutex);
LIST_HEAD(vib_nodes);

/**
 * vib_node_init - make a node known to the fabric
 * @node: the node; @node->hca or @node->sw is set already
 * @name: how control commands and the topology call it
 * @desc: its node description, 64 bytes that stay with the creator
 * @nports: external ports
 * @guid: node GUID
 * @sys_guid: system image GUID
 *
 * Context: process, may sleep.
 * Return: 0, -EEXIST for a name in use, -EINVAL for one too long, or -ENOMEM.
 */
int vib_node_init(struct vib_node *node, const char *name, char *desc, u8 nports, u64 guid,
		  u64 sys_guid)
{
	struct vib_node *other;
	int ret = 0;

	if (strscpy(node->name, name, sizeof(node->name)) <= 0)
		return -EINVAL;
	node->ports = kcalloc(nports + 1, sizeof(*node->ports), GFP_KERNEL);
	if (!node->ports)
		return -ENOMEM;
	node->desc = desc;
	node->nports = nports;
	node->guid = guid;
	node->sys_guid = sys_guid;

	mutex_lock(&vib_topo_mutex);
	list_for_each_entry(other, &vib_nodes, entry)
		if (!strcmp(other->name, name))
			ret = -EEXIST;
	if (!ret)
		list_add_tail(&node->entry, &vib_nodes);
	mutex_unlock(&vib_topo_mutex);
	if (ret) {
		kfree(node->ports);
		node->ports = NULL;
	}
	return ret;
}

/**
 * vib_node_fini - forget a node whose ports are gone
 * @node: the node
 *
 * Context: process, may sleep.
 */
void vib_node_fini(struct vib_node *node)
{
	mutex_lock(&vib_topo_mutex);
	list_del(&node->entry);
	mutex_unlock(&vib_topo_mutex);
	kfree(node->ports);
	node->ports = NULL;
}

/**
 * vib_node_port - find a port of a node by its number
 * @node: the node
 * @num: port number; 0 is the management port of a switch
 *
 * Context: any.
 * Return: the port or NULL.
 */
struct vib_lport *vib_node_port(const struct vib_node *node, unsigned int num)
{
	return num <= node->nports ? node->ports[num] : NULL;
}

/**
 * vib_lport_find - find a port by the name of its node and its number
 * @name: name of an HCA or switch
 * @num: port number, from 1
 *
 * Context: process, may sleep. The caller sees to it that the node stays.
 * Return: the port or NULL.
 */
struct vib_lport *vib_lport_find(const char *name, unsigned int num)
{
	struct vib_lport *lp = NULL;
	struct vib_node *node;

	mutex_lock(&vib_topo_mutex);
	list_for_each_entry(node, &vib_nodes, entry)
		if (num && !strcmp(node->name, name))
			lp = vib_node_port(node, num);
	mutex_unlock(&vib_topo_mutex);
	return lp;
}

/* Widths and speeds a port offers so that the best of them give the wanted rate */
static void lport_init_rate(struct vib_lport *lp, unsigned int rate)
{
	static const struct {
		u8 rate, width, speed;
	} table[] = {
		{ IB_RATE_2_5_GBPS, PORT_WIDTH_1X, PORT_SPEED_SDR },
		{ IB_RATE_5_GBPS, PORT_WIDTH_1X, PORT_SPEED_DDR },
		{ IB_RATE_10_GBPS, PORT_WIDTH_4X, PORT_SPEED_SDR },
		{ IB_RATE_20_GBPS, PORT_WIDTH_4X, PORT_SPEED_DDR },
		{ IB_RATE_30_GBPS, PORT_WIDTH_12X, PORT_SPEED_SDR },
		{ IB_RATE_60_GBPS, PORT_WIDTH_12X, PORT_SPEED_DDR },
		{ IB_RATE_80_GBPS, PORT_WIDTH_8X, PORT_SPEED_QDR },
		{ IB_RATE_120_GBPS, PORT_WIDTH_12X, PORT_SPEED_QDR },
	};
	unsigned int i;

	lp->width_act = PORT_WIDTH_4X;
	lp->speed_act = PORT_SPEED_QDR;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		if (table[i].rate == rate) {
			lp->width_act = table[i].width;
			lp->speed_act = table[i].speed;
		}
	}
	lp->width_sup = lp->width_act | PORT_WIDTH_1X;
	lp->speed_sup = lp->speed_act | (lp->speed_act - 1);
	lp->width_en = lp->width_sup;
	lp->speed_en = lp->speed_sup;
}

/* Values that PortInfo begins with */
static void lport_init_values(struct vib_lport *lp, u64 guid)
{
	enum ib_mtu mtu = ib_mtu_int_to_enum(vib_mtu);

	lport_init_rate(lp, vib_rate);
	lp->state = IB_PORT_DOWN;
	lp->phys_state = IB_PORT_PHYS_STATE_POLLING;
	/* a manager that finds less than the capability resets the link to raise it */
	lp->mtu_cap = mtu;
	lp->mtu = mtu;
	lp->vl_cap = PORT_VL_CAP;
	lp->op_vls = PORT_VL_CAP;
	lp->link_down_default = PORT_POLLING;
	lp->err_thresholds = PORT_ERR_THRESHOLDS;
	lp->pkeys[0] = IB_DEFAULT_PKEY_FULL;
	lp->plugged = true;
	lp->enabled = true;
	if (!vib_lport_is_endport(lp))
		return;
	lp->gid_prefix = PORT_PREFIX;
	lp->guids[0] = guid;
	lp->subnet_timeout = PORT_SUBNET_TIMEOUT;
	lp->cap_mask = lp->sw ? PORT_CAPS_SWITCH : PORT_CAPS_HCA;
	if (lp->sw) {
		lp->state = IB_PORT_ACTIVE;
		lp->phys_state = IB_PORT_PHYS_STATE_LINK_UP;
	}
}

/**
 * vib_lport_init - make a link port ready and enter it into its node
 * @lp: the port, zeroed
 * @node: its node
 * @num: its number there
 * @guid: port GUID, unused for an external port of a switch
 *
 * Context: process, may sleep.
 * Return: 0 or -ENOMEM.
 */
int vib_lport_init(struct vib_lport *lp, struct vib_node *node, u8 num, u64 guid)
{
	lp->traffic = alloc_percpu(struct vib_traffic);
	if (!lp->traffic)
		return -ENOMEM;
	spin_lock_init(&lp->lock);
	lp->node = node;
	lp->num = num;
	lp->sw = node->sw;
	lp->npkeys = VIB_PKEY_BLOCK;
	lp->nguids = 1;
	if (node->hca) {
		lp->port = vib_hca_port(node->hca, num);
		lp->npkeys = min_t(u16, node->hca->npkeys, VIB_PKEYS_MAX);
		lp->nguids = min_t(u16, node->hca->ngids, VIB_GUIDS_MAX);
	}
	lport_init_values(lp, guid);
	vib_trapq_init(lp);
	node->ports[num] = lp;
	return 0;
}

/**
 * vib_lport_fini - pull the cable of a port and release what it holds
 * @lp: the port
 *
 * Context: process, may sleep. No packet of the port's own node is under way any more.
 */
void vib_lport_fini(struct vib_lport *lp)
{
	vib_trapq_stop(lp);
	vib_uncable(lp);
	vib_ghosts_del(lp);
	vib_capture_forget(lp);
	vib_fault_clear(lp);
	vib_frames_drop(lp);
	lp->node->ports[lp->num] = NULL;
	free_percpu(lp->traffic);
	lp->traffic = NULL;
}

/**
 * vib_port_init - set up the fabric's half of an HCA port
 * @hca: the HCA, its node initialised
 * @n: port number, from 1
 *
 * Context: process, may sleep.
 * Return: 0 or an errno.
 */
int vib_port_init(struct vib_hca *hca, int n)
{
	struct vib_port *port = vib_hca_port(hca, n);

	if (!port)
		return -EINVAL;
	return vib_lport_init(&port->lport, &hca->node, n, vib_guid(VIB_GUID_HCA, hca->id, n));
}

/**
 * vib_port_fini - undo vib_port_init()
 * @hca: the HCA, its QPs gone
 * @n: port number
 *
 * Context: process, may sleep.
 */
void vib_port_fini(struct vib_hca *hca, int n)
{
	vib_lport_fini(&vib_hca_port(hca, n)->lport);
}

/**
 * vib_lport_raise - tell the HCA's clients what has happened to its port
 * @lp: the port; nobody listens at a switch
 * @events: BIT() of each enum ib_event_type
 *
 * Context: any, without a lock of the fabric; the new values are visible already.
 */
void vib_lport_raise(struct vib_lport *lp, u32 events)
{
	static const enum ib_event_type order[] = {
		IB_EVENT_GID_CHANGE, IB_EVENT_LID_CHANGE, IB_EVENT_SM_CHANGE,
		IB_EVENT_PKEY_CHANGE, IB_EVENT_PORT_ERR, IB_EVENT_PORT_ACTIVE,
		IB_EVENT_CLIENT_REREGISTER,
	};
	unsigned int i;

	if (!lp->port)
		return;
	for (i = 0; i < ARRAY_SIZE(order); i++)
		if (events & BIT(order[i]))
			vib_hca_event(lp->port, order[i]);
}

/**
 * __vib_lport_set_addr - change what makes a port addressable
 * @lp: the port, its lock held
 * @prefix: GID prefix
 * @lid: base LID
 * @lmc: how many low bits of the LID choose a path
 * @sm_lid: LID of the subnet manager
 * @sm_sl: service level towards it
 *
 * Context: any, @lp->lock held.
 * Return: the events that this is worth; none for what stays as it was.
 */
u32 __vib_lport_set_addr(struct vib_lport *lp, u64 prefix, u16 lid, u8 lmc, u16 sm_lid, u8 sm_sl)
{
	u32 events = 0;

	lockdep_assert_held(&lp->lock);
	if (lp->gid_prefix != prefix)
		events |= BIT(IB_EVENT_GID_CHANGE);
	if (lp->lid != lid || lp->lmc != lmc)
		events |= BIT(IB_EVENT_LID_CHANGE);
	if (lp->sm_lid != sm_lid || lp->sm_sl != sm_sl)
		events |= BIT(IB_EVENT_SM_CHANGE);
	lp->gid_prefix = prefix;
	WRITE_ONCE(lp->lid, lid);
	WRITE_ONCE(lp->lmc, lmc);
	WRITE_ONCE(lp->sm_lid, sm_lid);
	lp->sm_sl = sm_sl;
	return events;
}

/**
 * vib_lport_set_pkeys - write part of a P_Key table
 * @lp: the port
 * @first: index of the first entry
 * @pkeys: new values
 * @n: how many; the caller has checked that they fit
 *
 * Context: any.
 * Return: true if a value has changed.
 */
bool vib_lport_set_pkeys(struct vib_lport *lp, unsigned int first, const u16 *pkeys,
			 unsigned int n)
{
	bool changed = false;
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&lp->lock, flags);
	for (i = 0; i < n; i++) {
		changed |= lp->pkeys[first + i] != pkeys[i];
		WRITE_ONCE(lp->pkeys[first + i], pkeys[i]);
	}
	spin_unlock_irqrestore(&lp->lock, flags);
	return changed;
}

/**
 * vib_lport_set_guids - write part of a GUID table
 * @lp: the port
 * @first: index of the first entry; entry 0 stays as it is
 * @guids: new values
 * @n: how many; the caller has checked that they fit
 *
 * Context: any, without a lock of the fabric.
 * Return: true if a value has changed.
 */
bool vib_lport_set_guids(struct vib_lport *lp, unsigned int first, const u64 *guids,
			 unsigned int n)
{
	bool changed = false;
	unsigned long flags;
	unsigned int i;

	spin_lock_irqsave(&lp->lock, flags);
	for (i = 0; i < n; i++) {
		if (!(first + i))
			continue;
		changed |= lp->guids[first + i] != guids[i];
		lp->guids[first + i] = guids[i];
	}
	spin_unlock_irqrestore(&lp->lock, flags);
	if (changed)
		vib_sm_kick();
	return changed;
}

/**
 * vib_lport_find_pkey - find a key of a port's table that a packet's P_Key matches
 * @lp: the port
 * @pkey: the packet's key
 *
 * Context: any, lockless.
 * Return: the index, or -1: no key with the same 15 bits, or both are limited members.
 */
int vib_lport_find_pkey(const struct vib_lport *lp, u16 pkey)
{
	unsigned int i;
	u16 own;

	if (!(pkey & 0x7fff))
		return -1;
	for (i = 0; i < lp->npkeys; i++) {
		own = READ_ONCE(lp->pkeys[i]);
		if (!((own ^ pkey) & 0x7fff) && (own | pkey) & 0x8000)
			return i;
	}
	return -1;
}

/**
 * vib_port_set_pkey - write one entry of an HCA port's P_Key table
 * @port: the port
 * @idx: index
 * @pkey: value
 *
 * Context: any, without a lock of the fabric.
 * Return: 0, or -EINVAL for an index beyond the table.
 */
int vib_port_set_pkey(struct vib_port *port, unsigned int idx, u16 pkey)
{
	if (idx >= port->lport.npkeys)
		return -EINVAL;
	if (vib_lport_set_pkeys(&port->lport, idx, &pkey, 1))
		vib_lport_raise(&port->lport, BIT(IB_EVENT_PKEY_CHANGE));
	return 0;
}

/* Changes some of the address values of an HCA port, NULL for what stays, and raises the events */
static void port_set_addr(struct vib_port *port, const u64 *prefix, const u16 *lid,
			  const u16 *sm_lid)
{
	struct vib_lport *lp = &port->lport;
	unsigned long flags;
	u32 events;

	spin_lock_irqsave(&lp->lock, flags);
	events = __vib_lport_set_addr(lp, prefix ? *prefix : lp->gid_prefix, lid ? *lid : lp->lid,
				      lp->lmc, sm_lid ? *sm_lid : lp->sm_lid, lp->sm_sl);
	spin_unlock_irqrestore(&lp->lock, flags);
	vib_lport_raise(lp, events);
}

/**
 * vib_port_set_lid - give an HCA port another LID
 * @port: the port
 * @lid: base LID
 *
 * Context: any, without a lock of the fabric.
 * Return: 0, or -EINVAL if this is no unicast LID or does not fit the port's LMC.
 */
int vib_port_set_lid(struct vib_port *port, u16 lid)
{
	u16 span = 1 << READ_ONCE(port->lport.lmc);

	if (!lid || lid & (span - 1) || lid + span > VIB_LID_MCAST)
		return -EINVAL;
	port_set_addr(port, NULL, &lid, NULL);
	return 0;
}

/**
 * vib_port_set_sm_lid - tell an HCA port another LID of the subnet manager
 * @port: the port
 * @lid: the LID
 *
 * Context: any, without a lock of the fabric.
 * Return: 0, or -EINVAL if this is no unicast LID.
 */
int vib_port_set_sm_lid(struct vib_port *port, u16 lid)
{
	if (!lid || lid >= VIB_LID_MCAST)
		return -EINVAL;
	port_set_addr(port, NULL, NULL, &lid);
	return 0;
}

/**
 * vib_port_set_prefix - give an HCA port another GID prefix
 * @port: the port
 * @prefix: the prefix, host order
 *
 * Context: any, without a lock of the fabric.
 * Return: 0.
 */
int vib_port_set_prefix(struct vib_port *port, u64 prefix)
{
	port_set_addr(port, &prefix, NULL, NULL);
	return 0;
}

/**
 * vib_port_set_guid - write an alias GUID of an HCA port
 * @port: the port
 * @idx: index, from 1
 * @guid: the GUID, host order
 *
 * A manager of the fabric's own knows it before the port's clients do, as one that gives GUIDs away
 * would.
 *
 * Context: process, may sleep; vib_ctl_mutex held.
 * Return: 0, or -EINVAL for index 0 or one beyond the table.
 */
int vib_port_set_guid(struct vib_port *port, unsigned int idx, u64 guid)
{
	if (!idx || idx >= port->lport.nguids)
		return -EINVAL;
	if (!vib_lport_set_guids(&port->lport, idx, &guid, 1))
		return 0;
	vib_sm_settle();
	vib_lport_raise(&port->lport, BIT(IB_EVENT_GID_CHANGE));
	return 0;
}

/**
 * vib_port_set_rate - let an HCA port tell another width and speed than its link has
 * @port: the port
 * @width: enum ib_port_width or any other number; 0 for that of the link
 * @speed: enum ib_port_speed or any other number; 0 for that of the link
 *
 * Only ib_query_port() is told. Links of the fabric end at QDR.
 *
 * Context: any.
 */
void vib_port_set_rate(struct vib_port *port, u8 width, u16 speed)
{
	struct vib_lport *lp = &port->lport;
	unsigned long flags;

	spin_lock_irqsave(&lp->lock, flags);
	lp->width_told = width;
	lp->speed_told = speed;
	spin_unlock_irqrestore(&lp->lock, flags);
}

/**
 * vib_port_set_state - move an HCA port to another state, as the manager does by PortInfo
 * @port: the port
 * @state: DOWN or INIT retrain the link, ARMED and ACTIVE need the state before them
 *
 * Context: any, without a lock of the fabric.
 * Return: 0, -ENOLINK if the link is down, -EINVAL for a move that is not allowed.
 */
int vib_port_set_state(struct vib_port *port, enum ib_port_state state)
{
	struct vib_lport *lp = &port->lport;
	unsigned long flags;
	u32 events = 0;
	int ret = 0;

	if (READ_ONCE(lp->state) == IB_PORT_DOWN)
		return -ENOLINK;
	if (state == IB_PORT_DOWN || state == IB_PORT_INIT) {
		vib_lport_retrain(lp);
		return 0;
	}
	spin_lock_irqsave(&lp->lock, flags);
	if (state == IB_PORT_NOP || __vib_lport_check_state(lp, state))
		ret = -EINVAL;
	else
		events = __vib_lport_move(lp, state);
	spin_unlock_irqrestore(&lp->lock, flags);
	vib_lport_raise(lp, events);
	return ret;
}

/**
 * vib_port_rereg - ask the clients of an HCA port to register again
 * @port: the port
 *
 * Context: any, without a lock of the fabric.
 */
void vib_port_rereg(struct vib_port *port)
{
	vib_lport_raise(&port->lport, BIT(IB_EVENT_CLIENT_REREGISTER));
}

/**
 * vib_port_query - fill the attributes of an HCA port
 * @port: the port
 * @attr: attributes, zeroed by the caller
 *
 * Context: any.
 */
void vib_port_query(struct vib_port *port, struct ib_port_attr *attr)
{
	struct vib_lport *lp = &port->lport;
	unsigned long flags;

	spin_lock_irqsave(&lp->lock, flags);
	attr->state = lp->state;
	attr->phys_state = lp->phys_state;
	attr->max_mtu = lp->mtu_cap;
	attr->active_mtu = lp->mtu;
	attr->gid_tbl_len = lp->nguids;
	attr->pkey_tbl_len = lp->npkeys;
	attr->port_cap_flags = lp->cap_mask;
	attr->max_msg_sz = 1U << 30;
	attr->bad_pkey_cntr = lp->pkey_violations;
	attr->qkey_viol_cntr = lp->qkey_violations;
	attr->lid = lp->lid;
	attr->sm_lid = lp->sm_lid;
	attr->lmc = lp->lmc;
	attr->max_vl_num = lp->vl_cap;
	attr->sm_sl = lp->sm_sl;
	attr->subnet_timeout = lp->subnet_timeout;
	attr->active_width = lp->width_told ?: lp->width_act;
	attr->active_speed = lp->speed_told ?: lp->speed_act;
	spin_unlock_irqrestore(&lp->lock, flags);
}

/**
 * vib_port_get_gid - read one entry of an HCA port's GID table
 * @port: the port
 * @idx: index
 * @gid: where it goes; entries without a GUID still carry the prefix
 *
 * Context: any.
 * Return: 0, or -EINVAL for an index beyond the table.
 */
int vib_port_get_gid(struct vib_port *port, unsigned int idx, union ib_gid *gid)
{
	struct vib_lport *lp = &port->lport;
	unsigned long flags;

	if (idx >= lp->nguids)
		return -EINVAL;
	spin_lock_irqsave(&lp->lock, flags);
	gid->global.subnet_prefix = cpu_to_be64(lp->gid_prefix);
	gid->global.interface_id = cpu_to_be64(lp->guids[idx]);
	spin_unlock_irqrestore(&lp->lock, flags);
	return 0;
}

/**
 * vib_port_get_pkey - read one entry of an HCA port's P_Key table
 * @port: the port
 * @idx: index
 * @pkey: where it goes
 *
 * Context: any, lockless.
 * Return: 0, or -EINVAL for an index beyond the table.
 */
int vib_port_get_pkey(struct vib_port *port, unsigned int idx, u16 *pkey)
{
	if (idx >= port->lport.npkeys)
		return -EINVAL;
	*pkey = READ_ONCE(port->lport.pkeys[idx]);
	return 0;
}

/**
 * vib_port_modify - change the capability mask of an HCA port
 * @port: the port
 * @set: bits to set
 * @clear: bits to clear
 *
 * Context: any, without a lock of the fabric.
 * Return: 0.
 */
int vib_port_modify(struct vib_port *port, u32 set, u32 clear)
{
	struct vib_lport *lp = &port->lport;
	unsigned long flags;
	u32 old;

	spin_lock_irqsave(&lp->lock, flags);
	old = lp->cap_mask;
	WRITE_ONCE(lp->cap_mask, (old | set) & ~clear);
	spin_unlock_irqrestore(&lp->lock, flags);
	if (READ_ONCE(lp->cap_mask) != old)
		vib_trap_cap_mask(lp);
	return 0;
}

static void port_violation(struct vib_lport *lp, u16 *counter, enum vib_trap_kind kind,
			   const struct vib_pkt *pkt)
{
	unsigned long flags;

	spin_lock_irqsave(&lp->lock, flags);
	if (*counter < U16_MAX)
		(*counter)++;
	spin_unlock_irqrestore(&lp->lock, flags);
	vib_trap_key(lp, kind, pkt);
}

/**
 * vib_port_pkey_violation - a packet for an HCA port has a P_Key that fits no key of its QP
 * @port: the port
 * @pkt: the packet
 *
 * Context: any, under locks of a receive queue.
 */
void vib_port_pkey_violation(struct vib_port *port, const struct vib_pkt *pkt)
{
	port_violation(&port->lport, &port->lport.pkey_violations, VIB_TRAP_PKEY, pkt);
}

/**
 * vib_port_qkey_violation - a packet for an HCA port has the wrong Q_Key
 * @port: the port
 * @pkt: the packet
 *
 * Context: any, under locks of a receive queue.
 */
void vib_port_qkey_violation(struct vib_port *port, const struct vib_pkt *pkt)
{
	port_violation(&port->lport, &port->lport.qkey_violations, VIB_TRAP_QKEY, pkt);
}
