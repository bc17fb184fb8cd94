/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the modules that check vib's verbs share: choosing the device, counting cases, saying what
 * does not hold, and polling by hand. Each module is a single file, so it has counters of its own.
 */
#ifndef VIB_CHECK_H
#define VIB_CHECK_H

#include <linux/printk.h>
#include <linux/string.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

static int chk_failed;
static int chk_count;

/* The first vib device with two ports is the one to check, once */
static inline bool chk_wants(struct ib_device *dev)
{
	return !chk_count && !strncmp(dev_name(&dev->dev), "vib", 3) && dev->phys_port_cnt >= 2;
}

/* A case is over */
static inline void chk_say(bool ok, const char *name)
{
	pr_info("vib_check: %s %d - %s\n", ok ? "ok" : "not ok", ++chk_count, name);
	chk_failed += !ok;
}

/* Runs all that @client does when it is shown the devices; what loading the module ends with */
static inline int chk_devices(struct ib_client *client)
{
	int ret;

	ret = ib_register_client(client);
	if (ret)
		return ret;
	ib_unregister_client(client);
	if (!chk_count)
		return -ENODEV;
	pr_info("vib_check: %d passed, %d failed\n", chk_count - chk_failed, chk_failed);
	return chk_failed ? -EINVAL : 0;
}

/* Clears @ok and says where if @cond does not hold */
static inline bool chk_that(bool *ok, bool cond, const char *text, int line)
{
	if (cond)
		return true;
	pr_info("vib_check: line %d: %s does not hold\n", line, text);
	*ok = false;
	return false;
}

#define CHECK(c, cond) chk_that(&(c)->ok, cond, #cond, __LINE__)

static inline u64 chk_addr(const void *p)
{
	return (u64)(uintptr_t)p;
}

/* The next completion of @cq has this status and belongs to this WR */
static inline bool chk_next(struct ib_cq *cq, struct ib_wc *wc, const struct ib_cqe *cqe,
			    enum ib_wc_status status)
{
	return ib_poll_cq(cq, 1, wc) == 1 && wc->wr_cqe == cqe && wc->status == status;
}

static inline bool chk_empty(struct ib_cq *cq)
{
	struct ib_wc wc;

	return !ib_poll_cq(cq, 1, &wc);
}

#endif /* VIB_CHECK_H */
