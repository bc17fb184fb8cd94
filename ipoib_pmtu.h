/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_PMTU_H
#define _IPOIB_PMTU_H

#include <linux/types.h>

struct ipoib_dev;
struct sk_buff;

void ipoib_pmtu_refuse(struct ipoib_dev *d, struct sk_buff *skb, u32 mtu);
void ipoib_pmtu_run(struct ipoib_dev *d);

#endif /* _IPOIB_PMTU_H */
