/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The fabric half of vib: link ports, cables, switches and their management.
 *
 * A "link port" is one end of a cable. HCA ports embed one, a switch owns one for each of its ports
 * and one more for its management port 0. Everything that the subnet manager can read or write in
 * PortInfo, P_KeyTable, GUIDInfo and the like lives in the link port, whatever node it belongs to.
 * A "node" groups the link ports of one HCA or one switch and is what shows up in the topology.
 *
 * Locks, outer to inner:
 *
 *	vib_topo_mutex		node list, cabling, switch life (process context)
 *	vib_link_lock		peer pointers and the up/down decision that spans both ends
 *	lport->lock		leaf: all writable values of one link port
 *	sw->lock		leaf: SwitchInfo values and the forwarding tables' writers
 *	trapq->lock		leaf: pending notices of one port
 *
 * All but the mutex are taken with interrupts off, because the senders of packets may hold any lock
 * of theirs. Packets take none of them: they run under RCU and read single words of the tables.
 * Link ports and switches are freed one grace period after they were unplugged.
 */
#ifndef VIB_FABRIC_H
#define VIB_FABRIC_H

#include <linux/atomic.h>
#include <linux/jump_label.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>
#include <rdma/ib_mad.h>
#include <rdma/ib_smi.h>
#include <rdma/ib_verbs.h>

struct dentry;
struct seq_file;
struct vib_fault;
struct vib_frame;
struct vib_ghosts;
struct vib_hca;
struct vib_lport;
struct vib_pkt;
struct vib_port;
struct vib_sa;
struct vib_switch;
struct vib_wire;

#define VIB_LID_MCAST		0xc000		/* first multicast LID */
#define VIB_LID_PERMISSIVE	0xffff
#define VIB_LFT_SIZE		VIB_LID_MCAST	/* entries of the linear forwarding table */
#define VIB_LFT_NONE		0xff		/* entry without a route */
#define VIB_LFT_BLOCK		64
#define VIB_MFT_SIZE		1024		/* multicast LIDs that a switch can route */
#define VIB_MFT_BLOCK		32
#define VIB_MFT_PORTS		16		/* ports that one mask covers */
#define VIB_SWITCH_PORTS_MAX	64
#define VIB_PKEYS_MAX		1024
#define VIB_PKEY_BLOCK		32
#define VIB_GUIDS_MAX		128
#define VIB_GUID_BLOCK		8
#define VIB_NODE_NAME		16
#define VIB_TTL			8		/* switches that a packet may cross */
#define VIB_COPIES_MAX		1024		/* cables that one multicast packet may cross */
#define VIB_SM_LID		1		/* of a manager that nobody gave another one */
#define VIB_SM_PREFIX		0xfe80000000000000ULL
#define VIB_MAD_SIZE		IB_MGMT_MAD_SIZE
#define VIB_OUI			0x025649	/* locally administered */

/* Error counters as PortCounters reports them */
enum vib_err {
	VIB_ERR_SYMBOL,
	VIB_ERR_LINK_RECOVERY,
	VIB_ERR_LINK_DOWNED,
	VIB_ERR_RCV,
	VIB_ERR_RCV_REMPHYS,
	VIB_ERR_RCV_RELAY,
	VIB_ERR_XMIT_DISCARD,
	VIB_ERR_XMIT_CONSTRAINT,
	VIB_ERR_RCV_CONSTRAINT,
	VIB_ERR_LOCAL_INTEGRITY,
	VIB_ERR_OVERRUN,
	VIB_ERR_VL15_DROPPED,
	VIB_ERR_NR,
};

/* Why the fabric threw something away; shown by vib_topo_show() */
enum vib_drop {
	VIB_DROP_LINK,		/* no cable, or a port of it is not far enough up */
	VIB_DROP_LID,		/* destination LID makes no sense here */
	VIB_DROP_ROUTE,		/* forwarding table leads nowhere */
	VIB_DROP_PKEY,		/* switch port refuses the P_Key */
	VIB_DROP_MTU,		/* longer than what the cable carries */
	VIB_DROP_HOPS,		/* too many switches or copies: a loop */
	VIB_DROP_SMP_SIZE,	/* SMP or GMP is not 256 bytes long */
	VIB_DROP_SMP_FORM,	/* wrong class, version or method for this place */
	VIB_DROP_SMP_PATH,	/* directed route leads nowhere or is inconsistent */
	VIB_DROP_MKEY,		/* M_Key check */
	VIB_DROP_GSI,		/* QP1 packet that a switch cannot take */
	VIB_DROP_FAULT,		/* a test ordered it, see vib_fault.c */
	VIB_DROP_NR,
};

