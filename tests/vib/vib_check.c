// SPDX-License-Identifier: GPL-2.0
/*
 * Does the verbs half of vib keep the rules of an adapter? A module that says so at once.
 *
 * It becomes a client of the first two-port vib device, whose ports a subnet manager has brought
 * up, and plays an upper layer on it, a well-behaved one and a bad one: two UD queue pairs, one on
 * each port, their completion queues polled by hand. Each case prints a line "ok" or "not ok" to
 * the kernel log. Loading fails with -EINVAL if one of them did not hold, with -ENODEV without a
 * device. The bad cases leave marks in the oracles, which the caller looks at and resets.
 *
 * Everything runs in the context of module loading; nothing stays behind.
 */
#include "vib_check.h"

#include <linux/delay.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tcp.h>
#include <net/checksum.h>
#include <net/ip.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#define CHK_WRS		16
#define CHK_CQES	64
#define CHK_BUF		8192
#define CHK_GRH		40
#define CHK_QKEY	0x1234
#define CHK_PATTERN	0x5a
#define CHK_MSS		100
#define CHK_TCP_BYTES	250

static bool csum_full;
module_param(csum_full, bool, 0444);
MODULE_PARM_DESC(csum_full, "the fabric computes checksums (csum=full): verify them");

/* One side: a QP on one port, with its queues and two buffers */
struct chk_end {
	u32 port;
	u16 lid;
	u32 mtu;
	union ib_gid gid;
	struct ib_cq *scq;
	struct ib_cq *rcq;
	struct ib_qp *qp;
	u8 *tx;
	u8 *rx;
	struct ib_cqe cqe[CHK_WRS];	/* only their addresses count */
	int calls;			/* of the receive CQ's handler */
	int cq_errors;
};

struct chk {
	struct ib_device *dev;
	struct ib_pd *pd;
	struct chk_end a;
	struct chk_end b;
	struct ib_ah *ah;		/* to b */
	struct ib_ah *ah_grh;		/* to b, with a GRH */
	bool ok;			/* of the case that runs */
};

static void chk_comp(struct ib_cq *cq, void *context)
{
	struct chk_end *e = context;

	WRITE_ONCE(e->calls, e->calls + 1);
}

static void chk_cq_event(struct ib_event *event, void *context)
{
	struct chk_end *e = context;

	if (event->event == IB_EVENT_CQ_ERR)
		WRITE_ONCE(e->cq_errors, e->cq_errors + 1);
}

static int chk_to_state(struct chk_end *e, enum ib_qp_state state)
{
	struct ib_qp_attr attr = {
		.qp_state = state,
		.port_num = e->port,
		.qkey = CHK_QKEY,
	};
	int mask = IB_QP_STATE;

	if (state == IB_QPS_INIT)
		mask |= IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY;
	else if (state == IB_QPS_RTS)
		mask |= IB_QP_SQ_PSN;
	return ib_modify_qp(e->qp, &attr, mask);
}

static int chk_up(struct chk_end *e)
{
	int ret;

	ret = chk_to_state(e, IB_QPS_RESET);
	if (!ret)
		ret = chk_to_state(e, IB_QPS_INIT);
	if (!ret)
		ret = chk_to_state(e, IB_QPS_RTR);
	if (!ret)
		ret = chk_to_state(e, IB_QPS_RTS);
	return ret;
}

static void chk_destroy_end(struct chk_end *e)
{
	if (e->qp)
		ib_destroy_qp(e->qp);
	if (e->scq)
		ib_destroy_cq(e->scq);
	if (e->rcq)
		ib_destroy_cq(e->rcq);
	e->qp = NULL;
	e->scq = NULL;
	e->rcq = NULL;
	kfree(e->tx);
	kfree(e->rx);
	e->tx = NULL;
	e->rx = NULL;
}

static struct ib_qp *chk_make_qp(struct chk *c, struct chk_end *e, bool block)
{
	struct ib_qp_init_attr init = {
		.send_cq = e->scq,
		.recv_cq = e->rcq,
		.qp_type = IB_QPT_UD,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.create_flags = IB_QP_CREATE_IPOIB_UD_LSO |
				(block ? IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK : 0),
		.cap = {
			.max_send_wr = CHK_WRS,
			.max_recv_wr = CHK_WRS,
			.max_send_sge = 4,
			.max_recv_sge = 4,
		},
	};

	return ib_create_qp(c->pd, &init);
}

