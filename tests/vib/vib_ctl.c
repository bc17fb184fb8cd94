// SPDX-License-Identifier: GPL-2.0
/*
 * The control file: debugfs vib/ctl takes commands, one a line, and answers by errno.
 *
 *	hca add NAME [ports=N] [sw=S]		hca del NAME [fatal]
 *	sw add S [ports=N]			sw del S
 *	cable A:1 S:3				uncable A:1
 *	link A:1 up|down			link A:1 bounce [MS]
 *	set A:1 pkey I V			set A:1 guid I V
 *	set A:1 lid N | smlid N | prefix V	set A:1 state down|init|armed|active
 *	set A:1 rate WIDTH SPEED		set A:1 rereg
 *	event A:1 NAME [COUNT [GAP_MS]]
 *	trap A:1 NAME
 *	set dev KEY VALUE
 *	failop OP NTH COUNT ERRNO [COMM]	failop clear
 *	qperr A QPN STATUS			hold A QPN MS
 *	rnr A QPN N				qpfatal A QPN | srqerr A SRQ
 *	fault A:1 in|out do=ACT [KEY=VALUE...]	fault A:1 clear
 *	frame A:1 dqpn=N [KEY=VALUE...]
 *
 *	sa add S [lid=N] [prefix=V]		sa del S | sa sweep S | sa rereg S
 *	sa set S KEY VALUE			sa group S PKEY qkey=N [KEY=VALUE...]
 *	sa rule S do=ACT [KEY=VALUE...]		sa rule S clear		sa group S PKEY gone
 *	wire A:1 IFACE [timeout=MS]		unwire A:1|IFACE
 *	capture start A:1 [KB]			capture stop|clear
 *	ghost add S:3 n=N [base=LID] [mode=drop|arp|echo] [ip=A]	ghost del S:3
 *
 * A:1 is port 1 of the node with name A, HCA or switch; "set" and "event" want an HCA. Several
 * lines may come in one write; the first one that fails ends it, and its errno is returned. Empty
 * lines and lines that begin with # are skipped.
 *
 * An event is port_active, port_err, lid_change, pkey_change, sm_change, client_reregister,
 * gid_change or device_fatal; a trap integrity, overrun or watchdog. The keys of "set dev" are
 * comp, csum, cost, tso, max_sge and srq, as the module parameters, and missed, scribble, rxpoison,
 * spurious, srq_sge, rnr_grace_us and timeout_shift, see struct vib_knobs. failop lets the call
 * NTH from now of a method of struct ib_device_ops and COUNT in all return ERRNO (a number above
 * 0); debugfs vib/failop lists the names.
 *
 * The numbers of a rate are those of enum ib_port_width and enum ib_port_speed, or unknown ones; 0
 * is what the link has. Only the verbs tell them, the link stays as it is.
 *
 * A fault does ACT to packets that leave port A:1 or arrive there: drop, crc (drop, and count as
 * damaged), dup, flip (a bit of the payload), cut (to len= bytes), delay (by us= microseconds and
 * up to jitter= more), hold (until after= more that match have passed). It is about those of class=
 * any, smp, gmp, sa, cm, pma, data, ud, rc, rcdata (messages of connections), rcack (what answers
 * them), ucast, mcast, arp, ip4, ip6 or ndisc, narrowed by slid=, dlid=,
 * qpn= (of the receiver), and method= and attr= of a management datagram. Of these it lets skip=
 * pass, and hits count= of those that follow (0: all), or only ppm= of a million, by dice that
 * seed= throws. Several rules add up. debugfs vib/faults shows what they have done.
 *
 * A frame is a datagram that nobody has sent, for queue pair dqpn=: n= of them (1) arrive at the
 * port, of len= bytes that begin with data= (in hex). They say that they come from slid= (1) and
 * sqpn= (2) and are for dlid= (that of the port), with pkey= (0xffff) and qkey= (0). With dgid=
 * there is a global route header, with sgid= in it.
 *
 * "sa" is about the subnet manager of the fabric's own at switch S. Its settings are sl, rate, mtu
 * and life of path records, delay of each answer in us, sendonly (it knows send-only full members),
 * lmc, and spread (path records go through all LIDs of a port). By a rule it is silent, refuses
 * (status=), is late (us=), answers twice, cuts the answer (len=), or answers with another tid,
 * another gid, or another lid (lid=, 0); narrowed by attr= and method=, skip= and count= as above.
 * All rules but the first one that hits are left out. The broadcast group of a partition has mtu=,
 * rate=, sl= and scope= (2). debugfs vib/sa and vib/sa_groups show what it knows and has done.
 *
 * qperr makes the next send of queue pair QPN of HCA A end with enum ib_wc_status STATUS; hold
 * keeps the completions of its sends back for MS milliseconds, 0 lets them go. rnr makes a
 * connection's receiver say of the next N messages that it has no buffer. qpfatal takes a queue
 * pair to the error state and tells its owner that the HCA failed it; srqerr tells the same of a
 * shared receive queue. debugfs vib/A/qps and vib/A/srqs have the numbers.
 *
 * A wire makes an Ethernet interface of the writer's network namespace the cable of a port, see
 * vib_wire.c; a capture keeps what passes a port, see vib_capture.c.
 *
 * COMM makes a failure count and hit only the calls of tasks of that name.
 *
 * Commands run in the context of the writer, one at a time, under vib_ctl_mutex. Only those that
 * create or remove an HCA run without it, because the core calls many others meanwhile.
 */
