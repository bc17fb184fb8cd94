// SPDX-License-Identifier: GPL-2.0
/*
 * Do reliable connections and shared receive queues of vib keep the rules of an adapter?
 *
 * A module like vib_check: it becomes a client of the first two-port vib device whose ports are
 * up, connects a queue pair on port 1 with one on port 2, breaks them in all ways it knows and says
 * in the kernel log what did not hold. Loading fails with -EINVAL then, and with -ENODEV without a
 * device. It wants "set dev rnr_grace_us 0", and leaves marks in the oracles.
 *
 * With bulk=N it only sends N messages in each direction at once, of random lengths, and compares
 * what arrives, while the caller does harm to the packets.
 *
 * Everything runs in the context of module loading; nothing stays behind.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_verbs.h>

#include "vib_check.h"

#define RCC_WRS		32
#define RCC_SGES	20
#define RCC_CQES	256
#define RCC_BUF		(128 * 1024)
#define RCC_PATTERN	0x5a
#define RCC_MS		5000	/* patience for what must come */
#define RCC_QUIET_MS	60	/* and for what must not */
#define RCC_EVENTS	(IB_EVENT_WQ_FATAL + 1)
#define RCC_BULK_SLOT	(RCC_BUF / 8)
#define RCC_BULK_DEPTH	8

static unsigned int bulk;
module_param(bulk, uint, 0444);
MODULE_PARM_DESC(bulk, "only send so many messages in each direction");

/* How patient a connection is */
struct rcc_opts {
	u8 timeout;
	u8 retries;
	u8 rnr_retries;
	u8 min_rnr;
	enum ib_mtu mtu;
	bool grh;
};

static const struct rcc_opts rcc_patient = { 14, 7, 7, 12, IB_MTU_2048 };

/* One side: a QP on one port, with its queues and two buffers */
struct rcc_end {
	u32 port;
	u16 lid;
	union ib_gid gid;
	struct ib_cq *scq;
	struct ib_cq *rcq;
	struct ib_qp *qp;
	u8 *tx;
	u8 *rx;
	struct ib_cqe cqe[RCC_WRS];
	atomic_t events[RCC_EVENTS];	/* how often each was told */
};

struct rcc {
	struct ib_device *dev;
	struct ib_pd *pd;
	struct rcc_end a;
	struct rcc_end b;
	struct ib_srq *srq;
	atomic_t srq_events[RCC_EVENTS];
	bool ok;
};

static void rcc_qp_event(struct ib_event *event, void *context)
{
	struct rcc_end *e = context;

	if (event->event < RCC_EVENTS)
		atomic_inc(&e->events[event->event]);
}

static void rcc_srq_event(struct ib_event *event, void *context)
{
	struct rcc *c = context;

	if (event->event < RCC_EVENTS)
		atomic_inc(&c->srq_events[event->event]);
}

/* True as soon as the counter is @n */
static bool rcc_comes(atomic_t *counter, int n)
{
	unsigned long end = jiffies + msecs_to_jiffies(RCC_MS);

	while (atomic_read(counter) != n && time_before(jiffies, end))
		usleep_range(200, 400);
	return atomic_read(counter) == n;
}

/* The next completion, which may still be on its way */
static bool rcc_next(struct ib_cq *cq, struct ib_wc *wc, const struct ib_cqe *cqe,
		     enum ib_wc_status status)
{
	unsigned long end = jiffies + msecs_to_jiffies(RCC_MS);
	int n;

	while (!(n = ib_poll_cq(cq, 1, wc)) && time_before(jiffies, end))
		usleep_range(200, 400);
	if (n == 1 && wc->wr_cqe == cqe && wc->status == status)
		return true;
	pr_info("vib_check: completion: n=%d status=%d right_wr=%d\n", n, n ? wc->status : -1,
		n && wc->wr_cqe == cqe);
	return false;
}

static bool rcc_quiet(struct ib_cq *cq)
{
	msleep(RCC_QUIET_MS);
	return chk_empty(cq);
}

static enum ib_qp_state rcc_state(struct rcc_end *e)
{
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	return ib_query_qp(e->qp, &attr, IB_QP_STATE, &init) ? -1 : attr.qp_state;
}

static bool rcc_gets_to(struct rcc_end *e, enum ib_qp_state state)
{
	unsigned long end = jiffies + msecs_to_jiffies(RCC_MS);

	while (rcc_state(e) != state && time_before(jiffies, end))
		usleep_range(200, 400);
	return rcc_state(e) == state;
}

static int rcc_to(struct rcc_end *e, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };

	return ib_modify_qp(e->qp, &attr, IB_QP_STATE);
}

static int rcc_init(struct rcc_end *e)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = e->port,
	};

	return ib_modify_qp(e->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX | IB_QP_PORT |
			    IB_QP_ACCESS_FLAGS);
}

#define RCC_RTR_MASK	(IB_QP_STATE | IB_QP_AV | IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN | \
			 IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER)
#define RCC_RTS_MASK	(IB_QP_STATE | IB_QP_TIMEOUT | IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | \
			 IB_QP_SQ_PSN | IB_QP_MAX_QP_RD_ATOMIC)

static u32 rcc_psn(const struct rcc_end *e)
{
	/* so that numbers wrap in the middle of things */
	return 0xfffff0 + e->port;
}

static void rcc_rtr_attr(struct ib_qp_attr *attr, const struct rcc_end *e,
			 const struct rcc_end *peer, const struct rcc_opts *opts)
{
	*attr = (struct ib_qp_attr) {
		.qp_state = IB_QPS_RTR,
		.path_mtu = opts->mtu,
		.dest_qp_num = peer->qp->qp_num,
		.rq_psn = rcc_psn(peer),
		.min_rnr_timer = opts->min_rnr,
		.ah_attr.type = RDMA_AH_ATTR_TYPE_IB,
	};
	rdma_ah_set_dlid(&attr->ah_attr, peer->lid);
	rdma_ah_set_port_num(&attr->ah_attr, e->port);
	if (!opts->grh)
		return;
	rdma_ah_set_grh(&attr->ah_attr, (union ib_gid *)&peer->gid, 0x12345, 0, 64, 7);
	rdma_ah_set_ah_flags(&attr->ah_attr, IB_AH_GRH);
}

