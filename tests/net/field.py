#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Small jobs of the field*.sh scripts.

    field.py join INTERFACE COUNT       be in COUNT IPv4 groups until killed
    field.py churn INTERFACE SECONDS    join and leave, as fast as possible
    field.py cast INTERFACE COUNT       one datagram to each of COUNT groups
    field.py strangers INTERFACE COUNT  one datagram to each of COUNT ports that
                                        do not exist
    field.py deaf-cache SECONDS         be the SA cache in user space that the
                                        kernel asks first, and never answer

join prints "ready" when it is in all of them.  Groups are 239.F.x.y, the F
being 10 for join, 11 for churn and 12 for cast.
"""
import ctypes
import errno
import socket
import struct
import sys
import time

import jobs

PER_SOCKET = 20             # net.ipv4.igmp_max_memberships
NETLINK_RDMA = 20
SOL_NETLINK = 270
NETLINK_ADD_MEMBERSHIP = 1
RDMA_NL_GROUP_LS = 3


def request(first, number, index):
    group = struct.pack('!I', 239 << 24 | first << 16 | number)
    return struct.pack('=4s4si', group, bytes(4), index)


def strangers(interface, count):
    # Python's own sendto() has no room for a hardware address of 20 bytes
    libc = ctypes.CDLL(None, use_errno=True)
    index = socket.if_nametoindex(interface)
    socks = []
    for number in range(int(count)):
        # the packets wait, and with one socket for all its memory would soon be full
        if number % 100 == 0:
            socks.append(socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM))
        to = struct.pack('=H2siHBBIQQ', socket.AF_PACKET, b'\x08\x00', index, 32, 0, 20,
                         socket.htonl(0x48), 0x80fe, socket.htonl(number) << 32 | 0xadde)
        if libc.sendto(socks[-1].fileno(), bytes(64), 64, 0, to, len(to)) < 0:
            sys.exit(f'datagram {number}: {errno.errorcode[ctypes.get_errno()]}')


def udp():
    return socket.socket(socket.AF_INET, socket.SOCK_DGRAM)


def join(interface, count):
    index = socket.if_nametoindex(interface)
    socks = []
    for number in range(int(count)):
        if number % PER_SOCKET == 0:
            socks.append(udp())
        socks[-1].setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP,
                             request(10, number + 1, index))
    print('ready', flush=True)
    while True:
        time.sleep(60)


def churn(interface, seconds):
    index = socket.if_nametoindex(interface)
    end = time.monotonic() + float(seconds)
    rounds = 0
    with udp() as sock:
        while time.monotonic() < end:
            for what in (socket.IP_ADD_MEMBERSHIP, socket.IP_DROP_MEMBERSHIP):
                for number in range(PER_SOCKET):
                    sock.setsockopt(socket.IPPROTO_IP, what, request(11, number + 1, index))
            rounds += 1
    print(rounds, 'rounds')


def cast(interface, count):
    index = socket.if_nametoindex(interface)
    socks = []
    for number in range(1, int(count) + 1):
        # as above
        if number % 100 == 1:
            socks.append(udp())
            socks[-1].setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF,
                                 struct.pack('=4s4si', bytes(4), bytes(4), index))
        group = f'239.12.{number >> 8}.{number & 255}'
        socks[-1].sendto(b'hello', (group, 7020))


def deaf_cache(seconds):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_RDMA) as sock:
        sock.bind((0, 0))
        sock.setsockopt(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, RDMA_NL_GROUP_LS)
        print('ready', flush=True)
        end = time.monotonic() + float(seconds)
        asked = 0
        while time.monotonic() < end:
            sock.settimeout(max(end - time.monotonic(), 0.001))
            try:
                sock.recv(65536)
                asked += 1
            except TimeoutError:
                break
    print('asked', asked)


JOBS = {'join': (join, 2), 'churn': (churn, 2), 'cast': (cast, 2),
        'strangers': (strangers, 2), 'deaf-cache': (deaf_cache, 1)}

jobs.run(JOBS, __doc__)
