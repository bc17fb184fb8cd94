/* SPDX-License-Identifier: GPL-2.0 */
/* What the modules that check vib's verbs share: saying what does not hold, and polling by hand */
#ifndef VIB_CHECK_H
#define VIB_CHECK_H

#include <linux/printk.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

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
