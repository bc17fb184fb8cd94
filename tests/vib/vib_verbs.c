// SPDX-License-Identifier: GPL-2.0
/*
 * The operations table of our ib_device, and those operations that need no file of their own:
 * what the device and its ports are, protection domains, address handles, the one memory region.
 *
 * Queries are called by the core's cache work and by upper layers in process context and only read
 * values of the port. Address handles are created and destroyed in any context, also under locks
 * with interrupts off; there is nothing to wait for, because post_send copies what it needs.
 */
#include "vib.h"

#include <linux/module.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/uverbs_ioctl.h>

#define VERBS_FW_MAJOR	1
#define VERBS_HW_REV	1

static int verbs_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
			      struct ib_udata *udata)
{
	struct vib_hca *hca = to_vhca(ibdev);
	int ret;

	ret = vib_fail(VIB_FAIL_QUERY_DEVICE);
	if (ret)
		return ret;
	*attr = (struct ib_device_attr) {
		.fw_ver = (u64)VERBS_FW_MAJOR << 32,
		.sys_image_guid = cpu_to_be64(hca->node.sys_guid),
		.max_mr_size = ~0ULL,
		.page_size_cap = PAGE_SIZE,
		.vendor_id = VIB_OUI,
		.vendor_part_id = 1,
		.hw_ver = VERBS_HW_REV,
		.max_qp = 65536,
		.max_qp_wr = VIB_MAX_WR,
		.device_cap_flags = IB_DEVICE_SYS_IMAGE_GUID | IB_DEVICE_PORT_ACTIVE_EVENT |
				    IB_DEVICE_RC_RNR_NAK_GEN | IB_DEVICE_SHUTDOWN_PORT |
				    IB_DEVICE_BAD_PKEY_CNTR | IB_DEVICE_BAD_QKEY_CNTR,
		.kernel_cap_flags = IBK_LOCAL_DMA_LKEY | IBK_BLOCK_MULTICAST_LOOPBACK,
		.max_send_sge = vib_knobs.max_sge,
		.max_recv_sge = vib_knobs.max_sge,
		.max_cq = 65536,
		.max_cqe = VIB_MAX_CQE,
		.max_mr = 65536,
		.max_pd = 65536,
		.max_qp_rd_atom = VIB_MAX_RD_ATOM,
		.max_qp_init_rd_atom = VIB_MAX_RD_ATOM,
		.max_res_rd_atom = VIB_MAX_RD_ATOM,
		.max_mcast_grp = 8192,
		.max_mcast_qp_attach = 256,
		.max_total_mcast_qp_attach = 8192 * 256,
		.max_ah = 1 << 20,
		.max_pkeys = hca->npkeys,
		.local_ca_ack_delay = 15,
	};
	if (hca->srq_cap) {
		attr->max_srq = VIB_MAX_SRQ;
		attr->max_srq_wr = VIB_MAX_SRQ_WR;
		attr->max_srq_sge = READ_ONCE(vib_knobs.srq_sge);
	}
	if (hca->csum_cap)
		attr->device_cap_flags |= IB_DEVICE_UD_IP_CSUM;
	if (hca->csum_cap && hca->tso_cap)
		attr->kernel_cap_flags |= IBK_UD_TSO;
	return 0;
}

static int verbs_modify_device(struct ib_device *ibdev, int mask, struct ib_device_modify *mod)
{
	if (mask & ~IB_DEVICE_MODIFY_NODE_DESC)
		return -EOPNOTSUPP;
	if (mask & IB_DEVICE_MODIFY_NODE_DESC) {
		memcpy(ibdev->node_desc, mod->node_desc, IB_DEVICE_NODE_DESC_MAX);
		vib_trap_node_desc(to_vhca(ibdev));
	}
	return 0;
}

static void verbs_fw_str(struct ib_device *ibdev, char *str)
{
	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.0.0", VERBS_FW_MAJOR);
}

static int verbs_query_port(struct ib_device *ibdev, u32 num, struct ib_port_attr *attr)
{
	struct vib_port *port = vib_hca_port(to_vhca(ibdev), num);
	int ret;

	if (!port)
		return -EINVAL;
	ret = vib_fail(VIB_FAIL_QUERY_PORT);
	if (ret)
		return ret;
	vib_port_query(port, attr);
	return 0;
}

static int verbs_query_gid(struct ib_device *ibdev, u32 num, int index, union ib_gid *gid)
{
	struct vib_port *port = vib_hca_port(to_vhca(ibdev), num);
	int ret;

	if (!port || index < 0)
		return -EINVAL;
	ret = vib_fail(VIB_FAIL_QUERY_GID);
	return ret ?: vib_port_get_gid(port, index, gid);
}

