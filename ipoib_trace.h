/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM ipoib

#if !defined(_IPOIB_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _IPOIB_TRACE_H

#include <linux/netdevice.h>
#include <linux/tracepoint.h>

#include "ipoib_policy.h"

TRACE_EVENT(ipoib_state,
	TP_PROTO(const struct net_device *dev, enum ipoib_state from,
		 enum ipoib_state to),
	TP_ARGS(dev, from, to),
	TP_STRUCT__entry(
		__string(dev, dev->name)
		__field(int, from)
		__field(int, to)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->from = from;
		__entry->to = to;
	),
	TP_printk("%s %s -> %s", __get_str(dev),
		  ipoib_policy_state_name(__entry->from),
		  ipoib_policy_state_name(__entry->to))
);

DECLARE_EVENT_CLASS(ipoib_answer,
	TP_PROTO(const struct net_device *dev, const u8 *gid, int status),
	TP_ARGS(dev, gid, status),
	TP_STRUCT__entry(
		__string(dev, dev->name)
		__array(u8, gid, 16)
		__field(int, status)
	),
	TP_fast_assign(
		__assign_str(dev);
		memcpy(__entry->gid, gid, 16);
		__entry->status = status;
	),
	TP_printk("%s %pI6 status %d", __get_str(dev), __entry->gid,
		  __entry->status)
);

/* the SA has answered a join, or the HCA what follows from it */
DEFINE_EVENT(ipoib_answer, ipoib_join,
	TP_PROTO(const struct net_device *dev, const u8 *gid, int status),
	TP_ARGS(dev, gid, status)
);

/* a group has been left */
DEFINE_EVENT(ipoib_answer, ipoib_leave,
	TP_PROTO(const struct net_device *dev, const u8 *gid, int status),
	TP_ARGS(dev, gid, status)
);

/* the SA has answered a path query, or the HCA what follows from it */
DEFINE_EVENT(ipoib_answer, ipoib_path,
	TP_PROTO(const struct net_device *dev, const u8 *gid, int status),
	TP_ARGS(dev, gid, status)
);

/* a connection has changed its state, which is the number shown */
DEFINE_EVENT(ipoib_answer, ipoib_conn,
	TP_PROTO(const struct net_device *dev, const u8 *gid, int status),
	TP_ARGS(dev, gid, status)
);

/* the stack has given up a neighbour behind a path, which is asked for anew */
DEFINE_EVENT(ipoib_answer, ipoib_neigh_failed,
	TP_PROTO(const struct net_device *dev, const u8 *gid, int status),
	TP_ARGS(dev, gid, status)
);

/* what came in and is not handed up: why, and how long it is, 0 if unknown */
TRACE_EVENT(ipoib_rx_drop,
	TP_PROTO(const struct net_device *dev, const char *why, u32 len),
	TP_ARGS(dev, why, len),
	TP_STRUCT__entry(
		__string(dev, dev->name)
		__string(why, why)
		__field(u32, len)
	),
	TP_fast_assign(
		__assign_str(dev);
		__assign_str(why);
		__entry->len = len;
	),
	TP_printk("%s %s len %u", __get_str(dev), __get_str(why), __entry->len)
);

DECLARE_EVENT_CLASS(ipoib_ring,
	TP_PROTO(const struct net_device *dev, u32 posted, u32 done),
	TP_ARGS(dev, posted, done),
	TP_STRUCT__entry(
		__string(dev, dev->name)
		__field(u32, posted)
		__field(u32, done)
	),
	TP_fast_assign(
		__assign_str(dev);
		__entry->posted = posted;
		__entry->done = done;
	),
	TP_printk("%s posted %u done %u", __get_str(dev), __entry->posted,
		  __entry->done)
);

DEFINE_EVENT(ipoib_ring, ipoib_ring_stop,
	TP_PROTO(const struct net_device *dev, u32 posted, u32 done),
	TP_ARGS(dev, posted, done)
);

DEFINE_EVENT(ipoib_ring, ipoib_ring_wake,
	TP_PROTO(const struct net_device *dev, u32 posted, u32 done),
	TP_ARGS(dev, posted, done)
);

#endif /* _IPOIB_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE ipoib_trace
#include <trace/define_trace.h>
