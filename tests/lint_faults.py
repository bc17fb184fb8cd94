# SPDX-License-Identifier: GPL-2.0
"""
The faults that "tests/lint --selftest" plants, at least one for each gate.

Each is planted alone in a copy of the tree, without the sources that it does not
touch; then the gate runs there and has to name it.  A gate that stays silent about its fault is worth nothing.
"""
import glob
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

C_HEAD = '// SPDX-License-Identifier: GPL-2.0\n#include "ipoib_addr.h"\n\n'

LONG = 'static int fault_long(int a)\n{\n' + '\ta++;\n' * 61 + '\treturn a;\n}\n'

DEEP = '''int fault_deep(int a, int b);
int fault_deep(int a, int b)
{
	int sum = 0, i, j;

	for (i = 0; i < a; i++) {
		if (i % 3) {
			for (j = 0; j < b; j++) {
				if (j % 5) {
					if (i > j) {
						if ((i > 2 * j && j) || a == 7)
							sum++;
						else if (i > 3 * j || !j)
							sum--;
						else
							sum += 2;
					}
				}
			}
		}
	}
	return sum;
}
'''


def append(name, text):
    def plant(root):
        with open(os.path.join(root, name), 'a', encoding='utf-8') as f:
            f.write(text)
    return name, plant


def replace(name, old, new):
    def plant(root):
        path = os.path.join(root, name)
        with open(path, encoding='utf-8') as f:
            text = f.read()
        if not re.search(old, text, re.M):
            raise ValueError(f'{name} has no "{old}" to put a fault on')
        with open(path, 'w', encoding='utf-8') as f:
            f.write(re.sub(old, new, text, count=1, flags=re.M))
    return name, plant


def create(name, text):
    def plant(root):
        with open(os.path.join(root, name), 'w', encoding='utf-8') as f:
            f.write(text)
    return name, plant


# gate, what is wrong, how to plant it, what the gate has to say
FAULTS = [
    ('text', 'a blank at the end of a line',
     append('ipoib_addr.c', 'int fault; \n'), r'ipoib_addr\.c:\d+: blanks'),
    ('text', 'no newline at the end',
     append('ipoib_addr.c', '/* fault */'), r'ipoib_addr\.c:\d+: no newline'),
    ('text', 'no licence', replace('ipoib_ctl.c', r'^// SPDX.*\n', ''), r'ipoib_ctl\.c:1: no "//'),
    ('text', 'another licence',
     replace('ipoib_ctl.c', 'GPL-2.0', 'GPL-2.0+'), r'ipoib_ctl\.c:1: no "//'),
    ('spelling', 'a misspelt word',
     append('ipoib_addr.c', '/* we rec' + 'ieve it */\n'), r'ipoib_addr\.c:\d+: rec.*==>'),
    ('shell', 'an unquoted variable',
     create('tests/fault.sh', '#!/bin/bash\n# SPDX-License-Identifier: GPL-2.0\nrm $1\n'),
     r'tests/fault\.sh:3:.*SC2086'),
    ('python', 'a syntax error',
     create('tests/fault.py', '# SPDX-License-Identifier: GPL-2.0\ndef f(:\n'),
     r'tests/fault\.py:2:'),
    ('documented', 'a function without kernel-doc',
     append('ipoib_addr.c', '\nint fault_doc(int a)\n{\n\treturn a;\n}\n'),
     r'ipoib_addr\.c:\d+: fault_doc\(\) has no kernel-doc'),
    ('documented', 'a result that is not told',
     replace('ipoib_addr.c', r'^ \* Return: true when all.*\n', ''),
     r'ipoib_addr_gid_is_zero\(\) has no "Return:"'),
    ('documented', 'a struct without kernel-doc',
     replace('ipoib_hdr.h', r'^(struct ipoib_encap \{)', r'struct fault {\n\tint a;\n};\n\n\1'),
     r'struct fault has no kernel-doc|struct ipoib_encap has no kernel-doc'),
    ('length', 'a function of 62 lines', append('ipoib_addr.c', '\n' + LONG),
     r'fault_long\(\) is 62 lines'),
    ('includes', 'a header out of order',
     replace('ipoib_addr.c', r'^#include <linux/errno.h>\n#include <linux/string.h>\n',
             '#include <linux/string.h>\n#include <linux/errno.h>\n'), r'errno\.h> is not sorted'),
    ('includes', 'the own header not first',
     replace('ipoib_addr.c', r'^#include "ipoib_addr.h"\n', ''), r'"ipoib_addr\.h" has to come first'),
    ('includes', 'a circle of headers',
     replace('ipoib_addr.h', r'^#include <linux/types.h>\n',
             '#include <linux/types.h>\n\n#include "ipoib_hdr.h"\n'), r'includes itself in the end'),
    ('includes', 'a header without a guard',
     replace('ipoib_ring.h', r'^#ifndef _IPOIB_RING_H\n', '#if 1\n'), r'ipoib_ring\.h:1: no guard'),
    ('kerneldoc', 'an argument that is not described',
     replace('ipoib_addr.c', r'^ \* @qpn:.*\n', ''), r"'qpn' not described"),
    ('checkpatch', 'blanks instead of a tab',
     append('ipoib_addr.c', '\nstatic int fault(void)\n{\n        return 1;\n}\n'),
     r'ipoib_addr\.c:\d+: ERROR:CODE_INDENT'),
    ('user-c', 'a variable that nobody uses',
     append('tests/user/main.c', '\nint fault(void)\n{\n\tint a;\n\n\treturn 0;\n}\n'),
     r'tests/user/main\.c:\d+:.*unused variable'),
    ('build-driver', 'a big-endian value used as a number (sparse)',
     append('ipoib_addr.c', '\nint fault_be(__be16 a);\nint fault_be(__be16 a)\n{\n\treturn a + 1;\n}\n'),
     r'ipoib_addr\.c:\d+:.*restricted __be16'),
    ('build-driver', 'a function without a prototype (gcc)',
     append('ipoib_addr.c', '\nint fault_proto(int a)\n{\n\treturn a;\n}\n'),
     r'ipoib_addr\.c:\d+:.*fault_proto'),
    ('build-driver', 'a lock that stays taken (sparse)',
     append('ipoib_ctl.c', '\nvoid fault_lock(spinlock_t *a, int b);\nvoid fault_lock(spinlock_t *a, int b)\n'
            '{\n\tif (b)\n\t\tspin_lock(a);\n}\n'), r'ipoib_ctl\.c:\d+:.*context imbalance'),
    ('build-vib', 'a big-endian value used as a number (sparse)',
     append('tests/vib/vib_main.c', '\nint fault_be(__be16 a);\nint fault_be(__be16 a)\n{\n\treturn a + 1;\n}\n'),
     r'vib_main\.c:\d+:.*restricted __be16'),
    ('build-bare', 'code that needs the debug option',
     append('ipoib_ctl.c', '\n#ifndef CONFIG_INFINIBAND_IPOIB_DEBUG\nfault_bare;\n#endif\n'),
     r'ipoib_ctl\.c:\d+:.*fault_bare'),
    ('clang', 'code that is never reached',
     append('ipoib_addr.c', '\nint fault_dead(int a);\nint fault_dead(int a)\n{\n\treturn a;\n'
            '\ta++;\n\treturn a;\n}\n'), r'ipoib_addr\.c:\d+:.*never be executed'),
    ('clang', 'a maze', append('ipoib_addr.c', '\n' + DEEP),
     r"ipoib_addr\.c:\d+:.*'fault_deep' has cognitive complexity"),
    ('headers', 'a header that leans on others',
     replace('ipoib_ring.h', r'^#include <linux/types.h>\n', ''), r'ipoib_ring\.h:1: .*error'),
    ('cocci', 'a check that kfree makes itself',
     create('ipoib_fault.c', C_HEAD + '#include <linux/slab.h>\n\nstatic void fault(void *p)\n{\n'
            '\tif (p)\n\t\tkfree(p);\n}\n'), r'ipoib_fault\.c:\d+:.*NULL check'),
    ('text', 'a waiver without a use',
     append('tests/lint.waivers', 'text | nothing.c | nothing | a reason\n'),
     r'lint\.waivers:\d+: nothing left'),
    ('text', 'a waiver without a reason',
     append('tests/lint.waivers', 'text | nothing.c | nothing\n'), r'lint\.waivers:\d+: not of the form'),
]


