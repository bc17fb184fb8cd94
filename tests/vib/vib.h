/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vib: a virtual InfiniBand fabric inside one kernel.
 *
 * This header is what the rooms of the module share: the objects behind the verbs (HCA, port, QP,
 * CQ, packet) and the functions that one file calls in another. vib_fabric.h holds the other half:
 * cables, switches and their management.
 *
 * As a rule a packet does not exist in memory as a frame. It is a decoded header on the sender's
 * stack (struct vib_pkt) with references to the sender's own buffers. post_send walks it through
 * the fabric and the receiving port copies it once, into the buffer that the receiver posted. All
 * of that happens in the context of the sender, with interrupts off and under its send queue's
 * lock. The exception are packets that arrive later than they were sent (vib_frame.c): they are
 * copied and go on from a timer, in softirq context.
 *
 * Locks, outer to inner. All but the first are taken with interrupts off:
 *
 *	vib_ctl_mutex		list of HCAs, control commands (process context)
 *	hca->obj_lock		lists of QPs and CQs
 *	qpc->sq_lock		send queue of the sender
 *	port->mcast_lock	writers of the multicast attach table
 *	qpc->rq_lock		receive queue of the receiver; no sq_lock is ever taken under it
 *	srq->lock		shared receive queue
 *	cq->lock		completion ring
 *	rc->mail_lock		leaf: acknowledgments for a requester
 *	hca->ev_lock		leaf: may events still be raised?
 *	(locks of vib_fabric.h)	leaves as far as this file is concerned
 *
 * Everything that a packet meets on its way (QP table, attach table, cables) is read under RCU.
 */
#ifndef VIB_H
#define VIB_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/irq_work.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/percpu.h>
#include <linux/refcount.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_cache.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_pack.h>
#include <rdma/ib_verbs.h>

#include "vib_fabric.h"

struct dentry;
struct platform_device;
struct seq_file;

#define VIB_LKEY		0x00564942	/* the one local key; covers all of memory */
#define VIB_MAX_SGE		32
#define VIB_MAX_WR		16384
#define VIB_MAX_CQE		131071
#define VIB_MAX_PORTS		8
#define VIB_GRH_LEN		40
#define VIB_QPN_MIN		0x4000
#define VIB_QPN_MAX		0xfffff0
#define VIB_MCAST_BITS		6		/* buckets of a port's attach table */
#define VIB_LSO_HDR_MAX		128
#define VIB_MAX_SRQ		1024
#define VIB_MAX_SRQ_WR		32767
#define VIB_MAX_RD_ATOM		16
#define VIB_PSN_MASK		0xffffff
#define VIB_AETH_LEN		4

/* Kinds of objects that are counted, see vib_obj_add() */
enum vib_obj {
	VIB_OBJ_PD,
	VIB_OBJ_CQ,
	VIB_OBJ_QP,
	VIB_OBJ_SRQ,
	VIB_OBJ_AH,
	VIB_OBJ_MR,
	VIB_OBJ_ATTACH,
	VIB_OBJ_RC,			/* those of the QPs that are reliable connections */
	VIB_OBJ_NR,
};

/* Things that a correct upper layer never makes happen, see vib_oracle() */
enum vib_oracle {
	VIB_OR_CQ_OVERRUN,
	VIB_OR_POST_BAD_STATE,
	VIB_OR_LKEY_BAD,
	VIB_OR_SGE_NOT_KERNEL,
	VIB_OR_QKEY_VIOLATION,
	VIB_OR_PKEY_VIOLATION,
	VIB_OR_DETACH_NOT_ATTACHED,
	VIB_OR_ATTACH_TWICE,
	VIB_OR_QP_ATTACHED,		/* QP destroyed while attached to a group */
	VIB_OR_DEALLOC_BUSY,
	VIB_OR_SEND_WRAP,		/* send queue full of WRs that nobody signalled */
	VIB_OR_LSO_BAD,
	VIB_OR_UD_TOO_LONG,
	VIB_OR_BAD_OPCODE,
	VIB_OR_GRH_MISSING,		/* multicast without a GRH */
	VIB_OR_RX_NO_BUFFER,
	VIB_OR_RX_TOO_SMALL,		/* posted buffer shorter than the packet */
	VIB_OR_AH_IN_USE,		/* AH destroyed before its sends have completed */
	VIB_OR_NR,
};

