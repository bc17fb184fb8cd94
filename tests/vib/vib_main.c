// SPDX-License-Identifier: GPL-2.0
/*
 * Module start and end, parameters, and the life of an HCA.
 *
 * An HCA is an ib_device with a platform device as parent, so that user space has a stable path to
 * it. It appears in the subnet only after its registration, when all clients listen, and therefore
 * no event is lost. On removal new events stop first; the cable stays in until the clients are
 * gone, so that they can still say good-bye.
 *
 * vib_ctl_mutex guards the list of HCAs, and control commands run under it. It is not held while
 * the core registers or unregisters a device: clients take their time, and a command may be what
 * they wait for.
 */
#include "vib.h"

#include <linux/dma-mapping.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/platform_device.h>
#include <linux/slab.h>
#include <linux/string.h>

#define VIB_GUID_PREFIX		0x02564942ULL
#define VIB_NODES_MAX		4096
#define VIB_HCAS_MAX		64
#define VIB_GIDS_MIN		1

static unsigned int hcas = 1;
module_param(hcas, uint, 0444);
MODULE_PARM_DESC(hcas, "HCAs to begin with (0 to 64)");

static unsigned int ports = 2;
module_param(ports, uint, 0444);
MODULE_PARM_DESC(ports, "ports of each of them (1 to 8)");

static bool with_switch = true;
module_param_named(switch, with_switch, bool, 0444);
MODULE_PARM_DESC(switch, "make a switch and cable all ports to it");

static unsigned int pkeys = 32;
module_param(pkeys, uint, 0444);
MODULE_PARM_DESC(pkeys, "P_Key table length (a multiple of 32, up to 1024)");

static unsigned int gids = 8;
module_param(gids, uint, 0444);
MODULE_PARM_DESC(gids, "GID table length (1 to 128)");

unsigned int vib_mtu = 4096;
module_param_named(mtu, vib_mtu, uint, 0444);
MODULE_PARM_DESC(mtu, "MTU of the ports (256, 512, 1024, 2048 or 4096)");

unsigned int vib_rate = IB_RATE_40_GBPS;
module_param_named(rate, vib_rate, uint, 0444);
MODULE_PARM_DESC(rate, "rate of the ports (2 to 10; 3 is 10 Gb/s, 7 is 40 Gb/s)");

static unsigned int vmid;
module_param(vmid, uint, 0444);
MODULE_PARM_DESC(vmid, "number of this machine, goes into all GUIDs (0 to 255)");

static char *comp = "softirq";
module_param(comp, charp, 0444);
MODULE_PARM_DESC(comp, "completions: softirq, hardirq or spread");

static char *csum = "full";
module_param(csum, charp, 0444);
MODULE_PARM_DESC(csum, "checksum offload: full, or trust (promise the sums only, cheaper), lie, off");

static bool tso = true;
module_param(tso, bool, 0444);
MODULE_PARM_DESC(tso, "offer segmentation offload");

static unsigned int max_sge = VIB_MAX_SGE;
module_param(max_sge, uint, 0444);
MODULE_PARM_DESC(max_sge, "longest scatter list (1 to 32)");

static bool cost;
module_param(cost, bool, 0444);
MODULE_PARM_DESC(cost, "measure the time inside post_send");

static char *dma = "virt";
module_param(dma, charp, 0444);
MODULE_PARM_DESC(dma, "addresses in work requests: virt (of the kernel) or phys (of the DMA API)");

static bool ahcheck;
module_param(ahcheck, bool, 0444);
MODULE_PARM_DESC(ahcheck, "notice address handles that are destroyed before their sends are polled");

static bool autosa;
module_param(autosa, bool, 0444);
MODULE_PARM_DESC(autosa, "a subnet manager of the fabric's own at the first switch");

static unsigned int seed = 1;
module_param(seed, uint, 0444);
MODULE_PARM_DESC(seed, "start of the first queue pair numbers");

static bool srq = true;
module_param(srq, bool, 0444);
MODULE_PARM_DESC(srq, "offer shared receive queues");

