/* SPDX-License-Identifier: GPL-2.0 */
/* User-space stand-in for the kernel header of this name. */
#ifndef _SHIM_LINUX_MODULE_H
#define _SHIM_LINUX_MODULE_H

#define MODULE_LICENSE(text)
#define MODULE_DESCRIPTION(text)

#endif /* _SHIM_LINUX_MODULE_H */