/* Operations that "failop" can make fail */
enum vib_failop {
	VIB_FAIL_ALLOC_PD,
	VIB_FAIL_CREATE_AH,
	VIB_FAIL_CREATE_CQ,
	VIB_FAIL_CREATE_QP,
	VIB_FAIL_MODIFY_QP,
	VIB_FAIL_QUERY_QP,
	VIB_FAIL_ATTACH_MCAST,
	VIB_FAIL_MODIFY_CQ,
	VIB_FAIL_MODIFY_PORT,
	VIB_FAIL_QUERY_AH,
	VIB_FAIL_GET_DMA_MR,
	VIB_FAIL_POST_SEND,
	VIB_FAIL_POST_RECV,
	VIB_FAIL_REQ_NOTIFY,
	VIB_FAIL_QUERY_PORT,
	VIB_FAIL_QUERY_PKEY,
	VIB_FAIL_QUERY_GID,
	VIB_FAIL_QUERY_DEVICE,
	VIB_FAIL_PROCESS_MAD,
	VIB_FAIL_ENABLE_DRIVER,
	VIB_FAIL_CREATE_SRQ,
	VIB_FAIL_MODIFY_SRQ,
	VIB_FAIL_QUERY_SRQ,
	VIB_FAIL_POST_SRQ_RECV,
	VIB_FAIL_RESIZE_CQ,
	VIB_FAIL_NR,
};

enum vib_comp {
	VIB_COMP_SOFTIRQ,	/* tasklet on the CPU of the poster */
	VIB_COMP_HARDIRQ,	/* irq_work: hard interrupt context */
	VIB_COMP_SPREAD,	/* tasklet on the CPU that the completion vector names */
};

enum vib_csum {
	VIB_CSUM_TRUST,		/* leave partial sums alone; who looks himself sees bad ones */
	VIB_CSUM_FULL,		/* compute at the sender, verify what the sender did not ask for */
	VIB_CSUM_LIE,		/* like trust, but claim it of every packet */
	VIB_CSUM_OFF,		/* the HCA offers no checksum offload */
};

/**
 * struct vib_knobs - what module parameters and "set dev" change at run time
 * @comp: how completion handlers are called
 * @csum: checksum offload
 * @tso: HCAs registered from now on offer segmentation offload
 * @missed: req_notify_cq() reports completions that are already there
 * @spurious: call each @spurious-th armed handler once more without a completion; 0 = never
 * @scribble: fill the GRH room of receive buffers when no GRH came
 * @rxpoison: fill receive buffers when they are posted
 * @max_sge: limit of the scatter lists that HCAs registered from now on offer
 * @srq: HCAs registered from now on have shared receive queues
 * @srq_sge: limit of the scatter lists in these
 * @rnr_grace_us: how long a receiver without a buffer is given, whatever its peer's patience
 * @timeout_shift: acknowledgments are waited for 2^@timeout_shift times shorter
 */
struct vib_knobs {
	enum vib_comp comp;
	enum vib_csum csum;
	bool tso;
	bool missed;
	unsigned int spurious;
	bool scribble;
	bool rxpoison;
	unsigned int max_sge;
	bool srq;
	unsigned int srq_sge;
	unsigned int rnr_grace_us;
	unsigned int timeout_shift;
};

/**
 * struct vib_pkt - a packet on its way, on the stack of whoever sends it
 * @src: the sending QP, NULL for packets that the fabric itself makes
 * @hdr: first @hdr_len bytes of the payload, NULL if @hdr_len is 0
 * @sge: the rest of the payload, beginning @sge_off bytes into the first element
 * @sge_off: see @sge
 * @nsge: number of elements behind @sge
 * @hdr_len: see @hdr
 * @len: bytes of payload in all
 * @dqpn: destination QP number
 * @sqpn: source QP number
 * @qkey: Q_Key in the DETH
 * @imm: immediate data, if @has_imm
 * @slid: source LID
 * @dlid: destination LID
 * @pkey: P_Key in the BTH
 * @pkey_index: where the sender's port holds @pkey
 * @sl: service level
 * @smp: management packet of QP0: travels in VL15 and through ports that are only INIT
 * @vl15: same as @smp, the lane it travels in
 * @has_grh: @grh is valid
 * @has_imm: @imm is valid
 * @solicited: the receiver's completion counts as solicited
 * @csum_ok: the sums in the payload are right, or pass for right
 * @rc: part of a reliable connection, what follows is valid and @sqpn and @qkey are not
 * @ack_req: the sender wants to hear of it
 * @op: one of IB_OPCODE_RC_SEND_* or IB_OPCODE_RC_ACKNOWLEDGE
 * @psn: packet sequence number
 * @aeth: of an acknowledgment, syndrome and message number
 * @grh: global route header
 */
