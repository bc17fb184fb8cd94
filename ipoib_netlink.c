// SPDX-License-Identifier: GPL-2.0
/*
 * rtnetlink, kind "ipoib": ip link add ... type ipoib, set, show, delete.
 *
 * Values are checked here and every refusal says why; what they do is done by
 * the rooms that own it.
 *
 * Context: rtnl.
 */
#include "ipoib_netlink.h"

#include <linux/if_link.h>
#include <linux/module.h>
#include <net/netlink.h>
#include <net/rtnetlink.h>

#include "ipoib.h"
#include "ipoib_main.h"
#include "ipoib_vlan.h"

static const struct nla_policy ipoib_nl_policy[IFLA_IPOIB_MAX + 1] = {
	[IFLA_IPOIB_PKEY] = { .type = NLA_U16 },
	[IFLA_IPOIB_MODE] = { .type = NLA_U16 },
	[IFLA_IPOIB_UMCAST] = { .type = NLA_U16 },
};

/**
 * ipoib_set_umcast - leave groups that user space has joined to user space
 * @d: interface
 * @on: switch it on
 *
 * Context: process.
 */
void ipoib_set_umcast(struct ipoib_dev *d, bool on)
{
	if (READ_ONCE(d->umcast) == on)
		return;
	WRITE_ONCE(d->umcast, on);
	if (on && net_ratelimit())
		netdev_warn(d->dev, "groups joined by user space on this port are not joined by the interface\n");
	ipoib_kick(d, IPOIB_EV_MCLIST);
}

static int nl_check_mode(struct nlattr *attr, struct netlink_ext_ack *extack)
{
	switch (nla_get_u16(attr)) {
	case IPOIB_MODE_DATAGRAM:
		return 0;
	case IPOIB_MODE_CONNECTED:
		if (IS_ENABLED(CONFIG_INFINIBAND_IPOIB_CM))
			return 0;
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "connected mode is not supported");
		return -EINVAL;
	default:
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "mode is 0 (datagram) or 1 (connected)");
		return -EINVAL;
	}
}

static int nl_set_common(struct ipoib_dev *d, struct nlattr *data[],
			 struct netlink_ext_ack *extack)
{
	struct nlattr *mode = data ? data[IFLA_IPOIB_MODE] : NULL;
	int err = 0;

	if (mode)
		err = ipoib_cm_set_mode(d, nla_get_u16(mode) ==
					   IPOIB_MODE_CONNECTED, extack);
	if (!err && data && data[IFLA_IPOIB_UMCAST])
		ipoib_set_umcast(d, nla_get_u16(data[IFLA_IPOIB_UMCAST]) > 0);
	return err;
}

static int nl_validate(struct nlattr *tb[], struct nlattr *data[],
		       struct netlink_ext_ack *extack)
{
	if (tb[IFLA_ADDRESS] && nla_len(tb[IFLA_ADDRESS]) != INFINIBAND_ALEN) {
		NL_SET_ERR_MSG_ATTR(extack, tb[IFLA_ADDRESS],
				    "the address has 20 bytes");
		return -EINVAL;
	}
	if (data && data[IFLA_IPOIB_MODE])
		return nl_check_mode(data[IFLA_IPOIB_MODE], extack);
	return 0;
}

static int nl_changelink(struct net_device *dev, struct nlattr *tb[],
			 struct nlattr *data[], struct netlink_ext_ack *extack)
{
	struct ipoib_dev *d = ipoib_priv(dev);
	struct nlattr *attr;

	attr = data ? data[IFLA_IPOIB_PKEY] : NULL;
	if (attr && (nla_get_u16(attr) | IPOIB_PKEY_FULL) != d->pkey) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "the P_Key of an interface cannot be changed");
		return -EOPNOTSUPP;
	}
	return nl_set_common(d, data, extack);
}

static struct ipoib_dev *nl_find_parent(struct net *net, struct nlattr *tb[],
					struct netlink_ext_ack *extack)
{
	struct net_device *pdev;
	struct ipoib_dev *parent;

	if (!tb[IFLA_LINK]) {
		NL_SET_ERR_MSG(extack, "a parent interface is needed: link DEV");
		return ERR_PTR(-EINVAL);
	}
	pdev = __dev_get_by_index(net, nla_get_u32(tb[IFLA_LINK]));
	if (!pdev || !ipoib_is_ipoib(pdev)) {
		NL_SET_ERR_MSG_ATTR(extack, tb[IFLA_LINK],
				    "the parent is not an IPoIB interface");
		return ERR_PTR(-ENODEV);
	}
	parent = ipoib_priv(pdev);
	if (parent->parent) {
		NL_SET_ERR_MSG_ATTR(extack, tb[IFLA_LINK],
				    "a child interface cannot have children");
		return ERR_PTR(-EINVAL);
	}
	return parent;
}

/*
 * A new child may be given a GUID of its own.  The rest of the address is not
 * looked at: nobody can know it yet.  Network managers make addresses up for
 * interfaces that they create, so this is a wish, and no reason to wait for ever.
 */
static int nl_take_address(struct ipoib_dev *d, struct nlattr *attr,
			   struct netlink_ext_ack *extack)
{
	__be64 guid = ipoib_addr_guid(nla_data(attr));

