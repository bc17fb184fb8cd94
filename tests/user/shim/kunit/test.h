/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A small KUnit for user space: the suites in tests/ compile against this
 * header here and against the kernel's own header in a KUnit kernel, unchanged.
 *
 * Only what the suites use is offered.  A failed expectation is reported with
 * both values and the row it belongs to; the case goes on, as in the kernel.
 * Counting and output are in main.c.
 */
#ifndef _SHIM_KUNIT_TEST_H
#define _SHIM_KUNIT_TEST_H

#include <stdio.h>

#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>
#include <linux/types.h>

#define KUNIT_PARAM_DESC_SIZE	128

/**
 * struct kunit - one running test
 * @param_value: row of the table, for cases with parameters
 * @failures: expectations that did not hold
 */
struct kunit {
	const void *param_value;
	unsigned int failures;
};

/**
 * struct kunit_case - a test function and its rows
 * @run_case: the function
 * @name: its name
 * @generate_params: gives the row after @prev, or NULL at the end
 */
struct kunit_case {
	void (*run_case)(struct kunit *test);
	const char *name;
	const void *(*generate_params)(const void *prev, char *desc);
};

/**
 * struct kunit_suite - the cases of one file
 * @name: name of the suite
 * @test_cases: cases, closed by an empty one
 * @next: place in the list of all suites
 */
struct kunit_suite {
	const char name[64];
	struct kunit_case *test_cases;
	struct kunit_suite *next;
};

void kunit_shim_register(struct kunit_suite *suite);
void kunit_shim_fail(struct kunit *test, const char *file, int line,
		     const char *fmt, ...) __printf(4, 5);

#define KUNIT_CASE(fn)			{ .run_case = fn, .name = #fn }
#define KUNIT_CASE_PARAM(fn, gen)					\
	{ .run_case = fn, .name = #fn, .generate_params = gen }

#define KUNIT_ARRAY_PARAM_DESC(prefix, rows, member)			\
static const void *prefix##_gen_params(const void *prev, char *desc)	\
{									\
	typeof((rows)[0]) *row = prev ? (typeof(row))prev + 1 : (rows);	\
									\
	if (row >= (rows) + ARRAY_SIZE(rows))				\
		return NULL;						\
	snprintf(desc, KUNIT_PARAM_DESC_SIZE, "%s", row->member);	\
	return row;							\
}

#define kunit_test_suite(suite)						\
static void __attribute__((constructor)) suite##_register(void)		\
{									\
	kunit_shim_register(&(suite));					\
}

#define KUNIT_SHIM_BINARY(test, left, op, right)			\
do {									\
	typeof(left) left_ = (left);					\
	typeof(right) right_ = (right);					\
									\
	if (!(left_ op right_))						\
		kunit_shim_fail(test, __FILE__, __LINE__,		\
				"%s " #op " %s, but left is %lld (%#llx), right is %lld (%#llx)", \
				#left, #right, (long long)left_,	\
				(long long)left_, (long long)right_,	\
				(long long)right_);			\
} while (0)

#define KUNIT_EXPECT_EQ(test, left, right) KUNIT_SHIM_BINARY(test, left, ==, right)
#define KUNIT_EXPECT_NE(test, left, right) KUNIT_SHIM_BINARY(test, left, !=, right)
#define KUNIT_EXPECT_LE(test, left, right) KUNIT_SHIM_BINARY(test, left, <=, right)
#define KUNIT_EXPECT_GE(test, left, right) KUNIT_SHIM_BINARY(test, left, >=, right)
#define KUNIT_EXPECT_LT(test, left, right) KUNIT_SHIM_BINARY(test, left, <, right)
#define KUNIT_EXPECT_GT(test, left, right) KUNIT_SHIM_BINARY(test, left, >, right)

#define KUNIT_EXPECT_TRUE(test, cond)					\
do {									\
	if (!(cond))							\
		kunit_shim_fail(test, __FILE__, __LINE__,		\
				"%s is false", #cond);			\
} while (0)
#define KUNIT_EXPECT_FALSE(test, cond)	KUNIT_EXPECT_TRUE(test, !(cond))

#define KUNIT_EXPECT_PTR_EQ(test, left, right)				\
	KUNIT_EXPECT_TRUE(test, (const void *)(left) == (const void *)(right))

#define KUNIT_EXPECT_STREQ(test, left, right)				\
do {									\
	const char *left_ = (left);					\
	const char *right_ = (right);					\
									\
	if (strcmp(left_, right_))					\
		kunit_shim_fail(test, __FILE__, __LINE__,		\
				"%s is \"%s\", not \"%s\"", #left,	\
				left_, right_);				\
} while (0)

#define KUNIT_EXPECT_MEMEQ(test, left, right, size)			\
do {									\
	if (memcmp(left, right, size))					\
		kunit_shim_fail(test, __FILE__, __LINE__,		\
				"%s and %s differ", #left, #right);	\
} while (0)

#endif /* _SHIM_KUNIT_TEST_H */