static int rcc_rtr(struct rcc_end *e, const struct rcc_end *peer, const struct rcc_opts *opts)
{
	struct ib_qp_attr attr;

	rcc_rtr_attr(&attr, e, peer, opts);
	return ib_modify_qp(e->qp, &attr, RCC_RTR_MASK);
}

static int rcc_rts(struct rcc_end *e, const struct rcc_opts *opts)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.timeout = opts->timeout,
		.retry_cnt = opts->retries,
		.rnr_retry = opts->rnr_retries,
		.sq_psn = rcc_psn(e),
	};

	return ib_modify_qp(e->qp, &attr, RCC_RTS_MASK);
}

static int rcc_connect(struct rcc *c, const struct rcc_opts *opts)
{
	return rcc_to(&c->a, IB_QPS_RESET) ?: rcc_to(&c->b, IB_QPS_RESET) ?: rcc_init(&c->a) ?:
	       rcc_init(&c->b) ?: rcc_rtr(&c->a, &c->b, opts) ?: rcc_rtr(&c->b, &c->a, opts) ?:
	       rcc_rts(&c->a, opts) ?: rcc_rts(&c->b, opts);
}

static struct ib_qp *rcc_make_qp(struct rcc *c, struct rcc_end *e, struct ib_srq *srq)
{
	struct ib_qp_init_attr init = {
		.event_handler = rcc_qp_event,
		.qp_context = e,
		.send_cq = e->scq,
		.recv_cq = e->rcq,
		.srq = srq,
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_REQ_WR,
		.cap = {
			.max_send_wr = RCC_WRS,
			.max_recv_wr = srq ? 0 : RCC_WRS,
			.max_send_sge = RCC_SGES,
			.max_recv_sge = srq ? 0 : RCC_SGES,
		},
	};

	return ib_create_qp(c->pd, &init);
}

static void rcc_list(struct rcc *c, struct ib_sge *sge, const void *buf, u32 len)
{
	*sge = (struct ib_sge) {
		.addr = chk_addr(buf),
		.length = len,
		.lkey = c->pd->local_dma_lkey,
	};
}

/* A receive of @len bytes at rx + @off, remembered as number @i; by the SRQ if @e is NULL */
static int rcc_recv(struct rcc *c, struct rcc_end *e, int i, u32 off, u32 len)
{
	struct ib_recv_wr wr = { .num_sge = 1 };
	struct ib_sge sge;

	rcc_list(c, &sge, (e ?: &c->b)->rx + off, len);
	wr.wr_cqe = &(e ?: &c->b)->cqe[i];
	wr.sg_list = &sge;
	return e ? ib_post_recv(e->qp, &wr, NULL) : ib_post_srq_recv(c->srq, &wr, NULL);
}

static int rcc_post(struct rcc *c, struct rcc_end *e, int i, u32 off, u32 len, int flags,
		    enum ib_wr_opcode opcode)
{
	struct ib_send_wr wr = {
		.wr_cqe = &e->cqe[i],
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = flags,
		.ex.imm_data = cpu_to_be32(0xbeef0000 + i),
	};
	struct ib_sge sge;

	rcc_list(c, &sge, e->tx + off, len);
	wr.sg_list = &sge;
	return ib_post_send(e->qp, &wr, NULL);
}

/* A signalled send of @len bytes from a to b, remembered as number @i */
static int rcc_send(struct rcc *c, int i, u32 len)
{
	return rcc_post(c, &c->a, i, 0, len, IB_SEND_SIGNALED, IB_WR_SEND);
}

static void rcc_states(struct rcc *c)
{
	struct rcc_opts opts = rcc_patient;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	CHECK(c, !rcc_to(&c->a, IB_QPS_RESET));
	CHECK(c, rcc_rtr(&c->a, &c->b, &opts) == -EINVAL);
	CHECK(c, rcc_to(&c->a, IB_QPS_INIT) == -EINVAL);
	CHECK(c, rcc_recv(c, &c->a, 0, 0, 100) == -EINVAL);
	CHECK(c, !rcc_init(&c->a));
	CHECK(c, !rcc_recv(c, &c->a, 0, 0, 100));
	CHECK(c, rcc_send(c, 0, 1) == -EINVAL);
	rcc_rtr_attr(&attr, &c->a, &c->b, &opts);
	CHECK(c, ib_modify_qp(c->a.qp, &attr, RCC_RTR_MASK & ~IB_QP_AV) == -EINVAL);
	CHECK(c, ib_modify_qp(c->a.qp, &attr, RCC_RTR_MASK | IB_QP_QKEY) == -EINVAL);
	attr.path_mtu = IB_MTU_4096 + 1;
	CHECK(c, ib_modify_qp(c->a.qp, &attr, RCC_RTR_MASK) == -EINVAL);
	attr.path_mtu = 0;
	CHECK(c, ib_modify_qp(c->a.qp, &attr, RCC_RTR_MASK) == -EINVAL);
	attr.path_mtu = opts.mtu;
	rdma_ah_set_dlid(&attr.ah_attr, 0);
	CHECK(c, ib_modify_qp(c->a.qp, &attr, RCC_RTR_MASK) == -EINVAL);
	rdma_ah_set_dlid(&attr.ah_attr, 0xc001);
	CHECK(c, ib_modify_qp(c->a.qp, &attr, RCC_RTR_MASK) == -EINVAL);
	CHECK(c, !rcc_rtr(&c->a, &c->b, &opts));
	CHECK(c, rcc_send(c, 0, 1) == -EINVAL);
	opts.retries = 8;
	CHECK(c, rcc_rts(&c->a, &opts) == -EINVAL);
	opts.retries = 5;
	opts.rnr_retries = 3;
	CHECK(c, !rcc_rts(&c->a, &opts));
	CHECK(c, !ib_query_qp(c->a.qp, &attr, IB_QP_STATE, &init));
	CHECK(c, attr.qp_state == IB_QPS_RTS && attr.dest_qp_num == c->b.qp->qp_num);
	CHECK(c, attr.path_mtu == opts.mtu && attr.sq_psn == rcc_psn(&c->a));
	CHECK(c, attr.retry_cnt == 5 && attr.rnr_retry == 3 && attr.timeout == opts.timeout);
	CHECK(c, attr.rq_psn == rcc_psn(&c->b) && attr.min_rnr_timer == opts.min_rnr);
	CHECK(c, rdma_ah_get_dlid(&attr.ah_attr) == c->b.lid);
	CHECK(c, init.qp_type == IB_QPT_RC && init.cap.max_send_wr == RCC_WRS);
}

