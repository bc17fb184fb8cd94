// SPDX-License-Identifier: GPL-2.0
/*
 * smpset - read an attribute of a node by directed route, and write it back changed
 *
 * usage: smpset [-k MKEY] [-m MKEY] UMAD-DEVICE PATH ATTRIBUTE MODIFIER [OFFSET=HEX]...
 *
 * PATH is as the diagnostic tools write it: 0 is the port itself, 0,1 the node at the end of its
 * cable (if it is port 1), 0,1,8 what lies behind port 8 of that. Each OFFSET=HEX replaces bytes of
 * the 64 of the attribute; without any, nothing is written. -k is the M_Key to send, -m one to send
 * with the Set only. Prints the attribute as it stands then. It serves tests that need what no
 * subnet manager would do: forwarding loops, keys, states out of order.
 *
 * Exit status: 0, 1 if the node refused or did not answer, 2 for a bad command line or device.
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

#define CLASS_DR	0x81
#define METHOD_GET	0x01
#define METHOD_SET	0x02
#define PERMISSIVE	0xffff
#define DIRECTION	0x8000
#define MAX_HOPS	63
#define DATA_SIZE	64
#define TIMEOUT_MS	500

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
	__u8 data[DATA_SIZE];
	__u8 initial_path[MAX_HOPS + 1];
	__u8 return_path[MAX_HOPS + 1];
};

struct packet {
	struct ib_user_mad_hdr hdr;
	struct smp smp;
};

static_assert(sizeof(struct smp) == 256, "an SMP has holes");

static int usage(void)
{
	fputs("smpset [-k MKEY] [-m MKEY] UMAD-DEVICE PATH ATTRIBUTE MODIFIER [OFFSET=HEX]...\n",
	      stderr);
	return 2;
}

static bool number(const char *arg, __u64 max, __u64 *val)
{
	char *end;

	errno = 0;
	*val = strtoull(arg, &end, 0);
	return !errno && end != arg && !*end && *val <= max;
}

static bool parse_path(const char *arg, struct smp *smp)
{
	char *end;
	long port;

	if (strtol(arg, &end, 10) || end == arg)
		return false;
	while (*end == ',' && smp->hop_cnt < MAX_HOPS) {
		port = strtol(end + 1, &end, 10);
		if (port < 1 || port > 254)
			return false;
		smp->initial_path[++smp->hop_cnt] = port;
	}
	return !*end;
}

/* Applies one OFFSET=HEX to the attribute */
static bool patch(const char *arg, __u8 *data)
{
	char *pos;
	unsigned long off = strtoul(arg, &pos, 0);
	unsigned int byte;
	int used;

	if (*pos++ != '=' || !*pos)
		return false;
	for (; *pos; pos += 2, off++) {
		if (off >= DATA_SIZE || sscanf(pos, "%2x%n", &byte, &used) != 1 || used != 2)
			return false;
		data[off] = byte;
	}
	return true;
}

static int open_device(const char *name, __u32 *id)
{
	struct ib_user_mad_reg_req2 req = { 0 };
	int fd = open(name, O_RDWR);

	if (fd < 0 || ioctl(fd, IB_USER_MAD_ENABLE_PKEY) ||
	    ioctl(fd, IB_USER_MAD_REGISTER_AGENT2, &req))
		return -errno;
	*id = req.id;
	return fd;
}

/* Sends the SMP and takes the answer's status and data; 0, the status, or a negative errno */
static int transact(int fd, __u32 id, struct smp *smp)
{
	struct packet pkt = {
		.hdr = { .id = id, .timeout_ms = TIMEOUT_MS, .lid = htobe16(PERMISSIVE) },
		.smp = *smp,
	};
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	if (write(fd, &pkt, sizeof(pkt)) < 0)
		return -errno;
	if (poll(&pfd, 1, 4 * TIMEOUT_MS) <= 0)
		return -ETIMEDOUT;
	if (read(fd, &pkt, sizeof(pkt)) < (ssize_t)sizeof(pkt.hdr))
		return -EIO;
	if (pkt.hdr.status)
		return -ETIMEDOUT;
	memcpy(smp->data, pkt.smp.data, sizeof(smp->data));
	return be16toh(pkt.smp.status) & ~DIRECTION;
}

static int report(const char *what, int ret)
{
	if (ret < 0)
		fprintf(stderr, "smpset: %s: %s\n", what, strerror(-ret));
	else if (ret)
		fprintf(stderr, "smpset: %s: refused, status 0x%02x\n", what, ret);
	return ret ? 1 : 0;
}

static void show(const struct smp *smp)
{
	unsigned int i;

	for (i = 0; i < DATA_SIZE; i++)
		printf("%02x%s", smp->data[i], i % 16 == 15 ? "\n" : " ");
}

/* Fills in what the positional arguments say */
static bool parse(char **argv, struct smp *smp)
{
	__u64 attr, mod;

	if (!parse_path(argv[1], smp) || !number(argv[2], 0xffff, &attr) ||
	    !number(argv[3], 0xffffffff, &mod))
		return false;
	smp->base_version = 1;
	smp->mgmt_class = CLASS_DR;
	smp->class_version = 1;
	smp->method = METHOD_GET;
	smp->tid = htobe64(getpid());
	smp->attr_id = htobe16(attr);
	smp->attr_mod = htobe32(mod);
	smp->dr_slid = PERMISSIVE;
	smp->dr_dlid = PERMISSIVE;
	return true;
}

int main(int argc, char **argv)
{
	__u64 mkey = 0, set_mkey = 0;
	struct smp smp = { 0 };
	bool own = false;
	__u32 id = 0;
	int opt, fd, i, ret;

	while ((opt = getopt(argc, argv, "k:m:")) != -1) {
		if (opt == '?' || !number(optarg, ~0ULL, opt == 'k' ? &mkey : &set_mkey))
			return usage();
		own |= opt == 'm';
	}
	argv += optind;
	argc -= optind;
	if (argc < 4 || !parse(argv, &smp))
		return usage();
	fd = open_device(argv[0], &id);
	if (fd < 0) {
		fprintf(stderr, "smpset: %s: %s\n", argv[0], strerror(-fd));
		return 2;
	}
	smp.mkey = htobe64(mkey);
	ret = transact(fd, id, &smp);
	if (ret)
		return report("Get", ret);
	for (i = 4; i < argc; i++)
		if (!patch(argv[i], smp.data))
			return usage();
	if (argc > 4) {
		smp.method = METHOD_SET;
		smp.tid = htobe64(getpid() + (1ULL << 31));
		smp.mkey = htobe64(own ? set_mkey : mkey);
		ret = transact(fd, id, &smp);
	}
	show(&smp);
	return report("Set", ret);
}
