"""lower_branch against an independent interpreter of modules.

A structured module is executed as one program, instruction after instruction; the module with branches as one thread an
engine, which take values of other engines from where the edges say. Every engine must execute the same instructions
with the same register values in the same order, and all must come to each barrier equally often. The branches are then
changed one by one, and every change must show.
"""
import copy
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from harness import ROOST, SOURCE, TIMEOUT

STRUCTURED = 'split_engines,assign_loop_registers,insert_address_tables,lower_ap,expand_inst_late'
ENGINES = ('Pool', 'Activation', 'PE', 'DVE', 'SP')
CODE = {'RegisterAlu', 'RegisterMove', 'TensorLoad', 'TensorSave'}
STEPS = 20000
DATA = range(8)  # seeds


class Stop(Exception):
    """The program does something that no right program does."""


class Break(Exception):
    pass


def lower(path, passes):
    done = subprocess.run([ROOST, 'lower', '--no-daemon', '--check=off', f'--passes={passes}', '--indent=0', str(path)],
                          capture_output=True, timeout=TIMEOUT, check=False)
    assert done.returncode == 0, (path, done.stderr)
    return json.loads(done.stdout)


def wrap(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def compare(op, left, right):
    return {'LT': left < right, 'LE': left <= right, 'EQ': left == right, 'NE': left != right, 'GE': left >= right,
            'GT': left > right}[op[3:5]]


class Machine:
    """Registers by name, and the memory that register code reads and writes."""

    def __init__(self, module, seed):
        function = module['functions'][0]
        self.function = function
        self.seed = seed
        self.engine_of = {s['name']: s['engine'] for s in function['allocations'] if s['Skind'] == 'register'}
        self.registers = {}
        self.memory = {}
        self.traces = {engine: [] for engine in ENGINES}
        self.barriers = {}
        self.steps = 0

    def read(self, name):
        if name not in self.registers:
            raise Stop(f'{name} is not written')
        return self.registers[name]

    def value(self, operand):
        return operand['value'] if operand['kind'] == 'imm_value' else self.read(operand['regref'])

    def place(self, operand):
        if operand['kind'] == 'physical_ap':
            return operand['memref'], operand['offset']
        return operand['memsetref'], self.read(operand['regref'])

    def load(self, operand):
        place = self.place(operand)
        if place not in self.memory:
            text = f'{place}/{self.seed}'
            self.memory[place] = sum(ord(c) * (i + 7) for i, c in enumerate(text)) % 1000
        return self.memory[place]

    def code(self, inst):
        ins, outs = inst['ins'], inst['outs']
        if inst['opcode'] == 'TensorSave':
            self.memory[self.place(outs[0])] = self.value(ins[0])
            return
        if inst['opcode'] == 'TensorLoad':
            result = self.load(ins[0])
        elif inst['opcode'] == 'RegisterMove':
            result = self.value(ins[0])
        elif inst.get('is_64bit'):
            result = 0  # addresses of tables; where they point is another test's business
        else:
            a, b = (self.value(operand) for operand in ins)
            result = {'add': lambda: a + b, 'subtract': lambda: a - b, 'mult': lambda: a * b,
                      'divide': lambda: abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1),
                      'mod': lambda: abs(a) % abs(b) * (1 if a >= 0 else -1)}[inst['op']]()
        for operand in outs:
            self.registers[operand['regref']] = wrap(result, 32)

    def note(self, inst):
        """What an engine executes: the name, and the registers it reads."""
        if inst['engine'] not in self.traces:
            return
        names = [operand[key] for role in ('ins', 'outs') for operand in inst.get(role, [])
                 for key in ('regref', 'reg_ap_offset', 'reg_sub_tensor_id')
                 if key in operand and (role == 'ins' or operand['kind'] == 'register_ap')]
        self.traces[inst['engine']].append((inst['name'], tuple(self.read(name) for name in names)))

    def step(self):
        self.steps += 1
        if self.steps > STEPS:
            raise Stop('does not end')