static int verbs_query_pkey(struct ib_device *ibdev, u32 num, u16 index, u16 *pkey)
{
	struct vib_port *port = vib_hca_port(to_vhca(ibdev), num);
	int ret;

	if (!port)
		return -EINVAL;
	ret = vib_fail(VIB_FAIL_QUERY_PKEY);
	return ret ?: vib_port_get_pkey(port, index, pkey);
}

static int verbs_modify_port(struct ib_device *ibdev, u32 num, int mask,
			     struct ib_port_modify *mod)
{
	struct vib_port *port = vib_hca_port(to_vhca(ibdev), num);
	int ret;

	if (!port)
		return -EINVAL;
	ret = vib_fail(VIB_FAIL_MODIFY_PORT);
	if (ret)
		return ret;
	if (mask & ~(IB_PORT_SHUTDOWN | IB_PORT_INIT_TYPE | IB_PORT_RESET_QKEY_CNTR))
		return -EOPNOTSUPP;
	if (mask & IB_PORT_SHUTDOWN)
		vib_port_link(port, false);
	if (mask & IB_PORT_RESET_QKEY_CNTR)
		WRITE_ONCE(port->lport.qkey_violations, 0);
	return vib_port_modify(port, mod->set_port_cap_mask, mod->clr_port_cap_mask);
}

static int verbs_port_immutable(struct ib_device *ibdev, u32 num, struct ib_port_immutable *imm)
{
	struct vib_hca *hca = to_vhca(ibdev);

	imm->pkey_tbl_len = hca->npkeys;
	imm->gid_tbl_len = hca->ngids;
	imm->core_cap_flags = RDMA_CORE_PORT_IBA_IB;
	imm->max_mad_size = IB_MGMT_MAD_SIZE;
	return 0;
}

static int verbs_process_mad(struct ib_device *ibdev, int flags, u32 num, const struct ib_wc *wc,
			     const struct ib_grh *grh, const struct ib_mad *in,
			     struct ib_mad *out, size_t *out_size, u16 *out_pkey_index)
{
	if (vib_fail(VIB_FAIL_PROCESS_MAD))
		return IB_MAD_RESULT_FAILURE;
	return vib_process_mad(ibdev, flags, num, wc, grh, in, out, out_size, out_pkey_index);
}

static int verbs_alloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	int ret;

	ret = vib_fail(VIB_FAIL_ALLOC_PD);
	if (ret)
		return ret;
	vib_obj_add(VIB_OBJ_PD);
	return 0;
}

static int verbs_dealloc_pd(struct ib_pd *pd, struct ib_udata *udata)
{
	if (atomic_read(&pd->usecnt)) {
		vib_oracle(VIB_OR_DEALLOC_BUSY);
		return -EBUSY;
	}
	vib_obj_del(VIB_OBJ_PD);
	return 0;
}

static struct ib_mr *verbs_get_dma_mr(struct ib_pd *pd, int access)
{
	struct ib_mr *mr;
	int ret;

	ret = vib_fail(VIB_FAIL_GET_DMA_MR);
	if (ret)
		return ERR_PTR(ret);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->lkey = VIB_LKEY;
	mr->rkey = VIB_LKEY;
	vib_obj_add(VIB_OBJ_MR);
	return mr;
}

/* The core wants to see the operation; there is no user space side that could call it */
static struct ib_mr *verbs_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt,
				       int access, struct ib_udata *udata)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static int verbs_dereg_mr(struct ib_mr *mr, struct ib_udata *udata)
{
	kfree(mr);
	vib_obj_del(VIB_OBJ_MR);
	return 0;
}

static bool av_ok(struct vib_hca *hca, const struct rdma_ah_attr *attr)
{
	return attr->type == RDMA_AH_ATTR_TYPE_IB && attr->sl <= 15 &&
	       rdma_ah_get_dlid(attr) <= VIB_LID_PERMISSIVE && vib_hca_port(hca, attr->port_num) &&
	       (!(rdma_ah_get_ah_flags(attr) & IB_AH_GRH) ||
		rdma_ah_read_grh(attr)->sgid_index < hca->ngids);
}

/**
 * vib_av_set - where packets go, taken from attributes
 * @hca: HCA
 * @av: takes it; left alone if the attributes are refused
 * @attr: the attributes
 *
 * Context: any.
 * Return: 0, or -EINVAL for attributes that make no sense.
 */
int vib_av_set(struct vib_hca *hca, struct vib_av *av, const struct rdma_ah_attr *attr)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);

	if (!av_ok(hca, attr))
		return -EINVAL;
	*av = (struct vib_av) {
		.dlid = rdma_ah_get_dlid(attr),
		.sl = rdma_ah_get_sl(attr),
		.path_bits = rdma_ah_get_path_bits(attr),
		.has_grh = rdma_ah_get_ah_flags(attr) & IB_AH_GRH,
	};
	if (!av->has_grh)
		return 0;
	av->sgid_index = grh->sgid_index;
	av->grh.version_tclass_flow = cpu_to_be32(6U << 28 | (u32)grh->traffic_class << 20 |
						  (grh->flow_label & 0xfffff));
	av->grh.next_hdr = 0x1b;
	av->grh.hop_limit = grh->hop_limit;
	av->grh.dgid = grh->dgid;
	return 0;
}

