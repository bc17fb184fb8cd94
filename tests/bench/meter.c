// SPDX-License-Identifier: GPL-2.0
/*
 * Small traffic jobs for the benchmark, each with one number as its result.
 *
 *	meter sink ADDR PORT			take datagrams and never read them
 *	meter blast ADDR PORT SIZE COUNT	send datagrams, 32 to a system call
 *	meter echo udp|tcp ADDR PORT		send back what comes
 *	meter pingpong udp|tcp ADDR PORT SIZE COUNT
 *	meter spray ADDR PORT SIZE COUNT N	blast at N addresses from ADDR on, in turn
 *	meter first ADDR PORT SIZE N		one datagram to each of N addresses from ADDR on,
 *						and its echo, before the next one
 *	meter join ADDR N DEV			be in N groups from ADDR on, until killed
 *	meter until FILE KEY MIN COMMAND...	run it, then wait until FILE says KEY=MIN or more
 *
 * sink and echo print "ready" once they can be used and then serve until they
 * are killed (echo tcp: until the peer hangs up).  blast and pingpong print
 * "ns N idle M": the time for all COUNT packets or round trips, and how much of
 * it the CPUs were idle, in ns too but counted in ticks.  blast takes the time
 * when the last packet has left the transmit ring, not when it was queued.
 * spray, first and until print the same, the latter two with an exact idle time;
 * join goes into the background when it is in.
 *
 * In a machine that counts one nanosecond for each instruction the number is
 * the work of both ends, provided that there is one CPU and it never idles.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH		32
#define SIZE_MAX_UDP	65507
#define FIRST_LIMIT	600	/* seconds */
#define UNTIL_LIMIT	600	/* seconds */
#define UNTIL_STEP	2000000	/* ns between two looks */

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
		"       meter pingpong udp|tcp ADDR PORT SIZE COUNT\n"
		"       meter spray ADDR PORT SIZE COUNT N\n"
		"       meter first ADDR PORT SIZE N\n"
		"       meter join ADDR N DEV\n"
		"       meter until FILE KEY MIN COMMAND...\n");
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

/* The same, to the nanosecond, but dearer to find out */
static long long idle_exact(void)
{
	static const char key[] = ".idle_sleeptime";
	long long sum = 0, ns;
	char line[256];
	FILE *f = fopen("/proc/timer_list", "r");
	char *at;

	if (!f)
		die("/proc/timer_list");
	while (fgets(line, sizeof(line), f)) {
		at = strstr(line, key);
		if (at && sscanf(at + strlen(key), " : %lld", &ns) == 1)
			sum += ns;
	}
	fclose(f);
	return sum;
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

/* Waits until the last packet of a socket has left the transmit ring */
static void drain(int fd)
{
	int queued;

	do {
		sched_yield();
		if (ioctl(fd, SIOCOUTQ, &queued))
			die("SIOCOUTQ");
	} while (queued);
}

/* Sends count datagrams of a socket; where they go is up to msgs, or to the socket itself */
static void blast_from(int fd, struct mmsghdr *msgs, struct sockaddr_in *to, size_t size,
		       long count, long peers)
{
	struct iovec iov = { .iov_base = buffer, .iov_len = size };
	long long start, idle_start;
	in_addr_t first = to ? ntohl(to->sin_addr.s_addr) : 0;
	long left, next = 0;
	int sent, i;

	for (i = 0; i < BATCH; i++) {
		msgs[i].msg_hdr.msg_iov = &iov;
		msgs[i].msg_hdr.msg_iovlen = 1;
	}
	idle_start = idle();
	start = now();
	for (left = count; left; left -= sent) {
		for (i = 0; to && i < BATCH; i++)
			to[i].sin_addr.s_addr = htonl(first + (next + i) % peers);
		sent = sendmmsg(fd, msgs, left < BATCH ? left : BATCH, 0);
		if (sent < 0)
			die("sendmmsg");
		next += sent;
	}
	drain(fd);
	report(now() - start, idle() - idle_start);
}

static void blast(const char *host, const char *port, size_t size, long count)
{
	struct mmsghdr msgs[BATCH] = { 0 };

	blast_from(connected(SOCK_DGRAM, host, port), msgs, NULL, size, count, 1);
}

static void spray(const char *host, const char *port, size_t size, long count, long peers)
{
	struct mmsghdr msgs[BATCH] = { 0 };
	struct sockaddr_in to[BATCH];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	int i;

	if (fd < 0)
		die("socket");
	for (i = 0; i < BATCH; i++) {
		to[i] = resolve(host, port);
		msgs[i].msg_hdr.msg_name = &to[i];
		msgs[i].msg_hdr.msg_namelen = sizeof(to[i]);
	}
	blast_from(fd, msgs, to, size, count, peers);
}

/* What a new peer costs: its first datagram has to make the way that it takes */
static void first(const char *host, const char *port, size_t size, long peers)
{
	struct timeval limit = { .tv_sec = FIRST_LIMIT };
	struct sockaddr_in to = resolve(host, port);
	in_addr_t base = ntohl(to.sin_addr.s_addr);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	long long start, idle_start;
	long i;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)))
		die("socket");
	idle_start = idle_exact();
	start = now();
	for (i = 0; i < peers; i++) {
		to.sin_addr.s_addr = htonl(base + i);
		if (sendto(fd, buffer, size, 0, (struct sockaddr *)&to, sizeof(to)) < 0)
			die("sendto");
		if (recv(fd, buffer, sizeof(buffer), 0) != (ssize_t)size) {
			fprintf(stderr, "meter: no echo from peer %ld\n", i);
			exit(1);
		}
	}
	report(now() - start, idle_exact() - idle_start);
}

