// SPDX-License-Identifier: GPL-2.0
/*
 * A peer that means no good: the worst messages of a connection manager, and the worst connections.
 *
 * It sits at port 2 of the first two-port vib device and turns on whoever listens at port 1. One
 * message at a time it can be anybody: it writes the datagrams itself, with GUIDs, GIDs and queue
 * pairs that nobody has. As a peer that is asked it answers what it was told to. And it makes real
 * connections, to send over them what does not belong there.
 *
 * debugfs vib_foe/ctl takes one command in a write and answers by errno:
 *
 *	req [n=1] sid=S [pkey=0xffff] [gid=0] [type=0] [qpn=0] [size=65524] [noise=0] [seed=1]
 *	    [timeout=10] [retries=1] [peers=1]
 *		n requests, each from a peer of its own (peers=0: all from one port), to service
 *		S; a gid that is not 0 stands for one that is not the receiver's; type is the
 *		transport in the message; private data is qpn and size, or noise
 *	stray n=N attr=A [seed=1]
 *		messages of type A about connections that nobody has
 *	listen sid=S how=rep|rej|silent|dreq|echo [size=65524]
 *		be asked: grant with that size, refuse, say nothing, grant and hang up at once, or
 *		grant and answer echo requests over the same connection
 *	frames sid=S len=L,L... [keep=0]
 *		each of these lengths over a connection; another one is made when it breaks. The
 *		last one stays if it shall be kept; without a length nothing is sent over it
 *	close	end all listeners, what they granted, and what was kept
 *
 * debugfs vib_foe/result says what became of the last "frames", a line for each, how often
 * listeners were asked, and how many echo requests came.
 *
 * Commands run in the context of the writer under foe_mutex; handlers of the connection manager and
 * of completions run wherever these do and take no mutex.
 */
#include "vib_check.h"

#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/icmp.h>
#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/prandom.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/unaligned.h>
#include <linux/wait.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_cm.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_sa.h>
#include <rdma/ibta_vol1_c12.h>

MODULE_DESCRIPTION("Hostile peer for drivers that use connections");
MODULE_LICENSE("GPL");

#define FOE_PORT	2
#define FOE_CLASS_VERSION 2	/* of the connection manager's messages */
#define FOE_VICTIM	1
#define FOE_IN_FLIGHT	64
#define FOE_BUF		(128 * 1024)
#define FOE_LENS	32
#define FOE_WAIT	(10 * HZ)
#define FOE_NOBODY	0x7ffff0	/* no queue pair has this number */
#define FOE_SLOTS	4		/* buffers for echo requests */
#define FOE_KEPT	4

/* What the words of a command say */
struct foe_args {
	u64 n, sid, pkey, gid, type, qpn, size, noise, seed, timeout, retries, peers, attr, keep;
	char *how;
	char *len;
};

/* One who is asked, or a connection that was granted */
struct foe_peer {
	struct list_head entry;
	struct ib_cm_id *id;
	u32 size;
	char how;		/* first letter */
	struct foe_echo *echo;	/* of a connection over which we answer */
};

/* A connection with a queue pair */
struct foe_conn {
	struct ib_cm_id *id;
	struct ib_qp *qp;
	struct ib_cq *cq;
	struct ib_cqe cqe;
	struct completion up;
	struct completion sent;
	int err;
	enum ib_wc_status status;
};

/* A buffer in which an echo request comes, and the answer goes */
struct foe_slot {
	struct ib_cqe recv, send;
	struct foe_echo *echo;
	void *buf;
	u64 dma;
};

struct foe_echo {
	struct foe_conn conn;
	struct foe_slot slot[FOE_SLOTS];
};

static struct {
	struct ib_device *dev;
	struct ib_pd *pd;
	struct ib_mad_agent *agent;
	struct ib_ah *ah;
	union ib_gid gid, victim;
	u16 lid, victim_lid;
	void *buf;
	u64 dma;
	atomic_t in_flight;
	wait_queue_head_t room;
	struct list_head peers;
	spinlock_t lock;	/* peers */
	struct foe_conn kept[FOE_KEPT];
	atomic_t asked, echoed;
	char result[2048];
	int result_len;
} foe;

