#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
Bad frames for a wire of the fabric.

    wire.py KIND INTERFACE MAC COUNT

INTERFACE is where frames for MAC pass.  Takes some that do, spoils copies of
them and sends these on, COUNT in all:

    garbage     nothing is right but the type
    header      one octet of the header is wrong
    payload     one octet behind it is
    cut         the end is missing

The dice are loaded: each run throws the same.
"""
import random
import socket
import sys
import time

ETH_P = 0x88b5
ETH_HDR, HDR = 14, 16
TYPE_AT = 3
LRH, GRH, BTH = 8, 40, 12
DATA = 3
LIMIT = 10


def listen(interface, mac):
    """Frames to MAC that were seen, data among them"""
    frames = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as sock:
        sock.bind((interface, 0))
        sock.settimeout(1)
        end = time.monotonic() + LIMIT
        while time.monotonic() < end and len(frames) < 30:
            try:
                frame = sock.recv(65536)
            except TimeoutError:
                continue
            if frame[:6] == mac and frame[12:14] == ETH_P.to_bytes(2, 'big'):
                frames.append(frame)
    return frames


def is_data(frame):
    """A packet for another queue pair than those of management"""
    packet = frame[ETH_HDR + HDR:]
    if frame[ETH_HDR + TYPE_AT] != DATA or len(packet) < LRH + GRH + BTH:
        return False
    bth = packet[LRH + (GRH if packet[1] & 3 == 3 else 0):]
    return int.from_bytes(bth[5:8], 'big') > 1


def spoil(kind, frame):
    head, rest = frame[:ETH_HDR], bytearray(frame[ETH_HDR:])
    if kind == 'garbage':
        return head + random.randbytes(random.randrange(0, 4200))
    if kind == 'header':
        # all but the sequence number, which may be anything
        at = random.choice([i for i in range(HDR) if i not in (8, 9, 10, 11, 14)])
        rest[at] ^= random.randrange(1, 256)
    elif kind == 'payload':
        at = random.randrange(HDR, max(len(rest), HDR + 1))
        if at < len(rest):
            rest[at] ^= random.randrange(1, 256)
    elif kind == 'cut':
        del rest[random.randrange(0, max(len(rest) - 8, 1)):]
    return head + bytes(rest)


def main():
    if len(sys.argv) != 5 or sys.argv[1] not in ('garbage', 'header', 'payload', 'cut'):
        sys.exit(__doc__)
    kind, interface, count = sys.argv[1], sys.argv[2], int(sys.argv[4])
    mac = bytes.fromhex(sys.argv[3].replace(':', ''))
    random.seed(kind)
    frames = listen(interface, mac)
    if not frames:
        sys.exit(f'no frame for {sys.argv[3]} in {LIMIT} s')
    if kind in ('cut', 'payload'):
        # a hello is shorter than what Ethernet pads to, and wrong orders to a subnet are another story
        frames = [f for f in frames if is_data(f)]
    if not frames:
        sys.exit('no data among them')
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sock:
        sock.bind((interface, 0))
        for i in range(count):
            sock.send(spoil(kind, random.choice(frames)))
            if i % 64 == 63:
                time.sleep(0.005)
    print(f'{count} frames made of {len(frames)}')


main()
