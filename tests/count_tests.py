#!/usr/bin/env python3
"""Counts what a meson test log holds: the cases of each Check program, one for any other program.

usage: count_tests.py LOG.json             prints "PASSED FAILED"
       count_tests.py --failures LOG.json  prints the output of what failed
"""
import json
import re
import sys

CHECK = re.compile(r'Checks: (\d+), Failures: (\d+), Errors: (\d+)')
# Programs that count their own cases print "N passed, N failed".
PLAIN = re.compile(r'^(?:\w+: )?(\d+) passed, (\d+) failed', re.M)


def counts(test):
    out = (test.get('stdout') or '') + (test.get('stderr') or '')
    good = test['result'] in ('OK', 'EXPECTEDFAIL', 'SKIP')
    found = CHECK.findall(out)
    if found:
        total = sum(int(t) for t, _, _ in found)
        bad = sum(int(f) + int(e) for _, f, e in found)
    else:
        plain = PLAIN.findall(out)
        total = sum(int(p) + int(f) for p, f in plain) or 1
        bad = sum(int(f) for _, f in plain)
    if not good and bad == 0:
        bad, total = 1, max(total, 1)
    return total - bad, bad


def main():
    failures = '--failures' in sys.argv
    passed = failed = 0
    try:
        with open(sys.argv[-1], encoding='utf-8') as log:
            tests = [json.loads(line) for line in log if line.strip()]
    except FileNotFoundError:
        tests = []
    for test in tests:
        ok, bad = counts(test)
        passed += ok
        failed += bad
        if failures and bad:
            print('---', test['name'], test['result'])
            print(((test.get('stdout') or '') + (test.get('stderr') or ''))[-6000:])
    if not failures:
        print(passed, failed if tests else 1)


if __name__ == '__main__':
    main()
