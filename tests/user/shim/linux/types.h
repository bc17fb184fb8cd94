/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space stand-in for the kernel header of this name: just what the pure
 * files of the driver need to be compiled into an ordinary program.
 */
#ifndef _SHIM_LINUX_TYPES_H
#define _SHIM_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef int8_t s8;
typedef int16_t s16;
typedef int32_t s32;
typedef long long s64;

typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;

#define sizeof_field(type, member)	sizeof(((type *)0)->member)

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#endif /* _SHIM_LINUX_TYPES_H */
