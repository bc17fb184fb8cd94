#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""
The examples of the manual, taken out of it and run.

    manual.py list DOC            every command with its line, for people
    manual.py files DOC FOLDER    write the configuration files below FOLDER
    manual.py run DOC [NEED]      run the commands, those that need NEED or nothing
    manual.py complete DOC ROOT   is everything in it that the driver has for users?

What counts as an example:

  - A block ".. code-block:: console": lines that begin with "# " are commands,
    what follows is the output expected. "..." stands for any text, on a line of
    its own for any number of lines; amounts of white space do not matter. A
    command shown without output must print none. It must succeed, unless the
    output shown is that of a refusal. With ":class: needs-X" it is run only when
    X is asked for.
  - A block right after a paragraph "File ``/PATH``:" is the content of that file.

"run" prints a line for each command, fields separated by tabs: ok or not_ok, the
name, and what came out in one line. A command that does not do as shown is tried
again for a while, since carriers and addresses take their time.

"complete" looks into the driver's sources below ROOT for files, parameters,
attributes, counters, tracepoints, drop reasons and log lines, prints those that
the manual does not name, and ends with 1 if there are any.
"""
import glob
import os
import re
import subprocess
import sys
import time

PATIENCE = 30           # seconds that an example may take to come true
LIMIT = 60              # seconds that one command may run
REFUSED = re.compile(r'(^|\s)(Error:|(\S+ )?error:|RTNETLINK answers:)')


class Example:
    """A command, its place and what it should print."""

    def __init__(self, line, need, command):
        self.line = line
        self.need = need
        self.command = command
        self.want = []

    def name(self):
        """As it appears in the results."""
        return f'line {self.line}: {self.command}'

    def refused(self):
        """The manual shows this as an error."""
        return any(REFUSED.search(line) for line in self.want)

    def fits(self, text):
        """Is this the output that the manual shows?"""
        pattern = ''
        for line in self.want:
            if line.strip() == '...':
                pattern += r'(?:.*\n)*?'
            else:
                parts = (re.escape(squeeze(p)) for p in line.split('...'))
                pattern += r' ?.*? ?'.join(parts) + r'\n'
        got = ''.join(squeeze(line) + '\n' for line in text.splitlines() if line.strip())
        return re.fullmatch(pattern, got) is not None


def squeeze(text):
    """The same with single blanks."""
    return ' '.join(text.split())


def blocks(doc):
    """All code blocks: line, language, class, file name or None, lines."""
    with open(doc, encoding='utf-8') as file:
        lines = file.read().split('\n')
    name = None
    i = 0
    while i < len(lines):
        start = re.match(r'( *)\.\. code-block:: *(\S*)$', lines[i])
        if not start:
            file_name = re.match(r'File ``(/\S+)``:$', lines[i])
            if file_name:
                name = file_name.group(1)
            elif lines[i].strip():
                name = None
            i += 1
            continue
        indent = len(start.group(1)) + 3
        options = ''
        i += 1
        while lines[i].startswith(' ' * indent + ':'):
            options += lines[i].strip()
            i += 1
        body, first = [], i + 1
        while i < len(lines) and (not lines[i].strip() or lines[i].startswith(' ' * indent)):
            body.append(lines[i][indent:])
            i += 1
        yield first, start.group(2), options, name, body
        name = None


def examples(doc):
    """The commands in the order of the manual."""
    found = []
    for first, language, options, _, body in blocks(doc):
        if language != 'console':
            continue
        need = re.search(r':class: needs-(\S+)', options)
        last = None
        for number, line in enumerate(body, first):
            if line.startswith('# '):
                last = Example(number, need.group(1) if need else None, line[2:])
                found.append(last)
            elif line.strip() and last is None:
                raise SystemExit(f'{doc}:{number}: output without a command')
            elif line.strip():
                last.want.append(line)
    return found


def run(example):
    """Run it until it does as shown: None, or what it did instead."""
    end = time.monotonic() + PATIENCE
    first = None
    while True:
        try:
            done = subprocess.run(['bash', '-c', example.command], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  timeout=LIMIT, check=False, text=True, errors='replace')
            status, text = done.returncode, done.stdout
        except subprocess.TimeoutExpired:
            return f'did not end in {LIMIT} s'
        if (status != 0) == example.refused() and example.fits(text):
            return None
        what = f'status {status}: {text}'
        first = first or what
        if time.monotonic() > end:
            return first if first == what else f'{first} ... and at last {what}'
        time.sleep(0.5)


def write_files(doc, folder):
    """Put the configuration files where the manual has them, below FOLDER."""
    count = 0
    for _, _, _, name, body in blocks(doc):
        if not name:
            continue
        path = folder + name
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'w', encoding='utf-8') as file:
            file.write('\n'.join(body).strip('\n') + '\n')
        count += 1
    print(count)


# what users meet, and how the sources say it
THINGS = (
    ('module parameter', r'module_param_named\((\w+)'),
    ('file in sysfs', r'DEVICE_ATTR_[RW]+O?\((\w+)\)'),
    ('file in debugfs', r'\{ "(\w+)", &\w+_fops \}'),
    ('line in debugfs', r'seq_printf\(s, "(\w+): '),
    ('attribute', r'\[(IFLA_IPOIB_\w+)\]'),
    ('counter', r'IPOIB_STAT\((\w+)\),'),
    ('tracepoint', r'DEFINE_EVENT\(\w+, (\w+),|TRACE_EVENT\((\w+),'),
    ('drop reason', r'SKB_DROP_REASON_(\w+)'),
)
LOG = r'(?:netdev_(?:info|warn|warn_once)|dev_warn(?:_ratelimited)?|pr_info)\(([^;]*)\);'
REASON = r'(?:strscpy\(why|snprintf\(why, sizeof\(why\)),([^;]*)\);'


def words_of(arguments):
    """The longest piece of fixed text in the format of a log line."""
    text = ''.join(re.findall(r'"((?:[^"\\]|\\.)*)"', arguments)).replace('\\n', '')
    parts = re.split(r'%[-0]*[*]?[0-9]*(?:ll)?[a-zA-Z][A-Za-z0-9]*', text)
    return max((squeeze(p).strip(r':,() \"') for p in parts), key=len, default='')


def complete(doc, root):
    """Print what the manual does not name."""
    with open(doc, encoding='utf-8') as file:
        manual = squeeze(file.read())
    missing, count = set(), 0
    for path in sorted(glob.glob(os.path.join(root, 'ipoib*.[ch]'))):
        with open(path, encoding='utf-8') as file:
            source = file.read()
        found = [(kind, next(filter(None, m.groups())))
                 for kind, pattern in THINGS for m in re.finditer(pattern, source)]
        found += [('log line', words_of(m)) for m in re.findall(LOG, source)]
        found += [('reason', words_of(m)) for m in re.findall(REASON, source)]
        for kind, name in found:
            if not name or name == 'NOT_DROPPED_YET':
                continue
            count += 1
            if not re.search(rf'(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])', manual):
                missing.add(f'{kind} not in the manual: {name}')
    print('\n'.join(sorted(missing)) or f'all of {count}')
    return 1 if missing or not count else 0


def main(words):
    """Do what the command line says."""
    if len(words) == 2 and words[0] == 'list':
        for example in examples(words[1]):
            print(f'{example.line}\t{example.need or "-"}\t{example.command}')
    elif len(words) == 3 and words[0] == 'files':
        write_files(words[1], words[2])
    elif len(words) == 3 and words[0] == 'complete':
        return complete(words[1], words[2])
    elif len(words) in (2, 3) and words[0] == 'run':
        need = words[2] if len(words) == 3 else None
        for example in examples(words[1]):
            if example.need != need:
                continue
            wrong = run(example)
            text = squeeze((wrong or '').replace('\t', ' '))
            print(f'{"not_ok" if wrong else "ok"}\t{example.name()}\t{text}', flush=True)
    else:
        print(__doc__, file=sys.stderr)
        return 2
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