struct vib_knobs vib_knobs = {
	.missed = true,
	.srq_sge = VIB_MAX_SGE,
	.rnr_grace_us = 20000,
};

/* vib_hcas and the life of its members, control commands */
DEFINE_MUTEX(vib_ctl_mutex);
LIST_HEAD(vib_hcas);
struct workqueue_struct *vib_ev_wq;
DEFINE_STATIC_KEY_FALSE(vib_dma_phys_key);
DEFINE_STATIC_KEY_FALSE(vib_ah_key);
static DEFINE_IDA(vib_hca_ids);
static DEFINE_IDA(vib_switch_ids);

/**
 * vib_guid - a locally administered GUID
 * @kind: what it names
 * @node: number of the node among those of its kind
 * @port: port number, 0 for the node itself
 *
 * Context: any.
 * Return: the GUID in host order.
 */
u64 vib_guid(enum vib_guid_kind kind, unsigned int node, unsigned int port)
{
	return VIB_GUID_PREFIX << 32 | (u64)(vmid & 0xff) << 24 | (u64)kind << 20 |
	       (u64)(node & 0xfff) << 8 | (port & 0xff);
}

/**
 * vib_hca_event - tell the clients of an HCA what happened to a port
 * @port: port
 * @event: port event
 *
 * Context: any. Before the HCA is registered and from its removal on nobody is told.
 */
void vib_hca_event(struct vib_port *port, enum ib_event_type event)
{
	struct vib_hca *hca = port->hca;
	struct ib_event ev = {
		.device = &hca->ibdev,
		.event = event,
		.element.port_num = port->num,
	};
	unsigned long flags;

	spin_lock_irqsave(&hca->ev_lock, flags);
	if (hca->live)
		ib_dispatch_event(&ev);
	spin_unlock_irqrestore(&hca->ev_lock, flags);
}

static void hca_set_live(struct vib_hca *hca, bool live)
{
	spin_lock_irq(&hca->ev_lock);
	hca->live = live;
	spin_unlock_irq(&hca->ev_lock);
}

/**
 * __vib_hca_find - find an HCA by name
 * @name: name
 *
 * Context: vib_ctl_mutex held, under which the result is valid.
 * Return: the HCA, or NULL.
 */
struct vib_hca *__vib_hca_find(const char *name)
{
	struct vib_hca *hca;

	lockdep_assert_held(&vib_ctl_mutex);
	list_for_each_entry(hca, &vib_hcas, entry)
		if (!strcmp(hca->node.name, name))
			return hca;
	return NULL;
}

static void hca_init(struct vib_hca *hca, unsigned int nports)
{
	hca->nports = nports;
	hca->npkeys = pkeys;
	hca->ngids = gids;
	hca->csum_cap = vib_knobs.csum != VIB_CSUM_OFF;
	hca->tso_cap = vib_knobs.tso;
	hca->srq_cap = vib_knobs.srq;
	hca->qpn_next = VIB_QPN_MIN + (seed & 0xffff);
	xa_init_flags(&hca->qps, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_IRQ);
	spin_lock_init(&hca->obj_lock);
	spin_lock_init(&hca->ev_lock);
	INIT_LIST_HEAD(&hca->qp_list);
	INIT_LIST_HEAD(&hca->cqs);
	INIT_LIST_HEAD(&hca->srqs);
	INIT_LIST_HEAD(&hca->entry);
}

static void hca_fini_ports(struct vib_hca *hca, unsigned int n)
{
	for (; n; n--)
		vib_port_fini(hca, n);
}

static int hca_init_ports(struct vib_hca *hca)
{
	struct vib_port *port;
	unsigned int n, i;
	int ret;

	for (n = 1; n <= hca->nports; n++) {
		port = &hca->ports[n - 1];
		port->hca = hca;
		port->num = n;
		spin_lock_init(&port->mcast_lock);
		for (i = 0; i < ARRAY_SIZE(port->mcast); i++)
			INIT_HLIST_HEAD(&port->mcast[i]);
		ret = vib_port_init(hca, n);
		if (ret) {
			hca_fini_ports(hca, n - 1);
			return ret;
		}
	}
	return 0;
}