def interrupted(root):
    """An interrupt ends a run at once, and nothing of it stays."""
    with tempfile.TemporaryDirectory(prefix='ipoib-faults.') as tmp:
        run = subprocess.Popen([os.path.join(root, 'tests/lint')], start_new_session=True,
                               env=dict(os.environ, TMPDIR=tmp), stdout=subprocess.DEVNULL)
        try:
            while run.poll() is None and not glob.glob(os.path.join(tmp, '*/*')):
                time.sleep(0.05)
            os.killpg(run.pid, signal.SIGINT)
            return run.wait(30) == 130 and not os.listdir(tmp)
        except subprocess.TimeoutExpired:
            return False
        finally:
            try:
                os.killpg(run.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def selftest(files, root, wanted, gates):
    """Plants each fault, or those of the gates that are wanted; says how the gates fared."""
    passed = failed = 0
    for gate in gates:
        if not any(f[0] == gate for f in FAULTS):
            print(f'not ok - {gate}: there is no fault for this gate')
            failed += 1
    for gate, about, (touched, plant), expected in FAULTS:
        if wanted and gate not in wanted:
            continue
        with tempfile.TemporaryDirectory(prefix='ipoib-faults.') as work:
            copy, tmp = os.path.join(work, 'tree'), os.path.join(work, 'tmp')
            os.mkdir(tmp)
            # a gate looks at each source by itself, so the others need not be there. tests/vm tells
            # it where the kernel is, and a header is compiled with the flags of some source.
            for name in [f for f in files if f in (touched, 'ipoib_addr.c')
                         or f.startswith('tests/vm/') or not f.endswith(('.c', '.sh'))]:
                os.makedirs(os.path.dirname(os.path.join(copy, name)), exist_ok=True)
                shutil.copy(os.path.join(root, name), os.path.join(copy, name))
            try:
                plant(copy)
            except (OSError, ValueError) as err:
                print(f'not ok - {gate}: {about}: {err}')
                failed += 1
                continue
            done = subprocess.run([os.path.join(copy, 'tests/lint'), gate], check=False,
                                  env=dict(os.environ, TMPDIR=tmp), text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        found = done.returncode == 1 and re.search(expected, done.stdout)
        print(f"{'ok' if found else 'not ok'} - {gate}: {about}", flush=True)
        if not found:
            print(''.join(f'    {line}\n' for line in done.stdout.splitlines()[-8:]), end='')
        passed += bool(found)
        failed += not found
    if not wanted:
        clean = interrupted(root)
        print(f"{'ok' if clean else 'not ok'} - an interrupt ends it, and leaves nothing")
        passed += clean
        failed += not clean
    print(f'{passed} passed, {failed} failed')
    return 1 if failed else 0
