/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_PATH_H
#define _IPOIB_PATH_H

#include <linux/types.h>

struct ipoib_dev;
struct ipoib_target;
struct sa_path_rec;
struct seq_file;

struct ipoib_target *ipoib_path_make(struct ipoib_dev *d, const u8 *gid);
void ipoib_path_step(struct ipoib_target *t);
bool ipoib_path_record(struct ipoib_target *t, struct sa_path_rec *rec);
void ipoib_path_kill(struct ipoib_target *t);
void ipoib_path_show(struct ipoib_target *t, struct seq_file *s);
void ipoib_path_renew(struct ipoib_target *t);
void ipoib_path_age(struct ipoib_target *t, unsigned long now);
void ipoib_path_heard(struct ipoib_dev *d, const u8 *sgid, u16 slid);
int ipoib_path_listen(void);
void ipoib_path_unlisten(void);

#endif /* _IPOIB_PATH_H */
