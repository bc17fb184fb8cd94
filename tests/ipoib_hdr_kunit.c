// SPDX-License-Identifier: GPL-2.0
/*
 * Unit tests of packet classification, outbound and inbound.  Runs in a KUnit
 * kernel and, by way of tests/user/, as an ordinary program.
 */
#include "../ipoib_hdr.h"

#include <kunit/test.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>

static void hdr_sizes(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, sizeof(struct ipoib_encap), (size_t)4);
	KUNIT_EXPECT_EQ(test, sizeof(struct ipoib_pseudo), (size_t)20);
	KUNIT_EXPECT_EQ(test, sizeof_field(struct ipoib_rx_self, guid), (size_t)8);
	KUNIT_EXPECT_EQ(test, sizeof_field(struct ipoib_rx_self, mgid), (size_t)16);
	KUNIT_EXPECT_EQ(test, IPOIB_HARD_LEN, 24);
	KUNIT_EXPECT_EQ(test, IPOIB_GRH_LEN, 40);
}

static bool carried(u32 proto)
{
	static const u16 list[] = { 0x0800, 0x0806, 0x8035, 0x86dd, 0x88ca };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(list); i++)
		if (list[i] == proto)
			return true;
	return false;
}

/* All 65,536 ethertypes: five are carried, also none by a swapped byte order. */
static void hdr_proto(struct kunit *test)
{
	u32 proto, count = 0;

	for (proto = 0; proto <= 0xffff; proto++) {
		KUNIT_EXPECT_EQ(test, ipoib_hdr_proto_ok(cpu_to_be16((u16)proto)),
				carried(proto));
		count += ipoib_hdr_proto_ok(cpu_to_be16((u16)proto));
	}
	KUNIT_EXPECT_EQ(test, count, 5u);
}

struct tx_row {
	const char *name;
	u8 flags, first;
	u16 proto;
	enum ipoib_tx_class class;
};

static const struct tx_row tx_rows[] = {
	{ "IPv4 to a port", 0x00, 0xfe, 0x0800, IPOIB_TX_UNICAST },
	{ "IPv4 to a port with the RC flag", 0x80, 0xfe, 0x0800, IPOIB_TX_UNICAST },
	{ "IPv4 to a group", 0x00, 0xff, 0x0800, IPOIB_TX_MCAST },
	{ "IPv6 to a port", 0x00, 0xfe, 0x86dd, IPOIB_TX_UNICAST },
	{ "IPv6 to a group", 0x00, 0xff, 0x86dd, IPOIB_TX_MCAST },
	{ "ARP request", 0x00, 0xff, 0x0806, IPOIB_TX_MCAST },
	{ "ARP reply", 0x00, 0xfe, 0x0806, IPOIB_TX_UNICAST },
	{ "RARP", 0x00, 0xff, 0x8035, IPOIB_TX_MCAST },
	{ "TIPC", 0x00, 0xfe, 0x88ca, IPOIB_TX_UNICAST },
	{ "flags are no group", 0xff, 0xfe, 0x0800, IPOIB_TX_UNICAST },
	{ "zero GID is a port", 0x00, 0x00, 0x0800, IPOIB_TX_UNICAST },
	{ "VLAN tag to a port", 0x00, 0xfe, 0x8100, IPOIB_TX_BAD_PROTO },
	{ "VLAN tag to a group", 0x00, 0xff, 0x8100, IPOIB_TX_BAD_PROTO },
	{ "IPv4 with its bytes swapped", 0x00, 0xfe, 0x0008, IPOIB_TX_BAD_PROTO },
	{ "ethertype zero", 0x00, 0xfe, 0x0000, IPOIB_TX_BAD_PROTO },
	{ "all ones", 0x00, 0xff, 0xffff, IPOIB_TX_BAD_PROTO },
};

KUNIT_ARRAY_PARAM_DESC(tx, tx_rows, name);

static void hdr_tx(struct kunit *test)
{
	const struct tx_row *r = test->param_value;
	u8 hw[IPOIB_ALEN] = { 0 };

	hw[0] = r->flags;
	hw[4] = r->first;
	KUNIT_EXPECT_EQ(test, (int)ipoib_hdr_tx_class(hw, cpu_to_be16(r->proto)), (int)r->class);
}

