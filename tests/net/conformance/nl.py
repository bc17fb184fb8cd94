#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
One rtnetlink request about a link, with any values, right or wrong.

    nl.py new|set|del [ATTRIBUTE=VALUE...]
    nl.py fuzz LINK SEED COUNT          that many requests of nonsense about children of LINK, called
                                        z0 to z3; prints how many the kernel took

prints "OK", or the name of the error and what the kernel said, as
"EINVAL no valid P_Key".  ip link checks much by itself and does not print
errors by name; this asks the kernel.

    if=NAME            the interface that set and del are about
    name=NAME link=NAME mtu=N netns=NAME        link may also be a number
    address=HEX broadcast=HEX                   octets, colons allowed
    kind=NAME          ipoib unless given; kind= leaves it out
    pkey=N mode=N umcast=N
    data:TYPE=HEX      any attribute among those of the kind
    link:TYPE=HEX      any attribute of the link
    up=1               with the flag IFF_UP
"""
import errno
import os
import socket
import struct
import sys

NEWLINK, DELLINK = 16, 17
REQUEST, ACK, EXCL, CREATE = 1, 4, 0x200, 0x400
NLMSG_ERROR, ACK_TLVS = 2, 0x200
SOL_NETLINK, EXT_ACK = 270, 11
# the other name of the same number comes first in Python
errno.errorcode[errno.EOPNOTSUPP] = 'EOPNOTSUPP'
IFLA = {'address': 1, 'broadcast': 2, 'name': 3, 'mtu': 4, 'link': 5, 'netns': 28}
LINKINFO, KIND, DATA = 18, 1, 2
IPOIB = {'pkey': 1, 'mode': 2, 'umcast': 3}


def attr(kind, value):
    length = 4 + len(value)
    return struct.pack('=HH', length, kind) + value + bytes(-length % 4)


def octets(text):
    return bytes.fromhex(text.replace(':', ''))


def index(name):
    return int(name) if name.isdigit() else socket.if_nametoindex(name)


def link_attr(key, value):
    if key in ('address', 'broadcast'):
        value = octets(value)
    elif key == 'name':
        value = value.encode() + b'\0'
    elif key == 'netns':
        value = struct.pack('=I', os.open('/run/netns/' + value, os.O_RDONLY))
    else:
        value = struct.pack('=I', index(value) if key == 'link' else int(value, 0))
    return attr(IFLA[key], value)


def attributes(pairs):
    kind, data, rest = 'ipoib', b'', b''
    for key, value in pairs:
        if key == 'kind':
            kind = value
        elif key in IPOIB:
            data += attr(IPOIB[key], struct.pack('=H', int(value, 0)))
        elif key.startswith('data:'):
            data += attr(int(key[5:]), octets(value))
        elif key.startswith('link:'):
            rest += attr(int(key[5:]), octets(value))
        elif key in IFLA:
            rest += link_attr(key, value)
        elif key not in ('if', 'up'):
            sys.exit(f'unknown attribute {key}')
    if kind:
        info = attr(KIND, kind.encode() + b'\0')
        if data:
            info += attr(DATA | 0x8000, data)
        rest += attr(LINKINFO | 0x8000, info)
    return rest


def request(verb, pairs):
    flags = REQUEST | ACK | (EXCL | CREATE if verb == 'new' else 0)
    fields = dict(pairs)
    which = index(fields['if']) if 'if' in fields else 0
    is_up = int(fields.get('up', 0))
    if verb == 'del':
        pairs = [('kind', '')]
    body = struct.pack('=BxHiII', 0, 0, which, is_up, is_up) + attributes(pairs)
    kind = DELLINK if verb == 'del' else NEWLINK
    return struct.pack('=IHHII', 16 + len(body), kind, flags, 1, 0) + body


def dice_value(dice):
    small = struct.pack('=H', dice.choice((0, 1, 2, 7, 0x7fff, 0x8000, 0x8001, 0x8002, 0xffff)))
    return dice.choice((small, small, small + bytes(2), bytes(20), dice.randbytes(20),
                        dice.randbytes(dice.randrange(40))))


def nonsense(dice, parent):
    """A request that has the shape of a right one, more or less."""
    data = b''.join(attr(dice.choice((1, 2, 3, 1, 2, 3, 0, 4, 77, 0x8001)), dice_value(dice))
                    for _ in range(dice.randrange(4)))
    data = data[:dice.choice((len(data), len(data), dice.randrange(len(data) + 1)))]
    info = attr(KIND, dice.choice((b'ipoib\0', b'ipoib\0', b'ipoib\0', b'ipoi', b'')))
    info += attr(dice.choice((DATA | 0x8000, DATA | 0x8000, DATA, 3)), data)
    name = f'z{dice.randrange(4)}'.encode() + b'\0'
    rest = attr(IFLA['name'], name)
    if dice.randrange(8):
        rest += attr(IFLA['link'], struct.pack('=I', dice.choice((parent, parent, parent, 1, 99999))))
    # address, broadcast, MTU, length of the queue, state, mode, group, queues, segments
    for _ in range(dice.randrange(3)):
        rest += attr(dice.choice((1, 2, 4, 13, 16, 17, 27, 31, 32, 40, 41)), dice_value(dice))
    rest += attr(LINKINFO | 0x8000, info)
    return rest[:dice.choice((len(rest), len(rest), len(rest), dice.randrange(len(rest) + 1)))]


def fuzz(link, seed, count):
    # the others need not wait for this one to be loaded
    import random
    dice, taken = random.Random(int(seed)), 0
    parent = index(link)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        for number in range(int(count)):
            kind, flags = dice.choice(((NEWLINK, EXCL | CREATE), (NEWLINK, CREATE), (NEWLINK, 0),
                                       (DELLINK, 0)))
            is_up = dice.choice((0, 0, 1))
            body = struct.pack('=BxHiII', 0, 0, 0, is_up, is_up) + nonsense(dice, parent)
            sock.send(struct.pack('=IHHII', 16 + len(body), kind, REQUEST | ACK | flags, number, 0) +
                      body)
            taken += struct.unpack_from('=i', sock.recv(65536), 16)[0] == 0
    print(taken)


def text_of(answer):
    """The message in the attributes behind the header of what failed."""
    flags = struct.unpack_from('=H', answer, 6)[0]
    at = 20 + (16 if flags & 0x100 else struct.unpack_from('=I', answer, 20)[0] + 3 & ~3)
    while flags & ACK_TLVS and at + 4 <= len(answer):
        length, kind = struct.unpack_from('=HH', answer, at)
        if kind == 1:
            return ' ' + answer[at + 4:at + length].rstrip(b'\0').decode()
        at += length + 3 & ~3
    return ''


def main():
    if sys.argv[1:2] == ['fuzz'] and len(sys.argv) == 5:
        fuzz(*sys.argv[2:])
        return
    if len(sys.argv) < 2 or sys.argv[1] not in ('new', 'set', 'del'):
        sys.exit(__doc__)
    pairs = [tuple(a.split('=', 1)) for a in sys.argv[2:]]
    try:
        message = request(sys.argv[1], pairs)
    except OSError as error:
        sys.exit(f'nl.py: {error}')
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as sock:
        sock.setsockopt(SOL_NETLINK, EXT_ACK, 1)
        sock.send(message)
        answer = sock.recv(65536)
    code = -struct.unpack_from('=i', answer, 16)[0]
    print((errno.errorcode.get(code, str(code)) if code else 'OK') + text_of(answer))


main()
