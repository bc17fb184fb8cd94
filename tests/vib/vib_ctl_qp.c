// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of the control file that let something go wrong with queue pairs and shared receive
 * queues. What they say is described at the top of vib_ctl.c. They run in the context of the
 * writer, one at a time, under vib_ctl_mutex.
 */
#include "vib_ctl.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

static int qp_error(struct vib_qpc *qpc, u32 val)
{
	qpc->sq_error = val;
	return 0;
}

static int qp_hold(struct vib_qpc *qpc, u32 val)
{
	vib_cq_hold(qpc->send_cq, val);
	return 0;
}

static int qp_fatal(struct vib_qpc *qpc, u32 val)
{
	int ret = 0;

	spin_lock(&qpc->rq_lock);
	if (qpc->state == IB_QPS_RESET) {
		ret = -EINVAL;
	} else {
		vib_qp_raise(qpc, VIB_QP_EV_FATAL);
		__vib_qpc_to_err(qpc);
	}
	spin_unlock(&qpc->rq_lock);
	return ret;
}

static int qp_rnr(struct vib_qpc *qpc, u32 val)
{
	if (!qpc->rc)
		return -EINVAL;
	spin_lock(&qpc->rq_lock);
	qpc->rc->rnr_force = val;
	spin_unlock(&qpc->rq_lock);
	return 0;
}

/**
 * ctl_qp - the commands "qperr", "hold", "qpfatal" and "rnr"
 * @args: the command
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0 or an errno.
 */
int ctl_qp(struct ctl_args *args)
{
	static const struct {
		const char *name;
		int (*fn)(struct vib_qpc *qpc, u32 val);
		int words;
		u32 max;
	} what[] = {
		{ "qperr", qp_error, 4, IB_WC_GENERAL_ERR },
		{ "hold", qp_hold, 4, CTL_WAIT_MAX },
		{ "qpfatal", qp_fatal, 3 },
		{ "rnr", qp_rnr, 4, U32_MAX },
	};
	struct vib_hca *hca = __vib_hca_find(args->word[1]);
	unsigned int qpn, num = 0, i = 0;
	int ret;

	if (!hca)
		return -ENODEV;
	while (strcmp(what[i].name, args->word[0]))
		i++;
	if (args->n != what[i].words)
		return -EINVAL;
	ret = ctl_uint(args, 2, IB_QPN_MASK, &qpn);
	if (!ret && args->n == 4)
		ret = ctl_uint(args, 3, what[i].max, &num);
	return ret ?: vib_qp_do(hca, qpn, what[i].fn, num);
}

/**
 * ctl_srq - the command "srqerr"
 * @args: the command
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0 or an errno.
 */
int ctl_srq(struct ctl_args *args)
{
	struct vib_hca *hca = __vib_hca_find(args->word[1]);
	unsigned int num;
	int ret;

	if (!hca)
		return -ENODEV;
	if (args->n != 3)
		return -EINVAL;
	ret = ctl_uint(args, 2, UINT_MAX, &num);
	return ret ?: vib_srq_fail(hca, num);
}
