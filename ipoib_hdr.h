/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Headers of a packet and what they say about it (RFC 4391 section 6).
 *
 * Pure code, hot: all of it is inline and looks at values only.  The same
 * source is built into the module, the user-space unit tests and KUnit.
 *
 * As the stack sees a packet:	[20 B pseudo header][4 B encapsulation][packet]
 * On the wire:			[40 B GRH, maybe][4 B encapsulation][packet]
 */
#ifndef _IPOIB_HDR_H
#define _IPOIB_HDR_H

#include <linux/string.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#include "ipoib_addr.h"

#define IPOIB_ENCAP_LEN		4
#define IPOIB_PSEUDO_LEN	20
#define IPOIB_HARD_LEN		(IPOIB_PSEUDO_LEN + IPOIB_ENCAP_LEN)
#define IPOIB_GRH_LEN		40

#define IPOIB_P_IPV4		0x0800
#define IPOIB_P_ARP		0x0806
#define IPOIB_P_RARP		0x8035
#define IPOIB_P_IPV6		0x86dd
#define IPOIB_P_TIPC		0x88ca

/**
 * struct ipoib_encap - the header in front of every packet on the wire
 * @proto: ethertype
 * @reserved: sent as zero, ignored on receive
 */
struct ipoib_encap {
	__be16 proto;
	__be16 reserved;
};

/**
 * struct ipoib_pseudo - destination of a packet between stack and driver
 * @hwaddr: link-layer address; never on the wire
 */
struct ipoib_pseudo {
	u8 hwaddr[IPOIB_PSEUDO_LEN];
};

/**
 * enum ipoib_tx_class - what to do with a packet handed over by the stack
 * @IPOIB_TX_UNICAST: to one port, over its path
 * @IPOIB_TX_MCAST: to a group
 * @IPOIB_TX_BAD_PROTO: not a protocol that IPoIB carries
 */
enum ipoib_tx_class {
	IPOIB_TX_UNICAST,
	IPOIB_TX_MCAST,
	IPOIB_TX_BAD_PROTO,
};

/**
 * enum ipoib_rx_class - what a received UD packet is
 * @IPOIB_RX_HOST: sent to this port
 * @IPOIB_RX_BROADCAST: sent to the broadcast group
 * @IPOIB_RX_MULTICAST: sent to another group
 * @IPOIB_RX_ECHO: our own group packet, brought back by the fabric
 */
enum ipoib_rx_class {
	IPOIB_RX_HOST,
	IPOIB_RX_BROADCAST,
	IPOIB_RX_MULTICAST,
	IPOIB_RX_ECHO,
};

/**
 * struct ipoib_rx_self - who we are, as needed to know our own packets
 * @qpn: own UD queue pair
 * @lid: own base LID with LMC path bits off
 * @lid_mask: LID bits that count (LMC bits are clear)
 * @guid: interface id of the own GID, 8 bytes
 * @mgid: broadcast MGID, 16 bytes
 */
struct ipoib_rx_self {
	u32 qpn;
	u16 lid;
	u16 lid_mask;
	u8 guid[8];
	u8 mgid[IPOIB_GID_LEN];
};

/**
 * ipoib_hdr_proto_ok - does IPoIB carry this ethertype?
 * @proto: as in the encapsulation header
 *
 * Return: true for IPv4, IPv6, ARP, RARP and TIPC.
 */
static inline bool ipoib_hdr_proto_ok(__be16 proto)
{
	switch (proto) {
	case cpu_to_be16(IPOIB_P_IPV4):
	case cpu_to_be16(IPOIB_P_IPV6):
	case cpu_to_be16(IPOIB_P_ARP):
	case cpu_to_be16(IPOIB_P_RARP):
	case cpu_to_be16(IPOIB_P_TIPC):
		return true;
	}
	return false;
}

/**
 * ipoib_hdr_tx_class - classify a packet to be sent
 * @hw: its destination, 20 bytes
 * @proto: its ethertype
 *
 * Return: the class.
 */
static inline enum ipoib_tx_class ipoib_hdr_tx_class(const u8 *hw, __be16 proto)
{
	if (!ipoib_hdr_proto_ok(proto))
		return IPOIB_TX_BAD_PROTO;
	return ipoib_addr_is_mcast(hw) ? IPOIB_TX_MCAST : IPOIB_TX_UNICAST;
}

/**
 * ipoib_hdr_rx_len_ok - is a UD completion long enough to be a packet?
 * @byte_len: as reported by the HCA, the 40 GRH bytes included
 *
 * Return: true when at least the encapsulation header arrived.
 */
static inline bool ipoib_hdr_rx_len_ok(u32 byte_len)
{
	return byte_len >= IPOIB_GRH_LEN + IPOIB_ENCAP_LEN;
}

/**
 * ipoib_hdr_rx_class - classify a received UD packet
 * @self: own identity
 * @slid: source LID of the completion
 * @sqpn: source queue pair of the completion
 * @sgid: source GID in the GRH, or NULL when the packet came without one
 * @dgid: destination GID in the GRH; not looked at without @sgid
 *
 * An echo has our LID, our queue pair and, where it can be seen, our GUID.
 *
 * Return: the class.
 */
static inline enum ipoib_rx_class
ipoib_hdr_rx_class(const struct ipoib_rx_self *self, u32 slid, u32 sqpn,
		   const u8 *sgid, const u8 *dgid)
{
	if (unlikely(sqpn == self->qpn) &&
	    (slid & self->lid_mask) == self->lid &&
	    (!sgid || !memcmp(sgid + 8, self->guid, 8)))
		return IPOIB_RX_ECHO;

	if (!sgid || dgid[0] != 0xff)
		return IPOIB_RX_HOST;
	if (!memcmp(dgid, self->mgid, IPOIB_GID_LEN))
		return IPOIB_RX_BROADCAST;
	return IPOIB_RX_MULTICAST;
}

#endif /* _IPOIB_HDR_H */