/* Traffic of one port; [0] unicast, [1] multicast */
struct vib_traffic {
	u64 tx_words;
	u64 rx_words;
	u64 tx_pkts[2];
	u64 rx_pkts[2];
};

/* The two fault stages of a port */
enum vib_fault_dir {
	VIB_FAULT_IN,
	VIB_FAULT_OUT,
	VIB_FAULT_DIRS,
};

/* What kind of packets a rule of a fault stage is about */
enum vib_class {
	VIB_CLASS_ANY,
	VIB_CLASS_SMP,		/* QP0 */
	VIB_CLASS_GMP,		/* QP1 */
	VIB_CLASS_SA,
	VIB_CLASS_CM,
	VIB_CLASS_PMA,
	VIB_CLASS_DATA,		/* neither QP0 nor QP1 */
	VIB_CLASS_UCAST,	/* the same, to a unicast LID */
	VIB_CLASS_MCAST,
	VIB_CLASS_ARP,
	VIB_CLASS_IP4,
	VIB_CLASS_IP6,
	VIB_CLASS_ND,		/* IPv6 neighbour and router discovery */
	VIB_CLASS_UD,		/* datagrams between neither QP0 nor QP1 */
	VIB_CLASS_RC,		/* connections */
	VIB_CLASS_RC_DATA,	/* their messages */
	VIB_CLASS_RC_ACK,	/* their acknowledgments, good and bad */
};

/* What happens to a packet that a rule hits */
enum vib_act {
	VIB_ACT_DROP,
	VIB_ACT_CRC,		/* lost, and counted as damaged where it arrives */
	VIB_ACT_DUP,
	VIB_ACT_FLIP,		/* one bit of the payload */
	VIB_ACT_CUT,		/* to len bytes */
	VIB_ACT_DELAY,
	VIB_ACT_HOLD,		/* until some more that match have passed */
};

/* A rule as it is ordered; -1 stands for any */
struct vib_rule_spec {
	enum vib_class class;
	enum vib_act act;
	int slid, dlid, qpn;
	int method, attr;	/* of a management datagram */
	u32 ppm;		/* how many of a million matching packets are hit */
	u32 skip;		/* matching packets that pass before */
	u32 count;		/* packets to hit, 0 for no limit */
	u32 seed;
	u32 us, jitter;		/* delay */
	u32 after;		/* hold: packets that overtake */
	u32 len;		/* cut */
	u32 status;		/* refuse, by the manager's database only */
	u32 lid;		/* lid, by the same */
};

/* Kinds of notices; each has at most one outstanding per port */
enum vib_trap_kind {
	VIB_TRAP_LINK_STATE,	/* 128 */
	VIB_TRAP_INTEGRITY,	/* 129 */
	VIB_TRAP_OVERRUN,	/* 130 */
	VIB_TRAP_WATCHDOG,	/* 131 */
	VIB_TRAP_LOCAL_CHANGE,	/* 144 */
	VIB_TRAP_MKEY,		/* 256 */
	VIB_TRAP_PKEY,		/* 257 */
	VIB_TRAP_QKEY,		/* 258 */
	VIB_TRAP_SW_PKEY,	/* 259 */
	VIB_TRAP_NR,
};

/* One pending notice; all fields under trapq->lock */
struct vib_trap {
	u8 notice[IB_SMP_DATA_SIZE];
	u64 tid;
	unsigned long due;	/* jiffies of the next transmission */
	unsigned long raised;	/* jiffies of the last accepted report */
	bool ever;		/* raised is valid */
	bool pending;
	u8 tries;
};

/* The notices of one port and the work that repeats them until they are repressed */
struct vib_trapq {
	spinlock_t lock;	/* everything below but the work */
	struct delayed_work work;
	struct vib_trap slot[VIB_TRAP_NR];
	u32 next_tid;
	u32 sent;
	u32 repressed;
	u32 given_up;
	bool dead;
};

/*
 * One end of a cable.
 *
 * I: set once   R: RCU, written under vib_link_lock   K: vib_link_lock   L: lock for writers,
 * single words are also read without it by packets
 */
