// SPDX-License-Identifier: GPL-2.0
/*
 * What tests do to the built-in subnet manager: rules that spoil its answers, settings, broadcast
 * groups, and the files that show what it knows. All of it runs in process context, under
 * vib_ctl_mutex, by which a manager stays; sa->lock keeps the tables together for queries that come
 * meanwhile.
 */
#include "vib_sa.h"

#include <linux/rcupdate.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

static const char *const act_names[] = {
	[SA_ACT_SILENT] = "silent",
	[SA_ACT_REFUSE] = "refuse",
	[SA_ACT_LATE] = "late",
	[SA_ACT_TWICE] = "twice",
	[SA_ACT_CUT] = "cut",
	[SA_ACT_TID] = "tid",
	[SA_ACT_GID] = "gid",
	[SA_ACT_LID] = "lid",
};

/**
 * vib_sa_rule - make a manager misbehave
 * @sw: its switch
 * @act: name of what it does to requests, or NULL to make it behave again
 * @like: which requests, how many, and numbers that @act wants
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0; -ENOENT without a manager, -EINVAL for an unknown @act, -ENOMEM.
 */
int vib_sa_rule(struct vib_switch *sw, const char *act, const struct vib_rule_spec *like)
{
	struct vib_sa *sa = rcu_dereference_protected(sw->sa, true);
	int i = act ? match_string(act_names, ARRAY_SIZE(act_names), act) : -EINVAL;
	struct sa_rule *rule;

	if (!sa)
		return -ENOENT;
	if (!act) {
		vib_sa_rules_clear(sa);
		return 0;
	}
	if (i < 0)
		return -EINVAL;
	rule = kzalloc(sizeof(*rule), GFP_KERNEL);
	if (!rule)
		return -ENOMEM;
	rule->act = i;
	rule->attr = like->attr;
	rule->method = like->method;
	rule->skip = like->skip;
	rule->count = like->count;
	rule->status = like->status;
	rule->us = like->us;
	rule->len = like->len;
	rule->lid = like->lid;
	spin_lock_irq(&sa->lock);
	list_add_tail(&rule->entry, &sa->rules);
	spin_unlock_irq(&sa->lock);
	return 0;
}

/**
 * vib_sa_rules_clear - make a manager behave again
 * @sa: manager
 *
 * Context: process.
 */
void vib_sa_rules_clear(struct vib_sa *sa)
{
	struct sa_rule *rule, *next;

	spin_lock_irq(&sa->lock);
	list_for_each_entry_safe(rule, next, &sa->rules, entry) {
		list_del(&rule->entry);
		kfree(rule);
	}
	spin_unlock_irq(&sa->lock);
}

/**
 * vib_sa_set - change a setting of a manager
 * @sw: its switch
 * @key: name of the setting
 * @val: new value
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0, -ENOENT without a manager, -EINVAL for an unknown name, -ERANGE.
 */
int vib_sa_set(struct vib_switch *sw, const char *key, u32 val)
{
	struct vib_sa *sa = rcu_dereference_protected(sw->sa, true);
	const struct {
		const char *key;
		size_t at;
		u32 max;
	} table[] = {
		{ "sl", offsetof(struct sa_knobs, sl), 15 },
		{ "rate", offsetof(struct sa_knobs, rate), 63 },
		{ "mtu", offsetof(struct sa_knobs, mtu), 63 },
		{ "life", offsetof(struct sa_knobs, life), 63 },
		{ "delay", offsetof(struct sa_knobs, delay), 60 * USEC_PER_SEC },
		{ "sendonly", offsetof(struct sa_knobs, sendonly), 1 },
		{ "lmc", offsetof(struct sa_knobs, lmc), 7 },
		{ "spread", offsetof(struct sa_knobs, spread), 1 },
	};
	unsigned int i;

	if (!sa)
		return -ENOENT;
	for (i = 0; i < ARRAY_SIZE(table); i++) {
		if (strcmp(table[i].key, key))
			continue;
		if (val > table[i].max)
			return -ERANGE;
		WRITE_ONCE(*(u32 *)((void *)&sa->knobs + table[i].at), val);
		return 0;
	}
	return -EINVAL;
}