struct vib_pkt {
	struct vib_qpc *src;
	const void *hdr;
	const struct ib_sge *sge;
	u32 sge_off;
	u32 nsge;
	u32 hdr_len;
	u32 len;
	u32 dqpn;
	u32 sqpn;
	u32 qkey;
	__be32 imm;
	u16 slid;
	u16 dlid;
	u16 pkey;
	u16 pkey_index;
	u8 sl;
	bool smp;
	bool vl15;
	bool has_grh;
	bool has_imm;
	bool solicited;
	bool csum_ok;
	bool rc;
	bool ack_req;
	u8 op;
	u32 psn;
	u32 aeth;
	struct ib_grh grh;
};

/* Bytes between BTH and payload of a packet of a connection, but for immediate data */
static inline u32 vib_rc_ext_len(const struct vib_pkt *pkt)
{
	return pkt->op == IB_OPCODE_RC_ACKNOWLEDGE ? VIB_AETH_LEN : 0;
}

/* A packet with a copy of its payload, on its way to a port; see vib_frame.c */
struct vib_frame {
	struct list_head entry;
	struct vib_lport *at;
	ktime_t due;
	unsigned int hops;
	struct vib_pkt pkt;
	u8 data[];
};

/* One completion in a CQ's ring */
struct vib_cqe {
	struct ib_wc wc;
	struct vib_qpc *qpc;
	u32 sq_pos;		/* send completions: queue position of the WR */
	bool send;
};

enum vib_arm {
	VIB_ARM_NONE,
	VIB_ARM_SOLICITED,
	VIB_ARM_NEXT,
};

/*
 * Completion queue
 *
 * L: @lock   I: set once
 */
struct vib_cq {
	struct ib_cq ibcq;
	struct vib_hca *hca;			/* I */
	struct vib_cqe *ring;			/* L */
	u32 mask;				/* L */
	u32 size;				/* L: what the consumer may rely on */
	u32 vector;				/* I */

	spinlock_t lock ____cacheline_aligned_in_smp;
	u32 head;				/* L: next to fill, free-running */
	u32 tail;				/* L: next to poll, free-running */
	enum vib_arm arm;			/* L */
	bool overrun;				/* L */
	bool dead;				/* L: no more calls of the handler */
	bool held;				/* L: completions wait for the timer */
	u32 fires;				/* L */
	u32 arms;				/* L */
	u32 since_fire;				/* L: completions since the last call */
	u16 mod_count;				/* L */
	u16 mod_usec;				/* L */

	struct tasklet_struct tasklet;
	struct irq_work irq_work;
	struct hrtimer timer;
	call_single_data_t csd;
	atomic_t csd_busy;
	struct work_struct ev_work;		/* reports an overrun */
	struct list_head entry;			/* hca->cqs, under hca->obj_lock */
};

/* One posted receive */
struct vib_rwqe {
	struct ib_cqe *wr_cqe;
	u32 nsge;
	u32 len;
	bool bad_key;
};

/* A ring of posted receives; who holds which lock is its owner's affair */
struct vib_rq {
	u32 head;				/* next to post, free-running */
	u32 tail;				/* next to fill, free-running */
	u32 size;
	u32 max_sge;
	u32 mask;
	struct vib_rwqe *wqe;
	struct ib_sge *sge;			/* max_sge for each of wqe */
};

/* What a QP tells its owner from process context, see vib_qp_raise(); in this order */
enum vib_qp_ev {
	VIB_QP_EV_COMM_EST,
	VIB_QP_EV_SQ_DRAINED,
	VIB_QP_EV_REQ_ERR,
	VIB_QP_EV_FATAL,
	VIB_QP_EV_LAST_WQE,
	VIB_QP_EV_NR,
};

/*
 * The part of a QP that packets and completions meet
 *
 * Lives longer than the ib_qp: packets find it under RCU.
 *
 * I: set once   S: sq_lock   R: rq_lock   B: written under both, read under either
 */