static void rcc_plain(struct rcc *c)
{
	struct ib_wc wc;

	CHECK(c, !rcc_recv(c, &c->b, 3, 0, 200));
	CHECK(c, !rcc_send(c, 5, 100));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[5], IB_WC_SUCCESS));
	CHECK(c, wc.opcode == IB_WC_SEND && wc.qp == c->a.qp);
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[3], IB_WC_SUCCESS));
	CHECK(c, wc.opcode == IB_WC_RECV && wc.qp == c->b.qp && wc.byte_len == 100);
	CHECK(c, wc.slid == c->a.lid && wc.src_qp == c->a.qp->qp_num && !wc.wc_flags);
	CHECK(c, wc.port_num == c->b.port && !wc.pkey_index);
	CHECK(c, !memcmp(c->b.rx, c->a.tx, 100));
	CHECK(c, !memchr_inv(c->b.rx + 100, RCC_PATTERN, 100));
	/* the other way, with immediate data, and nothing else */
	CHECK(c, !rcc_recv(c, &c->a, 1, 0, 200));
	CHECK(c, !rcc_post(c, &c->b, 7, 0, 0, IB_SEND_SIGNALED, IB_WR_SEND_WITH_IMM));
	CHECK(c, rcc_next(c->b.scq, &wc, &c->b.cqe[7], IB_WC_SUCCESS));
	CHECK(c, rcc_next(c->a.rcq, &wc, &c->a.cqe[1], IB_WC_SUCCESS));
	CHECK(c, !wc.byte_len && wc.wc_flags == IB_WC_WITH_IMM);
	CHECK(c, wc.ex.imm_data == cpu_to_be32(0xbeef0007));
	CHECK(c, !memchr_inv(c->a.rx, RCC_PATTERN, 200));
}

/* A message of many packets, its pieces cut differently on both sides */
static void rcc_long_one(struct rcc *c, u32 len, bool imm)
{
	struct ib_send_wr swr = {
		.wr_cqe = &c->a.cqe[0],
		.opcode = imm ? IB_WR_SEND_WITH_IMM : IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	struct ib_recv_wr rwr = { .wr_cqe = &c->b.cqe[0] };
	struct ib_sge ssge[RCC_SGES], rsge[RCC_SGES];
	u32 soff, roff, n;
	struct ib_wc wc;

	for (soff = 0; soff < len; soff += n) {
		n = swr.num_sge == RCC_SGES - 1 ? len - soff :
		    min(len - soff, 1 + get_random_u32_below(len / 8));
		rcc_list(c, &ssge[swr.num_sge++], c->a.tx + soff, n);
	}
	for (roff = 0; roff < len && rwr.num_sge < RCC_SGES; roff += n) {
		n = rwr.num_sge == RCC_SGES - 1 ? len - roff : min(len - roff, 4096U);
		rcc_list(c, &rsge[rwr.num_sge++], c->b.rx + roff, n);
	}
	swr.sg_list = ssge;
	rwr.sg_list = rsge;
	memset(c->b.rx, RCC_PATTERN, RCC_BUF);
	CHECK(c, !ib_post_recv(c->b.qp, &rwr, NULL));
	CHECK(c, !ib_post_send(c->a.qp, &swr, NULL));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_SUCCESS));
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[0], IB_WC_SUCCESS));
	CHECK(c, wc.byte_len == len && !!(wc.wc_flags & IB_WC_WITH_IMM) == imm);
	CHECK(c, !memcmp(c->b.rx, c->a.tx, len));
	CHECK(c, !memchr_inv(c->b.rx + len, RCC_PATTERN, RCC_BUF - len));
}

static void rcc_long(struct rcc *c)
{
	static const u32 lens[] = { 2047, 2048, 2049, 4096, 6143, 65520, 65536, 70000 };
	struct rcc_opts opts = rcc_patient;
	int i;

	for (i = 0; i < ARRAY_SIZE(lens); i++)
		rcc_long_one(c, lens[i], i & 1);
	for (opts.mtu = IB_MTU_256; opts.mtu <= IB_MTU_4096; opts.mtu++) {
		CHECK(c, !rcc_connect(c, &opts));
		rcc_long_one(c, 65520, opts.mtu & 1);
	}
}

static void rcc_grh(struct rcc *c)
{
	struct rcc_opts opts = rcc_patient;
	struct ib_qp_init_attr init;
	struct ib_qp_attr attr;

	opts.grh = true;
	CHECK(c, !rcc_connect(c, &opts));
	rcc_long_one(c, 10000, true);
	CHECK(c, !ib_query_qp(c->a.qp, &attr, IB_QP_AV, &init));
	CHECK(c, rdma_ah_get_ah_flags(&attr.ah_attr) & IB_AH_GRH);
	CHECK(c, !memcmp(&attr.ah_attr.grh.dgid, &c->b.gid, sizeof(c->b.gid)));
}