#include "vib_ctl.h"

#include <linux/ctype.h>
#include <linux/debugfs.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#define CTL_WRITE_MAX	65536
#define CTL_EVENTS_MAX	1000000

struct dentry *vib_dbg_root;
static struct dentry *ctl_file;

struct ctl_cmd {
	const char *name;
	int (*run)(struct ctl_args *args);
	int min_words;
	/* 0: the command looks itself */
	int max_words;
	bool unlocked;
};

/**
 * ctl_uint - a word that is a number
 * @args: the command
 * @i: which word
 * @max: the largest one allowed
 * @val: takes it
 *
 * Context: any.
 * Return: 0; -EINVAL if it is missing or no number, -ERANGE.
 */
int ctl_uint(const struct ctl_args *args, int i, unsigned int max, unsigned int *val)
{
	const char *word = ctl_arg(args, i);
	int ret;

	if (!word)
		return -EINVAL;
	ret = kstrtouint(word, 0, val);
	if (ret)
		return ret;
	return *val > max ? -ERANGE : 0;
}

/* A number that may be missing */
static int ctl_opt_uint(const struct ctl_args *args, int i, unsigned int max, unsigned int *val)
{
	return ctl_arg(args, i) ? ctl_uint(args, i, max, val) : 0;
}

static int ctl_u64(const struct ctl_args *args, int i, u64 *val)
{
	const char *word = ctl_arg(args, i);

	return word ? kstrtou64(word, 0, val) : -EINVAL;
}

/**
 * ctl_key - the value of a KEY=VALUE word
 * @args: the command
 * @first: first word that may be one
 * @key: the key
 *
 * Context: any.
 * Return: the value, or NULL if there is none.
 */
const char *ctl_key(const struct ctl_args *args, int first, const char *key)
{
	size_t len = strlen(key);
	int i;

	for (i = first; i < args->n; i++)
		if (!strncmp(args->word[i], key, len) && args->word[i][len] == '=')
			return args->word[i] + len + 1;
	return NULL;
}

/**
 * ctl_key_uint - the number in a KEY=VALUE word, if there is one
 * @args: the command
 * @first: first word that may be it
 * @key: the key
 * @max: the largest one allowed
 * @val: takes it, or stays as it is
 *
 * Context: any.
 * Return: 0; -EINVAL for no number, -ERANGE.
 */