struct vib_qpc {
	struct vib_hca *hca;			/* I */
	struct ib_qp *ibqp;			/* I: dies before the qpc */
	struct vib_port *port;			/* B: NULL until INIT */
	struct vib_cq *send_cq;			/* I */
	struct vib_cq *recv_cq;			/* I */
	u32 qpn;				/* I */
	enum ib_qp_type type;			/* I */
	enum ib_qp_state state;			/* B, but SQE is entered under S alone */
	u32 qkey;				/* B */
	u16 pkey_index;				/* B */
	bool dying;				/* B: being destroyed */
	bool sig_all;				/* I */
	bool block_loop;			/* I: no multicast of its own comes back */

	/* sender */
	spinlock_t sq_lock ____cacheline_aligned_in_smp;
	u32 sq_head;				/* S: WRs taken, free-running */
	u32 sq_sig_end;				/* S: queue position behind the last signalled WR */
	enum ib_wc_status sq_error;		/* S: what the next send will end with, by order */
	u32 sq_size;				/* I */
	u32 sq_max_sge;				/* I */
	u32 sq_mask;				/* I: of sq_use */
	struct vib_ah_use **sq_use;		/* by queue position; NULL without ahcheck */

	/* receiver */
	spinlock_t rq_lock ____cacheline_aligned_in_smp;
	struct vib_rq rq;			/* R */
	bool rq_broken;				/* R: on its way into ERR */

	/* poller */
	u32 sq_tail ____cacheline_aligned_in_smp; /* written under send_cq->lock */

	refcount_t ref;
	struct rcu_head rcu;
	struct work_struct ev_work;		/* process context: errors, events */
	struct list_head entry;			/* hca->qp_list, under hca->obj_lock */
	unsigned long events;			/* enum vib_qp_ev, atomic bits */
	struct vib_rc *rc;			/* I: NULL for datagrams */
	struct vib_srq *srq;			/* I: NULL with a receive queue of its own */
	atomic_t attached;			/* multicast groups */
	atomic64_t drops;			/* packets that found no receive buffer */
	struct ib_qp_attr attr;			/* what query_qp() gives back; under S */
	struct ib_qp_init_attr init_attr;	/* I */
};

struct vib_qp {
	struct ib_qp ibqp;
	struct vib_qpc *qpc;
};

struct vib_pd {
	struct ib_pd ibpd;
};

/*
 * Shared receive queue
 *
 * L: @lock   I: set once
 */
struct vib_srq {
	struct ib_srq ibsrq;
	struct vib_hca *hca;			/* I */
	u32 num;				/* I: for people */
	spinlock_t lock;			/* the ring and what its owner is told */
	struct vib_rq rq;			/* L */
	u32 limit;				/* L: fewer than these are told; 0: none */
	bool limit_hit;				/* L: to be told */
	bool failed;				/* L: the same for an error that a test ordered */
	struct work_struct ev_work;		/* process context: tells its owner */
	struct list_head entry;			/* hca->srqs, under hca->obj_lock */
};

/* With ahcheck=1: sends that name an address handle and whose completion was not polled yet */
struct vib_ah_use {
	refcount_t ref;			/* the address handle, and each of the sends */
	atomic_t sends;
};

/* Where packets go, in the form that senders want it */
struct vib_av {
	u16 dlid;
	u8 sl;
	u8 path_bits;
	u8 sgid_index;
	bool has_grh;
	struct ib_grh grh;			/* without SGID and length */
};

/* An address handle; set once */
struct vib_ah {
	struct ib_ah ibah;
	struct rdma_ah_attr attr;
	struct vib_av av;
	struct vib_ah_use *use;			/* NULL without ahcheck */
};

/* One posted send of a reliable connection */
struct vib_swqe {
	struct ib_cqe *wr_cqe;
	__be32 imm;
	u32 len;
	u32 psn;		/* of its first packet */
	u32 npkts;
	u32 nsge;
	enum ib_wc_status error;	/* what it will end with instead of being sent */
	bool has_imm;
	bool solicited;
	bool signaled;
};

/* What came back from the responder and was not looked at yet; newer words replace older ones */
struct vib_rc_mail {
	bool acked;
	bool naked;
	u8 syndrome;		/* of the NAK */
	u32 ack_psn;
	u32 nak_psn;
};

