#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Send or receive a stream over TCP and print its length and SHA-256.

    transfer.py send|receive ADDRESS PORT MEGABYTES

The stream is one random megabyte again and again, each time behind its number,
so that lost, doubled and exchanged parts all change the sum.
"""
import hashlib
import os
import socket
import sys

MB = 1 << 20


def send(sock, count):
    digest = hashlib.sha256()
    block = os.urandom(MB - 8)
    for i in range(count):
        piece = i.to_bytes(8, 'big') + block
        digest.update(piece)
        sock.sendall(piece)
    sock.shutdown(socket.SHUT_WR)
    sock.recv(1)            # the other end has read everything
    return count * MB, digest


def receive(sock):
    digest = hashlib.sha256()
    room = bytearray(MB)
    view = memoryview(room)
    total = 0
    while True:
        n = sock.recv_into(room)
        if not n:
            return total, digest
        digest.update(view[:n])
        total += n


def main():
    if len(sys.argv) != 5 or sys.argv[1] not in ('send', 'receive'):
        sys.exit(__doc__)
    address, port, count = sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if sys.argv[1] == 'send':
        with socket.create_connection((address, port), timeout=60) as sock:
            total, digest = send(sock, count)
    else:
        family = socket.AF_INET6 if ':' in address else socket.AF_INET
        with socket.create_server((address, port), family=family) as server:
            server.settimeout(60)
            sock, _ = server.accept()
            with sock:
                sock.settimeout(60)
                total, digest = receive(sock)
    print(total, digest.hexdigest())


main()
