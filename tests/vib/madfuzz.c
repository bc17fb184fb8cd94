// SPDX-License-Identifier: GPL-2.0
/*
 * madfuzz - throws malformed management datagrams at a fabric and checks the answers
 *
 * usage: madfuzz [-n COUNT] [-s SEED] [-p PORT] [-l LID] UMAD-DEVICE
 *
 * Works on the raw umad interface, so that nothing between here and the port tidies up a packet.
 * Three parts, each driven by the same seed:
 *
 *   answers	gets each attribute, sets it with some bytes changed, and checks that the reply is
 *		well formed and that a refused Set has changed nothing at all
 *   blind	SMPs with arbitrary classes, methods, attributes, routes and destinations
 *   gmp	the same for performance management on QP1
 *
 * PORT (-p) is the number of the HCA port behind the device, LID (-l) the LID of a switch if it is
 * to be fuzzed by LID as well. The subnet manager should not run meanwhile: the fuzzer moves LIDs.
 * It never sets an M_Key nor disables a port, as nobody could undo that by the same way.
 *
 * Exit status: 0 if all checks held, 1 if one failed, 2 for a bad command line or device.
 */
#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/types.h>
#include <poll.h>
#include <rdma/ib_user_mad.h>
#include <rdma/rdma_user_ioctl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

#define MAD_SIZE	256
#define CLASS_LID	0x01
#define CLASS_DR	0x81
#define CLASS_PM	0x04
#define METHOD_GET	0x01
#define METHOD_SET	0x02
#define METHOD_RESP	0x81
#define PERMISSIVE	0xffff
#define QP1_QKEY	0x80010000
#define DATA		64	/* where attributes begin in an SMP and in a PerfMgmt GMP */
#define ATTR_PORT_INFO	0x15
#define ATTR_SM_INFO	0x20
#define PI_LID		16	/* and the LID of the subnet manager after it */
#define PI_STATE	32	/* low nibble: PortState */
#define PI_PHYS		33	/* high nibble: PortPhysicalState */

/* Directed-route SMP, and as far as "data" any other MAD we send */
struct smp {
	__u8 base_version;
	__u8 mgmt_class;
	__u8 class_version;
	__u8 method;
	__u16 status;
	__u8 hop_ptr;
	__u8 hop_cnt;
	__u64 tid;
	__u16 attr_id;
	__u16 resv;
	__u32 attr_mod;
	__u64 mkey;
	__u16 dr_slid;
	__u16 dr_dlid;
	__u8 reserved[28];
	__u8 data[64];
	__u8 initial_path[64];
	__u8 return_path[64];
};

struct packet {
	struct ib_user_mad_hdr hdr;
	struct smp mad;
};

static_assert(sizeof(struct smp) == MAD_SIZE, "an SMP has holes");
static_assert(sizeof(struct packet) == sizeof(struct ib_user_mad_hdr) + MAD_SIZE,
	      "a packet has holes");

static int fd;
static __u32 agent[2];
static __u64 rng;
static __u32 next_tid = 1;
static unsigned int switch_lid;
static unsigned int port = 1;
static unsigned long checks, failures, refused, accepted, silent;

static __u32 rnd(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng >> 16;
}

static bool chance(unsigned int percent)
{
	return rnd() % 100 < percent;
}

static void fail(const struct smp *mad, const char *what)
{
	failures++;
	fprintf(stderr, "madfuzz: %s: attr 0x%04x mod 0x%08x hops %u\n", what,
		be16toh(mad->attr_id), be32toh(mad->attr_mod), mad->hop_cnt);
}

static int send_mad(struct smp *mad, unsigned int qpn, unsigned int lid, unsigned int timeout,
		    size_t len)
{
	struct packet pkt = {
		.hdr = {
			.id = agent[qpn],
			.timeout_ms = timeout,
			.qpn = htobe32(qpn),
			.qkey = htobe32(qpn ? QP1_QKEY : 0),
			.lid = htobe16(lid),
		},
	};

	mad->tid = htobe64(next_tid++);
	memcpy(&pkt.mad, mad, sizeof(*mad));
	return write(fd, &pkt, sizeof(pkt.hdr) + len) < 0 ? -errno : 0;
}

