// SPDX-License-Identifier: GPL-2.0
/*
 * Decisions of the driver: see ipoib_policy.h.  No function here touches
 * anything but its arguments.
 */
#include "ipoib_policy.h"

#include "ipoib_hdr.h"

#define TO(state)	((u32)BIT(state))

/* row: where we are; bits: where we may go */
static const u32 ipoib_moves[IPOIB_NR_STATES] = {
	[IPOIB_DOWN] = TO(IPOIB_NO_PKEY) | TO(IPOIB_WAIT_PORT) | TO(IPOIB_GONE),
	[IPOIB_NO_PKEY] = TO(IPOIB_DOWN) | TO(IPOIB_WAIT_PORT),
	[IPOIB_WAIT_PORT] = TO(IPOIB_DOWN) | TO(IPOIB_NO_PKEY) |
			    TO(IPOIB_JOINING),
	[IPOIB_JOINING] = TO(IPOIB_DOWN) | TO(IPOIB_NO_PKEY) |
			  TO(IPOIB_WAIT_PORT) | TO(IPOIB_LIVE),
	[IPOIB_LIVE] = TO(IPOIB_DOWN) | TO(IPOIB_NO_PKEY) | TO(IPOIB_WAIT_PORT),
	[IPOIB_GONE] = 0,
};

static const char * const ipoib_state_names[IPOIB_NR_STATES] = {
	[IPOIB_DOWN] = "down",
	[IPOIB_NO_PKEY] = "no P_Key",
	[IPOIB_WAIT_PORT] = "waiting for port",
	[IPOIB_JOINING] = "joining",
	[IPOIB_LIVE] = "live",
	[IPOIB_GONE] = "gone",
};

/**
 * ipoib_policy_may_move - is this a legal move of the interface state?
 * @from: state now
 * @to: state wanted
 *
 * Context: any.
 * Return: true when the move may be made.
 */
bool ipoib_policy_may_move(enum ipoib_state from, enum ipoib_state to)
{
	if (from >= IPOIB_NR_STATES || to >= IPOIB_NR_STATES)
		return false;
	return ipoib_moves[from] & TO(to);
}

/**
 * ipoib_policy_state_name - a state for people
 * @state: interface state
 *
 * Context: any.
 * Return: constant text.
 */
const char *ipoib_policy_state_name(enum ipoib_state state)
{
	return state < IPOIB_NR_STATES ? ipoib_state_names[state] : "?";
}

static u32 plan_while_up(enum ipoib_state state, u32 events)
{
	bool joining = state == IPOIB_JOINING || state == IPOIB_LIVE;
	u32 steps = 0;

	if (events & IPOIB_EV_RESET)
		steps |= IPOIB_STEP_CARRIER_OFF | IPOIB_STEP_FLUSH |
			 IPOIB_STEP_RESTART | IPOIB_STEP_PORT;
	if (events & IPOIB_EV_PORT)
		steps |= IPOIB_STEP_CARRIER_OFF | IPOIB_STEP_FLUSH |
			 IPOIB_STEP_IDENTITY | IPOIB_STEP_PORT;
	if (events & (IPOIB_EV_PKEY | IPOIB_EV_GID))
		steps |= IPOIB_STEP_IDENTITY;
	if (events & IPOIB_EV_OPEN)
		steps |= IPOIB_STEP_IDENTITY | IPOIB_STEP_PORT;
	if (events & IPOIB_EV_REREG) {
		steps |= IPOIB_STEP_IDENTITY;
		steps |= joining ? IPOIB_STEP_REJOIN : IPOIB_STEP_PORT;
	}
	if (events & IPOIB_EV_MCLIST && joining)
		steps |= IPOIB_STEP_MCLIST;
	if (events & IPOIB_EV_SEND_ERR)
		steps |= IPOIB_STEP_RECOVER;

	/* what is flushed anyway needs no second joining */
	if (steps & IPOIB_STEP_FLUSH)
		steps &= ~(IPOIB_STEP_REJOIN | IPOIB_STEP_MCLIST);
	/* nor has a restarted queue pair anything to recover from */
	if (steps & IPOIB_STEP_RESTART)
		steps &= ~IPOIB_STEP_RECOVER;
	return steps;
}

