// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of the 20-byte address, the group addresses and the P_Key rules.
 * Runs in a KUnit kernel and, by way of tests/user/, as an ordinary program.
 */
#include "../ipoib_addr.h"

#include <kunit/test.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>

static const u8 port_gid[IPOIB_GID_LEN] = {
	0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x00, 0x02, 0xc9, 0x03, 0x00, 0x77, 0x1a, 0x2b
};

/* Where RFC 4391 puts the fields; rooms of the driver use these directly. */
static void addr_layout(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, IPOIB_ALEN, 20);
	KUNIT_EXPECT_EQ(test, IPOIB_GID_LEN, 16);
	KUNIT_EXPECT_EQ(test, IPOIB_ADDR_GID, 4);
	KUNIT_EXPECT_EQ(test, IPOIB_ADDR_SCOPE, 5);
	KUNIT_EXPECT_EQ(test, IPOIB_ADDR_PKEY, 8);
	KUNIT_EXPECT_EQ(test, IPOIB_ADDR_GUID, 12);
	KUNIT_EXPECT_EQ(test, IPOIB_QPN_MASK, 0xffffffu);
	KUNIT_EXPECT_EQ(test, IPOIB_MCAST_QPN, 0xffffffu);
	KUNIT_EXPECT_EQ(test, IPOIB_PKEY_FULL, 0x8000);
}

struct build_row {
	const char *name;
	u8 flags;
	u32 qpn;
	u8 head[4];
	u32 qpn_back;
};

static const struct build_row build_rows[] = {
	{ "all zero", 0, 0, { 0, 0, 0, 0 }, 0 },
	{ "flag alone", 0x80, 0, { 0x80, 0, 0, 0 }, 0 },
	{ "largest QPN", 0, 0xffffff, { 0, 0xff, 0xff, 0xff }, 0xffffff },
	{ "flag and largest QPN", 0x80, 0xffffff, { 0x80, 0xff, 0xff, 0xff }, 0xffffff },
	{ "QPN is big endian", 0, 0x010203, { 0, 1, 2, 3 }, 0x010203 },
	{ "QPN does not reach the flags", 0, 0xff000001, { 0, 0, 0, 1 }, 1 },
	{ "flags do not reach the QPN", 0xff, 0x42, { 0xff, 0, 0, 0x42 }, 0x42 },
};

KUNIT_ARRAY_PARAM_DESC(build, build_rows, name);

static void addr_build(struct kunit *test)
{
	const struct build_row *r = test->param_value;
	u8 hw[IPOIB_ALEN + 1];

	memset(hw, 0xa5, sizeof(hw));
	ipoib_addr_build(hw, r->flags, r->qpn, port_gid);

	KUNIT_EXPECT_MEMEQ(test, hw, r->head, sizeof(r->head));
	KUNIT_EXPECT_MEMEQ(test, hw + 4, port_gid, sizeof(port_gid));
	KUNIT_EXPECT_EQ(test, hw[IPOIB_ALEN], 0xa5);
	KUNIT_EXPECT_EQ(test, ipoib_addr_qpn(hw), r->qpn_back);
	KUNIT_EXPECT_PTR_EQ(test, ipoib_addr_gid(hw), hw + 4);
	KUNIT_EXPECT_FALSE(test, ipoib_addr_is_mcast(hw));
}

struct bcast_row {
	const char *name;
	u16 pkey, effective;
	u8 hw[IPOIB_ALEN];
};

static const struct bcast_row bcast_rows[] = {
	{ "default partition", 0xffff, 0xffff,
	  { 0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff,
	    0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff } },
	{ "default partition, limited", 0x7fff, 0xffff,
	  { 0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff,
	    0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff } },
	{ "smallest key, full", 0x8001, 0x8001,
	  { 0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0x80, 0x01,
	    0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff } },
	{ "smallest key, limited", 0x0001, 0x8001,
	  { 0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0x80, 0x01,
	    0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff } },
	{ "key with different bytes", 0x1234, 0x9234,
	  { 0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0x92, 0x34,
	    0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff } },
};

