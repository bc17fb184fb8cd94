// SPDX-License-Identifier: GPL-2.0
/*
 * Switches: creation, forwarding of data packets, their general services agent, and what the
 * topology files show.
 *
 * A switch is a plain object with link ports 0..n, not an ib_device: its port 0 must not look like
 * a network interface to anybody. Data packets are forwarded in the context of their sender, under
 * RCU, by single reads of the forwarding tables; the subnet management agent writes those under the
 * switch's lock. Creation, destruction and the topology files run in process context.
 */
#include "vib_fabric.h"

#include <linux/mm.h>
#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "vib.h"

static const char * const drop_names[VIB_DROP_NR] = {
	[VIB_DROP_LINK] = "link",
	[VIB_DROP_LID] = "lid",
	[VIB_DROP_ROUTE] = "route",
	[VIB_DROP_PKEY] = "pkey",
	[VIB_DROP_MTU] = "mtu",
	[VIB_DROP_HOPS] = "hops",
	[VIB_DROP_SMP_SIZE] = "smp_size",
	[VIB_DROP_SMP_FORM] = "smp_form",
	[VIB_DROP_SMP_PATH] = "smp_path",
	[VIB_DROP_MKEY] = "mkey",
	[VIB_DROP_GSI] = "gsi",
	[VIB_DROP_FAULT] = "fault",
};

static void switch_free(struct vib_switch *sw)
{
	kvfree(sw->sl2vl);
	kvfree(sw->mft);
	kvfree(sw->lft);
	kvfree(sw->lport);
	kfree(sw);
}

static struct vib_switch *switch_alloc(unsigned int nports)
{
	struct vib_switch *sw;

	sw = kzalloc(sizeof(*sw), GFP_KERNEL);
	if (!sw)
		return NULL;
	sw->mft_pos = nports / VIB_MFT_PORTS + 1;
	sw->lport = kvcalloc(nports + 1, sizeof(*sw->lport), GFP_KERNEL);
	sw->lft = kvmalloc(VIB_LFT_SIZE, GFP_KERNEL);
	sw->mft = kvcalloc(VIB_MFT_SIZE * sw->mft_pos, sizeof(*sw->mft), GFP_KERNEL);
	sw->sl2vl = kvcalloc((nports + 1) * (nports + 1), sizeof(sw->lport->sl2vl), GFP_KERNEL);
	if (!sw->lport || !sw->lft || !sw->mft || !sw->sl2vl) {
		switch_free(sw);
		return NULL;
	}
	memset(sw->lft, VIB_LFT_NONE, VIB_LFT_SIZE);
	sw->def_mcast_primary = VIB_LFT_NONE;
	sw->def_mcast_other = VIB_LFT_NONE;
	spin_lock_init(&sw->lock);
	return sw;
}

/* Takes the first @n ports down again, the last one first */
static void switch_fini_ports(struct vib_switch *sw, unsigned int n)
{
	vib_trapq_stop(&sw->lport[0]);
	while (n--)
		vib_lport_fini(&sw->lport[n]);
}

/**
 * vib_switch_create - build a switch without cables
 * @name: how control commands and the topology call it
 * @nports: external ports
 * @guid: node GUID, host order
 *
 * Context: process, may sleep.
 * Return: the switch, or an ERR_PTR: -EINVAL for a bad name or number of ports, -EEXIST, -ENOMEM.
 */
struct vib_switch *vib_switch_create(const char *name, unsigned int nports, u64 guid)
{
	struct vib_switch *sw;
	unsigned int i;
	int ret;

	if (!nports || nports > VIB_SWITCH_PORTS_MAX)
		return ERR_PTR(-EINVAL);
	sw = switch_alloc(nports);
	if (!sw)
		return ERR_PTR(-ENOMEM);
	snprintf(sw->desc, sizeof(sw->desc), "vib switch %s", name);
	sw->node.sw = sw;
	ret = vib_node_init(&sw->node, name, sw->desc, nports, guid, guid);
	if (ret)
		goto err_free;
	for (i = 0; i <= nports; i++) {
		ret = vib_lport_init(&sw->lport[i], &sw->node, i, guid);
		if (ret)
			goto err_ports;
	}
	return sw;

err_ports:
	if (i)
		switch_fini_ports(sw, i);
	vib_node_fini(&sw->node);
err_free:
	switch_free(sw);
	return ERR_PTR(ret);
}

/**
 * vib_switch_destroy - pull all cables of a switch and free it
 * @sw: the switch
 *
 * Context: process, may sleep.
 */