/* Sends a request and waits for its answer; false if there was none */
static bool transact(struct smp *mad, unsigned int qpn, unsigned int lid, struct smp *reply)
{
	__u32 tid = next_tid;
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct packet pkt;
	ssize_t got;

	if (send_mad(mad, qpn, lid, 300, MAD_SIZE))
		return false;
	while (poll(&pfd, 1, 3000) > 0) {
		got = read(fd, &pkt, sizeof(pkt));
		if (got < (ssize_t)sizeof(pkt.hdr))
			return false;
		if ((__u32)be64toh(pkt.mad.tid) != tid)
			continue;
		*reply = pkt.mad;
		return !pkt.hdr.status;
	}
	return false;
}

static void init_smp(struct smp *mad, __u8 method, __u16 attr, __u32 mod)
{
	memset(mad, 0, sizeof(*mad));
	mad->base_version = 1;
	mad->mgmt_class = CLASS_DR;
	mad->class_version = 1;
	mad->method = method;
	mad->attr_id = htobe16(attr);
	mad->attr_mod = htobe32(mod);
	mad->dr_slid = PERMISSIVE;
	mad->dr_dlid = PERMISSIVE;
}

/* Places that the "answers" part visits: the HCA itself, and the switch one hop away */
static const struct place {
	const char *name;
	__u8 hops;
} places[] = { { "hca", 0 }, { "switch", 1 } };

static const struct target {
	__u16 attr;
	__u32 mod;
	__u8 len;	/* bytes that mean something */
} targets[] = {
	{ 0x10, 0, 64 }, { 0x11, 0, 40 }, { 0x12, 0, 20 }, { 0x14, 0, 64 }, { 0x14, 1, 64 },
	{ 0x15, 0, 60 }, { 0x15, 1, 60 }, { 0x15, 2, 60 }, { 0x15, 0x80000001, 60 },
	{ 0x15, 200, 60 }, { 0x16, 0, 64 }, { 0x16, 1, 64 }, { 0x16, 0x10000, 64 },
	{ 0x16, 0x20000, 64 }, { 0x16, 0xff0000, 64 }, { 0x16, 0xffff, 64 }, { 0x17, 0, 8 },
	{ 0x17, 0x101, 8 }, { 0x17, 0xffff, 8 }, { 0x18, 0x10001, 64 }, { 0x18, 0x30002, 64 },
	{ 0x18, 0x20001, 64 }, { 0x18, 0x50001, 64 }, { 0x19, 0, 64 }, { 0x19, 767, 64 },
	{ 0x19, 768, 64 }, { 0x19, 0xffffffff, 64 }, { 0x1b, 0, 64 }, { 0x1b, 31, 64 },
	{ 0x1b, 32, 64 }, { 0x1b, 0x10000000, 64 }, { 0x1b, 0xf00001ff, 64 }, { 0x20, 0, 64 },
	{ 0x30, 0, 64 }, { 0x31, 0, 4 }, { 0xff90, 1, 64 }, { 0x1a, 0, 64 }, { 0, 0, 64 },
};

static void route(struct smp *mad, const struct place *place)
{
	mad->hop_cnt = place->hops;
	mad->initial_path[1] = port;
}

/* What holds for every answer, whatever was asked */
static bool check_reply(const struct smp *req, const struct smp *reply)
{
	unsigned int status = be16toh(reply->status);
	bool dr = req->mgmt_class == CLASS_DR;

	checks++;
	if (reply->method != METHOD_RESP)
		fail(req, "reply is no GetResp");
	else if (reply->mgmt_class != req->mgmt_class || reply->attr_id != req->attr_id ||
		 reply->attr_mod != req->attr_mod)
		fail(req, "reply is about something else");
	else if (dr && !(status & 0x8000))
		fail(req, "reply has no direction bit");
	else if (req->attr_id == htobe16(ATTR_SM_INFO))
		return true;	/* a subnet manager's own, if one runs after all */
	else if ((status & 0x7fff) && (status & 0x7fff) != 0x04 && (status & 0x7fff) != 0x08 &&
		 (status & 0x7fff) != 0x0c && (status & 0x7fff) != 0x1c)
		fail(req, "reply has an unknown status");
	else
		return true;
	return false;
}

/* Keeps us from locking ourselves out: no M_Key, nothing that takes the link away */
static void tame_port_info(__u8 *data, bool may_retrain)
{
	memset(data, 0, 8);
	if (may_retrain) {
		data[PI_PHYS] = (data[PI_PHYS] & 0x0f) | (chance(20) ? 0x20 : 0);
		return;
	}
	data[PI_STATE] &= 0xf0;
	data[PI_PHYS] &= 0x0f;
}

/* A LID that was given cannot be taken back to none */
static void keep_lids(__u8 *data, const __u8 *now)
{
	unsigned int i;

	for (i = PI_LID; i < PI_LID + 4; i += 2)
		if (!data[i] && !data[i + 1])
			memcpy(data + i, now + i, 2);
}

