// SPDX-License-Identifier: GPL-2.0
/*
 * What vib knows about its users, and what it does to them on demand.
 *
 * Counts of live objects, oracles (counters that stay zero as long as the upper layers behave),
 * failures of operations that a test ordered, and the cost of the fabric: the time that passes
 * inside post_send, which includes delivery. All of it is touched by the data path in any context:
 * plain atomics and per-CPU counters, and static branches for what is normally off.
 *
 * The files of debugfs that only show something are here as well.
 */
#include "vib.h"

#include <linux/debugfs.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/stacktrace.h>
#include <linux/string.h>

struct vib_count vib_objs[VIB_OBJ_NR];
atomic64_t vib_oracles[VIB_OR_NR];
DEFINE_STATIC_KEY_FALSE(vib_cost_key);
DEFINE_STATIC_KEY_FALSE(vib_fail_key);
DEFINE_PER_CPU(struct vib_cost, vib_cost);

static const char *const obj_names[VIB_OBJ_NR] = {
	[VIB_OBJ_PD] = "pd",
	[VIB_OBJ_CQ] = "cq",
	[VIB_OBJ_QP] = "qp",
	[VIB_OBJ_SRQ] = "srq",
	[VIB_OBJ_AH] = "ah",
	[VIB_OBJ_MR] = "mr",
	[VIB_OBJ_ATTACH] = "attachments",
	[VIB_OBJ_RC] = "rc",
};

static const char *const oracle_names[VIB_OR_NR] = {
	[VIB_OR_CQ_OVERRUN] = "cq_overrun",
	[VIB_OR_POST_BAD_STATE] = "post_bad_state",
	[VIB_OR_LKEY_BAD] = "lkey_bad",
	[VIB_OR_SGE_NOT_KERNEL] = "sge_not_kernel",
	[VIB_OR_QKEY_VIOLATION] = "qkey_violation",
	[VIB_OR_PKEY_VIOLATION] = "pkey_violation",
	[VIB_OR_DETACH_NOT_ATTACHED] = "detach_not_attached",
	[VIB_OR_ATTACH_TWICE] = "attach_twice",
	[VIB_OR_QP_ATTACHED] = "qp_destroyed_while_attached",
	[VIB_OR_DEALLOC_BUSY] = "dealloc_busy",
	[VIB_OR_SEND_WRAP] = "send_unsignalled_wrap",
	[VIB_OR_LSO_BAD] = "lso_bad_header",
	[VIB_OR_UD_TOO_LONG] = "ud_too_long",
	[VIB_OR_BAD_OPCODE] = "bad_opcode",
	[VIB_OR_GRH_MISSING] = "grh_missing_on_mcast",
	[VIB_OR_RX_NO_BUFFER] = "rx_no_buffer",
	[VIB_OR_RX_TOO_SMALL] = "rx_too_small",
	[VIB_OR_AH_IN_USE] = "ah_in_use_at_destroy",
};

static const char *const rx_drop_names[VIB_RXD_NR] = {
	[VIB_RXD_PORT] = "port_down",
	[VIB_RXD_LID] = "not_my_lid",
	[VIB_RXD_QPN] = "no_qp",
	[VIB_RXD_PKEY] = "pkey",
	[VIB_RXD_QKEY] = "qkey",
	[VIB_RXD_NO_BUFFER] = "no_buffer",
	[VIB_RXD_TOO_LONG] = "too_long",
	[VIB_RXD_GRH] = "mcast_no_grh",
	[VIB_RXD_MCAST] = "mcast_nobody",
};