void vib_switch_destroy(struct vib_switch *sw)
{
	switch_fini_ports(sw, sw->node.nports + 1);
	vib_node_fini(&sw->node);
	switch_free(sw);
}

/**
 * vib_switch_find - find a switch by its name
 * @name: the name
 *
 * Context: process, may sleep. The caller sees to it that the switch stays.
 * Return: the switch or NULL.
 */
struct vib_switch *vib_switch_find(const char *name)
{
	struct vib_switch *sw = NULL;
	struct vib_node *node;

	mutex_lock(&vib_topo_mutex);
	list_for_each_entry(node, &vib_nodes, entry)
		if (node->sw && !strcmp(node->name, name))
			sw = node->sw;
	mutex_unlock(&vib_topo_mutex);
	return sw;
}

/**
 * vib_switch_port - find an external port of a switch
 * @sw: the switch
 * @num: port number, from 1
 *
 * Context: any.
 * Return: the port or NULL.
 */
struct vib_lport *vib_switch_port(struct vib_switch *sw, unsigned int num)
{
	return num ? vib_node_port(&sw->node, num) : NULL;
}

/**
 * vib_switch_link - put the cable into a switch port or take it out
 * @sw: the switch
 * @num: port number, from 1
 * @up: whether it is in
 *
 * Context: any, without a lock of the fabric.
 * Return: 0, or -EINVAL for a port that does not exist.
 */
int vib_switch_link(struct vib_switch *sw, unsigned int num, bool up)
{
	struct vib_lport *lp = vib_switch_port(sw, num);

	if (!lp)
		return -EINVAL;
	vib_lport_link(lp, up);
	return 0;
}

/**
 * vib_switch_link_changed - a port of a switch went up or down
 * @sw: the switch
 *
 * Context: any, without a lock of the fabric.
 */
void vib_switch_link_changed(struct vib_switch *sw)
{
	unsigned long flags;

	spin_lock_irqsave(&sw->lock, flags);
	sw->state_change = true;
	spin_unlock_irqrestore(&sw->lock, flags);
	vib_trap_link_state(sw);
	vib_sm_kick();
}

/**
 * vib_switch_route - the port that leads to a unicast LID
 * @sw: the switch
 * @dlid: the LID
 *
 * Context: any, lockless.
 * Return: the port, the management port for the switch's own LID, or NULL without a route.
 */
struct vib_lport *vib_switch_route(struct vib_switch *sw, u16 dlid)
{
	if (!dlid || dlid >= VIB_LFT_SIZE)
		return NULL;
	if (dlid == READ_ONCE(sw->lport[0].lid))
		return &sw->lport[0];
	if (dlid > READ_ONCE(sw->lft_top))
		return NULL;
	return vib_node_port(&sw->node, READ_ONCE(sw->lft[dlid]));
}

static void switch_drop(struct vib_lport *lp, enum vib_drop why, enum vib_err err)
{
	vib_lport_err(lp, err);
	vib_lport_drop(lp, why);
}

/* True if the P_Key check of this port is off or lets the packet pass */
static bool switch_pkey_ok(struct vib_lport *lp, const struct vib_pkt *pkt, bool enforce,
			   enum vib_err err)
{
	unsigned long flags;

	if (!enforce || vib_lport_find_pkey(lp, pkt->pkey) >= 0)
		return true;
	switch_drop(lp, VIB_DROP_PKEY, err);
	spin_lock_irqsave(&lp->lock, flags);
	if (lp->pkey_violations < U16_MAX)
		lp->pkey_violations++;
	spin_unlock_irqrestore(&lp->lock, flags);
	vib_trap_sw_pkey(lp, pkt);
	return false;
}

static void switch_out(struct vib_walk *walk, struct vib_lport *out, int ttl)
{
	if (switch_pkey_ok(out, walk->pkt, READ_ONCE(out->enforce_out), VIB_ERR_XMIT_CONSTRAINT))
		vib_walk_out(walk, out, ttl);
}

/* Is this a GMP that the switch's general services agent may look at? */
static bool switch_gmp_ok(const struct vib_pkt *pkt, struct ib_mad *mad)
{
	if (pkt->dqpn != 1 || pkt->qkey != IB_QP1_QKEY || pkt->len != VIB_MAD_SIZE ||
	    !pkt->slid || pkt->slid >= VIB_LID_MCAST)
		return false;
	if (vib_pkt_copy(pkt, mad, 0, VIB_MAD_SIZE) != VIB_MAD_SIZE)
		return false;
	return mad->mad_hdr.base_version == IB_MGMT_BASE_VERSION &&
	       mad->mad_hdr.mgmt_class == IB_MGMT_CLASS_PERF_MGMT;
}