/*
 * The part of a QP that only reliable connections have, see vib_rc.c and vib_rc_rx.c
 *
 * PSNs are 24 bits wide. Letters as for struct vib_qpc; M: mail_lock
 */
struct vib_rc {
	struct vib_qpc *qpc;			/* I */
	struct vib_av av;			/* B */
	u32 dqpn;				/* B */
	u32 pmtu;				/* B: bytes of payload in a packet */

	/* requester */
	struct vib_swqe *swqe;			/* S: by queue position */
	struct ib_sge *ssge;			/* S: sq_max_sge for each of swqe */
	u32 una;				/* S: oldest WR that is not completed */
	u32 una_psn;				/* S: oldest packet that is not acknowledged */
	u32 next;				/* S: WR to send from */
	u32 next_psn;				/* S: packet of it to send next */
	u32 sent_psn;				/* S: first packet that was never sent */
	u32 post_psn;				/* S: first packet of the next WR to be posted */
	u8 retry_left;				/* S */
	u8 rnr_left;				/* S */
	bool rnr_wait;				/* S: the receiver has no buffer; until the timer */
	bool ticking;				/* S: an acknowledgment is due at deadline */
	bool drained;				/* S: in SQD, and nothing is on its way */
	ktime_t deadline;			/* S */
	ktime_t rnr_since;			/* S: 0 if the receiver had a buffer */
	struct hrtimer timer;
	struct tasklet_struct tasklet;		/* mail came while nobody was sending */
	u64 resent;				/* S: packets */
	u64 timeouts;				/* S */
	u64 rnrs;				/* S */

	spinlock_t mail_lock;			/* leaf: the three that follow */
	struct vib_rc_mail mail;		/* M */
	bool running;				/* M: somebody sends and will look at the mail */
	bool dead;				/* M */

	/* responder */
	u32 epsn;				/* R: packet that is expected */
	u32 msn;				/* R: messages received */
	bool nak_sent;				/* R: said so, and wait for it to be sent again */
	bool rx_busy;				/* R: in the middle of a message */
	bool est_told;				/* R: of communication established */
	u32 rx_len;				/* R: bytes of the message so far */
	u32 rx_i;				/* R: where in rx_sge the next byte goes */
	u32 rx_off;				/* R */
	struct vib_rwqe rx_wqe;			/* R: the receive that the message fills */
	struct ib_sge *rx_sge;			/* R */
	u32 rnr_force;				/* R: messages to refuse by order of a test */
};

/* A QP in a multicast group of a port */
struct vib_mcm {
	struct hlist_node node;			/* port->mcast[] */
	struct rcu_head rcu;
	struct vib_qpc *qpc;			/* holds a reference */
	union ib_gid mgid;
	u16 mlid;
};

/* Why an HCA port threw a packet away */
enum vib_rx_drop {
	VIB_RXD_PORT,		/* port not ACTIVE */
	VIB_RXD_LID,		/* not our LID */
	VIB_RXD_QPN,		/* no such QP, or not ready to receive */
	VIB_RXD_PKEY,
	VIB_RXD_QKEY,
	VIB_RXD_NO_BUFFER,
	VIB_RXD_TOO_LONG,	/* longer than the posted buffer */
	VIB_RXD_GRH,		/* multicast without a GRH */
	VIB_RXD_MCAST,		/* nobody attached */
	VIB_RXD_NR,
};

/* A port of an HCA */
struct vib_port {
	struct vib_hca *hca;			/* I */
	u8 num;					/* I: 1.. */
	struct vib_qpc __rcu *mad_qp[2];	/* QP0 and QP1 */
	spinlock_t mcast_lock;			/* writers of mcast[] */
	struct hlist_head mcast[1 << VIB_MCAST_BITS];
	atomic64_t rx_drops[VIB_RXD_NR];

	/* --- below: the fabric's half of a port, owned by vib_port.c --- */
	struct vib_lport lport;
};