static int chk_make_end(struct chk *c, struct chk_end *e, u32 port, int rcqes)
{
	struct ib_cq_init_attr attr = { .cqe = CHK_CQES };
	struct ib_port_attr pa;

	memset(e, 0, sizeof(*e));
	e->port = port;
	if (ib_query_port(c->dev, port, &pa) || pa.state != IB_PORT_ACTIVE ||
	    rdma_query_gid(c->dev, port, 0, &e->gid))
		return -ENODEV;
	e->lid = pa.lid;
	e->mtu = ib_mtu_enum_to_int(pa.active_mtu);
	e->tx = kzalloc(CHK_BUF, GFP_KERNEL);
	e->rx = kzalloc(CHK_BUF, GFP_KERNEL);
	if (!e->tx || !e->rx)
		return -ENOMEM;
	e->scq = ib_create_cq(c->dev, NULL, NULL, e, &attr);
	if (IS_ERR(e->scq)) {
		e->scq = NULL;
		return -ENOMEM;
	}
	attr.cqe = rcqes;
	e->rcq = ib_create_cq(c->dev, chk_comp, chk_cq_event, e, &attr);
	if (IS_ERR(e->rcq)) {
		e->rcq = NULL;
		return -ENOMEM;
	}
	e->qp = chk_make_qp(c, e, false);
	if (IS_ERR(e->qp)) {
		e->qp = NULL;
		return -ENOMEM;
	}
	return chk_up(e);
}

static struct ib_ah *chk_make_ah(struct chk *c, u32 port, u16 dlid, const union ib_gid *dgid)
{
	struct rdma_ah_attr attr = { .type = RDMA_AH_ATTR_TYPE_IB };

	rdma_ah_set_dlid(&attr, dlid);
	rdma_ah_set_port_num(&attr, port);
	if (dgid) {
		rdma_ah_set_grh(&attr, (union ib_gid *)dgid, 0x12345, 0, 64, 7);
		rdma_ah_set_ah_flags(&attr, IB_AH_GRH);
	}
	return rdma_create_ah(c->pd, &attr, 0);
}

/* A receive of @len bytes at rx + @off, remembered as number @i */
static int chk_recv(struct chk *c, struct chk_end *e, int i, u32 off, u32 len)
{
	struct ib_sge sge = {
		.addr = chk_addr(e->rx + off),
		.length = len,
		.lkey = c->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &e->cqe[i],
		.sg_list = &sge,
		.num_sge = 1,
	};

	return ib_post_recv(e->qp, &wr, NULL);
}

static void chk_fill_wr(struct chk *c, struct ib_ud_wr *wr, struct ib_sge *sge, u32 len, int i)
{
	*sge = (struct ib_sge) {
		.addr = chk_addr(c->a.tx),
		.length = len,
		.lkey = c->pd->local_dma_lkey,
	};
	*wr = (struct ib_ud_wr) {
		.wr = {
			.wr_cqe = &c->a.cqe[i],
			.sg_list = sge,
			.num_sge = 1,
			.opcode = IB_WR_SEND,
			.send_flags = IB_SEND_SIGNALED,
		},
		.ah = c->ah,
		.remote_qpn = c->b.qp->qp_num,
		.remote_qkey = CHK_QKEY,
	};
}

/* A signalled send of @len bytes from a to b, remembered as number @i */
static int chk_send(struct chk *c, int i, u32 len)
{
	struct ib_ud_wr wr;
	struct ib_sge sge;

	chk_fill_wr(c, &wr, &sge, len, i);
	return ib_post_send(c->a.qp, &wr.wr, NULL);
}

/* Both sides as new: nothing posted, nothing completed */
static void chk_fresh(struct chk *c)
{
	CHECK(c, !chk_up(&c->a));
	CHECK(c, !chk_up(&c->b));
	CHECK(c, chk_empty(c->a.scq) && chk_empty(c->b.rcq));
	memset(c->b.rx, CHK_PATTERN, CHK_BUF);
	get_random_bytes(c->a.tx, CHK_BUF);
}

static bool chk_is_pattern(const u8 *p, u32 n)
{
	return !memchr_inv(p, CHK_PATTERN, n);
}

static void chk_plain(struct chk *c)
{
	struct ib_wc wc;

	CHECK(c, !chk_recv(c, &c->b, 3, 0, 200));
	CHECK(c, !chk_send(c, 5, 100));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[5], IB_WC_SUCCESS));
	CHECK(c, wc.opcode == IB_WC_SEND && wc.qp == c->a.qp);
	CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[3], IB_WC_SUCCESS));
	CHECK(c, wc.opcode == IB_WC_RECV && wc.qp == c->b.qp);
	CHECK(c, wc.byte_len == 100 + CHK_GRH);
	CHECK(c, wc.src_qp == c->a.qp->qp_num);
	CHECK(c, wc.slid == c->a.lid && !wc.sl && !wc.dlid_path_bits);
	CHECK(c, wc.port_num == c->b.port && !wc.pkey_index);
	CHECK(c, !wc.wc_flags);
	CHECK(c, chk_is_pattern(c->b.rx, CHK_GRH));
	CHECK(c, !memcmp(c->b.rx + CHK_GRH, c->a.tx, 100));
	CHECK(c, chk_is_pattern(c->b.rx + CHK_GRH + 100, 60));
}