class Structured(Machine):
    """Loops and predicates as they are; the order of the text is the order of execution."""

    def run(self):
        self.axes = {}
        self.blocks(self.function['blocks'])
        return self

    def expression(self, e):
        kind = e['kind']
        if kind == 'AffIVKind':
            return self.axes[e['axis']]
        if kind == 'IntRuntimeValueKind':
            return self.read(e['regref'])
        if kind == 'AffExprKind':
            return e['c'] + sum(t['coeff'] * self.expression(t['idx']) for t in e['terms'])
        raise AssertionError(kind)

    def blocks(self, blocks):
        for block in blocks:
            for inst in block['instructions']:
                self.instruction(inst)

    def instruction(self, inst):
        self.step()
        for predicate in inst.get('predicates', []):
            value = self.expression(predicate['expr'])
            if not (value >= 0 if predicate['ge'] else value == 0):
                return
        if inst['opcode'] == 'Break':
            raise Break
        if 'blocks' in inst:
            try:
                self.loop(inst)
            except Break:
                pass
            return
        self.note(inst)
        if inst['opcode'] in CODE:
            self.code(inst)

    def loop(self, inst):
        if inst['opcode'] == 'DoWhile':
            while True:
                self.blocks(inst['blocks'])
                if self.expression(inst['cond']) == 0:
                    return
        axis = inst.get('LoopAxis') or inst['DynamicForLoopAxis']
        lb, ub, stride = ((b if isinstance(b, int) else self.expression(b))
                          for b in (axis['lb'], axis['ub'], axis['stride']))
        i = lb
        while i < ub if stride > 0 else i > ub:
            self.axes[axis['name']] = i
            for name in inst.get('registers', []):
                self.registers[name] = i
            self.blocks(inst['blocks'])
            i += stride


class Branched(Machine):
    """One thread an engine. Loads with an edge to another engine's save take its values in turn."""

    def __init__(self, module, seed, known):
        super().__init__(module, seed)
        self.known = known
        self.all = [inst for block in self.function['blocks'] for inst in block['instructions']]
        self.start = {}
        at = 0
        for block in self.function['blocks']:
            self.start[block['name']] = at
            at += len(block['instructions'])
        saves = {inst['name']: inst for inst in self.all if inst['opcode'] == 'TensorSave'}
        self.sender = {}
        for inst in self.all:
            for name, *_ in ([e] if isinstance(e, str) else e for e in inst.get('dependencies', [])):
                if inst['opcode'] == 'TensorLoad' and name in saves and saves[name]['engine'] != inst['engine']:
                    self.sender[inst['name']] = name
        self.queues = {load: [] for load in self.sender}

    def run(self):
        threads = [self.thread(engine) for engine in ENGINES]
        while threads:
            moved = False
            for thread in list(threads):
                for progress in thread:
                    if not progress:
                        break
                    moved = True
                else:
                    threads.remove(thread)
                    moved = True
            if not moved:
                raise Stop('deadlock')
        if any(self.queues.values()):
            raise Stop('a value is not taken')
        if any(len(visits) != len(ENGINES) or len(set(visits.values())) != 1 for visits in self.barriers.values()):
            raise Stop('engines come to a barrier unequally often')
        return self

    def thread(self, engine):
        """Yields True at every step, False while it waits."""
        pc = 0
        while pc < len(self.all):
            inst = self.all[pc]
            pc += 1
            if inst['engine'] not in (engine, 'ALL'):
                continue
            self.step()
            opcode = inst['opcode']
            if opcode == 'CompareAndBranch':
                taken = compare(inst['comp_op'], *(self.value(operand) for operand in inst['ins']))
                pc = self.start[inst['on_true' if taken else 'on_false']]
                continue
            if opcode == 'UnconditionalBranch':
                pc = self.start[inst['target']]
                continue
            if opcode in ('Return', 'Exit'):
                return
            if opcode == 'AllEngineBarrier':
                visits = self.barriers.setdefault(inst['name'], {})
                visits[engine] = visits.get(engine, 0) + 1
            if inst['name'] in self.queues:
                while not self.queues[inst['name']]:
                    yield False
                self.memory[self.place(inst['ins'][0])] = self.queues[inst['name']].pop(0)
            if inst['name'] in self.known:
                self.note(inst)
            if opcode in CODE:
                self.code(inst)
                for load, save in self.sender.items():
                    if save == inst['name']:
                        self.queues[load].append(self.value(inst['ins'][0]))
            yield True


