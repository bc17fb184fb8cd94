#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
The RDMA connection manager by IP address, without user verbs.

    rdmacm.py listen ADDRESS PORT       prints "ready", then a line for each request:
                                        port of the HCA, P_Key; and rejects it
    rdmacm.py connect ADDRESS PORT [SOURCE]     prints port of the HCA and P_Key that the address
                                        was resolved to, then how the peer answered: a reason of 28
                                        means that a listener got the request

It speaks to /dev/infiniband/rdma_cm itself, so that an HCA that user space has no driver for will
do.  A request carries a queue pair number that nobody has; it is answered all the same.
"""
import os
import select
import socket
import struct
import sys

CREATE, DESTROY, ROUTE, CONNECT, LISTEN, REJECT, EVENT, QUERY, BIND, RESOLVE = \
    0, 1, 4, 6, 7, 9, 12, 19, 20, 21
EVENTS = ('ADDR_RESOLVED ADDR_ERROR ROUTE_RESOLVED ROUTE_ERROR CONNECT_REQUEST CONNECT_RESPONSE '
          'CONNECT_ERROR UNREACHABLE REJECTED ESTABLISHED DISCONNECTED DEVICE_REMOVAL').split()
PORT_SPACE_TCP, RC = 0x106, 2
PARAM = 272
LIMIT = 30


class Buffer:
    """Memory that the kernel writes to."""

    def __init__(self, size):
        import ctypes
        self.raw = ctypes.create_string_buffer(size)
        self.address = ctypes.addressof(self.raw)

    def unpack(self, form, at=0):
        return struct.unpack_from(form, self.raw, at)


class Manager:
    def __init__(self):
        self.fd = os.open('/dev/infiniband/rdma_cm', os.O_RDWR)

    def command(self, number, body, size=0):
        os.write(self.fd, struct.pack('=IHH', number, len(body), size) + body)

    def create(self):
        out = Buffer(4)
        # events of an id that user space has no name for are kept back
        self.command(CREATE, struct.pack('=QQHB5x', 1, out.address, PORT_SPACE_TCP, RC), 4)
        return out.unpack('=I')[0]

    def destroy(self, ident):
        out = Buffer(4)
        self.command(DESTROY, struct.pack('=QII', out.address, ident, 0), 4)

    def event(self):
        """Name, id and status of the next one; none in time is an end too."""
        if not select.select([self.fd], [], [], LIMIT)[0]:
            sys.exit('no event')
        out = Buffer(336)
        self.command(EVENT, struct.pack('=Q', out.address), 336)
        _, ident, kind, status = out.unpack('=QIIi')
        return (EVENTS[kind] if kind < len(EVENTS) else str(kind)), ident, status

    def wait(self, name):
        got, _, status = self.event()
        if got != name:
            sys.exit(f'{got} {status}')

    def where(self, ident):
        """Port of the HCA and P_Key of an id."""
        out = Buffer(272)
        self.command(QUERY, struct.pack('=QII', out.address, ident, 0), 272)
        port = out.unpack('=B', 8)[0]
        pkey = out.unpack('>H', 10)[0]
        return f'{port} 0x{pkey:04x}'


def sockaddr(address, port):
    if ':' in address:
        raw = struct.pack('=HH', socket.AF_INET6, socket.htons(port)) + bytes(4) + \
            socket.inet_pton(socket.AF_INET6, address) + bytes(4)
    else:
        raw = struct.pack('=HH', socket.AF_INET, socket.htons(port)) + \
            socket.inet_aton(address) + bytes(8)
    return len(raw), raw.ljust(128, b'\0')


def listen(address, port):
    manager = Manager()
    ident = manager.create()
    size, addr = sockaddr(address, int(port))
    manager.command(BIND, struct.pack('=IHH', ident, size, 0) + addr)
    manager.command(LISTEN, struct.pack('=II', ident, 8))
    print('ready', flush=True)
    while True:
        if not select.select([manager.fd], [], [], None)[0]:
            continue
        name, new, _ = manager.event()
        if name != 'CONNECT_REQUEST':
            continue
        print(manager.where(new), flush=True)
        manager.command(REJECT, struct.pack('=IBB2x', new, 0, 28) + bytes(256))
        manager.destroy(new)


def connect(address, port, source=''):
    manager = Manager()
    ident = manager.create()
    size, addr = sockaddr(address, int(port))
    from_size, from_addr = sockaddr(source, 0) if source else (0, bytes(128))
    manager.command(RESOLVE, struct.pack('=IIHHI', ident, 5000, from_size, size, 0) +
                    from_addr + addr)
    manager.wait('ADDR_RESOLVED')
    print(manager.where(ident), flush=True)
    manager.command(ROUTE, struct.pack('=II', ident, 5000))
    manager.wait('ROUTE_RESOLVED')
    param = struct.pack('=II', 0x123456, 0) + bytes(256) + struct.pack('=8B', 0, 0, 1, 1, 0, 3, 3, 1)
    assert len(param) == PARAM
    manager.command(CONNECT, param + struct.pack('=IIII', ident, 0, 0, 0))
    name, _, status = manager.event()
    print(name, status)
    manager.destroy(ident)


def main():
    jobs = {'listen': listen, 'connect': connect}
    if len(sys.argv) < 4 or sys.argv[1] not in jobs:
        sys.exit(__doc__)
    jobs[sys.argv[1]](*sys.argv[2:])


main()