static void chk_grh(struct chk *c)
{
	const struct ib_grh *grh = (const struct ib_grh *)c->b.rx;
	struct ib_ud_wr wr;
	struct ib_sge sge;
	struct ib_wc wc;

	CHECK(c, !chk_recv(c, &c->b, 0, 0, 200));
	chk_fill_wr(c, &wr, &sge, 99, 0);
	wr.ah = c->ah_grh;
	wr.wr.opcode = IB_WR_SEND_WITH_IMM;
	wr.wr.ex.imm_data = cpu_to_be32(0xcafe);
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[0], IB_WC_SUCCESS));
	CHECK(c, wc.wc_flags == (IB_WC_GRH | IB_WC_WITH_IMM));
	CHECK(c, wc.ex.imm_data == cpu_to_be32(0xcafe));
	CHECK(c, !memcmp(&grh->sgid, &c->a.gid, sizeof(grh->sgid)));
	CHECK(c, !memcmp(&grh->dgid, &c->b.gid, sizeof(grh->dgid)));
	CHECK(c, be32_to_cpu(grh->version_tclass_flow) == (6U << 28 | 7 << 20 | 0x12345));
	CHECK(c, grh->next_hdr == 0x1b && grh->hop_limit == 64);
	CHECK(c, be16_to_cpu(grh->paylen) == 12 + 8 + 100 + 4);
	CHECK(c, !memcmp(c->b.rx + CHK_GRH, c->a.tx, 99));
}

/* Pieces on both sides that meet nowhere, the first receive one within the GRH's room */
static void chk_pieces(struct chk *c)
{
	static const u16 in[] = { 17, 60, 1, 500 };
	static const u16 out[] = { 100, 0, 3, 210 };
	struct ib_sge rsge[4], ssge[4];
	struct ib_recv_wr rwr = { .wr_cqe = &c->b.cqe[0], .sg_list = rsge, .num_sge = 4 };
	u32 roff = 0, soff = 0, i;
	struct ib_ud_wr wr;
	struct ib_wc wc;

	for (i = 0; i < 4; i++) {
		rsge[i].addr = chk_addr(c->b.rx + roff);
		rsge[i].length = in[i];
		rsge[i].lkey = c->pd->local_dma_lkey;
		roff += in[i];
	}
	chk_fill_wr(c, &wr, ssge, 0, 0);
	for (i = 0; i < 4; i++) {
		ssge[i].addr = chk_addr(c->a.tx + soff);
		ssge[i].length = out[i];
		ssge[i].lkey = c->pd->local_dma_lkey;
		soff += out[i];
	}
	wr.wr.num_sge = 4;
	CHECK(c, !ib_post_recv(c->b.qp, &rwr, NULL));
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[0], IB_WC_SUCCESS));
	CHECK(c, wc.byte_len == 313 + CHK_GRH);
	CHECK(c, chk_is_pattern(c->b.rx, CHK_GRH));
	CHECK(c, !memcmp(c->b.rx + CHK_GRH, c->a.tx, 313));
	CHECK(c, chk_is_pattern(c->b.rx + CHK_GRH + 313, 100));
}

static void chk_too_long(struct chk *c)
{
	struct ib_qp_attr attr;
	struct ib_qp_init_attr init;
	struct ib_wc wc;

	CHECK(c, !chk_recv(c, &c->b, 0, 0, CHK_BUF));
	CHECK(c, !chk_send(c, 1, c->a.mtu));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[1], IB_WC_SUCCESS));
	CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[0], IB_WC_SUCCESS));
	CHECK(c, !memcmp(c->b.rx + CHK_GRH, c->a.tx, c->a.mtu));
	CHECK(c, !chk_send(c, 2, c->a.mtu + 1));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[2], IB_WC_LOC_LEN_ERR));
	CHECK(c, !ib_query_qp(c->a.qp, &attr, IB_QP_STATE, &init) && attr.qp_state == IB_QPS_SQE);
	CHECK(c, !chk_send(c, 3, 10));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[3], IB_WC_WR_FLUSH_ERR));
	/* the way back that an upper layer takes */
	attr.qp_state = IB_QPS_RTS;
	attr.cur_qp_state = IB_QPS_SQE;
	CHECK(c, !ib_modify_qp(c->a.qp, &attr, IB_QP_STATE | IB_QP_CUR_STATE));
	CHECK(c, !chk_recv(c, &c->b, 4, 0, CHK_BUF));
	CHECK(c, !chk_send(c, 4, 10));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[4], IB_WC_SUCCESS));
	CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[4], IB_WC_SUCCESS));
}

static void chk_keys(struct chk *c)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS, .pkey_index = 7 };
	struct ib_port_attr before, after;
	struct ib_ud_wr wr;
	struct ib_sge sge;
	struct ib_wc wc;

	CHECK(c, !ib_query_port(c->dev, c->b.port, &before));
	CHECK(c, !chk_recv(c, &c->b, 0, 0, 200));
	chk_fill_wr(c, &wr, &sge, 10, 0);
	wr.remote_qkey = CHK_QKEY + 1;
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_empty(c->b.rcq));
	/* top bit: the Q_Key of the QP, which is right */
	wr.remote_qkey = 0x80000000;
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[0], IB_WC_SUCCESS));

	/* index 7 of the table is empty, so nothing gets in */
	CHECK(c, !chk_recv(c, &c->b, 1, 0, 200));
	CHECK(c, !chk_to_state(&c->b, IB_QPS_RESET));
	CHECK(c, !chk_to_state(&c->b, IB_QPS_INIT));
	CHECK(c, !ib_modify_qp(c->b.qp, &attr, IB_QP_PKEY_INDEX));
	CHECK(c, !chk_to_state(&c->b, IB_QPS_RTR));
	CHECK(c, !chk_recv(c, &c->b, 1, 0, 200));
	CHECK(c, !chk_send(c, 1, 10));
	CHECK(c, chk_empty(c->b.rcq));
	CHECK(c, !ib_query_port(c->dev, c->b.port, &after));
	CHECK(c, after.qkey_viol_cntr == before.qkey_viol_cntr + 1);
	CHECK(c, after.bad_pkey_cntr == before.bad_pkey_cntr + 1);
}

