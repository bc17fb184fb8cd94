// SPDX-License-Identifier: GPL-2.0
/*
 * Commands of the control file that do harm to packets, run a subnet manager that can be made to
 * lie, and populate the subnet with peers that are not there. What they say is described at the top
 * of vib_ctl.c. They run in the context of the writer, one at a time, under vib_ctl_mutex.
 */
#include "vib_ctl.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

static int ctl_fault_spec(const struct ctl_args *args, struct vib_rule_spec *spec)
{
	static const char *const keys[] = {
		"class", "do", "slid", "dlid", "qpn", "method", "attr", "ppm", "skip", "count",
		"seed", "us", "jitter", "after", "len", NULL
	};
	const struct {
		const char *key;
		u32 *val;
		u32 max;
	} nums[] = {
		{ "slid", (u32 *)&spec->slid, U16_MAX },
		{ "dlid", (u32 *)&spec->dlid, U16_MAX },
		{ "qpn", (u32 *)&spec->qpn, IB_QPN_MASK },
		{ "method", (u32 *)&spec->method, U8_MAX },
		{ "attr", (u32 *)&spec->attr, U16_MAX },
		{ "ppm", &spec->ppm, 1000000 },
		{ "skip", &spec->skip, U32_MAX },
		{ "count", &spec->count, U32_MAX },
		{ "seed", &spec->seed, U32_MAX },
		{ "us", &spec->us, CTL_WAIT_MAX * USEC_PER_MSEC },
		{ "jitter", &spec->jitter, CTL_WAIT_MAX * USEC_PER_MSEC },
		{ "after", &spec->after, U32_MAX },
		{ "len", &spec->len, U16_MAX },
	};
	unsigned int i;
	int ret;

	ret = ctl_check_keys(args, 3, keys) ?:
	      vib_fault_names(spec, ctl_key(args, 3, "class"), ctl_key(args, 3, "do"));
	for (i = 0; !ret && i < ARRAY_SIZE(nums); i++)
		ret = ctl_key_uint(args, 3, nums[i].key, nums[i].max, nums[i].val);
	if (!ret && ((spec->act == VIB_ACT_HOLD && !spec->after) ||
		     (spec->act == VIB_ACT_CUT && !spec->len) ||
		     (spec->act == VIB_ACT_DELAY && !spec->us && !spec->jitter)))
		ret = -EINVAL;
	return ret;
}

/**
 * ctl_fault - the command "fault": rules of a fault stage
 * @args: the command
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0 or an errno.
 */
int ctl_fault(struct ctl_args *args)
{
	struct vib_rule_spec spec = {
		.slid = -1, .dlid = -1, .qpn = -1, .method = -1, .attr = -1,
		.ppm = 1000000, .seed = 1,
	};
	struct vib_lport *lp = ctl_lport(args->word[1]);
	bool out = !strcmp(args->word[2], "out");
	int ret;

	if (IS_ERR(lp))
		return PTR_ERR(lp);
	if (!strcmp(args->word[2], "clear") && args->n == 3) {
		vib_fault_clear(lp);
		return 0;
	}
	if (!out && strcmp(args->word[2], "in"))
		return -EINVAL;
	ret = ctl_fault_spec(args, &spec);
	return ret ?: vib_fault_add(lp, out ? VIB_FAULT_OUT : VIB_FAULT_IN, &spec);
}

static int ctl_sa_add(const struct ctl_args *args, struct vib_switch *sw)
{
	static const char *const keys[] = { "lid", "prefix", NULL };
	const char *prefix = ctl_key(args, 3, "prefix");
	u64 val = VIB_SM_PREFIX;
	u32 lid = VIB_SM_LID;
	int ret;

	ret = ctl_check_keys(args, 3, keys) ?: ctl_key_uint(args, 3, "lid", U16_MAX, &lid);
	if (!ret && prefix)
		ret = kstrtou64(prefix, 0, &val);
	return ret ?: vib_sm_add(sw, lid, val);
}

static int ctl_sa_set(const struct ctl_args *args, struct vib_switch *sw)
{
	unsigned int val;
	int ret;

	if (args->n != 5)
		return -EINVAL;
	ret = ctl_uint(args, 4, UINT_MAX, &val);
	return ret ?: vib_sa_set(sw, args->word[3], val);
}