static const char *const failop_names[VIB_FAIL_NR] = {
	[VIB_FAIL_ALLOC_PD] = "alloc_pd",
	[VIB_FAIL_CREATE_AH] = "create_ah",
	[VIB_FAIL_CREATE_CQ] = "create_cq",
	[VIB_FAIL_CREATE_QP] = "create_qp",
	[VIB_FAIL_MODIFY_QP] = "modify_qp",
	[VIB_FAIL_QUERY_QP] = "query_qp",
	[VIB_FAIL_ATTACH_MCAST] = "attach_mcast",
	[VIB_FAIL_MODIFY_CQ] = "modify_cq",
	[VIB_FAIL_MODIFY_PORT] = "modify_port",
	[VIB_FAIL_QUERY_AH] = "query_ah",
	[VIB_FAIL_GET_DMA_MR] = "get_dma_mr",
	[VIB_FAIL_POST_SEND] = "post_send",
	[VIB_FAIL_POST_RECV] = "post_recv",
	[VIB_FAIL_REQ_NOTIFY] = "req_notify_cq",
	[VIB_FAIL_QUERY_PORT] = "query_port",
	[VIB_FAIL_QUERY_PKEY] = "query_pkey",
	[VIB_FAIL_QUERY_GID] = "query_gid",
	[VIB_FAIL_QUERY_DEVICE] = "query_device",
	[VIB_FAIL_PROCESS_MAD] = "process_mad",
	[VIB_FAIL_ENABLE_DRIVER] = "enable_driver",
	[VIB_FAIL_CREATE_SRQ] = "create_srq",
	[VIB_FAIL_MODIFY_SRQ] = "modify_srq",
	[VIB_FAIL_QUERY_SRQ] = "query_srq",
	[VIB_FAIL_POST_SRQ_RECV] = "post_srq_recv",
	[VIB_FAIL_RESIZE_CQ] = "resize_cq",
};

/* An ordered failure; all fields under fail_lock */
struct fail_order {
	unsigned int skip;	/* calls that still succeed */
	unsigned int count;	/* calls that fail after them */
	unsigned int hit;	/* calls that have failed */
	int error;
	char comm[TASK_COMM_LEN];	/* only calls of tasks of this name, if there is one */
};

static struct fail_order fail_orders[VIB_FAIL_NR];
static DEFINE_SPINLOCK(fail_lock);

/* Functions that the log shows of those that led to an oracle */
#define ORACLE_DEPTH 6

/**
 * vib_oracle - count something that should not have happened
 * @which: what
 *
 * The first of each kind, since they were last set to zero, tells the log who was at work.
 *
 * Context: any.
 */
void vib_oracle(enum vib_oracle which)
{
	unsigned long by[ORACLE_DEPTH] = {};

	if (atomic64_inc_return(&vib_oracles[which]) != 1)
		return;
	stack_trace_save(by, ORACLE_DEPTH, 1);
	pr_info("vib: oracle %s: %ps < %ps < %ps < %ps < %ps < %ps\n", oracle_names[which],
		(void *)by[0], (void *)by[1], (void *)by[2], (void *)by[3], (void *)by[4],
		(void *)by[5]);
}

/**
 * vib_obj_add - count a new object
 * @kind: what was created
 *
 * Context: any.
 */
void vib_obj_add(enum vib_obj kind)
{
	int now = atomic_inc_return(&vib_objs[kind].live);
	int high = atomic_read(&vib_objs[kind].high);

	while (now > high && !atomic_try_cmpxchg(&vib_objs[kind].high, &high, now))
		;
}

/**
 * __vib_fail - does a test want this call to fail?
 * @op: operation
 *
 * Context: any.
 * Return: the errno to fail with, or 0.
 */
int __vib_fail(enum vib_failop op)
{
	struct fail_order *order = &fail_orders[op];
	unsigned long flags;
	int ret = 0;

	spin_lock_irqsave(&fail_lock, flags);
	if (*order->comm && (!in_task() || strncmp(order->comm, current->comm, TASK_COMM_LEN))) {
		ret = 0;
	} else if (order->skip) {
		order->skip--;
	} else if (order->count) {
		order->count--;
		order->hit++;
		ret = order->error;
	}
	spin_unlock_irqrestore(&fail_lock, flags);
	return ret;
}

/**
 * vib_fail_set - order calls of an operation to fail
 * @op: name of the operation
 * @nth: first call to fail, from 1
 * @count: how many fail in a row
 * @error: negative errno to fail with
 * @comm: count and hit only calls of tasks of this name, or NULL
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0, or -EINVAL.
 */
