// SPDX-License-Identifier: GPL-2.0
/*
 * IP over InfiniBand: the module, its InfiniBand client, and the netdev
 * operations.
 *
 * Each port of an InfiniBand device gets a netdev when the device appears and
 * loses it when that goes.  What an interface does in between is decided in
 * ipoib_ctl.c; this room only starts and stops it.
 */
#include "ipoib_main.h"

#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/rtnetlink.h>
#include <net/addrconf.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"
#include "ipoib_cm.h"
#include "ipoib_cma.h"
#include "ipoib_ctl.h"
#include "ipoib_ethtool.h"
#include "ipoib_fs.h"
#include "ipoib_ib.h"
#include "ipoib_netlink.h"
#include "ipoib_path.h"
#include "ipoib_stats.h"
#include "ipoib_sysfs.h"
#include "ipoib_target.h"
#include "ipoib_vlan.h"
#include "ipoib_xmit.h"

MODULE_DESCRIPTION("IP over InfiniBand, RFC 4391, 4392 and 4755");
MODULE_LICENSE("GPL");

struct workqueue_struct *ipoib_wq;
struct ib_sa_client ipoib_sa_client;

int ipoib_sendq_size = IPOIB_TX_RING_DEFAULT;
int ipoib_recvq_size = IPOIB_RX_RING_DEFAULT;

module_param_named(send_queue_size, ipoib_sendq_size, int, 0444);
MODULE_PARM_DESC(send_queue_size, "Packets in the send ring, a power of two from 128 to 8192");
module_param_named(recv_queue_size, ipoib_recvq_size, int, 0444);
MODULE_PARM_DESC(recv_queue_size, "Packets in the receive ring, a power of two from 2 to 8192");

#ifdef CONFIG_INFINIBAND_IPOIB_DEBUG
int ipoib_debug_level;
int ipoib_mcast_debug_level;

module_param_named(debug_level, ipoib_debug_level, int, 0644);
MODULE_PARM_DESC(debug_level, "Log the control path at debug level if > 0");
module_param_named(mcast_debug_level, ipoib_mcast_debug_level, int, 0644);
MODULE_PARM_DESC(mcast_debug_level, "Log multicast joins at debug level if > 0");
#endif

#ifdef CONFIG_INFINIBAND_IPOIB_DEBUG_DATA
int ipoib_data_debug_level;

module_param_named(data_debug_level, ipoib_data_debug_level, int, 0644);
MODULE_PARM_DESC(data_debug_level, "Log each packet at debug level if > 0");
#endif

static int ipoib_ndo_init(struct net_device *dev)
{
	struct ipoib_dev *d = ipoib_priv(dev);
	int err;

	/* a child may have been asked for with more; there is one ring each way */
	err = netif_set_real_num_queues(dev, 1, 1);
	if (err)
		return err;
	err = ipoib_target_table_init(d);
	if (err)
		return err;
	err = ipoib_ib_init(d, ipoib_sendq_size, ipoib_recvq_size);
	if (err)
		goto err_table;
	err = ipoib_cm_init(d);
	if (err)
		goto err_ib;
	err = ipoib_ctl_first_look(d);
	if (err)
		goto err_cm;

	ipoib_set_features(d);
	ipoib_set_address(d);
	if (d->parent)
		ipoib_vlan_link(d);
	return 0;

err_cm:
	ipoib_cm_fini(d);
err_ib:
	ipoib_ib_fini(d);
err_table:
	ipoib_target_table_fini(d);
	return err;
}

static void ipoib_ndo_uninit(struct net_device *dev)
{
	struct ipoib_dev *d = ipoib_priv(dev);

	if (d->parent)
		ipoib_vlan_unlink(d);
	ipoib_ctl_fini(d);
	ipoib_cm_fini(d);
	ipoib_ib_fini(d);
	ipoib_target_table_fini(d);
}

static int ipoib_ndo_open(struct net_device *dev)
{
	struct ipoib_dev *d = ipoib_priv(dev);
	int err;

	netif_carrier_off(dev);
	err = ipoib_rx_start(d);
	if (err)
		return err;
	ipoib_tx_start(d);
	ipoib_cm_open(d);
	err = ipoib_ctl_open(d);
	if (err) {
		netdev_warn(dev, "cannot start the queue pair: %pe\n",
			    ERR_PTR(err));
		ipoib_cm_close(d);
		ipoib_tx_stop(d);
		ipoib_rx_stop(d);
		return err;
	}

	ipoib_vlan_follow(d, true);
	return 0;
}

