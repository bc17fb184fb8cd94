// SPDX-License-Identifier: GPL-2.0
/*
 * The commands of the control file that are about wires and captures; vib_ctl.c describes them and
 * runs them, in the context of the writer and under vib_ctl_mutex.
 */
#include "vib_ctl.h"

#include <linux/err.h>
#include <linux/string.h>

#define CTL_WIRE_MS	5000	/* silence on a wire that means that nobody is there */
#define CTL_WIRE_MS_MIN	1000
#define CTL_CAPTURE_KB	4096

/**
 * ctl_wire - wire A:1 IFACE [timeout=MS]
 * @args: the command
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0 or an errno, see vib_wire_add().
 */
int ctl_wire(struct ctl_args *args)
{
	static const char *const keys[] = { "timeout", NULL };
	struct vib_lport *lp = ctl_lport(args->word[1]);
	u32 ms = CTL_WIRE_MS;
	int ret;

	if (IS_ERR(lp))
		return PTR_ERR(lp);
	ret = ctl_check_keys(args, 3, keys) ?:
	      ctl_key_uint(args, 3, "timeout", CTL_WAIT_MAX, &ms);
	if (ret)
		return ret;
	return ms < CTL_WIRE_MS_MIN ? -ERANGE : vib_wire_add(lp, args->word[2], ms);
}

/**
 * ctl_unwire - unwire A:1, or unwire IFACE
 * @args: the command
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0 or an errno, see vib_wire_del().
 */
int ctl_unwire(struct ctl_args *args)
{
	struct vib_lport *lp = NULL;

	if (args->n != 2)
		return -EINVAL;
	if (strchr(args->word[1], ':')) {
		lp = ctl_lport(args->word[1]);
		if (IS_ERR(lp))
			return PTR_ERR(lp);
	}
	return vib_wire_del(lp, args->word[1]);
}

/**
 * ctl_capture - capture start A:1 [KB], capture stop, capture clear
 * @args: the command
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0 or an errno, see vib_capture_start().
 */
int ctl_capture(struct ctl_args *args)
{
	unsigned int kb = CTL_CAPTURE_KB;
	struct vib_lport *lp;
	int ret = 0;

	if (!strcmp(args->word[1], "start") && (args->n == 3 || args->n == 4)) {
		lp = ctl_lport(args->word[2]);
		if (IS_ERR(lp))
			return PTR_ERR(lp);
		if (args->n == 4)
			ret = ctl_uint(args, 3, VIB_CAPTURE_KB_MAX, &kb);
		return ret ?: vib_capture_start(lp, kb);
	}
	if (args->n != 2 || (strcmp(args->word[1], "stop") && strcmp(args->word[1], "clear")))
		return -EINVAL;
	vib_capture_stop(!strcmp(args->word[1], "clear"));
	return 0;
}