static void chk_lkey(struct chk *c)
{
	struct ib_ud_wr wr;
	struct ib_sge sge;
	struct ib_wc wc;

	chk_fill_wr(c, &wr, &sge, 10, 0);
	sge.lkey++;
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_LOC_PROT_ERR));
	CHECK(c, !chk_up(&c->a));
	chk_fill_wr(c, &wr, &sge, 10, 1);
	sge.addr = chk_addr(ZERO_SIZE_PTR);
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[1], IB_WC_LOC_PROT_ERR));
}

static bool chk_in_err(struct chk_end *e)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;
	int i;

	for (i = 0; i < 500; i++) {
		if (!ib_query_qp(e->qp, &attr, IB_QP_STATE, &init) &&
		    attr.qp_state == IB_QPS_ERR)
			return true;
		usleep_range(1000, 2000);
	}
	return false;
}

static void chk_short_buffer(struct chk *c)
{
	struct ib_wc wc;

	CHECK(c, !chk_recv(c, &c->b, 0, 0, CHK_GRH + 9));
	CHECK(c, !chk_recv(c, &c->b, 1, 0, 200));
	CHECK(c, !chk_send(c, 0, 10));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_SUCCESS));
	CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[0], IB_WC_LOC_LEN_ERR));
	CHECK(c, chk_is_pattern(c->b.rx, 200));
	CHECK(c, chk_in_err(&c->b));
	CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[1], IB_WC_WR_FLUSH_ERR));
	CHECK(c, !chk_send(c, 1, 10));
	CHECK(c, chk_empty(c->b.rcq));
}

static void chk_no_buffer(struct chk *c)
{
	struct ib_wc wc;

	CHECK(c, !chk_send(c, 0, 10));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_SUCCESS));
	CHECK(c, chk_empty(c->b.rcq));
}

static void chk_flush(struct chk *c)
{
	struct ib_rdma_wr drain = {
		.wr = {
			.wr_cqe = &c->b.cqe[9],
			.opcode = IB_WR_RDMA_WRITE,
		},
	};
	struct ib_wc wc;
	int i;

	for (i = 0; i < 5; i++)
		CHECK(c, !chk_recv(c, &c->b, i, 0, 200));
	CHECK(c, !chk_to_state(&c->b, IB_QPS_ERR));
	CHECK(c, !chk_recv(c, &c->b, 5, 0, 200));
	for (i = 0; i < 6; i++)
		CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[i], IB_WC_WR_FLUSH_ERR));
	CHECK(c, chk_empty(c->b.rcq));
	CHECK(c, !ib_post_send(c->b.qp, &drain.wr, NULL));
	CHECK(c, chk_next(c->b.scq, &wc, &c->b.cqe[9], IB_WC_WR_FLUSH_ERR));
	/* nothing of a former life survives RESET */
	CHECK(c, !chk_recv(c, &c->b, 6, 0, 200));
	CHECK(c, !chk_to_state(&c->b, IB_QPS_RESET));
	CHECK(c, chk_empty(c->b.rcq));
}

static void chk_bad_state(struct chk *c)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_RTS };

	CHECK(c, !chk_to_state(&c->a, IB_QPS_RESET));
	CHECK(c, chk_send(c, 0, 10) == -EINVAL);
	CHECK(c, chk_recv(c, &c->a, 0, 0, 200) == -EINVAL);
	CHECK(c, ib_modify_qp(c->a.qp, &attr, IB_QP_STATE) == -EINVAL);
	CHECK(c, !chk_to_state(&c->a, IB_QPS_INIT));
	CHECK(c, chk_send(c, 0, 10) == -EINVAL);
	CHECK(c, !chk_recv(c, &c->a, 0, 0, 200));
}