struct vib_lport {
	/* read by each packet */
	struct vib_lport __rcu *peer;		/* R */
	struct vib_ghosts __rcu *ghosts;	/* R: at a switch, instead of a peer */
	struct vib_switch *sw;			/* I: NULL at an HCA */
	struct vib_port *port;			/* I: NULL at a switch */
	struct vib_wire *wire;			/* I: set if the port stands for one elsewhere */
	struct vib_traffic __percpu *traffic;	/* I */
	struct vib_fault __rcu *fault[VIB_FAULT_DIRS]; /* R: written under vib_ctl_mutex */
	u8 num;					/* I: port number on its node */
	u8 state;				/* L: enum ib_port_state */
	u8 lmc;					/* L */
	bool enforce_in;			/* L: P_Key check of arriving packets (switch) */
	bool enforce_out;			/* L: the same for leaving ones */
	u16 lid;				/* L */
	u16 npkeys;				/* I */
	u16 pkeys[VIB_PKEYS_MAX];		/* L */

	/* the link */
	spinlock_t lock;
	struct vib_node *node;			/* I */
	bool plugged;				/* K: the cable sits in this end */
	bool enabled;				/* K: not disabled by management */
	u8 phys_state;				/* L: enum ib_port_phys_state */
	u8 width_sup, width_en, width_act;	/* L: ib_port_width bits */
	u8 speed_sup, speed_en, speed_act;	/* L: ib_port_speed bits, SDR to QDR */
	u8 width_told;				/* L: query_port tells this instead, 0: width_act */
	u16 speed_told;				/* L: the same for speed_act */
	u8 mtu_cap, mtu;			/* L: enum ib_mtu */
	u8 vl_cap, op_vls;			/* L */
	u8 filter_raw;				/* L: FilterRaw bits, stored only */
	u8 link_down_default;			/* L */
	u8 vl_high_limit, vlstall_hoq;		/* L: stored only */
	u8 err_thresholds;			/* L: stored only */
	u8 led;					/* L: stored only */
	bool framed;				/* frame_lock: a frame was ever sent to it */
	u8 vlarb[2][IB_SMP_DATA_SIZE];		/* L: low and high priority table */
	u8 sl2vl[8];				/* L: of HCA ports; switches keep theirs */

	/* what makes the port addressable: HCA ports and switch port 0 */
	u64 gid_prefix;				/* L: host order */
	u64 guids[VIB_GUIDS_MAX];		/* L: host order; [0] is the port GUID */
	u16 nguids;				/* I */
	u16 sm_lid;				/* L */
	u8 sm_sl;				/* L */
	u8 subnet_timeout;			/* L */
	u8 init_type;				/* L */
	u32 cap_mask;				/* L */
	u64 mkey;				/* L: host order */
	u16 mkey_lease;				/* L: seconds */
	u8 mkey_prot;				/* L */
	bool lease_running;			/* L */
	unsigned long lease_end;		/* L: jiffies */
	u16 mkey_violations;			/* L */
	u16 pkey_violations;			/* L */
	u16 qkey_violations;			/* L */

	/* counters */
	atomic64_t err[VIB_ERR_NR];
	struct vib_traffic base;		/* L: traffic when PortCounters was reset */
	struct vib_traffic base_ext;		/* L: the same for PortCountersExtended */
	struct vib_trapq traps;
};

/* An HCA or a switch as the subnet sees it, or the far end of a wire, which it does not see */
struct vib_node {
	struct list_head entry;		/* vib_topo_mutex */
	char name[VIB_NODE_NAME];	/* I */
	char *desc;			/* I: 64 bytes, owned by the creator */
	u64 guid;			/* I: host order */
	u64 sys_guid;			/* I: host order */
	struct vib_hca *hca;		/* I: NULL for anything else */
	struct vib_switch *sw;		/* I: NULL for anything else */
	struct vib_lport **ports;	/* I: index is the port number; [0] is NULL for an HCA */
	u8 nports;			/* I: without port 0 */
	atomic64_t drops[VIB_DROP_NR];
};

