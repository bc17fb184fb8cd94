// SPDX-License-Identifier: GPL-2.0
/*
 * Captures: what passes a link port, both ways, as a file that tcpdump and wireshark read.
 *
 *	echo "capture start vib0:1 4096" >ctl	listen at port 1 of vib0, keep 4096 kB at most
 *	echo "capture stop" >ctl		stop to listen; what there is stays
 *	echo "capture clear" >ctl		the same, and give the memory back
 *	cat pcap >FILE				may be read at any time
 *	cat capture				what is going on, in key=value words
 *
 * There is one capture at a time. Its memory is taken at the start; packets that find no room are
 * counted and forgotten, so that the beginning of a story is never lost. The link type of the file
 * is 247, InfiniBand from the local route header on; the two CRCs at the end of a packet are zero.
 *
 * Packets are taken down in the context of their sender under capture_lock, a leaf. Commands and
 * readers of the file come in process context, under capture_mutex. While nothing is captured a
 * static branch keeps packets away.
 */
#include "vib.h"

#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/seq_file.h>
#include <linux/timekeeping.h>
#include <linux/vmalloc.h>

#define PCAP_MAGIC_NS		0xa1b23c4d
#define PCAP_VERSION_MAJOR	2
#define PCAP_VERSION_MINOR	4
#define PCAP_LINK_INFINIBAND	247
#define PCAP_CRCS		6	/* ICRC and VCRC */

/* Both in the byte order of the writer, as the format wants it */
struct pcap_file {
	u32 magic;
	u16 major;
	u16 minor;
	s32 zone;
	u32 sigfigs;
	u32 snaplen;
	u32 link;
};

struct pcap_rec {
	u32 sec;
	u32 nsec;
	u32 len;
	u32 orig_len;
};

DEFINE_STATIC_KEY_FALSE(vib_capture_key);

/* start, stop, and readers */
static DEFINE_MUTEX(capture_mutex);
static char capture_name[VIB_NODE_NAME + 8];	/* capture_mutex */

/* what follows */
static DEFINE_SPINLOCK(capture_lock);
static const struct vib_lport *capture_port;	/* compared only */
static u8 *capture_buf;
static size_t capture_size;
static size_t capture_len;
static u64 capture_pkts;
static u64 capture_lost;

/* Takes one packet down; capture_lock held */
static void capture_add(const struct vib_pkt *pkt)
{
	u32 len = vib_pack_len(pkt);
	struct pcap_rec rec = { .len = len + PCAP_CRCS, .orig_len = len + PCAP_CRCS };
	struct timespec64 now;
	u8 *p;

	lockdep_assert_held(&capture_lock);
	if (pkt->len > VIB_PACK_PAYLOAD_MAX ||
	    capture_len + sizeof(rec) + rec.len > capture_size) {
		capture_lost++;
		return;
	}
	ktime_get_real_ts64(&now);
	rec.sec = now.tv_sec;
	rec.nsec = now.tv_nsec;
	p = capture_buf + capture_len;
	memcpy(p, &rec, sizeof(rec));
	vib_pack(pkt, p + sizeof(rec));
	memset(p + sizeof(rec) + len, 0, PCAP_CRCS);
	capture_len += sizeof(rec) + rec.len;
	capture_pkts++;
}

/**
 * __vib_capture - a packet crosses from one port to another
 * @out: the port that it leaves by
 * @in: the port that it arrives at
 * @pkt: the packet
 *
 * Context: any.
 */
void __vib_capture(const struct vib_lport *out, const struct vib_lport *in,
		   const struct vib_pkt *pkt)
{
	unsigned long flags;

	if (READ_ONCE(capture_port) != out && READ_ONCE(capture_port) != in)
		return;
	spin_lock_irqsave(&capture_lock, flags);
	if (capture_port == out || capture_port == in)
		capture_add(pkt);
	spin_unlock_irqrestore(&capture_lock, flags);
}

static void capture_stop(void)
{
	lockdep_assert_held(&capture_mutex);
	if (!capture_port)
		return;
	static_branch_disable(&vib_capture_key);
	spin_lock_irq(&capture_lock);
	capture_port = NULL;
	spin_unlock_irq(&capture_lock);
}

