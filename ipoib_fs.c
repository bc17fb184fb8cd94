// SPDX-License-Identifier: GPL-2.0
/*
 * debugfs, directory ipoib/: what an interface knows, for people.
 *
 *	<interface>_mcg		multicast groups, sorted by MGID
 *	<interface>_path	paths, sorted by GID
 *	<interface>_neigh	neighbours of the stack, and how they are reached
 *	<interface>_state	why there is a carrier or none, rings and queues
 *	<interface>_conn	connections, and what happened to others
 *
 * The first two have a format that tools parse; lines are only added behind
 * it, never changed.  Files follow the name of their interface by a netdev
 * notifier.  Names are unique in a network namespace only: the second interface
 * of a name is shown as <interface>@<number of its namespace>, the number being
 * that of /proc/self/ns/net.
 *
 * Context: process.  Readers hold ctl_mutex, so that no target goes away while
 * it is shown.
 */
#include "ipoib_fs.h"

#include <linux/debugfs.h>
#include <linux/seq_file.h>
#include <linux/sort.h>
#include <net/arp.h>
#include <net/ndisc.h>

#include "ipoib.h"
#include "ipoib_cm.h"
#include "ipoib_multicast.h"
#include "ipoib_path.h"
#include "ipoib_target.h"

static struct dentry *fs_root;

static int fs_compare(const void *a, const void *b)
{
	const struct ipoib_target *const *x = a, *const *y = b;

	return memcmp((*x)->gid.raw, (*y)->gid.raw, sizeof((*x)->gid.raw));
}

/* All targets of a kind, sorted.  ctl_mutex held; free by kvfree() */
static struct ipoib_target **fs_collect(struct ipoib_dev *d,
					enum ipoib_target_kind kind, u32 *count)
{
	struct ipoib_target **list, *t;
	u32 room = 0;

	spin_lock_bh(&d->tbl_lock);
	list_for_each_entry(t, &d->all_targets, all)
		room += t->kind == kind;
	spin_unlock_bh(&d->tbl_lock);

	*count = 0;
	list = kvmalloc_array(room + 1, sizeof(*list), GFP_KERNEL);
	if (!list)
		return NULL;

	/* others may have come meanwhile, none can have gone */
	spin_lock_bh(&d->tbl_lock);
	list_for_each_entry(t, &d->all_targets, all)
		if (t->kind == kind && *count < room)
			list[(*count)++] = t;
	spin_unlock_bh(&d->tbl_lock);

	sort(list, *count, sizeof(*list), fs_compare, NULL);
	return list;
}

static void fs_show_gid(struct seq_file *s, const union ib_gid *gid)
{
	int i;

	seq_puts(s, "GID: ");
	for (i = 0; i < sizeof(gid->raw); i += 2)
		seq_printf(s, "%s%x", i ? ":" : "",
			   gid->raw[i] << 8 | gid->raw[i + 1]);
	seq_putc(s, '\n');
}

static int fs_show_targets(struct ipoib_dev *d, struct seq_file *s,
			   enum ipoib_target_kind kind,
			   void (*show)(struct ipoib_target *t,
					struct seq_file *s))
{
	struct ipoib_target **list;
	u32 i, count;

	mutex_lock(&d->ctl_mutex);
	list = fs_collect(d, kind, &count);
	for (i = 0; i < count; i++) {
		if (ipoib_addr_gid_is_zero(list[i]->gid.raw))
			continue;
		fs_show_gid(s, &list[i]->gid);
		show(list[i], s);
		seq_putc(s, '\n');
	}
	mutex_unlock(&d->ctl_mutex);
	kvfree(list);
	return list ? 0 : -ENOMEM;
}

static int mcg_show(struct seq_file *s, void *unused)
{
	return fs_show_targets(s->private, s, IPOIB_TARGET_GROUP,
			       ipoib_mcast_show);
}
DEFINE_SHOW_ATTRIBUTE(mcg);

static int path_show(struct seq_file *s, void *unused)
{
	return fs_show_targets(s->private, s, IPOIB_TARGET_PATH,
			       ipoib_path_show);
}
DEFINE_SHOW_ATTRIBUTE(path);

static const char *fs_nud_name(u8 nud)
{
	static const char * const names[] = {
		"incomplete", "reachable", "stale", "delay", "probe", "failed",
		"noarp", "permanent",
	};

	return nud ? names[__ffs(nud)] : "none";
}

/* One neighbour, called by neigh_for_each() with its locks held */
static void fs_show_neigh(struct neighbour *neigh, void *cookie)
{
	struct seq_file *s = cookie;
	struct ipoib_dev *d = s->private;
	struct ipoib_target *t;
	u8 hw[MAX_ADDR_LEN];
	u8 nud;

	nud = READ_ONCE(neigh->nud_state);
	if (neigh->dev != d->dev || nud & NUD_NOARP)
		return;

	if (neigh->tbl->family == AF_INET)
		seq_printf(s, "%pI4 %s", neigh->primary_key, fs_nud_name(nud));
	else
		seq_printf(s, "%pI6c %s", neigh->primary_key, fs_nud_name(nud));
	if (!(nud & NUD_VALID)) {
		seq_putc(s, '\n');
		return;
	}

	neigh_ha_snapshot(hw, neigh, neigh->dev);
	rcu_read_lock();
	t = ipoib_target_find(d, ipoib_addr_gid(hw));
	seq_printf(s, " qpn 0x%06x gid %pI6 path %s\n", ipoib_addr_qpn(hw),
		   ipoib_addr_gid(hw), !t ? "none" :
		   rcu_access_pointer(t->ah) ? "complete" : "waiting");
	rcu_read_unlock();
}

