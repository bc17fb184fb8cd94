#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
UDP jobs for the scripts in tests/net.

    datagram.py echo ADDRESS PORT                       answer until killed
    datagram.py sizes ADDRESS PORT FIRST LAST STEP      to an echo: each size
    datagram.py join GROUP INTERFACE                    and stay until killed
    datagram.py listen GROUP INTERFACE PORT COUNT       join, take, leave
    datagram.py hear GROUP INTERFACE PORT COUNT         the same, without a limit
    datagram.py cast GROUP INTERFACE PORT COUNT         send to a group
    datagram.py crowd ADDRESS PORT SOCKETS COUNT        many send much

ADDRESS and GROUP may be IPv4 or IPv6; a link-local address carries its
interface, as fe80::1%ib0.  echo, join, listen and hear print "ready" when they are.

sizes compares what comes back byte by byte.  listen prints what it got, one
number a line, and ends with 1 if COUNT different ones do not come in 30 s.
cast sends numbers from 1 to COUNT, again and again until it is killed: the
first ones may be lost while the group is being joined.
crowd sends COUNT datagrams of 60,000 bytes from each of its sockets, each of
which may have 2 MB on its way; it gives up when none can send for 30 s.
"""
import ipaddress
import select
import signal
import socket
import struct
import sys
import time

import jobs

LIMIT = 30


def family_of(address):
    version = ipaddress.ip_address(address.split('%')[0]).version
    return socket.AF_INET if version == 4 else socket.AF_INET6


def udp(address):
    return socket.socket(family_of(address), socket.SOCK_DGRAM)


def target(address, port):
    return socket.getaddrinfo(address, port, type=socket.SOCK_DGRAM)[0][4]


def ready():
    print('ready', flush=True)


def echo(address, port):
    with udp(address) as sock:
        sock.bind(target(address, int(port)))
        ready()
        while True:
            data, peer = sock.recvfrom(65536)
            sock.sendto(data, peer)


def sizes(address, port, first, last, step):
    pattern = bytes((i * 7 + i // 256) % 256 for i in range(65536))
    with udp(address) as sock:
        sock.settimeout(5)
        sock.connect(target(address, int(port)))
        for size in range(int(first), int(last) + 1, int(step)):
            data = pattern[size % 251:][:size]
            sock.send(data)
            try:
                back = sock.recv(65536)
            except TimeoutError:
                sys.exit(f'{size} bytes: no answer')
            if back != data:
                sys.exit(f'{size} bytes: the answer differs')


def enter(sock, group, index):
    if sock.family == socket.AF_INET:
        request = struct.pack('=4s4si', socket.inet_aton(group), bytes(4), index)
        sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
    else:
        request = socket.inet_pton(socket.AF_INET6, group) + struct.pack('=i', index)
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, request)


def join(group, interface):
    with udp(group) as sock:
        enter(sock, group, socket.if_nametoindex(interface))
        ready()
        signal.pause()


def listen(group, interface, port, count, limit=LIMIT):
    index = socket.if_nametoindex(interface)
    with udp(group) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((group, int(port)) if sock.family == socket.AF_INET
                  else (group, int(port), 0, index))
        enter(sock, group, index)
        ready()
        end = time.monotonic() + limit
        seen = set()
        while len(seen) < int(count):
            sock.settimeout(max(end - time.monotonic(), 0.001))
            try:
                data = sock.recv(65536)
            except TimeoutError:
                sys.exit(f'{len(seen)} of {count} came in {limit} s')
            number = int(data)
            if number not in seen:
                print(number, flush=True)
            seen.add(number)


def hear(group, interface, port, count):
    listen(group, interface, port, count, 86400)


def cast(group, interface, port, count):
    index = socket.if_nametoindex(interface)
    with udp(group) as sock:
        if sock.family == socket.AF_INET:
            request = struct.pack('=4s4si', bytes(4), bytes(4), index)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, request)
            where = (group, int(port))
        else:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_MULTICAST_IF, index)
            where = (group, int(port), 0, index)
        number = 0
        while True:
            number = number % int(count) + 1
            sock.sendto(str(number).encode(), where)
            time.sleep(0.02)


SO_SNDBUFFORCE = 32


def crowd(address, port, sockets, count):
    where = target(address, int(port))
    left = {}
    for _ in range(int(sockets)):
        sock = udp(address)
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 1 << 20)
        left[sock] = int(count)
    data = bytes(60000)
    while left:
        ready_ones = select.select([], list(left), [], LIMIT)[1]
        if not ready_ones:
            sys.exit(f'{len(left)} sockets cannot send for {LIMIT} s')
        for sock in ready_ones:
            sock.sendto(data, where)
            left[sock] -= 1
            if not left[sock]:
                del left[sock]
                sock.close()


JOBS = {'echo': (echo, 2), 'sizes': (sizes, 5), 'join': (join, 2), 'listen': (listen, 4),
        'hear': (hear, 4), 'cast': (cast, 4), 'crowd': (crowd, 4)}

jobs.run(JOBS, __doc__)
