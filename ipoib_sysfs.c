// SPDX-License-Identifier: GPL-2.0
/*
 * Files in /sys/class/net/<interface>/: pkey, mode, umcast; create_child and
 * delete_child of a parent; parent of a child.
 *
 * The files are there before user space hears of the interface, as the groups
 * are part of its registration.  Strings are parsed here, everything else is
 * done by the setters of other rooms.
 *
 * Context: process.  Writers take rtnl by trying, since the removal of a netdev
 * waits for them while it holds rtnl.
 */
#include "ipoib_sysfs.h"

#include <linux/capability.h>
#include <linux/device.h>
#include <linux/module.h>
#include <linux/net.h>
#include <linux/rtnetlink.h>
#include <linux/sysfs.h>

#include "ipoib.h"
#include "ipoib_netlink.h"
#include "ipoib_vlan.h"

static struct ipoib_dev *dev_to_ipoib(struct device *dev)
{
	return ipoib_priv(to_net_dev(dev));
}

static const char *sysfs_why(int err)
{
	switch (err) {
	case -EINVAL:
		return "not understood";
	case -ENOTUNIQ:
		return "an interface has this P_Key already, or several have";
	case -EEXIST:
		return "the name of the child is taken";
	case -ENODEV:
		return "no child has this P_Key";
	case -EPERM:
		return "not permitted";
	default:
		return "failed";
	}
}

/* An errno says little to somebody who used echo: one line in the log says it */
static int sysfs_refuse(struct ipoib_dev *d, struct device_attribute *attr,
			const char *buf, size_t count, int err)
{
	if (net_ratelimit())
		netdev_warn(d->dev, "%s: \"%*pE\" refused: %s (%pe)\n",
			    attr->attr.name, (int)min(count, 20), buf,
			    sysfs_why(err), ERR_PTR(err));
	return err;
}

static ssize_t pkey_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	return sysfs_emit(buf, "0x%04x\n", READ_ONCE(dev_to_ipoib(dev)->pkey));
}
static DEVICE_ATTR_RO(pkey);

static ssize_t mode_show(struct device *dev, struct device_attribute *attr,
			 char *buf)
{
	bool connected = READ_ONCE(dev_to_ipoib(dev)->cm.connected);

	return sysfs_emit(buf, "%s\n", connected ? "connected" : "datagram");
}

static ssize_t mode_store(struct device *dev, struct device_attribute *attr,
			  const char *buf, size_t count)
{
	struct ipoib_dev *d = dev_to_ipoib(dev);
	bool connected = sysfs_streq(buf, "connected");
	int err;

	if (!connected && !sysfs_streq(buf, "datagram"))
		return sysfs_refuse(d, attr, buf, count, -EINVAL);
	if (!rtnl_trylock())
		return restart_syscall();
	/* the interface may be on its way out */
	err = d->dev->reg_state == NETREG_REGISTERED ?
	      ipoib_cm_set_mode(d, connected, NULL) : -EPERM;
	rtnl_unlock();
	return err ? sysfs_refuse(d, attr, buf, count, err) : count;
}
static DEVICE_ATTR_RW(mode);

static ssize_t umcast_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%d\n", READ_ONCE(dev_to_ipoib(dev)->umcast));
}

static ssize_t umcast_store(struct device *dev, struct device_attribute *attr,
			    const char *buf, size_t count)
{
	unsigned long on;

	/* what is no number has always counted as 0 */
	if (kstrtoul(buf, 0, &on))
		on = 0;
	ipoib_set_umcast(dev_to_ipoib(dev), on != 0);
	return count;
}
static DEVICE_ATTR_RW(umcast);

static ssize_t parent_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	return sysfs_emit(buf, "%s\n", dev_to_ipoib(dev)->parent->dev->name);
}
static DEVICE_ATTR_RO(parent);

static ssize_t sysfs_child_store(struct device *dev,
				 struct device_attribute *attr, const char *buf,
				 size_t count,
				 int (*act)(struct ipoib_dev *d, u16 pkey))
{
	struct ipoib_dev *d = dev_to_ipoib(dev);
	struct kernfs_node *kn;
	long long val;
	u16 pkey;
	int err;

	if (!capable(CAP_NET_ADMIN))
		return sysfs_refuse(d, attr, buf, count, -EPERM);
	if (kstrtoll(buf, 0, &val) || ipoib_pkey_parse(val, &pkey))
		return sysfs_refuse(d, attr, buf, count, -EINVAL);

	/*
	 * Letting go of rtnl waits until nobody has a reference to a child that
	 * has been removed.  Who has one may wait for rtnl, whose owner, if it
	 * removes the parent, for this file: so nobody has to wait for the file.
	 */
	kn = sysfs_break_active_protection(&dev->kobj, &attr->attr);
	if (!kn)
		return -ENODEV;
	__module_get(THIS_MODULE);
	err = -ERESTARTSYS;
	if (rtnl_trylock()) {
		/* the interface may be on its way out */
		err = d->dev->reg_state == NETREG_REGISTERED ? act(d, pkey) :
							       -EPERM;
		rtnl_unlock();
	}
	if (err && err != -ERESTARTSYS)
		sysfs_refuse(d, attr, buf, count, err);
	sysfs_unbreak_active_protection(kn);
	module_put(THIS_MODULE);
	if (err == -ERESTARTSYS)
		return restart_syscall();
	return err ? err : count;
}

static ssize_t create_child_store(struct device *dev,
				  struct device_attribute *attr,
				  const char *buf, size_t count)
{
	return sysfs_child_store(dev, attr, buf, count, ipoib_vlan_create);
}
static DEVICE_ATTR_WO(create_child);

static ssize_t delete_child_store(struct device *dev,
				  struct device_attribute *attr,
				  const char *buf, size_t count)
{
	return sysfs_child_store(dev, attr, buf, count, ipoib_vlan_delete);
}
static DEVICE_ATTR_WO(delete_child);

static struct attribute *ipoib_parent_attrs[] = {
	&dev_attr_pkey.attr,
	&dev_attr_mode.attr,
	&dev_attr_umcast.attr,
	&dev_attr_create_child.attr,
	&dev_attr_delete_child.attr,
	NULL
};

static struct attribute *ipoib_child_attrs[] = {
	&dev_attr_pkey.attr,
	&dev_attr_mode.attr,
	&dev_attr_umcast.attr,
	&dev_attr_parent.attr,
	NULL
};

const struct attribute_group ipoib_parent_group = {
	.attrs = ipoib_parent_attrs,
};

const struct attribute_group ipoib_child_group = {
	.attrs = ipoib_child_attrs,
};
