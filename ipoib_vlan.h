/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_VLAN_H
#define _IPOIB_VLAN_H

#include <linux/types.h>

struct ipoib_dev;
struct list_head;
struct net_device;
struct netlink_ext_ack;

void ipoib_vlan_link(struct ipoib_dev *d);
void ipoib_vlan_unlink(struct ipoib_dev *d);
void ipoib_vlan_follow(struct ipoib_dev *d, bool up);
void ipoib_vlan_set_guid(struct ipoib_dev *d, __be64 guid);
void ipoib_vlan_unregister_all(struct ipoib_dev *d, struct list_head *list);
int ipoib_vlan_register(struct ipoib_dev *parent, struct net_device *dev,
			u16 pkey, struct netlink_ext_ack *extack);
int ipoib_vlan_create(struct ipoib_dev *parent, u16 pkey);
int ipoib_vlan_delete(struct ipoib_dev *parent, u16 pkey);

#endif /* _IPOIB_VLAN_H */
