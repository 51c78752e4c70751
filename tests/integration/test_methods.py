#!/usr/bin/env python3
"""hazards, decode, explain, inspect and the layouts of encode, as somebody at a shell sees them."""
import json
import os
import pty
import random
import re
import subprocess

from harness import ROOST, SOURCE, TIMEOUT, Daemon, Place, main

VECTORS = SOURCE / 'tests' / 'vectors'
HAZARDS = VECTORS / 'hazards'
LOOP = VECTORS / 'integration' / 'loop_sb.json'
CLEAN, RACY, UNDECIDED = (HAZARDS / f'{name}.json' for name in ('clean_chain', 'dma_without_wait', 'cycle'))
EXITS = {'clean': 0, 'findings': 1, 'undecided': 6}


def hazard_cases():
    """Modules, with the report that hazards.md asks for."""
    return {path.name.replace('.expect', ''): json.loads(path.read_text()) for path in sorted(HAZARDS.glob('*.expect.json'))}


def samples():
    return (sorted((VECTORS / 'integration').glob('*.json')) + sorted((VECTORS / 'klr').glob('*.klr')) +
            sorted((VECTORS / 'klr-old').glob('*.klr')))


class Hazards(Place):
    def same_report(self, expected, actual, name):
        def key(entry):
            return json.dumps(entry, sort_keys=True)
        self.assertEqual(actual['verdict'], expected['verdict'], name)
        for member in ('pairs', 'waits'):
            self.assertEqual(sorted(actual[member], key=key), sorted(expected[member], key=key), name)
        self.assertEqual(len(actual['undecided']), len(expected['undecided']), name)
        for part in expected['undecided']:
            self.assertTrue(any(part in reason for reason in actual['undecided']), (name, part))

    def test_one_file(self):
        for path, verdict in ((CLEAN, 'clean'), (RACY, 'findings'), (UNDECIDED, 'undecided')):
            text = self.expect(EXITS[verdict], 'hazards', path).stdout.decode()
            self.assertRegex(text.splitlines()[-1], f'^{verdict}: [0-9]+ pairs, ')
            report = json.loads(self.expect(EXITS[verdict], 'hazards', '--format=json', path).stdout)
            self.assertEqual(set(report), {'verdict', 'pairs', 'waits', 'undecided'})
            self.same_report(hazard_cases()[path.name], report, path.name)
            piped = self.expect(EXITS[verdict], 'hazards', '-', input=path.read_bytes())
            self.assertEqual(piped.stdout.decode(), text)
        racy = self.expect(1, 'hazards', RACY).stdout
        for part in (b'RAW', b'ld', b'use', b'SB partitions 0..127 bytes 4096..6143', b'semaphore 20'):
            self.assertIn(part, racy)
        self.assertNotIn(b'fix:', racy)
        self.assertIn(b'fix: wait for semaphore 20 >= 16', self.expect(1, 'hazards', '--fix-hints', RACY).stdout)

    def test_explain_pair(self):
        plain = self.expect(0, 'hazards', CLEAN).stdout
        names = [i['name'] for i in json.loads(CLEAN.read_text())['functions'][0]['blocks'][0]['instructions']]
        text = self.expect(0, 'hazards', '--explain', f'{names[0]},{names[-1]}', CLEAN).stdout
        self.assertGreater(len(text), len(plain))
        self.assertIn(names[0].encode(), text)
        self.assertIn(names[-1].encode(), text)
        self.expect(2, 'hazards', f'--explain={names[0]}', CLEAN)
        self.expect(2, 'hazards', '--explain', CLEAN)
        unknown = self.expect(1, 'hazards', f'--explain={names[0]},{names[-1]}x', CLEAN)
        self.assertIn(f'"{names[-1]}x"'.encode(), unknown.stderr)
        self.assertIn(f'did you mean {names[-1]}'.encode(), unknown.stderr)
        self.assertEqual(unknown.stdout, b'')

    def test_a_directory(self):
        """Every module of the vectors in one run, against its expected report."""
        cases = hazard_cases()
        self.assertGreater(len(cases), 100)
        for name in cases:
            (self.directory / name).write_bytes((HAZARDS / name).read_bytes())
        verdicts = {case['verdict'] for case in cases.values()}
        self.assertEqual(verdicts, set(EXITS))
        lines = self.expect(1, 'hazards', '--format=json', self.directory).stdout.decode().splitlines()
        self.assertEqual([json.loads(line)['file'] for line in lines], [f'{self.directory}/{name}' for name in cases])
        for line, (name, expected) in zip(lines, cases.items()):
            self.same_report(expected, json.loads(line), name)
        text = self.expect(1, 'hazards', self.directory).stdout.decode()
        summary = re.findall(rf'^{self.directory}/(\S+): (clean|findings|undecided): ', text, re.M)
        self.assertEqual(summary, [(name, case['verdict']) for name, case in cases.items()])
        for name, case in cases.items():
            if case['verdict'] != 'clean':
                (self.directory / name).unlink()
        self.assertEqual(self.expect(0, 'hazards', self.directory).stdout.count(b'\n'),
                         sum(case['verdict'] == 'clean' for case in cases.values()))

    def test_order_and_choice_of_files(self):
        tree = self.directory / 'tree'
        for name in ('b.json', 'a/z.json', 'a/b/c.json', 'a.json', '.hidden/d.json', 'a-b.json'):
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            (tree / name).write_bytes(CLEAN.read_bytes())
        (tree / 'note.txt').write_text('not a module')
        (tree / 'x.json').mkdir()
        (tree / 'link.json').symlink_to(CLEAN)
        (tree / 'dangling.json').symlink_to('nowhere')
        (tree / 'a' / 'loop').symlink_to(tree)
        expected = [f'{tree}/{name}' for name in ('.hidden/d.json', 'a-b.json', 'a.json', 'a/b/c.json', 'a/z.json', 'b.json',
                                                  'link.json')]

        def files(*arguments):
            lines = self.expect(0, 'hazards', '--format=json', *arguments).stdout.decode().splitlines()
            return [json.loads(line)['file'] for line in lines]
        self.assertEqual(files(tree), expected)
        self.assertEqual(files(f'{tree}//'), expected)
        self.assertEqual(files(tree / 'b.json', tree / 'a', CLEAN),
                         [f'{tree}/b.json', f'{tree}/a/b/c.json', f'{tree}/a/z.json', str(CLEAN)])
        self.assertEqual(files(tree / 'a' / 'b'), [f'{tree}/a/b/c.json'], 'a directory always names its files')

    def test_exit_status_is_the_worst(self):
        broken = self.directory / 'broken.json'
        broken.write_bytes(b'{')
        empty = self.directory / 'empty'
        empty.mkdir()
        for status, *files in ((0, CLEAN, CLEAN), (6, CLEAN, UNDECIDED), (6, UNDECIDED, CLEAN), (1, UNDECIDED, RACY, CLEAN),
                               (1, RACY, UNDECIDED), (1, CLEAN, broken), (1, broken, UNDECIDED), (2, RACY, '/no/such.json'),
                               (2, empty), (2, CLEAN, empty)):
            self.expect(status, 'hazards', *files)
            self.expect(status, 'hazards', '--format=json', *files)

    def test_failures_name_their_file(self):
        broken = self.directory / 'broken.json'
        broken.write_bytes(b'{')
        result = self.expect(2, 'hazards', broken, '/no/such.json', CLEAN)
        lines = result.stdout.decode().splitlines()
        self.assertEqual(lines[:2], [f'{broken}: no verdict', '/no/such.json: no verdict'])
        self.assertTrue(lines[2].startswith(f'{CLEAN}: clean: '))
        self.assertIn(f'{broken}:1:2: error: '.encode(), result.stderr)
        self.assertIn(b'roost: error: /no/such.json: cannot open', result.stderr)
        result = self.expect(2, 'hazards', '--format=json', broken, '/no/such.json', CLEAN)
        self.assertEqual(result.stderr, b'')
        one, two, three = map(json.loads, result.stdout.decode().splitlines())
        self.assertEqual(one['diagnostics'][0]['severity'], 'error')
        self.assertIn('cannot open', two['error'])
        self.assertEqual(three['verdict'], 'clean')
        odd = self.directory / os.fsdecode(b'a "b"\xff.json')
        odd.write_bytes(CLEAN.read_bytes())
        line = self.expect(0, 'hazards', '--format=json', odd, CLEAN).stdout.splitlines()[0]
        self.assertEqual(json.loads(line.decode())['file'], f'{self.directory}/a "b"\ufffd.json')

    def test_several_options(self):
        self.expect(2, 'hazards', '--indent=2', CLEAN, CLEAN)
        self.expect(0, 'hazards', '--indent=2', CLEAN)
        out = self.directory / 'out'
        expected = self.expect(1, 'hazards', CLEAN, RACY).stdout
        self.assertEqual(self.expect(1, 'hazards', '-o', out, CLEAN, RACY).stdout, b'')
        self.assertEqual(out.read_bytes(), expected)
        self.expect(2, 'hazards', '-o', self.directory / 'no' / 'such', CLEAN, CLEAN)
        self.expect(2, 'hazards', '-o', '/dev/full', CLEAN, CLEAN)
        stats = [json.loads(line)['stats'] for line in
                 self.expect(0, 'hazards', '--stats', '--format=json', CLEAN, CLEAN).stdout.decode().splitlines()]
        self.assertEqual(stats[0]['input_bytes'], CLEAN.stat().st_size)
        notes = self.expect(0, 'hazards', '--stats', CLEAN, CLEAN).stderr.decode().splitlines()
        self.assertEqual([note.startswith(f'{CLEAN}: {{') for note in notes], [True, True])

    def test_daemon_and_process_agree(self):
        cases = hazard_cases()
        files = [HAZARDS / name for name in cases] * 2
        with Daemon() as daemon:
            for options in ([], ['--format=json'], ['--format=json', '--fix-hints']):
                alone = self.expect(1, 'hazards', '--no-daemon', *options, *files)
                for _ in range(2):
                    served = self.expect(1, 'hazards', '--daemon=require', *options, *files, socket=daemon.path)
                    self.assertTrue(served.stdout == alone.stdout, options)
                    self.assertTrue(served.stderr == alone.stderr, options)
            requests = daemon.stats()['requests']
            self.assertEqual(requests['hazards'], 6 * len(files))
        self.expect(3, 'hazards', '--daemon=require', CLEAN, RACY)

    def test_timeout(self):
        with Daemon('--debug-hold-ms=20000') as daemon:
            result = self.expect(4, 'hazards', '--timeout=0.2', CLEAN, RACY, socket=daemon.path)
            self.assertEqual(result.stdout.decode(), f'{CLEAN}: no verdict\n{RACY}: no verdict\n')

    def test_many_files(self):
        """More files than slots, a large one in front: the order holds."""
        names = [f'{i:04}.json' for i in range(400)]
        for name in names[1:]:
            (self.directory / name).write_bytes(CLEAN.read_bytes())
        module = json.loads(CLEAN.read_text())
        body = module['functions'][0]['blocks'][0]['instructions']
        body += [{**body[1], 'name': f'more{i}', 'sync_info': {}} for i in range(2000)]
        (self.directory / names[0]).write_text(json.dumps(module))
        lines = self.expect(1, 'hazards', '--format=json', '--no-daemon', self.directory).stdout.decode().splitlines()
        self.assertEqual([json.loads(line)['file'] for line in lines], [f'{self.directory}/{name}' for name in names])