int ctl_key_uint(const struct ctl_args *args, int first, const char *key, u32 max, u32 *val)
{
	const char *word = ctl_key(args, first, key);
	int ret;

	if (!word)
		return 0;
	ret = kstrtou32(word, 0, val);
	if (ret)
		return ret;
	return *val > max ? -ERANGE : 0;
}

/**
 * ctl_check_keys - see that all KEY=VALUE words have keys that are known, each of them once
 * @args: the command
 * @first: first word that must be one
 * @keys: the keys, NULL behind the last one
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int ctl_check_keys(const struct ctl_args *args, int first, const char *const *keys)
{
	const char *const *key;
	size_t len;
	int i;

	for (i = first; i < args->n; i++) {
		for (key = keys; *key; key++) {
			len = strlen(*key);
			if (!strncmp(args->word[i], *key, len) && args->word[i][len] == '=')
				break;
		}
		if (!*key || ctl_key(args, first, *key) != args->word[i] + len + 1)
			return -EINVAL;
	}
	return 0;
}

/* A:1 to "A" and 1; a name that is too long for a node is nobody's */
static int ctl_split_port(const char *word, char name[VIB_NODE_NAME], unsigned int *num)
{
	const char *colon = strrchr(word, ':');
	int ret;

	if (!colon)
		return -EINVAL;
	ret = kstrtouint(colon + 1, 10, num);
	if (ret)
		return ret;
	if (colon - word >= VIB_NODE_NAME)
		return -ENODEV;
	memcpy(name, word, colon - word);
	name[colon - word] = '\0';
	return 0;
}

/* A:1 of an HCA; valid as long as vib_ctl_mutex is held */
static struct vib_port *ctl_port(const char *word)
{
	char name[VIB_NODE_NAME];
	struct vib_port *port;
	struct vib_hca *hca;
	unsigned int num;
	int ret;

	lockdep_assert_held(&vib_ctl_mutex);
	ret = ctl_split_port(word, name, &num);
	if (ret)
		return ERR_PTR(ret);
	hca = __vib_hca_find(name);
	port = hca ? vib_hca_port(hca, num) : NULL;
	return port ?: ERR_PTR(-ENODEV);
}

/**
 * ctl_lport - the port that a word like A:1 names
 * @word: the word
 *
 * Context: vib_ctl_mutex held, under which the result is valid.
 * Return: a port of an HCA, or an external one of a switch; or an ERR_PTR.
 */
struct vib_lport *ctl_lport(const char *word)
{
	struct vib_lport *lp = NULL;
	char name[VIB_NODE_NAME];
	struct vib_port *port;
	struct vib_switch *sw;
	struct vib_hca *hca;
	unsigned int num;
	int ret;

	lockdep_assert_held(&vib_ctl_mutex);
	ret = ctl_split_port(word, name, &num);
	if (ret)
		return ERR_PTR(ret);
	hca = __vib_hca_find(name);
	sw = hca ? NULL : vib_switch_find(name);
	if (hca) {
		port = vib_hca_port(hca, num);
		lp = port ? &port->lport : NULL;
	} else if (sw && num) {
		lp = vib_switch_port(sw, num);
	}
	return lp ?: ERR_PTR(-ENODEV);
}

static int ctl_hca_add(struct ctl_args *args)
{
	static const char *const keys[] = { "ports", "sw", NULL };
	const char *word = ctl_key(args, 3, "ports");
	unsigned int nports = 1;
	int ret;

	ret = ctl_check_keys(args, 3, keys);
	if (!ret && word)
		ret = kstrtouint(word, 10, &nports);
	return ret ?: vib_hca_add(args->word[2], nports, ctl_key(args, 3, "sw"));
}

static int ctl_hca(struct ctl_args *args)
{
	const char *how = ctl_arg(args, 3);

	if (!strcmp(args->word[1], "add"))
		return ctl_hca_add(args);
	if (strcmp(args->word[1], "del") || args->n > 4 || (how && strcmp(how, "fatal")))
		return -EINVAL;
	return vib_hca_del(args->word[2], how);
}