KUNIT_ARRAY_PARAM_DESC(bcast, bcast_rows, name);

static void addr_broadcast(struct kunit *test)
{
	const struct bcast_row *r = test->param_value;
	u8 hw[IPOIB_ALEN + 1];

	memset(hw, 0xa5, sizeof(hw));
	ipoib_addr_broadcast(hw, r->pkey);

	KUNIT_EXPECT_MEMEQ(test, hw, r->hw, sizeof(r->hw));
	KUNIT_EXPECT_EQ(test, hw[IPOIB_ALEN], 0xa5);
	KUNIT_EXPECT_EQ(test, ipoib_addr_pkey(hw), r->effective);
	KUNIT_EXPECT_EQ(test, ipoib_addr_qpn(hw), IPOIB_MCAST_QPN);
	KUNIT_EXPECT_TRUE(test, ipoib_addr_is_mcast(hw));
}

struct set_pkey_row {
	const char *name;
	u16 pkey;
	u8 high, low;
};

static const struct set_pkey_row set_pkey_rows[] = {
	{ "zero", 0, 0, 0 },
	{ "all ones", 0xffff, 0xff, 0xff },
	{ "low byte", 0x00ff, 0x00, 0xff },
	{ "high byte", 0xff00, 0xff, 0x00 },
	{ "membership bit is kept as given", 0x0123, 0x01, 0x23 },
};

KUNIT_ARRAY_PARAM_DESC(set_pkey, set_pkey_rows, name);

static void addr_set_pkey(struct kunit *test)
{
	const struct set_pkey_row *r = test->param_value;
	u8 hw[IPOIB_ALEN], want[IPOIB_ALEN];

	memset(hw, 0x5a, sizeof(hw));
	memset(want, 0x5a, sizeof(want));
	want[8] = r->high;
	want[9] = r->low;
	ipoib_addr_set_pkey(hw, r->pkey);

	KUNIT_EXPECT_MEMEQ(test, hw, want, sizeof(hw));
	KUNIT_EXPECT_EQ(test, ipoib_addr_pkey(hw), r->pkey);
}

/* bit set: a group that differs from the broadcast address in this byte is ours */
#define FREE_BYTES	0xffc40u

/* Every byte in turn, every bit of it: only signature and group id are free. */
static void addr_in_partition(struct kunit *test)
{
	u8 bcast[IPOIB_ALEN], hw[IPOIB_ALEN];
	int byte, bit;

	ipoib_addr_broadcast(bcast, 0x8001);
	KUNIT_EXPECT_TRUE(test, ipoib_addr_in_partition(bcast, bcast));

	for (byte = 0; byte < IPOIB_ALEN; byte++)
		for (bit = 0; bit < 8; bit++) {
			memcpy(hw, bcast, sizeof(hw));
			hw[byte] ^= 1 << bit;
			KUNIT_EXPECT_EQ(test, ipoib_addr_in_partition(hw, bcast),
					(FREE_BYTES >> byte & 1) != 0);
		}
}

struct member_row {
	const char *name;
	u8 hw[IPOIB_ALEN];
	bool ours;
};

