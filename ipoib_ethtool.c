// SPDX-License-Identifier: GPL-2.0
/*
 * ethtool: driver information, link, statistics, interrupt moderation.
 *
 * Context: rtnl.
 */
#include "ipoib_ethtool.h"

#include <linux/ethtool.h>
#include <linux/netdevice.h>

#include "ipoib.h"

struct ipoib_ethtool_stat {
	char name[ETH_GSTRING_LEN];
	size_t offset;
};

#define IPOIB_STAT(field) \
	{ #field, offsetof(struct rtnl_link_stats64, field) }

static const struct ipoib_ethtool_stat ipoib_ethtool_stats[] = {
	IPOIB_STAT(rx_packets),
	IPOIB_STAT(tx_packets),
	IPOIB_STAT(rx_bytes),
	IPOIB_STAT(tx_bytes),
	IPOIB_STAT(tx_errors),
	IPOIB_STAT(rx_dropped),
	IPOIB_STAT(tx_dropped),
	IPOIB_STAT(multicast),
};

static void ethtool_drvinfo(struct net_device *dev,
			    struct ethtool_drvinfo *info)
{
	struct ib_device *ca = ipoib_priv(dev)->ca;

	ib_get_device_fw_str(ca, info->fw_version);
	if (ca->dev.parent)
		strscpy(info->bus_info, dev_name(ca->dev.parent),
			sizeof(info->bus_info));
	strscpy(info->driver, IPOIB_DRV_NAME, sizeof(info->driver));
}

static int ethtool_sset_count(struct net_device *dev, int sset)
{
	return sset == ETH_SS_STATS ? ARRAY_SIZE(ipoib_ethtool_stats) :
				      -EOPNOTSUPP;
}

static void ethtool_strings(struct net_device *dev, u32 sset, u8 *data)
{
	int i;

	if (sset != ETH_SS_STATS)
		return;
	for (i = 0; i < ARRAY_SIZE(ipoib_ethtool_stats); i++)
		ethtool_puts(&data, ipoib_ethtool_stats[i].name);
}

static void ethtool_stats(struct net_device *dev, struct ethtool_stats *stats,
			  u64 *data)
{
	struct rtnl_link_stats64 sums;
	int i;

	dev_get_stats(dev, &sums);
	for (i = 0; i < ARRAY_SIZE(ipoib_ethtool_stats); i++)
		data[i] = *(u64 *)((void *)&sums +
				   ipoib_ethtool_stats[i].offset);
}

/* Mb/s of one lane */
static u32 ethtool_lane_speed(u16 speed)
{
	switch (speed) {
	case IB_SPEED_SDR:
		return 2500;
	case IB_SPEED_DDR:
		return 5000;
	case IB_SPEED_QDR:
	case IB_SPEED_FDR10:
		return 10000;
	case IB_SPEED_FDR:
		return 14000;
	case IB_SPEED_EDR:
		return 25000;
	case IB_SPEED_HDR:
		return 50000;
	case IB_SPEED_NDR:
		return 100000;
	case IB_SPEED_XDR:
		return 200000;
	}
	return 0;
}

static int ethtool_link_ksettings(struct net_device *dev,
				  struct ethtool_link_ksettings *cmd)
{
	struct ipoib_dev *d = ipoib_priv(dev);
	struct ib_port_attr attr;
	u32 speed = 0;
	int width;

	cmd->base.port = PORT_OTHER;
	cmd->base.autoneg = AUTONEG_ENABLE;
	cmd->base.phy_address = 255;
	cmd->base.speed = SPEED_UNKNOWN;
	cmd->base.duplex = DUPLEX_UNKNOWN;
	if (!netif_carrier_ok(dev) || ib_query_port(d->ca, d->port, &attr))
		return 0;

	cmd->base.duplex = DUPLEX_FULL;
	width = ib_width_enum_to_int(attr.active_width);
	if (width > 0)
		speed = ethtool_lane_speed(attr.active_speed) * width;
	if (speed)
		cmd->base.speed = speed;
	return 0;
}

static int ethtool_get_coalesce(struct net_device *dev,
				struct ethtool_coalesce *coal,
				struct kernel_ethtool_coalesce *kcoal,
				struct netlink_ext_ack *extack)
{
	struct ipoib_dev *d = ipoib_priv(dev);

	coal->rx_coalesce_usecs = d->rxq.mod_usecs;
	coal->rx_max_coalesced_frames = d->rxq.mod_frames;
	coal->tx_coalesce_usecs = d->txq.mod_usecs;
	coal->tx_max_coalesced_frames = d->txq.mod_frames;
	return 0;
}

static int ethtool_moderate(struct ib_cq *cq, u32 frames, u32 usecs,
			    u16 *now_frames, u16 *now_usecs)
{
	int err;

	if (frames == *now_frames && usecs == *now_usecs)
		return 0;
	err = rdma_set_cq_moderation(cq, frames, usecs);
	if (err)
		return err;
	*now_frames = frames;
	*now_usecs = usecs;
	return 0;
}

static int ethtool_set_coalesce(struct net_device *dev,
				struct ethtool_coalesce *coal,
				struct kernel_ethtool_coalesce *kcoal,
				struct netlink_ext_ack *extack)
{
	struct ipoib_dev *d = ipoib_priv(dev);
	u16 frames = d->rxq.mod_frames;
	u16 usecs = d->rxq.mod_usecs;
	int err;

	if (coal->rx_coalesce_usecs > U16_MAX ||
	    coal->rx_max_coalesced_frames > U16_MAX ||
	    coal->tx_coalesce_usecs > U16_MAX ||
	    coal->tx_max_coalesced_frames > U16_MAX) {
		NL_SET_ERR_MSG(extack, "moderation is limited to 65535");
		return -EINVAL;
	}

	err = ethtool_moderate(d->rxq.cq, coal->rx_max_coalesced_frames,
			       coal->rx_coalesce_usecs, &d->rxq.mod_frames,
			       &d->rxq.mod_usecs);
	if (err)
		goto err_rx;
	err = ethtool_moderate(d->txq.cq, coal->tx_max_coalesced_frames,
			       coal->tx_coalesce_usecs, &d->txq.mod_frames,
			       &d->txq.mod_usecs);
	if (err)
		goto err_tx;
	ipoib_cm_moderate(d);
	return 0;

err_tx:
	/* all of it or nothing */
	ethtool_moderate(d->rxq.cq, frames, usecs, &d->rxq.mod_frames,
			 &d->rxq.mod_usecs);
err_rx:
	NL_SET_ERR_MSG(extack, "the HCA does not take these values");
	return err;
}

const struct ethtool_ops ipoib_ethtool_ops = {
	.supported_coalesce_params = ETHTOOL_COALESCE_USECS |
				     ETHTOOL_COALESCE_MAX_FRAMES,
	.get_drvinfo = ethtool_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = ethtool_link_ksettings,
	.get_sset_count = ethtool_sset_count,
	.get_strings = ethtool_strings,
	.get_ethtool_stats = ethtool_stats,
	.get_coalesce = ethtool_get_coalesce,
	.set_coalesce = ethtool_set_coalesce,
	.get_ts_info = ethtool_op_get_ts_info,
};