def names_of(blocks):
    for block in blocks:
        for inst in block['instructions']:
            yield inst['name']
            yield from names_of(inst.get('blocks', []))


def differs(structured, branched):
    """Why the branches do something else, or None."""
    known = set(names_of(structured['functions'][0]['blocks']))
    for seed in DATA:
        expected = Structured(structured, seed).run()
        try:
            got = Branched(branched, seed, known).run()
        except Stop as stop:
            return str(stop)
        for engine in ENGINES:
            if expected.traces[engine] != got.traces[engine]:
                pairs = zip(expected.traces[engine] + [None], got.traces[engine] + [None])
                return f'{engine}: ' + next(f'{b}, not {a}' for a, b in pairs if a != b)
    return None


# --- changes ---

NEGATED = {'LT': 'GE', 'GE': 'LT', 'GT': 'LE', 'LE': 'GT', 'EQ': 'NE', 'NE': 'EQ'}
OTHER_ALU = {'add': 'subtract', 'mult': 'add'}


def changes(inst):
    """(title, function that changes the instruction at an index of its block) for every change that can matter."""
    def remove(block, at):
        del block[at]

    def more(block, at):
        block[at]['ins'][-1]['value'] += 1

    def negate(block, at):
        op = block[at]['comp_op']
        block[at]['comp_op'] = op[:3] + NEGATED[op[3:5]] + op[5:]

    def exchange(block, at):
        block[at]['on_true'], block[at]['on_false'] = block[at]['on_false'], block[at]['on_true']

    def operate(block, at):
        block[at]['op'] = OTHER_ALU[block[at]['op']]

    yield 'removed', remove
    immediate = inst['ins'] and inst['ins'][-1]['kind'] == 'imm_value'
    if immediate:
        yield 'constant + 1', more
    if inst['opcode'] == 'CompareAndBranch':
        yield 'another comparison', negate
        yield 'targets exchanged', exchange
    if inst.get('op') in OTHER_ALU and not (immediate and inst['ins'][-1]['value'] == 0):
        yield 'another operation', operate


def mutants(structured, branched):
    known = set(names_of(structured['functions'][0]['blocks']))
    for b, block in enumerate(branched['functions'][0]['blocks']):
        for at, inst in enumerate(block['instructions']):
            if inst['name'] in known and inst['opcode'] != 'UnconditionalBranch':
                continue
            if inst['opcode'] in ('AllEngineBarrier', 'NoOp'):
                continue
            for title, change in changes(inst):
                mutant = copy.deepcopy(branched)
                change(mutant['functions'][0]['blocks'][b]['instructions'], at)
                yield f"{inst['opcode']} {inst['name']} {title}", mutant


# --- random programs ---