/* Exchanges the buffer; the file header is its first content */
static void capture_set(u8 *buf, size_t size)
{
	static const struct pcap_file head = {
		.magic = PCAP_MAGIC_NS,
		.major = PCAP_VERSION_MAJOR,
		.minor = PCAP_VERSION_MINOR,
		.snaplen = VIB_PACK_MAX + PCAP_CRCS,
		.link = PCAP_LINK_INFINIBAND,
	};
	u8 *old = capture_buf;

	lockdep_assert_held(&capture_mutex);
	if (buf)
		memcpy(buf, &head, sizeof(head));
	spin_lock_irq(&capture_lock);
	capture_buf = buf;
	capture_size = size;
	capture_len = buf ? sizeof(head) : 0;
	capture_pkts = 0;
	capture_lost = 0;
	spin_unlock_irq(&capture_lock);
	vfree(old);
}

/**
 * vib_capture_start - take down what passes a port
 * @lp: the port
 * @kb: memory for it
 *
 * Context: process, may sleep; the caller sees to it that the port stays meanwhile.
 * Return: 0, -ERANGE for a size beyond 1 to VIB_CAPTURE_KB_MAX, -EBUSY while there is a capture
 * already, or -ENOMEM.
 */
int vib_capture_start(const struct vib_lport *lp, unsigned int kb)
{
	int ret = 0;
	u8 *buf;

	if (!kb || kb > VIB_CAPTURE_KB_MAX)
		return -ERANGE;
	buf = vmalloc(kb * 1024UL);
	if (!buf)
		return -ENOMEM;
	mutex_lock(&capture_mutex);
	if (capture_port) {
		ret = -EBUSY;
	} else {
		capture_set(buf, kb * 1024UL);
		snprintf(capture_name, sizeof(capture_name), "%s:%u", lp->node->name, lp->num);
		spin_lock_irq(&capture_lock);
		capture_port = lp;
		spin_unlock_irq(&capture_lock);
		static_branch_enable(&vib_capture_key);
	}
	mutex_unlock(&capture_mutex);
	if (ret)
		vfree(buf);
	return ret;
}

/**
 * vib_capture_stop - end the capture, if there is one
 * @clear: forget what it has
 *
 * Context: process, may sleep.
 */
void vib_capture_stop(bool clear)
{
	mutex_lock(&capture_mutex);
	capture_stop();
	if (clear)
		capture_set(NULL, 0);
	mutex_unlock(&capture_mutex);
}

/**
 * vib_capture_forget - a port goes away: end its capture
 * @lp: the port
 *
 * Context: process, may sleep.
 */
void vib_capture_forget(const struct vib_lport *lp)
{
	mutex_lock(&capture_mutex);
	if (capture_port == lp)
		capture_stop();
	mutex_unlock(&capture_mutex);
}

static ssize_t pcap_read(struct file *file, char __user *ubuf, size_t len, loff_t *pos)
{
	ssize_t ret;
	size_t end;

	mutex_lock(&capture_mutex);
	spin_lock_irq(&capture_lock);
	end = capture_len;
	spin_unlock_irq(&capture_lock);
	/* what lies before the end does not change as long as we have the mutex */
	ret = simple_read_from_buffer(ubuf, len, pos, capture_buf, end);
	mutex_unlock(&capture_mutex);
	return ret;
}

static const struct file_operations pcap_fops = {
	.owner = THIS_MODULE,
	.open = simple_open,
	.read = pcap_read,
	.llseek = default_llseek,
};

static int capture_show(struct seq_file *s, void *unused)
{
	u64 pkts, lost;
	size_t len;

	mutex_lock(&capture_mutex);
	spin_lock_irq(&capture_lock);
	pkts = capture_pkts;
	lost = capture_lost;
	len = capture_len;
	spin_unlock_irq(&capture_lock);
	seq_printf(s, "on=%d port=%s packets=%llu bytes=%zu lost=%llu\n", !!capture_port,
		   *capture_name ? capture_name : "none", pkts, len, lost);
	mutex_unlock(&capture_mutex);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(capture);

/**
 * vib_capture_init - create the files
 * @root: directory
 *
 * Context: process.
 */
void vib_capture_init(struct dentry *root)
{
	debugfs_create_file("pcap", 0400, root, NULL, &pcap_fops);
	debugfs_create_file("capture", 0400, root, NULL, &capture_fops);
}