static int verbs_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
			   struct ib_udata *udata)
{
	const struct rdma_ah_attr *attr = init->ah_attr;
	struct vib_hca *hca = to_vhca(ibah->device);
	struct vib_ah *ah = to_vah(ibah);
	int ret;

	ret = vib_fail(VIB_FAIL_CREATE_AH);
	if (ret)
		return ret;
	ret = vib_av_set(hca, &ah->av, attr);
	if (ret)
		return ret;
	ah->use = NULL;
	if (static_branch_unlikely(&vib_ah_key)) {
		ah->use = kzalloc(sizeof(*ah->use), GFP_ATOMIC);
		if (!ah->use)
			return -ENOMEM;
		refcount_set(&ah->use->ref, 1);
	}
	ah->attr = *attr;
	ah->attr.grh.sgid_attr = NULL;
	vib_obj_add(VIB_OBJ_AH);
	return 0;
}

static int verbs_query_ah(struct ib_ah *ibah, struct rdma_ah_attr *attr)
{
	int ret;

	ret = vib_fail(VIB_FAIL_QUERY_AH);
	if (ret)
		return ret;
	*attr = to_vah(ibah)->attr;
	return 0;
}

static int verbs_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	struct vib_ah_use *use = to_vah(ibah)->use;

	if (use) {
		if (atomic_read(&use->sends))
			vib_oracle(VIB_OR_AH_IN_USE);
		vib_ah_use_put(use);
	}
	vib_obj_del(VIB_OBJ_AH);
	return 0;
}

/* Nobody in user space owns anything of us, but without this no device changes its namespace */
static void verbs_disassociate(struct ib_ucontext *context)
{
}

static int verbs_enable(struct ib_device *ibdev)
{
	return vib_fail(VIB_FAIL_ENABLE_DRIVER);
}

static ssize_t hca_type_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "VIB\n");
}
static DEVICE_ATTR_RO(hca_type);

static ssize_t hw_rev_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%x\n", VERBS_HW_REV);
}
static DEVICE_ATTR_RO(hw_rev);

static ssize_t board_id_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "vib\n");
}
static DEVICE_ATTR_RO(board_id);

/* What ibstat and its kin expect of a device beside the core's own attributes */
static struct attribute *verbs_attrs[] = {
	&dev_attr_board_id.attr,
	&dev_attr_hca_type.attr,
	&dev_attr_hw_rev.attr,
	NULL,
};

static const struct attribute_group verbs_attr_group = {
	.attrs = verbs_attrs,
};

const struct ib_device_ops vib_dev_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.device_group = &verbs_attr_group,

	.alloc_pd = verbs_alloc_pd,
	.attach_mcast = vib_attach_mcast,
	.create_ah = verbs_create_ah,
	.create_cq = vib_create_cq,
	.create_qp = vib_create_qp,
	.create_srq = vib_create_srq,
	.dealloc_pd = verbs_dealloc_pd,
	.dereg_mr = verbs_dereg_mr,
	.destroy_ah = verbs_destroy_ah,
	.destroy_cq = vib_destroy_cq,
	.destroy_qp = vib_destroy_qp,
	.destroy_srq = vib_destroy_srq,
	.detach_mcast = vib_detach_mcast,
	.disassociate_ucontext = verbs_disassociate,
	.enable_driver = verbs_enable,
	.get_dev_fw_str = verbs_fw_str,
	.get_dma_mr = verbs_get_dma_mr,
	.get_port_immutable = verbs_port_immutable,
	.modify_cq = vib_modify_cq,
	.modify_device = verbs_modify_device,
	.modify_port = verbs_modify_port,
	.modify_qp = vib_modify_qp,
	.modify_srq = vib_modify_srq,
	.poll_cq = vib_poll_cq,
	.post_recv = vib_post_recv,
	.post_send = vib_post_send,
	.post_srq_recv = vib_post_srq_recv,
	.process_mad = verbs_process_mad,
	.query_ah = verbs_query_ah,
	.query_device = verbs_query_device,
	.query_gid = verbs_query_gid,
	.query_pkey = verbs_query_pkey,
	.query_port = verbs_query_port,
	.query_qp = vib_query_qp,
	.query_srq = vib_query_srq,
	.reg_user_mr = verbs_reg_user_mr,
	.req_notify_cq = vib_req_notify_cq,
	.resize_cq = vib_resize_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, vib_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, vib_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, vib_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, vib_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_srq, vib_srq, ibsrq),
};
