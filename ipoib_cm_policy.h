/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decisions of connected mode (RFC 4755) as pure functions: what goes over the
 * wire at set-up, which state of a connection follows which, which way a packet
 * takes, how long to leave a peer alone.
 *
 * Pure code: values in (the time too), values out.  The same source is built
 * into the module, into the user-space unit tests and into KUnit.
 */
#ifndef _IPOIB_CM_POLICY_H
#define _IPOIB_CM_POLICY_H

#include <linux/bits.h>
#include <linux/types.h>

/* flag octet of a link-layer address: connections of type RC are accepted */
#define IPOIB_CM_FLAG_RC	0x80

/* first octet of the service ID: what Linux uses, and what the RFC says */
#define IPOIB_CM_SID_LINUX	0x1000000000000000ull
#define IPOIB_CM_SID_IETF	0x0100000000000000ull

#define IPOIB_CM_DATA_LEN	8	/* private data in REQ and REP */
#define IPOIB_CM_MTU_MAX	65520	/* IP MTU */
#define IPOIB_CM_HOLD_MAX	64	/* seconds */
#define IPOIB_CM_REJ_BAD_SID	8	/* reason in a REJ: invalid service ID */

/**
 * enum ipoib_conn_state - life of a connection
 * @IPOIB_CONN_NEW: wanted; the path may not be known yet
 * @IPOIB_CONN_REQ_SENT: asked for, no answer yet
 * @IPOIB_CONN_LIVE: carries packets
 * @IPOIB_CONN_CLOSING: takes no more packets, those on their way may finish
 * @IPOIB_CONN_FLUSHING: its queue pair is in error and gives all work back
 * @IPOIB_CONN_HELD: refused, silent or broken; not asked for again for a while
 * @IPOIB_CONN_DEAD: nothing is left but the memory
 * @IPOIB_NR_CONN_STATES: number of states
 */
enum ipoib_conn_state {
	IPOIB_CONN_NEW,
	IPOIB_CONN_REQ_SENT,
	IPOIB_CONN_LIVE,
	IPOIB_CONN_CLOSING,
	IPOIB_CONN_FLUSHING,
	IPOIB_CONN_HELD,
	IPOIB_CONN_DEAD,
	IPOIB_NR_CONN_STATES
};

/**
 * enum ipoib_cm_route - which way a unicast packet takes
 * @IPOIB_CM_BY_UD: over the UD queue pair
 * @IPOIB_CM_BY_RC: over the connection
 * @IPOIB_CM_WAITS: until the connection is there
 * @IPOIB_CM_TOO_BIG: back to its sender, who has to make it smaller
 */
enum ipoib_cm_route {
	IPOIB_CM_BY_UD,
	IPOIB_CM_BY_RC,
	IPOIB_CM_WAITS,
	IPOIB_CM_TOO_BIG,
};

u64 ipoib_cm_service_id(u64 base, u32 qpn);
u64 ipoib_cm_next_base(u64 base, u32 reason);
void ipoib_cm_data_build(u8 *data, u32 qpn, u32 size);
int ipoib_cm_data_parse(const u8 *data, u32 *qpn, u32 *size);
u32 ipoib_cm_receive_size(u32 pieces, u32 piece);
bool ipoib_conn_may_move(enum ipoib_conn_state from, enum ipoib_conn_state to);
const char *ipoib_conn_state_name(enum ipoib_conn_state state);
enum ipoib_cm_route ipoib_cm_route(enum ipoib_conn_state state, u32 len,
				   u32 ud_max, u32 rc_max, bool patient);
u32 ipoib_cm_hold(u32 last);

#endif /* _IPOIB_CM_POLICY_H */