struct len_row {
	const char *name;
	u32 len;
	bool ok;
};

static const struct len_row len_rows[] = {
	{ "nothing", 0, false },
	{ "GRH room alone", 40, false },
	{ "one byte short", 43, false },
	{ "empty packet", 44, true },
	{ "one byte", 45, true },
	{ "4 KB packet", 40 + 4096, true },
	{ "all ones", 0xffffffff, true },
};

KUNIT_ARRAY_PARAM_DESC(len, len_rows, name);

static void hdr_rx_len(struct kunit *test)
{
	const struct len_row *r = test->param_value;

	KUNIT_EXPECT_EQ(test, ipoib_hdr_rx_len_ok(r->len), r->ok);
}

#define OWN_QPN		0x000123
#define OWN_LID		0x0010

static const struct ipoib_rx_self self = {
	.qpn = OWN_QPN,
	.lid = OWN_LID,
	.lid_mask = 0xfffc,	/* LMC 2 */
	.guid = { 0x00, 0x02, 0xc9, 0x03, 0x00, 0x77, 0x1a, 0x2b },
	.mgid = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff },
};

/* source and destination GIDs that the rows below choose from */
enum gid_choice { GID_NONE, GID_OWN, GID_OWN_ROUTED, GID_PEER, GID_BCAST, GID_GROUP, GID_NEAR };

static const u8 gids[][IPOIB_GID_LEN] = {
	[GID_OWN] = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0,
		      0x00, 0x02, 0xc9, 0x03, 0x00, 0x77, 0x1a, 0x2b },
	/* the same port under another subnet prefix */
	[GID_OWN_ROUTED] = { 0xfe, 0xc0, 0, 0, 0, 0, 0, 7,
			     0x00, 0x02, 0xc9, 0x03, 0x00, 0x77, 0x1a, 0x2b },
	[GID_PEER] = { 0xfe, 0x80, 0, 0, 0, 0, 0, 0,
		       0x00, 0x02, 0xc9, 0x03, 0x00, 0x77, 0x1a, 0x2c },
	[GID_BCAST] = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0,
			0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff },
	[GID_GROUP] = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0,
			0, 0, 0, 0, 0, 0, 0, 1 },
	/* the broadcast group but for its last bit */
	[GID_NEAR] = { 0xff, 0x12, 0x40, 0x1b, 0xff, 0xff, 0, 0,
		       0, 0, 0, 0, 0xff, 0xff, 0xff, 0xfe },
};

struct rx_row {
	const char *name;
	u32 slid, sqpn;
	enum gid_choice sgid, dgid;
	enum ipoib_rx_class class;
};

