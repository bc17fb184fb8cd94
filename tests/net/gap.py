#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
A TCP stream that is watched for pauses.

    gap.py receive ADDR PORT    prints "bytes N gap MS" when the peer has closed
    gap.py send ADDR PORT       sends until SIGTERM, then closes in good order

The gap is the longest time in which nothing arrived, in milliseconds, from the
first byte on.  An error of the connection ends either side with status 1.
"""
import signal
import socket
import sys
import time

CHUNK = 65536


def receive(addr, port):
    family = socket.AF_INET6 if ':' in addr else socket.AF_INET
    with socket.create_server((addr, port), family=family) as server:
        conn, _ = server.accept()
    total, longest, last = 0, 0.0, None
    with conn:
        while True:
            data = conn.recv(CHUNK)
            now = time.monotonic()
            if not data:
                break
            total += len(data)
            if last is not None:
                longest = max(longest, now - last)
            last = now
    print(f'bytes {total} gap {longest * 1000:.0f}')


def send(addr, port):
    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
    with socket.create_connection((addr, port)) as conn:
        conn.settimeout(60)
        data = bytes(CHUNK)
        while not stop:
            conn.sendall(data)


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ('receive', 'send'):
        sys.exit(__doc__)
    try:
        (receive if sys.argv[1] == 'receive' else send)(sys.argv[2], int(sys.argv[3]))
    except OSError as err:
        print(err, file=sys.stderr)
        sys.exit(1)


if __name__ == '__main__':
    main()