/**
 * ipoib_policy_plan - what a set of events asks the control worker to do
 * @state: interface state
 * @events: mask of IPOIB_EV_*
 *
 * Context: any.
 * Return: mask of IPOIB_STEP_*, to be taken from bit 0 upwards.
 */
u32 ipoib_policy_plan(enum ipoib_state state, u32 events)
{
	switch (state) {
	case IPOIB_DOWN:
		/* nothing is running, but the address has to stay true */
		if (events & (IPOIB_EV_PKEY | IPOIB_EV_GID | IPOIB_EV_REREG |
			      IPOIB_EV_PORT))
			return IPOIB_STEP_IDENTITY;
		return 0;
	case IPOIB_NO_PKEY:
	case IPOIB_WAIT_PORT:
	case IPOIB_JOINING:
	case IPOIB_LIVE:
		return plan_while_up(state, events);
	default:
		return 0;
	}
}

/**
 * ipoib_policy_ring_size - descriptors of a ring
 * @asked: number wanted by the administrator, of any sign
 * @min: smallest ring, a power of two
 * @max: largest ring, a power of two
 *
 * Context: any.
 * Return: @asked rounded up to a power of two, within @min .. @max.
 */
u32 ipoib_policy_ring_size(long long asked, u32 min, u32 max)
{
	u32 size = min;

	while (size < max && size < asked)
		size <<= 1;
	return size;
}

/**
 * ipoib_policy_mtu - the IP MTU in force
 * @wish: IP MTU that the administrator insists on, 0 for the largest
 * @port_mtu: largest IB MTU of the port, in bytes
 * @group_mtu: IB MTU of the broadcast group in bytes, 0 before it is joined
 *
 * Context: any.
 * Return: IP MTU in bytes, the encapsulation header taken off.
 */
u32 ipoib_policy_mtu(u32 wish, u32 port_mtu, u32 group_mtu)
{
	u32 ib = group_mtu && group_mtu < port_mtu ? group_mtu : port_mtu;
	u32 mtu = ib - IPOIB_ENCAP_LEN;

	return wish && wish < mtu ? wish : mtu;
}

/**
 * ipoib_policy_mtu_wish - what an MTU set by hand means for later
 * @asked: IP MTU set by the administrator
 * @limit: largest IP MTU possible at this moment
 *
 * Asking for just what is possible is no wish of its own: the interface then
 * follows the group when that grows or shrinks.  More is: it comes true as far
 * as the group lets it.
 *
 * Context: any.
 * Return: the wish to keep, 0 for none.
 */
u32 ipoib_policy_mtu_wish(u32 asked, u32 limit)
{
	return asked == limit ? 0 : asked;
}

/**
 * ipoib_policy_backoff - pause before the next try at the SA
 * @last: pause before the try that failed, in seconds; 0 or 1 at first
 *
 * Context: any.
 * Return: seconds to wait now: 2, 4, 8, 16, 16 ...
 */
u32 ipoib_policy_backoff(u32 last)
{
	if (!last)
		last = 1;
	return last >= IPOIB_BACKOFF_MAX / 2 ? IPOIB_BACKOFF_MAX : last * 2;
}

/**
 * ipoib_policy_idle - has nobody used this for two collection rounds?
 * @now: time in ticks, may have wrapped
 * @used: time of the last use
 * @gc_interval: length of a round in ticks
 *
 * Context: any.
 * Return: true when it can go.
 */
bool ipoib_policy_idle(unsigned long now, unsigned long used,
		       unsigned long gc_interval)
{
	return (long)(now - used) >= (long)(2 * gc_interval);
}