static const struct rx_row rx_rows[] = {
	{ "unicast without GRH", 7, 0x42, GID_NONE, GID_NONE, IPOIB_RX_HOST },
	{ "unicast with GRH", 7, 0x42, GID_PEER, GID_OWN, IPOIB_RX_HOST },
	{ "broadcast", 7, 0x42, GID_PEER, GID_BCAST, IPOIB_RX_BROADCAST },
	{ "group", 7, 0x42, GID_PEER, GID_GROUP, IPOIB_RX_MULTICAST },
	{ "one bit off the broadcast", 7, 0x42, GID_PEER, GID_NEAR, IPOIB_RX_MULTICAST },
	{ "without GRH the GID is not looked at", 7, 0x42, GID_NONE, GID_BCAST, IPOIB_RX_HOST },

	{ "own broadcast", OWN_LID, OWN_QPN, GID_OWN, GID_BCAST, IPOIB_RX_ECHO },
	{ "own group packet", OWN_LID, OWN_QPN, GID_OWN, GID_GROUP, IPOIB_RX_ECHO },
	{ "own packet, no GRH", OWN_LID, OWN_QPN, GID_NONE, GID_NONE, IPOIB_RX_ECHO },
	{ "own packet, other prefix", OWN_LID, OWN_QPN, GID_OWN_ROUTED, GID_BCAST,
	  IPOIB_RX_ECHO },
	{ "own unicast", OWN_LID, OWN_QPN, GID_OWN, GID_OWN, IPOIB_RX_ECHO },
	{ "own, last path bit", OWN_LID + 3, OWN_QPN, GID_OWN, GID_BCAST, IPOIB_RX_ECHO },

	{ "next LID is another port", OWN_LID + 4, OWN_QPN, GID_OWN, GID_BCAST,
	  IPOIB_RX_BROADCAST },
	{ "LID before is another port", OWN_LID - 1, OWN_QPN, GID_NONE, GID_NONE,
	  IPOIB_RX_HOST },
	{ "LID beyond 16 bits keeps its low bits", 0x10000 | OWN_LID, OWN_QPN, GID_NONE,
	  GID_NONE, IPOIB_RX_ECHO },
	{ "same QPN on a peer", 7, OWN_QPN, GID_PEER, GID_BCAST, IPOIB_RX_BROADCAST },
	{ "same LID and QPN, GUID of a peer", OWN_LID, OWN_QPN, GID_PEER, GID_BCAST,
	  IPOIB_RX_BROADCAST },
	{ "another QP of this port, broadcast", OWN_LID, OWN_QPN + 1, GID_OWN, GID_BCAST,
	  IPOIB_RX_BROADCAST },
	{ "another QP of this port, unicast", OWN_LID, OWN_QPN - 1, GID_OWN, GID_OWN,
	  IPOIB_RX_HOST },
	{ "largest QPN", OWN_LID, 0xffffff, GID_OWN, GID_GROUP, IPOIB_RX_MULTICAST },
};

KUNIT_ARRAY_PARAM_DESC(rx, rx_rows, name);

static const u8 *gid_of(enum gid_choice choice)
{
	return choice == GID_NONE ? NULL : gids[choice];
}

static void hdr_rx(struct kunit *test)
{
	const struct rx_row *r = test->param_value;
	enum ipoib_rx_class class;

	class = ipoib_hdr_rx_class(&self, r->slid, r->sqpn, gid_of(r->sgid), gid_of(r->dgid));
	KUNIT_EXPECT_EQ(test, (int)class, (int)r->class);
}

/* Each byte of the GUID and of the broadcast MGID decides. */
static void hdr_rx_every_byte(struct kunit *test)
{
	u8 gid[IPOIB_GID_LEN];
	int i;

	for (i = 0; i < IPOIB_GID_LEN; i++) {
		memcpy(gid, gids[GID_OWN], sizeof(gid));
		gid[i] ^= 0x10;
		KUNIT_EXPECT_EQ(test, (int)ipoib_hdr_rx_class(&self, OWN_LID, OWN_QPN, gid,
							      gids[GID_BCAST]),
				(int)(i < 8 ? IPOIB_RX_ECHO : IPOIB_RX_BROADCAST));

		memcpy(gid, gids[GID_BCAST], sizeof(gid));
		gid[i] ^= 0x10;
		KUNIT_EXPECT_EQ(test, (int)ipoib_hdr_rx_class(&self, 7, 0x42, gids[GID_PEER], gid),
				(int)(i ? IPOIB_RX_MULTICAST : IPOIB_RX_HOST));
	}
}

static struct kunit_case ipoib_hdr_cases[] = {
	KUNIT_CASE(hdr_sizes),
	KUNIT_CASE(hdr_proto),
	KUNIT_CASE_PARAM(hdr_tx, tx_gen_params),
	KUNIT_CASE_PARAM(hdr_rx_len, len_gen_params),
	KUNIT_CASE_PARAM(hdr_rx, rx_gen_params),
	KUNIT_CASE(hdr_rx_every_byte),
	{}
};

static struct kunit_suite ipoib_hdr_suite = {
	.name = "ipoib_hdr",
	.test_cases = ipoib_hdr_cases,
};

kunit_test_suite(ipoib_hdr_suite);

MODULE_DESCRIPTION("Unit tests of IPoIB packet classification");
MODULE_LICENSE("GPL");
