# SPDX-License-Identifier: GPL-2.0
"""
What programs of several jobs share: the name of the job is the first argument.

    run(JOBS, usage)    JOBS is {name: (function, number of its arguments)};
                        the rest of the command line is these
"""
import sys


def run(jobs, usage):
    name, args = (sys.argv[1:2] or [''])[0], sys.argv[2:]
    if name not in jobs or len(args) != jobs[name][1]:
        sys.exit(usage)
    jobs[name][0](*args)
