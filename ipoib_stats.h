/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_STATS_H
#define _IPOIB_STATS_H

struct net_device;
struct netdev_stat_ops;
struct rtnl_link_stats64;

extern const struct netdev_stat_ops ipoib_stat_ops;

void ipoib_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *s);

#endif /* _IPOIB_STATS_H */
