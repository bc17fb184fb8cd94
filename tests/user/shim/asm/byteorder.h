/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space stand-in for the kernel header of this name.  The conversions are
 * written out so that they stay constant expressions: case labels use them.
 */
#ifndef _SHIM_ASM_BYTEORDER_H
#define _SHIM_ASM_BYTEORDER_H

#include <linux/types.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define cpu_to_be16(x)	((__be16)(((x) & 0x00ff) << 8 | ((x) & 0xff00) >> 8))
#define cpu_to_be32(x)	((__be32)(((u32)(x) & 0x000000ffu) << 24 | \
				  ((u32)(x) & 0x0000ff00u) << 8 | \
				  ((u32)(x) & 0x00ff0000u) >> 8 | \
				  ((u32)(x) & 0xff000000u) >> 24))
#else
#define cpu_to_be16(x)	((__be16)(x))
#define cpu_to_be32(x)	((__be32)(x))
#endif
#define be16_to_cpu(x)	((u16)cpu_to_be16(x))
#define be32_to_cpu(x)	((u32)cpu_to_be32(x))

#endif /* _SHIM_ASM_BYTEORDER_H */