static DEFINE_MUTEX(foe_mutex);
static struct dentry *foe_root;

static void foe_sent(struct ib_mad_agent *agent, struct ib_mad_send_wc *wc)
{
	ib_free_send_mad(wc->send_buf);
	atomic_dec(&foe.in_flight);
	wake_up(&foe.room);
}

static struct ib_mad_send_buf *foe_message(__be16 attr, u64 tid)
{
	struct ib_mad_send_buf *buf;
	struct ib_mad_hdr *hdr;

	buf = ib_create_send_mad(foe.agent, 1, 0, 0, IB_MGMT_MAD_HDR, IB_MGMT_MAD_DATA,
				 GFP_KERNEL, IB_MGMT_BASE_VERSION);
	if (IS_ERR(buf))
		return buf;
	buf->ah = foe.ah;
	hdr = buf->mad;
	hdr->base_version = IB_MGMT_BASE_VERSION;
	hdr->mgmt_class = IB_MGMT_CLASS_CM;
	hdr->class_version = FOE_CLASS_VERSION;
	hdr->method = IB_MGMT_METHOD_SEND;
	hdr->attr_id = attr;
	hdr->tid = cpu_to_be64(tid);
	return buf;
}

static int foe_send(struct ib_mad_send_buf *buf)
{
	int err;

	wait_event(foe.room, atomic_read(&foe.in_flight) < FOE_IN_FLIGHT);
	atomic_inc(&foe.in_flight);
	err = ib_post_send_mad(buf, NULL);
	if (err) {
		ib_free_send_mad(buf);
		atomic_dec(&foe.in_flight);
	}
	return err;
}

static void foe_write_data(struct cm_req_msg *msg, const struct foe_args *args,
			   struct rnd_state *dice)
{
	u8 *data = IBA_GET_MEM_PTR(CM_REQ_PRIVATE_DATA, msg);

	if (args->noise)
		prandom_bytes_state(dice, data, IB_CM_REQ_PRIVATE_DATA_SIZE);
	else
		put_unaligned_be64(args->qpn << 32 | (u32)args->size, data);
}

static void foe_write_req(void *mad, const struct foe_args *args, u32 nr, struct rnd_state *dice)
{
	union ib_gid from = foe.gid, to = foe.victim;
	struct cm_req_msg *msg = mad;

	if (args->peers)
		from.global.interface_id ^= cpu_to_be64((u64)nr + 1);
	to.global.interface_id ^= cpu_to_be64(args->gid);
	IBA_SET(CM_REQ_LOCAL_COMM_ID, msg, prandom_u32_state(dice));
	IBA_SET(CM_REQ_SERVICE_ID, msg, args->sid);
	IBA_SET(CM_REQ_LOCAL_CA_GUID, msg, 0x0bad000000000000ull | args->seed << 32 | nr);
	IBA_SET(CM_REQ_LOCAL_QPN, msg, nr & 0xffffff);
	IBA_SET(CM_REQ_REMOTE_CM_RESPONSE_TIMEOUT, msg, args->timeout);
	IBA_SET(CM_REQ_LOCAL_CM_RESPONSE_TIMEOUT, msg, args->timeout);
	IBA_SET(CM_REQ_TRANSPORT_SERVICE_TYPE, msg, args->type);
	IBA_SET(CM_REQ_PARTITION_KEY, msg, args->pkey);
	IBA_SET(CM_REQ_PATH_PACKET_PAYLOAD_MTU, msg, IB_MTU_4096);
	IBA_SET(CM_REQ_MAX_CM_RETRIES, msg, args->retries);
	IBA_SET(CM_REQ_RNR_RETRY_COUNT, msg, 7);
	IBA_SET(CM_REQ_PRIMARY_LOCAL_PORT_LID, msg, foe.lid);
	IBA_SET(CM_REQ_PRIMARY_REMOTE_PORT_LID, msg, foe.victim_lid);
	*IBA_GET_MEM_PTR(CM_REQ_PRIMARY_LOCAL_PORT_GID, msg) = from;
	*IBA_GET_MEM_PTR(CM_REQ_PRIMARY_REMOTE_PORT_GID, msg) = to;
	IBA_SET(CM_REQ_PRIMARY_PACKET_RATE, msg, IB_RATE_10_GBPS);
	IBA_SET(CM_REQ_PRIMARY_SUBNET_LOCAL, msg, 1);
	IBA_SET(CM_REQ_PRIMARY_LOCAL_ACK_TIMEOUT, msg, 14);
	foe_write_data(msg, args, dice);
}