static int hca_register(struct vib_hca *hca)
{
	struct ib_device *ibdev = &hca->ibdev;
	struct device *dma_dev = NULL;
	int ret;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->node_guid = cpu_to_be64(hca->node.guid);
	ibdev->phys_port_cnt = hca->nports;
	ibdev->num_comp_vectors = num_online_cpus();
	ibdev->local_dma_lkey = VIB_LKEY;
	ibdev->dev.parent = &hca->pdev->dev;
	ib_set_device_ops(ibdev, &vib_dev_ops);
	/* without a DMA device addresses in scatter lists are the kernel's own */
	if (static_key_enabled(&vib_dma_phys_key))
		dma_dev = &hca->pdev->dev;
	ret = ib_register_device(ibdev, hca->node.name, dma_dev);
	if (!ret)
		hca_set_live(hca, true);
	return ret;
}

/* Everything of an HCA but its registration; undone by hca_free() */
static struct vib_hca *hca_alloc(const char *name, unsigned int nports)
{
	struct vib_hca *hca;
	u64 guid;
	int ret;

	hca = ib_alloc_device(vib_hca, ibdev);
	if (!hca)
		return ERR_PTR(-ENOMEM);
	hca_init(hca, nports);
	ret = ida_alloc_max(&vib_hca_ids, VIB_NODES_MAX - 1, GFP_KERNEL);
	if (ret < 0)
		goto err_dealloc;
	hca->id = ret;
	hca->pdev = platform_device_register_simple("vib", hca->id, NULL, 0);
	if (IS_ERR(hca->pdev)) {
		ret = PTR_ERR(hca->pdev);
		goto err_free_id;
	}
	ret = dma_coerce_mask_and_coherent(&hca->pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		goto err_unregister_pdev;
	hca->ports = kcalloc(nports, sizeof(*hca->ports), GFP_KERNEL);
	if (!hca->ports) {
		ret = -ENOMEM;
		goto err_unregister_pdev;
	}
	guid = vib_guid(VIB_GUID_HCA, hca->id, 0);
	snprintf(hca->ibdev.node_desc, sizeof(hca->ibdev.node_desc), "vm%u %s", vmid & 0xff,
		 name);
	hca->node.hca = hca;
	ret = vib_node_init(&hca->node, name, hca->ibdev.node_desc, nports, guid, guid);
	if (ret)
		goto err_free_ports;
	ret = hca_init_ports(hca);
	if (ret)
		goto err_fini_node;
	return hca;

err_fini_node:
	vib_node_fini(&hca->node);
err_free_ports:
	kfree(hca->ports);
err_unregister_pdev:
	platform_device_unregister(hca->pdev);
err_free_id:
	ida_free(&vib_hca_ids, hca->id);
err_dealloc:
	ib_dealloc_device(&hca->ibdev);
	return ERR_PTR(ret);
}

static void hca_free(struct vib_hca *hca)
{
	hca_fini_ports(hca, hca->nports);
	vib_node_fini(&hca->node);
	/* packets that found a port under RCU are gone after this */
	synchronize_rcu();
	kfree(hca->ports);
	platform_device_unregister(hca->pdev);
	ida_free(&vib_hca_ids, hca->id);
	xa_destroy(&hca->qps);
	ib_dealloc_device(&hca->ibdev);
}

/* Free ports of the switch, in order, for the ports of the HCA, in order */
static int hca_cable(struct vib_hca *hca, const char *sw_name)
{
	struct vib_lport *end;
	unsigned int n, p = 1;
	int ret;

	for (n = 1; n <= hca->nports; n++) {
		do {
			end = vib_lport_find(sw_name, p++);
			if (!end)
				return -ENOSPC;
			ret = vib_cable(&hca->ports[n - 1].lport, end);
		} while (ret == -EBUSY);
		if (ret)
			return ret;
	}
	return 0;
}

/* It becomes that of a device and of a folder */
static bool hca_name_ok(const char *name)
{
	const char *c;

	for (c = name; *c; c++)
		if (!isascii(*c) || !isgraph(*c) || *c == '/' || *c == '%')
			return false;
	return *name && *name != '.';
}

/**
 * vib_hca_add - make an HCA and register it
 * @name: name of the ib_device
 * @nports: number of ports
 * @sw_name: switch to cable all of them to, or NULL
 *
 * Context: process, without vib_ctl_mutex.
 * Return: 0; -EEXIST for a name in use, -ENOENT for an unknown switch, -ENOSPC if it has too few
 * free ports (the HCA exists then, partly cabled), or another errno.
 */
int vib_hca_add(const char *name, unsigned int nports, const char *sw_name)
{
	struct vib_hca *hca;
	int ret;

	if (!nports || nports > VIB_MAX_PORTS || !hca_name_ok(name))
		return -EINVAL;
	if (sw_name && !vib_switch_find(sw_name))
		return -ENOENT;
	hca = hca_alloc(name, nports);
	if (IS_ERR(hca))
		return PTR_ERR(hca);
	ret = hca_register(hca);
	if (ret) {
		hca_free(hca);
		return ret;
	}
	mutex_lock(&vib_ctl_mutex);
	list_add_tail(&hca->entry, &vib_hcas);
	vib_stat_hca_add(hca);
	if (sw_name)
		ret = hca_cable(hca, sw_name);
	mutex_unlock(&vib_ctl_mutex);
	return ret;
}

/**
 * vib_hca_del - unregister an HCA and free it
 * @name: name of the ib_device
 * @fatal: it dies first: an event, and posts fail from then on
 *
 * Context: process, without vib_ctl_mutex. Waits for all clients to let go.
 * Return: 0, or -ENOENT.
 */
int vib_hca_del(const char *name, bool fatal)
{
	struct vib_hca *hca;

	mutex_lock(&vib_ctl_mutex);
	hca = __vib_hca_find(name);
	if (hca)
		list_del_init(&hca->entry);
	mutex_unlock(&vib_ctl_mutex);
	if (!hca)
		return -ENOENT;
	if (fatal) {
		vib_hca_event(&hca->ports[0], IB_EVENT_DEVICE_FATAL);
		WRITE_ONCE(hca->fatal, true);
	}
	vib_stat_hca_del(hca);
	hca_set_live(hca, false);
	ib_unregister_device(&hca->ibdev);
	hca_free(hca);
	return 0;
}

/**
 * vib_switch_add - make a switch
 * @name: name for commands and in the topology
 * @nports: number of external ports
 *
 * Context: process.
 * Return: 0 or an errno.
 */
int vib_switch_add(const char *name, unsigned int nports)
{
	struct vib_switch *sw;
	int id;

	if (!nports || nports > VIB_SWITCH_PORTS_MAX || !*name || strchr(name, '/'))
		return -EINVAL;
	id = ida_alloc_max(&vib_switch_ids, VIB_NODES_MAX - 1, GFP_KERNEL);
	if (id < 0)
		return id;
	sw = vib_switch_create(name, nports, vib_guid(VIB_GUID_SWITCH, id, 0));
	if (IS_ERR_OR_NULL(sw)) {
		ida_free(&vib_switch_ids, id);
		return sw ? PTR_ERR(sw) : -ENOMEM;
	}
	return 0;
}

/**
 * vib_switch_del - remove a switch
 * @sw: switch; its cables come out
 *
 * Context: process, vib_ctl_mutex held.
 */
void vib_switch_del(struct vib_switch *sw)
{
	unsigned int id = sw->node.guid >> 8 & (VIB_NODES_MAX - 1);

	vib_sm_del(sw);
	vib_switch_destroy(sw);
	ida_free(&vib_switch_ids, id);
}

static void vib_remove_all(void)
{
	struct vib_node *node, *next;
	char name[VIB_NODE_NAME];

	for (;;) {
		mutex_lock(&vib_ctl_mutex);
		if (list_empty(&vib_hcas)) {
			mutex_unlock(&vib_ctl_mutex);
			break;
		}
		strscpy(name, list_last_entry(&vib_hcas, struct vib_hca, entry)->node.name,
			sizeof(name));
		mutex_unlock(&vib_ctl_mutex);
		vib_hca_del(name, false);
	}
	list_for_each_entry_safe(node, next, &vib_nodes, entry)
		if (node->sw)
			vib_switch_del(node->sw);
}

static int __init vib_check_params(void)
{
	static const char *const comps[] = { "softirq", "hardirq", "spread" };
	static const char *const csums[] = { "trust", "full", "lie", "off" };
	static const char *const dmas[] = { "virt", "phys" };
	int c = match_string(comps, ARRAY_SIZE(comps), comp);
	int s = match_string(csums, ARRAY_SIZE(csums), csum);
	int d = match_string(dmas, ARRAY_SIZE(dmas), dma);

	if (hcas > VIB_HCAS_MAX || !ports || ports > VIB_MAX_PORTS ||
	    !pkeys || pkeys > VIB_PKEYS_MAX || pkeys % VIB_PKEY_BLOCK ||
	    gids < VIB_GIDS_MIN || gids > VIB_GUIDS_MAX ||
	    vib_mtu < 256 || vib_mtu > 4096 || !is_power_of_2(vib_mtu) ||
	    vib_rate < IB_RATE_2_5_GBPS || vib_rate > IB_RATE_120_GBPS || vmid > 255 ||
	    (autosa && !with_switch) || !max_sge || max_sge > VIB_MAX_SGE ||
	    c < 0 || s < 0 || d < 0) {
		pr_err("vib: a module parameter is out of range, see modinfo\n");
		return -EINVAL;
	}
	vib_knobs.comp = c;
	vib_knobs.csum = s;
	vib_knobs.tso = tso;
	vib_knobs.max_sge = max_sge;
	vib_knobs.srq = srq;
	vib_cost_switch(cost);
	if (ahcheck)
		static_branch_enable(&vib_ah_key);
	if (d)
		static_branch_enable(&vib_dma_phys_key);
	return 0;
}

static int __init vib_build(void)
{
	char name[VIB_NODE_NAME];
	unsigned int i;
	int ret;

	if (with_switch) {
		ret = vib_switch_add("sw0", clamp(hcas * ports + 2, 8U, VIB_SWITCH_PORTS_MAX + 0U));
		if (!ret && autosa)
			ret = vib_sm_add(vib_switch_find("sw0"), VIB_SM_LID, VIB_SM_PREFIX);
		if (ret)
			return ret;
	}
	for (i = 0; i < hcas; i++) {
		snprintf(name, sizeof(name), "vib%u", i);
		ret = vib_hca_add(name, ports, with_switch ? "sw0" : NULL);
		if (ret)
			return ret;
	}
	return 0;
}

static int __init vib_init(void)
{
	int ret;

	/* the device registers without a DMA device: ib_dma_*() must not follow it */
	BUILD_BUG_ON(!IS_ENABLED(CONFIG_INFINIBAND_VIRT_DMA));
	ret = vib_check_params();
	if (ret)
		return ret;
	vib_ev_wq = alloc_ordered_workqueue("vib_ev", 0);
	if (!vib_ev_wq)
		return -ENOMEM;
	vib_frames_init();
	ret = vib_wire_init();
	if (ret)
		goto err_destroy_wq;
	ret = vib_ctl_init();
	if (ret)
		goto err_exit_wire;
	ret = vib_build();
	if (ret)
		goto err_remove;
	return 0;

err_remove:
	pr_err("vib: cannot build the fabric: %pe\n", ERR_PTR(ret));
	vib_ctl_stop();
	vib_remove_all();
	vib_ctl_exit();
	vib_frames_exit();
err_exit_wire:
	vib_wire_exit();
err_destroy_wq:
	destroy_workqueue(vib_ev_wq);
	rcu_barrier();
	return ret;
}

static void __exit vib_exit(void)
{
	vib_ctl_stop();
	vib_remove_all();
	vib_wire_exit();
	vib_capture_stop(true);
	vib_ctl_exit();
	vib_frames_exit();
	destroy_workqueue(vib_ev_wq);
	rcu_barrier();
}

module_init(vib_init);
module_exit(vib_exit);

MODULE_DESCRIPTION("Virtual InfiniBand fabric");
MODULE_LICENSE("GPL");
