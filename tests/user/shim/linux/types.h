/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space stand-in for the kernel header of this name: just what the pure
 * files of the driver need to be compiled into an ordinary program.
 */
#ifndef _SHIM_LINUX_TYPES_H
#define _SHIM_LINUX_TYPES_H

#include <stdbool.h>
#include <stddef.h>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;

typedef u16 __be16;
typedef u32 __be32;
typedef u64 __be64;

#define sizeof_field(type, member)	sizeof(((type *)0)->member)

#define __printf(a, b)	__attribute__((format(printf, a, b)))

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#endif /* _SHIM_LINUX_TYPES_H */