/* A switch: forwarding tables, their owner the SM, and the link ports */
struct vib_switch {
	struct vib_node node;
	char desc[IB_DEVICE_NODE_DESC_MAX];
	struct vib_lport *lport;	/* I: nports + 1 of them, [0] is the management port */
	u8 *lft;			/* VIB_LFT_SIZE bytes, written under lock */
	u16 *mft;			/* [MLID][position], written under lock */
	u8 *sl2vl;			/* [in][out][8], under lock, stored only */
	spinlock_t lock;		/* what follows, and the tables' writers */
	struct vib_sa __rcu *sa;	/* manager at port 0; written under vib_ctl_mutex */
	u8 up;				/* vib_sm.c: port towards the manager's switch */
	u8 mft_pos;			/* I: masks per multicast LID */
	u8 life_time;
	u8 def_port;
	u8 def_mcast_primary;
	u8 def_mcast_other;
	bool state_change;
	u16 lft_top;
	u16 mft_top;
};

/* How a packet is carried through the fabric; lives on the sender's stack */
struct vib_walk {
	struct vib_pkt *pkt;
	u32 words;		/* length on the wire in units of four bytes */
	u32 copies;		/* cables that it may still cross */
	bool mcast;
};

/* What the management of a node makes of a MAD */
enum vib_mad_verdict {
	VIB_MAD_REPLY,		/* answered in place */
	VIB_MAD_CONSUMED,	/* taken, nothing to answer */
	VIB_MAD_PASS,		/* not ours: for the agents above */
	VIB_MAD_DROP,		/* refused without an answer */
};

static inline bool vib_lport_is_switch(const struct vib_lport *lp)
{
	return lp->sw;
}

/* Has this port a LID and keys of its own? All but the external ports of a switch do. */
static inline bool vib_lport_is_endport(const struct vib_lport *lp)
{
	return !lp->sw || !lp->num;
}

static inline void vib_lport_drop(struct vib_lport *lp, enum vib_drop why)
{
	atomic64_inc(&lp->node->drops[why]);
}

/* vib_port.c: nodes, link ports and their setters */
extern struct mutex vib_topo_mutex;
extern struct list_head vib_nodes;	/* vib_topo_mutex */

int vib_node_init(struct vib_node *node, const char *name, char *desc, u8 nports, u64 guid,
		  u64 sys_guid);
void vib_node_fini(struct vib_node *node);
struct vib_lport *vib_node_port(const struct vib_node *node, unsigned int num);
struct vib_lport *vib_lport_find(const char *name, unsigned int num);
int vib_lport_init(struct vib_lport *lp, struct vib_node *node, u8 num, u64 guid);
void vib_lport_fini(struct vib_lport *lp);

int vib_port_init(struct vib_hca *hca, int n);
void vib_port_fini(struct vib_hca *hca, int n);
void vib_port_query(struct vib_port *port, struct ib_port_attr *attr);
int vib_port_get_gid(struct vib_port *port, unsigned int idx, union ib_gid *gid);
int vib_port_get_pkey(struct vib_port *port, unsigned int idx, u16 *pkey);
int vib_port_modify(struct vib_port *port, u32 set, u32 clear);
void vib_port_pkey_violation(struct vib_port *port, const struct vib_pkt *pkt);
void vib_port_qkey_violation(struct vib_port *port, const struct vib_pkt *pkt);

int vib_port_set_pkey(struct vib_port *port, unsigned int idx, u16 pkey);
int vib_port_set_lid(struct vib_port *port, u16 lid);
int vib_port_set_sm_lid(struct vib_port *port, u16 lid);
int vib_port_set_prefix(struct vib_port *port, u64 prefix);
int vib_port_set_guid(struct vib_port *port, unsigned int idx, u64 guid);
void vib_port_set_rate(struct vib_port *port, u8 width, u16 speed);
int vib_port_set_state(struct vib_port *port, enum ib_port_state state);
void vib_port_rereg(struct vib_port *port);

int vib_lport_find_pkey(const struct vib_lport *lp, u16 pkey);
bool vib_lport_set_pkeys(struct vib_lport *lp, unsigned int first, const u16 *pkeys,
			 unsigned int n);
bool vib_lport_set_guids(struct vib_lport *lp, unsigned int first, const u64 *guids,
			 unsigned int n);
void vib_lport_raise(struct vib_lport *lp, u32 events);
u32 __vib_lport_set_addr(struct vib_lport *lp, u64 prefix, u16 lid, u8 lmc, u16 sm_lid, u8 sm_sl);