static const struct member_row member_rows[] = {
	{ "224.0.0.1", { 0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff,
			 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, true },
	{ "ff02::1", { 0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x60, 0x1b, 0xff, 0xff,
		       0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, true },
	{ "another partition", { 0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0x80, 0x01,
				 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, false },
	{ "limited form of the key", { 0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0x7f, 0xff,
				       0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, false },
	{ "another scope", { 0x00, 0xff, 0xff, 0xff, 0xff, 0x15, 0x40, 0x1b, 0xff, 0xff,
			     0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, false },
	{ "transient bit", { 0x00, 0xff, 0xff, 0xff, 0xff, 0x02, 0x40, 0x1b, 0xff, 0xff,
			     0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, false },
	{ "a QPN of its own", { 0x00, 0x00, 0x00, 0x2a, 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff,
				0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, false },
	{ "flags", { 0x80, 0xff, 0xff, 0xff, 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff,
		     0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, false },
	{ "not a group", { 0x00, 0xff, 0xff, 0xff, 0xfe, 0x80, 0x40, 0x1b, 0xff, 0xff,
			   0, 0, 0, 0, 0, 0, 0, 0, 0, 1 }, false },
};

KUNIT_ARRAY_PARAM_DESC(member, member_rows, name);

static void addr_group(struct kunit *test)
{
	const struct member_row *r = test->param_value;
	u8 bcast[IPOIB_ALEN];

	ipoib_addr_broadcast(bcast, 0xffff);
	KUNIT_EXPECT_EQ(test, ipoib_addr_in_partition(r->hw, bcast), r->ours);
}

static void addr_is_mcast(struct kunit *test)
{
	u8 hw[IPOIB_ALEN] = { 0xff, 0xff, 0xff, 0xff };
	int first;

	for (first = 0; first < 256; first++) {
		hw[4] = first;
		KUNIT_EXPECT_EQ(test, ipoib_addr_is_mcast(hw), first == 0xff);
	}
}

static void addr_gid_is_zero(struct kunit *test)
{
	u8 gid[IPOIB_GID_LEN + 2] = { 0 };
	u8 *inner = gid + 1;
	int i;

	/* neighbours of the 16 bytes do not count */
	gid[0] = 1;
	gid[IPOIB_GID_LEN + 1] = 1;
	KUNIT_EXPECT_TRUE(test, ipoib_addr_gid_is_zero(inner));

	for (i = 0; i < IPOIB_GID_LEN; i++) {
		inner[i] = i & 1 ? 0x80 : 0x01;
		KUNIT_EXPECT_FALSE(test, ipoib_addr_gid_is_zero(inner));
		inner[i] = 0;
	}
}

static void addr_may_become(struct kunit *test)
{
	u8 hw[IPOIB_ALEN] = { 0 }, wish[IPOIB_ALEN];
	int i;

	for (i = 0; i < IPOIB_ALEN; i++)
		hw[i] = i + 1;
	KUNIT_EXPECT_TRUE(test, ipoib_addr_may_become(hw, hw));

	for (i = 0; i < IPOIB_ALEN; i++) {
		memcpy(wish, hw, sizeof(wish));
		wish[i] ^= 0x80;
		KUNIT_EXPECT_EQ(test, ipoib_addr_may_become(hw, wish),
				i >= IPOIB_ADDR_GUID);
	}

	/* a GUID that is zero but for any one byte is still one */
	memset(wish + IPOIB_ADDR_GUID, 0, 8);
	KUNIT_EXPECT_FALSE(test, ipoib_addr_may_become(hw, wish));
	for (i = IPOIB_ADDR_GUID; i < IPOIB_ALEN; i++) {
		memcpy(wish, hw, IPOIB_ADDR_GUID);
		wish[i] = 1;
		KUNIT_EXPECT_TRUE(test, ipoib_addr_may_become(hw, wish));
		wish[i] = 0;
	}
}

struct pkey_row {
	const char *name;
	long long val;
	int err;
	u16 pkey;
};

#define NO_KEY	0x1111	/* what stands in the result before the call */

static const struct pkey_row pkey_rows[] = {
	{ "zero", 0, -EINVAL, NO_KEY },
	{ "one", 1, 0, 0x8001 },
	{ "minus one", -1, -EINVAL, NO_KEY },
	{ "largest limited", 0x7fff, 0, 0xffff },
	{ "partition zero, full", 0x8000, -EINVAL, NO_KEY },
	{ "smallest full", 0x8001, 0, 0x8001 },
	{ "largest full", 0xffff, 0, 0xffff },
	{ "one too many", 0x10000, -EINVAL, NO_KEY },
	{ "a good key in the low 16 bits", 0x18001, -EINVAL, NO_KEY },
	{ "a good key in the low 32 bits", 0x100008001LL, -EINVAL, NO_KEY },
	{ "largest number", 0x7fffffffffffffffLL, -EINVAL, NO_KEY },
	{ "smallest number", -0x7fffffffffffffffLL - 1, -EINVAL, NO_KEY },
	{ "negative, a good key in the low 16 bits", -0x7fff, -EINVAL, NO_KEY },
	{ "any key", 0x1234, 0, 0x9234 },
};

KUNIT_ARRAY_PARAM_DESC(pkey, pkey_rows, name);

static void addr_pkey_parse(struct kunit *test)
{
	const struct pkey_row *r = test->param_value;
	u16 pkey = NO_KEY;

	KUNIT_EXPECT_EQ(test, ipoib_pkey_parse(r->val, &pkey), r->err);
	KUNIT_EXPECT_EQ(test, pkey, r->pkey);
}

/* All 65,536: two of them name no partition. */
static void addr_pkey_valid(struct kunit *test)
{
	u32 pkey;

	for (pkey = 0; pkey <= 0xffff; pkey++)
		KUNIT_EXPECT_EQ(test, ipoib_pkey_valid(pkey), pkey != 0 && pkey != 0x8000);
}

/* Each octet that tells a solicited-node group from another one, changed in turn */
static void addr_solicited_node(struct kunit *test)
{
	static const u8 group[IPOIB_ALEN] = {
		0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x60, 0x1b, 0x80, 0x01,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0xff, 0x10, 0x20, 0x30
	};
	static const u8 all_nodes[IPOIB_ALEN] = {
		0x00, 0xff, 0xff, 0xff, 0xff, 0x12, 0x60, 0x1b, 0x80, 0x01,
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01
	};
	u8 hw[IPOIB_ALEN];
	int i;

	for (i = 0; i < IPOIB_ALEN; i++) {
		bool matters = i == 6 || i == 7 || (i >= 10 && i <= 16);

		memcpy(hw, group, sizeof(hw));
		KUNIT_EXPECT_TRUE(test, ipoib_addr_is_solicited_node(hw));
		hw[i] ^= 0x08;
		KUNIT_EXPECT_EQ(test, ipoib_addr_is_solicited_node(hw), !matters);
	}

	memcpy(hw, group, sizeof(hw));
	memset(hw + 10, 0xee, 10);
	ipoib_addr_all_nodes(hw);
	KUNIT_EXPECT_EQ(test, memcmp(hw, all_nodes, sizeof(hw)), 0);
	KUNIT_EXPECT_FALSE(test, ipoib_addr_is_solicited_node(hw));
}

static struct kunit_case ipoib_addr_cases[] = {
	KUNIT_CASE(addr_layout),
	KUNIT_CASE_PARAM(addr_build, build_gen_params),
	KUNIT_CASE_PARAM(addr_broadcast, bcast_gen_params),
	KUNIT_CASE_PARAM(addr_set_pkey, set_pkey_gen_params),
	KUNIT_CASE(addr_in_partition),
	KUNIT_CASE(addr_solicited_node),
	KUNIT_CASE_PARAM(addr_group, member_gen_params),
	KUNIT_CASE(addr_is_mcast),
	KUNIT_CASE(addr_gid_is_zero),
	KUNIT_CASE(addr_may_become),
	KUNIT_CASE_PARAM(addr_pkey_parse, pkey_gen_params),
	KUNIT_CASE(addr_pkey_valid),
	{}
};

static struct kunit_suite ipoib_addr_suite = {
	.name = "ipoib_addr",
	.test_cases = ipoib_addr_cases,
};

kunit_test_suite(ipoib_addr_suite);

MODULE_DESCRIPTION("Unit tests of the IPoIB link-layer address");
MODULE_LICENSE("GPL");
