// SPDX-License-Identifier: GPL-2.0
/*
 * Small traffic jobs for the benchmark, each with one number as its result.
 *
 *	meter sink ADDR PORT			take datagrams and never read them
 *	meter blast ADDR PORT SIZE COUNT	send datagrams, 32 to a system call
 *	meter echo udp|tcp ADDR PORT		send back what comes
 *	meter pingpong udp|tcp ADDR PORT SIZE COUNT
 *
 * sink and echo print "ready" once they can be used and then serve until they
 * are killed (echo tcp: until the peer hangs up).  blast and pingpong print
 * "ns N idle M": the time for all COUNT packets or round trips, and how much of
 * it the CPUs were idle, in ns too but counted in ticks.  blast takes the time
 * when the last packet has left the transmit ring, not when it was queued.
 *
 * In a machine that counts one nanosecond for each instruction the number is
 * the work of both ends, provided that there is one CPU and it never idles.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define BATCH		32
#define SIZE_MAX_UDP	65507

static char buffer[SIZE_MAX_UDP];

static void die(const char *what)
{
	fprintf(stderr, "meter: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void help(void)
{
	fprintf(stderr,
		"usage: meter sink ADDR PORT\n"
		"       meter blast ADDR PORT SIZE COUNT\n"
		"       meter echo udp|tcp ADDR PORT\n"
		"       meter pingpong udp|tcp ADDR PORT SIZE COUNT\n");
	exit(2);
}

static long parse(const char *text, long min, long max)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*end || end == text || value < min || value > max) {
		fprintf(stderr, "meter: %s is not a number between %ld and %ld\n", text, min, max);
		exit(2);
	}
	return value;
}

static int socket_type(const char *name)
{
	if (!strcmp(name, "udp"))
		return SOCK_DGRAM;
	if (!strcmp(name, "tcp"))
		return SOCK_STREAM;
	help();
	return 0;
}

static struct sockaddr_in resolve(const char *host, const char *port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };

	sin.sin_port = htons(parse(port, 1, 65535));
	if (inet_pton(AF_INET, host, &sin.sin_addr) != 1) {
		fprintf(stderr, "meter: %s is not an IPv4 address\n", host);
		exit(2);
	}
	return sin;
}

static int connected(int type, const char *host, const char *port)
{
	struct sockaddr_in sin = resolve(host, port);
	int fd = socket(AF_INET, type, 0);
	int one = 1;

	if (fd < 0)
		die("socket");
	if (connect(fd, (struct sockaddr *)&sin, sizeof(sin)))
		die("connect");
	if (type == SOCK_STREAM)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static int bound(int type, const char *host, const char *port)
{
	struct sockaddr_in sin = resolve(host, port);
	int fd = socket(AF_INET, type, 0);
	int one = 1;

	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)))
		die("bind");
	return fd;
}

static void announce(void)
{
	printf("ready\n");
	fflush(stdout);
}

static long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000LL + ts.tv_nsec;
}

/* Idle time of all CPUs since boot */
static long long idle(void)
{
	long long ticks[5] = { 0 };
	FILE *f = fopen("/proc/stat", "r");

	if (!f || fscanf(f, "cpu %lld %lld %lld %lld %lld", ticks, ticks + 1, ticks + 2,
			 ticks + 3, ticks + 4) != 5)
		die("/proc/stat");
	fclose(f);
	return (ticks[3] + ticks[4]) * (1000000000LL / sysconf(_SC_CLK_TCK));
}

static void report(long long ns, long long idle_ns)
{
	printf("ns %lld idle %lld\n", ns, idle_ns);
}

static void sink(const char *host, const char *port)
{
	bound(SOCK_DGRAM, host, port);
	announce();
	for (;;)
		pause();
}

static void blast(const char *host, const char *port, size_t size, long count)
{
	struct iovec iov = { .iov_base = buffer, .iov_len = size };
	struct mmsghdr msgs[BATCH] = { 0 };
	int fd = connected(SOCK_DGRAM, host, port);
	long long start, idle_start;
	int sent, queued, i;
	long left;

	for (i = 0; i < BATCH; i++) {
		msgs[i].msg_hdr.msg_iov = &iov;
		msgs[i].msg_hdr.msg_iovlen = 1;
	}

	idle_start = idle();
	start = now();
	for (left = count; left; left -= sent) {
		sent = sendmmsg(fd, msgs, left < BATCH ? left : BATCH, 0);
		if (sent < 0)
			die("sendmmsg");
	}
	do {
		sched_yield();
		if (ioctl(fd, SIOCOUTQ, &queued))
			die("SIOCOUTQ");
	} while (queued);
	report(now() - start, idle() - idle_start);
}

/* All of size bytes; false at the end of the stream */
static bool take(int fd, int type, size_t size)
{
	size_t have = 0;
	ssize_t n;

	do {
		n = recv(fd, buffer + have, sizeof(buffer) - have, 0);
		if (n < 0)
			die("recv");
		if (!n && type == SOCK_STREAM)
			return false;
		have += n;
	} while (type == SOCK_STREAM && have < size);
	return true;
}

static void echo_udp(const char *host, const char *port)
{
	int fd = bound(SOCK_DGRAM, host, port);
	struct sockaddr_in from;
	socklen_t len;
	ssize_t n;

	announce();
	for (;;) {
		len = sizeof(from);
		n = recvfrom(fd, buffer, sizeof(buffer), 0, (struct sockaddr *)&from, &len);
		if (n < 0)
			die("recvfrom");
		if (sendto(fd, buffer, n, 0, (struct sockaddr *)&from, len) != n)
			die("sendto");
	}
}

static void echo_tcp(const char *host, const char *port)
{
	int fd = bound(SOCK_STREAM, host, port);
	int one = 1, peer;
	ssize_t n;

	if (listen(fd, 1))
		die("listen");
	announce();
	peer = accept(fd, NULL, NULL);
	if (peer < 0)
		die("accept");
	setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	while ((n = recv(peer, buffer, sizeof(buffer), 0)) > 0)
		if (send(peer, buffer, n, 0) != n)
			die("send");
}

static void pingpong(int type, const char *host, const char *port, size_t size, long count)
{
	int fd = connected(type, host, port);
	long long start = 0, idle_start = 0;
	long i;

	/* one round in ten goes before the clock runs: caches and neighbours */
	for (i = -count / 10; i < count; i++) {
		if (i == 0) {
			idle_start = idle();
			start = now();
		}
		if (send(fd, buffer, size, 0) != (ssize_t)size)
			die("send");
		if (!take(fd, type, size)) {
			fprintf(stderr, "meter: the peer hung up\n");
			exit(1);
		}
	}
	report(now() - start, idle() - idle_start);
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "sink"))
		sink(argv[2], argv[3]);
	else if (argc == 6 && !strcmp(argv[1], "blast"))
		blast(argv[2], argv[3], parse(argv[4], 1, SIZE_MAX_UDP),
		      parse(argv[5], 1, 1000000000));
	else if (argc == 5 && !strcmp(argv[1], "echo") && socket_type(argv[2]) == SOCK_DGRAM)
		echo_udp(argv[3], argv[4]);
	else if (argc == 5 && !strcmp(argv[1], "echo"))
		echo_tcp(argv[3], argv[4]);
	else if (argc == 7 && !strcmp(argv[1], "pingpong"))
		pingpong(socket_type(argv[2]), argv[3], argv[4], parse(argv[5], 1, 4000),
			 parse(argv[6], 1, 1000000000));
	else
		help();
	return 0;
}