/**
 * vib_sa_group - make, change or delete the broadcast group of a partition
 * @sw: switch of the manager
 * @pkey: the partition
 * @qkey: its Q_Key, or NULL to delete the one of scope 2
 * @mtu: enum ib_mtu
 * @rate: enum ib_rate
 * @sl: service level
 * @scope: scope of its MGID
 *
 * Context: process, vib_ctl_mutex held.
 * Return: 0, -ENOENT without a manager or group, or -ENOMEM.
 */
int vib_sa_group(struct vib_switch *sw, u16 pkey, const u32 *qkey, u8 mtu, u8 rate, u8 sl,
		 u8 scope)
{
	struct vib_sa *sa = rcu_dereference_protected(sw->sa, true);
	struct sa_group like = {
		.mtu = mtu,
		.rate = rate,
		.life = 18,
		.sl_flow_hop = (u32)sl << 28,
		.scope = scope,
	};

	if (!sa)
		return -ENOENT;
	if (!qkey)
		return sa_group_del(sa, pkey);
	like.qkey = *qkey;
	return sa_group_add(sa, pkey, &like);
}

static void sa_show(struct seq_file *s, struct vib_sa *sa, bool groups)
{
	const struct sa_member *member;
	const struct sa_group *group;
	const struct sa_rule *rule;
	unsigned int bkt, n;

	spin_lock_irq(&sa->lock);
	if (!groups) {
		seq_printf(s, "sa switch=%s lid=%u ends=%u groups=%u members=%u sweeps=%llu traps=%llu refused=%llu",
			   sa->sw->node.name, sa->lid, sa->nends, sa->ngroups, sa->nmembers,
			   sa->sweeps, sa->traps, sa->refused);
		seq_printf(s, " cpi=%llu path=%llu mcm_get=%llu join=%llu leave=%llu other=%llu\n",
			   sa->asked[SA_CPI], sa->asked[SA_PATH], sa->asked[SA_MCM_GET],
			   sa->asked[SA_JOIN], sa->asked[SA_LEAVE], sa->asked[SA_OTHER]);
		list_for_each_entry(rule, &sa->rules, entry)
			seq_printf(s, "rule switch=%s do=%s attr=%#x method=%#x seen=%llu hit=%llu\n",
				   sa->sw->node.name, act_names[rule->act], rule->attr,
				   rule->method, rule->seen, rule->hit);
		goto unlock;
	}
	hash_for_each(sa->groups, bkt, group, node) {
		n = 0;
		list_for_each_entry(member, &group->members, entry)
			n++;
		seq_printf(s, "group switch=%s mgid=%pI6c mlid=%#x pkey=%#x qkey=%#x members=%u",
			   sa->sw->node.name, group->mgid.raw, group->mlid, group->pkey,
			   group->qkey, n);
		list_for_each_entry(member, &group->members, entry)
			seq_printf(s, " %u/%x", member->lid, member->state);
		seq_putc(s, '\n');
	}
unlock:
	spin_unlock_irq(&sa->lock);
}

static int sa_show_all(struct seq_file *s, bool groups)
{
	struct vib_node *node;
	struct vib_sa *sa;

	mutex_lock(&vib_ctl_mutex);
	mutex_lock(&vib_topo_mutex);
	list_for_each_entry(node, &vib_nodes, entry) {
		sa = node->sw ? rcu_dereference_protected(node->sw->sa, true) : NULL;
		if (sa)
			sa_show(s, sa, groups);
	}
	mutex_unlock(&vib_topo_mutex);
	mutex_unlock(&vib_ctl_mutex);
	return 0;
}

/**
 * vib_sa_show - print all managers with their counters and rules
 * @s: where to
 * @unused: not used
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int vib_sa_show(struct seq_file *s, void *unused)
{
	return sa_show_all(s, false);
}

/**
 * vib_sa_groups_show - print the groups of all managers, each with LID and join state of its
 * members
 * @s: where to
 * @unused: not used
 *
 * Context: process, may sleep.
 * Return: 0.
 */
int vib_sa_groups_show(struct seq_file *s, void *unused)
{
	return sa_show_all(s, true);
}
