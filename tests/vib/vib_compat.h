/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The few places where kernels differ, and what vib needs from their configuration.
 */
#ifndef VIB_COMPAT_H
#define VIB_COMPAT_H

#include <linux/hrtimer.h>
#include <linux/kconfig.h>
#include <linux/version.h>

/* The device registers without a DMA device: without this option ib_dma_*() would follow NULL. */
#if !IS_ENABLED(CONFIG_INFINIBAND_VIRT_DMA)
#error "vib needs a kernel with CONFIG_INFINIBAND_VIRT_DMA"
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
static inline void vib_hrtimer_setup(struct hrtimer *timer,
				     enum hrtimer_restart (*fn)(struct hrtimer *timer))
{
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	timer->function = fn;
}
#else
static inline void vib_hrtimer_setup(struct hrtimer *timer,
				     enum hrtimer_restart (*fn)(struct hrtimer *timer))
{
	hrtimer_setup(timer, fn, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
}
#endif

#endif /* VIB_COMPAT_H */