static void rcc_order(struct rcc *c)
{
	struct ib_wc wc;
	int i, round;

	for (round = 0; round < 3; round++) {
		for (i = 0; i < RCC_WRS; i++)
			CHECK(c, !rcc_recv(c, &c->b, i, i * 3000, 3000));
		CHECK(c, rcc_recv(c, &c->b, i, 0, 1) == -ENOMEM);
		for (i = 0; i < RCC_WRS; i++)
			CHECK(c, !rcc_post(c, &c->a, i, i * 3000, 3000 - i,
					   i % 8 == 7 ? IB_SEND_SIGNALED : 0, IB_WR_SEND));
		CHECK(c, rcc_send(c, 0, 1) == -ENOMEM);
		for (i = 7; i < RCC_WRS; i += 8)
			CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[i], IB_WC_SUCCESS));
		for (i = 0; i < RCC_WRS; i++) {
			CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[i], IB_WC_SUCCESS));
			CHECK(c, wc.byte_len == 3000 - i);
			CHECK(c, !memcmp(c->b.rx + i * 3000, c->a.tx + i * 3000, 3000 - i));
		}
		CHECK(c, chk_empty(c->a.scq) && chk_empty(c->b.rcq));
	}
}

static void rcc_early(struct rcc *c)
{
	struct ib_wc wc;

	/* b is not told yet that it may send, but receives */
	CHECK(c, !rcc_to(&c->b, IB_QPS_RESET) && !rcc_init(&c->b));
	CHECK(c, !rcc_recv(c, &c->b, 0, 0, 100) && !rcc_recv(c, &c->b, 1, 0, 100));
	CHECK(c, !rcc_rtr(&c->b, &c->a, &rcc_patient));
	atomic_set(&c->b.events[IB_EVENT_COMM_EST], 0);
	CHECK(c, !rcc_send(c, 0, 10) && !rcc_send(c, 1, 20));
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[0], IB_WC_SUCCESS));
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[1], IB_WC_SUCCESS));
	CHECK(c, rcc_comes(&c->b.events[IB_EVENT_COMM_EST], 1));
	CHECK(c, !rcc_rts(&c->b, &rcc_patient));
	CHECK(c, !rcc_recv(c, &c->b, 2, 0, 100) && !rcc_send(c, 2, 20));
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[2], IB_WC_SUCCESS));
	msleep(RCC_QUIET_MS);
	CHECK(c, atomic_read(&c->b.events[IB_EVENT_COMM_EST]) == 1);
}

static void rcc_rnr(struct rcc *c)
{
	struct rcc_opts opts = rcc_patient;
	struct ib_wc wc;
	ktime_t start;

	/* endless patience: it waits until there is a buffer, and what follows waits behind it */
	CHECK(c, !rcc_send(c, 0, 5000) && !rcc_send(c, 1, 100));
	CHECK(c, rcc_quiet(c->a.scq) && chk_empty(c->b.rcq));
	CHECK(c, !rcc_recv(c, &c->b, 0, 0, 5000) && !rcc_recv(c, &c->b, 1, 8000, 100));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_SUCCESS));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[1], IB_WC_SUCCESS));
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[0], IB_WC_SUCCESS));
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[1], IB_WC_SUCCESS));
	CHECK(c, !memcmp(c->b.rx, c->a.tx, 5000) && !memcmp(c->b.rx + 8000, c->a.tx, 100));
	/* three more attempts, 20 ms apart */
	opts.rnr_retries = 3;
	opts.min_rnr = 22;
	CHECK(c, !rcc_connect(c, &opts));
	start = ktime_get();
	CHECK(c, !rcc_send(c, 2, 10) && !rcc_send(c, 3, 10));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[2], IB_WC_RNR_RETRY_EXC_ERR));
	CHECK(c, ktime_ms_delta(ktime_get(), start) >= 61);
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[3], IB_WC_WR_FLUSH_ERR));
	CHECK(c, rcc_state(&c->a) == IB_QPS_ERR && rcc_state(&c->b) == IB_QPS_RTS);
	/* none at all */
	opts.rnr_retries = 0;
	CHECK(c, !rcc_connect(c, &opts));
	CHECK(c, !rcc_send(c, 4, 10));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[4], IB_WC_RNR_RETRY_EXC_ERR));
}

static void rcc_silence(struct rcc *c)
{
	struct rcc_opts opts = { 13, 2, 7, 12, IB_MTU_2048 };	/* 33.5 ms, three times */
	struct ib_wc wc;
	ktime_t start;
	s64 ms;

	CHECK(c, !rcc_connect(c, &opts));
	CHECK(c, !rcc_to(&c->b, IB_QPS_ERR));
	start = ktime_get();
	CHECK(c, !rcc_send(c, 0, 10) && !rcc_send(c, 1, 10));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_RETRY_EXC_ERR));
	ms = ktime_ms_delta(ktime_get(), start);
	CHECK(c, ms >= 99 && ms < 2000);
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[1], IB_WC_WR_FLUSH_ERR));
	CHECK(c, rcc_state(&c->a) == IB_QPS_ERR);
	/* with a timeout of 0 it waits for ever */
	opts.timeout = 0;
	CHECK(c, !rcc_connect(c, &opts));
	CHECK(c, !rcc_to(&c->b, IB_QPS_ERR));
	CHECK(c, !rcc_send(c, 0, 10));
	CHECK(c, rcc_quiet(c->a.scq) && rcc_state(&c->a) == IB_QPS_RTS);
}

