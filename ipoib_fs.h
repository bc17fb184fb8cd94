/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _IPOIB_FS_H
#define _IPOIB_FS_H

#ifdef CONFIG_INFINIBAND_IPOIB_DEBUG
int ipoib_fs_init(void);
void ipoib_fs_exit(void);
#else
/**
 * ipoib_fs_init - nothing to make without debugfs files
 *
 * Return: 0.
 */
static inline int ipoib_fs_init(void)
{
	return 0;
}

/**
 * ipoib_fs_exit - nothing to remove
 */
static inline void ipoib_fs_exit(void)
{
}
#endif

#endif /* _IPOIB_FS_H */
