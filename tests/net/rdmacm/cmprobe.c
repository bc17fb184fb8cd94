// SPDX-License-Identifier: GPL-2.0
/*
 * A probe for the RDMA connection manager: it listens, it asks for connections,
 * and it writes down to which netdev the core mapped each request.  No queue
 * pair is needed for that, as every request is refused once it has been looked
 * at.
 *
 * debugfs cmprobe/ctl takes one command in a write, for the network namespace
 * of the writer, and answers by errno:
 *
 *	listen PORT		on all addresses, IPv4 and IPv6
 *	connect ADDR PORT	returns when the peer has answered
 *	close			ends all listeners
 *
 * debugfs cmprobe/log has a line for each request: the netdev's name.
 */
#include <linux/completion.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/inet.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <rdma/ib_cm.h>
#include <rdma/rdma_cm.h>

MODULE_DESCRIPTION("Probe for the netdev that a connection request is mapped to");
MODULE_LICENSE("GPL");

#define CMPROBE_TIMEOUT	5000	/* ms */
#define CMPROBE_LINES	64

struct cmprobe_listener {
	struct rdma_cm_id *id;
	struct list_head all;
};

/* One try to connect; on the stack of the writer */
struct cmprobe_try {
	struct completion done;
	int status;
};

static DEFINE_MUTEX(cmprobe_mutex);
static LIST_HEAD(cmprobe_listeners);
static char cmprobe_log[CMPROBE_LINES][IFNAMSIZ];
static unsigned int cmprobe_lines;
static DEFINE_SPINLOCK(cmprobe_log_lock);
static struct dentry *cmprobe_root;

static void cmprobe_note(const struct rdma_dev_addr *addr)
{
	struct net_device *dev = dev_get_by_index(addr->net, addr->bound_dev_if);

	spin_lock(&cmprobe_log_lock);
	if (cmprobe_lines < CMPROBE_LINES)
		strscpy(cmprobe_log[cmprobe_lines++], dev ? dev->name : "-",
			IFNAMSIZ);
	spin_unlock(&cmprobe_log_lock);
	dev_put(dev);
}

static int cmprobe_request(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST)
		return 0;
	cmprobe_note(&id->route.addr.dev_addr);
	rdma_reject(id, NULL, 0, IB_CM_REJ_CONSUMER_DEFINED);
	/* the core destroys the new id */
	return 1;
}

static int cmprobe_listen(struct net *net, unsigned short port)
{
	struct sockaddr_in6 any = {
		.sin6_family = AF_INET6,
		.sin6_port = htons(port),
	};
	struct cmprobe_listener *l;
	int err;

	l = kzalloc(sizeof(*l), GFP_KERNEL);
	if (!l)
		return -ENOMEM;
	l->id = rdma_create_id(net, cmprobe_request, NULL, RDMA_PS_TCP,
			       IB_QPT_RC);
	if (IS_ERR(l->id)) {
		err = PTR_ERR(l->id);
		goto err_free;
	}
	err = rdma_bind_addr(l->id, (struct sockaddr *)&any);
	if (!err)
		err = rdma_listen(l->id, 16);
	if (err)
		goto err_id;
	list_add(&l->all, &cmprobe_listeners);
	return 0;

err_id:
	rdma_destroy_id(l->id);
err_free:
	kfree(l);
	return err;
}

static void cmprobe_close(void)
{
	struct cmprobe_listener *l, *next;

	list_for_each_entry_safe(l, next, &cmprobe_listeners, all) {
		list_del(&l->all);
		rdma_destroy_id(l->id);
		kfree(l);
	}
}

static void cmprobe_end(struct cmprobe_try *t, int status)
{
	t->status = status;
	complete(&t->done);
}

static int cmprobe_progress(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rdma_conn_param param = { .qp_num = 0x123456 };
	struct cmprobe_try *t = id->context;
	int err;

	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		err = rdma_resolve_route(id, CMPROBE_TIMEOUT);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		err = rdma_connect_locked(id, &param);
		break;
	case RDMA_CM_EVENT_REJECTED:
		/* that is what our listener does; others have other reasons */
		cmprobe_end(t, event->status == IB_CM_REJ_CONSUMER_DEFINED ?
				0 : -ECONNREFUSED);
		return 0;
	default:
		cmprobe_end(t, event->status < 0 ? event->status : -EIO);
		return 0;
	}
	if (err)
		cmprobe_end(t, err);
	return 0;
}

static int cmprobe_connect(struct net *net, const char *addr, const char *port)
{
	struct sockaddr_storage to;
	struct cmprobe_try t = {};
	struct rdma_cm_id *id;
	int err;

	err = inet_pton_with_scope(net, AF_UNSPEC, addr, port, &to);
	if (err)
		return err;
	init_completion(&t.done);
	id = rdma_create_id(net, cmprobe_progress, &t, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	err = rdma_resolve_addr(id, NULL, (struct sockaddr *)&to,
				CMPROBE_TIMEOUT);
	if (!err && !wait_for_completion_timeout(&t.done,
						 msecs_to_jiffies(4 * CMPROBE_TIMEOUT)))
		err = -ETIMEDOUT;
	rdma_destroy_id(id);
	return err ?: t.status;
}

static int cmprobe_run(char *text)
{
	struct net *net = current->nsproxy->net_ns;
	char *word = strsep(&text, " ");
	unsigned short port;
	char *addr;

	if (!strcmp(word, "close")) {
		cmprobe_close();
		return 0;
	}
	if (!strcmp(word, "listen") && text)
		return kstrtou16(text, 0, &port) ?: cmprobe_listen(net, port);
	if (!strcmp(word, "connect") && text) {
		addr = strsep(&text, " ");
		return text ? cmprobe_connect(net, addr, text) : -EINVAL;
	}
	return -EINVAL;
}

static ssize_t ctl_write(struct file *file, const char __user *buf,
			 size_t count, loff_t *pos)
{
	char text[128];
	int err;

	if (count >= sizeof(text))
		return -EINVAL;
	if (copy_from_user(text, buf, count))
		return -EFAULT;
	text[count] = 0;

	mutex_lock(&cmprobe_mutex);
	err = cmprobe_run(strim(text));
	mutex_unlock(&cmprobe_mutex);
	return err ?: count;
}

static const struct file_operations ctl_fops = {
	.owner = THIS_MODULE,
	.write = ctl_write,
};

static int log_show(struct seq_file *s, void *unused)
{
	unsigned int i;

	spin_lock(&cmprobe_log_lock);
	for (i = 0; i < cmprobe_lines; i++)
		seq_printf(s, "%s\n", cmprobe_log[i]);
	spin_unlock(&cmprobe_log_lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(log);

static int __init cmprobe_init(void)
{
	cmprobe_root = debugfs_create_dir("cmprobe", NULL);
	debugfs_create_file("ctl", 0200, cmprobe_root, NULL, &ctl_fops);
	debugfs_create_file("log", 0444, cmprobe_root, NULL, &log_fops);
	return 0;
}

static void __exit cmprobe_exit(void)
{
	debugfs_remove(cmprobe_root);
	cmprobe_close();
}

module_init(cmprobe_init);
module_exit(cmprobe_exit);