static int ctl_sw(struct ctl_args *args)
{
	static const char *const keys[] = { "ports", NULL };
	const char *word = ctl_key(args, 3, "ports");
	unsigned int nports = 8;
	struct vib_switch *sw;
	int ret;

	ret = ctl_check_keys(args, 3, keys);
	if (!ret && word)
		ret = kstrtouint(word, 10, &nports);
	if (ret)
		return ret;
	if (!strcmp(args->word[1], "add"))
		return vib_switch_add(args->word[2], nports);
	if (strcmp(args->word[1], "del") || args->n != 3)
		return -EINVAL;
	sw = vib_switch_find(args->word[2]);
	if (!sw)
		return -ENOENT;
	vib_switch_del(sw);
	return 0;
}

static int ctl_cable(struct ctl_args *args)
{
	struct vib_lport *a = ctl_lport(args->word[1]);
	struct vib_lport *b;

	if (IS_ERR(a))
		return PTR_ERR(a);
	b = ctl_lport(args->word[2]);
	return IS_ERR(b) ? PTR_ERR(b) : vib_cable(a, b);
}

static int ctl_uncable(struct ctl_args *args)
{
	struct vib_lport *lp = ctl_lport(args->word[1]);

	return IS_ERR(lp) ? PTR_ERR(lp) : vib_uncable(lp);
}

/* Other commands run meanwhile, so whatever was looked up before has to be looked up again */
static int ctl_pause(unsigned int ms)
{
	int ret = 0;

	if (!ms)
		return 0;
	mutex_unlock(&vib_ctl_mutex);
	if (msleep_interruptible(ms))
		ret = -EINTR;
	mutex_lock(&vib_ctl_mutex);
	return ret;
}

static int ctl_link_set(const char *word, bool up)
{
	struct vib_lport *lp = ctl_lport(word);

	if (IS_ERR(lp))
		return PTR_ERR(lp);
	vib_lport_link(lp, up);
	return 0;
}

static int ctl_link(struct ctl_args *args)
{
	const char *what = args->word[2];
	unsigned int ms = 0;
	int ret, woken;

	if (!strcmp(what, "bounce") && args->n <= 4) {
		ret = ctl_opt_uint(args, 3, CTL_WAIT_MAX, &ms) ?:
		      ctl_link_set(args->word[1], false);
		if (ret)
			return ret;
		woken = ctl_pause(ms);
		return ctl_link_set(args->word[1], true) ?: woken;
	}
	if (args->n != 3 || (strcmp(what, "up") && strcmp(what, "down")))
		return -EINVAL;
	return ctl_link_set(args->word[1], !strcmp(what, "up"));
}

static int ctl_set_comp(const char *val)
{
	static const char *const names[] = { "softirq", "hardirq", "spread" };
	int i = match_string(names, ARRAY_SIZE(names), val);

	if (i >= 0)
		WRITE_ONCE(vib_knobs.comp, i);
	return min(i, 0);
}

static int ctl_set_csum(const char *val)
{
	static const char *const names[] = { "trust", "full", "lie", "off" };
	int i = match_string(names, ARRAY_SIZE(names), val);

	if (i >= 0)
		WRITE_ONCE(vib_knobs.csum, i);
	return min(i, 0);
}

static int ctl_set_cost(const char *val)
{
	bool on;
	int ret;

	ret = kstrtobool(val, &on);
	if (!ret)
		vib_cost_switch(on);
	return ret;
}