static int ipoib_ndo_stop(struct net_device *dev)
{
	struct ipoib_dev *d = ipoib_priv(dev);

	ipoib_ctl_stop(d);
	ipoib_cm_close(d);
	ipoib_tx_stop(d);
	ipoib_rx_stop(d);
	ipoib_vlan_follow(d, false);
	return 0;
}

static void ipoib_ndo_set_rx_mode(struct net_device *dev)
{
	ipoib_kick(ipoib_priv(dev), IPOIB_EV_MCLIST);
}

static int ipoib_ndo_change_mtu(struct net_device *dev, int new_mtu)
{
	struct ipoib_dev *d = ipoib_priv(dev);
	u32 group = READ_ONCE(d->mcast.mtu);
	u32 limit = ipoib_policy_mtu(0, d->port_mtu, group);

	if (d->cm.connected) {
		/* max_mtu is the limit */
		WRITE_ONCE(dev->mtu, new_mtu);
		return 0;
	}
	d->mtu_wish = ipoib_policy_mtu_wish(new_mtu, limit);
	WRITE_ONCE(dev->mtu, ipoib_policy_mtu(d->mtu_wish, d->port_mtu, group));
	return 0;
}

/* Connections have no offloads for what they send */
static netdev_features_t ipoib_ndo_fix_features(struct net_device *dev,
						netdev_features_t features)
{
	if (ipoib_priv(dev)->cm.connected)
		features &= ~(NETIF_F_IP_CSUM | NETIF_F_TSO);
	return features;
}

static int ipoib_ndo_set_mac_address(struct net_device *dev, void *addr)
{
	const u8 *hw = ((struct sockaddr_storage *)addr)->__data;
	struct ipoib_dev *d = ipoib_priv(dev);

	if (d->ca->attrs.kernel_cap_flags & IBK_VIRTUAL_FUNCTION)
		return -EOPNOTSUPP;
	if (netif_running(dev)) {
		if (net_ratelimit())
			netdev_warn(dev, "the address can be set while the interface is down\n");
		return -EBUSY;
	}
	if (!ipoib_addr_may_become(dev->dev_addr, hw)) {
		if (net_ratelimit())
			netdev_warn(dev, "of the address only the GUID, its last 8 bytes, can be set\n");
		return -EINVAL;
	}
	ipoib_vlan_set_guid(d, ipoib_addr_guid(hw));
	return 0;
}

static void ipoib_ndo_tx_timeout(struct net_device *dev, unsigned int txqueue)
{
	struct ipoib_dev *d = ipoib_priv(dev);

	netdev_warn(dev, "transmit timeout: %u of %u sends outstanding, head %u, tail %u\n",
		    ipoib_ring_used(d->txq.head, d->txq.tail), d->txq.size,
		    d->txq.head, d->txq.tail);
	ipoib_kick(d, IPOIB_EV_RESET);
}

static int ipoib_ndo_get_iflink(const struct net_device *dev)
{
	struct ipoib_dev *d = ipoib_priv(dev);

	/* a child is shown as child@parent */
	return d->parent ? READ_ONCE(d->parent->dev->ifindex) :
			   READ_ONCE(dev->ifindex);
}

const struct net_device_ops ipoib_netdev_ops = {
	.ndo_init = ipoib_ndo_init,
	.ndo_uninit = ipoib_ndo_uninit,
	.ndo_open = ipoib_ndo_open,
	.ndo_stop = ipoib_ndo_stop,
	.ndo_start_xmit = ipoib_xmit,
	.ndo_set_rx_mode = ipoib_ndo_set_rx_mode,
	.ndo_set_mac_address = ipoib_ndo_set_mac_address,
	.ndo_change_mtu = ipoib_ndo_change_mtu,
	.ndo_fix_features = ipoib_ndo_fix_features,
	.ndo_tx_timeout = ipoib_ndo_tx_timeout,
	.ndo_get_stats64 = ipoib_get_stats64,
	.ndo_get_iflink = ipoib_ndo_get_iflink,
};

/**
 * ipoib_setup - fill a fresh netdev with what all interfaces share
 * @dev: netdev with a private area of struct ipoib_dev
 *
 * Context: process, before registration.
 */
