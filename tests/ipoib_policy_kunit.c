// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the driver's decisions: state moves, plans, sizes, pauses.
 * Runs in a KUnit kernel and, by way of tests/user/, as an ordinary program.
 */
#include "../ipoib_policy.h"

#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/module.h>

#define NR	IPOIB_NR_STATES

/* from the row to the column: down, no P_Key, wait for port, joining, live, gone */
static const bool legal[NR][NR] = {
	[IPOIB_DOWN]      = { 0, 1, 1, 0, 0, 1 },
	[IPOIB_NO_PKEY]   = { 1, 0, 1, 0, 0, 0 },
	[IPOIB_WAIT_PORT] = { 1, 1, 0, 1, 0, 0 },
	[IPOIB_JOINING]   = { 1, 1, 1, 0, 1, 0 },
	[IPOIB_LIVE]      = { 1, 1, 1, 0, 0, 0 },
	[IPOIB_GONE]      = { 0, 0, 0, 0, 0, 0 },
};

static void policy_moves(struct kunit *test)
{
	int from, to;

	for (from = 0; from < NR; from++)
		for (to = 0; to < NR; to++)
			KUNIT_EXPECT_EQ(test, ipoib_policy_may_move(from, to), legal[from][to]);
}

/* A number that is no state is refused, also one that would shift out of a word. */
static void policy_moves_outside(struct kunit *test)
{
	static const u32 wrong[] = { NR, NR + 1, 31, 32, 33, 64, 0x7fffffff, 0xffffffff };
	u32 i, state;

	for (i = 0; i < ARRAY_SIZE(wrong); i++) {
		for (state = 0; state < NR; state++) {
			KUNIT_EXPECT_FALSE(test, ipoib_policy_may_move(wrong[i], state));
			KUNIT_EXPECT_FALSE(test, ipoib_policy_may_move(state, wrong[i]));
		}
		KUNIT_EXPECT_FALSE(test, ipoib_policy_may_move(wrong[i], wrong[i]));
	}
}

static void policy_names(struct kunit *test)
{
	int a, b;

	KUNIT_EXPECT_STREQ(test, ipoib_policy_state_name(IPOIB_DOWN), "down");
	KUNIT_EXPECT_STREQ(test, ipoib_policy_state_name(IPOIB_LIVE), "live");
	KUNIT_EXPECT_STREQ(test, ipoib_policy_state_name(IPOIB_GONE), "gone");
	KUNIT_EXPECT_STREQ(test, ipoib_policy_state_name(NR), "?");
	KUNIT_EXPECT_STREQ(test, ipoib_policy_state_name(-1), "?");

	for (a = 0; a < NR; a++)
		for (b = 0; b < a; b++)
			KUNIT_EXPECT_NE(test, strcmp(ipoib_policy_state_name(a),
						     ipoib_policy_state_name(b)), 0);
}

#define OFF	IPOIB_STEP_CARRIER_OFF
#define FLUSH	IPOIB_STEP_FLUSH
#define RESTART	IPOIB_STEP_RESTART
#define IDENT	IPOIB_STEP_IDENTITY
#define PORT	IPOIB_STEP_PORT
#define REJOIN	IPOIB_STEP_REJOIN
#define MCLIST	IPOIB_STEP_MCLIST
#define RECOVER	IPOIB_STEP_RECOVER

#define ALL_EVENTS	0x7ffu

/*
 * The states fall into four groups that a plan tells apart: down; up without a
 * way to the group (no P_Key, waiting for the port); joining or live; and gone,
 * in which nothing is done whatever happens.
 */
struct plan_row {
	const char *name;
	u32 events;
	u32 down, waiting, joined;
};