/* n messages, each what the dice make of it */
static int foe_volley(const struct foe_args *args, __be16 attr,
		      void (*fill)(void *mad, const struct foe_args *args, u32 nr,
				   struct rnd_state *dice))
{
	struct ib_mad_send_buf *buf;
	struct rnd_state dice;
	int err = 0;
	u32 i;

	prandom_seed_state(&dice, args->seed);
	for (i = 0; i < args->n && !err; i++) {
		buf = foe_message(attr, args->seed << 32 | i);
		if (IS_ERR(buf))
			return PTR_ERR(buf);
		fill(buf->mad, args, i, &dice);
		err = foe_send(buf);
	}
	return err;
}

static void foe_write_noise(void *mad, const struct foe_args *args, u32 nr, struct rnd_state *dice)
{
	prandom_bytes_state(dice, mad + IB_MGMT_MAD_HDR, IB_MGMT_MAD_DATA);
}

static int foe_qp_to(struct foe_conn *c, enum ib_qp_state state)
{
	struct ib_qp_attr attr = { .qp_state = state };
	int mask, err;

	err = ib_cm_init_qp_attr(c->id, &attr, &mask);
	if (err)
		return err;
	if (state == IB_QPS_RTS) {
		attr.retry_cnt = 3;
		attr.rnr_retry = 3;
		attr.timeout = 14;
	}
	return ib_modify_qp(c->qp, &attr, mask);
}

static int foe_make_qp(struct foe_conn *c)
{
	struct ib_qp_init_attr init = {
		.send_cq = c->cq,
		.recv_cq = c->cq,
		.qp_type = IB_QPT_RC,
		.sq_sig_type = IB_SIGNAL_ALL_WR,
		.cap = {
			.max_send_wr = FOE_SLOTS, .max_recv_wr = FOE_SLOTS,
			.max_send_sge = 1, .max_recv_sge = 1,
		},
	};
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = FOE_PORT,
	};
	int err;

	c->qp = ib_create_qp(foe.pd, &init);
	if (IS_ERR(c->qp)) {
		err = PTR_ERR(c->qp);
		c->qp = NULL;
		return err;
	}
	return ib_modify_qp(c->qp, &attr, IB_QP_STATE | IB_QP_PORT | IB_QP_PKEY_INDEX |
			    IB_QP_ACCESS_FLAGS);
}

static void foe_hang_up(struct foe_conn *c)
{
	if (!IS_ERR_OR_NULL(c->id))
		ib_destroy_cm_id(c->id);
	if (c->qp)
		ib_destroy_qp(c->qp);
	if (!IS_ERR_OR_NULL(c->cq))
		ib_free_cq(c->cq);
	memset(c, 0, sizeof(*c));
}

