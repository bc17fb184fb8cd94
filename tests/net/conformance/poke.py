#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Small jobs that no shell tool does, for the conformance suite.

    poke.py write FILE TEXT         one write; prints OK or the name of the error.  TEXT may
                                    contain \\n and the like
    poke.py udp ADDRESS PORT SIZE COUNT [IF [COUNTER]]  send datagrams; prints by how much that
                                    counter of the interface has grown at once
    poke.py sniff IF raw|dgram      print what a packet socket sees until SIGTERM: type, protocol,
                                    length of the address, octets; all in hex
    poke.py member IF HEX SECONDS   hold a membership of a link-layer group; prints OK or the error
    poke.py hold GROUP IF [SECONDS] hold a membership of an IP group; prints ready
    poke.py packet IF raw|dgram HALEN ADDRESS-HEX PROTOCOL-HEX DATA-HEX [NAMELEN]
                                    send by a packet socket; prints OK or the name of the error
    poke.py halens IF raw|dgram ADDRESS-HEX PROTOCOL-HEX DATA-HEX
                                    the same for each HALEN from 0 to 32
    poke.py bound IF raw|dgram DATA-HEX     the same by a bound socket, without any address
    poke.py tso IF ADDRESS-HEX SIZE MSS     send one TCP packet with SIZE octets of data for the HCA to
                                    cut into those of MSS octets; prints OK or the error
    poke.py fuzz IF SEED COUNT [vnet|bypass]    send nonsense of many kinds; prints how much went
                                    out: as it is, with offload headers, or past the queue
    poke.py scribble IF SEED COUNT  write nonsense to the files of the driver; prints how much was
                                    taken
    poke.py ioctl IF SEED COUNT     ask nonsense by ioctl; prints how much was done
