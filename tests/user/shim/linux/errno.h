/* SPDX-License-Identifier: GPL-2.0 */
/*
 * User-space stand-in for the kernel header of this name.  It must not go
 * through <errno.h>: that one comes back here and would find nothing.
 */
#ifndef _SHIM_LINUX_ERRNO_H
#define _SHIM_LINUX_ERRNO_H

#include <asm/errno.h>

#endif /* _SHIM_LINUX_ERRNO_H */