int vib_fail_set(const char *op, unsigned int nth, unsigned int count, int error,
		 const char *comm)
{
	int i = match_string(failop_names, VIB_FAIL_NR, op);

	if (i < 0 || !nth || error >= 0 || error < -MAX_ERRNO)
		return -EINVAL;
	spin_lock_irq(&fail_lock);
	fail_orders[i] = (struct fail_order) {
		.skip = nth - 1,
		.count = count,
		.error = error,
	};
	if (comm)
		strscpy(fail_orders[i].comm, comm, sizeof(fail_orders[i].comm));
	spin_unlock_irq(&fail_lock);
	static_branch_enable(&vib_fail_key);
	return 0;
}

/**
 * vib_fail_clear - take all ordered failures back
 *
 * Context: process, vib_ctl_mutex held.
 */
void vib_fail_clear(void)
{
	static_branch_disable(&vib_fail_key);
	spin_lock_irq(&fail_lock);
	memset(fail_orders, 0, sizeof(fail_orders));
	spin_unlock_irq(&fail_lock);
}

/**
 * vib_cost_switch - begin or stop to measure the time inside post_send
 * @on: begin
 *
 * Context: process.
 */
void vib_cost_switch(bool on)
{
	if (on)
		static_branch_enable(&vib_cost_key);
	else
		static_branch_disable(&vib_cost_key);
}