/* One ib_device */
struct vib_hca {
	struct ib_device ibdev;			/* first: ib_alloc_device() */
	struct platform_device *pdev;
	struct vib_node node;			/* as the subnet sees it */
	struct vib_port *ports;			/* nports of them, [0] is port 1 */
	u8 nports;
	u16 id;					/* node number in its GUIDs */
	u16 npkeys;
	u16 ngids;
	bool csum_cap;				/* I: checksum offload is offered */
	bool tso_cap;				/* I: segmentation offload is offered */
	struct xarray qps;			/* by QPN; read under RCU */
	u32 qpn_next;
	spinlock_t obj_lock;			/* the three lists */
	struct list_head qp_list;
	struct list_head cqs;
	struct list_head srqs;
	u32 srq_next;				/* number of the next one, under obj_lock */
	bool srq_cap;				/* I: shared receive queues are offered */
	spinlock_t ev_lock;			/* live */
	bool live;				/* events may be dispatched */
	bool fatal;				/* posts fail: the device was torn out */
	struct dentry *dbg;
	struct list_head entry;			/* vib_hcas, under vib_ctl_mutex */
};

/* vib_main.c: address handles count the sends that need them */
DECLARE_STATIC_KEY_FALSE(vib_ah_key);

/* vib_main.c: addresses in work requests are those of the DMA API, not the kernel's own */
DECLARE_STATIC_KEY_FALSE(vib_dma_phys_key);

static inline struct vib_hca *to_vhca(const struct ib_device *ibdev)
{
	return container_of(ibdev, struct vib_hca, ibdev);
}

static inline struct vib_cq *to_vcq(struct ib_cq *ibcq)
{
	return container_of(ibcq, struct vib_cq, ibcq);
}

static inline struct vib_srq *to_vsrq(struct ib_srq *ibsrq)
{
	return container_of(ibsrq, struct vib_srq, ibsrq);
}

static inline struct vib_qpc *to_vqpc(struct ib_qp *ibqp)
{
	return container_of(ibqp, struct vib_qp, ibqp)->qpc;
}

static inline struct vib_ah *to_vah(struct ib_ah *ibah)
{
	return container_of(ibah, struct vib_ah, ibah);
}

/* What a segment of a work request points to. With dma=phys it is an address on the bus. */
static inline void *vib_sge_ptr(const struct ib_sge *sge)
{
	if (static_branch_unlikely(&vib_dma_phys_key))
		return phys_to_virt(sge->addr);
	return (void *)(uintptr_t)sge->addr;
}

static inline u32 vib_psn_add(u32 psn, u32 n)
{
	return (psn + n) & VIB_PSN_MASK;
}

/* How far @a is ahead of @b; negative if it is behind */
static inline s32 vib_psn_diff(u32 a, u32 b)
{
	return (s32)((a - b) << 8) >> 8;
}

/* Biggest UD payload that may leave @port now, in bytes */
static inline u32 vib_port_mtu(const struct vib_port *port)
{
	return 128U << READ_ONCE(port->lport.mtu);
}

/*
 * Addresses of a packet that leaves by @lp; @headers: bytes between its GRH, if it has one, and its
 * payload, and of the invariant CRC
 */
static inline void vib_av_fill(const struct vib_av *av, const struct vib_lport *lp,
			       struct vib_pkt *pkt, u16 headers)
{
	pkt->slid = READ_ONCE(lp->lid) | (av->path_bits & ((1 << READ_ONCE(lp->lmc)) - 1));
	pkt->dlid = av->dlid;
	pkt->sl = av->sl;
	pkt->has_grh = av->has_grh;
	if (!av->has_grh)
		return;
	pkt->grh = av->grh;
	pkt->grh.paylen = cpu_to_be16(ALIGN(pkt->len, 4) + headers);
	pkt->grh.sgid.global.subnet_prefix = cpu_to_be64(READ_ONCE(lp->gid_prefix));
	pkt->grh.sgid.global.interface_id = cpu_to_be64(READ_ONCE(lp->guids[av->sgid_index]));
}

/* Port @num (1..) of @hca, NULL if there is none */
static inline struct vib_port *vib_hca_port(struct vib_hca *hca, u32 num)
{
	return num >= 1 && num <= hca->nports ? &hca->ports[num - 1] : NULL;
}

/* Locally administered GUIDs: | 0x02564942 | vmid:8 kind:4 node:12 port:8 |, host order */
enum vib_guid_kind {
	VIB_GUID_HCA = 1,
	VIB_GUID_SWITCH = 2,
	VIB_GUID_GHOST = 3,
};

