// SPDX-License-Identifier: GPL-2.0
/*
 * Which netdev does a connection request of the RDMA connection manager belong
 * to?  It names port, P_Key and GID; several interfaces may share these, and
 * then the IP address of the request decides.
 *
 * Context: process, called by the InfiniBand core while our client data is
 * valid; the list of children is read under RCU.
 */
#include "ipoib_cma.h"

#include <linux/inetdevice.h>
#include <linux/rcupdate.h>
#include <net/addrconf.h>
#include <rdma/ib_cache.h>

#include "ipoib.h"

/**
 * struct cma_query - what is looked for, and what was found
 * @index: place of the P_Key in the port's table
 * @gid: own GID, or NULL for any
 * @addr: own IP address, or NULL for any
 * @found: the interface found last
 * @matches: interfaces found
 */
struct cma_query {
	u16 index;
	const union ib_gid *gid;
	const struct sockaddr *addr;
	struct net_device *found;
	u32 matches;
};

static bool cma_has_ipv4(struct net_device *dev, const struct sockaddr *addr)
{
	const struct sockaddr_in *sin = (const struct sockaddr_in *)addr;
	struct in_device *in_dev = __in_dev_get_rcu(dev);

	return in_dev && inet_confirm_addr(dev_net(dev), in_dev, 0,
					   sin->sin_addr.s_addr, RT_SCOPE_HOST);
}

static bool cma_has_addr(struct net_device *dev, const struct sockaddr *addr)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)addr;

	switch (addr->sa_family) {
	case AF_INET:
		return cma_has_ipv4(dev, addr);
	case AF_INET6:
		return IS_ENABLED(CONFIG_IPV6) &&
		       ipv6_chk_addr(dev_net(dev), &sin6->sin6_addr, dev, 1);
	default:
		return false;
	}
}

static int cma_upper_has_addr(struct net_device *upper,
			      struct netdev_nested_priv *priv)
{
	return cma_has_addr(upper, priv->data);
}

static bool cma_stack_has_addr(struct net_device *dev,
			       const struct sockaddr *addr)
{
	struct netdev_nested_priv priv = { .data = (void *)addr };

	return cma_has_addr(dev, addr) ||
	       netdev_walk_all_upper_dev_rcu(dev, cma_upper_has_addr, &priv);
}

static void cma_try(struct ipoib_dev *d, struct cma_query *q)
{
	if (!d->pkey_found || d->pkey_index != q->index)
		return;
	if (q->gid && memcmp(q->gid, &d->gid, sizeof(d->gid)))
		return;
	if (q->addr && !cma_stack_has_addr(d->dev, q->addr))
		return;
	q->found = d->dev;
	q->matches++;
}

static void cma_try_all(struct ipoib_hca *hca, u32 port, struct cma_query *q)
{
	struct ipoib_dev *d, *child;

	q->found = NULL;
	q->matches = 0;
	list_for_each_entry(d, &hca->ports, hca_link) {
		if (d->port != port)
			continue;
		cma_try(d, q);
		list_for_each_entry_rcu(child, &d->children, sibling)
			cma_try(child, q);
	}
}

/* Applications live on the bond, not on its slave; a VRF is no such master */
static struct net_device *cma_master(struct net_device *dev)
{
	struct net_device *master = netdev_master_upper_dev_get_rcu(dev);

	return master && !netif_is_l3_master(master) ? master : dev;
}

/**
 * ipoib_cma_find - the netdev of a connection request
 * @ca: InfiniBand device that it came through
 * @port: its port
 * @pkey: P_Key of the request
 * @gid: own GID in the request, or NULL
 * @addr: own IP address in the request, or NULL
 * @data: our client data
 *
 * Context: process.
 * Return: netdev with a reference that the caller has to drop, or NULL.
 */
struct net_device *ipoib_cma_find(struct ib_device *ca, u32 port, u16 pkey,
				  const union ib_gid *gid,
				  const struct sockaddr *addr, void *data)
{
	struct cma_query q = { .gid = gid };
	struct net_device *dev = NULL;
	struct ipoib_hca *hca = data;

	if (ib_find_cached_pkey(ca, port, pkey, &q.index))
		return NULL;

	rcu_read_lock();
	cma_try_all(hca, port, &q);
	if (q.matches > 1 && addr) {
		q.addr = addr;
		cma_try_all(hca, port, &q);
		if (q.matches > 1)
			dev_warn_ratelimited(&ca->dev,
					     "%u interfaces of port %u have address %pISc\n",
					     q.matches, port, addr);
	}
	if (q.found) {
		dev = cma_master(q.found);
		dev_hold(dev);
	}
	rcu_read_unlock();
	return dev;
}