static void chk_ring(struct chk *c)
{
	const struct ib_send_wr *bad = NULL;
	struct ib_ud_wr wr, last;
	struct ib_sge sge;
	struct ib_wc wc;
	int i;

	/* slots come back when a signalled completion behind them is polled, not before */
	chk_fill_wr(c, &wr, &sge, 10, 0);
	wr.wr.send_flags = 0;
	for (i = 0; i < CHK_WRS - 1; i++)
		CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, !chk_send(c, 1, 10));
	chk_fill_wr(c, &last, &sge, 10, 2);
	CHECK(c, ib_post_send(c->a.qp, &last.wr, &bad) == -ENOMEM);
	CHECK(c, bad == &last.wr);
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[1], IB_WC_SUCCESS));
	CHECK(c, chk_empty(c->a.scq));
	for (i = 0; i < CHK_WRS; i++)
		CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, ib_post_send(c->a.qp, &wr.wr, NULL) == -ENOMEM);
	for (i = 0; i < CHK_WRS; i++)
		CHECK(c, !chk_recv(c, &c->a, i, 0, 200));
	CHECK(c, chk_recv(c, &c->a, 0, 0, 200) == -ENOMEM);
	wr.wr.num_sge = 5;
	CHECK(c, ib_post_send(c->a.qp, &wr.wr, NULL) == -EINVAL);
}

static void chk_list(struct chk *c)
{
	const struct ib_send_wr *bad = NULL;
	struct ib_ud_wr wr[3];
	struct ib_sge sge[3];
	struct ib_wc wc;
	int i;

	for (i = 0; i < 3; i++) {
		chk_fill_wr(c, &wr[i], &sge[i], 10 + i, i);
		CHECK(c, !chk_recv(c, &c->b, i, 0, 200));
	}
	wr[0].wr.next = &wr[1].wr;
	wr[1].wr.next = &wr[2].wr;
	wr[2].wr.num_sge = 33;
	CHECK(c, ib_post_send(c->a.qp, &wr[0].wr, &bad) == -EINVAL);
	CHECK(c, bad == &wr[2].wr);
	for (i = 0; i < 2; i++) {
		CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[i], IB_WC_SUCCESS));
		CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[i], IB_WC_SUCCESS));
		CHECK(c, wc.byte_len == 10 + i + CHK_GRH);
	}
	CHECK(c, chk_empty(c->a.scq) && chk_empty(c->b.rcq));
}

static bool chk_called(struct chk_end *e, int want)
{
	int i;

	for (i = 0; i < 200 && READ_ONCE(e->calls) < want; i++)
		usleep_range(500, 1000);
	/* and not once more than that */
	if (i < 200)
		usleep_range(5000, 6000);
	return READ_ONCE(e->calls) == want;
}

static void chk_notify(struct chk *c)
{
	struct ib_ud_wr wr;
	struct ib_sge sge;
	int i;

	c->b.calls = 0;
	for (i = 0; i < 6; i++)
		CHECK(c, !chk_recv(c, &c->b, i, 0, 200));
	CHECK(c, !chk_send(c, 0, 10));
	CHECK(c, chk_called(&c->b, 0));
	/* what came before arming does not fire, but can be reported */
	CHECK(c, ib_req_notify_cq(c->b.rcq, IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS) == 1);
	CHECK(c, chk_called(&c->b, 0));
	CHECK(c, !chk_send(c, 1, 10));
	CHECK(c, !chk_send(c, 2, 10));
	CHECK(c, chk_called(&c->b, 1));
	CHECK(c, ib_req_notify_cq(c->b.rcq, IB_CQ_SOLICITED) == 0);
	CHECK(c, !chk_send(c, 3, 10));
	CHECK(c, chk_called(&c->b, 1));
	chk_fill_wr(c, &wr, &sge, 10, 4);
	wr.wr.send_flags |= IB_SEND_SOLICITED;
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_called(&c->b, 2));
	/* once armed for all, a second arming does not narrow it */
	CHECK(c, ib_req_notify_cq(c->b.rcq, IB_CQ_NEXT_COMP) == 0);
	CHECK(c, ib_req_notify_cq(c->b.rcq, IB_CQ_SOLICITED) == 0);
	CHECK(c, !chk_send(c, 5, 10));
	CHECK(c, chk_called(&c->b, 3));
}

static void chk_moderation(struct chk *c)
{
	int i;

	c->b.calls = 0;
	for (i = 0; i < 8; i++)
		CHECK(c, !chk_recv(c, &c->b, i, 0, 200));
	CHECK(c, !rdma_set_cq_moderation(c->b.rcq, 3, 50000));
	CHECK(c, !ib_req_notify_cq(c->b.rcq, IB_CQ_NEXT_COMP));
	CHECK(c, !chk_send(c, 0, 10));
	CHECK(c, !chk_send(c, 1, 10));
	CHECK(c, !READ_ONCE(c->b.calls));
	CHECK(c, !chk_send(c, 2, 10));
	CHECK(c, chk_called(&c->b, 1));
	/* fewer than that: by time */
	CHECK(c, !ib_req_notify_cq(c->b.rcq, IB_CQ_NEXT_COMP));
	CHECK(c, !chk_send(c, 3, 10));
	CHECK(c, READ_ONCE(c->b.calls) == 1);
	CHECK(c, chk_called(&c->b, 2));
	CHECK(c, !rdma_set_cq_moderation(c->b.rcq, 0, 0));
}