void ipoib_setup(struct net_device *dev)
{
	struct ipoib_dev *d = ipoib_priv(dev);

	dev->netdev_ops = &ipoib_netdev_ops;
	dev->header_ops = &ipoib_header_ops;
	dev->ethtool_ops = &ipoib_ethtool_ops;
	dev->rtnl_link_ops = &ipoib_link_ops;
	dev->stat_ops = &ipoib_stat_ops;
	dev->watchdog_timeo = IPOIB_WATCHDOG;
	dev->flags |= IFF_BROADCAST | IFF_MULTICAST;
	dev->hard_header_len = IPOIB_HARD_LEN;
	dev->addr_len = INFINIBAND_ALEN;
	dev->type = ARPHRD_INFINIBAND;
	dev->tx_queue_len = 2 * ipoib_sendq_size;
	dev->features = NETIF_F_VLAN_CHALLENGED | NETIF_F_HIGHDMA;
	dev->min_mtu = IPOIB_MTU_MIN;
	dev->needs_free_netdev = true;
	netif_keep_dst(dev);
	ipoib_addr_broadcast((u8 *)dev->broadcast, IPOIB_PKEY_FULL);

	d->dev = dev;
	ipoib_ctl_init(d);
}

/**
 * ipoib_set_features - offer the offloads of the HCA
 * @d: interface with its verbs objects
 *
 * Context: rtnl, during registration.
 */
void ipoib_set_features(struct ipoib_dev *d)
{
	struct net_device *dev = d->dev;

	if (d->txq.max_sge > 1)
		dev->features |= NETIF_F_SG;
	if (!(d->ca->attrs.device_cap_flags & IB_DEVICE_UD_IP_CSUM))
		return;
	dev->hw_features |= NETIF_F_IP_CSUM | NETIF_F_RXCSUM;
	if (d->ca->attrs.kernel_cap_flags & IBK_UD_TSO)
		dev->hw_features |= NETIF_F_TSO;
	dev->features |= dev->hw_features;
}

/**
 * ipoib_set_address - derive addresses and MTU from what the port says
 * @d: interface that has had its first look
 *
 * Context: rtnl, during registration.
 */
void ipoib_set_address(struct ipoib_dev *d)
{
	struct net_device *dev = d->dev;
	u8 addr[IPOIB_ALEN];

	ipoib_addr_build(addr, d->cm.able ? IPOIB_CM_FLAG_RC : 0,
			 d->qp->qp_num, d->gid.raw);
	__dev_addr_set(dev, addr, IPOIB_ALEN);
	memcpy(dev->perm_addr, addr, IPOIB_ALEN);
	ipoib_addr_set_pkey((u8 *)dev->broadcast, d->pkey);
	memcpy(d->rxq.self.mgid, ipoib_addr_gid(dev->broadcast),
	       IPOIB_GID_LEN);
	dev->max_mtu = ipoib_policy_mtu(0, d->port_mtu, 0);
	dev->mtu = ipoib_policy_mtu(d->mtu_wish, d->port_mtu, 0);
}

static int ipoib_add_port(struct ipoib_hca *hca, u32 port)
{
	struct ib_device *ca = hca->ca;
	struct ib_port_attr attr;
	struct net_device *dev;
	struct ipoib_dev *d;
	int err;

	err = ib_query_port(ca, port, &attr);
	if (err)
		return err;

	dev = alloc_netdev(sizeof(*d), "ib%d", NET_NAME_UNKNOWN, ipoib_setup);
	if (!dev)
		return -ENOMEM;

	d = ipoib_priv(dev);
	d->hca = hca;
	d->ca = ca;
	d->port = port;
	d->port_mtu = rdma_mtu_from_attr(ca, port, &attr);
	dev->dev_port = port - 1;
	dev->dev_id = port - 1;
	dev->sysfs_groups[0] = &ipoib_parent_group;
	SET_NETDEV_DEV(dev, ca->dev.parent);
	dev_net_set(dev, read_pnet(&ca->coredev.rdma_net));

	err = register_netdev(dev);
	if (err) {
		free_netdev(dev);
		return err;
	}
	list_add_tail(&d->hca_link, &hca->ports);
	return 0;
}

/* Things may have changed while nobody listened */
static void ipoib_reconcile(struct ipoib_hca *hca)
{
	struct ipoib_dev *d;

	list_for_each_entry(d, &hca->ports, hca_link)
		ipoib_ctl_news(d, IPOIB_EV_OPEN | IPOIB_EV_PKEY | IPOIB_EV_GID);
}

