// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of connected mode's decisions: messages, moves, ways, pauses.
 * Runs in a KUnit kernel and, by way of tests/user/, as an ordinary program.
 */
#include "../ipoib_cm_policy.h"

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>

#define NR	IPOIB_NR_CONN_STATES
#define NEW	IPOIB_CONN_NEW
#define REQ	IPOIB_CONN_REQ_SENT
#define LIVE	IPOIB_CONN_LIVE
#define CLOSING	IPOIB_CONN_CLOSING
#define FLUSH	IPOIB_CONN_FLUSHING
#define HELD	IPOIB_CONN_HELD
#define DEAD	IPOIB_CONN_DEAD

/* from the row to the column: new, requested, live, closing, flushing, held, dead */
static const bool legal[NR][NR] = {
	[NEW]     = { 0, 1, 1, 0, 0, 1, 1 },
	[REQ]     = { 0, 0, 1, 0, 1, 0, 0 },
	[LIVE]    = { 0, 0, 0, 1, 1, 0, 0 },
	[CLOSING] = { 0, 0, 0, 0, 1, 0, 0 },
	[FLUSH]   = { 1, 0, 0, 0, 0, 1, 1 },
	[HELD]    = { 1, 0, 0, 0, 0, 0, 1 },
	[DEAD]    = { 0, 0, 0, 0, 0, 0, 0 },
};

static void cm_moves(struct kunit *test)
{
	int from, to;

	for (from = 0; from < NR; from++)
		for (to = 0; to < NR; to++)
			KUNIT_EXPECT_EQ(test, ipoib_conn_may_move(from, to), legal[from][to]);
}

static void cm_moves_outside(struct kunit *test)
{
	static const u32 wrong[] = { NR, NR + 1, 31, 32, 64, 0x7fffffff, 0xffffffff };
	u32 i, state;

	for (i = 0; i < ARRAY_SIZE(wrong); i++)
		for (state = 0; state < NR; state++) {
			KUNIT_EXPECT_FALSE(test, ipoib_conn_may_move(wrong[i], state));
			KUNIT_EXPECT_FALSE(test, ipoib_conn_may_move(state, wrong[i]));
		}
}

static void cm_names(struct kunit *test)
{
	int a, b;

	KUNIT_EXPECT_STREQ(test, ipoib_conn_state_name(LIVE), "live");
	KUNIT_EXPECT_STREQ(test, ipoib_conn_state_name(NR), "?");
	for (a = 0; a < NR; a++)
		for (b = 0; b < a; b++)
			KUNIT_EXPECT_NE(test, strcmp(ipoib_conn_state_name(a),
						     ipoib_conn_state_name(b)), 0);
}

static void cm_service_id(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ipoib_cm_service_id(IPOIB_CM_SID_LINUX, 0x123456),
			0x1000000000123456ull);
	KUNIT_EXPECT_EQ(test, ipoib_cm_service_id(IPOIB_CM_SID_IETF, 0xffffff),
			0x0100000000ffffffull);
	/* the flag octet of an address is no part of the number */
	KUNIT_EXPECT_EQ(test, ipoib_cm_service_id(IPOIB_CM_SID_LINUX, 0x80000048),
			0x1000000000000048ull);
}

static void cm_next_base(struct kunit *test)
{
	u32 reason;

	for (reason = 0; reason < 64; reason++) {
		KUNIT_EXPECT_EQ(test, ipoib_cm_next_base(IPOIB_CM_SID_LINUX, reason),
				reason == 8 ? IPOIB_CM_SID_IETF : IPOIB_CM_SID_LINUX);
		KUNIT_EXPECT_EQ(test, ipoib_cm_next_base(IPOIB_CM_SID_IETF, reason),
				IPOIB_CM_SID_LINUX);
	}
}

static void cm_data_build(struct kunit *test)
{
	static const u8 want[] = { 0, 0x12, 0x34, 0x56, 0, 0, 0xff, 0xf4 };
	u8 data[IPOIB_CM_DATA_LEN];

	/* what peers expect */
	KUNIT_EXPECT_EQ(test, sizeof(data), 8u);
	KUNIT_EXPECT_EQ(test, IPOIB_CM_FLAG_RC, 0x80);

	ipoib_cm_data_build(data, 0x80123456, 65524);
	KUNIT_EXPECT_EQ(test, memcmp(data, want, sizeof(want)), 0);
	/* each octet has its place */
	ipoib_cm_data_build(data, 0, 0x01020304);
	KUNIT_EXPECT_EQ(test, memcmp(data + 4, "\1\2\3\4", 4), 0);
}

struct parse_row {
	const char *name;
	u8 data[IPOIB_CM_DATA_LEN];
	int err;
	u32 qpn, size;
};

static const struct parse_row parse_rows[] = {
	{ "as all send it", { 0, 0, 0, 0x48, 0, 0, 0xff, 0xf4 }, 0, 0x48, 65524 },
	{ "top octet ignored", { 0xff, 1, 2, 3, 0, 0, 8, 0 }, 0, 0x010203, 2048 },
	{ "top octet of the size", { 0, 0, 0, 1, 1, 0, 0, 0 }, 0, 1, 65524 },
	{ "one byte", { 0, 0, 0, 1, 0, 0, 0, 5 }, 0, 1, 5 },
	{ "header only", { 0, 0, 0, 1, 0, 0, 0, 4 }, -EINVAL, 1, 4 },
	{ "nothing", { 0 }, -EINVAL, 0, 0 },
	{ "more than there is", { 0, 0, 0, 1, 0, 0, 0xff, 0xf5 }, 0, 1, 65524 },
	{ "all ones", { 255, 255, 255, 255, 255, 255, 255, 255 }, 0, 0xffffff, 65524 },
};

