// SPDX-License-Identifier: GPL-2.0
/*
 * Statistics: the counters that the rings keep, in the two forms in which the
 * stack asks for them.  Drops outside the rings are counted by the core.
 *
 * Context: any; the rings guard their counters.
 */
#include "ipoib_stats.h"

#include <net/netdev_queues.h>

#include "ipoib.h"

/**
 * ipoib_get_stats64 - ndo_get_stats64
 * @dev: netdev of an interface
 * @s: sums to add to
 *
 * Context: any.
 */
void ipoib_get_stats64(struct net_device *dev, struct rtnl_link_stats64 *s)
{
	struct ipoib_dev *d = ipoib_priv(dev);

	ipoib_tx_stats(&d->txq, s);
	ipoib_rx_stats(&d->rxq, s);
	ipoib_cm_stats(d, s);
}

static void stats_queue_rx(struct net_device *dev, int idx,
			   struct netdev_queue_stats_rx *stats)
{
	struct rtnl_link_stats64 sums = {};

	ipoib_rx_stats(&ipoib_priv(dev)->rxq, &sums);
	stats->packets = sums.rx_packets;
	stats->bytes = sums.rx_bytes;
}

static void stats_queue_tx(struct net_device *dev, int idx,
			   struct netdev_queue_stats_tx *stats)
{
	struct rtnl_link_stats64 sums = {};

	ipoib_tx_stats(&ipoib_priv(dev)->txq, &sums);
	stats->packets = sums.tx_packets;
	stats->bytes = sums.tx_bytes;
}

/* What no queue of the stack has seen: connections have queues of their own */
static void stats_base(struct net_device *dev, struct netdev_queue_stats_rx *rx,
		       struct netdev_queue_stats_tx *tx)
{
	struct rtnl_link_stats64 sums = {};

	ipoib_cm_stats(ipoib_priv(dev), &sums);
	rx->packets = sums.rx_packets;
	rx->bytes = sums.rx_bytes;
	tx->packets = sums.tx_packets;
	tx->bytes = sums.tx_bytes;
}

const struct netdev_stat_ops ipoib_stat_ops = {
	.get_queue_stats_rx = stats_queue_rx,
	.get_queue_stats_tx = stats_queue_tx,
	.get_base_stats = stats_base,
};
