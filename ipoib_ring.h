/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Arithmetic of a descriptor ring with free-running 32-bit indices.
 *
 * Pure code.  head is the next slot to fill, tail the oldest one in use; both
 * only grow and wrap at 2^32, so head == tail is empty and the ring may be
 * filled to its last slot.  size is a power of two.
 */
#ifndef _IPOIB_RING_H
#define _IPOIB_RING_H

#include <linux/types.h>

/**
 * ipoib_ring_slot - index into the slot array
 * @idx: free-running index
 * @size: slots, a power of two
 *
 * Return: position in 0 .. @size - 1.
 */
static inline u32 ipoib_ring_slot(u32 idx, u32 size)
{
	return idx & (size - 1);
}

/**
 * ipoib_ring_used - slots in use
 * @head: next slot to fill
 * @tail: oldest slot in use
 *
 * Return: number of slots, right across the wrap.
 */
static inline u32 ipoib_ring_used(u32 head, u32 tail)
{
	return head - tail;
}

/**
 * ipoib_ring_free - slots that can still be filled
 * @head: next slot to fill
 * @tail: oldest slot in use
 * @size: slots, a power of two
 *
 * Return: number of slots.
 */
static inline u32 ipoib_ring_free(u32 head, u32 tail, u32 size)
{
	return size - (head - tail);
}

/**
 * ipoib_ring_passed - have all slots before a stamp been given back?
 * @tail: oldest slot in use
 * @stamp: value of head when the stamp was taken
 *
 * Return: true when nothing posted before the stamp is outstanding.
 */
static inline bool ipoib_ring_passed(u32 tail, u32 stamp)
{
	return (s32)(tail - stamp) >= 0;
}

/**
 * ipoib_ring_upto - index of a completed slot
 * @tail: oldest slot in use
 * @slot: position in the array that completed
 * @size: slots, a power of two
 *
 * Completions come in order, so one for @slot ends all before it too.
 *
 * Return: the free-running index behind the completed slot.
 */
static inline u32 ipoib_ring_upto(u32 tail, u32 slot, u32 size)
{
	return tail + ((slot - tail) & (size - 1)) + 1;
}

#endif /* _IPOIB_RING_H */
