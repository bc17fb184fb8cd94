/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_MAIN_H
#define _IPOIB_MAIN_H

#include <linux/netdevice.h>

struct ib_client;
struct ipoib_dev;

extern struct ib_client ipoib_client;
extern int ipoib_sendq_size;
extern int ipoib_recvq_size;

void ipoib_setup(struct net_device *dev);
void ipoib_set_features(struct ipoib_dev *d);
void ipoib_set_address(struct ipoib_dev *d);

#endif /* _IPOIB_MAIN_H */
