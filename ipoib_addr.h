/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The 20-byte IPoIB link-layer address and the P_Keys and multicast GIDs in
 * it (RFC 4391 sections 4 and 9.1).
 *
 * Pure code: values in, values out, no locks, any context.  The same source is
 * built into the module, into the user-space unit tests and into KUnit.
 *
 *	byte 0		capability flags, 0x80: RC connected mode accepted
 *	byte 1..3	queue pair number, big endian; ff ff ff for a group
 *	byte 4..19	port GID, or the MGID of a group
 */
#ifndef _IPOIB_ADDR_H
#define _IPOIB_ADDR_H

#include <linux/string.h>
#include <linux/types.h>

#define IPOIB_ALEN		20
#define IPOIB_GID_LEN		16
#define IPOIB_QPN_MASK		0x00ffffffu
#define IPOIB_MCAST_QPN		0x00ffffffu
#define IPOIB_PKEY_FULL		0x8000

/* offsets into the 20 bytes */
#define IPOIB_ADDR_GID		4
#define IPOIB_ADDR_SCOPE	5
#define IPOIB_ADDR_PKEY		8
#define IPOIB_ADDR_GUID		12

/**
 * ipoib_addr_gid - the GID or MGID inside a link-layer address
 * @hw: the 20 bytes
 *
 * Return: pointer to its last 16 bytes.
 */
static inline const u8 *ipoib_addr_gid(const u8 *hw)
{
	return hw + IPOIB_ADDR_GID;
}

/**
 * ipoib_addr_qpn - the queue pair number inside a link-layer address
 * @hw: the 20 bytes
 *
 * Return: the 24-bit number; the flag octet is not part of it.
 */
static inline u32 ipoib_addr_qpn(const u8 *hw)
{
	return (u32)hw[1] << 16 | (u32)hw[2] << 8 | hw[3];
}

/**
 * ipoib_addr_is_mcast - does the address name a group?
 * @hw: the 20 bytes
 *
 * Return: true for any multicast GID, the broadcast group included.
 */
static inline bool ipoib_addr_is_mcast(const u8 *hw)
{
	return hw[IPOIB_ADDR_GID] == 0xff;
}

/**
 * ipoib_addr_guid - the interface id inside a link-layer address
 * @hw: the 20 bytes of a port
 *
 * Return: the last 8 bytes, in the order of the wire.
 */
static inline __be64 ipoib_addr_guid(const u8 *hw)
{
	__be64 guid;

	memcpy(&guid, hw + IPOIB_ADDR_GUID, sizeof(guid));
	return guid;
}

/**
 * ipoib_addr_pkey - the P_Key inside a group address
 * @hw: the 20 bytes of a group
 *
 * Return: the P_Key in host order.
 */
static inline u16 ipoib_addr_pkey(const u8 *hw)
{
	return (u16)(hw[IPOIB_ADDR_PKEY] << 8 | hw[IPOIB_ADDR_PKEY + 1]);
}

/**
 * ipoib_addr_set_pkey - write a P_Key into a group address
 * @hw: the 20 bytes of a group
 * @pkey: P_Key in host order
 */
static inline void ipoib_addr_set_pkey(u8 *hw, u16 pkey)
{
	hw[IPOIB_ADDR_PKEY] = pkey >> 8;
	hw[IPOIB_ADDR_PKEY + 1] = pkey & 0xff;
}

void ipoib_addr_build(u8 *hw, u8 flags, u32 qpn, const u8 *gid);
void ipoib_addr_broadcast(u8 *hw, u16 pkey);
bool ipoib_addr_in_partition(const u8 *hw, const u8 *bcast);
bool ipoib_addr_is_solicited_node(const u8 *hw);
void ipoib_addr_all_nodes(u8 *hw);
bool ipoib_addr_may_become(const u8 *hw, const u8 *wish);
bool ipoib_addr_gid_is_zero(const u8 *gid);
bool ipoib_pkey_valid(u16 pkey);
int ipoib_pkey_parse(long long val, u16 *pkey);

#endif /* _IPOIB_ADDR_H */