# Worked examples of descriptors.md: bytes, slot, and what they mean.
EXAMPLES = [
    ('E1', '00 10 00 00 01 00 40 00 20 00 10 00', 'TENSOR2D', ('SBUF', 0, 0x1000), [1, 64], [32, 16]),
    ('E2', '00 02 80 00 01 00 40 00 00 02 40 00 08 00 04 00', 'TENSOR3D', ('SBUF', 32, 0x200), [1, 64, 512], [64, 8, 4]),
    ('E3', '00 18 00 02 01 00 01 00 01 00 00 02 01 00 01 00', 'TENSOR3D', ('PSUM', 0, 3, 0), [1, 1, 1], [512, 1, 1]),
    ('E4', '00 39 20 02 01 00 01 00 01 00 40 00 01 00 01 00', 'TENSOR3D', ('PSUM', 64, 7, 0x100), [1, 1, 1], [64, 1, 1]),
    ('E5', '3E 01 00 01 FF FF 80 00', 'TENSOR1D', ('SBUF', 64, 0x13E), [-1], [128]),
    ('E6', '00 10 00 00 01 00 C0 FF 40 00 10 00', 'TENSOR2D', ('SBUF', 0, 0x1000), [1, -64], [64, 16]),
    ('E7', '00 20 00 00 01 00 00 00 01 00 20 00 10 00 01 00', 'TENSOR3D', ('SBUF', 0, 0x2000), [1, 0, 1], [32, 16, 1]),
    ('E8', '00 08 80 01 01 00 20 00 00 02 00 10 10 00 08 00 03 00 02 00', 'TENSOR4D', ('SBUF', 96, 0x800), [1, 32, 512, 4096],
     [16, 8, 3, 2]),
    ('E9', '00 00 00 00 02 00 00 01 01 00 01 00 32 00 04 00 01 00 01 00', 'TENSOR4D', ('SBUF', 0, 0), [2, 256, 1, 1], [50, 4, 1, 1]),
    ('E10', '08 00 00 00 01 00 01 00 01 00 01 00 01 00 01 00 01 00 01 00', 'TENSOR4D', ('SBUF', 0, 8), [1, 1, 1, 1], [1, 1, 1, 1]),
    ('E11', '11 00 00 80 01 00 40 00 01 00 20 00 10 00 01 00', 'TENSOR3D', 17, [1, 64, 1], [32, 16, 1]),
]
SLOT_BYTES = {'TENSOR1D': 8, 'TENSOR2D': 12, 'TENSOR3D': 16, 'TENSOR4D': 20, 'INDIRECT16B': 16, 'INDIRECT20B': 20, 'ADDR4': 4}