/* vib_walk.c: packets on their way, and the counters of ports */
void vib_lport_err(struct vib_lport *lp, enum vib_err err);
void vib_lport_count_tx(struct vib_lport *lp, const struct vib_walk *walk);
void vib_lport_count_rx(struct vib_lport *lp, const struct vib_walk *walk);
void vib_walk_init(struct vib_walk *walk, struct vib_pkt *pkt);
void vib_walk_out(struct vib_walk *walk, struct vib_lport *out, int ttl);
void vib_walk_arrive(struct vib_lport *in, struct vib_pkt *pkt, int ttl);
void vib_port_xmit(struct vib_port *port, struct vib_pkt *pkt);

/* vib_frame.c: stored packets */
struct vib_frame *vib_frame_alloc(const struct vib_pkt *pkt, u32 room);
void vib_frame_resize(struct vib_frame *frame, u32 len);
void vib_frame_send(struct vib_frame *frame, struct vib_lport *at, unsigned int hops, u64 delay);
void vib_frames_drop(struct vib_lport *at);
unsigned int vib_frames_stat(u64 *lost);
void vib_frames_init(void);
void vib_frames_exit(void);

/* vib_fault.c: packets that come to harm on a cable */
DECLARE_STATIC_KEY_FALSE(vib_fault_key);
int vib_fault_names(struct vib_rule_spec *spec, const char *class, const char *act);
int vib_fault_add(struct vib_lport *lp, enum vib_fault_dir dir, const struct vib_rule_spec *spec);
void vib_fault_clear(struct vib_lport *lp);
int vib_faults_show(struct seq_file *s, void *unused);
bool __vib_fault_cross(struct vib_lport *out, struct vib_lport *in, const struct vib_pkt *pkt,
		       unsigned int hops);

/* Does a packet on this cable come to harm? If so it is not the caller's business any more. */
static inline bool vib_fault_cross(struct vib_lport *out, struct vib_lport *in,
				   const struct vib_pkt *pkt, unsigned int hops)
{
	return static_branch_unlikely(&vib_fault_key) && __vib_fault_cross(out, in, pkt, hops);
}

/* vib_link.c: cables and the states of their ends */
int vib_cable(struct vib_lport *a, struct vib_lport *b);
int vib_uncable(struct vib_lport *lp);
void vib_lport_link(struct vib_lport *lp, bool up);
void vib_port_link(struct vib_port *port, bool up);
u16 __vib_lport_check_state(const struct vib_lport *lp, u8 state);
u32 __vib_lport_move(struct vib_lport *lp, u8 state);
void vib_lport_retrain(struct vib_lport *lp);
void vib_lport_enable(struct vib_lport *lp, bool on);

/* vib_wire.c: cables to other machines */
int vib_wire_add(struct vib_lport *near, const char *name, unsigned int timeout_ms);
int vib_wire_del(const struct vib_lport *near, const char *name);
void vib_wire_xmit(struct vib_lport *far, const struct vib_pkt *pkt, unsigned int hops);
void vib_wire_news(struct vib_lport *far, bool fell);
int vib_wires_show(struct seq_file *s, void *unused);
int vib_wire_init(void);
void vib_wire_exit(void);

/* vib_pack.c: packets as bytes */
#define VIB_PACK_PAYLOAD_MAX	4096
#define VIB_PACK_MAX		(8 + 40 + 12 + 8 + 4 + VIB_PACK_PAYLOAD_MAX)
u32 vib_pack_len(const struct vib_pkt *pkt);
void vib_pack(const struct vib_pkt *pkt, u8 *buf);
bool vib_unpack(struct vib_pkt *pkt, const u8 *buf, u32 len);

/* vib_capture.c */
#define VIB_CAPTURE_KB_MAX	65536
DECLARE_STATIC_KEY_FALSE(vib_capture_key);
int vib_capture_start(const struct vib_lport *lp, unsigned int kb);
void vib_capture_stop(bool clear);
void vib_capture_forget(const struct vib_lport *lp);
void vib_capture_init(struct dentry *root);
void __vib_capture(const struct vib_lport *out, const struct vib_lport *in,
		   const struct vib_pkt *pkt);

/* A packet goes from one port to another: does somebody want to see it? */
static inline void vib_capture(const struct vib_lport *out, const struct vib_lport *in,
			       const struct vib_pkt *pkt)
{
	if (static_branch_unlikely(&vib_capture_key))
		__vib_capture(out, in, pkt);
}

