// SPDX-License-Identifier: GPL-2.0
/*
 * The command of the control file that makes datagrams which nobody has sent, so that all in them
 * can be forged: "frame", described at the top of vib_ctl.c. They arrive at a port from its cable,
 * a moment later, in softirq context. The command runs in the context of the writer, under
 * vib_ctl_mutex.
 */
#include "vib_ctl.h"

#include <linux/errno.h>
#include <linux/hex.h>
#include <linux/inet.h>
#include <linux/kernel.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#define FRAME_MAX	4096
#define FRAME_N_MAX	10000	/* in one command */

static int frame_gid(const char *word, union ib_gid *gid)
{
	return word && !in6_pton(word, -1, gid->raw, -1, NULL) ? -EINVAL : 0;
}

/* The words about headers; returns an errno */
static int frame_head(const struct ctl_args *args, struct vib_pkt *pkt)
{
	const char *dgid = ctl_key(args, 2, "dgid");
	u32 slid = 1, dlid = pkt->dlid, pkey = IB_DEFAULT_PKEY_FULL;
	int ret;

	ret = ctl_key_uint(args, 2, "slid", U16_MAX, &slid) ?:
	      ctl_key_uint(args, 2, "dlid", U16_MAX, &dlid) ?:
	      ctl_key_uint(args, 2, "pkey", U16_MAX, &pkey) ?:
	      ctl_key_uint(args, 2, "sqpn", IB_QPN_MASK, &pkt->sqpn) ?:
	      ctl_key_uint(args, 2, "dqpn", IB_QPN_MASK, &pkt->dqpn) ?:
	      ctl_key_uint(args, 2, "qkey", U32_MAX, &pkt->qkey) ?:
	      frame_gid(dgid, &pkt->grh.dgid) ?:
	      frame_gid(ctl_key(args, 2, "sgid"), &pkt->grh.sgid);
	pkt->slid = slid;
	pkt->dlid = dlid;
	pkt->pkey = pkey;
	pkt->has_grh = dgid;
	/* management has its own way in */
	return ret ?: pkt->dqpn ? 0 : -EINVAL;
}

/* Payload: what "data" says, and zeros up to "len" */
static int frame_body(const struct ctl_args *args, struct vib_frame *frame)
{
	const char *data = ctl_key(args, 2, "data") ?: "";
	size_t given = strlen(data) / 2;
	u32 len = given;
	int ret;

	ret = ctl_key_uint(args, 2, "len", FRAME_MAX, &len);
	if (ret)
		return ret;
	if (given > len || strlen(data) % 2 || hex2bin(frame->data, data, given))
		return -EINVAL;
	memset(frame->data + given, 0, len - given);
	vib_frame_resize(frame, len);
	return 0;
}

static int frame_one(const struct ctl_args *args, struct vib_lport *lp, const struct vib_pkt *pkt)
{
	struct vib_frame *frame = vib_frame_alloc(pkt, FRAME_MAX);
	int ret;

	if (!frame)
		return -ENOMEM;
	ret = frame_body(args, frame);
	if (ret) {
		kfree(frame);
		return ret;
	}
	rcu_read_lock();
	vib_frame_send(frame, lp, VIB_TTL, 0);
	rcu_read_unlock();
	return 0;
}

/**
 * ctl_frame - the command "frame": datagrams that nobody has sent arrive at a port
 * @args: the command
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0 or an errno.
 */
int ctl_frame(struct ctl_args *args)
{
	static const char *const keys[] = {
		"n", "len", "data", "slid", "dlid", "sqpn", "dqpn", "pkey", "qkey", "sgid", "dgid",
		NULL
	};
	struct vib_lport *lp = ctl_lport(args->word[1]);
	struct vib_pkt pkt = { .sqpn = 2 };
	u32 n = 1;
	int ret;

	if (IS_ERR(lp))
		return PTR_ERR(lp);
	pkt.dlid = READ_ONCE(lp->lid);
	ret = ctl_check_keys(args, 2, keys) ?: ctl_key_uint(args, 2, "n", FRAME_N_MAX, &n) ?:
	      frame_head(args, &pkt);
	while (!ret && n--)
		ret = frame_one(args, lp, &pkt);
	return ret;
}
