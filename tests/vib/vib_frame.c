// SPDX-License-Identifier: GPL-2.0
/*
 * Stored packets: those that must not, or cannot, arrive in the call of their sender.
 *
 * A frame is a copy of a packet, payload included, and the port at which it will arrive. The fault
 * stage makes them of packets that it delays, doubles or spoils; the built-in SA and
 * ghost peers make them of their answers, because nothing may be sent back while the locks of the
 * asker are held.
 *
 * All frames wait in one list, ordered by the time at which they are due; one soft timer takes them
 * out of it, in softirq context, a batch at a time. Putting a frame in is possible in any context.
 * frame_lock is a leaf. The timer runs each frame inside an RCU read section that begins before the
 * frame leaves the list: a port that took its frames out of the list and then waited for a grace
 * period will not be touched by one any more.
 */
#include "vib.h"

#include <linux/hrtimer.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/string.h>

#define FRAME_BATCH	64
#define FRAMES_MAX	65536	/* beyond that the fabric loses packets */

static LIST_HEAD(frames);		/* frame_lock */
static unsigned int frames_waiting;	/* frame_lock */
static u64 frames_lost;			/* frame_lock */
static DEFINE_SPINLOCK(frame_lock);
static struct hrtimer frame_timer;

/**
 * vib_frame_alloc - store a packet
 * @pkt: packet to copy; the copy no longer needs its sender
 * @room: bytes of payload that the copy has room for, at least
 *
 * Context: any.
 * Return: the frame, whose payload is @frame->data, or NULL.
 */
struct vib_frame *vib_frame_alloc(const struct vib_pkt *pkt, u32 room)
{
	struct vib_frame *frame;

	frame = kmalloc(struct_size(frame, data, max(room, pkt->len)), GFP_ATOMIC | __GFP_NOWARN);
	if (!frame)
		return NULL;
	frame->pkt = *pkt;
	frame->pkt.src = NULL;
	frame->pkt.len = vib_pkt_copy(pkt, frame->data, 0, pkt->len);
	frame->pkt.hdr = frame->data;
	frame->pkt.hdr_len = frame->pkt.len;
	frame->pkt.sge = NULL;
	frame->pkt.nsge = 0;
	return frame;
}

/**
 * vib_frame_resize - say how long the payload of a frame is now
 * @frame: frame that is not sent yet
 * @len: not more than it has room for
 *
 * Context: any.
 */
void vib_frame_resize(struct vib_frame *frame, u32 len)
{
	frame->pkt.len = len;
	frame->pkt.hdr_len = len;
}

static void frame_arm(void)
{
	const struct vib_frame *first;

	lockdep_assert_held(&frame_lock);
	first = list_first_entry_or_null(&frames, struct vib_frame, entry);
	if (first)
		hrtimer_start(&frame_timer, first->due, HRTIMER_MODE_ABS_SOFT);
}

/**
 * vib_frame_send - let a frame arrive at a port, later
 * @frame: the frame; no longer the caller's
 * @at: the port; an external or the management port of a switch, or a port of an HCA
 * @hops: switches, or for management packets cables, that it may still meet
 * @delay: nanoseconds from now
 *
 * Context: any, under RCU: the port was found by a cable or a table of now.
 */
void vib_frame_send(struct vib_frame *frame, struct vib_lport *at, unsigned int hops, u64 delay)
{
	struct list_head *pos;
	unsigned long flags;

	frame->at = at;
	frame->hops = hops;
	frame->due = ktime_add_ns(ktime_get(), delay);
	spin_lock_irqsave(&frame_lock, flags);
	if (unlikely(frames_waiting >= FRAMES_MAX)) {
		frames_lost++;
		spin_unlock_irqrestore(&frame_lock, flags);
		kfree(frame);
		return;
	}
	/* nearly all of them go to the end */
	list_for_each_prev(pos, &frames)
		if (ktime_compare(list_entry(pos, struct vib_frame, entry)->due, frame->due) <= 0)
			break;
	list_add(&frame->entry, pos);
	frames_waiting++;
	at->framed = true;
	if (list_is_first(&frame->entry, &frames))
		frame_arm();
	spin_unlock_irqrestore(&frame_lock, flags);
}

/* The next frame that is due, taken out of the list */
static struct vib_frame *frame_next(void)
{
	struct vib_frame *frame;
	unsigned long flags;

	spin_lock_irqsave(&frame_lock, flags);
	frame = list_first_entry_or_null(&frames, struct vib_frame, entry);
	if (frame && ktime_after(frame->due, ktime_get()))
		frame = NULL;
	if (frame) {
		list_del(&frame->entry);
		frames_waiting--;
	}
	spin_unlock_irqrestore(&frame_lock, flags);
	return frame;
}

static enum hrtimer_restart frame_timer_fn(struct hrtimer *timer)
{
	struct vib_frame *frame;
	unsigned long flags;
	unsigned int i;

	rcu_read_lock();
	for (i = 0; i < FRAME_BATCH; i++) {
		frame = frame_next();
		if (!frame)
			break;
		if (frame->pkt.smp)
			vib_smi_arrive(frame->at, &frame->pkt, frame->hops);
		else
			vib_walk_arrive(frame->at, &frame->pkt, frame->hops);
		kfree(frame);
	}
	rcu_read_unlock();
	spin_lock_irqsave(&frame_lock, flags);
	frame_arm();
	spin_unlock_irqrestore(&frame_lock, flags);
	return HRTIMER_NORESTART;
}

/**
 * vib_frames_drop - forget the frames that are on their way to a port
 * @at: the port; nobody sends to it any more
 *
 * Context: process, may sleep: waits until the last one has arrived.
 */
void vib_frames_drop(struct vib_lport *at)
{
	struct vib_frame *frame, *next;
	bool framed;

	spin_lock_irq(&frame_lock);
	framed = at->framed;
	list_for_each_entry_safe(frame, next, &frames, entry) {
		if (frame->at != at)
			continue;
		list_del(&frame->entry);
		frames_waiting--;
		kfree(frame);
	}
	spin_unlock_irq(&frame_lock);
	if (framed)
		synchronize_rcu();
}

/**
 * vib_frames_stat - how many frames wait, and how many were too many
 * @lost: takes the latter
 *
 * Context: process.
 * Return: the former.
 */
unsigned int vib_frames_stat(u64 *lost)
{
	unsigned int waiting;

	spin_lock_irq(&frame_lock);
	waiting = frames_waiting;
	*lost = frames_lost;
	spin_unlock_irq(&frame_lock);
	return waiting;
}

/**
 * vib_frames_init - make the list ready
 *
 * Context: process.
 */
void vib_frames_init(void)
{
	hrtimer_init(&frame_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	frame_timer.function = frame_timer_fn;
}

/**
 * vib_frames_exit - stop the timer; all ports are gone, and their frames with them
 *
 * Context: process, may sleep.
 */
void vib_frames_exit(void)
{
	hrtimer_cancel(&frame_timer);
	WARN_ON_ONCE(!list_empty(&frames));
}