class Decode(Place):
    def decode(self, *arguments, status=0, **more):
        return json.loads(self.expect(status, 'decode', '--format=json', '--no-daemon', *arguments, **more).stdout)

    def test_examples(self):
        for name, text, slot, place, steps, counts in EXAMPLES:
            fields = self.decode('--slot', slot, text)
            self.assertEqual((fields['slot'], fields['step'], fields['count']), (slot, steps, counts), name)
            self.assertEqual(fields['problems'], [], name)
            address = fields['addr']
            word = int.from_bytes(bytes.fromhex(text)[:4], 'little')
            self.assertEqual(int(address['word'], 16), word, name)
            if isinstance(place, int):
                self.assertEqual(address['register'], place, name)
            elif place[0] == 'PSUM':
                self.assertEqual((address['space'], address['partition'], address['bank'], address['byte']), place, name)
            else:
                self.assertEqual((address['space'], address['partition'], address['byte']), place, name)
            spelled = ''.join(text.split()).lower()
            data = bytes.fromhex(text)
            for again in (self.decode('--slot', slot, spelled), self.decode('--slot', slot, '0x' + spelled),
                          self.decode('--slot', slot, '--bytes=hex', '-', input=spelled.encode() + b'\n'),
                          self.decode('--slot', slot, '--bytes=binary', '-', input=data)):
                self.assertEqual(again, fields, name)
            listing = self.expect(0, 'decode', '--slot', slot, text).stdout.decode()
            for step, count in zip(steps, counts):
                self.assertIn(f'{count} step {step}', listing, name)

    def test_file_beats_hex(self):
        (self.directory / 'ab').write_bytes(b'\x01\x02\x03')
        result = self.expect(1, 'decode', 'ab', cwd=self.directory)
        self.assertTrue(result.stderr.startswith(b'ab: error: 3 bytes'), result.stderr)
        result = self.expect(1, 'decode', 'abcd', cwd=self.directory)
        self.assertTrue(result.stderr.startswith(b'<hex>: error: 2 bytes'), result.stderr)
        self.assertIn(b'not hex', self.expect(2, 'decode', 'xyz', cwd=self.directory).stderr)
        self.expect(2, 'decode', '--bytes=binary', 'abcd', cwd=self.directory)

    def test_usage(self):
        for arguments in (['--slot=TENSOR9D', '00'], ['--slot=TENSOR2D', '--word', '00'], ['00', '00'], ['--check=off', '00'],
                          ['--format=bin', '00'], ['--arch=gen9', '00']):
            self.expect(2, 'decode', *arguments)
        self.expect(2, 'lower', '--word', LOOP)
        self.expect(2, 'lower', '--slot=TENSOR2D', LOOP)
        self.expect(2, 'convert', '--report=json', LOOP)

    def test_random_bytes(self):
        """Bytes of the right length always decode; what is wrong with them is told beside the fields."""
        rng = random.Random(11)
        problems = 0
        for arch in ('sunda', 'gen3', 'core_v4'):
            for words in (1, 2, 5):
                data = rng.randbytes(64 * words)
                result = self.decode(f'--arch={arch}', '--bytes=binary', '--word', '-', input=data)
                decoded = result['words'] if words > 1 else [result]
                self.assertEqual(len(decoded), words)
                problems += sum(len(word['problems']) for word in decoded)
                self.assertTrue(self.expect(0, 'decode', f'--arch={arch}', '--bytes=binary', '-', input=data).stdout)
            for slot, size in SLOT_BYTES.items():
                fields = self.decode(f'--arch={arch}', '--bytes=binary', f'--slot={slot}', '-', input=rng.randbytes(size))
                self.assertEqual(fields['slot'], slot)
                for wrong in (b'', rng.randbytes(size - 1), rng.randbytes(size + 1)):
                    self.expect(1, 'decode', '--bytes=binary', f'--slot={slot}', '-', input=wrong)
        self.assertGreater(problems, 10)
        for size in (0, 1, 63, 65, 127):
            result = self.expect(1, 'decode', '--bytes=binary', '-', input=rng.randbytes(size))
            self.assertIn(b': error: ', result.stderr)

    def test_output_of_encode(self):
        binary = self.directory / 'bin'
        for sample in (LOOP, VECTORS / 'integration' / 'static_scale.json', VECTORS / 'klr' / 'tensor_add.klr'):
            encoded = json.loads(self.expect(0, 'encode', '--no-daemon', sample).stdout)
            self.expect(0, 'encode', '--no-daemon', '--format=bin', '-o', binary, sample)
            piped = self.expect(0, 'encode', '--no-daemon', '--format=bin', sample).stdout
            self.assertEqual(piped, binary.read_bytes())
            decoded = self.decode(binary)
            self.assertEqual(decoded['arch'], encoded['arch'])
            records = [r for r in decoded['records'] if 'function' not in r]
            instructions = [i for f in encoded['functions'] for i in f['instructions']]
            self.assertEqual([(r['opcode'], r['engine']) for r in records], [(i['opcode'], i['engine']) for i in instructions])
            for record, instruction in zip(records, instructions):
                self.assertEqual(len(record['operands']), len(instruction['operands']))
                text = instruction.get('word') or ''
                words = [text] if isinstance(text, str) and text else text or []
                self.assertEqual(len(record['words']), sum(len(word) // 128 for word in words), instruction['name'])
                for word, fields in zip(words, record['words']):
                    self.assertEqual(int(word[:2], 16), fields['opcode'])
                    alone = self.decode(f'--arch={decoded["arch"]}', word[:128])
                    self.assertEqual(alone, fields)
            self.assertTrue(self.expect(0, 'decode', binary).stdout.startswith(b'arch'))

    def test_truncated_output_of_encode(self):
        data = self.expect(0, 'encode', '--no-daemon', '--format=bin', LOOP).stdout
        for cut in {0, 1, 3, 4, 5, 8, *range(12, len(data), 97), len(data) - 1}:
            result = self.expect(1, 'decode', '--bytes=binary', '--no-daemon', '-', input=data[:cut])
            self.assertIn(b': error: ', result.stderr)
            self.assertEqual(result.stdout, b'')
        self.expect(1, 'decode', '--bytes=binary', '-', input=data + b'\0')


class Encode(Place):
    SUMMARY = re.compile(r'^(\d+) instructions, (\d+) operands encoded, (\d+) without bytes, (\d+) words encoded'
                         r'(?:; without a known word: (\w+ \d+(?:, \w+ \d+)*))?$')

    def test_text_of_every_sample(self):
        done = 0
        for sample in samples():
            for arch in ('sunda', 'gen3', 'core_v4'):
                result = self.run_roost('encode', '--no-daemon', '--format=text', f'--arch={arch}', sample)
                if result.returncode == 1:
                    self.assertIn(b': error: ', result.stderr)
                    self.assertEqual(result.stdout, b'')
                    continue
                self.assertEqual(result.returncode, 0, (sample, arch))
                done += 1
                lines = result.stdout.decode().splitlines()
                summary = self.SUMMARY.match(lines[-1])
                self.assertTrue(summary, (sample, arch, lines[-1]))
                encoded = json.loads(self.expect(0, 'encode', '--no-daemon', f'--arch={arch}', sample).stdout)
                self.assertTrue(lines[0].startswith(f'arch {encoded["arch"]}'))
                instructions = [i for f in encoded['functions'] for i in f['instructions']]
                operands = [o for i in instructions for o in i['operands']]
                counts = tuple(int(n) for n in summary.groups()[:3])
                self.assertEqual(counts, (len(instructions), sum(o['bytes'] is not None for o in operands),
                                          sum(o['bytes'] is None for o in operands)), (sample, arch))
        self.assertGreaterEqual(done, 60)

    def test_bin_goes_to_files_and_pipes_only(self):
        master, slave = pty.openpty()
        process = subprocess.Popen([ROOST, 'encode', '--format=bin', str(LOOP)], stdin=subprocess.DEVNULL, stdout=slave,
                                   stderr=subprocess.PIPE, env=self.env())
        os.close(slave)
        error = process.communicate(timeout=TIMEOUT)[1]
        os.close(master)
        self.assertEqual(process.returncode, 2)
        self.assertIn(b'terminal', error)
        self.expect(2, 'decode', '--format=bin', '00')


class Kernels(Place):
    """No pass and no check leaves out the functions of nki_functions."""
    PASSES = ('allocate_memory,split_engines,build_flow_deps,build_anti_deps,assign_loop_registers,insert_address_tables,'
              'lower_ap,expand_inst_late,color_registers,lower_branch')

    def answer(self, module, *arguments):
        done = subprocess.run([ROOST, *arguments, '--no-daemon', '-'], input=json.dumps(module).encode(),
                              capture_output=True, timeout=TIMEOUT)
        output, told = done.stdout, done.stderr.count(b'\n')  # places differ
        if done.returncode == 0:
            output = json.loads(output)
            if 'nki_functions' in output:
                output['functions'] += output.pop('nki_functions')['functions']
        if '--stats' in arguments:
            told = json.loads(done.stderr.splitlines()[-1])
            told = told['passes'], told['validation']
        return done.returncode, output, told

    def test_code_of_kernels_is_treated_like_other_code(self):
        vectors, lowered = SOURCE / 'tests' / 'vectors', 0
        for area in ('integration', 'branched', 'split', 'expand', 'unwritten'):
            for path in sorted((vectors / area).glob('*.json')):
                module = json.loads(path.read_bytes())
                if 'nki_functions' in module:
                    continue
                kernels = {**module, 'functions': [], 'nki_functions': {'functions': module['functions']}}
                for arguments in (['lower', '--stats', '--verify-each'], ['lower', '--stats', f'--passes={self.PASSES}'],
                                  ['encode', '--keep-going']):
                    expected, actual = self.answer(module, *arguments), self.answer(kernels, *arguments)
                    lowered += expected[0] == 0
                    self.assertEqual(actual, expected, f'{arguments[0]} {path}')
        self.assertGreater(lowered, 60)


class Explain(Place):
    def test_program_of_a_lowered_operand(self):
        operand = self.expect(0, 'explain', '--no-daemon', LOOP, 'act0/ins/0').stdout.decode()
        self.assertIn('register_ap', operand)
        self.assertRegex(operand, r'TENSOR3D [0-9a-f]{32}')
        self.assertIn('addresses in registers are computed by', operand)
        register = re.search(r'address: register (\S+),', operand)[1]
        program = operand[operand.index('are computed by'):]
        self.assertRegex(program, rf'(?m)^ +{re.escape(register)} := ')
        self.assertIn('i-iv-Activation', program)
        whole = self.expect(0, 'explain', '--no-daemon', LOOP, 'act0').stdout.decode()
        self.assertIn('outs[0]', whole)
        self.assertNotIn('outs[0]', operand)
        every = self.expect(0, 'explain', '--no-daemon', LOOP).stdout.decode()
        self.assertIn(whole, every)

    def test_bytes_are_those_of_encode(self):
        encoded = json.loads(self.expect(0, 'encode', '--no-daemon', LOOP).stdout)
        for instruction in encoded['functions'][0]['instructions']:
            for operand in instruction['operands']:
                if operand['bytes'] is None:
                    continue
                target = f'{instruction["name"]}/{operand["list"]}/{operand["index"]}'
                text = self.expect(0, 'explain', '--no-daemon', LOOP, target).stdout.decode()
                self.assertIn(f'bytes: {operand["slot"]} {operand["bytes"]}', text)

    def test_json(self):
        text = self.expect(0, 'explain', '--no-daemon', LOOP, 'act0').stdout.decode()
        document = json.loads(self.expect(0, 'explain', '--no-daemon', '--format=json', LOOP, 'act0').stdout)
        self.assertEqual(document, {'explanations': [{'instruction': 'act0', 'text': text}]})
        self.assertEqual(self.expect(0, 'explain', '--format=json', '-', 'act0', input=LOOP.read_bytes()).stdout,
                         self.expect(0, 'explain', '--format=json', LOOP, 'act0').stdout)

    def test_functions_of_kernels_are_explained(self):
        """trg is a DMATrigger of main, and a TensorCopy of the kernel k0, which encode has as well."""
        module = VECTORS / 'bir' / 'good' / 'module.json'
        self.assertIn(b'\nfunction k0\n', self.expect(0, 'encode', '--keep-going', '--format=text', module).stdout)
        found = json.loads(self.expect(0, 'explain', '--format=json', module, 'trg').stdout)['explanations']
        self.assertEqual([e['text'].split()[0] for e in found], ['DMATrigger', 'TensorCopy'])

    def test_unknown_architecture_is_named(self):
        module = json.loads(LOOP.read_text())
        module['arch'] = 'gen9'
        result = self.expect(1, 'explain', '-', input=json.dumps(module).encode())
        self.assertIn(b'architecture gen9', result.stderr)

    def test_unknown_target(self):
        for target in ('nothing', 'act0/ins/9', 'act0/nothing/0', '/ins/0'):
            result = self.expect(1, 'explain', LOOP, target)
            self.assertIn(target.encode(), result.stderr)
        self.expect(2, 'explain', LOOP, 'act0', 'more')
        self.expect(2, 'explain', '--target=act0', LOOP)


class Inspect(Place):
    def images(self, *arguments, **more):
        return json.loads(self.expect(0, 'inspect', '--no-daemon', '--format=json', *arguments, **more).stdout)['images']

    def test_operands_of_a_module(self):
        names = [image['name'] for image in self.images(LOOP)]
        self.assertIn('act0/ins/0', names)
        self.assertEqual([image['name'] for image in self.images(LOOP, 'act0')], [n for n in names if n.startswith('act0/')])
        self.assertEqual([image['name'] for image in self.images(LOOP, 'act0/ins/0')], ['act0/ins/0'])
        text = self.expect(0, 'inspect', '--no-daemon', LOOP, 'act0/ins/0').stdout.decode()
        self.assertTrue(text.startswith('symbolic_ap act0/ins/0 at 0x'))
        fields = {f['member']: f for s in self.images(LOOP, 'act0/ins/0')[0]['segments'] for f in s['fields']}
        self.assertEqual((fields['kind']['offset'], fields['kind']['bytes'], fields['kind']['value']), (0x18, '02000000', 2))
        self.assertEqual((fields['dtype']['offset'], fields['dtype']['meaning']), (0x30, 'bfloat16'))

    def test_image_files(self):
        image = self.directory / 'image'
        self.expect(0, 'inspect', '--no-daemon', '--format=bin', '-o', image, LOOP, 'act0')
        data = self.expect(0, 'inspect', '--no-daemon', '--format=bin', LOOP, 'act0').stdout
        self.assertEqual(image.read_bytes(), data)
        self.assertEqual([i['kind'] for i in self.images('--image=auto', image)],
                         [i['kind'] for i in self.images(LOOP, 'act0')])
        self.assertEqual(self.images('--image=auto', '-', input=data), self.images('--image=auto', image))
        self.assertEqual(self.images('--image=auto', data.hex()), self.images('--image=auto', image))
        for cut in (0, 1, 7, 8, 100, len(data) - 1):
            self.assertIn(b': error: ', self.expect(1, 'inspect', '--image=auto', '--bytes=binary', '-', input=data[:cut]).stderr)

    def test_usage(self):
        for arguments in (['--image=nonsense', LOOP], ['--image=auto', LOOP, 'act0'], ['--image=auto', '/no/such'],
                          [LOOP, 'act0', 'more'], ['--binary', LOOP], ['--slot=TENSOR2D', LOOP]):
            self.expect(2, 'inspect', *arguments)
        self.assertIn(b'nothing', self.expect(1, 'inspect', LOOP, 'nothing').stderr)


if __name__ == '__main__':
    main()