class Program:
    """Loops of every kind in each other, with predicates, breaks and registers of several engines."""

    ENGINES = ('Activation', 'DVE', 'Pool', 'SP')

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.registers = {f'n{engine}': engine for engine in self.ENGINES}
        self.axes = []
        self.count = 0
        code = [item for name, engine in self.registers.items() for item in self.fresh(name, engine)]
        code += self.statements(3)
        base = json.loads((SOURCE / 'tests' / 'vectors' / 'branched' / 'tail_tile.json').read_text())
        function = base['functions'][0]
        function['allocations'] += [{'Skind': 'register', 'name': name, 'dtype': 'int32', 'engine': engine}
                                    for name, engine in self.registers.items()]
        pos = {'Skind': 'memory_location', 'addr': 40960, 'allocated': True, 'bank': 0, 'base': 0, 'dims': [1, 64],
               'name': 'pos', 'tensor_id': 0, 'type': 'SB'}
        if not any(s['name'] == 'pos_set' for s in function['allocations']):
            function['allocations'].append({'Skind': 'memory_location_set', 'addr_space': 'Local', 'dtype': 'int32',
                                            'kind': 'Internal', 'memorylocations': [pos], 'name': 'pos_set',
                                            'tensor_shape': [1, 16]})
        function['blocks'] = [{'name': 'main', 'instructions': code}]
        self.module = base

    def name(self, stem):
        self.count += 1
        return f'{stem}{self.count}'

    def chance(self, percent):
        return self.random.randrange(100) < percent

    def inst(self, stem, opcode, engine, ins=(), outs=(), **keys):
        return {'name': self.name(stem), 'opcode': opcode, 'engine': engine, 'ins': list(ins), 'outs': list(outs), **keys}

    @staticmethod
    def access(name):
        return {'kind': 'register_access', 'dtype': 'int32', 'regref': name}

    def alu(self, name, op, value, **keys):
        immediate = {'kind': 'imm_value', 'dtype': 'int32', 'value': value}
        return self.inst('alu', 'RegisterAlu', self.registers[name], [self.access(name), immediate], [self.access(name)],
                         op=op, **keys)

    def fresh(self, name, engine):
        """The register := a small number that only the data decides."""
        element = {'ap': [[16, 1], [1, 1]], 'dtype': 'int32', 'kind': 'physical_ap', 'memref': 'pos',
                   'memsetref': 'pos_set', 'offset': self.random.randrange(16)}
        return [self.inst('load', 'TensorLoad', engine, [element], [self.access(name)]),
                self.alu(name, 'mod', 4)]

    def affine(self, c, terms):
        return {'kind': 'AffExprKind', 'c': c,
                'terms': [{'coeff': k, 'idx': {'axis': a, 'kind': 'AffIVKind'}} for a, k in terms]}

    def predicates(self, percent):
        if not self.chance(percent):
            return {}
        made = []
        for _ in range(self.random.choice((1, 1, 2))):
            e = self.affine(self.random.randrange(-3, 4), [(a, self.random.randrange(-2, 3)) for a in self.axes])
            if self.chance(40):
                reg = self.random.choice([r for r in self.registers if r.startswith('n')])
                e['terms'].append({'coeff': self.random.choice((1, -1)),
                                   'idx': {'kind': 'IntRuntimeValueKind', 'regref': reg}})
            made.append({'expr': e, 'ge': self.chance(85)})
        return {'predicates': made}

    def work(self):
        tile = self.affine(64 + self.random.randrange(32), [(a, self.random.randrange(9)) for a in self.axes])
        x = {'ap': [[512, 32], [1, 64]], 'dtype': 'bfloat16', 'kind': 'symbolic_ap', 'memsetref': 'xbuf_set',
             'addrs': [tile, self.affine(self.random.randrange(4), [])], 'access_shape': [32, 64]}
        y = {'ap': [[64, 32], [1, 64]], 'dtype': 'bfloat16', 'kind': 'physical_ap', 'memref': 'y', 'memsetref': 'y_set',
             'offset': 0}
        return [self.inst('copy', 'TensorCopy', self.random.choice(('Activation', 'DVE', 'Pool')), [x], [y],
                          can_read_uninit=False, **self.predicates(35))]

    def body(self, depth, tail=()):
        code = self.statements(depth - 1)
        if self.chance(20):
            code.append(self.inst('break', 'Break', 'ALL', **(self.predicates(100))))
            return [{'name': self.name('block'), 'instructions': code},
                    {'name': self.name('block'), 'instructions': self.work() + list(tail)}]
        return [{'name': self.name('block'), 'instructions': code + list(tail)}]

    def loop(self, depth):
        predicates = self.predicates(20)
        axis = self.name('i')
        lb, trip, stride = self.random.randrange(3), self.random.randrange(4), self.random.choice((1, 1, 2, -1))
        self.axes.append(axis)
        blocks = self.body(depth)
        self.axes.pop()
        return [self.inst('loop', 'Loop', 'Unassigned', LoopAxis={'name': axis, 'lb': lb, 'ub': lb + trip * stride,
                                                                 'stride': stride}, blocks=blocks, **predicates)]

    def dynamic(self, depth):
        reg = self.random.choice([r for r in self.registers if r.startswith('n')])
        ub = self.affine(self.random.randrange(-2, 2), [])
        ub['terms'] = [{'coeff': self.random.choice((1, 2)), 'idx': {'kind': 'IntRuntimeValueKind', 'regref': reg}}]
        axis = {'name': self.name('d'), 'lb': self.affine(self.random.randrange(2), []), 'ub': ub,
                'stride': self.affine(self.random.choice((1, 2)), [])}
        return [self.inst('dynamic', 'DynamicForLoop', 'Unassigned', DynamicForLoopAxis=axis, blocks=self.body(depth),
                          **self.predicates(15))]

    def do_while(self, depth):
        engine = self.random.choice(self.ENGINES)
        reg = self.name('w')
        self.registers[reg] = engine
        code = self.fresh(reg, engine) + [self.alu(reg, 'add', 1)]
        blocks = self.body(depth, [self.alu(reg, 'subtract', 1)])
        return code + [self.inst('while', 'DoWhile', 'Unassigned', cond={'kind': 'IntRuntimeValueKind', 'regref': reg},
                                 blocks=blocks, **self.predicates(15))]

    def update(self):
        reg = self.random.choice([r for r in self.registers if r.startswith('n')])
        return [self.alu(reg, 'add', self.random.randrange(1, 4), **self.predicates(40)), self.alu(reg, 'mod', 5)]

    def statements(self, depth):
        code = self.work()
        for _ in range(self.random.randrange(1, 4)):
            kinds = [self.work, self.update]
            if depth > 0:
                kinds += [lambda: self.loop(depth), lambda: self.dynamic(depth), lambda: self.do_while(depth)]
            code += self.random.choice(kinds)()
        return code