static void rcc_flush(struct rcc *c)
{
	struct ib_wc wc;
	int i;

	/* sends that wait for a buffer, receives that wait for a message */
	for (i = 0; i < 8; i++) {
		CHECK(c, !rcc_recv(c, &c->a, i, 0, 100));
		CHECK(c, !rcc_post(c, &c->a, 8 + i, 0, 3000, 0, IB_WR_SEND));
	}
	CHECK(c, !rcc_to(&c->a, IB_QPS_ERR));
	for (i = 0; i < 8; i++) {
		CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[8 + i], IB_WC_WR_FLUSH_ERR));
		CHECK(c, wc.qp == c->a.qp);
		CHECK(c, chk_next(c->a.rcq, &wc, &c->a.cqe[i], IB_WC_WR_FLUSH_ERR));
	}
	/* whatever is posted now follows, a request that does not exist otherwise as well */
	CHECK(c, !rcc_post(c, &c->a, 1, 0, 0, 0, IB_WR_RDMA_WRITE));
	CHECK(c, chk_next(c->a.scq, &wc, &c->a.cqe[1], IB_WC_WR_FLUSH_ERR));
	CHECK(c, !rcc_recv(c, &c->a, 2, 0, 100));
	CHECK(c, chk_next(c->a.rcq, &wc, &c->a.cqe[2], IB_WC_WR_FLUSH_ERR));
	CHECK(c, rcc_quiet(c->a.scq) && chk_empty(c->a.rcq));
	/* and RESET forgets */
	CHECK(c, !rcc_recv(c, &c->a, 2, 0, 100));
	CHECK(c, !rcc_to(&c->a, IB_QPS_RESET) && chk_empty(c->a.rcq));
}

static void rcc_too_long(struct rcc *c)
{
	struct ib_wc wc;

	CHECK(c, !rcc_recv(c, &c->b, 0, 0, 5000) && !rcc_recv(c, &c->b, 1, 0, 5000));
	CHECK(c, !rcc_send(c, 0, 5000) && !rcc_send(c, 1, 5001) && !rcc_send(c, 2, 10));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_SUCCESS));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[1], IB_WC_REM_INV_REQ_ERR));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[2], IB_WC_WR_FLUSH_ERR));
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[0], IB_WC_SUCCESS));
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[1], IB_WC_LOC_LEN_ERR));
	CHECK(c, rcc_gets_to(&c->a, IB_QPS_ERR) && rcc_gets_to(&c->b, IB_QPS_ERR));
	CHECK(c, !memchr_inv(c->b.rx + 5000, RCC_PATTERN, 100));
}

static void rcc_bad_wr(struct rcc *c)
{
	struct ib_recv_wr rwr = { .wr_cqe = &c->b.cqe[0], .num_sge = 1 };
	struct ib_sge sge;
	struct ib_wc wc;

	/* a request that we do not have waits for its turn */
	CHECK(c, !rcc_recv(c, &c->b, 0, 0, 100));
	CHECK(c, !rcc_send(c, 0, 10));
	CHECK(c, !rcc_post(c, &c->a, 1, 0, 10, 0, IB_WR_RDMA_WRITE));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_SUCCESS));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[1], IB_WC_LOC_QP_OP_ERR));
	CHECK(c, rcc_state(&c->a) == IB_QPS_ERR);
	/* so does one with a wrong key */
	CHECK(c, !rcc_connect(c, &rcc_patient));
	c->pd->local_dma_lkey ^= 1;
	CHECK(c, !rcc_send(c, 2, 10));
	rcc_list(c, &sge, c->b.rx, 100);
	c->pd->local_dma_lkey ^= 1;
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[2], IB_WC_LOC_PROT_ERR));
	/* and a receive with a wrong key is the end of both */
	CHECK(c, !rcc_connect(c, &rcc_patient));
	rwr.sg_list = &sge;
	CHECK(c, !ib_post_recv(c->b.qp, &rwr, NULL));
	CHECK(c, !rcc_send(c, 3, 10));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[3], IB_WC_REM_OP_ERR));
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[0], IB_WC_LOC_PROT_ERR));
	CHECK(c, rcc_gets_to(&c->b, IB_QPS_ERR));
}

static void rcc_drained(struct rcc *c)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_SQD,
		.en_sqd_async_notify = 1,
	};
	struct ib_wc wc;

	CHECK(c, !rcc_recv(c, &c->b, 0, 0, 100) && !rcc_send(c, 0, 10));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_SUCCESS));
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[0], IB_WC_SUCCESS));
	atomic_set(&c->a.events[IB_EVENT_SQ_DRAINED], 0);
	CHECK(c, !ib_modify_qp(c->a.qp, &attr, IB_QP_STATE | IB_QP_EN_SQD_ASYNC_NOTIFY));
	CHECK(c, rcc_comes(&c->a.events[IB_EVENT_SQ_DRAINED], 1));
	CHECK(c, !rcc_recv(c, &c->b, 1, 0, 100) && !rcc_send(c, 1, 10));
	CHECK(c, rcc_quiet(c->a.scq) && chk_empty(c->b.rcq));
	CHECK(c, !rcc_to(&c->a, IB_QPS_RTS));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[1], IB_WC_SUCCESS));
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[1], IB_WC_SUCCESS));
}

static void rcc_drain_done(struct ib_cq *cq, struct ib_wc *wc)
{
}

static void rcc_drain(struct rcc *c)
{
	struct ib_wc wc;
	int i;

	for (i = 0; i < 4; i++) {
		c->a.cqe[i].done = rcc_drain_done;
		CHECK(c, !rcc_recv(c, &c->a, i, 0, 100) && !rcc_send(c, i, 3000));
	}
	ib_drain_qp(c->a.qp);
	CHECK(c, rcc_state(&c->a) == IB_QPS_ERR);
	CHECK(c, chk_empty(c->a.scq) && chk_empty(c->a.rcq));
	CHECK(c, !rcc_connect(c, &rcc_patient));
	CHECK(c, !rcc_recv(c, &c->b, 0, 0, 100) && !rcc_send(c, 0, 10));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_SUCCESS));
}

