/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_XMIT_H
#define _IPOIB_XMIT_H

#include <linux/netdevice.h>

netdev_tx_t ipoib_xmit(struct sk_buff *skb, struct net_device *dev);

extern const struct header_ops ipoib_header_ops;

#endif /* _IPOIB_XMIT_H */