	if (!guid) {
		NL_SET_ERR_MSG_ATTR(extack, attr,
				    "the GUID, the last 8 bytes of the address, is zero");
		return -EINVAL;
	}
	d->admin_guid = guid;
	d->guid_is_wish = true;
	return 0;
}

static bool nl_wants_connected(struct nlattr *data[])
{
	return data && data[IFLA_IPOIB_MODE] &&
	       nla_get_u16(data[IFLA_IPOIB_MODE]) == IPOIB_MODE_CONNECTED;
}

static int nl_take_mtu(struct ipoib_dev *d, const struct ipoib_dev *parent,
		       struct nlattr *attr, bool connected,
		       struct netlink_ext_ack *extack)
{
	u32 limit = connected ? parent->cm.mtu :
		    ipoib_policy_mtu(0, parent->port_mtu, 0);
	u32 mtu = nla_get_u32(attr);

	/* the core has compared it with min_mtu already */
	if (mtu > limit) {
		NL_SET_ERR_MSG_ATTR_FMT(extack, attr,
					"the port allows an MTU of %u at most",
					limit);
		return -EINVAL;
	}
	if (!connected)
		d->mtu_wish = ipoib_policy_mtu_wish(mtu, limit);
	return 0;
}

/* What a new interface can be told once it is there; on failure it goes again */
static int nl_finish(struct ipoib_dev *d, struct nlattr *tb[],
		     struct nlattr *data[], struct netlink_ext_ack *extack)
{
	int err = nl_set_common(d, data, extack);

	if (!err && tb[IFLA_MTU] && d->cm.connected)
		err = dev_set_mtu(d->dev, nla_get_u32(tb[IFLA_MTU]));
	if (err)
		unregister_netdevice(d->dev);
	return err;
}

static int nl_newlink(struct net *src_net, struct net_device *dev,
		      struct nlattr *tb[], struct nlattr *data[],
		      struct netlink_ext_ack *extack)
{
	struct ipoib_dev *parent = nl_find_parent(src_net, tb, extack);
	struct nlattr *attr = data ? data[IFLA_IPOIB_PKEY] : NULL;
	struct ipoib_dev *d = ipoib_priv(dev);
	int err = 0;
	u16 pkey;

	if (IS_ERR(parent))
		return PTR_ERR(parent);

	pkey = parent->pkey;
	if (!attr && !ipoib_pkey_valid(pkey)) {
		NL_SET_ERR_MSG(extack, "the port has no P_Key, give one");
		return -EINVAL;
	}
	if (attr && ipoib_pkey_parse(nla_get_u16(attr), &pkey)) {
		NL_SET_ERR_MSG_ATTR(extack, attr, "no valid P_Key");
		return -EINVAL;
	}

	if (tb[IFLA_ADDRESS])
		err = nl_take_address(d, tb[IFLA_ADDRESS], extack);
	if (!err && tb[IFLA_MTU])
		err = nl_take_mtu(d, parent, tb[IFLA_MTU],
				  nl_wants_connected(data), extack);
	if (!err)
		err = ipoib_vlan_register(parent, dev, pkey, extack);
	if (err)
		return err;
	return nl_finish(d, tb, data, extack);
}

static void nl_dellink(struct net_device *dev, struct list_head *head)
{
	/* a parent lives as long as its port */
	if (!ipoib_priv(dev)->parent) {
		if (net_ratelimit())
			netdev_warn(dev, "the interface of a port cannot be deleted\n");
		return;
	}
	unregister_netdevice_queue(dev, head);
}

static size_t nl_get_size(const struct net_device *dev)
{
	return nla_total_size(sizeof(u16)) +	/* IFLA_IPOIB_PKEY */
	       nla_total_size(sizeof(u16)) +	/* IFLA_IPOIB_MODE */
	       nla_total_size(sizeof(u16));	/* IFLA_IPOIB_UMCAST */
}

static int nl_fill_info(struct sk_buff *skb, const struct net_device *dev)
{
	const struct ipoib_dev *d = ipoib_priv(dev);

	if (nla_put_u16(skb, IFLA_IPOIB_PKEY, READ_ONCE(d->pkey)) ||
	    nla_put_u16(skb, IFLA_IPOIB_MODE,
			READ_ONCE(d->cm.connected) ? IPOIB_MODE_CONNECTED :
						     IPOIB_MODE_DATAGRAM) ||
	    nla_put_u16(skb, IFLA_IPOIB_UMCAST, READ_ONCE(d->umcast)))
		return -EMSGSIZE;
	return 0;
}

/* A child may have been moved: the index of its parent is one of elsewhere */
static struct net *nl_get_link_net(const struct net_device *dev)
{
	const struct ipoib_dev *parent = ipoib_priv(dev)->parent;

	return dev_net(parent ? parent->dev : dev);
}

struct rtnl_link_ops ipoib_link_ops = {
	.kind = "ipoib",
	.netns_refund = true,
	.maxtype = IFLA_IPOIB_MAX,
	.policy = ipoib_nl_policy,
	.priv_size = sizeof(struct ipoib_dev),
	.setup = ipoib_setup,
	.validate = nl_validate,
	.newlink = nl_newlink,
	.changelink = nl_changelink,
	.dellink = nl_dellink,
	.get_size = nl_get_size,
	.fill_info = nl_fill_info,
	.get_link_net = nl_get_link_net,
};

MODULE_ALIAS_RTNL_LINK("ipoib");