/* b with a QP on the shared receive queue, connected */
static bool rcc_share(struct rcc *c, struct ib_qp **own)
{
	struct ib_srq_init_attr init = {
		.event_handler = rcc_srq_event,
		.srq_context = c,
		.attr = { .max_wr = 8, .max_sge = 2 },
	};
	struct ib_srq *srq;
	struct ib_qp *qp;

	srq = ib_create_srq(c->pd, &init);
	/* refused by an adapter that has none */
	CHECK(c, IS_ERR(srq) == !c->dev->attrs.max_srq);
	if (IS_ERR(srq))
		return false;
	qp = rcc_make_qp(c, &c->b, srq);
	if (!CHECK(c, !IS_ERR(qp))) {
		ib_destroy_srq(srq);
		return false;
	}
	memset(c->srq_events, 0, sizeof(c->srq_events));
	c->srq = srq;
	*own = c->b.qp;
	c->b.qp = qp;
	CHECK(c, !rcc_connect(c, &rcc_patient));
	return true;
}

static void rcc_unshare(struct rcc *c, struct ib_qp *own)
{
	CHECK(c, !ib_destroy_qp(c->b.qp));
	c->b.qp = own;
	ib_destroy_srq(c->srq);
	c->srq = NULL;
}

static void rcc_srq(struct rcc *c)
{
	struct ib_srq_init_attr init = { .attr = { .max_wr = 100000, .max_sge = 1 } };
	struct ib_srq_attr attr = { .srq_limit = 9 };
	struct ib_sge sge[3] = {};
	struct ib_recv_wr three = { .sg_list = sge, .num_sge = 3 };
	struct ib_qp *own;
	struct ib_wc wc;
	int i;

	CHECK(c, IS_ERR(ib_create_srq(c->pd, &init)));
	init.attr.max_wr = 1;
	init.attr.max_sge = 33;
	CHECK(c, IS_ERR(ib_create_srq(c->pd, &init)));
	if (!rcc_share(c, &own))
		return;
	CHECK(c, ib_post_srq_recv(c->srq, &three, NULL) == -EINVAL);
	CHECK(c, ib_post_recv(c->b.qp, &three, NULL) == -EINVAL);
	CHECK(c, ib_modify_srq(c->srq, &attr, IB_SRQ_LIMIT) == -EINVAL);
	for (i = 0; i < 8; i++)
		CHECK(c, !rcc_recv(c, NULL, i, i * 5000, 5000));
	CHECK(c, rcc_recv(c, NULL, i, 0, 1) == -ENOMEM);
	/* the limit is told once, when there are fewer */
	attr.srq_limit = 6;
	CHECK(c, !ib_modify_srq(c->srq, &attr, IB_SRQ_LIMIT));
	for (i = 0; i < 2; i++)
		CHECK(c, !rcc_send(c, i, 4000 + i));
	msleep(RCC_QUIET_MS);
	CHECK(c, !atomic_read(&c->srq_events[IB_EVENT_SRQ_LIMIT_REACHED]));
	CHECK(c, !ib_query_srq(c->srq, &attr) && attr.srq_limit == 6 && attr.max_wr == 8);
	for (; i < 8; i++)
		CHECK(c, !rcc_send(c, i, 4000 + i));
	CHECK(c, rcc_comes(&c->srq_events[IB_EVENT_SRQ_LIMIT_REACHED], 1));
	CHECK(c, !ib_query_srq(c->srq, &attr) && !attr.srq_limit);
	for (i = 0; i < 8; i++) {
		CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[i], IB_WC_SUCCESS));
		CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[i], IB_WC_SUCCESS));
		CHECK(c, wc.byte_len == 4000 + i && wc.qp == c->b.qp);
	}
	/* an empty one makes the sender wait */
	CHECK(c, !rcc_send(c, 0, 10) && rcc_quiet(c->a.scq));
	CHECK(c, !rcc_recv(c, NULL, 0, 0, 5000));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_SUCCESS));
	CHECK(c, atomic_read(&c->srq_events[IB_EVENT_SRQ_LIMIT_REACHED]) == 1);
	rcc_unshare(c, own);
}

static void rcc_last_wqe(struct rcc *c)
{
	struct ib_qp *own;
	struct ib_wc wc;

	if (!rcc_share(c, &own))
		return;
	atomic_set(&c->b.events[IB_EVENT_QP_LAST_WQE_REACHED], 0);
	CHECK(c, !rcc_recv(c, NULL, 0, 0, 100) && !rcc_recv(c, NULL, 1, 0, 100));
	CHECK(c, !rcc_send(c, 0, 10));
	msleep(RCC_QUIET_MS);
	CHECK(c, !atomic_read(&c->b.events[IB_EVENT_QP_LAST_WQE_REACHED]));
	CHECK(c, !rcc_to(&c->b, IB_QPS_ERR) && !rcc_to(&c->b, IB_QPS_ERR));
	CHECK(c, rcc_comes(&c->b.events[IB_EVENT_QP_LAST_WQE_REACHED], 1));
	/* what nobody began to fill stays in the shared queue */
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[0], IB_WC_SUCCESS));
	CHECK(c, rcc_quiet(c->b.rcq));
	CHECK(c, atomic_read(&c->b.events[IB_EVENT_QP_LAST_WQE_REACHED]) == 1);
	/* the same after a failure, with the receive that failed before it */
	CHECK(c, !rcc_connect(c, &rcc_patient));
	CHECK(c, !rcc_send(c, 1, 200));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[1], IB_WC_REM_INV_REQ_ERR));
	CHECK(c, rcc_next(c->b.rcq, &wc, &c->b.cqe[1], IB_WC_LOC_LEN_ERR));
	CHECK(c, rcc_comes(&c->b.events[IB_EVENT_QP_LAST_WQE_REACHED], 2));
	/* as for those who drain */
	CHECK(c, !rcc_connect(c, &rcc_patient));
	ib_drain_qp(c->b.qp);
	CHECK(c, rcc_state(&c->b) == IB_QPS_ERR);
	rcc_unshare(c, own);
}