static int ctl_set_knob(const char *key, const char *val)
{
	static const struct {
		const char *key;
		int (*set)(const char *val);
		bool *flag;
		unsigned int *num;
		unsigned int min;
		unsigned int max;
	} knobs[] = {
		{ "comp", ctl_set_comp },
		{ "csum", ctl_set_csum },
		{ "cost", ctl_set_cost },
		{ "tso", .flag = &vib_knobs.tso },
		{ "missed", .flag = &vib_knobs.missed },
		{ "scribble", .flag = &vib_knobs.scribble },
		{ "rxpoison", .flag = &vib_knobs.rxpoison },
		{ "srq", .flag = &vib_knobs.srq },
		{ "spurious", .num = &vib_knobs.spurious, .max = UINT_MAX },
		{ "max_sge", .num = &vib_knobs.max_sge, .min = 1, .max = VIB_MAX_SGE },
		{ "srq_sge", .num = &vib_knobs.srq_sge, .min = 1, .max = VIB_MAX_SGE },
		{ "rnr_grace_us", .num = &vib_knobs.rnr_grace_us, .max = UINT_MAX },
		{ "timeout_shift", .num = &vib_knobs.timeout_shift, .max = 31 },
	};
	unsigned int i, num;
	int ret;

	for (i = 0; i < ARRAY_SIZE(knobs); i++) {
		if (strcmp(key, knobs[i].key))
			continue;
		if (!knobs[i].num)
			return knobs[i].set ? knobs[i].set(val) : kstrtobool(val, knobs[i].flag);
		ret = kstrtouint(val, 0, &num);
		if (ret)
			return ret;
		if (num < knobs[i].min || num > knobs[i].max)
			return -ERANGE;
		WRITE_ONCE(*knobs[i].num, num);
		return 0;
	}
	return -EINVAL;
}

static int ctl_set_pkey(struct vib_port *port, const struct ctl_args *args)
{
	unsigned int index, pkey;
	int ret;

	ret = ctl_uint(args, 3, VIB_PKEYS_MAX - 1, &index) ?: ctl_uint(args, 4, U16_MAX, &pkey);
	return ret ?: vib_port_set_pkey(port, index, pkey);
}

static int ctl_set_guid(struct vib_port *port, const struct ctl_args *args)
{
	unsigned int index;
	u64 guid;
	int ret;

	ret = ctl_uint(args, 3, VIB_GUIDS_MAX - 1, &index) ?: ctl_u64(args, 4, &guid);
	return ret ?: vib_port_set_guid(port, index, guid);
}

static int ctl_set_lid(struct vib_port *port, const struct ctl_args *args)
{
	unsigned int lid;
	int ret;

	ret = ctl_uint(args, 3, U16_MAX, &lid);
	if (ret)
		return ret;
	return !strcmp(args->word[2], "lid") ? vib_port_set_lid(port, lid) :
					       vib_port_set_sm_lid(port, lid);
}

static int ctl_set_prefix(struct vib_port *port, const struct ctl_args *args)
{
	u64 prefix;
	int ret;

	ret = ctl_u64(args, 3, &prefix);
	return ret ?: vib_port_set_prefix(port, prefix);
}

static int ctl_set_state(struct vib_port *port, const struct ctl_args *args)
{
	static const char *const names[] = {
		[IB_PORT_DOWN] = "down",
		[IB_PORT_INIT] = "init",
		[IB_PORT_ARMED] = "armed",
		[IB_PORT_ACTIVE] = "active",
	};
	const char *word = ctl_arg(args, 3);
	unsigned int i;

	for (i = IB_PORT_DOWN; word && i < ARRAY_SIZE(names); i++)
		if (!strcmp(word, names[i]))
			return vib_port_set_state(port, i);
	return -EINVAL;
}

static int ctl_set_rate(struct vib_port *port, const struct ctl_args *args)
{
	unsigned int width, speed;
	int ret;

	ret = ctl_uint(args, 3, U8_MAX, &width) ?: ctl_uint(args, 4, U16_MAX, &speed);
	if (!ret)
		vib_port_set_rate(port, width, speed);
	return ret;
}

static int ctl_set_rereg(struct vib_port *port, const struct ctl_args *args)
{
	vib_port_rereg(port);
	return 0;
}

