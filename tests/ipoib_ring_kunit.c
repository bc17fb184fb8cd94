// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the ring arithmetic: empty, full and the wrap of the
 * free-running indices at 2^32.  Runs in a KUnit kernel and, by way of
 * tests/user/, as an ordinary program.
 */
#include "../ipoib_ring.h"

#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/module.h>

struct ring_row {
	const char *name;
	u32 size, head, tail;
	u32 used, free;
	u32 head_slot, tail_slot;
};

static const struct ring_row ring_rows[] = {
	{ "empty at the start", 128, 0, 0, 0, 128, 0, 0 },
	{ "one in use", 128, 1, 0, 1, 127, 1, 0 },
	{ "one left", 128, 127, 0, 127, 1, 127, 0 },
	{ "full at the start", 128, 128, 0, 128, 0, 0, 0 },
	{ "full, once around", 128, 384, 256, 128, 0, 0, 0 },
	{ "empty before the wrap", 128, 0xffffffff, 0xffffffff, 0, 128, 127, 127 },
	{ "one in use, head has wrapped", 128, 0, 0xffffffff, 1, 127, 0, 127 },
	{ "full across the wrap", 128, 63, 0xffffffbf, 128, 0, 63, 63 },
	{ "one left across the wrap", 128, 62, 0xffffffbf, 127, 1, 62, 63 },
	{ "empty after the wrap", 128, 5, 5, 0, 128, 5, 5 },
	{ "full at the sign bit", 128, 0x80000000, 0x7fffff80, 128, 0, 0, 0 },
	{ "smallest ring, empty", 2, 7, 7, 0, 2, 1, 1 },
	{ "smallest ring, full across the wrap", 2, 1, 0xffffffff, 2, 0, 1, 1 },
	{ "largest ring, full across the wrap", 8192, 1, 0xffffe001, 8192, 0, 1, 1 },
	{ "largest ring, half", 8192, 12288, 8192, 4096, 4096, 4096, 0 },
};

KUNIT_ARRAY_PARAM_DESC(ring, ring_rows, name);

static void ring_room(struct kunit *test)
{
	const struct ring_row *r = test->param_value;

	KUNIT_EXPECT_EQ(test, ipoib_ring_used(r->head, r->tail), r->used);
	KUNIT_EXPECT_EQ(test, ipoib_ring_free(r->head, r->tail, r->size), r->free);
	KUNIT_EXPECT_EQ(test, ipoib_ring_slot(r->head, r->size), r->head_slot);
	KUNIT_EXPECT_EQ(test, ipoib_ring_slot(r->tail, r->size), r->tail_slot);
}

struct passed_row {
	const char *name;
	u32 tail, stamp;
	bool passed;
};

static const struct passed_row passed_rows[] = {
	{ "nothing was ever posted", 0, 0, true },
	{ "one outstanding", 0, 1, false },
	{ "just done", 1, 1, true },
	{ "done long ago", 8192, 1, true },
	{ "full ring outstanding", 0, 8192, false },
	{ "outstanding across the wrap", 0xffffffff, 0, false },
	{ "last one before the wrap done", 0xffffffff, 0xffffffff, true },
	{ "done across the wrap", 0, 0xffffffff, true },
	{ "full ring outstanding across the wrap", 0xffffe001, 1, false },
	{ "done right at the wrap", 0, 0, true },
	{ "outstanding over the sign bit", 0x7fffffff, 0x80000000, false },
	{ "done over the sign bit", 0x80000000, 0x7fffffff, true },
	{ "as old as can be told", 0x7fffffff, 0, true },
	{ "older than can be told", 0x80000000, 0, false },
};

KUNIT_ARRAY_PARAM_DESC(passed, passed_rows, name);

static void ring_stamp(struct kunit *test)
{
	const struct passed_row *r = test->param_value;

	KUNIT_EXPECT_EQ(test, ipoib_ring_passed(r->tail, r->stamp), r->passed);
}

struct behind_row {
	const char *name;
	u32 tail, slot, size;
	u32 behind;
};

static const struct behind_row behind_rows[] = {
	{ "first slot", 0, 0, 128, 1 },
	{ "last slot", 0, 127, 128, 128 },
	{ "a batch", 3, 9, 128, 10 },
	{ "slot before tail is a turn ahead", 5, 4, 128, 133 },
	{ "turn of the array", 126, 1, 128, 130 },
	{ "later turns", 1000, 1000 % 128, 128, 1001 },
	{ "last index before the wrap", 0xffffffff, 127, 128, 0 },
	{ "batch across the wrap", 0xfffffffe, 3, 128, 4 },
	{ "whole ring across the wrap", 0xffffff81, 0, 128, 1 },
	{ "smallest ring", 1, 0, 2, 3 },
	{ "largest ring across the wrap", 0xffffe001, 0, 8192, 1 },
};

KUNIT_ARRAY_PARAM_DESC(behind, behind_rows, name);

static void ring_behind(struct kunit *test)
{
	const struct behind_row *r = test->param_value;

	KUNIT_EXPECT_EQ(test, ipoib_ring_upto(r->tail, r->slot, r->size), r->behind);
}

static const u32 walk_start[] = { 0, 1, 0x7ffffff0, 0xfffffff0, 0xffffffff };

/*
 * A ring of eight as the driver uses it: fill some, complete some, from every
 * start.  The slots handed out and those given back have to be the same, in
 * the same order, whatever the indices do.
 */
static void ring_walk(struct kunit *test)
{
	u32 head, tail, next, stamp, slot, turn, i, n;

	for (i = 0; i < ARRAY_SIZE(walk_start); i++) {
		head = walk_start[i];
		tail = head;
		for (turn = 0; turn < 64; turn++) {
			stamp = head;
			for (n = turn % 8 + 1; n; n--)
				if (ipoib_ring_free(head, tail, 8))
					head++;
			KUNIT_EXPECT_LE(test, ipoib_ring_used(head, tail), 8u);
			KUNIT_EXPECT_EQ(test, ipoib_ring_passed(tail, stamp), tail == stamp);

			/* leave some in the ring on odd turns */
			slot = ipoib_ring_slot(head - 1 - turn % 2, 8);
			next = ipoib_ring_upto(tail, slot, 8);
			if (ipoib_ring_used(head, tail) <= turn % 2)
				continue;
			KUNIT_EXPECT_EQ(test, next, head - turn % 2);
			tail = next;
			KUNIT_EXPECT_TRUE(test, ipoib_ring_passed(tail, stamp));
		}
		KUNIT_EXPECT_NE(test, head, walk_start[i]);
	}
}

static struct kunit_case ipoib_ring_cases[] = {
	KUNIT_CASE_PARAM(ring_room, ring_gen_params),
	KUNIT_CASE_PARAM(ring_stamp, passed_gen_params),
	KUNIT_CASE_PARAM(ring_behind, behind_gen_params),
	KUNIT_CASE(ring_walk),
	{}
};

static struct kunit_suite ipoib_ring_suite = {
	.name = "ipoib_ring",
	.test_cases = ipoib_ring_cases,
};

kunit_test_suite(ipoib_ring_suite);

MODULE_DESCRIPTION("Unit tests of the IPoIB descriptor ring arithmetic");
MODULE_LICENSE("GPL");
