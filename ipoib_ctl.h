/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_CTL_H
#define _IPOIB_CTL_H

#include <linux/types.h>

struct ib_event;
struct ib_event_handler;
struct ipoib_dev;

void ipoib_ctl_init(struct ipoib_dev *d);
int ipoib_ctl_first_look(struct ipoib_dev *d);
void ipoib_ctl_keep_pkey(struct ipoib_dev *d);
void ipoib_ctl_set_guid(struct ipoib_dev *d, __be64 guid);
int ipoib_ctl_open(struct ipoib_dev *d);
void ipoib_ctl_stop(struct ipoib_dev *d);
void ipoib_ctl_fini(struct ipoib_dev *d);
void ipoib_ctl_news(struct ipoib_dev *d, u32 events);
void ipoib_ctl_ib_event(struct ib_event_handler *handler,
			struct ib_event *event);

#endif /* _IPOIB_CTL_H */