static int ctl_set(struct ctl_args *args)
{
	static const struct {
		const char *name;
		int (*run)(struct vib_port *port, const struct ctl_args *args);
		int words;
	} what[] = {
		{ "pkey", ctl_set_pkey, 5 },
		{ "guid", ctl_set_guid, 5 },
		{ "lid", ctl_set_lid, 4 },
		{ "smlid", ctl_set_lid, 4 },
		{ "prefix", ctl_set_prefix, 4 },
		{ "state", ctl_set_state, 4 },
		{ "rate", ctl_set_rate, 5 },
		{ "rereg", ctl_set_rereg, 3 },
	};
	struct vib_port *port;
	unsigned int i;

	if (!strcmp(args->word[1], "dev"))
		return args->n == 4 ? ctl_set_knob(args->word[2], args->word[3]) : -EINVAL;
	port = ctl_port(args->word[1]);
	if (IS_ERR(port))
		return PTR_ERR(port);
	for (i = 0; i < ARRAY_SIZE(what); i++)
		if (!strcmp(args->word[2], what[i].name))
			return args->n == what[i].words ? what[i].run(port, args) : -EINVAL;
	return -EINVAL;
}

static int ctl_event(struct ctl_args *args)
{
	static const struct {
		const char *name;
		enum ib_event_type type;
	} events[] = {
		{ "port_active", IB_EVENT_PORT_ACTIVE },
		{ "port_err", IB_EVENT_PORT_ERR },
		{ "lid_change", IB_EVENT_LID_CHANGE },
		{ "pkey_change", IB_EVENT_PKEY_CHANGE },
		{ "sm_change", IB_EVENT_SM_CHANGE },
		{ "client_reregister", IB_EVENT_CLIENT_REREGISTER },
		{ "gid_change", IB_EVENT_GID_CHANGE },
		{ "device_fatal", IB_EVENT_DEVICE_FATAL },
	};
	struct vib_port *port = ctl_port(args->word[1]);
	unsigned int count = 1, gap = 0, i, n;
	int ret;

	if (IS_ERR(port))
		return PTR_ERR(port);
	ret = ctl_opt_uint(args, 3, CTL_EVENTS_MAX, &count) ?:
	      ctl_opt_uint(args, 4, CTL_WAIT_MAX, &gap);
	if (ret)
		return ret;
	if ((u64)count * gap > CTL_WAIT_MAX)
		return -ERANGE;
	for (i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(args->word[2], events[i].name))
			break;
	if (i == ARRAY_SIZE(events))
		return -EINVAL;
	for (n = 0; n < count; n++) {
		ret = n ? ctl_pause(gap) : 0;
		port = ctl_port(args->word[1]);
		if (ret || IS_ERR(port))
			return ret ?: PTR_ERR(port);
		vib_hca_event(port, events[i].type);
		cond_resched();
	}
	return 0;
}

static int ctl_trap(struct ctl_args *args)
{
	static const struct {
		const char *name;
		enum vib_trap_kind kind;
	} traps[] = {
		{ "integrity", VIB_TRAP_INTEGRITY },
		{ "overrun", VIB_TRAP_OVERRUN },
		{ "watchdog", VIB_TRAP_WATCHDOG },
	};
	struct vib_lport *lp = ctl_lport(args->word[1]);
	unsigned int i;

	if (IS_ERR(lp))
		return PTR_ERR(lp);
	for (i = 0; i < ARRAY_SIZE(traps); i++)
		if (!strcmp(args->word[2], traps[i].name))
			return vib_trap_link_error(lp, traps[i].kind);
	return -EINVAL;
}

static int ctl_failop(struct ctl_args *args)
{
	unsigned int nth, count, error;
	int ret;

	if (args->n == 2 && !strcmp(args->word[1], "clear")) {
		vib_fail_clear();
		return 0;
	}
	if (args->n != 5 && args->n != 6)
		return -EINVAL;
	ret = ctl_uint(args, 2, UINT_MAX, &nth) ?: ctl_uint(args, 3, UINT_MAX, &count) ?:
	      ctl_uint(args, 4, MAX_ERRNO, &error);
	return ret ?: vib_fail_set(args->word[1], nth, count, -(int)error, ctl_arg(args, 5));
}