static const struct plan_row plan_rows[] = {
	{ "nothing", 0, 0, 0, 0 },
	{ "unknown events", ~ALL_EVENTS, 0, 0, 0 },
	{ "port", IPOIB_EV_PORT, IDENT, OFF | FLUSH | IDENT | PORT, OFF | FLUSH | IDENT | PORT },
	{ "register again", IPOIB_EV_REREG, IDENT, IDENT | PORT, IDENT | REJOIN },
	{ "P_Key table", IPOIB_EV_PKEY, IDENT, IDENT, IDENT },
	{ "GID table", IPOIB_EV_GID, IDENT, IDENT, IDENT },
	{ "multicast list", IPOIB_EV_MCLIST, 0, 0, MCLIST },
	{ "ring is stuck", IPOIB_EV_RESET, 0, OFF | FLUSH | RESTART | PORT,
	  OFF | FLUSH | RESTART | PORT },
	{ "targets wait", IPOIB_EV_TODO, 0, 0, 0 },
	{ "retired address handles", IPOIB_EV_REAP, 0, 0, 0 },
	{ "set up", IPOIB_EV_OPEN, 0, IDENT | PORT, IDENT | PORT },
	{ "a send failed", IPOIB_EV_SEND_ERR, 0, RECOVER, RECOVER },

	{ "SM hands over: port and register again", IPOIB_EV_PORT | IPOIB_EV_REREG, IDENT,
	  OFF | FLUSH | IDENT | PORT, OFF | FLUSH | IDENT | PORT },
	{ "port and multicast list", IPOIB_EV_PORT | IPOIB_EV_MCLIST, IDENT,
	  OFF | FLUSH | IDENT | PORT, OFF | FLUSH | IDENT | PORT },
	{ "port while the ring is stuck", IPOIB_EV_PORT | IPOIB_EV_RESET, IDENT,
	  OFF | FLUSH | RESTART | IDENT | PORT, OFF | FLUSH | RESTART | IDENT | PORT },
	{ "stuck while the SM asks", IPOIB_EV_RESET | IPOIB_EV_REREG, IDENT,
	  OFF | FLUSH | RESTART | IDENT | PORT, OFF | FLUSH | RESTART | IDENT | PORT },
	{ "register again and multicast list", IPOIB_EV_REREG | IPOIB_EV_MCLIST, IDENT,
	  IDENT | PORT, IDENT | REJOIN | MCLIST },
	{ "P_Key and multicast list", IPOIB_EV_PKEY | IPOIB_EV_MCLIST, IDENT,
	  IDENT, IDENT | MCLIST },
	{ "a send failed because the port went", IPOIB_EV_SEND_ERR | IPOIB_EV_PORT, IDENT,
	  OFF | FLUSH | IDENT | PORT | RECOVER, OFF | FLUSH | IDENT | PORT | RECOVER },
	{ "a send failed and the ring is stuck", IPOIB_EV_SEND_ERR | IPOIB_EV_RESET, 0,
	  OFF | FLUSH | RESTART | PORT, OFF | FLUSH | RESTART | PORT },
	{ "all at once", ALL_EVENTS, IDENT,
	  OFF | FLUSH | RESTART | IDENT | PORT, OFF | FLUSH | RESTART | IDENT | PORT },
};

KUNIT_ARRAY_PARAM_DESC(plan, plan_rows, name);

static void policy_plan(struct kunit *test)
{
	const struct plan_row *r = test->param_value;

	KUNIT_EXPECT_EQ(test, ipoib_policy_plan(IPOIB_DOWN, r->events), r->down);
	KUNIT_EXPECT_EQ(test, ipoib_policy_plan(IPOIB_NO_PKEY, r->events), r->waiting);
	KUNIT_EXPECT_EQ(test, ipoib_policy_plan(IPOIB_WAIT_PORT, r->events), r->waiting);
	KUNIT_EXPECT_EQ(test, ipoib_policy_plan(IPOIB_JOINING, r->events), r->joined);
	KUNIT_EXPECT_EQ(test, ipoib_policy_plan(IPOIB_LIVE, r->events), r->joined);
	KUNIT_EXPECT_EQ(test, ipoib_policy_plan(IPOIB_GONE, r->events), 0u);
}

static void policy_plan_outside(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ipoib_policy_plan(NR, ALL_EVENTS), 0u);
	KUNIT_EXPECT_EQ(test, ipoib_policy_plan(-1, ALL_EVENTS), 0u);
}

