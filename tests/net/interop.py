#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
What a driver of IPoIB has said on the wire, judged by a capture of its port.

    interop.py fields                   options of tshark that choose the columns
    interop.py CHECK TABLE LID          judge what the port with this LID has sent

TABLE is what tshark prints for these fields, with a header.  Checks:

    encapsulation   a protocol that IPoIB knows and two octets of zero
    broadcast       joins of the broadcast group name MGID, port, P_Key and state
    joins           those of other groups name all that the broadcast group has
    sendonly        whoever only sends joins as such
    paths           path queries name both ends, one path, and the P_Key
    leaves          every group that was joined is left, in the same words

A check that finds nothing to look at fails.
"""
import sys

BROADCAST = 'ff12:401b:ffff::ffff:ffff'
GROUP = 'ff12:401b:ffff::f07:709'        # that was joined, see interop.sh
SENDONLY = 'ff12:401b:ffff::f08:808'     # that was sent to

SET, GET, DELETE, RESPONSE = 2, 1, 0x15, 0x81
CLASS_SA = 3
ATTR_PATH, ATTR_MCMEMBER = 0x35, 0x38
FULL, SEND_ONLY_FULL = 1, 8

MASK_BROADCAST = 0x10083
MASK_JOIN = 0x173f7
MASK_PATH = 0x340c
MASK_LEAVE = 0x10003

FIELDS = '''
    frame.number infiniband.lrh.slid infiniband.lrh.dlid infiniband.bth.destqp
    infiniband.rwh.etype infiniband.reserved infiniband.mad.mgmtclass
    infiniband.mad.method infiniband.mad.attributeid infiniband.mad.status
    infiniband.sa.componentmask
    infiniband.mcmemberrecord.mgid infiniband.mcmemberrecord.portgid
    infiniband.mcmemberrecord.q_key infiniband.mcmemberrecord.mlid
    infiniband.mcmemberrecord.mtuselector infiniband.mcmemberrecord.mtu
    infiniband.mcmemberrecord.rateselector infiniband.mcmemberrecord.rate
    infiniband.mcmemberrecord.tclass infiniband.mcmemberrecord.p_key
    infiniband.mcmemberrecord.sl infiniband.mcmemberrecord.flowlabel
    infiniband.mcmemberrecord.hoplimit infiniband.mcmemberrecord.joinstate
    infiniband.pathrecord.dgid infiniband.pathrecord.sgid
    infiniband.pathrecord.numbpath infiniband.pathrecord.p_key
'''.split()

# what a join has in common with the broadcast group
SAME = ('q_key', 'mtu', 'rate', 'tclass', 'p_key', 'sl', 'flowlabel', 'hoplimit')


class Packet:
    """A line of the table; numbers by num(), the last part of a field's name is enough"""

    def __init__(self, names, values):
        self.values = dict(zip(names, values))

    def text(self, name):
        return self.values['infiniband.' + name]

    def num(self, name):
        value = self.text(name)
        return int(value, 0) if value else None

    def member(self, name):
        return self.num('mcmemberrecord.' + name)

    def mgid(self):
        return self.text('mcmemberrecord.mgid')

    def is_sa(self, method, attr):
        return self.num('mad.mgmtclass') == CLASS_SA and self.num('mad.method') == method and \
            self.num('mad.attributeid') == attr

    def __str__(self):
        said = ' '.join(f'{k.split(".")[-1]}={v}' for k, v in self.values.items() if v)
        return f'packet {self.values["frame.number"]}: {said}'


def read(path):
    with open(path, encoding='ascii') as table:
        names = table.readline().rstrip('\n').split('\t')
        return [Packet(names, line.rstrip('\n').split('\t')) for line in table]


def must(good, packet, why):
    if not good:
        sys.exit(f'{why}: {packet}')


def found(packets, what):
    packets = list(packets)
    if not packets:
        sys.exit(f'no {what} in the capture')
    return packets


