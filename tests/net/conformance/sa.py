#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
What the subnet administrator knows and was asked.

    sa.py member MGID GID       join state of that port in that group, as 0x1, or - if it is no
                                member; standard input is the output of saquery -m
    sa.py log [WORD...]         requests in a log of OpenSM (flags 0x2b) on standard input, a line
                                each; only those with all WORDs in them

A line of log begins with seconds, method and attribute, then names and values: mask, and of the
record mgid, portgid, qkey, mtu, tclass, pkey, rate, sl, flow, hop, state for groups; dgid, sgid,
pkey, numb, tclass for paths.
"""
import ipaddress
import re
import sys

METHODS = {0x01: 'Get', 0x02: 'Set', 0x12: 'GetTable', 0x15: 'Delete'}
# requests whose record OpenSM logs
WITH_RECORD = {(0x01, 0x35), (0x12, 0x35), (0x02, 0x38), (0x15, 0x38)}
ATTRIBUTES = {0x35: 'PathRecord', 0x38: 'MCMemberRecord'}
SHOWN = {0x35: 'dgid sgid pkey numb tclass',
         0x38: 'mgid portgid qkey mtu tclass pkey rate sl flow hop state'}
# titles of the dumps that belong to those attributes
TITLES = {'PathRecord dump': 0x35, 'MCMember Record dump': 0x38}
STAMP = re.compile(r'^\w{3} \d\d (\d\d):(\d\d):(\d\d) (\d{6}) \[(\w+)\]')
FIELD = re.compile(r'^\s+([A-Za-z_0-9/ ]+?)\.{2,}\s*(\S+)')


def same(one, other):
    return ipaddress.ip_address(one) == ipaddress.ip_address(other)


def member(mgid, gid):
    fields = {}
    for line in list(sys.stdin) + ['end']:
        found = FIELD.match(line)
        if found:
            fields[found[1].lower()] = found[2]
            continue
        if 'mgid' in fields and same(fields['mgid'], mgid) and same(fields['portgid'], gid):
            print(hex(int(fields['scopestate'], 16) & 15))
            return
        fields = {}
    print('-')


def dumps():
    """Each dump in the log: its title, seconds of the day, fields."""
    seconds, title, fields = 0, '', {}
    last = {}   # what each thread of OpenSM said before: their lines mix
    for line in sys.stdin:
        stamp, field = STAMP.match(line), FIELD.match(line)
        if field:
            fields[field[1].lower()] = field[2]
            continue
        if fields:
            yield title, seconds, fields
            fields = {}
        title = ''
        if stamp:
            hour, minute, second, micro = (int(n) for n in stamp.groups()[:4])
            seconds = hour * 3600 + minute * 60 + second + micro / 1e6
            # records are dumped when they come and when they go; only the former are announced
            if line.rstrip().endswith('PathRecord dump:') or \
                    'Dump of' in last.get(stamp[5], ''):
                title = line.split('-> ')[-1].strip(': \n')
            elif line.rstrip().endswith('SA MAD dump:'):
                title = 'SA MAD dump'
            last[stamp[5]] = line
    if fields:
        yield title, seconds, fields


def number(text):
    return int(text.split('(')[0], 0)


def unfold(fields):
    """Split what the log has in one number."""
    if 'slflowlabelhoplimit' in fields:
        both = number(fields['slflowlabelhoplimit'])
        fields.update(sl=hex(both >> 28), flow=hex(both >> 8 & 0xfffff), hop=hex(both & 255))
    if 'scopestate' in fields:
        fields['state'] = hex(number(fields['scopestate']) & 15)
    if 'num_path_revers' in fields:
        fields['numb'] = hex(number(fields['num_path_revers']) & 127)
    return fields


def requests():
    """Each request: seconds, method, mask, attribute, fields of the record."""
    waiting = {kind: [] for kind in ATTRIBUTES}
    for title, seconds, fields in dumps():
        if 'comp_mask' in fields:
            attribute, method = number(fields['attr_id']), number(fields['method'])
            if (method, attribute) in WITH_RECORD:
                waiting[attribute].append((seconds, method, number(fields['comp_mask'])))
        elif title in TITLES and waiting[TITLES[title]]:
            attribute = TITLES[title]
            yield *waiting[attribute].pop(0), attribute, unfold(fields)


def log(*words):
    for seconds, method, mask, attribute, fields in requests():
        line = f'{seconds:.3f} {METHODS[method]} {ATTRIBUTES[attribute]} mask=0x{mask:x} ' + \
            ' '.join(f'{k}={fields[k].lower()}' for k in SHOWN[attribute].split() if k in fields)
        if all(word.lower() in line.lower() + ' ' for word in words):
            print(line)


def main():
    if sys.argv[1:2] == ['member']:
        member(*sys.argv[2:])
    elif sys.argv[1:2] == ['log']:
        log(*sys.argv[2:])
    else:
        sys.exit(__doc__)


main()