static void rcc_self(struct rcc *c)
{
	struct ib_wc wc;

	CHECK(c, !rcc_to(&c->a, IB_QPS_RESET) && !rcc_init(&c->a));
	CHECK(c, !rcc_rtr(&c->a, &c->a, &rcc_patient) && !rcc_rts(&c->a, &rcc_patient));
	CHECK(c, !rcc_recv(c, &c->a, 0, 0, 9000) && !rcc_send(c, 1, 9000));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[1], IB_WC_SUCCESS));
	CHECK(c, rcc_next(c->a.rcq, &wc, &c->a.cqe[0], IB_WC_SUCCESS));
	CHECK(c, !memcmp(c->a.rx, c->a.tx, 9000));
}

static void rcc_resize(struct rcc *c)
{
	struct ib_wc wc;
	int i;

	for (i = 0; i < 8; i++)
		CHECK(c, !rcc_recv(c, &c->b, i, 0, 100) && !rcc_send(c, i, 10));
	CHECK(c, ib_resize_cq(c->b.rcq, 7) == -EINVAL && ib_resize_cq(c->b.rcq, 0) == -EINVAL);
	CHECK(c, !ib_resize_cq(c->b.rcq, 8) && c->b.rcq->cqe == 8);
	for (i = 0; i < 4; i++)
		CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[i], IB_WC_SUCCESS));
	CHECK(c, !ib_resize_cq(c->b.rcq, RCC_CQES) && c->b.rcq->cqe == RCC_CQES);
	for (; i < 8; i++)
		CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[i], IB_WC_SUCCESS));
	CHECK(c, chk_empty(c->b.rcq));
	CHECK(c, !rcc_recv(c, &c->b, 0, 0, 100) && !rcc_send(c, 9, 10));
	CHECK(c, chk_next(c->b.rcq, &wc, &c->b.cqe[0], IB_WC_SUCCESS));
}

static void rcc_gone(struct rcc *c)
{
	struct rcc_opts opts = { 8, 7, 7, 12, IB_MTU_2048 };
	struct ib_qp *qp;
	struct ib_wc wc;

	CHECK(c, !rcc_connect(c, &opts));
	CHECK(c, !rcc_recv(c, &c->b, 0, 0, 100) && !rcc_send(c, 0, 10));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[0], IB_WC_SUCCESS));
	qp = rcc_make_qp(c, &c->b, NULL);
	if (!CHECK(c, !IS_ERR(qp)))
		return;
	CHECK(c, !rcc_send(c, 1, 10));
	CHECK(c, !ib_destroy_qp(c->b.qp));
	c->b.qp = qp;
	CHECK(c, chk_empty(c->b.rcq));
	CHECK(c, rcc_next(c->a.scq, &wc, &c->a.cqe[1], IB_WC_RETRY_EXC_ERR));
	/* and one that is destroyed with its hands full */
	CHECK(c, !rcc_connect(c, &rcc_patient));
	CHECK(c, !rcc_send(c, 2, 9000) && !rcc_send(c, 3, 9000));
	qp = rcc_make_qp(c, &c->a, NULL);
	if (!CHECK(c, !IS_ERR(qp)))
		return;
	CHECK(c, !ib_destroy_qp(c->a.qp));
	c->a.qp = qp;
	CHECK(c, rcc_quiet(c->a.scq));
}

static const struct {
	const char *name;
	void (*run)(struct rcc *c);
} rcc_cases[] = {
	{ "states and attributes", rcc_states },
	{ "message of a packet", rcc_plain },
	{ "messages of many packets", rcc_long },
	{ "global route header", rcc_grh },
	{ "order, and full queues", rcc_order },
	{ "message before the receiver may send", rcc_early },
	{ "no receive buffer", rcc_rnr },
	{ "no answer", rcc_silence },
	{ "flush in order", rcc_flush },
	{ "longer than the buffer", rcc_too_long },
	{ "requests and keys that are wrong", rcc_bad_wr },
	{ "send queue drained", rcc_drained },
	{ "drained by the core", rcc_drain },
	{ "shared receive queue", rcc_srq },
	{ "last receive of a QP with a shared queue", rcc_last_wqe },
	{ "QP that talks to itself", rcc_self },
	{ "completion queue of another size", rcc_resize },
	{ "QP that goes", rcc_gone },
};

static void rcc_empty(struct ib_cq *cq)
{
	struct ib_wc wc;

	while (ib_poll_cq(cq, 1, &wc) == 1)
		;
}

/* Both sides as new: nothing posted, nothing completed, connected */
static void rcc_fresh(struct rcc *c)
{
	CHECK(c, !rcc_connect(c, &rcc_patient));
	CHECK(c, chk_empty(c->a.scq) && chk_empty(c->a.rcq));
	CHECK(c, chk_empty(c->b.scq) && chk_empty(c->b.rcq));
	memset(c->a.rx, RCC_PATTERN, RCC_BUF);
	memset(c->b.rx, RCC_PATTERN, RCC_BUF);
	get_random_bytes(c->a.tx, RCC_BUF);
	get_random_bytes(c->b.tx, RCC_BUF);
}

static void rcc_run_all(struct rcc *c)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(rcc_cases); i++) {
		c->ok = true;
		rcc_fresh(c);
		if (c->ok)
			rcc_cases[i].run(c);
		chk_say(c->ok, rcc_cases[i].name);
	}
}

/* One direction of a bulk run; message n goes through slot n % RCC_BULK_DEPTH of both buffers */
struct rcc_flow {
	struct rcc_end *from;
	struct rcc_end *to;
	u32 len[RCC_BULK_DEPTH];
	u32 posted;
	u32 sent;
	u32 got;
};

