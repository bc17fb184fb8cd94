// SPDX-License-Identifier: GPL-2.0
/*
 * Runs the unit-test suites in user space.  Every case, or every row of a case
 * with a table, counts as one test.  Without arguments all suites run; names
 * given on the command line select suites.  -v shows the tests that passed too.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <kunit/test.h>

static struct kunit_suite *suites;
static unsigned int passed, failed;
static bool verbose;
static const char *running;
static char row_name[KUNIT_PARAM_DESC_SIZE];

/**
 * kunit_shim_register - make a suite known
 * @suite: the suite
 *
 * Called by the constructors that kunit_test_suite() defines, that is in link
 * order; the list keeps this order.
 *
 * Context: before main().
 */
void kunit_shim_register(struct kunit_suite *suite)
{
	struct kunit_suite **end = &suites;

	while (*end)
		end = &(*end)->next;
	*end = suite;
}

/**
 * kunit_shim_fail - report an expectation that did not hold
 * @test: running test
 * @file: source file of the expectation
 * @line: its line
 * @fmt: what was expected and what was found
 *
 * Context: inside a test.
 */
void kunit_shim_fail(struct kunit *test, const char *file, int line,
		     const char *fmt, ...)
{
	va_list args;

	test->failures++;
	printf("    %s:%d: %s%s%s: expected ", file, line, running,
	       *row_name ? ": " : "", row_name);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
}

static void run_one(const struct kunit_suite *suite,
		    const struct kunit_case *tc, const void *row)
{
	struct kunit test = { .param_value = row };

	running = tc->name;
	tc->run_case(&test);
	if (test.failures)
		failed++;
	else
		passed++;
	if (test.failures || verbose)
		printf("%s - %s.%s%s%s\n", test.failures ? "not ok" : "ok",
		       suite->name, tc->name, *row_name ? ": " : "", row_name);
}

static void run_case(const struct kunit_suite *suite,
		     const struct kunit_case *tc)
{
	const void *row = NULL;

	memset(row_name, 0, sizeof(row_name));
	if (!tc->generate_params) {
		run_one(suite, tc, NULL);
		return;
	}
	while ((row = tc->generate_params(row, row_name)) != NULL) {
		run_one(suite, tc, row);
		memset(row_name, 0, sizeof(row_name));
	}
}

static void run_suite(const struct kunit_suite *suite)
{
	unsigned int p = passed, f = failed;
	const struct kunit_case *tc;

	for (tc = suite->test_cases; tc->run_case; tc++)
		run_case(suite, tc);
	printf("%-14s %4u passed, %u failed\n", suite->name, passed - p,
	       failed - f);
}

static bool selected(const struct kunit_suite *suite, int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (!strcmp(suite->name, argv[i]))
			return true;
	return argc == 0;
}

int main(int argc, char **argv)
{
	const struct kunit_suite *suite;

	argc--;
	argv++;
	if (argc && !strcmp(*argv, "-v")) {
		verbose = true;
		argc--;
		argv++;
	}

	for (suite = suites; suite; suite = suite->next)
		if (selected(suite, argc, argv))
			run_suite(suite);

	if (!passed && !failed) {
		fprintf(stderr, "no such suite\n");
		return 2;
	}
	printf("%u passed, %u failed\n", passed, failed);
	return failed ? 1 : 0;
}