static void chk_mcast(struct chk *c)
{
	union ib_gid mgid = { .raw = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0,
				       0xde, 0xad, 0xbe, 0xef } };
	struct chk_end *a = &c->a;
	struct ib_qp *plain = a->qp;
	struct ib_ud_wr wr;
	struct ib_sge sge;
	struct ib_ah *ah;
	struct ib_wc wc;
	u16 lid = 0xcffe;

	a->qp = chk_make_qp(c, a, true);
	ah = chk_make_ah(c, a->port, lid, &mgid);
	if (!CHECK(c, !IS_ERR(a->qp) && !IS_ERR(ah) && !chk_up(a)))
		goto out;
	CHECK(c, ib_detach_mcast(a->qp, &mgid, lid) == -EINVAL);
	CHECK(c, !ib_attach_mcast(a->qp, &mgid, lid));
	CHECK(c, ib_attach_mcast(a->qp, &mgid, lid) == -EINVAL);
	CHECK(c, !ib_attach_mcast(plain, &mgid, lid));

	chk_fill_wr(c, &wr, &sge, 30, 0);
	wr.ah = ah;
	wr.remote_qpn = 0xffffff;
	CHECK(c, !chk_recv(c, a, 1, 0, 200));
	CHECK(c, !ib_post_send(a->qp, &wr.wr, NULL));
	/* the sender was made not to hear itself, the other one of its port hears it: no buffer */
	CHECK(c, chk_empty(a->rcq));
	swap(a->qp, plain);
	CHECK(c, !chk_recv(c, a, 2, 0, 200));
	swap(a->qp, plain);
	CHECK(c, !ib_post_send(a->qp, &wr.wr, NULL));
	CHECK(c, chk_next(a->rcq, &wc, &a->cqe[2], IB_WC_SUCCESS));
	CHECK(c, wc.qp == plain && wc.wc_flags == IB_WC_GRH && wc.src_qp == a->qp->qp_num);
	CHECK(c, !memcmp(a->rx + CHK_GRH, a->tx, 30));
	/* the other one sends: both hear it, it does not block itself */
	swap(a->qp, plain);
	CHECK(c, !chk_recv(c, a, 3, 0, 200));
	CHECK(c, !ib_post_send(a->qp, &wr.wr, NULL));
	swap(a->qp, plain);
	CHECK(c, ib_poll_cq(a->rcq, 1, &wc) == 1 && ib_poll_cq(a->rcq, 1, &wc) == 1);
	CHECK(c, !ib_detach_mcast(a->qp, &mgid, lid));
	CHECK(c, !ib_detach_mcast(plain, &mgid, lid));
	CHECK(c, ib_detach_mcast(plain, &mgid, lid) == -EINVAL);
out:
	if (!IS_ERR(ah))
		rdma_destroy_ah(ah, 0);
	if (!IS_ERR(a->qp))
		ib_destroy_qp(a->qp);
	a->qp = plain;
}

/* A TCP segment behind the encapsulation, header only; returns its length */
static u32 chk_tcp_header(u8 *buf)
{
	struct iphdr *iph = (struct iphdr *)(buf + 4);
	struct tcphdr *th = (struct tcphdr *)(buf + 24);

	memset(buf, 0, 44);
	buf[0] = ETH_P_IP >> 8;
	buf[1] = ETH_P_IP & 0xff;
	iph->version = 4;
	iph->ihl = 5;
	iph->id = htons(0xfffe);
	iph->ttl = 64;
	iph->protocol = IPPROTO_TCP;
	iph->saddr = htonl(0x0a4d0001);
	iph->daddr = htonl(0x0a4d0002);
	th->seq = htonl(0xffffffc0);
	th->doff = 5;
	th->psh = 1;
	th->fin = 1;
	th->cwr = 1;
	th->ack = 1;
	/* what a stack leaves there is no sum yet */
	th->check = (__force __sum16)htons(0x1234);
	return 44;
}

static void chk_segment(struct chk *c, int i, u32 len)
{
	u8 *pkt = c->b.rx + i * 512 + CHK_GRH;
	struct iphdr *iph = (struct iphdr *)(pkt + 4);
	struct tcphdr *th = (struct tcphdr *)(pkt + 24);
	bool last = i == 2;

	CHECK(c, ntohs(iph->tot_len) == 40 + len);
	CHECK(c, ntohs(iph->id) == (u16)(0xfffe + i));
	CHECK(c, !ip_fast_csum(iph, iph->ihl));
	CHECK(c, ntohl(th->seq) == 0xffffffc0 + i * CHK_MSS);
	CHECK(c, th->psh == last && th->fin == last && th->cwr == !i && th->ack);
	CHECK(c, !memcmp(pkt + 44, c->a.tx + i * CHK_MSS, len));
	if (csum_full)
		CHECK(c, !csum_tcpudp_magic(iph->saddr, iph->daddr, 20 + len, IPPROTO_TCP,
					    csum_partial(th, 20 + len, 0)));
}

