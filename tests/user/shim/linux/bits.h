/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space stand-in for the kernel header of this name.
 */
#ifndef _SHIM_LINUX_BITS_H
#define _SHIM_LINUX_BITS_H

#define BIT(nr)		(1UL << (nr))

#endif /* _SHIM_LINUX_BITS_H */