static int foe_slot_listen(struct foe_slot *slot)
{
	struct ib_sge sge = {
		.addr = slot->dma,
		.length = FOE_BUF,
		.lkey = foe.pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = { .wr_cqe = &slot->recv, .sg_list = &sge, .num_sge = 1 };

	return ib_post_recv(slot->echo->conn.qp, &wr, NULL);
}

static int foe_slot_answer(struct foe_slot *slot, u32 len)
{
	struct ib_sge sge = {
		.addr = slot->dma,
		.length = len,
		.lkey = foe.pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &slot->send,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};

	return ib_post_send(slot->echo->conn.qp, &wr, NULL);
}

/* Behind 4 octets of encapsulation: is it an echo request? Then it becomes the answer. */
static bool foe_turn_round(void *frame, u32 len)
{
	struct iphdr *ip = frame + 4;
	struct icmphdr *icmp = (void *)(ip + 1);

	if (len < 4 + sizeof(*ip) + sizeof(*icmp) || get_unaligned_be16(frame) != ETH_P_IP ||
	    ip->ihl != 5 || ip->protocol != IPPROTO_ICMP || icmp->type != ICMP_ECHO)
		return false;
	swap(ip->saddr, ip->daddr);
	icmp->type = ICMP_ECHOREPLY;
	csum_replace2(&icmp->checksum, cpu_to_be16(ICMP_ECHO << 8), 0);
	return true;
}

static void foe_echo_came(struct ib_cq *cq, struct ib_wc *wc)
{
	struct foe_slot *slot = container_of(wc->wr_cqe, struct foe_slot, recv);

	if (wc->status != IB_WC_SUCCESS)
		return;
	if (!foe_turn_round(slot->buf, wc->byte_len))
		foe_slot_listen(slot);
	else if (!foe_slot_answer(slot, wc->byte_len))
		atomic_inc(&foe.echoed);
}

static void foe_echo_went(struct ib_cq *cq, struct ib_wc *wc)
{
	struct foe_slot *slot = container_of(wc->wr_cqe, struct foe_slot, send);

	if (wc->status == IB_WC_SUCCESS)
		foe_slot_listen(slot);
}

static void foe_echo_free(struct foe_echo *echo)
{
	int i;

	if (!echo)
		return;
	foe_hang_up(&echo->conn);
	for (i = 0; i < FOE_SLOTS; i++) {
		if (echo->slot[i].dma)
			ib_dma_unmap_single(foe.dev, echo->slot[i].dma, FOE_BUF, DMA_BIDIRECTIONAL);
		kfree(echo->slot[i].buf);
	}
	kfree(echo);
}

static int foe_slot_make(struct foe_echo *echo, struct foe_slot *slot)
{
	slot->echo = echo;
	slot->recv.done = foe_echo_came;
	slot->send.done = foe_echo_went;
	slot->buf = kzalloc(FOE_BUF, GFP_KERNEL);
	if (!slot->buf)
		return -ENOMEM;
	slot->dma = ib_dma_map_single(foe.dev, slot->buf, FOE_BUF, DMA_BIDIRECTIONAL);
	if (!ib_dma_mapping_error(foe.dev, slot->dma))
		return foe_slot_listen(slot);
	slot->dma = 0;
	return -ENOMEM;
}

/* A queue pair that can receive before the asker hears of it */
static int foe_echo_up(struct foe_echo *echo, struct ib_cm_id *id)
{
	struct foe_conn *c = &echo->conn;
	int err, i;

	c->cq = ib_alloc_cq(foe.dev, NULL, 2 * FOE_SLOTS, 0, IB_POLL_WORKQUEUE);
	err = PTR_ERR_OR_ZERO(c->cq) ?: foe_make_qp(c);
	for (i = 0; i < FOE_SLOTS && !err; i++)
		err = foe_slot_make(echo, &echo->slot[i]);
	if (err)
		return err;
	c->id = id;
	err = foe_qp_to(c, IB_QPS_RTR) ?: foe_qp_to(c, IB_QPS_RTS);
	/* the handle is the peer's */
	c->id = NULL;
	return err;
}

static int foe_granted(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	struct foe_peer *p = id->context;

	if (event->event == IB_CM_RTU_RECEIVED && p->how == 'd')
		ib_send_cm_dreq(id, NULL, 0);
	else if (event->event == IB_CM_DREQ_RECEIVED)
		ib_send_cm_drep(id, NULL, 0);
	return 0;
}

static void foe_add_peer(struct foe_peer *p, struct ib_cm_id *id)
{
	p->id = id;
	spin_lock(&foe.lock);
	list_add(&p->entry, &foe.peers);
	spin_unlock(&foe.lock);
}

static int foe_grant(struct ib_cm_id *id, const struct foe_peer *listener)
{
	__be32 data[2] = { cpu_to_be32(FOE_NOBODY), cpu_to_be32(listener->size) };
	struct ib_cm_rep_param rep = {
		.qp_num = FOE_NOBODY,
		.private_data = data,
		.private_data_len = sizeof(data),
		.rnr_retry_count = 7,
	};
	struct foe_peer *p;
	int err = 0;

	p = kmemdup(listener, sizeof(*p), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	if (p->how == 'e') {
		p->echo = kzalloc(sizeof(*p->echo), GFP_KERNEL);
		err = p->echo ? foe_echo_up(p->echo, id) : -ENOMEM;
		if (!err)
			rep.qp_num = p->echo->conn.qp->qp_num;
	}
	id->cm_handler = foe_granted;
	id->context = p;
	err = err ?: ib_send_cm_rep(id, &rep);
	if (err) {
		foe_echo_free(p->echo);
		kfree(p);
		return err;
	}
	foe_add_peer(p, id);
	return 0;
}

static int foe_is_asked(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	const struct foe_peer *p = id->context;

	if (event->event != IB_CM_REQ_RECEIVED)
		return 0;
	atomic_inc(&foe.asked);
	switch (p->how) {
	case 'r':
		ib_send_cm_rej(id, IB_CM_REJ_NO_RESOURCES, NULL, 0, NULL, 0);
		return -ECONNREFUSED;
	case 's':
		/* this makes the connection manager say nothing */
		return -ENOMEM;
	default:
		return foe_grant(id, p);
	}
}

/* rep and rej begin with the same letter: a grant is 'g' */
static int foe_cmd_listen(const struct foe_args *args)
{
	struct foe_peer *p;
	struct ib_cm_id *id;
	int err;

	if (!args->how || !strchr("rsde", args->how[0]))
		return -EINVAL;
	p = kzalloc(sizeof(*p), GFP_KERNEL);
	if (!p)
		return -ENOMEM;
	p->how = strcmp(args->how, "rep") ? args->how[0] : 'g';
	p->size = args->size;
	id = ib_create_cm_id(foe.dev, foe_is_asked, p);
	if (IS_ERR(id)) {
		kfree(p);
		return PTR_ERR(id);
	}
	err = ib_cm_listen(id, cpu_to_be64(args->sid));
	if (err) {
		ib_destroy_cm_id(id);
		kfree(p);
		return err;
	}
	foe_add_peer(p, id);
	return 0;
}

static struct foe_peer *foe_next_peer(void)
{
	struct foe_peer *p;

	spin_lock(&foe.lock);
	/* the oldest one first: a listener before what it granted */
	p = list_empty(&foe.peers) ? NULL : list_last_entry(&foe.peers, struct foe_peer, entry);
	if (p)
		list_del(&p->entry);
	spin_unlock(&foe.lock);
	return p;
}

static void foe_close(void)
{
	struct foe_peer *p;
	int i;

	while ((p = foe_next_peer())) {
		ib_destroy_cm_id(p->id);
		foe_echo_free(p->echo);
		kfree(p);
	}
	for (i = 0; i < FOE_KEPT; i++)
		foe_hang_up(&foe.kept[i]);
	atomic_set(&foe.asked, 0);
	atomic_set(&foe.echoed, 0);
}

static int foe_conn_event(struct ib_cm_id *id, const struct ib_cm_event *event)
{
	struct foe_conn *c = id->context;

	switch (event->event) {
	case IB_CM_REP_RECEIVED:
		c->err = foe_qp_to(c, IB_QPS_RTR) ?: foe_qp_to(c, IB_QPS_RTS) ?:
			 ib_send_cm_rtu(id, NULL, 0);
		complete(&c->up);
		break;
	case IB_CM_REQ_ERROR:
	case IB_CM_REJ_RECEIVED:
		c->err = -ECONNREFUSED;
		complete(&c->up);
		break;
	case IB_CM_DREQ_RECEIVED:
		ib_send_cm_drep(id, NULL, 0);
		break;
	default:
		break;
	}
	return 0;
}

static void foe_conn_sent(struct ib_cq *cq, struct ib_wc *wc)
{
	struct foe_conn *c = container_of(wc->wr_cqe, struct foe_conn, cqe);

	c->status = wc->status;
	complete(&c->sent);
}

static int foe_ask(struct foe_conn *c, u64 sid)
{
	__be32 data[2] = { cpu_to_be32(FOE_NOBODY), cpu_to_be32(65524) };
	struct sa_path_rec path = {
		.rec_type = SA_PATH_REC_TYPE_IB,
		.sgid = foe.gid,
		.dgid = foe.victim,
		.ib.slid = cpu_to_be16(foe.lid),
		.ib.dlid = cpu_to_be16(foe.victim_lid),
		.pkey = cpu_to_be16(0xffff),
		.mtu_selector = IB_SA_EQ,
		.mtu = IB_MTU_2048,
		.rate_selector = IB_SA_EQ,
		.rate = IB_RATE_10_GBPS,
		.packet_life_time = 14,
		.reversible = 1,
		.numb_path = 1,
	};
	struct ib_cm_req_param req = {
		.primary_path = &path,
		.service_id = cpu_to_be64(sid),
		.qp_num = c->qp->qp_num,
		.qp_type = IB_QPT_RC,
		.private_data = data,
		.private_data_len = sizeof(data),
		.responder_resources = 4,
		.remote_cm_response_timeout = 18,
		.local_cm_response_timeout = 18,
		.max_cm_retries = 5,
	};

	return ib_send_cm_req(c->id, &req);
}

static int foe_connect(struct foe_conn *c, u64 sid)
{
	int err;

	init_completion(&c->up);
	c->cqe.done = foe_conn_sent;
	c->cq = ib_alloc_cq(foe.dev, NULL, 8, 0, IB_POLL_WORKQUEUE);
	err = PTR_ERR_OR_ZERO(c->cq) ?: foe_make_qp(c);
	if (err)
		goto out;
	c->id = ib_create_cm_id(foe.dev, foe_conn_event, c);
	err = PTR_ERR_OR_ZERO(c->id) ?: foe_ask(c, sid);
	if (err)
		goto out;
	err = wait_for_completion_timeout(&c->up, FOE_WAIT) ? c->err : -ETIMEDOUT;
out:
	if (err)
		foe_hang_up(c);
	return err;
}

static int foe_frame(struct foe_conn *c, u32 len)
{
	struct ib_sge sge = {
		.addr = foe.dma,
		.length = len,
		.lkey = foe.pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.wr_cqe = &c->cqe,
		.sg_list = &sge,
		.num_sge = len ? 1 : 0,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	int err;

	init_completion(&c->sent);
	err = ib_post_send(c->qp, &wr, NULL);
	if (err)
		return err;
	return wait_for_completion_timeout(&c->sent, FOE_WAIT) ? 0 : -ETIMEDOUT;
}

static void foe_say(u32 len, const char *text)
{
	foe.result_len += scnprintf(foe.result + foe.result_len,
				    sizeof(foe.result) - foe.result_len, "%u %s\n", len, text);
}

/* Where a connection lives that is to be kept */
static struct foe_conn *foe_place(void)
{
	int i;

	for (i = 0; i < FOE_KEPT; i++)
		if (!foe.kept[i].qp)
			return &foe.kept[i];
	return NULL;
}

static int foe_cmd_frames(const struct foe_args *args)
{
	struct foe_conn once = {}, *c = args->keep ? foe_place() : &once;
	char *list = args->len, *word;
	int err = c ? 0 : -ENOSPC;
	u32 len;

	foe.result_len = 0;
	while (!err && (word = strsep(&list, ","))) {
		err = *word ? kstrtou32(word, 0, &len) : 0;
		if (err || (*word && len > FOE_BUF) || (!*word && !args->keep)) {
			err = -EINVAL;
			break;
		}
		if (!c->qp)
			err = foe_connect(c, args->sid);
		if (err || !*word)
			break;
		err = foe_frame(c, len);
		if (err)
			break;
		foe_say(len, ib_wc_status_msg(c->status));
		if (c->status != IB_WC_SUCCESS)
			foe_hang_up(c);
	}
	if (c && (err || !args->keep))
		foe_hang_up(c);
	return err;
}

static int foe_word(struct foe_args *args, char *word)
{
	const struct {
		const char *key;
		u64 *value;
	} keys[] = {
		{ "n", &args->n }, { "sid", &args->sid }, { "pkey", &args->pkey },
		{ "gid", &args->gid }, { "type", &args->type }, { "qpn", &args->qpn },
		{ "size", &args->size }, { "noise", &args->noise }, { "seed", &args->seed },
		{ "timeout", &args->timeout }, { "retries", &args->retries },
		{ "peers", &args->peers }, { "attr", &args->attr },
		{ "keep", &args->keep },
	};
	char *key = strsep(&word, "=");
	int i;

	if (!word)
		return -EINVAL;
	if (!strcmp(key, "how")) {
		args->how = word;
		return 0;
	}
	if (!strcmp(key, "len")) {
		args->len = word;
		return 0;
	}
	for (i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(key, keys[i].key))
			return kstrtou64(word, 0, keys[i].value);
	return -EINVAL;
}

static int foe_run(char *text)
{
	struct foe_args args = {
		.n = 1, .pkey = 0xffff, .size = 65524, .seed = 1, .timeout = 10, .retries = 1,
		.peers = 1,
	};
	char *name = strsep(&text, " "), *word;
	int err = foe.dev ? 0 : -ENODEV;

	while (!err && (word = strsep(&text, " ")))
		err = foe_word(&args, word);
	if (err)
		return err;
	if (!strcmp(name, "req"))
		return foe_volley(&args, CM_REQ_ATTR_ID, foe_write_req);
	if (!strcmp(name, "stray"))
		return foe_volley(&args, cpu_to_be16(args.attr), foe_write_noise);
	if (!strcmp(name, "listen"))
		return foe_cmd_listen(&args);
	if (!strcmp(name, "frames") && args.len)
		return foe_cmd_frames(&args);
	if (strcmp(name, "close"))
		return -EINVAL;
	foe_close();
	return 0;
}

static ssize_t ctl_write(struct file *file, const char __user *buf, size_t count, loff_t *pos)
{
	char text[256];
	int err;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, count))
		return -EFAULT;
	text[count] = 0;
	mutex_lock(&foe_mutex);
	err = foe_run(strim(text));
	mutex_unlock(&foe_mutex);
	return err ?: count;
}

static const struct file_operations ctl_fops = {
	.owner = THIS_MODULE,
	.write = ctl_write,
};

static int result_show(struct seq_file *s, void *unused)
{
	mutex_lock(&foe_mutex);
	seq_write(s, foe.result, foe.result_len);
	seq_printf(s, "asked %d\n", atomic_read(&foe.asked));
	seq_printf(s, "echoed %d\n", atomic_read(&foe.echoed));
	mutex_unlock(&foe_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(result);

static int foe_find_ports(void)
{
	struct ib_port_attr mine, theirs;
	int err;

	err = ib_query_port(foe.dev, FOE_PORT, &mine) ?:
	      ib_query_port(foe.dev, FOE_VICTIM, &theirs) ?:
	      rdma_query_gid(foe.dev, FOE_PORT, 0, &foe.gid) ?:
	      rdma_query_gid(foe.dev, FOE_VICTIM, 0, &foe.victim);
	if (err)
		return err;
	foe.lid = mine.lid;
	foe.victim_lid = theirs.lid;
	return 0;
}

static int foe_make_ah(void)
{
	struct rdma_ah_attr attr = {
		.type = RDMA_AH_ATTR_TYPE_IB,
		.port_num = FOE_PORT,
	};

	rdma_ah_set_dlid(&attr, foe.victim_lid);
	foe.ah = rdma_create_ah(foe.pd, &attr, RDMA_CREATE_AH_SLEEPABLE);
	return PTR_ERR_OR_ZERO(foe.ah);
}

static int foe_make_buf(void)
{
	foe.buf = kzalloc(FOE_BUF, GFP_KERNEL);
	if (!foe.buf)
		return -ENOMEM;
	foe.dma = ib_dma_map_single(foe.dev, foe.buf, FOE_BUF, DMA_TO_DEVICE);
	if (!ib_dma_mapping_error(foe.dev, foe.dma))
		return 0;
	kfree(foe.buf);
	return -ENOMEM;
}

static int foe_settle(struct ib_device *dev)
{
	int err;

	foe.dev = dev;
	err = foe_find_ports() ?: foe_make_buf();
	if (err)
		goto err_dev;
	foe.pd = ib_alloc_pd(dev, 0);
	err = PTR_ERR_OR_ZERO(foe.pd);
	if (err)
		goto err_buf;
	err = foe_make_ah();
	if (err)
		goto err_pd;
	foe.agent = ib_register_mad_agent(dev, FOE_PORT, IB_QPT_GSI, NULL, 0, foe_sent, NULL, NULL,
					  0);
	err = PTR_ERR_OR_ZERO(foe.agent);
	if (!err)
		return 0;
	rdma_destroy_ah(foe.ah, 0);
err_pd:
	ib_dealloc_pd(foe.pd);
err_buf:
	ib_dma_unmap_single(dev, foe.dma, FOE_BUF, DMA_TO_DEVICE);
	kfree(foe.buf);
err_dev:
	foe.dev = NULL;
	return err;
}

static int foe_add(struct ib_device *dev)
{
	int err;

	if (!chk_wants(dev))
		return -EOPNOTSUPP;
	err = foe_settle(dev);
	if (!err)
		chk_count++;
	return err;
}

static void foe_remove(struct ib_device *dev, void *data)
{
	mutex_lock(&foe_mutex);
	foe_close();
	foe.dev = NULL;
	mutex_unlock(&foe_mutex);
	/* waits for what is being sent */
	ib_unregister_mad_agent(foe.agent);
	rdma_destroy_ah(foe.ah, 0);
	ib_dealloc_pd(foe.pd);
	ib_dma_unmap_single(dev, foe.dma, FOE_BUF, DMA_TO_DEVICE);
	kfree(foe.buf);
}

static struct ib_client foe_client = {
	.name = "vib_foe",
	.add = foe_add,
	.remove = foe_remove,
};

static int __init foe_init(void)
{
	int err;

	spin_lock_init(&foe.lock);
	INIT_LIST_HEAD(&foe.peers);
	init_waitqueue_head(&foe.room);
	err = ib_register_client(&foe_client);
	if (err)
		return err;
	if (!chk_count) {
		ib_unregister_client(&foe_client);
		return -ENODEV;
	}
	foe_root = debugfs_create_dir("vib_foe", NULL);
	debugfs_create_file("ctl", 0200, foe_root, NULL, &ctl_fops);
	debugfs_create_file("result", 0400, foe_root, NULL, &result_fops);
	return 0;
}

static void __exit foe_exit(void)
{
	debugfs_remove(foe_root);
	ib_unregister_client(&foe_client);
}

module_init(foe_init);
module_exit(foe_exit);