def encapsulation(_, ours):
    data = [p for p in ours if p.num('bth.destqp') not in (0, 1)]
    for p in found(data, 'data'):
        must(p.num('rwh.etype') in (0x0800, 0x0806, 0x86dd), p, 'not an encapsulation')
        # those of BTH and DETH, and the one of the encapsulation
        must(not p.text('reserved').strip('0,:'), p, 'a reserved field is not zero')


def joins_of(ours, choose):
    return [p for p in ours if p.is_sa(SET, ATTR_MCMEMBER) and choose(p.mgid())]


def broadcast(_, ours):
    sets = found(joins_of(ours, lambda mgid: True), 'join')
    must(sets[0].mgid() == BROADCAST, sets[0], 'the first join is not that of the broadcast group')
    for p in found(joins_of(ours, BROADCAST.__eq__), 'join of the broadcast group'):
        must(p.num('sa.componentmask') == MASK_BROADCAST, p, 'component mask')
        must(p.member('joinstate') == FULL, p, 'JoinState')


def record(packets):
    """The broadcast group as the subnet manager has it"""
    return found((p for p in packets if p.is_sa(RESPONSE, ATTR_MCMEMBER) and
                  p.mgid() == BROADCAST and not p.num('mad.status')), 'answer about the broadcast group')[0]


def check_join(p, group):
    must(p.num('sa.componentmask') == MASK_JOIN, p, 'component mask')
    must(p.member('mtuselector') == 2 and p.member('rateselector') == 2, p, 'selectors')
    for name in SAME:
        must(p.member(name) == group.member(name), p, f'{name} is not that of {group}')


def joins(packets, ours):
    group = record(packets)
    others = found(joins_of(ours, BROADCAST.__ne__), 'join')
    for p in others:
        check_join(p, group)
    for p in found((p for p in others if p.mgid() == GROUP), f'join of {GROUP}'):
        must(p.member('joinstate') == FULL, p, 'JoinState')


def sendonly(packets, ours):
    group = record(packets)
    for p in found(joins_of(ours, SENDONLY.__eq__), f'join of {SENDONLY}'):
        must(p.member('joinstate') == SEND_ONLY_FULL, p, 'JoinState')
        check_join(p, group)


def paths(_, ours):
    seen = {}
    for p in found((p for p in ours if p.is_sa(GET, ATTR_PATH)), 'path query'):
        must(p.num('sa.componentmask') == MASK_PATH, p, 'component mask')
        must(p.num('pathrecord.numbpath') == 1, p, 'NumbPath')
        must(p.num('pathrecord.p_key') & 0x8000, p, 'P_Key')
        seen[p.text('pathrecord.dgid')] = p
    print('paths to', ', '.join(seen))


def leaves(_, ours):
    gone = set()
    for p in found((p for p in ours if p.is_sa(DELETE, ATTR_MCMEMBER)), 'leave'):
        must(p.num('sa.componentmask') == MASK_LEAVE, p, 'component mask')
        must(p.member('joinstate') in (FULL, SEND_ONLY_FULL), p, 'JoinState')
        gone.add((p.mgid(), p.member('joinstate')))
    # a group that was joined in one way may have been joined in the other one before
    for mgid, state in ((BROADCAST, FULL), (GROUP, FULL), (SENDONLY, SEND_ONLY_FULL)):
        if (mgid, state) not in gone:
            sys.exit(f'{mgid} was not left with JoinState {state}')


CHECKS = {f.__name__: f for f in (encapsulation, broadcast, joins, sendonly, paths, leaves)}


def main():
    args = sys.argv[1:]
    if args == ['fields']:
        print(' '.join(f'-e {name}' for name in FIELDS))
        return
    if len(args) != 3 or args[0] not in CHECKS or not args[2].isdigit():
        sys.exit(__doc__)
    packets = read(args[1])
    ours = found((p for p in packets if p.num('lrh.slid') == int(args[2])), 'packet of ours')
    CHECKS[args[0]](packets, ours)


main()
