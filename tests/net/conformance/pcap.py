#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
What is seen in a capture of the fabric: connections, and datagrams.

    pcap.py messages FILE   the messages that make and end them, a line each: SLID, name, then what
                            a REQ, REP or REJ says, as name=value; data= is what IPoIB adds to
                            the first two
    pcap.py data FILE       who sent over connections: SLID, queue pair of the receiver, packets
    pcap.py wire FILE       the packets of UD queue pairs: GID they go to, or - without a GRH, and
                            the first 4 octets; in hex
"""
import collections
import struct
import sys

NAMES = {0x10: 'REQ', 0x11: 'MRA', 0x12: 'REJ', 0x13: 'REP', 0x14: 'RTU', 0x15: 'DREQ', 0x16: 'DREP'}
# opcodes of connections whose packets are parts of messages
SENDS = range(0, 6)


def has_grh(packet):
    return packet[1] & 3 == 3


def source(packet):
    return int.from_bytes(packet[6:8], 'big')


def packets(path):
    """A packet, and what begins with its base transport header."""
    with open(path, 'rb') as file:
        data = file.read()
    at = 24
    while at + 16 <= len(data):
        size = struct.unpack_from('=I', data, at + 8)[0]
        packet = data[at + 16:at + 16 + size]
        at += 16 + size
        yield packet, packet[48 if has_grh(packet) else 8:]


def private(octets):
    return ','.join(f'{word:#x}' for word in struct.unpack('>II', octets[:8]))


def request(body):
    return {'sid': f"{int.from_bytes(body[8:16], 'big'):#018x}", 'data': private(body[140:]),
            'resources': body[35], 'depth': body[39], 'transport': body[43] >> 1 & 3,
            'flow': body[43] & 1, 'psn': int.from_bytes(body[44:47], 'big'),
            'timeouts': f'{body[43] >> 3},{body[47] >> 3}', 'retry': body[47] & 7,
            'rnr': body[50] & 7, 'tries': body[51] >> 4, 'srq': body[51] >> 3 & 1}


def reply(body):
    return {'data': private(body[36:]), 'psn': int.from_bytes(body[20:23], 'big'),
            'resources': body[24], 'depth': body[25], 'rnr': body[27] >> 5,
            'srq': body[27] >> 4 & 1}


def refusal(body):
    return {'of': ('REQ', 'REP', 'other', '?')[body[8] >> 6],
            'reason': int.from_bytes(body[10:12], 'big')}


SAYS = {'REQ': request, 'REP': reply, 'REJ': refusal}


def messages(path):
    for packet, transport in packets(path):
        mad = transport[20:]
        # send only, to the queue pair for management, of the connection manager
        if transport[0] != 0x64 or transport[5:8] != b'\0\0\1' or mad[1] != 7:
            continue
        name = NAMES.get(int.from_bytes(mad[16:18], 'big'))
        if not name:
            continue
        says = SAYS.get(name, lambda body: {})(mad[24:])
        print(source(packet), name, *(f'{key}={value}' for key, value in says.items()))


def data(path):
    seen = collections.Counter((source(packet), int.from_bytes(transport[5:8], 'big'))
                               for packet, transport in packets(path) if transport[0] in SENDS)
    for (slid, qpn), count in sorted(seen.items()):
        print(slid, f'{qpn:#x}', count)


def wire(path):
    for packet, transport in packets(path):
        # send only, to none of the queue pairs for management
        if transport[0] == 0x64 and int.from_bytes(transport[5:8], 'big') > 1:
            print(packet[32:48].hex() if has_grh(packet) else '-', transport[20:24].hex())


JOBS = {'messages': messages, 'data': data, 'wire': wire}

if len(sys.argv) != 3 or sys.argv[1] not in JOBS:
    sys.exit(__doc__)
JOBS[sys.argv[1]](sys.argv[2])