/*
 * Laws that hold for every set of events in every state: events seen together
 * lose nothing against events seen one by one, but for the joins that a flush
 * makes needless, and the recovery that a restart makes needless.
 */
static void policy_plan_laws(struct kunit *test)
{
	u32 events, steps, sum, bit;
	int state;

	for (state = 0; state < NR; state++)
		for (events = 0; events <= ALL_EVENTS; events++) {
			steps = ipoib_policy_plan(state, events);
			sum = 0;
			for (bit = 1; bit <= ALL_EVENTS; bit <<= 1)
				sum |= ipoib_policy_plan(state, events & bit);
			if (sum & FLUSH)
				sum &= ~(REJOIN | MCLIST);
			if (sum & RESTART)
				sum &= ~RECOVER;
			KUNIT_EXPECT_EQ(test, steps, sum);

			/* carrier goes before the flush, and someone looks at the port after */
			KUNIT_EXPECT_EQ(test, !!(steps & OFF), !!(steps & FLUSH));
			if (steps & FLUSH)
				KUNIT_EXPECT_TRUE(test, steps & PORT);
		}
}

/* Steps are taken from bit 0 up, so their numbers are their order. */
static void policy_step_order(struct kunit *test)
{
	static const u32 order[] = { OFF, FLUSH, RESTART, IDENT, PORT, REJOIN, MCLIST,
				     RECOVER };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(order); i++)
		KUNIT_EXPECT_EQ(test, order[i], 1u << i);
}

/* Events share a word: each needs a bit of its own. */
static void policy_event_bits(struct kunit *test)
{
	static const u32 events[] = {
		IPOIB_EV_PORT, IPOIB_EV_REREG, IPOIB_EV_PKEY, IPOIB_EV_GID,
		IPOIB_EV_MCLIST, IPOIB_EV_RESET, IPOIB_EV_TODO, IPOIB_EV_REAP,
		IPOIB_EV_OPEN, IPOIB_EV_SEND_ERR, IPOIB_EV_CM,
	};
	u32 i, seen = 0;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		KUNIT_EXPECT_NE(test, events[i], 0u);
		KUNIT_EXPECT_EQ(test, events[i] & (events[i] - 1), 0u);
		KUNIT_EXPECT_EQ(test, events[i] & seen, 0u);
		seen |= events[i];
	}
	KUNIT_EXPECT_EQ(test, seen, ALL_EVENTS);
}

/* What users and stock peers see of the limits. */
static void policy_limits(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, IPOIB_RX_RING_MIN, 2);
	KUNIT_EXPECT_EQ(test, IPOIB_RX_RING_DEFAULT, 256);
	KUNIT_EXPECT_EQ(test, IPOIB_TX_RING_MIN, 128);
	KUNIT_EXPECT_EQ(test, IPOIB_TX_RING_DEFAULT, 128);
	KUNIT_EXPECT_EQ(test, IPOIB_RING_MAX, 8192);
	KUNIT_EXPECT_EQ(test, IPOIB_MTU_MIN, 72);
	KUNIT_EXPECT_EQ(test, IPOIB_BACKOFF_MAX, 16);
	KUNIT_EXPECT_EQ(test, IPOIB_SENDONLY_TRIES, 2);
}

struct size_row {
	const char *name;
	long long asked;
	u32 rx, tx;
};

static const struct size_row size_rows[] = {
	{ "zero", 0, 2, 128 },
	{ "one", 1, 2, 128 },
	{ "two", 2, 2, 128 },
	{ "three", 3, 4, 128 },
	{ "minus one", -1, 2, 128 },
	{ "smallest int", -2147483647 - 1, 2, 128 },
	{ "smallest number", -0x7fffffffffffffffLL - 1, 2, 128 },
	{ "hundred", 100, 128, 128 },
	{ "default of sending", 128, 128, 128 },
	{ "one above", 129, 256, 256 },
	{ "default of receiving", 256, 256, 256 },
	{ "three hundred", 300, 512, 512 },
	{ "one below the largest", 8191, 8192, 8192 },
	{ "the largest", 8192, 8192, 8192 },
	{ "one too many", 8193, 8192, 8192 },
	{ "far too many", 100000, 8192, 8192 },
	{ "largest int", 0x7fffffff, 8192, 8192 },
	{ "a small number beyond 32 bits", 0x100000001LL, 8192, 8192 },
	{ "largest number", 0x7fffffffffffffffLL, 8192, 8192 },
};