/* The parent is done when all groups are joined; the child holds them */
static void join(const char *host, long groups, const char *dev)
{
	struct sockaddr_in first = resolve(host, "1");
	struct ip_mreqn mreq = { .imr_ifindex = if_nametoindex(dev) };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	long i;
	pid_t pid;

	if (fd < 0 || !mreq.imr_ifindex)
		die(dev);
	for (i = 0; i < groups; i++) {
		mreq.imr_multiaddr.s_addr = htonl(ntohl(first.sin_addr.s_addr) + i);
		if (setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &mreq, sizeof(mreq)))
			die("IP_ADD_MEMBERSHIP");
	}
	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		fclose(stdout);
		for (;;)
			pause();
	}
	printf("%d\n", pid);
}

/* The number behind the first KEY= of a file */
static long value_in(const char *file, const char *key)
{
	static char text[65536];
	FILE *f = fopen(file, "r");
	size_t n, len = strlen(key);
	char *at = text;

	if (!f)
		die(file);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	while ((at = strstr(at, key))) {
		if ((at == text || at[-1] == ' ' || at[-1] == '\n') && at[len] == '=')
			return atol(at + len + 1);
		at += len;
	}
	fprintf(stderr, "meter: %s says nothing of %s\n", file, key);
	exit(1);
}

static void until(const char *file, const char *key, long min, char **command)
{
	const struct timespec step = { .tv_nsec = UNTIL_STEP };
	long long idle_start = idle_exact(), start = now(), end;
	int status;
	pid_t pid;

	pid = fork();
	if (pid < 0)
		die("fork");
	if (!pid) {
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execvp(*command, command);
		die(*command);
	}
	if (waitpid(pid, &status, 0) != pid || status) {
		fprintf(stderr, "meter: %s failed\n", *command);
		exit(1);
	}
	while (value_in(file, key) < min) {
		if (now() - start > UNTIL_LIMIT * 1000000000LL) {
			fprintf(stderr, "meter: %s=%ld of %ld\n", key, value_in(file, key), min);
			exit(1);
		}
		nanosleep(&step, NULL);
	}
	end = now();
	report(end - start, idle_exact() - idle_start);
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
	else if (argc == 7 && !strcmp(argv[1], "spray"))
		spray(argv[2], argv[3], parse(argv[4], 1, SIZE_MAX_UDP),
		      parse(argv[5], 1, 1000000000), parse(argv[6], 1, 65536));
	else if (argc == 6 && !strcmp(argv[1], "first"))
		first(argv[2], argv[3], parse(argv[4], 1, SIZE_MAX_UDP),
		      parse(argv[5], 1, 65536));
	else if (argc == 5 && !strcmp(argv[1], "join"))
		join(argv[2], parse(argv[3], 1, 65536), argv[4]);
	else if (argc >= 6 && !strcmp(argv[1], "until"))
		until(argv[2], argv[3], parse(argv[4], 0, 1000000000), argv + 5);
	else
		help();
	return 0;
}