"""
import errno
import fcntl
import os
import select
import signal
import socket
import struct
import sys
import time

# the other name of the same number comes first in Python
errno.errorcode[errno.EOPNOTSUPP] = 'EOPNOTSUPP'
ETH_P_ALL = 3
SOL_PACKET, ADD_MEMBERSHIP, VNET_HDR, QDISC_BYPASS, MR_MULTICAST = 263, 1, 15, 20, 0
# hardware address, groups, ethtool, registers, time stamps, and those of drivers
IOCTLS = (0x8924, 0x8931, 0x8932, 0x8946, 0x8946, 0x8946, 0x8947, 0x8948, 0x8949, 0x89b0, 0x89b1,
          0x89f0, 0x89f1, 0x89ff)


def result(call, *args):
    try:
        call(*args)
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error.errno))
    return 'OK'


def write(path, text):
    data = text.encode().decode('unicode_escape').encode('latin-1')

    def job():
        fd = os.open(path, os.O_WRONLY)
        try:
            os.write(fd, data)
        finally:
            os.close(fd)
    print(result(job))


def counter(interface, name):
    with open(f'/sys/class/net/{interface}/statistics/{name}', encoding='ascii') as file:
        return int(file.read())


def udp(address, port, size, count, interface='', name=''):
    family = socket.AF_INET6 if ':' in address else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        if interface:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, interface.encode())
        before = counter(interface, name) if name else 0
        for _ in range(int(count)):
            sock.sendto(bytes(int(size)), (address, int(port)))
        if name:
            print(counter(interface, name) - before)


def sniff(interface, how):
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    kind = socket.SOCK_RAW if how == 'raw' else socket.SOCK_DGRAM
    with socket.socket(socket.AF_PACKET, kind, socket.htons(ETH_P_ALL)) as sock:
        sock.bind((interface, ETH_P_ALL))
        print('ready', flush=True)
        while True:
            if select.select([sock], [], [], 0 if ended else 0.1)[0]:
                data, (_, protocol, packet_type, _, address) = sock.recvfrom(65536)
                print(f'{packet_type} {protocol:04x} {len(address)} {data.hex()}', flush=True)
            elif ended:
                return


def member(interface, octets, seconds):
    group = bytes.fromhex(octets.replace(':', ''))
    request = struct.pack('=iHH', socket.if_nametoindex(interface), MR_MULTICAST, len(group))
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0) as sock:
        print(result(sock.setsockopt, SOL_PACKET, ADD_MEMBERSHIP, request + group), flush=True)
        time.sleep(float(seconds))


def hold(group, interface, seconds='60'):
    index = socket.if_nametoindex(interface)
    family = socket.AF_INET6 if ':' in group else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        if family == socket.AF_INET:
            request = struct.pack('=4s4si', socket.inet_aton(group), bytes(4), index)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, request)
        else:
            request = socket.inet_pton(family, group) + struct.pack('=i', index)
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, request)
        print('ready', flush=True)
        time.sleep(float(seconds))


def packet(interface, how, halen, address, protocol, data, namelen=None):
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    hwaddr = bytes.fromhex(address.replace(':', ''))
    body = bytes.fromhex(data)
    name = struct.pack('=HHiHBB', socket.AF_PACKET, socket.htons(int(protocol, 16)),
                       socket.if_nametoindex(interface), 0, 0, int(halen)) + hwaddr
    size = max(20, len(name)) if namelen is None else int(namelen)
    name += bytes(64)
    kind = socket.SOCK_RAW if how == 'raw' else socket.SOCK_DGRAM
    with socket.socket(socket.AF_PACKET, kind, 0) as sock:
        if libc.sendto(sock.fileno(), body, len(body), 0, name, size) >= 0:
            print('OK')
        else:
            print(errno.errorcode[ctypes.get_errno()])


def halens(interface, how, *rest):
    for halen in range(33):
        packet(interface, how, halen, *rest, 12 + 32)


def bound(interface, how, data):
    kind = socket.SOCK_RAW if how == 'raw' else socket.SOCK_DGRAM
    with socket.socket(socket.AF_PACKET, kind, 0) as sock:
        sock.bind((interface, 0x800))
        print(result(sock.send, bytes.fromhex(data)))


def tso(interface, address, size, mss):
    ip = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 40 + int(size), 1, 0, 9, socket.IPPROTO_TCP, 0,
                     bytes((10, 77, 0, 1)), bytes((10, 77, 0, 50)))
    tcp = struct.pack('!HHIIBBHHH', 9, 9, 1, 0, 0x50, 0x10, 1000, 0, 0)
    header = bytes.fromhex(address) + struct.pack('!HH', 0x800, 0) + ip + tcp
    # its checksum is to be filled in, its kind is TCP over IPv4
    offload = struct.pack('=BBHHHH', 1, 1, len(header), int(mss), len(header) - len(tcp), 16)
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0) as sock:
        sock.setsockopt(SOL_PACKET, VNET_HDR, 1)
        sock.bind((interface, 0x800))
        print(result(sock.send, offload + header + bytes(int(size))))


def nonsense(dice, address):
    """Bytes that look like a frame, more or less."""
    protocol = dice.choice((0x0800, 0x0806, 0x86dd, 0x8035, 0x88ca, 0x88cc, 0, 0xffff))
    group = b'\0\xff\xff\xff\xff\x12\x40\x1b\xff\xff' + dice.randbytes(10)
    where = dice.choice((address, group, bytes(20), b'\xff' * 20, dice.randbytes(20)))
    start = dice.choice((b'', b'\x45\0', b'\x60\0', b'\x4f\0', b'\0\x20\x08\0\x14\4'))
    size = dice.choice((0, 1, 4, 19, 20, 28, 56, 100, 2044, 4092, 4096))
    body = (start + dice.randbytes(size))[:size]
    return protocol, where, where + struct.pack('!HH', protocol, dice.choice((0, 0xffff))) + body


def dice_of(seed):
    # the others need not wait for this one to be loaded
    import random
    return random.Random(int(seed))


def fuzz(interface, seed, count, how=''):
    vnet = how == 'vnet'
    import ctypes
    libc = ctypes.CDLL(None)
    dice = dice_of(seed)
    with open(f'/sys/class/net/{interface}/address', encoding='ascii') as file:
        address = bytes.fromhex(file.read().strip().replace(':', ''))
    index, sent = socket.if_nametoindex(interface), 0
    kinds = (socket.SOCK_RAW,) if vnet else (socket.SOCK_RAW, socket.SOCK_DGRAM)
    socks = [socket.socket(socket.AF_PACKET, kind, 0) for kind in kinds]
    for sock in socks:
        sock.setblocking(False)
        if vnet:
            sock.setsockopt(SOL_PACKET, VNET_HDR, 1)
        if how == 'bypass':
            sock.setsockopt(SOL_PACKET, QDISC_BYPASS, 1)
    for _ in range(int(count)):
        protocol, where, frame = nonsense(dice, address)
        sock = dice.choice(socks)
        if sock.type == socket.SOCK_DGRAM:
            frame = frame[24:]
        frame = frame[:dice.choice((len(frame), dice.randrange(len(frame) + 1)))]
        if vnet:
            frame = struct.pack('=BBHHHH', dice.choice((0, 1)), dice.choice((0, 1, 3, 4, 5)),
                                *(dice.choice((0, 20, 40, 64, 1400, 65535))
                                  for _ in range(4))) + frame
        name = struct.pack('=HHiHBB', socket.AF_PACKET, socket.htons(protocol), index, 0, 0,
                           dice.choice((0, 6, 8, 20, 32, 255))) + where + bytes(100)
        size = dice.choice((12, 18, 20, 31, 32, 33, 128))
        if libc.sendto(sock.fileno(), frame, len(frame), 0, name, size) >= 0:
            sent += 1
    print(sent)


def scribble(interface, seed, count):
    dice, taken = dice_of(seed), 0
    for _ in range(int(count)):
        name = dice.choice(('create_child', 'delete_child', 'mode', 'umcast', 'mtu'))
        text = dice.choice((b'datagram', b'connected', b'0x', b'32769', b'-', b'1', b'', b'\0', b' '))
        text += dice.choice((b'', b'\n', dice.randbytes(dice.choice((1, 3, 30, 4000)))))
        with open(f'/sys/class/net/{interface}/{name}', 'wb', buffering=0) as file:
            taken += result(file.write, text) == 'OK'
    print(taken)


def ioctl(interface, seed, count):
    import ctypes
    dice, done = dice_of(seed), 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _ in range(int(count)):
            number = dice.choice(IOCTLS)
            # a command of ethtool, and numbers that it may take for lengths
            body = struct.pack('=II', dice.randrange(0x60), dice.choice((0, 1, 8, 64, 0xffffffff)))
            body = ctypes.create_string_buffer(body + dice.randbytes(8) + bytes(8192))
            request = struct.pack('=16s', interface.encode())
            if number == 0x8946:
                request += struct.pack('=Q16x', ctypes.addressof(body))
            else:
                request += struct.pack('=H', dice.choice((0, 1, 32))) + dice.randbytes(22)
            done += result(fcntl.ioctl, sock, number, request) == 'OK'
    print(done)


def main():
    jobs = {f.__name__: f for f in (write, udp, sniff, member, hold, packet, halens, bound, tso,
                                    fuzz, scribble, ioctl)}
    if len(sys.argv) < 2 or sys.argv[1] not in jobs:
        sys.exit(__doc__)
    jobs[sys.argv[1]](*sys.argv[2:])


main()