static int ipoib_add_one(struct ib_device *ca)
{
	struct ipoib_hca *hca;
	u32 port;
	int err;

	hca = kzalloc(sizeof(*hca), GFP_KERNEL);
	if (!hca)
		return -ENOMEM;
	hca->ca = ca;
	INIT_LIST_HEAD(&hca->ports);

	rdma_for_each_port(ca, port) {
		if (!rdma_protocol_ib(ca, port))
			continue;
		err = ipoib_add_port(hca, port);
		if (err)
			dev_warn(&ca->dev, "port %u: no IPoIB interface: %pe\n",
				 port, ERR_PTR(err));
	}
	if (list_empty(&hca->ports)) {
		kfree(hca);
		return -EOPNOTSUPP;
	}

	INIT_IB_EVENT_HANDLER(&hca->handler, ca, ipoib_ctl_ib_event);
	ib_register_event_handler(&hca->handler);
	ib_set_client_data(ca, &ipoib_client, hca);
	ipoib_reconcile(hca);
	return 0;
}

static void ipoib_remove_one(struct ib_device *ca, void *client_data)
{
	struct ipoib_hca *hca = client_data;
	struct ipoib_dev *d, *next;
	LIST_HEAD(list);

	ib_unregister_event_handler(&hca->handler);

	rtnl_lock();
	list_for_each_entry_safe(d, next, &hca->ports, hca_link) {
		list_del_init(&d->hca_link);
		ipoib_vlan_unregister_all(d, &list);
		unregister_netdevice_queue(d->dev, &list);
	}
	unregister_netdevice_many(&list);
	rtnl_unlock();
	kfree(hca);
}

struct ib_client ipoib_client = {
	.name = "ipoib",
	.add = ipoib_add_one,
	.remove = ipoib_remove_one,
	.get_net_dev_by_params = ipoib_cma_find,
};

static int ipoib_netdev_event(struct notifier_block *nb, unsigned long event,
			      void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);

	if (event == NETDEV_CHANGEADDR && ipoib_is_ipoib(dev))
		ipoib_ctl_keep_pkey(ipoib_priv(dev));
	return NOTIFY_DONE;
}

static struct notifier_block ipoib_netdev_notifier = {
	.notifier_call = ipoib_netdev_event,
};

/* What was asked for may not be possible: then say what is used instead */
static void __init ipoib_adjust_ring(const char *name, int *size, u32 min)
{
	int asked = *size;

	*size = ipoib_policy_ring_size(asked, min, IPOIB_RING_MAX);
	if (*size != asked)
		pr_info(IPOIB_DRV_NAME ": %s: %d is used instead of %d\n", name,
			*size, asked);
}

static int __init ipoib_module_init(void)
{
	int err;

	ipoib_adjust_ring("recv_queue_size", &ipoib_recvq_size,
			  IPOIB_RX_RING_MIN);
	ipoib_adjust_ring("send_queue_size", &ipoib_sendq_size,
			  IPOIB_TX_RING_MIN);

	ipoib_wq = alloc_workqueue("ipoib", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!ipoib_wq)
		return -ENOMEM;
	err = ipoib_fs_init();
	if (err)
		goto err_wq;
	err = ipoib_path_listen();
	if (err)
		goto err_fs;
	err = register_netdevice_notifier(&ipoib_netdev_notifier);
	if (err)
		goto err_path;
	ib_sa_register_client(&ipoib_sa_client);
	err = rtnl_link_register(&ipoib_link_ops);
	if (err)
		goto err_sa;
	err = ib_register_client(&ipoib_client);
	if (err)
		goto err_link;
	return 0;

err_link:
	rtnl_link_unregister(&ipoib_link_ops);
err_sa:
	ib_sa_unregister_client(&ipoib_sa_client);
	unregister_netdevice_notifier(&ipoib_netdev_notifier);
err_path:
	ipoib_path_unlisten();
err_fs:
	ipoib_fs_exit();
err_wq:
	destroy_workqueue(ipoib_wq);
	return err;
}

static void __exit ipoib_module_exit(void)
{
	ib_unregister_client(&ipoib_client);
	rtnl_link_unregister(&ipoib_link_ops);
	ib_sa_unregister_client(&ipoib_sa_client);
	unregister_netdevice_notifier(&ipoib_netdev_notifier);
	ipoib_path_unlisten();
	ipoib_fs_exit();
	destroy_workqueue(ipoib_wq);
	/* targets and address handles are freed by RCU */
	rcu_barrier();
}

module_init(ipoib_module_init);
module_exit(ipoib_module_exit);