class Branches(unittest.TestCase):
    samples = sorted((SOURCE / 'tests' / 'vectors' / 'branched').glob('*.json'))

    def pair(self, path):
        return lower(path, STRUCTURED), lower(path, STRUCTURED + ',lower_branch')

    def test_same_traces(self):
        self.assertGreaterEqual(len(self.samples), 9)
        for path in self.samples:
            with self.subTest(path.stem):
                self.assertIsNone(differs(*self.pair(path)))

    def test_same_traces_coloured(self):
        """Colouring spills nothing here, so registers keep their names."""
        for path in self.samples:
            structured = lower(path, STRUCTURED)
            for tail in (',lower_branch,color_registers', ',color_registers,lower_branch'):
                with self.subTest(path.stem + tail):
                    self.assertIsNone(differs(structured, lower(path, STRUCTURED + tail)))

    def test_random_programs(self):
        programs = int(os.environ.get('ROOST_RANDOM_PROGRAMS', 40))
        steps = 0
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place) / 'program.json'
            for seed in range(programs):
                path.write_text(json.dumps(Program(seed).module))
                structured, branched = self.pair(path)
                with self.subTest(seed=seed):
                    self.assertIsNone(differs(structured, branched))
                    result = pathlib.Path(place) / 'lowered.json'
                    checked = subprocess.run([ROOST, 'lower', '--no-daemon', '--check=full', '-o', str(result),
                                              f'--passes={STRUCTURED},lower_branch,color_registers', str(path)],
                                             capture_output=True, timeout=TIMEOUT, check=False)
                    self.assertEqual(checked.returncode, 0, checked.stderr)
                    verified = subprocess.run([ROOST, 'check', '--no-daemon', '--strict', str(result)],
                                              capture_output=True, timeout=TIMEOUT, check=False)
                    self.assertEqual(verified.returncode, 0, verified.stdout)
                steps += Structured(structured, DATA[0]).run().steps
        print(f'{programs} random programs, {steps} instructions executed')
        self.assertGreater(steps, 50 * programs)

    def test_changes_show(self):
        total = 0
        for path in self.samples:
            structured, branched = self.pair(path)
            caught, survivors = 0, []
            for title, mutant in mutants(structured, branched):
                why = differs(structured, mutant)
                if why is None:
                    survivors.append(title)
                else:
                    caught += 1
                    if os.environ.get('VERBOSE'):
                        print(f'caught: {path.stem}: {title}: {why}')
            print(f'{path.stem}: {caught} of {caught + len(survivors)} changes of the branches caught')
            total += caught
            with self.subTest(path.stem):
                self.assertEqual(survivors, [])
        self.assertGreater(total, 400)


if __name__ == '__main__':
    unittest.main()