static void chk_lso(struct chk *c)
{
	struct ib_sge sge[3];
	struct ib_ud_wr wr;
	struct ib_wc wc;
	u8 hdr[128];
	u32 len;
	int i;

	for (i = 0; i < 3; i++)
		CHECK(c, !chk_recv(c, &c->b, i, i * 512, 512));
	chk_fill_wr(c, &wr, sge, 33, 0);
	sge[1] = sge[0];
	sge[1].addr += 33;
	sge[1].length = 150;
	sge[2] = sge[1];
	sge[2].addr += 150;
	sge[2].length = CHK_TCP_BYTES - 183;
	wr.wr.num_sge = 3;
	wr.wr.opcode = IB_WR_LSO;
	wr.wr.send_flags |= IB_SEND_IP_CSUM;
	wr.header = hdr;
	wr.hlen = chk_tcp_header(hdr);
	wr.mss = CHK_MSS;
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_SUCCESS));
	CHECK(c, wc.opcode == IB_WC_LSO && chk_empty(c->a.scq));
	for (i = 0; i < 3; i++) {
		len = min_t(u32, CHK_MSS, CHK_TCP_BYTES - i * CHK_MSS);
		CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[i], IB_WC_SUCCESS));
		CHECK(c, wc.byte_len == CHK_GRH + 44 + len && wc.wc_flags & IB_WC_IP_CSUM_OK);
		chk_segment(c, i, len);
	}
	CHECK(c, chk_empty(c->b.rcq));
}

static void chk_lso_bad(struct chk *c)
{
	struct ib_ud_wr wr;
	struct ib_sge sge;
	struct ib_wc wc;
	u8 hdr[256];

	chk_fill_wr(c, &wr, &sge, 1000, 0);
	wr.wr.opcode = IB_WR_LSO;
	wr.header = hdr;
	wr.hlen = chk_tcp_header(hdr);
	wr.mss = c->a.mtu;
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_SUCCESS));
	sge.length = c->a.mtu;
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_LOC_LEN_ERR));
	CHECK(c, !chk_up(&c->a));
	wr.mss = 100;
	wr.hlen = 43;
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_LOC_QP_OP_ERR));
	CHECK(c, !chk_up(&c->a));
	wr.hlen = 129;
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_LOC_QP_OP_ERR));
	CHECK(c, !chk_up(&c->a));
	wr.hlen = 44;
	hdr[4 + 9] = IPPROTO_UDP;
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_LOC_QP_OP_ERR));
	CHECK(c, !chk_up(&c->a));
	wr.wr.opcode = IB_WR_RDMA_READ;
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_LOC_QP_OP_ERR));
}

/* A CQ with room for two gets a third */
static void chk_overrun(struct chk *c)
{
	struct chk_end e;
	struct ib_ah *ah;
	struct ib_ud_wr wr;
	struct ib_sge sge;
	int i;

	if (!CHECK(c, !chk_make_end(c, &e, c->b.port, 2)))
		goto out;
	ah = chk_make_ah(c, c->a.port, e.lid, NULL);
	if (!CHECK(c, !IS_ERR(ah)))
		goto out;
	chk_fill_wr(c, &wr, &sge, 10, 0);
	wr.ah = ah;
	wr.remote_qpn = e.qp->qp_num;
	for (i = 0; i < 3; i++) {
		CHECK(c, !chk_recv(c, &e, i, 0, 200));
		CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	}
	CHECK(c, chk_in_err(&e));
	for (i = 0; i < 200 && !READ_ONCE(e.cq_errors); i++)
		usleep_range(500, 1000);
	CHECK(c, e.cq_errors == 1);
	rdma_destroy_ah(ah, 0);
out:
	chk_destroy_end(&e);
}

/* A QP goes while its completions wait; they go with it, those of another one stay */
static void chk_purge(struct chk *c)
{
	struct ib_qp *second = chk_make_qp(c, &c->b, false);
	struct ib_qp *first = c->b.qp;
	struct ib_wc wc;

	if (!CHECK(c, !IS_ERR(second)))
		return;
	c->b.qp = second;
	CHECK(c, !chk_up(&c->b));
	CHECK(c, second->qp_num != first->qp_num);
	CHECK(c, !chk_recv(c, &c->b, 0, 0, 200));
	CHECK(c, !chk_recv(c, &c->b, 1, 0, 200));
	CHECK(c, !chk_send(c, 0, 10));
	c->b.qp = first;
	CHECK(c, !chk_recv(c, &c->b, 2, 0, 200));
	CHECK(c, !chk_send(c, 1, 11));
	c->b.qp = second;
	CHECK(c, !chk_send(c, 2, 12));
	c->b.qp = first;
	CHECK(c, !ib_destroy_qp(second));
	CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[2], IB_WC_SUCCESS));
	CHECK(c, wc.byte_len == 11 + CHK_GRH && chk_empty(c->b.rcq));
}

static void chk_loop(struct chk *c)
{
	struct ib_ah *ah = chk_make_ah(c, c->a.port, c->a.lid, NULL);
	struct ib_ud_wr wr;
	struct ib_sge sge;
	struct ib_wc wc;

	if (!CHECK(c, !IS_ERR(ah)))
		return;
	/* a QP that sends to itself */
	chk_fill_wr(c, &wr, &sge, 77, 0);
	wr.ah = ah;
	wr.remote_qpn = c->a.qp->qp_num;
	CHECK(c, !chk_recv(c, &c->a, 1, 0, 200));
	CHECK(c, !ib_post_send(c->a.qp, &wr.wr, NULL));
	CHECK(c, chk_next(c->a.rcq, &wc, &c->a.cqe[1], IB_WC_SUCCESS));
	CHECK(c, wc.slid == c->a.lid && wc.src_qp == c->a.qp->qp_num);
	CHECK(c, !memcmp(c->a.rx + CHK_GRH, c->a.tx, 77));
	rdma_destroy_ah(ah, 0);
}