static int neigh_show(struct seq_file *s, void *unused)
{
	neigh_for_each(&arp_tbl, fs_show_neigh, s);
	if (IS_ENABLED(CONFIG_IPV6) && ipv6_stub->nd_tbl)
		neigh_for_each(ipv6_stub->nd_tbl, fs_show_neigh, s);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(neigh);

static void fs_count_parked(struct ipoib_dev *d, u32 *packets, u32 *bytes)
{
	struct ipoib_target *t;

	*packets = 0;
	*bytes = 0;
	spin_lock_bh(&d->tbl_lock);
	list_for_each_entry(t, &d->all_targets, all) {
		*packets += skb_queue_len_lockless(&t->parked);
		*bytes += READ_ONCE(t->parked_bytes);
	}
	spin_unlock_bh(&d->tbl_lock);
}

static int state_show(struct seq_file *s, void *unused)
{
	struct ipoib_dev *d = s->private;
	u32 parked, parked_bytes;

	mutex_lock(&d->ctl_mutex);
	fs_count_parked(d, &parked, &parked_bytes);
	seq_printf(s, "state: %s\n", ipoib_policy_state_name(d->state));
	seq_printf(s, "reason: %s\n", d->reason);
	seq_printf(s, "device: %s port %u\n", dev_name(&d->ca->dev), d->port);
	seq_printf(s, "pkey: 0x%04x index %u%s\n", d->pkey, d->pkey_index,
		   d->pkey_found ? "" : " (not in the table)");
	seq_printf(s, "qkey: 0x%08x\n", d->mcast.qkey);
	seq_printf(s, "group_mtu: %u\n", d->mcast.mtu);
	seq_printf(s, "targets: %u, groups sent to only: %u, not known yet: %u\n",
		   atomic_read(&d->targets.nelems),
		   READ_ONCE(d->strangers[IPOIB_TARGET_GROUP]),
		   READ_ONCE(d->strangers[IPOIB_TARGET_PATH]));
	seq_printf(s, "parked: %u packets, %u bytes\n", parked, parked_bytes);
	seq_printf(s, "send_ring: %u of %u in use%s\n",
		   ipoib_ring_used(d->txq.head, d->txq.tail), d->txq.size,
		   d->txq.open ? "" : ", closed");
	seq_printf(s, "receive_ring: %u of %u posted\n", d->rxq.posted,
		   d->rxq.size);
	mutex_unlock(&d->ctl_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(state);

static int conn_show(struct seq_file *s, void *unused)
{
	struct ipoib_dev *d = s->private;

	mutex_lock(&d->ctl_mutex);
	ipoib_cm_show(d, s);
	mutex_unlock(&d->ctl_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(conn);

static bool fs_name_is_taken(const char *name)
{
	struct dentry *file = debugfs_lookup(name, fs_root);

	dput(file);
	return file;
}

static void fs_name(char *name, size_t size, struct ipoib_dev *d,
		    const char *suffix)
{
	snprintf(name, size, "%s_%s", d->dev->name, suffix);
	if (fs_name_is_taken(name))
		snprintf(name, size, "%s@%u_%s", d->dev->name,
			 dev_net(d->dev)->ns.inum, suffix);
}

static void fs_add(struct ipoib_dev *d)
{
	static const struct {
		const char *suffix;
		const struct file_operations *fops;
	} files[IPOIB_FS_FILES] = {
		{ "mcg", &mcg_fops },
		{ "path", &path_fops },
		{ "neigh", &neigh_fops },
		{ "state", &state_fops },
		{ "conn", &conn_fops },
	};
	char name[IFNAMSIZ + 20];
	int i;

	for (i = 0; i < IPOIB_FS_FILES; i++) {
		fs_name(name, sizeof(name), d, files[i].suffix);
		d->fs_files[i] = debugfs_create_file(name, 0444, fs_root, d,
						     files[i].fops);
	}
}

static void fs_del(struct ipoib_dev *d)
{
	int i;

	for (i = 0; i < IPOIB_FS_FILES; i++) {
		debugfs_remove(d->fs_files[i]);
		d->fs_files[i] = NULL;
	}
}

static int fs_netdev_event(struct notifier_block *nb, unsigned long event,
			   void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);

	if (!ipoib_is_ipoib(dev))
		return NOTIFY_DONE;

	switch (event) {
	case NETDEV_REGISTER:
		/* a move between namespaces registers anew */
	case NETDEV_CHANGENAME:
		fs_del(ipoib_priv(dev));
		fs_add(ipoib_priv(dev));
		break;
	case NETDEV_UNREGISTER:
		fs_del(ipoib_priv(dev));
		break;
	}
	return NOTIFY_DONE;
}

static struct notifier_block fs_notifier = {
	.notifier_call = fs_netdev_event,
};

/**
 * ipoib_fs_init - make the debugfs directory
 *
 * Context: process, module init.
 * Return: 0 or a negative errno.
 */
int ipoib_fs_init(void)
{
	int err;

	fs_root = debugfs_create_dir("ipoib", NULL);
	err = register_netdevice_notifier(&fs_notifier);
	if (err)
		debugfs_remove(fs_root);
	return err;
}

/**
 * ipoib_fs_exit - remove the debugfs directory
 *
 * Context: process, module exit; no interface is left.
 */
void ipoib_fs_exit(void)
{
	unregister_netdevice_notifier(&fs_notifier);
	debugfs_remove(fs_root);
}