static void mutate(__u8 *data, unsigned int len)
{
	unsigned int n = 1 + rnd() % 4;

	while (n--)
		data[rnd() % len] = chance(30) ? 0xff : rnd();
}

/* One attribute at one place: Get, a changed Set, and what must follow from its status */
static void probe(const struct place *place, const struct target *t)
{
	struct smp req, before, reply, after;

	init_smp(&req, METHOD_GET, t->attr, t->mod);
	route(&req, place);
	if (!transact(&req, 0, PERMISSIVE, &before)) {
		silent++;
		return;
	}
	if (!check_reply(&req, &before))
		return;
	init_smp(&req, METHOD_SET, t->attr, t->mod);
	route(&req, place);
	memcpy(req.data, before.data, sizeof(req.data));
	mutate(req.data, t->len);
	if (t->attr == ATTR_PORT_INFO)
		tame_port_info(req.data, false);
	if (!transact(&req, 0, PERMISSIVE, &reply)) {
		silent++;
		return;
	}
	if (!check_reply(&req, &reply))
		return;
	req.method = METHOD_GET;
	memset(req.data, 0, sizeof(req.data));
	if (!transact(&req, 0, PERMISSIVE, &after)) {
		silent++;
		return;
	}
	checks++;
	if (be16toh(reply.status) & 0x7fff) {
		refused++;
		if (t->attr != ATTR_SM_INFO && memcmp(before.data, after.data, sizeof(before.data)))
			fail(&req, "refused Set has changed something");
		return;
	}
	accepted++;
	memcpy(req.data, before.data, sizeof(req.data));
	if (t->attr == ATTR_PORT_INFO) {
		tame_port_info(req.data, false);
		keep_lids(req.data, after.data);
	}
	req.method = METHOD_SET;
	if (!transact(&req, 0, PERMISSIVE, &reply) || be16toh(reply.status) & 0x7fff)
		fail(&req, "cannot set it back");
}

static void fuzz_answers(unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		probe(&places[rnd() % ARRAY_SIZE(places)], &targets[rnd() % ARRAY_SIZE(targets)]);
}

static __u8 any_of(const __u8 *list, unsigned int n)
{
	return chance(85) ? list[rnd() % n] : rnd();
}

static __u16 any_lid(void)
{
	static const __u16 lids[] = { 0, 1, 2, 3, 4, 5, 0xbfff, 0xc000, 0xc001, 0xfffe };

	if (chance(40))
		return PERMISSIVE;
	if (switch_lid && chance(40))
		return switch_lid;
	return chance(80) ? lids[rnd() % ARRAY_SIZE(lids)] : rnd();
}

static void fill_random(void *buf, size_t len)
{
	__u8 *p = buf;

	while (len--)
		*p++ = rnd();
}

static void random_smp(struct smp *mad)
{
	static const __u8 methods[] = { 1, 1, 2, 2, 2, 5, 7, 3, 6, 0x81, 0x86 };
	static const __u8 classes[] = { CLASS_LID, CLASS_DR, CLASS_DR };
	static const __u8 hops[] = { 0, 1, 2, 3, 62, 63, 64, 65, 255 };
	static const __u8 ports[] = { 0, 1, 2, 3, 8, 9, 64, 255 };
	const struct target *t = &targets[rnd() % ARRAY_SIZE(targets)];
	unsigned int i;

	init_smp(mad, any_of(methods, ARRAY_SIZE(methods)), chance(90) ? t->attr : rnd(),
		 chance(70) ? t->mod : rnd());
	mad->mgmt_class = any_of(classes, ARRAY_SIZE(classes));
	if (chance(5))
		mad->class_version = rnd();
	if (chance(5))
		mad->base_version = rnd();
	if (chance(50))
		fill_random(mad->data, sizeof(mad->data));
	if (be16toh(mad->attr_id) == ATTR_PORT_INFO)
		tame_port_info(mad->data, true);
	if (chance(30))
		mad->status = htobe16(0x8000 | rnd());
	mad->hop_cnt = any_of(hops, ARRAY_SIZE(hops));
	mad->hop_ptr = chance(50) ? 0 : any_of(hops, ARRAY_SIZE(hops));
	for (i = 0; i < sizeof(mad->initial_path); i++) {
		mad->initial_path[i] = any_of(ports, ARRAY_SIZE(ports));
		mad->return_path[i] = any_of(ports, ARRAY_SIZE(ports));
	}
	if (chance(70))
		mad->initial_path[1] = port;
	if (chance(50))
		mad->dr_slid = htobe16(any_lid());
	if (chance(50))
		mad->dr_dlid = htobe16(any_lid());
}

