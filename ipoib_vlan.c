// SPDX-License-Identifier: GPL-2.0
/*
 * Parents and children: one interface for each further partition of a port.
 *
 * A child is an interface like its parent, with a queue pair and a worker of
 * its own; it shares only the port. This room links the two, makes children and
 * removes them. A parent never goes before its children do.
 *
 * Context: rtnl for all calls; the list of children is read under RCU by the
 * event handler.
 */
#include "ipoib_vlan.h"

#include <linux/netdevice.h>
#include <linux/netlink.h>
#include <linux/rculist.h>
#include <linux/rtnetlink.h>

#include "ipoib.h"
#include "ipoib_ctl.h"
#include "ipoib_main.h"
#include "ipoib_sysfs.h"

/**
 * ipoib_vlan_link - let a parent know its new child
 * @d: child being registered
 *
 * Context: rtnl.
 */
void ipoib_vlan_link(struct ipoib_dev *d)
{
	ASSERT_RTNL();
	list_add_tail_rcu(&d->sibling, &d->parent->children);
}

/**
 * ipoib_vlan_unlink - let a parent forget its child
 * @d: child being unregistered
 *
 * Context: rtnl.  Waits for readers, so that no event reaches the child later.
 */
void ipoib_vlan_unlink(struct ipoib_dev *d)
{
	ASSERT_RTNL();
	list_del_rcu(&d->sibling);
	synchronize_net();
}

/**
 * ipoib_vlan_follow - children go up and down with their parent
 * @d: parent; nothing happens for a child
 * @up: direction
 *
 * Context: rtnl.
 */
void ipoib_vlan_follow(struct ipoib_dev *d, bool up)
{
	struct ipoib_dev *child;
	unsigned int flags;

	ASSERT_RTNL();
	list_for_each_entry(child, &d->children, sibling) {
		flags = dev_get_flags(child->dev);
		if (up == !!(flags & IFF_UP))
			continue;
		dev_change_flags(child->dev, flags ^ IFF_UP, NULL);
	}
}

/**
 * ipoib_vlan_set_guid - give an interface and its children another GUID
 * @d: interface
 * @guid: interface id of the new GID
 *
 * Context: rtnl.
 */
void ipoib_vlan_set_guid(struct ipoib_dev *d, __be64 guid)
{
	struct ipoib_dev *child;

	ASSERT_RTNL();
	ipoib_ctl_set_guid(d, guid);
	list_for_each_entry(child, &d->children, sibling)
		ipoib_ctl_set_guid(child, guid);
}

/**
 * ipoib_vlan_unregister_all - queue all children for unregistration
 * @d: parent
 * @list: where to queue them, ahead of their parent
 *
 * Context: rtnl.
 */
void ipoib_vlan_unregister_all(struct ipoib_dev *d, struct list_head *list)
{
	struct ipoib_dev *child;

	ASSERT_RTNL();
	list_for_each_entry(child, &d->children, sibling)
		unregister_netdevice_queue(child->dev, list);
}

/**
 * ipoib_vlan_register - make a netdev a child and register it
 * @parent: parent interface, not a child itself
 * @dev: fresh netdev that went through ipoib_setup()
 * @pkey: P_Key with its full-member bit
 * @extack: where to say why not, or NULL
 *
 * Context: rtnl, may sleep.
 * Return: 0 or a negative errno; @dev is still the caller's then.
 */
int ipoib_vlan_register(struct ipoib_dev *parent, struct net_device *dev,
			u16 pkey, struct netlink_ext_ack *extack)
{
	struct ipoib_dev *d = ipoib_priv(dev);
	int err;

	ASSERT_RTNL();

	d->parent = parent;
	d->hca = parent->hca;
	d->ca = parent->ca;
	d->port = parent->port;
	d->port_mtu = parent->port_mtu;
	d->pkey = pkey;
	if (!d->admin_guid)
		d->admin_guid = parent->admin_guid;
	dev->sysfs_groups[0] = &ipoib_child_group;

	err = register_netdevice(dev);
	if (err) {
		NL_SET_ERR_MSG(extack, "cannot register the child interface");
		return err;
	}
	/* the P_Key may have come or gone while nobody told the child */
	ipoib_kick(d, IPOIB_EV_PKEY | IPOIB_EV_GID);
	return 0;
}

/* The child of ipoib_vlan_create(): there is one at most */
static struct ipoib_dev *vlan_find(struct ipoib_dev *parent, u16 pkey)
{
	struct ipoib_dev *child;

	list_for_each_entry(child, &parent->children, sibling)
		if (child->by_sysfs && child->pkey == pkey)
			return child;
	return NULL;
}

/* The child of a partition, made by netlink, if there is no doubt which one */
static struct ipoib_dev *vlan_find_only(struct ipoib_dev *parent, u16 pkey)
{
	struct ipoib_dev *child, *found = ERR_PTR(-ENODEV);

	list_for_each_entry(child, &parent->children, sibling) {
		if (child->pkey != pkey)
			continue;
		if (!IS_ERR(found))
			return ERR_PTR(-ENOTUNIQ);
		found = child;
	}
	return found;
}

/**
 * ipoib_vlan_create - make a child for a partition, named after parent and key
 * @parent: parent interface
 * @pkey: P_Key with its full-member bit
 *
 * Context: rtnl, may sleep.
 * Return: 0; -ENOTUNIQ when the parent or one of its children has that P_Key;
 * -EEXIST when the name is taken; or another negative errno.
 */
int ipoib_vlan_create(struct ipoib_dev *parent, u16 pkey)
{
	char name[IFNAMSIZ];
	struct net_device *dev;
	int err;

	ASSERT_RTNL();

	if (pkey == parent->pkey || vlan_find(parent, pkey))
		return -ENOTUNIQ;

	snprintf(name, sizeof(name), "%.10s.%04x", parent->dev->name, pkey);
	dev = alloc_netdev(sizeof(struct ipoib_dev), name, NET_NAME_PREDICTABLE,
			   ipoib_setup);
	if (!dev)
		return -ENOMEM;

	dev_net_set(dev, dev_net(parent->dev));
	ipoib_priv(dev)->by_sysfs = true;
	err = ipoib_vlan_register(parent, dev, pkey, NULL);
	if (err)
		free_netdev(dev);
	return err;
}

/**
 * ipoib_vlan_delete - remove the child of a partition
 * @parent: parent interface
 * @pkey: P_Key with its full-member bit
 *
 * That of ipoib_vlan_create() goes first; one that netlink has made goes when
 * it is the only one.
 *
 * Context: rtnl; the child is gone when rtnl is released.
 * Return: 0; -ENODEV when there is no such child, or -ENOTUNIQ when there are
 * several.
 */
int ipoib_vlan_delete(struct ipoib_dev *parent, u16 pkey)
{
	struct ipoib_dev *child;

	ASSERT_RTNL();

	child = vlan_find(parent, pkey) ?: vlan_find_only(parent, pkey);
	if (IS_ERR(child))
		return PTR_ERR(child);
	unregister_netdevice(child->dev);
	return 0;
}