static int ctl_sa_group(const struct ctl_args *args, struct vib_switch *sw)
{
	static const char *const keys[] = { "qkey", "mtu", "rate", "sl", "scope", NULL };
	u32 mtu = IB_MTU_4096, rate = IB_RATE_10_GBPS, sl = 0, scope = 2, qkey;
	unsigned int pkey;
	int ret;

	ret = ctl_uint(args, 3, U16_MAX, &pkey);
	if (ret)
		return ret;
	if (args->n == 5 && !strcmp(args->word[4], "gone"))
		return vib_sa_group(sw, pkey, NULL, 0, 0, 0, 0);
	if (!ctl_key(args, 4, "qkey"))
		return -EINVAL;
	ret = ctl_check_keys(args, 4, keys) ?: ctl_key_uint(args, 4, "qkey", U32_MAX, &qkey) ?:
	      ctl_key_uint(args, 4, "mtu", IB_MTU_4096, &mtu) ?:
	      ctl_key_uint(args, 4, "rate", 63, &rate) ?: ctl_key_uint(args, 4, "sl", 15, &sl) ?:
	      ctl_key_uint(args, 4, "scope", 15, &scope);
	return ret ?: vib_sa_group(sw, pkey, &qkey, mtu, rate, sl, scope);
}

static int ctl_sa_rule(const struct ctl_args *args, struct vib_switch *sw)
{
	static const char *const keys[] = {
		"do", "attr", "method", "skip", "count", "status", "us", "len", "lid", NULL
	};
	struct vib_rule_spec spec = { .attr = -1, .method = -1 };
	int ret;

	if (args->n == 4 && !strcmp(args->word[3], "clear"))
		return vib_sa_rule(sw, NULL, NULL);
	ret = ctl_check_keys(args, 3, keys) ?:
	      ctl_key_uint(args, 3, "attr", U16_MAX, (u32 *)&spec.attr) ?:
	      ctl_key_uint(args, 3, "method", U8_MAX, (u32 *)&spec.method) ?:
	      ctl_key_uint(args, 3, "skip", U32_MAX, &spec.skip) ?:
	      ctl_key_uint(args, 3, "count", U32_MAX, &spec.count) ?:
	      ctl_key_uint(args, 3, "status", U16_MAX, &spec.status) ?:
	      ctl_key_uint(args, 3, "us", CTL_WAIT_MAX * USEC_PER_MSEC, &spec.us) ?:
	      ctl_key_uint(args, 3, "len", VIB_MAD_SIZE, &spec.len) ?:
	      ctl_key_uint(args, 3, "lid", U16_MAX, &spec.lid);
	if (!ret && !ctl_key(args, 3, "do"))
		ret = -EINVAL;
	return ret ?: vib_sa_rule(sw, ctl_key(args, 3, "do"), &spec);
}

/**
 * ctl_sa - the command "sa": a subnet manager of the fabric's own
 * @args: the command
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0 or an errno.
 */
int ctl_sa(struct ctl_args *args)
{
	static const struct {
		const char *name;
		int (*run)(const struct ctl_args *args, struct vib_switch *sw);
		int (*plain)(struct vib_switch *sw);
	} what[] = {
		{ "add", .run = ctl_sa_add },
		{ "set", .run = ctl_sa_set },
		{ "group", .run = ctl_sa_group },
		{ "rule", .run = ctl_sa_rule },
		{ "del", .plain = vib_sm_del },
		{ "sweep", .plain = vib_sm_sweep },
		{ "rereg", .plain = vib_sm_rereg },
	};
	struct vib_switch *sw = vib_switch_find(args->word[2]);
	unsigned int i;

	if (!sw)
		return -ENODEV;
	for (i = 0; i < ARRAY_SIZE(what); i++) {
		if (strcmp(args->word[1], what[i].name))
			continue;
		if (what[i].run)
			return what[i].run(args, sw);
		return args->n == 3 ? what[i].plain(sw) : -EINVAL;
	}
	return -EINVAL;
}

/**
 * ctl_ghost - the command "ghost": peers that are not there
 * @args: the command
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0 or an errno.
 */
int ctl_ghost(struct ctl_args *args)
{
	static const char *const keys[] = { "n", "base", "mode", "ip", NULL };
	struct vib_lport *lp = ctl_lport(args->word[2]);
	u32 n = 0, base = 0x1000;
	int ret;

	if (IS_ERR(lp))
		return PTR_ERR(lp);
	if (!strcmp(args->word[1], "del") && args->n == 3)
		return vib_ghosts_del(lp);
	if (strcmp(args->word[1], "add"))
		return -EINVAL;
	ret = ctl_check_keys(args, 3, keys) ?: ctl_key_uint(args, 3, "n", U16_MAX, &n) ?:
	      ctl_key_uint(args, 3, "base", U16_MAX, &base);
	return ret ?: vib_ghosts_add(lp, base, n, ctl_key(args, 3, "mode") ?: "drop",
				     ctl_key(args, 3, "ip"));
}