static unsigned long fuzz_blind(unsigned int count)
{
	unsigned long sent = 0;
	struct smp mad;

	while (count--) {
		random_smp(&mad);
		if (!send_mad(&mad, 0, any_lid(), 0, chance(95) ? MAD_SIZE : 36 + rnd() % 200))
			sent++;
	}
	return sent;
}

static unsigned long fuzz_gmp(unsigned int count)
{
	static const __u8 attrs[] = { 0x01, 0x10, 0x11, 0x12, 0x12, 0x1d, 0x1d, 0x1e };
	static const __u8 ports[] = { 0, 1, 2, 3, 8, 9, 254, 255 };
	static const __u8 methods[] = { 1, 2, 2, 3, 5, 7, 0x81 };
	static const __u8 classes[] = { CLASS_PM, CLASS_PM, 3, 5, 7, 0x21, 0x30 };
	unsigned long sent = 0;
	struct smp mad;

	while (count--) {
		init_smp(&mad, any_of(methods, ARRAY_SIZE(methods)),
			 any_of(attrs, ARRAY_SIZE(attrs)), chance(80) ? 0 : rnd());
		mad.mgmt_class = any_of(classes, ARRAY_SIZE(classes));
		if (chance(5))
			mad.class_version = rnd();
		fill_random(mad.data, sizeof(mad.data));
		mad.data[1] = any_of(ports, ARRAY_SIZE(ports));
		if (!send_mad(&mad, 1, any_lid(), 0, chance(95) ? MAD_SIZE : 36 + rnd() % 200))
			sent++;
	}
	return sent;
}

/* Is the switch still there, and does it say the same as before? */
static bool identity(struct smp *info)
{
	struct smp req;

	init_smp(&req, METHOD_GET, 0x11, 0);
	route(&req, &places[1]);
	return transact(&req, 0, PERMISSIVE, info) && check_reply(&req, info);
}

static int open_device(const char *name)
{
	struct ib_user_mad_reg_req2 req = { 0 };
	unsigned int qpn;

	fd = open(name, O_RDWR);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, IB_USER_MAD_ENABLE_PKEY))
		return -errno;
	for (qpn = 0; qpn < 2; qpn++) {
		req.qpn = qpn;
		if (ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &req))
			return -errno;
		agent[qpn] = req.id;
	}
	return 0;
}

static bool number(const char *arg, unsigned long max, unsigned long *val)
{
	char *end;

	errno = 0;
	*val = strtoul(arg, &end, 0);
	return !errno && end != arg && !*end && *val <= max;
}

static int usage(void)
{
	fprintf(stderr, "synopsis: madfuzz [-n COUNT] [-s SEED] [-p PORT] [-l LID] UMAD-DEVICE\n");
	return 2;
}

int main(int argc, char **argv)
{
	unsigned long count = 1000, seed = 1, blind, gmp, val;
	struct smp first, last;
	int opt, ret;

	while ((opt = getopt(argc, argv, "n:s:p:l:")) != -1) {
		if (opt == '?' || !number(optarg, opt == 'l' ? 0xbfff : 0x7fffffff, &val))
			return usage();
		if (opt == 'n')
			count = val;
		else if (opt == 's')
			seed = val;
		else if (opt == 'p')
			port = val;
		else
			switch_lid = val;
	}
	if (optind != argc - 1)
		return usage();
	ret = open_device(argv[optind]);
	if (ret) {
		fprintf(stderr, "madfuzz: %s: %s\n", argv[optind], strerror(-ret));
		return 2;
	}
	rng = seed * 0x9e3779b97f4a7c15ULL + 1;
	if (!identity(&first)) {
		fprintf(stderr, "madfuzz: no switch answers behind port %u\n", port);
		return 2;
	}
	fuzz_answers(count);
	blind = fuzz_blind(count * 4);
	gmp = fuzz_gmp(count);
	if (!identity(&last) || memcmp(first.data, last.data, sizeof(first.data))) {
		failures++;
		fprintf(stderr, "madfuzz: the switch is not what it was\n");
	}
	printf("checks %lu failures %lu accepted %lu refused %lu silent %lu blind %lu gmp %lu\n",
	       checks, failures, accepted, refused, silent, blind, gmp);
	return failures ? 1 : 0;
}