/* vib_main.c: parameters, HCAs */
extern struct vib_knobs vib_knobs;
extern struct mutex vib_ctl_mutex;
extern struct list_head vib_hcas;
extern struct workqueue_struct *vib_ev_wq;	/* ordered; process context for events */
extern unsigned int vib_mtu;			/* bytes: MTUCap of ports to come */
extern unsigned int vib_rate;			/* enum ib_rate of ports to come */
u64 vib_guid(enum vib_guid_kind kind, unsigned int node, unsigned int port);
int vib_hca_add(const char *name, unsigned int nports, const char *sw_name);
int vib_hca_del(const char *name, bool fatal);
struct vib_hca *__vib_hca_find(const char *name);
int vib_switch_add(const char *name, unsigned int nports);
void vib_switch_del(struct vib_switch *sw);
void vib_hca_event(struct vib_port *port, enum ib_event_type event);

/* vib_verbs.c */
extern const struct ib_device_ops vib_dev_ops;
int vib_av_set(struct vib_hca *hca, struct vib_av *av, const struct rdma_ah_attr *attr);

/* vib_cq.c */
int vib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);
int vib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
int vib_poll_cq(struct ib_cq *ibcq, int n, struct ib_wc *wc);
int vib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
int vib_modify_cq(struct ib_cq *ibcq, u16 count, u16 period);
int vib_resize_cq(struct ib_cq *ibcq, int cqe, struct ib_udata *udata);
struct vib_cqe *__vib_cq_reserve(struct vib_cq *cq);
void __vib_cq_commit(struct vib_cq *cq, bool solicited);
void vib_cq_hold(struct vib_cq *cq, unsigned int ms);
void vib_cq_purge(struct vib_cq *cq, const struct vib_qpc *qpc);
void vib_cqs_show(struct vib_hca *hca, struct seq_file *s);

/* vib_qp.c */
int vib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *init, struct ib_udata *udata);
int vib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int vib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);
int vib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
int vib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr);
int vib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr);
void vib_ah_use_put(struct vib_ah_use *use);
void __vib_qp_sends_polled(struct vib_qpc *qpc, u32 from, u32 to);
int vib_qp_harm(struct vib_hca *hca, u32 qpn, enum ib_wc_status status, unsigned int hold_ms);
void vib_qpc_put(struct vib_qpc *qpc);
void vib_qpc_to_err(struct vib_qpc *qpc);
void __vib_qpc_to_err(struct vib_qpc *qpc);
void __vib_qpc_break(struct vib_qpc *qpc);
void vib_qp_raise(struct vib_qpc *qpc, enum vib_qp_ev ev);
void vib_qp_push_flush(struct vib_qpc *qpc, struct vib_cq *cq, struct ib_cqe *wr_cqe, bool send,
		       u32 sq_pos);
void __vib_qp_send_done(struct vib_qpc *qpc, struct ib_cqe *wr_cqe, enum ib_wc_opcode opcode,
			enum ib_wc_status status, u32 pos);
int vib_qp_do(struct vib_hca *hca, u32 qpn, int (*fn)(struct vib_qpc *qpc, u32 val), u32 val);
struct vib_qpc *vib_qpc_find(struct vib_port *port, u32 qpn);
void vib_qps_show(struct vib_hca *hca, struct seq_file *s);

/* vib_ud.c: called under the sender's sq_lock, interrupts off, in an RCU read section */
enum ib_wc_status vib_ud_send(struct vib_qpc *qpc, const struct ib_send_wr *wr);
void vib_ud_deliver(struct vib_port *port, struct vib_pkt *pkt);
void vib_ud_rx(struct vib_port *port, struct vib_qpc *qpc, struct vib_pkt *pkt);
u32 vib_pkt_copy(const struct vib_pkt *pkt, void *buf, u32 off, u32 len);
bool vib_sge_ok(const struct ib_sge *sge);
enum ib_wc_status vib_send_list(const struct ib_send_wr *wr, u32 *len);
void vib_rx_drop(struct vib_port *port, enum vib_rx_drop why);
bool vib_pkey_match(u16 mine, u16 theirs);

/* vib_rq.c: rings of receives, and those that QPs share */
int vib_rq_alloc(struct vib_rq *rq, u32 size, u32 max_sge);
void vib_rq_free(struct vib_rq *rq);
int __vib_rq_post(struct vib_rq *rq, const struct ib_recv_wr *wr);
bool __vib_rq_take(struct vib_rq *rq, struct vib_rwqe *wqe, struct ib_sge *sge);
int vib_create_srq(struct ib_srq *ibsrq, struct ib_srq_init_attr *init, struct ib_udata *udata);
int vib_modify_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr, enum ib_srq_attr_mask mask,
		   struct ib_udata *udata);
