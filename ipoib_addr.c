// SPDX-License-Identifier: GPL-2.0
/*
 * The 20-byte link-layer address: see ipoib_addr.h.  What is not called for
 * every packet lives here.
 */
#include "ipoib_addr.h"

#include <linux/errno.h>
#include <linux/string.h>

/* RFC 4391 section 4: link-local scope, IPv4 signature, all-ones group */
static const u8 ipoib_broadcast_template[IPOIB_ALEN] = {
	0x00, 0xff, 0xff, 0xff,
	0xff, 0x12, 0x40, 0x1b, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff,
};

/**
 * ipoib_addr_build - put a unicast link-layer address together
 * @hw: 20 bytes to fill
 * @flags: capability octet
 * @qpn: queue pair number, only its low 24 bits count
 * @gid: 16 bytes of port GID
 *
 * Context: any.
 */
void ipoib_addr_build(u8 *hw, u8 flags, u32 qpn, const u8 *gid)
{
	hw[0] = flags;
	hw[1] = qpn >> 16 & 0xff;
	hw[2] = qpn >> 8 & 0xff;
	hw[3] = qpn & 0xff;
	memcpy(hw + IPOIB_ADDR_GID, gid, IPOIB_GID_LEN);
}

/**
 * ipoib_addr_broadcast - the IPv4 broadcast group of a partition
 * @hw: 20 bytes to fill
 * @pkey: P_Key in host order; the full-member bit is forced on
 *
 * Context: any.
 */
void ipoib_addr_broadcast(u8 *hw, u16 pkey)
{
	memcpy(hw, ipoib_broadcast_template, IPOIB_ALEN);
	ipoib_addr_set_pkey(hw, pkey | IPOIB_PKEY_FULL);
}

/**
 * ipoib_addr_in_partition - may a group of the device list be joined?
 * @hw: 20 bytes of a group, as the stack mapped it
 * @bcast: broadcast address of the interface
 *
 * Flags, QPN, scope and P_Key have to be those of the interface; the signature
 * tells IPv4 from IPv6 and is free in its first octet.
 *
 * Context: any.
 * Return: true when the group belongs to the interface.
 */
bool ipoib_addr_in_partition(const u8 *hw, const u8 *bcast)
{
	return !memcmp(hw, bcast, 6) && !memcmp(hw + 7, bcast + 7, 3);
}

/**
 * ipoib_addr_is_solicited_node - does a group serve IPv6 neighbour discovery?
 * @hw: 20 bytes of a group
 *
 * Context: any.
 * Return: true for the MGID of ff02::1:ffxx:xxxx, in any scope and partition.
 */
bool ipoib_addr_is_solicited_node(const u8 *hw)
{
	static const u8 prefix[] = { 0, 0, 0, 0, 0, 1, 0xff };

	return hw[6] == 0x60 && hw[7] == 0x1b &&
	       !memcmp(hw + 10, prefix, sizeof(prefix));
}

/**
 * ipoib_addr_all_nodes - turn an IPv6 group into that of all nodes
 * @hw: 20 bytes of an IPv6 group; scope and partition stay
 *
 * Context: any.
 */
void ipoib_addr_all_nodes(u8 *hw)
{
	static const u8 group[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 1 };

	memcpy(hw + 10, group, sizeof(group));
}

/**
 * ipoib_addr_gid_is_zero - is a GID not set at all?
 * @gid: 16 bytes
 *
 * Context: any.
 * Return: true when all bytes are zero.
 */
bool ipoib_addr_gid_is_zero(const u8 *gid)
{
	int i;

	for (i = 0; i < IPOIB_GID_LEN; i++)
		if (gid[i])
			return false;
	return true;
}

/**
 * ipoib_addr_may_become - may an administrator turn one address into another?
 * @hw: address of an interface, 20 bytes
 * @wish: address wanted, 20 bytes
 *
 * Flags and queue pair are what they are, and the subnet prefix is the SM's.
 *
 * Context: any.
 * Return: true when nothing but the GUID differs, and that is not zero.
 */
bool ipoib_addr_may_become(const u8 *hw, const u8 *wish)
{
	return !memcmp(hw, wish, IPOIB_ADDR_GUID) && ipoib_addr_guid(wish);
}

/**
 * ipoib_pkey_valid - can an interface live in this partition?
 * @pkey: P_Key in host order, with or without the full-member bit
 *
 * Context: any.
 * Return: false for partition 0, which the IBTA leaves invalid.
 */
bool ipoib_pkey_valid(u16 pkey)
{
	return (pkey & ~IPOIB_PKEY_FULL) != 0;
}

/**
 * ipoib_pkey_parse - turn what an administrator wrote into a P_Key
 * @val: the number as written
 * @pkey: result, with the full-member bit set
 *
 * Both forms of a key name the same partition: 1 and 0x8001 give 0x8001.
 *
 * Context: any.
 * Return: 0, or -EINVAL for a number that is no P_Key; @pkey is untouched then.
 */
int ipoib_pkey_parse(long long val, u16 *pkey)
{
	if (val <= 0 || val > 0xffff || !ipoib_pkey_valid((u16)val))
		return -EINVAL;

	*pkey = (u16)val | IPOIB_PKEY_FULL;
	return 0;
}
