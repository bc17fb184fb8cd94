// SPDX-License-Identifier: GPL-2.0
/*
 * Decisions of connected mode: see ipoib_cm_policy.h.  No function here touches
 * anything but its arguments.
 */
#include "ipoib_cm_policy.h"

#include <linux/errno.h>

#include "ipoib_addr.h"
#include "ipoib_hdr.h"

#define TO(state)	((u32)BIT(state))

/* row: where we are; bits: where we may go */
static const u32 conn_moves[IPOIB_NR_CONN_STATES] = {
	[IPOIB_CONN_NEW] = TO(IPOIB_CONN_REQ_SENT) | TO(IPOIB_CONN_LIVE) |
			   TO(IPOIB_CONN_HELD) | TO(IPOIB_CONN_DEAD),
	[IPOIB_CONN_REQ_SENT] = TO(IPOIB_CONN_LIVE) | TO(IPOIB_CONN_FLUSHING),
	[IPOIB_CONN_LIVE] = TO(IPOIB_CONN_CLOSING) | TO(IPOIB_CONN_FLUSHING),
	[IPOIB_CONN_CLOSING] = TO(IPOIB_CONN_FLUSHING),
	[IPOIB_CONN_FLUSHING] = TO(IPOIB_CONN_NEW) | TO(IPOIB_CONN_HELD) |
				TO(IPOIB_CONN_DEAD),
	[IPOIB_CONN_HELD] = TO(IPOIB_CONN_NEW) | TO(IPOIB_CONN_DEAD),
	[IPOIB_CONN_DEAD] = 0,
};

static const char * const conn_state_names[IPOIB_NR_CONN_STATES] = {
	[IPOIB_CONN_NEW] = "new",
	[IPOIB_CONN_REQ_SENT] = "requested",
	[IPOIB_CONN_LIVE] = "live",
	[IPOIB_CONN_CLOSING] = "closing",
	[IPOIB_CONN_FLUSHING] = "flushing",
	[IPOIB_CONN_HELD] = "held",
	[IPOIB_CONN_DEAD] = "dead",
};

static void put_be32(u8 *p, u32 v)
{
	p[0] = v >> 24;
	p[1] = v >> 16;
	p[2] = v >> 8;
	p[3] = v;
}

static u32 get_be32(const u8 *p)
{
	return (u32)p[0] << 24 | (u32)p[1] << 16 | (u32)p[2] << 8 | p[3];
}

/**
 * ipoib_cm_service_id - where a peer listens
 * @base: IPOIB_CM_SID_LINUX or IPOIB_CM_SID_IETF
 * @qpn: number of its UD queue pair
 *
 * Context: any.
 * Return: the service ID in host order.
 */
u64 ipoib_cm_service_id(u64 base, u32 qpn)
{
	return base | (qpn & IPOIB_QPN_MASK);
}

/**
 * ipoib_cm_next_base - which kind of service ID to dial next
 * @base: kind that was dialled
 * @reason: reason of the REJ
 *
 * Context: any.
 * Return: that of the RFC when nobody listens on the one of Linux; otherwise
 * that of Linux, with which each new attempt begins.
 */
u64 ipoib_cm_next_base(u64 base, u32 reason)
{
	if (base == IPOIB_CM_SID_LINUX && reason == IPOIB_CM_REJ_BAD_SID)
		return IPOIB_CM_SID_IETF;
	return IPOIB_CM_SID_LINUX;
}

/**
 * ipoib_cm_data_build - private data of a REQ or REP (RFC 4755 section 6)
 * @data: IPOIB_CM_DATA_LEN bytes
 * @qpn: own UD queue pair
 * @size: bytes that can be received, encapsulation header included
 *
 * Context: any.
 */
void ipoib_cm_data_build(u8 *data, u32 qpn, u32 size)
{
	put_be32(data, qpn & IPOIB_QPN_MASK);
	put_be32(data + 4, size);
}

/**
 * ipoib_cm_data_parse - what the peer says about itself
 * @data: at least IPOIB_CM_DATA_LEN bytes
 * @qpn: its UD queue pair
 * @size: bytes that may be sent to it, encapsulation header included
 *
 * Context: any.
 * Return: 0, or -EINVAL when the peer can take no packet at all.
 */
int ipoib_cm_data_parse(const u8 *data, u32 *qpn, u32 *size)
{
	u32 most = IPOIB_CM_MTU_MAX + IPOIB_ENCAP_LEN;

	*qpn = get_be32(data) & IPOIB_QPN_MASK;
	*size = get_be32(data + 4);
	if (*size <= IPOIB_ENCAP_LEN)
		return -EINVAL;
	if (*size > most)
		*size = most;
	return 0;
}

/**
 * ipoib_cm_receive_size - bytes that a receive buffer of pieces can take
 * @pieces: scatter entries
 * @piece: bytes of each
 *
 * Of a buffer 12 bytes are kept back, as all implementations do: 16 pages of
 * 4096 bytes make 65524, or an IP MTU of 65520.
 *
 * Context: any.
 * Return: bytes, encapsulation header included.
 */
u32 ipoib_cm_receive_size(u32 pieces, u32 piece)
{
	u32 most = IPOIB_CM_MTU_MAX + IPOIB_ENCAP_LEN;

	if (pieces >= (most + 12) / piece)
		return most;
	return pieces * piece - 12;
}

/**
 * ipoib_conn_may_move - is this a legal move of a connection?
 * @from: state now
 * @to: state wanted
 *
 * Context: any.
 * Return: true when the move may be made.
 */
bool ipoib_conn_may_move(enum ipoib_conn_state from, enum ipoib_conn_state to)
{
	if (from >= IPOIB_NR_CONN_STATES || to >= IPOIB_NR_CONN_STATES)
		return false;
	return conn_moves[from] & TO(to);
}

/**
 * ipoib_conn_state_name - a state for people
 * @state: state of a connection
 *
 * Context: any.
 * Return: constant text.
 */
const char *ipoib_conn_state_name(enum ipoib_conn_state state)
{
	return state < IPOIB_NR_CONN_STATES ? conn_state_names[state] : "?";
}

/**
 * ipoib_cm_route - which way does a packet take?
 * @state: of the connection to its destination
 * @len: its bytes, encapsulation header included
 * @ud_max: most that UD carries
 * @rc_max: most that the peer takes over this connection
 * @patient: the connection was asked for a short while ago
 *
 * Whatever fits goes by UD while there is no connection: a peer that refuses,
 * or does not answer, is no black hole.
 *
 * Context: any.
 * Return: the way.
 */
enum ipoib_cm_route ipoib_cm_route(enum ipoib_conn_state state, u32 len,
				   u32 ud_max, u32 rc_max, bool patient)
{
	if (state == IPOIB_CONN_LIVE && len <= rc_max)
		return IPOIB_CM_BY_RC;
	if (len <= ud_max)
		return IPOIB_CM_BY_UD;
	if ((state == IPOIB_CONN_NEW || state == IPOIB_CONN_REQ_SENT) &&
	    patient)
		return IPOIB_CM_WAITS;
	return IPOIB_CM_TOO_BIG;
}

/**
 * ipoib_cm_hold - how long to leave a peer alone
 * @last: pause before the attempt that failed, in seconds; 0 at first
 *
 * Context: any.
 * Return: seconds to wait now: 1, 2, 4 ... 64, 64 ...
 */
u32 ipoib_cm_hold(u32 last)
{
	if (!last)
		return 1;
	return last >= IPOIB_CM_HOLD_MAX / 2 ? IPOIB_CM_HOLD_MAX : last * 2;
}
