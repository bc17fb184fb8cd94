/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_CMA_H
#define _IPOIB_CMA_H

#include <linux/types.h>

struct ib_device;
struct net_device;
struct sockaddr;
union ib_gid;

struct net_device *ipoib_cma_find(struct ib_device *ca, u32 port, u16 pkey,
				  const union ib_gid *gid,
				  const struct sockaddr *addr, void *data);

#endif /* _IPOIB_CMA_H */