KUNIT_ARRAY_PARAM_DESC(size, size_rows, name);

static void policy_ring_size(struct kunit *test)
{
	const struct size_row *r = test->param_value;

	KUNIT_EXPECT_EQ(test, ipoib_policy_ring_size(r->asked, IPOIB_RX_RING_MIN, IPOIB_RING_MAX),
			r->rx);
	KUNIT_EXPECT_EQ(test, ipoib_policy_ring_size(r->asked, IPOIB_TX_RING_MIN, IPOIB_RING_MAX),
			r->tx);
}

/* Every number that makes sense: a power of two, enough, and not twice enough. */
static void policy_ring_size_all(struct kunit *test)
{
	u32 size;
	int n;

	for (n = 2; n <= 8192; n++) {
		size = ipoib_policy_ring_size(n, IPOIB_RX_RING_MIN, IPOIB_RING_MAX);
		KUNIT_EXPECT_EQ(test, size & (size - 1), 0u);
		KUNIT_EXPECT_GE(test, size, (u32)n);
		KUNIT_EXPECT_TRUE(test, size == 2 || size / 2 < (u32)n);
	}
	KUNIT_EXPECT_EQ(test, ipoib_policy_ring_size(IPOIB_RX_RING_DEFAULT, IPOIB_RX_RING_MIN,
						     IPOIB_RING_MAX), 256u);
	KUNIT_EXPECT_EQ(test, ipoib_policy_ring_size(IPOIB_TX_RING_DEFAULT, IPOIB_TX_RING_MIN,
						     IPOIB_RING_MAX), 128u);
}

struct mtu_row {
	const char *name;
	u32 wish, port, group;
	u32 mtu;
};

static const struct mtu_row mtu_rows[] = {
	{ "4K port, not joined", 0, 4096, 0, 4092 },
	{ "2K port, not joined", 0, 2048, 0, 2044 },
	{ "4K port, 2K group", 0, 4096, 2048, 2044 },
	{ "4K port, 4K group", 0, 4096, 4096, 4092 },
	{ "2K port, 4K group", 0, 2048, 4096, 2044 },
	{ "smallest IB MTU", 0, 256, 256, 252 },
	{ "OPA port, 10K group", 0, 10240, 10240, 10236 },
	{ "wish below the group", 1500, 4096, 2048, 1500 },
	{ "wish one below the group", 2043, 4096, 2048, 2043 },
	{ "wish equal to the group", 2044, 4096, 2048, 2044 },
	{ "wish one above the group", 2045, 4096, 2048, 2044 },
	{ "wish between group and port", 4000, 4096, 2048, 2044 },
	{ "wish above the port", 65520, 4096, 0, 4092 },
	{ "smallest wish", IPOIB_MTU_MIN, 4096, 2048, 72 },
	{ "wish before the join", 3000, 4096, 0, 3000 },
	{ "largest wish", 0xffffffff, 4096, 4096, 4092 },
};

KUNIT_ARRAY_PARAM_DESC(mtu, mtu_rows, name);

static void policy_mtu(struct kunit *test)
{
	const struct mtu_row *r = test->param_value;

	KUNIT_EXPECT_EQ(test, ipoib_policy_mtu(r->wish, r->port, r->group), r->mtu);
}

struct follow_row {
	const char *name;
	u32 asked, group_then, group_now;
	u32 mtu;
};

/* What was set by hand under one group, seen under another. */
static const struct follow_row follow_rows[] = {
	{ "all of a 2K group follows it up", 2044, 2048, 4096, 4092 },
	{ "all of a 4K group follows it down", 4092, 4096, 2048, 2044 },
	{ "more than a 2K group comes true under a larger one", 4000, 2048, 4096, 4000 },
	{ "and not before", 4000, 2048, 2048, 2044 },
	{ "one less sticks", 2043, 2048, 4096, 2043 },
	{ "a small one sticks", 1500, 2048, 4096, 1500 },
	{ "a small one gives way to a smaller group", 1500, 2048, 1024, 1020 },
	{ "smallest", IPOIB_MTU_MIN, 2048, 4096, 72 },
};

