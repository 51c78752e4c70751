#!/usr/bin/env python3
"""The command line, with and without a daemon."""
import json
import os
import pathlib
import pty
import re
import resource
import signal
import stat
import subprocess
import time
import unittest

from harness import METHODS, ROOST, ROOSTD, SOURCE, TIMEOUT, Daemon, Place, main

SAMPLES = SOURCE / 'tests' / 'vectors' / 'integration'
GOOD = SAMPLES / 'loop_sb.json'
GENERATE = os.environ.get('ROOST_GENERATE', '')
MODULE_METHODS = [method for method in METHODS if method != 'decode']


def all_samples():
    """Every module of the tree that is meant as an input, and some that are broken."""
    vectors = SOURCE / 'tests' / 'vectors'
    found = sorted(SAMPLES.glob('*.json')) + sorted((vectors / 'klr').glob('*.klr'))
    return found + sorted((vectors / 'klr-bad').glob('*.klr'))[:10]


class InProcess(Place):
    def test_methods(self):
        lowered = self.expect(0, 'lower', GOOD)
        self.assertEqual(lowered.stderr, b'')
        module = json.loads(lowered.stdout)
        self.assertIn('functions', module)
        self.assertNotIn(b'\n', lowered.stdout.rstrip(b'\n'))
        again = self.expect(0, 'convert', '-', input=lowered.stdout)
        self.assertEqual(json.loads(again.stdout), module)
        self.assertEqual(self.expect(0, 'check', GOOD).stdout, b'')
        self.assertEqual(json.loads(self.expect(0, 'check', '--format=json', GOOD).stdout), [])
        encoded = json.loads(self.expect(0, 'encode', GOOD).stdout)
        self.assertEqual(set(encoded), {'arch', 'functions'})

    def test_options_stand_anywhere(self):
        expected = self.expect(0, 'convert', '--indent=4', GOOD).stdout
        self.assertIn(b'\n    "', expected)
        for arguments in (['--indent', '4', 'convert', GOOD], ['convert', GOOD, '--indent', '4'],
                          ['--daemon=never', 'convert', '--indent=4', '--', GOOD],
                          ['--no-daemon', '--indent=4', 'convert', '--input-format=bir-json', GOOD],
                          ['--no-daemon', '--indent=4', 'convert', '--to', 'bir-json', '--input_format=auto', GOOD]):
            self.assertEqual(self.expect(0, *arguments).stdout, expected)

    def test_output_file(self):
        out = self.directory / 'out'
        expected = self.expect(0, 'lower', GOOD).stdout
        for arguments in (['-o', out], [f'-o{out}'], [f'--output={out}'], ['--output', out]):
            self.assertEqual(self.expect(0, 'lower', *arguments, GOOD).stdout, b'')
            self.assertEqual(out.read_bytes(), expected)
            out.unlink()
        self.expect(2, 'lower', '-o', self.directory / 'no' / 'such', GOOD)
        self.expect(1, 'lower', '-o', out, '-', input=b'{')
        self.assertFalse(out.exists(), 'a failed compile writes nothing')
        self.expect(2, 'lower', '-o', '/dev/full', GOOD)

    def test_output_is_whole_or_old(self):
        place = self.directory / 'place'
        place.mkdir()
        out, link = place / 'out', place / 'link'
        expected = self.expect(0, 'lower', GOOD).stdout
        out.write_bytes(b'old')
        out.chmod(0o640)
        link.symlink_to('out')
        with open(out, 'rb') as reader:
            self.expect(0, 'lower', '-o', link, GOOD)
            self.assertEqual(reader.read(), b'old', 'who had it open goes on reading the old bytes')
        self.assertTrue(link.is_symlink())
        self.assertEqual((out.read_bytes(), out.stat().st_mode & 0o777), (expected, 0o640))
        self.expect(0, 'convert', '-o', out, out)
        module = out.read_bytes()
        self.assertEqual(json.loads(module), json.loads(expected))
        for status, ignored in ((2, True), (-signal.SIGXFSZ, False)):
            def limit():
                resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
                signal.signal(signal.SIGXFSZ, signal.SIG_IGN if ignored else signal.SIG_DFL)
            for path in (out, place / 'new'):
                done = subprocess.run([ROOST, 'lower', '--no-daemon', '-o', path, GOOD], capture_output=True,
                                      timeout=TIMEOUT, preexec_fn=limit, restore_signals=False)
                self.assertEqual(done.returncode, status, done.stderr)
            self.assertEqual(out.read_bytes(), module)
            self.assertEqual(sorted(os.listdir(place)), ['link', 'out'])

    def test_output_in_place(self):
        expected = self.expect(0, 'lower', GOOD).stdout
        self.expect(0, 'lower', '-o', '/dev/null', GOOD)
        self.assertTrue(stat.S_ISCHR(os.stat('/dev/null').st_mode))
        self.assertEqual(self.expect(0, 'lower', '-o', '/dev/stdout', GOOD).stdout, expected)
        fifo, dangling = self.directory / 'fifo', self.directory / 'dangling'
        os.mkfifo(fifo)
        reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        self.addCleanup(os.close, reader)
        writer = subprocess.Popen([ROOST, 'lower', '--no-daemon', '-o', fifo, GOOD])
        got = b''
        deadline = time.monotonic() + TIMEOUT
        while (writer.poll() is None or len(got) < len(expected)) and time.monotonic() < deadline:
            try:
                got += os.read(reader, 65536)
            except BlockingIOError:
                time.sleep(0.01)
        self.assertEqual((writer.wait(), got), (0, expected))
        self.assertTrue(stat.S_ISFIFO(fifo.stat().st_mode))
        dangling.symlink_to('target')
        self.expect(0, 'lower', '-o', dangling, GOOD)
        self.assertEqual((self.directory / 'target').read_bytes(), expected)

    def test_bad_input(self):
        for method in MODULE_METHODS:
            result = self.expect(1, method, '-', input=b'{"functions": [}')
            text = result.stdout if method == 'check' else result.stderr
            self.assertRegex(text.decode(), r'^<stdin>:1:\d+: error: .* \[json-[a-z-]+\]')
            self.assertEqual(result.stderr if method == 'check' else result.stdout, b'')
            result = self.expect(1, method, '--format=json', '-', input=b'{"functions": [}')
            diagnostics = json.loads(result.stdout if method == 'check' else result.stderr)
            self.assertEqual(diagnostics[0]['severity'], 'error')
            self.assertEqual(set(diagnostics[0]) - {'vendor', 'hint'}, {'severity', 'code', 'pointer', 'offset', 'message'})
        bad = self.directory / 'bad name.json'
        bad.write_bytes(b'{\n  "functions": 7\n}')
        self.assertTrue(self.expect(1, 'check', bad).stdout.startswith(str(bad).encode() + b':2:'))

    def test_input_without_end(self):
        """Neither a device nor a sparse file is read beyond what the compiler takes."""
        huge = self.directory / 'huge'
        with open(huge, 'wb') as file:
            file.truncate(1 << 42)
        for path in ('/dev/zero', huge):
            result = self.expect(1, 'check', path)
            self.assertIn(b'limit of the compiler', result.stderr)

    def test_usage(self):
        for arguments in ([], ['nonsense'], ['lower', '--nonsense', GOOD], ['lower', GOOD, GOOD], ['lower', '--check=maybe', GOOD],
                          ['lower', '--indent=x', GOOD], ['lower', '--indent=99', GOOD], ['lower', '--indent'],
                          ['lower', '--strict=yes', GOOD], ['lower', '/no/such/file'], ['lower', SAMPLES],
                          ['stats', '--strict'], ['stats', 'extra'], ['ping', '-o', 'x'], ['lower', '--faithful', GOOD],
                          ['check', '--indent=2', GOOD], ['lower', '--format=bin', GOOD], ['lower', '--to=bir-json', GOOD],
                          ['lower', '--timeout=0', GOOD], ['lower', '--timeout=soon', GOOD], ['lower', '--daemon=maybe', GOOD],
                          ['lower', '--color=red', GOOD], ['stats', '--daemon=never'], ['-x'], ['--s', 'x', 'sock']):
            result = self.expect(2, *arguments)
            self.assertTrue(result.stderr.startswith(b'roost: error: '), result.stderr)
            self.assertEqual(result.stderr.count(b'\n'), 1)
            self.assertEqual(result.stdout, b'')

    def test_usage_names_what_may_be_meant(self):
        for arguments, text in ((['lowre', GOOD], '"lower"'), (['encode', '--kep-going', GOOD], '"--keep-going"'),
                                (['--forrmat=json', 'lower'], '"--format"'), (['help', 'stat'], '"stats"'),
                                (['lower', '--check=maybe', GOOD], 'sample|full|off'), (['lower', '--arch=gen9', GOOD], 'core_v4'),
                                (['lower', '--print-after=x', GOOD], '--print-after'), (['frobnicate'], 'roost --help')):
            self.assertIn(text, self.expect(2, *arguments).stderr.decode())

    def test_faithful_with_indent_and_strict(self):
        """Layout is all that --indent changes, and --strict decides only what is taken."""
        known = ('{"version":2,"functions":[],"arch":"gen3","attributes":{},"queues":[],"revision":"v1"}', 0)
        unknown = ('{"functions":[],"zz":{"a":1.50,"a":[1,2,{}],"q":[],"s":"\\u00e9\\/x"},"arch":"gen3","attributes":{},'
                   '"queues":[],"revision":"v1","version":2,"big":12345678901234567890123}', 1)
        for text, strict in (known, unknown):
            spaced = text.replace(',', ' ,\n').replace(':', ' : ').encode()
            compact = text.encode()
            for indent in (0, 2, 7):
                arguments = ['convert', '--faithful', f'--indent={indent}', '-']
                shown = self.expect(0, *arguments, input=spaced).stdout
                self.assertEqual(re.sub(rb'\n *|(?<=:) ', b'', shown), compact)
                lines = shown.splitlines()
                self.assertEqual(len(lines) > 1 and len(lines[1]) - len(lines[1].lstrip()), indent)
                self.assertEqual(self.expect(0, *arguments, input=shown).stdout, shown)
                refused = self.expect(strict, '--strict', *arguments, input=spaced)
                self.assertEqual(refused.stdout, b'' if strict else shown)

    def test_passes_that_do_not_exist(self):
        for option, wrong, meant in (('passes', 'split_engines,lower_branches', 'lower_branch'),
                                     ('print-after', 'lower_app', 'lower_ap')):
            message = self.expect(2, 'lower', f'--{option}={wrong}', GOOD).stderr.decode()
            self.assertIn(f'did you mean {meant}? passes: klr_codegen ', message)
            self.assertIn(' encode\n', message)
        self.assertIn(b'remove the last comma', self.expect(2, 'lower', '--passes=lower_ap,', GOOD).stderr)

    def test_closed_standard_streams(self):
        """A file or a connection must not take the place of a stream that is closed."""
        with Daemon() as daemon:
            for more in ({}, {'socket': daemon.path}):
                for close in ('>&-', '<&- >&-', '<&-', '2>&-'):
                    command = ['sh', '-c', f'exec "$0" lower "$1" {close}', ROOST, GOOD]
                    env = self.env(**({'ROOST_SOCKET': str(daemon.path)} if more else {}))
                    result = subprocess.run([str(word) for word in command], capture_output=True, timeout=TIMEOUT, env=env)
                    self.assertEqual(result.returncode, 2 if '>&-' in close.split()[-1][:3] and '2' not in close else 0,
                                     (close, result.stderr))
            daemon.stats()

    def test_indent_is_a_json_number(self):
        """A leading zero is legal on the command line, but not in the request that a daemon gets."""
        self.assertEqual(self.expect(0, 'lower', '--indent=04', GOOD).stdout, self.expect(0, 'lower', '--indent=4', GOOD).stdout)

    def test_time_passes(self):
        plain = self.expect(0, 'lower', '--no-daemon', GOOD)
        timed = self.expect(0, 'lower', '--time-passes', GOOD)
        self.assertEqual(timed.stdout, plain.stdout)
        stages = re.findall(r'^ *\d+ us  ([a-z_]+)$', timed.stderr.decode(), re.M)
        self.assertEqual(stages[0], 'read')
        self.assertEqual(stages[-2:], ['validate', 'finish'])
        self.assertLess(stages.index('lower_ap'), stages.index('color_registers'))
        self.expect(2, 'lower', '--time-passes', '--daemon=require', GOOD)

    def test_help(self):
        overview = self.expect(0, '--help').stdout
        self.assertEqual(overview, self.expect(0, 'help').stdout)
        commands = re.findall(r'^  ([a-z]+) +\S', overview.decode(), re.M)
        self.assertGreaterEqual(len(commands), 9)
        for command in commands:
            text = self.expect(0, command, '-h').stdout.decode()
            self.assertEqual(self.expect(0, 'help', command).stdout.decode(), text)
            self.assertIn(f'usage: roost {command}', text)
            # What help offers, the parser takes: a flag or a value of the first choice.
            for name, argument in re.findall(r'--([a-z-]+)(?:=(\S+))?\n', text):
                if name in ('help', 'version', 'socket', 'output', 'timeout', 'passes', 'print-after', 'daemon', 'no-daemon'):
                    continue
                value = '' if not argument else '=' + ('2' if argument == 'N' else argument.split('|')[0])
                result = self.run_roost(command, f'--{name}{value}', '--daemon=never', *([GOOD] if 'FILE' in text.split('\n')[0] else []))
                self.assertNotIn(b'option', result.stderr, (command, name))

    def test_terminal_gets_indented_output(self):
        def on_terminal(*arguments):
            master, slave = pty.openpty()
            process = subprocess.Popen([ROOST, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
                                       env=self.env())
            os.close(slave)
            data = b''
            try:
                while chunk := os.read(master, 65536):
                    data += chunk
            except OSError:
                pass
            os.close(master)
            process.wait(TIMEOUT)
            return data.replace(b'\r\n', b'\n')
        expected = self.expect(0, 'convert', '--indent=2', GOOD).stdout
        self.assertEqual(on_terminal('convert', GOOD), expected + b'\n' * (not expected.endswith(b'\n')))
        compact = self.expect(0, 'convert', GOOD).stdout
        self.assertEqual(on_terminal('convert', '--indent=0', GOOD).rstrip(b'\n'), compact.rstrip(b'\n'))
        bad = self.directory / 'bad'
        bad.write_bytes(b'{')
        self.assertIn(b'\x1b[', on_terminal('check', bad))
        self.assertNotIn(b'\x1b[', on_terminal('check', '--color=never', bad))
        self.assertIn(b'\x1b[', self.expect(1, 'check', '--color=always', bad).stdout)
        self.assertNotIn(b'\x1b[', self.expect(1, 'check', bad).stdout)

    def test_stats_option(self):
        result = self.expect(0, 'lower', '--stats', GOOD)
        self.assertIsInstance(json.loads(result.stderr), dict)

    def test_stats_tell_what_was_not_compared(self):
        path = self.directory / 'long.json'
        module = json.loads((SAMPLES.parent / 'unwritten' / 'written_before_body.json').read_bytes())
        loop = next(i for i in module['functions'][0]['blocks'][0]['instructions'] if i['opcode'] == 'Loop')
        del loop['blocks'][0]['instructions'][1:]  # the copy alone, from one place
        addresses = 'split_engines,assign_loop_registers,insert_address_tables,lower_ap'
        for trips, passes, expected in ((4, addresses + ',expand_inst_late,lower_branch', (1, 0, 0)),
                                        (10 ** 6, addresses + ',expand_inst_late,lower_branch', (1, 0, 1)),
                                        (4, addresses, (0, 1, 0))):
            loop['LoopAxis']['ub'] = trips
            path.write_text(json.dumps(module))
            told = json.loads(self.expect(0, 'lower', '--stats', f'--passes={passes}', path).stderr)['validation']
            self.assertEqual((told['operands'], told['not_lowered'], told['unfinished']), expected)

    def test_print_after(self):
        result = self.expect(0, 'lower', '--print-after=all', GOOD)
        self.assertEqual(result.stdout, self.expect(0, 'lower', GOOD).stdout)
        self.assertGreater(len(result.stderr), 1000)

    def test_broken_pipe(self):
        process = subprocess.Popen([ROOST, 'convert', '--indent=8', str(GOOD)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env())
        process.stdout.close()
        self.assertIn(process.wait(TIMEOUT), (0, 2, -signal.SIGPIPE))
        process.stderr.close()


class Service(Place):
    def test_sock(self):
        self.assertEqual(self.expect(0, 'sock').stdout.decode(), f'{self.socket}\n')
        self.assertEqual(self.expect(0, 'sock', '--socket=/a/b').stdout, b'/a/b\n')
        self.assertIn(b'ROOST_SOCKET', self.expect(0, 'sock', '-v').stderr)
        env = self.env(XDG_RUNTIME_DIR='/x/y')
        del env['ROOST_SOCKET']
        self.assertEqual(self.expect(0, 'sock', env=env).stdout, b'/x/y/roost/sock\n')
        long = self.expect(2, 'sock', '--socket=' + 'x' * 108)
        self.assertIn(b'108 bytes', long.stderr)
        self.assertIn(b'107', long.stderr)

    def test_without_daemon(self):
        for command in ('ping', 'stats'):
            result = self.expect(3, command)
            self.assertIn(str(self.socket).encode(), result.stderr)
            self.assertFalse(self.socket.exists())
        self.expect(3, 'lower', '--daemon=require', GOOD)
        self.expect(3, 'version', '--daemon=require')
        self.expect(3, 'stop', '--daemon=require')
        self.expect(0, 'stop')
        self.assertEqual(self.expect(0, 'version').stdout.count(b'\n'), 1)
        verbose = self.expect(0, 'lower', '-v', GOOD)
        self.assertIn(b'in process', verbose.stderr)
        self.assertFalse(self.socket.exists())

    def test_with_daemon(self):
        with Daemon() as daemon:
            s = daemon.path
            self.assertIn(b'answers in', self.expect(0, 'ping', socket=s).stdout)
            self.assertGreaterEqual(json.loads(self.expect(0, 'ping', '--format=json', socket=s).stdout)['round_trip_us'], 0)
            self.expect(0, 'lower', GOOD, socket=s)
            verbose = self.expect(0, 'lower', '--verbose', GOOD, socket=s)
            self.assertIn(b'(l1)', verbose.stderr)
            stats = json.loads(self.expect(0, 'stats', '--format', 'json', socket=s).stdout)
            self.assertEqual(stats['requests']['lower'], 2)
            self.assertRegex(self.expect(0, 'stats', socket=s).stdout.decode(), r'(?m)^requests\.lower +2$')
            text = self.expect(0, 'stats', '--prometheus', socket=s).stdout.decode()
            lines = text.splitlines()
            samples = {}
            for type_line, sample in zip(lines[::2], lines[1::2]):
                name, value = sample.split(' ')
                self.assertRegex(name, '^roost_[a-z0-9_]+$')
                self.assertNotIn(name, samples)
                self.assertEqual(type_line, f'# TYPE {name} {"counter" if name.endswith("_total") else "gauge"}')
                samples[name] = int(value)
            self.assertEqual(samples['roost_requests_lower_total'], 2)
            self.assertEqual(samples['roost_connections_open'], 1)
            self.assertEqual(samples['roost_cache_l1_answers_hits_total'], 1)
            self.assertGreater(samples['roost_memory_resident_bytes'], 100000)

            def numbers(value):
                return sum(map(numbers, value.values())) if isinstance(value, dict) else 1
            self.assertEqual(len(samples), numbers(stats))
            self.expect(2, 'stats', '--prometheus', '--format=json', socket=s)
            self.expect(2, 'ping', '--prometheus', socket=s)
            version = self.expect(0, 'version', socket=s).stdout.decode().split('\n')
            self.assertEqual(version[0].replace('roost ', ''), version[1].replace('roostd ', ''))
            both = json.loads(self.expect(0, 'version', '--format=json', socket=s).stdout)
            self.assertEqual(both['build_id'], both['daemon']['build_id'])
            self.expect(0, 'stop', socket=s)
            self.assertEqual(daemon.process.poll(), 0, 'stop returns when the daemon has ended')
            self.expect(0, 'stop', socket=s)

    def test_timeout(self):
        with Daemon('--debug-hold-ms=20000') as daemon:
            started = time.monotonic()
            self.expect(4, 'lower', '--timeout=0.3', GOOD, socket=daemon.path)
            self.assertLess(time.monotonic() - started, 15)

    def test_daemon_that_hangs(self):
        """One that stands still is like none where it is not needed, and is not waited for without end where it is."""
        with Daemon() as daemon:
            daemon.process.send_signal(signal.SIGSTOP)
            try:
                started = time.monotonic()
                lowered = self.expect(0, 'lower', '-v', GOOD, socket=daemon.path)
                self.assertIn(b'does not answer', lowered.stderr)
                self.expect(4, 'ping', socket=daemon.path)
                self.assertLess(time.monotonic() - started, 30)
                self.expect(4, 'lower', '--timeout=0.2', '--daemon=require', GOOD, socket=daemon.path)
            finally:
                daemon.process.send_signal(signal.SIGCONT)

    def test_arguments_that_are_no_utf8(self):
        with Daemon() as daemon:
            result = self.expect(1, 'explain', '--daemon=require', GOOD, b'no\xff\xfe'.decode(errors='surrogateescape'), socket=daemon.path)
            self.assertIn('no\ufffd\ufffd'.encode(), result.stderr)

    def test_time_is_up_in_process(self):
        waiting = self.expect(4, 'lower', '--timeout=0.001', '--check=full', self.slow())
        self.assertIn(b'not done within 0.001 seconds', waiting.stderr)

    def slow(self):
        """A module whose validation takes far longer than a moment."""
        module = json.loads(GOOD.read_bytes())
        block = module['functions'][0]['blocks'][0]['instructions']
        copies = []
        for i in range(400):
            copies.append(json.loads(json.dumps(block[0]).replace('"act0"', f'"act{i}"').replace('loop_i', f'li{i}')
                                     .replace('loop_j', f'lj{i}')))
        block[:1] = copies
        path = self.directory / 'slow.json'
        path.write_text(json.dumps(module))
        return path

    def test_interrupt_cancels_in_the_daemon(self):
        with Daemon('--debug-hold-ms=30000') as daemon:
            process = subprocess.Popen([ROOST, 'lower', str(GOOD)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL, env=self.env(ROOST_SOCKET=str(daemon.path)))
            daemon.until(lambda s: s['jobs']['active'] == 1, 'the job starts')
            process.send_signal(signal.SIGINT)
            process.wait(TIMEOUT)
            daemon.until(lambda s: s['jobs']['active'] == 0, 'the job ends')

    def test_auto_start(self):
        first = self.expect(0, '--daemon=start', 'lower', '-v', GOOD)
        self.assertIn(b'(miss)', first.stderr)
        self.assertIn(b'(l1)', self.expect(0, 'lower', '-v', GOOD).stderr)
        self.expect(0, 'ping', '--daemon=require')
        self.expect(0, 'stop')
        self.assertFalse(self.socket.exists())

    def test_start_failure_is_told(self):
        self.socket.write_text('in the way')
        result = self.expect(3, '--daemon=start', 'lower', GOOD)
        self.assertIn(b'roost: error: ', result.stderr)
        env = self.env(ROOST_SOCKET=str(self.directory / 'other'), ROOST_DAEMON='/no/such/roostd')
        self.assertIn(b'not found', self.expect(3, '--daemon=start', 'lower', GOOD, env=env).stderr)

    def test_started_daemon_holds_no_pipe(self):
        """A build that reads our output to its end must not wait for the daemon."""
        process = subprocess.Popen([ROOST, '--daemon=start', 'lower', str(GOOD)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env(), cwd=self.directory)
        out, err = process.communicate(timeout=TIMEOUT)
        self.assertEqual(process.returncode, 0, err)
        self.assertTrue(out)
        pid = json.loads(self.expect(0, 'version', '--format=json').stdout)['daemon'] and self.daemon_pid()
        links = [os.readlink(f'/proc/{pid}/fd/{fd}') for fd in (0, 1, 2)]
        log = pathlib.Path(f'{self.socket}.log')
        self.assertEqual(links, ['/dev/null', '/dev/null', str(log)])
        self.assertEqual(log.stat().st_mode & 0o777, 0o600)
        self.assertEqual(os.readlink(f'/proc/{pid}/cwd'), '/')
        self.assertEqual(os.getsid(pid) != os.getsid(0), True)
        self.expect(0, 'stop')

    def test_log_of_a_started_daemon(self):
        log = pathlib.Path(f'{self.socket}.log')
        for starts in (1, 2):
            self.expect(0, '--daemon=start', 'lower', GOOD)
            self.expect(0, 'stop')
            self.assertEqual(log.read_text().count(f'listening at {self.socket}'), starts, log.read_text())
        log.write_bytes(b'x' * (1 << 20) + b'long')
        self.expect(0, '--daemon=start', 'lower', GOOD)
        self.expect(0, 'stop')
        self.assertLess(len(log.read_bytes()), 1000, 'a long log is begun anew')
        # What is no file of ours is left alone.
        other = self.directory / 'other'
        other.write_bytes(b'other')
        for make in (lambda: log.symlink_to(other), lambda: os.link(other, log), lambda: os.mkfifo(log), log.mkdir):
            if log.exists():
                log.unlink()
            make()
            self.expect(0, '--daemon=start', 'lower', GOOD)
            self.expect(0, 'stop')
            self.assertEqual(other.read_bytes(), b'other')

    def daemon_pid(self):
        from harness import Connection
        with Connection(self.socket) as connection:
            return connection.hello['pid']

    def test_sixteen_starters(self):
        processes = [subprocess.Popen([ROOST, '--daemon=start', 'lower', str(GOOD)], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env()) for _ in range(16)]
        results = [p.communicate(timeout=TIMEOUT) for p in processes]
        self.assertEqual({p.returncode for p in processes}, {0}, results)
        self.assertEqual(len({out for out, _ in results}), 1)
        stats = json.loads(self.expect(0, 'stats', '--format=json').stdout)
        self.assertEqual(stats['requests']['lower'], 16)
        self.assertEqual(stats['jobs']['compiles'], 1)
        self.expect(0, 'stop')


class SameBytes(Place):
    def test_daemon_and_process_agree(self):
        option_sets = {'lower': ([], ['--indent=2'], ['--check=full', '--verify-each']), 'encode': ([], ['--format=text'], ['--format=bin'], ['--keep-going']),
                       'convert': ([], ['--faithful'], ['--strict']), 'check': ([], ['--format=json'], ['--strict']),
                       'hazards': ([], ['--format=json', '--fix-hints']), 'explain': ([], ['--format=json']),
                       'inspect': ([], ['--format=json'], ['--format=bin']),
                       'decode': (['--bytes=binary'], ['--bytes=binary', '--slot=TENSOR3D'])}
        count = 0
        with Daemon() as daemon:
            for sample in all_samples():
                for method, sets in option_sets.items():
                    for options in sets:
                        alone = self.run_roost(method, '--no-daemon', *options, sample)
                        self.assertIn(alone.returncode, (0, 1, 6), alone.stderr)
                        for _ in range(2):
                            served = self.run_roost(method, '--daemon=require', *options, sample, socket=daemon.path)
                            self.assertEqual(served.returncode, alone.returncode, (sample, method, options, served.stderr))
                            self.assertTrue(served.stdout == alone.stdout, (sample, method, options))
                            self.assertEqual(served.stderr, alone.stderr, (sample, method, options))
                        count += 1
        self.assertGreaterEqual(count, 7 * 13)


class Generated(Place):
    def test_completions_and_man_page(self):
        def generate(*arguments):
            return subprocess.run([GENERATE, *arguments], capture_output=True, timeout=TIMEOUT, check=True).stdout.decode()
        man = generate('man', str(SOURCE / 'client' / 'man' / 'roost.1.in'))
        self.assertNotIn('@GENERATED@', man)
        overview = self.expect(0, '--help').stdout.decode()
        options = re.findall(r'--([a-z][a-z-]+)(?:=\S+)?\n', overview)
        commands = re.findall(r'^  ([a-z]+) +\S', overview, re.M)
        self.assertGreater(len(options), 15)
        for shell in ('bash', 'zsh', 'fish'):
            text = generate(shell)
            for name in options:
                self.assertIn(f'-l {name} ' if shell == 'fish' else f'--{name}', text)
            for name in commands:
                self.assertIn(name, text)
        for name in options:
            self.assertIn(f'--{name}', man)
        script = ('source /dev/stdin; COMP_WORDS=(roost "$@"); COMP_CWORD=$#; _roost; echo "${COMPREPLY[@]}"')

        def complete(*words):
            return subprocess.run(['bash', '-c', script, 'bash', *words], input=generate('bash'), capture_output=True,
                                  text=True, timeout=TIMEOUT).stdout.split()
        self.assertEqual(complete('lo'), ['lower'])
        self.assertEqual(complete('lower', '--daemon', '=', 're'), ['require'])
        self.assertIn('--verify-each', complete('lower', '--ver'))
        self.assertNotIn('--verify-each', complete('stats', '--ver'))
        self.assertEqual(complete('help', 'lo'), ['lower'])


if __name__ == '__main__':
    main()
