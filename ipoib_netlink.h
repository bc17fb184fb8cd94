/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_NETLINK_H
#define _IPOIB_NETLINK_H

#include <linux/types.h>

struct ipoib_dev;
struct rtnl_link_ops;

extern struct rtnl_link_ops ipoib_link_ops;

void ipoib_set_umcast(struct ipoib_dev *d, bool on);

#endif /* _IPOIB_NETLINK_H */