static void rcc_flow_post(struct rcc *c, struct rcc_flow *f)
{
	u32 slot = f->posted % RCC_BULK_DEPTH;
	u8 *buf = f->from->tx + slot * RCC_BULK_SLOT;

	f->len[slot] = 4 + get_random_u32_below(RCC_BULK_SLOT - 3);
	get_random_bytes(buf, min(f->len[slot], 64U));
	memcpy(buf, &f->posted, 4);
	CHECK(c, !rcc_recv(c, f->to, slot, slot * RCC_BULK_SLOT, RCC_BULK_SLOT));
	CHECK(c, !rcc_post(c, f->from, slot, slot * RCC_BULK_SLOT, f->len[slot],
			   IB_SEND_SIGNALED, IB_WR_SEND));
	f->posted++;
}

/* Takes what is there, and says whether anything was */
static bool rcc_flow_poll(struct rcc *c, struct rcc_flow *f)
{
	u32 slot = f->got % RCC_BULK_DEPTH, off = slot * RCC_BULK_SLOT;
	bool any = false;
	struct ib_wc wc;

	if (ib_poll_cq(f->from->scq, 1, &wc) == 1) {
		CHECK(c, wc.status == IB_WC_SUCCESS);
		CHECK(c, wc.wr_cqe == &f->from->cqe[f->sent % RCC_BULK_DEPTH]);
		f->sent++;
		any = true;
	}
	if (ib_poll_cq(f->to->rcq, 1, &wc) == 1) {
		CHECK(c, wc.status == IB_WC_SUCCESS && wc.wr_cqe == &f->to->cqe[slot]);
		CHECK(c, wc.byte_len == f->len[slot]);
		CHECK(c, !memcmp(f->to->rx + off, f->from->tx + off, f->len[slot]));
		f->got++;
		any = true;
	}
	return any;
}

static void rcc_bulk(struct rcc *c)
{
	struct rcc_flow flow[2] = {
		{ .from = &c->a, .to = &c->b },
		{ .from = &c->b, .to = &c->a },
	};
	unsigned long end = jiffies + 120 * HZ;
	bool any;
	int i;

	while (c->ok && (flow[0].got < bulk || flow[0].sent < bulk || flow[1].got < bulk ||
			 flow[1].sent < bulk) && time_before(jiffies, end)) {
		any = false;
		for (i = 0; i < 2; i++) {
			while (flow[i].posted < bulk &&
			       flow[i].posted - min(flow[i].got, flow[i].sent) < RCC_BULK_DEPTH)
				rcc_flow_post(c, &flow[i]);
			any |= rcc_flow_poll(c, &flow[i]);
		}
		if (!any)
			usleep_range(200, 400);
	}
	for (i = 0; i < 2; i++)
		CHECK(c, flow[i].got == bulk && flow[i].sent == bulk);
	CHECK(c, rcc_quiet(c->a.scq) && chk_empty(c->b.rcq) && chk_empty(c->a.rcq));
}

static int rcc_make_end(struct rcc *c, struct rcc_end *e, u32 port)
{
	struct ib_port_attr pa;

	e->port = port;
	if (ib_query_port(c->dev, port, &pa) || pa.state != IB_PORT_ACTIVE ||
	    rdma_query_gid(c->dev, port, 0, &e->gid))
		return -ENODEV;
	e->lid = pa.lid;
	e->tx = kzalloc(RCC_BUF, GFP_KERNEL);
	e->rx = kzalloc(RCC_BUF, GFP_KERNEL);
	if (!e->tx || !e->rx)
		return -ENOMEM;
	/* polled by hand, here or in the core's functions that drain */
	e->scq = ib_alloc_cq(c->dev, e, RCC_CQES, 0, IB_POLL_DIRECT);
	if (IS_ERR(e->scq))
		return PTR_ERR(e->scq);
	e->rcq = ib_alloc_cq(c->dev, e, RCC_CQES, 0, IB_POLL_DIRECT);
	if (IS_ERR(e->rcq))
		return PTR_ERR(e->rcq);
	e->qp = rcc_make_qp(c, e, NULL);
	return PTR_ERR_OR_ZERO(e->qp);
}

static void rcc_destroy_end(struct rcc_end *e)
{
	if (!IS_ERR_OR_NULL(e->qp))
		ib_destroy_qp(e->qp);
	if (!IS_ERR_OR_NULL(e->scq))
		ib_free_cq(e->scq);
	if (!IS_ERR_OR_NULL(e->rcq))
		ib_free_cq(e->rcq);
	kfree(e->tx);
	kfree(e->rx);
}

static void rcc_run(struct rcc *c)
{
	if (!bulk)
		return rcc_run_all(c);
	c->ok = true;
	rcc_fresh(c);
	if (c->ok)
		rcc_bulk(c);
	chk_say(c->ok, "bulk");
	rcc_empty(c->a.scq);
}

static int rcc_add(struct ib_device *dev)
{
	struct rcc *c;
	int ret;

	if (!chk_wants(dev))
		return -EOPNOTSUPP;
	c = kzalloc(sizeof(*c), GFP_KERNEL);
	if (!c)
		return -ENOMEM;
	c->dev = dev;
	c->pd = ib_alloc_pd(dev, 0);
	if (IS_ERR(c->pd)) {
		ret = PTR_ERR(c->pd);
		kfree(c);
		return ret;
	}
	ret = rcc_make_end(c, &c->a, 1) ?: rcc_make_end(c, &c->b, 2);
	if (ret)
		pr_info("vib_check: cannot set up: %pe\n", ERR_PTR(ret));
	else
		rcc_run(c);
	rcc_destroy_end(&c->a);
	rcc_destroy_end(&c->b);
	ib_dealloc_pd(c->pd);
	kfree(c);
	return -EOPNOTSUPP;
}

static struct ib_client rcc_client = {
	.name = "vib_check_rc",
	.add = rcc_add,
};

static int __init rcc_module_init(void)
{
	return chk_devices(&rcc_client);
}

static void __exit rcc_module_exit(void)
{
}

module_init(rcc_module_init);
module_exit(rcc_module_exit);

MODULE_DESCRIPTION("Checks of reliable connections of the virtual InfiniBand fabric");
MODULE_LICENSE("GPL");
