/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Commands of the control file: how vib_ctl.c, which takes them apart and runs them, hands them to
 * the commands that have a file of their own.
 */
#ifndef VIB_CTL_H
#define VIB_CTL_H

#include "vib.h"

#define CTL_ARGS_MAX	16
#define CTL_WAIT_MAX	60000	/* ms that a command may take by order */

/* A command, split into words */
struct ctl_args {
	int n;
	char *word[CTL_ARGS_MAX];
};

static inline const char *ctl_arg(const struct ctl_args *args, int i)
{
	return i < args->n ? args->word[i] : NULL;
}

/* vib_ctl.c */
int ctl_uint(const struct ctl_args *args, int i, unsigned int max, unsigned int *val);
const char *ctl_key(const struct ctl_args *args, int first, const char *key);
int ctl_key_uint(const struct ctl_args *args, int first, const char *key, u32 max, u32 *val);
int ctl_check_keys(const struct ctl_args *args, int first, const char *const *keys);
struct vib_lport *ctl_lport(const char *word);

/* vib_ctl_frame.c */
int ctl_frame(struct ctl_args *args);

/* vib_ctl_harm.c */
int ctl_fault(struct ctl_args *args);
int ctl_sa(struct ctl_args *args);
int ctl_ghost(struct ctl_args *args);

/* vib_ctl_qp.c */
int ctl_qp(struct ctl_args *args);
int ctl_srq(struct ctl_args *args);

/* vib_ctl_wire.c */
int ctl_wire(struct ctl_args *args);
int ctl_unwire(struct ctl_args *args);
int ctl_capture(struct ctl_args *args);

#endif /* VIB_CTL_H */