static void chk_refused(struct chk *c)
{
	struct ib_qp_init_attr init = {
		.send_cq = c->a.scq,
		.recv_cq = c->a.rcq,
		.qp_type = IB_QPT_UD,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1 },
	};
	struct ib_cq_init_attr attr = { .cqe = 0 };

	init.cap.max_send_sge = 33;
	CHECK(c, IS_ERR(ib_create_qp(c->pd, &init)));
	init.cap.max_send_sge = 1;
	init.cap.max_send_wr = 100000;
	CHECK(c, IS_ERR(ib_create_qp(c->pd, &init)));
	init.cap.max_send_wr = 1;
	init.cap.max_inline_data = 16;
	CHECK(c, IS_ERR(ib_create_qp(c->pd, &init)));
	init.cap.max_inline_data = 0;
	init.qp_type = IB_QPT_UC;
	CHECK(c, IS_ERR(ib_create_qp(c->pd, &init)));
	CHECK(c, IS_ERR(ib_create_cq(c->dev, NULL, NULL, NULL, &attr)));
	attr.cqe = 1 << 20;
	CHECK(c, IS_ERR(ib_create_cq(c->dev, NULL, NULL, NULL, &attr)));
	CHECK(c, IS_ERR(chk_make_ah(c, 3, c->b.lid, NULL)));
}

static const struct {
	const char *name;
	void (*run)(struct chk *c);
} chk_cases[] = {
	{ "datagram", chk_plain },
	{ "global route header and immediate data", chk_grh },
	{ "scatter and gather", chk_pieces },
	{ "longest packet, and one byte more", chk_too_long },
	{ "Q_Key and P_Key", chk_keys },
	{ "local key and address", chk_lkey },
	{ "receive buffer too short", chk_short_buffer },
	{ "no receive buffer", chk_no_buffer },
	{ "flush in order", chk_flush },
	{ "posting in a wrong state", chk_bad_state },
	{ "send ring", chk_ring },
	{ "list of requests", chk_list },
	{ "notification", chk_notify },
	{ "moderation", chk_moderation },
	{ "multicast", chk_mcast },
	{ "segmentation", chk_lso },
	{ "segmentation that cannot be done", chk_lso_bad },
	{ "completion queue overrun", chk_overrun },
	{ "completions of a QP that goes", chk_purge },
	{ "QP that talks to itself", chk_loop },
	{ "creation refused", chk_refused },
};

static void chk_run_all(struct chk *c)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(chk_cases); i++) {
		c->ok = true;
		chk_fresh(c);
		if (c->ok)
			chk_cases[i].run(c);
		chk_say(c->ok, chk_cases[i].name);
	}
}

static int chk_setup(struct chk *c)
{
	int ret;

	c->pd = ib_alloc_pd(c->dev, 0);
	if (IS_ERR(c->pd)) {
		ret = PTR_ERR(c->pd);
		c->pd = NULL;
		return ret;
	}
	ret = chk_make_end(c, &c->a, 1, CHK_CQES);
	if (!ret)
		ret = chk_make_end(c, &c->b, 2, CHK_CQES);
	if (ret)
		return ret;
	c->ah = chk_make_ah(c, 1, c->b.lid, NULL);
	c->ah_grh = chk_make_ah(c, 1, c->b.lid, &c->b.gid);
	return IS_ERR(c->ah) || IS_ERR(c->ah_grh) ? -ENOMEM : 0;
}

static int chk_add(struct ib_device *dev)
{
	struct chk *c;
	int ret;

	if (!chk_wants(dev))
		return -EOPNOTSUPP;
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->dev = dev;
	ret = chk_setup(c);
	if (ret)
		pr_info("vib_check: cannot set up: %pe\n", ERR_PTR(ret));
	else
		chk_run_all(c);
	if (!IS_ERR_OR_NULL(c->ah))
		rdma_destroy_ah(c->ah, 0);
	if (!IS_ERR_OR_NULL(c->ah_grh))
		rdma_destroy_ah(c->ah_grh, 0);
	chk_destroy_end(&c->a);
	chk_destroy_end(&c->b);
	if (c->pd)
		ib_dealloc_pd(c->pd);
	kfree(c);
	return -EOPNOTSUPP;
}

static struct ib_client chk_client = {
	.name = "vib_check",
	.add = chk_add,
};

static int __init chk_init(void)
{
	return chk_devices(&chk_client);
}

static void __exit chk_exit(void)
{
}

module_init(chk_init);
module_exit(chk_exit);

MODULE_DESCRIPTION("Checks of the verbs of the virtual InfiniBand fabric");
MODULE_LICENSE("GPL");