/* vib_switch.c */
struct vib_switch *vib_switch_create(const char *name, unsigned int nports, u64 guid);
void vib_switch_destroy(struct vib_switch *sw);
struct vib_switch *vib_switch_find(const char *name);
struct vib_lport *vib_switch_port(struct vib_switch *sw, unsigned int num);
int vib_switch_link(struct vib_switch *sw, unsigned int num, bool up);
void vib_switch_rx(struct vib_walk *walk, struct vib_lport *in, int ttl);
struct vib_lport *vib_switch_route(struct vib_switch *sw, u16 dlid);
void vib_switch_link_changed(struct vib_switch *sw);
int vib_topo_show(struct seq_file *s, void *unused);
int vib_lft_show(struct seq_file *s, void *unused);
int vib_mft_show(struct seq_file *s, void *unused);

/* vib_smi.c */
void vib_smi_xmit(struct vib_lport *from, const struct vib_pkt *pkt);
void vib_smi_arrive(struct vib_lport *in, const struct vib_pkt *pkt, unsigned int hops);
void vib_smi_inject(struct vib_lport *from, struct ib_smp *smp, u16 dlid, u8 sl);
void vib_pkt_from_mad(struct vib_pkt *pkt, void *mad, u16 slid, u16 dlid, u8 sl);
int vib_process_mad(struct ib_device *ibdev, int flags, u32 port_num, const struct ib_wc *in_wc,
		    const struct ib_grh *in_grh, const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_mad_size, u16 *out_mad_pkey_index);

/* vib_sma.c */
enum vib_mad_verdict vib_sma_handle(struct vib_lport *in, struct ib_smp *smp, u16 slid,
				    bool ignore_mkey);

/* vib_pma.c */
enum vib_mad_verdict vib_pma_handle(struct vib_lport *in, struct ib_mad *mad);
void vib_lport_traffic(const struct vib_lport *lp, struct vib_traffic *sum);

/* vib_trap.c */
void vib_trapq_init(struct vib_lport *lp);
void vib_trapq_stop(struct vib_lport *lp);
void vib_trap_repress(struct vib_lport *lp, const struct ib_smp *smp);
void vib_trap_link_state(struct vib_switch *sw);
int vib_trap_link_error(struct vib_lport *lp, enum vib_trap_kind kind);
void vib_trap_cap_mask(struct vib_lport *lp);
void vib_trap_node_desc(struct vib_hca *hca);
void vib_trap_mkey(struct vib_lport *lp, const struct ib_smp *smp, u16 slid);
void vib_trap_key(struct vib_lport *lp, enum vib_trap_kind kind, const struct vib_pkt *pkt);
void vib_trap_sw_pkey(struct vib_lport *lp, const struct vib_pkt *pkt);

/* vib_sm.c: a subnet manager of the fabric's own */
int vib_sm_add(struct vib_switch *sw, u16 lid, u64 prefix);
int vib_sm_del(struct vib_switch *sw);
int vib_sm_sweep(struct vib_switch *sw);
int vib_sm_rereg(struct vib_switch *sw);
void vib_sm_kick(void);
void vib_sm_settle(void);

/* vib_sa.c: what it answers */
bool vib_sa_rx(struct vib_switch *sw, const struct vib_pkt *pkt);
bool vib_sa_trap(struct vib_switch *sw, struct ib_smp *smp);
int vib_sa_rule(struct vib_switch *sw, const char *act, const struct vib_rule_spec *like);
void vib_sa_rules_clear(struct vib_sa *sa);
int vib_sa_set(struct vib_switch *sw, const char *key, u32 val);
int vib_sa_group(struct vib_switch *sw, u16 pkey, const u32 *qkey, u8 mtu, u8 rate, u8 sl,
		 u8 scope);
int vib_sa_show(struct seq_file *s, void *unused);
int vib_sa_groups_show(struct seq_file *s, void *unused);

/* vib_ghost.c: peers that are not there */
int vib_ghosts_add(struct vib_lport *at, u32 base, u32 n, const char *mode, const char *ip);
int vib_ghosts_del(struct vib_lport *at);
void vib_ghosts_rx(struct vib_ghosts *ghosts, const struct vib_pkt *pkt);
u16 vib_ghost_lid(u64 guid);
u16 vib_ghosts_base(const struct vib_ghosts *ghosts, u32 *n);
void vib_ghosts_each(void (*fn)(void *data, u16 lid), void *data);
int vib_ghosts_show(struct seq_file *s, void *unused);

#endif /* VIB_FABRIC_H */