/* Sends the answer of the general services agent back to where the request came from */
static void switch_gmp_reply(struct vib_lport *mgmt, const struct vib_pkt *req,
			     struct ib_mad *mad, int ttl)
{
	struct vib_pkt pkt = {
		.hdr = mad,
		.hdr_len = sizeof(*mad),
		.len = sizeof(*mad),
		.dqpn = req->sqpn,
		.sqpn = 1,
		.qkey = IB_QP1_QKEY,
		.slid = mgmt->lid,
		.dlid = req->slid,
		.pkey = req->pkey,
		.sl = req->sl,
		.has_grh = req->has_grh,
	};
	struct vib_lport *out = vib_switch_route(mgmt->sw, pkt.dlid);
	struct vib_walk walk;

	if (!out || !out->num) {
		vib_lport_drop(mgmt, VIB_DROP_ROUTE);
		return;
	}
	if (pkt.has_grh) {
		pkt.grh = req->grh;
		pkt.grh.sgid = req->grh.dgid;
		pkt.grh.dgid = req->grh.sgid;
	}
	vib_walk_init(&walk, &pkt);
	switch_out(&walk, out, ttl);
}

/* A unicast packet for the LID of the switch itself */
static noinline_for_stack void switch_local(struct vib_walk *walk, struct vib_lport *in, int ttl)
{
	struct vib_lport *mgmt = &in->sw->lport[0];
	struct ib_mad mad;

	if (vib_sa_rx(in->sw, walk->pkt))
		return;
	if (!switch_gmp_ok(walk->pkt, &mad)) {
		vib_lport_drop(in, VIB_DROP_GSI);
		return;
	}
	if (vib_lport_find_pkey(mgmt, walk->pkt->pkey) < 0) {
		vib_lport_drop(in, VIB_DROP_PKEY);
		return;
	}
	if (vib_pma_handle(in, &mad) == VIB_MAD_REPLY)
		switch_gmp_reply(mgmt, walk->pkt, &mad, ttl);
	else
		vib_lport_drop(in, VIB_DROP_GSI);
}

static void switch_unicast(struct vib_walk *walk, struct vib_lport *in, int ttl)
{
	struct vib_lport *out = vib_switch_route(in->sw, walk->pkt->dlid);

	if (!out || out == in)
		switch_drop(in, VIB_DROP_ROUTE, VIB_ERR_RCV_RELAY);
	else if (!out->num)
		switch_local(walk, in, ttl);
	else
		switch_out(walk, out, ttl);
}

/* The port that unknown groups go to, 0 if they are dropped */
static u8 switch_default_mcast(struct vib_switch *sw, const struct vib_lport *in)
{
	u8 port = READ_ONCE(sw->def_mcast_primary);

	if (port == in->num)
		port = READ_ONCE(sw->def_mcast_other);
	return port <= sw->node.nports && port != in->num ? port : 0;
}

static void switch_multicast(struct vib_walk *walk, struct vib_lport *in, int ttl)
{
	u16 idx = walk->pkt->dlid - VIB_LID_MCAST;
	struct vib_switch *sw = in->sw;
	unsigned int pos, num;
	bool known = false;
	unsigned long mask;
	unsigned int bit;

	for (pos = 0; idx < VIB_MFT_SIZE && pos < sw->mft_pos; pos++) {
		mask = READ_ONCE(sw->mft[idx * sw->mft_pos + pos]);
		for_each_set_bit(bit, &mask, VIB_MFT_PORTS) {
			known = true;
			num = pos * VIB_MFT_PORTS + bit;
			if (num && num <= sw->node.nports && num != in->num)
				switch_out(walk, &sw->lport[num], ttl);
		}
	}
	if (known)
		return;
	num = switch_default_mcast(sw, in);
	if (num)
		switch_out(walk, &sw->lport[num], ttl);
	else
		switch_drop(in, VIB_DROP_ROUTE, VIB_ERR_RCV_RELAY);
}

/**
 * vib_switch_rx - a data packet has come in by a port of a switch
 * @walk: the packet's walk
 * @in: the port
 * @ttl: switches that it may still meet, this one included
 *
 * Context: the sender's, under RCU.
 */
void vib_switch_rx(struct vib_walk *walk, struct vib_lport *in, int ttl)
{
	if (ttl <= 0) {
		switch_drop(in, VIB_DROP_HOPS, VIB_ERR_RCV_RELAY);
		return;
	}
	if (!switch_pkey_ok(in, walk->pkt, READ_ONCE(in->enforce_in), VIB_ERR_RCV_CONSTRAINT))
		return;
	if (walk->mcast)
		switch_multicast(walk, in, ttl - 1);
	else
		switch_unicast(walk, in, ttl - 1);
}