static int objects_show(struct seq_file *s, void *unused)
{
	int i;

	for (i = 0; i < VIB_OBJ_NR; i++)
		seq_printf(s, "%s=%d high=%d\n", obj_names[i], atomic_read(&vib_objs[i].live),
			   atomic_read(&vib_objs[i].high));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(objects);

static int oracles_show(struct seq_file *s, void *unused)
{
	int i;

	for (i = 0; i < VIB_OR_NR; i++)
		seq_printf(s, "%s=%lld\n", oracle_names[i], atomic64_read(&vib_oracles[i]));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(oracles);

static int failop_show(struct seq_file *s, void *unused)
{
	struct fail_order order;
	int i;

	for (i = 0; i < VIB_FAIL_NR; i++) {
		spin_lock_irq(&fail_lock);
		order = fail_orders[i];
		spin_unlock_irq(&fail_lock);
		seq_printf(s, "%s skip=%u count=%u hit=%u errno=%d\n", failop_names[i], order.skip,
			   order.count, order.hit, -order.error);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(failop);

static int cost_show(struct seq_file *s, void *unused)
{
	struct vib_cost sum = {};
	int cpu;

	for_each_possible_cpu(cpu) {
		const struct vib_cost *c = per_cpu_ptr(&vib_cost, cpu);

		sum.ns += READ_ONCE(c->ns);
		sum.calls += READ_ONCE(c->calls);
		sum.wrs += READ_ONCE(c->wrs);
	}
	seq_printf(s, "on=%d ns=%llu calls=%llu wrs=%llu\n",
		   static_key_enabled(&vib_cost_key.key), sum.ns, sum.calls, sum.wrs);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cost);

static int qps_show(struct seq_file *s, void *unused)
{
	vib_qps_show(s->private, s);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(qps);

static int cqs_show(struct seq_file *s, void *unused)
{
	vib_cqs_show(s->private, s);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(cqs);

static int srqs_show(struct seq_file *s, void *unused)
{
	vib_srqs_show(s->private, s);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(srqs);

static int mcast_show(struct seq_file *s, void *unused)
{
	struct vib_hca *hca = s->private;
	unsigned int n;

	for (n = 1; n <= hca->nports; n++)
		vib_mcast_show(vib_hca_port(hca, n), s);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(mcast);

static int drops_show(struct seq_file *s, void *unused)
{
	struct vib_hca *hca = s->private;
	struct vib_port *port;
	unsigned int n;
	int i;

	for (n = 1; n <= hca->nports; n++) {
		port = vib_hca_port(hca, n);
		seq_printf(s, "port=%u", n);
		for (i = 0; i < VIB_RXD_NR; i++)
			seq_printf(s, " %s=%lld", rx_drop_names[i],
				   atomic64_read(&port->rx_drops[i]));
		seq_puts(s, "\n");
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(drops);

DEFINE_SHOW_ATTRIBUTE(vib_topo);
DEFINE_SHOW_ATTRIBUTE(vib_lft);
DEFINE_SHOW_ATTRIBUTE(vib_mft);
DEFINE_SHOW_ATTRIBUTE(vib_wires);
DEFINE_SHOW_ATTRIBUTE(vib_faults);
DEFINE_SHOW_ATTRIBUTE(vib_ghosts);
DEFINE_SHOW_ATTRIBUTE(vib_sa);
DEFINE_SHOW_ATTRIBUTE(vib_sa_groups);

/* Oracles, high-water marks and costs begin anew; live counts are facts and stay */
static void stat_reset(void)
{
	int i, cpu;

	for (i = 0; i < VIB_OR_NR; i++)
		atomic64_set(&vib_oracles[i], 0);
	for (i = 0; i < VIB_OBJ_NR; i++)
		atomic_set(&vib_objs[i].high, atomic_read(&vib_objs[i].live));
	for_each_possible_cpu(cpu)
		memset(per_cpu_ptr(&vib_cost, cpu), 0, sizeof(struct vib_cost));
}

static ssize_t reset_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	stat_reset();
	return len;
}

static const struct file_operations reset_fops = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.write = reset_write,
};

/**
 * vib_stat_init - create the files that belong to no HCA
 * @root: directory
 *
 * Context: process.
 */
void vib_stat_init(struct dentry *root)
{
	debugfs_create_file("topo", 0400, root, NULL, &vib_topo_fops);
	debugfs_create_file("lft", 0400, root, NULL, &vib_lft_fops);
	debugfs_create_file("mft", 0400, root, NULL, &vib_mft_fops);
	debugfs_create_file("wires", 0400, root, NULL, &vib_wires_fops);
	vib_capture_init(root);
	debugfs_create_file("objects", 0400, root, NULL, &objects_fops);
	debugfs_create_file("oracles", 0400, root, NULL, &oracles_fops);
	debugfs_create_file("faults", 0400, root, NULL, &vib_faults_fops);
	debugfs_create_file("ghosts", 0400, root, NULL, &vib_ghosts_fops);
	debugfs_create_file("sa", 0400, root, NULL, &vib_sa_fops);
	debugfs_create_file("sa_groups", 0400, root, NULL, &vib_sa_groups_fops);
	debugfs_create_file("failop", 0400, root, NULL, &failop_fops);
	debugfs_create_file("cost", 0400, root, NULL, &cost_fops);
	debugfs_create_file("reset", 0200, root, NULL, &reset_fops);
}

/**
 * vib_stat_hca_add - create the files of an HCA
 * @hca: HCA
 *
 * Context: process, vib_ctl_mutex held.
 */
void vib_stat_hca_add(struct vib_hca *hca)
{
	if (IS_ERR_OR_NULL(vib_dbg_root))
		return;
	hca->dbg = debugfs_create_dir(hca->node.name, vib_dbg_root);
	debugfs_create_file("qps", 0400, hca->dbg, hca, &qps_fops);
	debugfs_create_file("cqs", 0400, hca->dbg, hca, &cqs_fops);
	debugfs_create_file("srqs", 0400, hca->dbg, hca, &srqs_fops);
	debugfs_create_file("mcast", 0400, hca->dbg, hca, &mcast_fops);
	debugfs_create_file("drops", 0400, hca->dbg, hca, &drops_fops);
}

/**
 * vib_stat_hca_del - remove the files of an HCA
 * @hca: HCA
 *
 * Context: process; waits for readers.
 */
void vib_stat_hca_del(struct vib_hca *hca)
{
	debugfs_remove_recursive(hca->dbg);
	hca->dbg = NULL;
}
