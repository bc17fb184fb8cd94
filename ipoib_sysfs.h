/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_SYSFS_H
#define _IPOIB_SYSFS_H

struct attribute_group;

extern const struct attribute_group ipoib_parent_group;
extern const struct attribute_group ipoib_child_group;

#endif /* _IPOIB_SYSFS_H */
