/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Decisions of the driver as pure functions: which state follows which, what
 * an event asks for, how large, how often, how long.
 *
 * Pure code: values in (the time too), values out.  The same source is built
 * into the module, into the user-space unit tests and into KUnit.
 */
#ifndef _IPOIB_POLICY_H
#define _IPOIB_POLICY_H

#include <linux/bits.h>
#include <linux/types.h>

#include "ipoib_addr.h"

#define IPOIB_RX_RING_MIN	2
#define IPOIB_RX_RING_DEFAULT	256
#define IPOIB_TX_RING_MIN	128
#define IPOIB_TX_RING_DEFAULT	128
#define IPOIB_RING_MAX		8192

#define IPOIB_MTU_MIN		72
#define IPOIB_BACKOFF_MAX	16	/* seconds */
#define IPOIB_SENDONLY_TRIES	2

/**
 * enum ipoib_state - life of an interface between open and stop
 * @IPOIB_DOWN: administratively down, or not opened yet
 * @IPOIB_NO_PKEY: up, but its P_Key is not in the port's table
 * @IPOIB_WAIT_PORT: up, the port is not ACTIVE
 * @IPOIB_JOINING: port ACTIVE, waiting for the broadcast group
 * @IPOIB_LIVE: broadcast group joined and attached; carrier is on
 * @IPOIB_GONE: being removed, nothing may start any more
 * @IPOIB_NR_STATES: number of states
 */
enum ipoib_state {
	IPOIB_DOWN,
	IPOIB_NO_PKEY,
	IPOIB_WAIT_PORT,
	IPOIB_JOINING,
	IPOIB_LIVE,
	IPOIB_GONE,
	IPOIB_NR_STATES
};

/*
 * What happened to the interface; independent of one another and collected in
 * one word until the control worker gets to them.
 */
#define IPOIB_EV_PORT		BIT(0)	/* port error, active, new LID */
#define IPOIB_EV_REREG		BIT(1)	/* SM asks to register again */
#define IPOIB_EV_PKEY		BIT(2)	/* P_Key table changed */
#define IPOIB_EV_GID		BIT(3)	/* GID table changed */
#define IPOIB_EV_MCLIST		BIT(4)	/* device multicast list changed */
#define IPOIB_EV_RESET		BIT(5)	/* transmit ring is stuck */
#define IPOIB_EV_TODO		BIT(6)	/* targets wait for the worker */
#define IPOIB_EV_REAP		BIT(7)	/* retired address handles */
#define IPOIB_EV_OPEN		BIT(8)	/* interface was set up */
#define IPOIB_EV_SEND_ERR	BIT(9)	/* a send completed in error */
#define IPOIB_EV_CM		BIT(10)	/* connections wait for the worker */

/*
 * Steps of the control worker, in the order in which they are taken: bit 0
 * first.
 */
#define IPOIB_STEP_CARRIER_OFF	BIT(0)	/* stop the stack from sending */
#define IPOIB_STEP_FLUSH	BIT(1)	/* paths gone, groups left */
#define IPOIB_STEP_RESTART	BIT(2)	/* drain and restart the UD QP */
#define IPOIB_STEP_IDENTITY	BIT(3)	/* re-read P_Key and GID */
#define IPOIB_STEP_PORT		BIT(4)	/* look at the port state */
#define IPOIB_STEP_REJOIN	BIT(5)	/* join again, re-query paths */
#define IPOIB_STEP_MCLIST	BIT(6)	/* follow the multicast list */
#define IPOIB_STEP_RECOVER	BIT(7)	/* send queue may be in error */

bool ipoib_policy_may_move(enum ipoib_state from, enum ipoib_state to);
const char *ipoib_policy_state_name(enum ipoib_state state);
u32 ipoib_policy_plan(enum ipoib_state state, u32 events);

u32 ipoib_policy_ring_size(long long asked, u32 min, u32 max);
u32 ipoib_policy_mtu(u32 wish, u32 port_mtu, u32 group_mtu);
u32 ipoib_policy_mtu_wish(u32 asked, u32 limit);
u32 ipoib_policy_backoff(u32 last);
bool ipoib_policy_idle(unsigned long now, unsigned long used,
		       unsigned long gc_interval);

#endif /* _IPOIB_POLICY_H */