KUNIT_ARRAY_PARAM_DESC(parse, parse_rows, name);

static void cm_data_parse(struct kunit *test)
{
	const struct parse_row *r = test->param_value;
	u32 qpn = 77, size = 77;

	KUNIT_EXPECT_EQ(test, ipoib_cm_data_parse(r->data, &qpn, &size), r->err);
	KUNIT_EXPECT_EQ(test, qpn, r->qpn);
	KUNIT_EXPECT_EQ(test, size, r->size);
}

static void cm_receive_size(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, ipoib_cm_receive_size(16, 4096), 65524u);
	KUNIT_EXPECT_EQ(test, ipoib_cm_receive_size(17, 4096), 65524u);
	KUNIT_EXPECT_EQ(test, ipoib_cm_receive_size(15, 4096), 61428u);
	KUNIT_EXPECT_EQ(test, ipoib_cm_receive_size(1, 4096), 4084u);
	KUNIT_EXPECT_EQ(test, ipoib_cm_receive_size(1, 65536), 65524u);
	KUNIT_EXPECT_EQ(test, ipoib_cm_receive_size(2, 32768), 65524u);
	KUNIT_EXPECT_EQ(test, ipoib_cm_receive_size(0xffffffff, 4096), 65524u);
}

struct route_row {
	const char *name;
	u32 state, len, ud, rc;
	bool patient;
	u32 way;
};

static const struct route_row route_rows[] = {
	{ "live, small", LIVE, 100, 2048, 65524, true, IPOIB_CM_BY_RC },
	{ "live, largest", LIVE, 65524, 2048, 65524, true, IPOIB_CM_BY_RC },
	{ "live, one too many", LIVE, 65525, 2048, 65524, true, IPOIB_CM_TOO_BIG },
	{ "live, peer takes less than UD", LIVE, 2000, 2048, 1000, true, IPOIB_CM_BY_UD },
	{ "live, peer takes less, large", LIVE, 2049, 2048, 1000, true, IPOIB_CM_TOO_BIG },
	{ "new, small", NEW, 2048, 2048, 0, true, IPOIB_CM_BY_UD },
	{ "new, large", NEW, 2049, 2048, 0, true, IPOIB_CM_WAITS },
	{ "new for long, large", NEW, 2049, 2048, 0, false, IPOIB_CM_TOO_BIG },
	{ "requested, small", REQ, 2048, 2048, 0, true, IPOIB_CM_BY_UD },
	{ "requested, large", REQ, 2049, 2048, 0, true, IPOIB_CM_WAITS },
	{ "requested for long, large", REQ, 2049, 2048, 0, false, IPOIB_CM_TOO_BIG },
	{ "held, small", HELD, 2048, 2048, 65524, true, IPOIB_CM_BY_UD },
	{ "held, large", HELD, 2049, 2048, 65524, true, IPOIB_CM_TOO_BIG },
	{ "flushing, large", FLUSH, 2049, 2048, 65524, true, IPOIB_CM_TOO_BIG },
	{ "closing, small", CLOSING, 10, 2048, 65524, true, IPOIB_CM_BY_UD },
	{ "closing, large", CLOSING, 2049, 2048, 65524, true, IPOIB_CM_TOO_BIG },
	{ "dead, large", DEAD, 2049, 2048, 65524, true, IPOIB_CM_TOO_BIG },
};

KUNIT_ARRAY_PARAM_DESC(route, route_rows, name);

static void cm_route(struct kunit *test)
{
	const struct route_row *r = test->param_value;

	KUNIT_EXPECT_EQ(test, ipoib_cm_route(r->state, r->len, r->ud, r->rc, r->patient),
			r->way);
}

static void cm_hold(struct kunit *test)
{
	static const u32 want[] = { 1, 2, 4, 8, 16, 32, 64, 64, 64 };
	u32 i, hold = 0;

	for (i = 0; i < ARRAY_SIZE(want); i++) {
		hold = ipoib_cm_hold(hold);
		KUNIT_EXPECT_EQ(test, hold, want[i]);
	}
	KUNIT_EXPECT_EQ(test, ipoib_cm_hold(0xffffffff), 64u);
}

static struct kunit_case ipoib_cm_cases[] = {
	KUNIT_CASE(cm_moves),
	KUNIT_CASE(cm_moves_outside),
	KUNIT_CASE(cm_names),
	KUNIT_CASE(cm_service_id),
	KUNIT_CASE(cm_next_base),
	KUNIT_CASE(cm_data_build),
	KUNIT_CASE_PARAM(cm_data_parse, parse_gen_params),
	KUNIT_CASE(cm_receive_size),
	KUNIT_CASE_PARAM(cm_route, route_gen_params),
	KUNIT_CASE(cm_hold),
	{}
};

static struct kunit_suite ipoib_cm_suite = {
	.name = "ipoib_cm",
	.test_cases = ipoib_cm_cases,
};

kunit_test_suite(ipoib_cm_suite);

MODULE_DESCRIPTION("Unit tests of connected mode's decisions");
MODULE_LICENSE("GPL");