static const struct ctl_cmd ctl_cmds[] = {
	{ "hca", ctl_hca, 3, .unlocked = true },
	{ "sw", ctl_sw, 3 },
	{ "cable", ctl_cable, 3, 3 },
	{ "uncable", ctl_uncable, 2, 2 },
	{ "link", ctl_link, 3 },
	{ "set", ctl_set, 3 },
	{ "event", ctl_event, 3, 5 },
	{ "trap", ctl_trap, 3, 3 },
	{ "failop", ctl_failop, 2 },
	{ "qperr", ctl_qp, 4 },
	{ "hold", ctl_qp, 4 },
	{ "qpfatal", ctl_qp, 3 },
	{ "rnr", ctl_qp, 4 },
	{ "srqerr", ctl_srq, 3 },
	{ "fault", ctl_fault, 3 },
	{ "frame", ctl_frame, 3 },
	{ "sa", ctl_sa, 3 },
	{ "ghost", ctl_ghost, 3 },
	{ "wire", ctl_wire, 3 },
	{ "unwire", ctl_unwire, 2 },
	{ "capture", ctl_capture, 2 },
};

static int ctl_run(const struct ctl_cmd *cmd, struct ctl_args *args)
{
	int ret;

	if (args->n < cmd->min_words || (cmd->max_words && args->n > cmd->max_words))
		return -EINVAL;
	if (cmd->unlocked)
		return cmd->run(args);
	ret = mutex_lock_interruptible(&vib_ctl_mutex);
	if (ret)
		return ret;
	ret = cmd->run(args);
	mutex_unlock(&vib_ctl_mutex);
	return ret;
}

static int ctl_line(char *line)
{
	struct ctl_args args = {};
	unsigned int i;
	char *word;

	while ((word = strsep(&line, " \t\r"))) {
		if (!*word)
			continue;
		if (args.n == CTL_ARGS_MAX)
			return -E2BIG;
		args.word[args.n++] = word;
	}
	if (!args.n || *args.word[0] == '#')
		return 0;
	for (i = 0; i < ARRAY_SIZE(ctl_cmds); i++)
		if (!strcmp(args.word[0], ctl_cmds[i].name))
			return ctl_run(&ctl_cmds[i], &args);
	return -EINVAL;
}

static ssize_t ctl_write(struct file *file, const char __user *ubuf, size_t len, loff_t *pos)
{
	char *buf, *rest, *line;
	int ret = 0;

	if (len > CTL_WRITE_MAX)
		return -E2BIG;
	buf = memdup_user_nul(ubuf, len);
	if (IS_ERR(buf))
		return PTR_ERR(buf);
	rest = buf;
	if (strlen(buf) != len)
		ret = -EINVAL;
	while (!ret && (line = strsep(&rest, "\n")))
		ret = ctl_line(line);
	kfree(buf);
	return ret ?: len;
}

static const struct file_operations ctl_fops = {
	.owner = THIS_MODULE,
	.open = nonseekable_open,
	.write = ctl_write,
};

/**
 * vib_ctl_init - create the directory in debugfs with its files
 *
 * Context: process.
 * Return: 0, or an errno if there is no debugfs.
 */
int vib_ctl_init(void)
{
	vib_dbg_root = debugfs_create_dir("vib", NULL);
	if (IS_ERR(vib_dbg_root))
		return PTR_ERR(vib_dbg_root);
	ctl_file = debugfs_create_file("ctl", 0600, vib_dbg_root, NULL, &ctl_fops);
	vib_stat_init(vib_dbg_root);
	return 0;
}

/**
 * vib_ctl_stop - take no more commands
 *
 * Context: process; waits for the one that runs.
 */
void vib_ctl_stop(void)
{
	debugfs_remove(ctl_file);
	ctl_file = NULL;
}

/**
 * vib_ctl_exit - remove the directory; HCAs and their files are gone
 *
 * Context: process; waits for readers.
 */
void vib_ctl_exit(void)
{
	debugfs_remove_recursive(vib_dbg_root);
	vib_dbg_root = NULL;
}