int vib_query_srq(struct ib_srq *ibsrq, struct ib_srq_attr *attr);
int vib_destroy_srq(struct ib_srq *ibsrq, struct ib_udata *udata);
int vib_post_srq_recv(struct ib_srq *ibsrq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad_wr);
bool vib_srq_take(struct vib_srq *srq, struct vib_rwqe *wqe, struct ib_sge *sge);
int vib_srq_fail(struct vib_hca *hca, u32 num);
void vib_srqs_show(struct vib_hca *hca, struct seq_file *s);

/* vib_rc.c: the sending half of a reliable connection; __ wants sq_lock */
int vib_rc_alloc(struct vib_qpc *qpc);
void vib_rc_free(struct vib_rc *rc);
void vib_rc_stop(struct vib_rc *rc);
int __vib_rc_check_attr(const struct vib_qpc *qpc, const struct ib_qp_attr *attr, int mask);
void __vib_rc_apply(struct vib_qpc *qpc, const struct ib_qp_attr *attr, int mask);
void __vib_rc_reset(struct vib_qpc *qpc);
void __vib_rc_flush(struct vib_qpc *qpc);
void __vib_rc_post(struct vib_qpc *qpc, const struct ib_send_wr *wr, u32 pos);
void __vib_rc_run(struct vib_qpc *qpc);
void __vib_rc_fill(const struct vib_qpc *qpc, struct vib_pkt *pkt);
void vib_rc_mail(struct vib_rc *rc, const struct vib_pkt *pkt);
void vib_rc_show(const struct vib_qpc *qpc, struct seq_file *s);

/* vib_rc_rx.c: the receiving half */
void vib_rc_rx(struct vib_port *port, struct vib_qpc *qpc, const struct vib_pkt *pkt);

/* vib_lso.c */
enum ib_wc_status vib_lso_send(struct vib_qpc *qpc, const struct ib_ud_wr *wr,
			       struct vib_pkt *pkt);
void vib_csum_finish(struct vib_pkt *pkt, void *buf, bool wanted);
void vib_csum_fill(void *payload, u32 len);

/* vib_mcast.c */
int vib_attach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
int vib_detach_mcast(struct ib_qp *ibqp, union ib_gid *gid, u16 lid);
void vib_mcast_detach_all(struct vib_qpc *qpc);
void vib_mcast_deliver(struct vib_port *port, struct vib_pkt *pkt);
void vib_mcast_show(struct vib_port *port, struct seq_file *s);

/* vib_ctl.c: debugfs and the commands written to it */
extern struct dentry *vib_dbg_root;
int vib_ctl_init(void);
void vib_ctl_stop(void);
void vib_ctl_exit(void);

/* vib_stat.c: counts, oracles, faults on demand, cost of the fabric, and files that show them */
struct vib_count {
	atomic_t live;
	atomic_t high;
};

/* Time spent inside post_send on one CPU */
struct vib_cost {
	u64 ns;
	u64 calls;
	u64 wrs;
};

extern struct vib_count vib_objs[VIB_OBJ_NR];
extern atomic64_t vib_oracles[VIB_OR_NR];
DECLARE_STATIC_KEY_FALSE(vib_cost_key);
DECLARE_STATIC_KEY_FALSE(vib_fail_key);
DECLARE_PER_CPU(struct vib_cost, vib_cost);
void vib_stat_init(struct dentry *root);
void vib_stat_hca_add(struct vib_hca *hca);
void vib_stat_hca_del(struct vib_hca *hca);
void vib_cost_switch(bool on);
int vib_fail_set(const char *op, unsigned int nth, unsigned int count, int error,
		 const char *comm);
void vib_fail_clear(void);
int __vib_fail(enum vib_failop op);
void vib_obj_add(enum vib_obj kind);
void vib_oracle(enum vib_oracle which);

static inline void vib_obj_del(enum vib_obj kind)
{
	atomic_dec(&vib_objs[kind].live);
}

/* The error that a test ordered for this call of @op, or 0 */
static inline int vib_fail(enum vib_failop op)
{
	return static_branch_unlikely(&vib_fail_key) ? __vib_fail(op) : 0;
}

#endif /* VIB_H */