/* One line for a port: what a test wants to wait for, and who is at the other end */
static void topo_port(struct seq_file *s, struct vib_lport *lp)
{
	struct vib_lport *peer;

	seq_printf(s, "port node=%s num=%u state=%u phys=%u lid=%u lmc=%u smlid=%u mtu=%u",
		   lp->node->name, lp->num, READ_ONCE(lp->state), READ_ONCE(lp->phys_state),
		   READ_ONCE(lp->lid), READ_ONCE(lp->lmc), READ_ONCE(lp->sm_lid),
		   ib_mtu_enum_to_int(READ_ONCE(lp->mtu)));
	seq_printf(s, " plugged=%d enabled=%d traps_sent=%u traps_repressed=%u traps_given_up=%u",
		   READ_ONCE(lp->plugged), READ_ONCE(lp->enabled), READ_ONCE(lp->traps.sent),
		   READ_ONCE(lp->traps.repressed), READ_ONCE(lp->traps.given_up));
	rcu_read_lock();
	peer = rcu_dereference(lp->peer);
	if (peer)
		seq_printf(s, " peer=%s:%u", peer->node->name, peer->num);
	else
		seq_puts(s, " peer=none");
	rcu_read_unlock();
	seq_putc(s, '\n');
}

static void topo_node(struct seq_file *s, const struct vib_node *node)
{
	struct vib_lport *lp;
	unsigned int i;

	seq_printf(s, "node name=%s type=%s guid=0x%016llx ports=%u", node->name,
		   node->sw ? "switch" : node->hca ? "hca" : "wire", node->guid, node->nports);
	for (i = 0; i < VIB_DROP_NR; i++)
		seq_printf(s, " drop_%s=%lld", drop_names[i], atomic64_read(&node->drops[i]));
	seq_putc(s, '\n');
	for (i = 0; i <= node->nports; i++) {
		lp = vib_node_port(node, i);
		if (lp)
			topo_port(s, lp);
	}
}

/**
 * vib_topo_show - print all nodes and ports, a line of key=value words for each
 * @s: where to
 * @unused: not used
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int vib_topo_show(struct seq_file *s, void *unused)
{
	struct vib_node *node;

	mutex_lock(&vib_topo_mutex);
	list_for_each_entry(node, &vib_nodes, entry)
		topo_node(s, node);
	mutex_unlock(&vib_topo_mutex);
	return 0;
}

/**
 * vib_lft_show - print the unicast routes of all switches
 * @s: where to
 * @unused: not used
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int vib_lft_show(struct seq_file *s, void *unused)
{
	struct vib_node *node;
	unsigned int lid;
	u8 port;

	mutex_lock(&vib_topo_mutex);
	list_for_each_entry(node, &vib_nodes, entry) {
		if (!node->sw)
			continue;
		for (lid = 1; lid <= READ_ONCE(node->sw->lft_top); lid++) {
			port = READ_ONCE(node->sw->lft[lid]);
			if (port != VIB_LFT_NONE)
				seq_printf(s, "switch=%s lid=%u port=%u\n", node->name, lid, port);
		}
	}
	mutex_unlock(&vib_topo_mutex);
	return 0;
}

static void mft_line(struct seq_file *s, const struct vib_switch *sw, unsigned int idx)
{
	const u16 *mask = sw->mft + idx * sw->mft_pos;
	unsigned int num;
	bool any = false;

	for (num = 0; num <= sw->node.nports; num++) {
		if (!(READ_ONCE(mask[num / VIB_MFT_PORTS]) & BIT(num % VIB_MFT_PORTS)))
			continue;
		if (!any)
			seq_printf(s, "switch=%s mlid=0x%04x ports=%u", sw->node.name,
				   VIB_LID_MCAST + idx, num);
		else
			seq_printf(s, ",%u", num);
		any = true;
	}
	if (any)
		seq_putc(s, '\n');
}

/**
 * vib_mft_show - print the multicast routes of all switches
 * @s: where to
 * @unused: not used
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int vib_mft_show(struct seq_file *s, void *unused)
{
	struct vib_node *node;
	unsigned int idx;

	mutex_lock(&vib_topo_mutex);
	list_for_each_entry(node, &vib_nodes, entry)
		for (idx = 0; node->sw && idx < VIB_MFT_SIZE; idx++)
			mft_line(s, node->sw, idx);
	mutex_unlock(&vib_topo_mutex);
	return 0;
}
