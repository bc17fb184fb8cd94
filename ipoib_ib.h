/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_IB_H
#define _IPOIB_IB_H

#include <linux/types.h>

struct ipoib_dev;
union ib_gid;

int ipoib_ib_init(struct ipoib_dev *d, u32 tx_size, u32 rx_size);
void ipoib_ib_fini(struct ipoib_dev *d);
int ipoib_ib_start(struct ipoib_dev *d);
void ipoib_ib_stop(struct ipoib_dev *d);
int ipoib_ib_recover(struct ipoib_dev *d);
int ipoib_ib_set_qkey(struct ipoib_dev *d, u32 qkey);
int ipoib_ib_attach(struct ipoib_dev *d, union ib_gid *mgid, u16 mlid);
void ipoib_ib_detach(struct ipoib_dev *d, union ib_gid *mgid, u16 mlid);

#endif /* _IPOIB_IB_H */