KUNIT_ARRAY_PARAM_DESC(follow, follow_rows, name);

static void policy_mtu_follows(struct kunit *test)
{
	const struct follow_row *r = test->param_value;
	u32 wish = ipoib_policy_mtu_wish(r->asked, r->group_then - 4);

	KUNIT_EXPECT_EQ(test, ipoib_policy_mtu(wish, 4096, r->group_now), r->mtu);
}

static void policy_backoff(struct kunit *test)
{
	static const u32 series[] = { 2, 4, 8, 16, 16, 16, 16 };
	u32 first, pause, i;

	for (first = 0; first < 2; first++) {
		pause = first;
		for (i = 0; i < ARRAY_SIZE(series); i++) {
			pause = ipoib_policy_backoff(pause);
			KUNIT_EXPECT_EQ(test, pause, series[i]);
		}
	}

	/* from any number, also one that doubling would carry over the edge */
	KUNIT_EXPECT_EQ(test, ipoib_policy_backoff(7), 14u);
	KUNIT_EXPECT_EQ(test, ipoib_policy_backoff(9), 16u);
	KUNIT_EXPECT_EQ(test, ipoib_policy_backoff(17), 16u);
	KUNIT_EXPECT_EQ(test, ipoib_policy_backoff(0x80000000), 16u);
	KUNIT_EXPECT_EQ(test, ipoib_policy_backoff(0xffffffff), 16u);
}

struct idle_row {
	const char *name;
	unsigned long now, used, gc;
	bool idle;
};

static const struct idle_row idle_rows[] = {
	{ "just used", 1000, 1000, 30, false },
	{ "one round", 1030, 1000, 30, false },
	{ "one tick short of two", 1059, 1000, 30, false },
	{ "two rounds", 1060, 1000, 30, true },
	{ "long ago", 100000, 1000, 30, true },
	{ "used after we took the time", 1000, 1001, 30, false },
	{ "two rounds after the wrap, one tick short", 58, -1UL, 30, false },
	{ "two rounds across the wrap", 59, -1UL, 30, true },
	{ "used across the wrap after we took the time", -1UL, 0, 30, false },
	{ "rounds of no length", 1000, 1000, 0, true },
};

KUNIT_ARRAY_PARAM_DESC(idle, idle_rows, name);

static void policy_idle(struct kunit *test)
{
	const struct idle_row *r = test->param_value;

	KUNIT_EXPECT_EQ(test, ipoib_policy_idle(r->now, r->used, r->gc), r->idle);
}

static struct kunit_case ipoib_policy_cases[] = {
	KUNIT_CASE(policy_moves),
	KUNIT_CASE(policy_moves_outside),
	KUNIT_CASE(policy_names),
	KUNIT_CASE_PARAM(policy_plan, plan_gen_params),
	KUNIT_CASE(policy_plan_outside),
	KUNIT_CASE(policy_plan_laws),
	KUNIT_CASE(policy_step_order),
	KUNIT_CASE(policy_event_bits),
	KUNIT_CASE(policy_limits),
	KUNIT_CASE_PARAM(policy_ring_size, size_gen_params),
	KUNIT_CASE(policy_ring_size_all),
	KUNIT_CASE_PARAM(policy_mtu, mtu_gen_params),
	KUNIT_CASE_PARAM(policy_mtu_follows, follow_gen_params),
	KUNIT_CASE(policy_backoff),
	KUNIT_CASE_PARAM(policy_idle, idle_gen_params),
	{}
};

static struct kunit_suite ipoib_policy_suite = {
	.name = "ipoib_policy",
	.test_cases = ipoib_policy_cases,
};

kunit_test_suite(ipoib_policy_suite);

MODULE_DESCRIPTION("Unit tests of the IPoIB driver's decisions");
MODULE_LICENSE("GPL");
