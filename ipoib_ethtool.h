/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_ETHTOOL_H
#define _IPOIB_ETHTOOL_H

#include <linux/ethtool.h>

extern const struct ethtool_ops ipoib_ethtool_ops;

#endif /* _IPOIB_ETHTOOL_H */
