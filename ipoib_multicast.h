/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_MULTICAST_H
#define _IPOIB_MULTICAST_H

#include <linux/types.h>

struct ipoib_dev;
struct ipoib_target;
struct seq_file;

struct ipoib_target *ipoib_mcast_make_sendonly(struct ipoib_dev *d,
					       const u8 *mgid);
void ipoib_mcast_step(struct ipoib_target *t);
void ipoib_mcast_run(struct ipoib_dev *d);
void ipoib_mcast_kill(struct ipoib_target *t);
void ipoib_mcast_forget_bcast(struct ipoib_dev *d);
void ipoib_mcast_rejoin(struct ipoib_target *t);
bool ipoib_mcast_sweepable(struct ipoib_target *t);
int ipoib_mcast_bcast_status(struct ipoib_dev *d);
void ipoib_mcast_show(struct ipoib_target *t, struct seq_file *s);
u8 ipoib_mcast_traffic_class(struct ipoib_dev *d);

#endif /* _IPOIB_MULTICAST_H */
