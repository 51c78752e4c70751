"""Register pressure from the command line: spilling with its report, and the error when spilling does not help."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from harness import ROOST, TIMEOUT

FILE_SIZE = 62  # registers of an engine that code may use


def location(name, kind, dims, dtype, memory):
    return {'Skind': 'memory_location_set', 'addr_space': 'Local', 'dtype': dtype, 'kind': kind, 'name': f'{name}_set',
            'tensor_shape': [1, 1],
            'memorylocations': [{'Skind': 'memory_location', 'addr': 0, 'allocated': True, 'bank': 0, 'base': 0,
                                 'dims': dims, 'name': name, 'tensor_id': 0, 'type': memory}]}


def register(name, engine):
    return {'Skind': 'register', 'name': name, 'dtype': 'int32', 'engine': engine}


def access(name):
    return {'kind': 'register_access', 'dtype': 'int32', 'regref': name}


def element(offset):
    return {'kind': 'physical_ap', 'ap': [[256, 1], [1, 1]], 'dtype': 'int32', 'memref': 'pos', 'memsetref': 'pos_set',
            'offset': offset}


def load(name, offset):
    return {'name': f'load-{name}', 'opcode': 'TensorLoad', 'engine': 'SP', 'ins': [element(offset)],
            'outs': [access(name)]}


def fetch(name):
    """A row of the table, whose number is in a register."""
    return {'name': f'fetch-{name}', 'opcode': 'DMACopy', 'engine': 'SP', 'dge_type': 'HWDGE', 'mode': 'Copy', 'queue': 'q',
            'ins': [{'kind': 'physical_ap', 'ap': [[512, 1], [1, 64]], 'dtype': 'float32', 'memref': 'table',
                     'memsetref': 'table_set', 'offset': 0,
                     'dynamic_ap_info': {'actual_ap': [[512, 1], [1, 64]], 'c': 0, 'indirect_dim': 'W',
                                         'indirect_dim_max_index': 1024,
                                         'offset_expr': [{'aff_expr': {'kind': 'IntRuntimeValueKind', 'regref': name},
                                                          'coef': 512}]}}],
            'outs': [{'kind': 'physical_ap', 'ap': [[64, 1], [1, 64]], 'dtype': 'float32', 'memref': 'row',
                      'memsetref': 'row_set', 'offset': 0}]}


def module(names, instructions):
    storages = [location('pos', 'Internal', [1, 1024], 'int32', 'SB'),
                location('row', 'Internal', [1, 256], 'float32', 'SB'),
                location('table', 'ExternalInput', [1024, 2048], 'float32', 'DRAM')]
    return {'arch': 'gen3', 'attributes': {}, 'revision': 'v1', 'version': 2, 'queues': [{'name': 'q', 'blocks': []}],
            'functions': [{'name': 'f', 'attributes': [],
                           'allocations': storages + [register(name, 'SP') for name in names],
                           'blocks': [{'name': 'main', 'instructions': instructions}]}]}


def pressed(count):
    """All registers are loaded, then each is used: `count` are live at once."""
    names = [f'r{i}' for i in range(count)]
    return module(names, [load(name, i) for i, name in enumerate(names)] + [fetch(name) for name in names])


def crowded(count):
    """One instruction reads them all, so none can be reloaded later."""
    names = [f'r{i}' for i in range(count)]
    everything = {'name': 'everything', 'opcode': 'NoOp', 'engine': 'SP', 'ins': [access(name) for name in names],
                  'outs': []}
    return module(names, [load(name, i) for i, name in enumerate(names)] + [everything])


class Registers(unittest.TestCase):
    def lower(self, value, *options):
        with tempfile.NamedTemporaryFile('w', suffix='.json') as file:
            json.dump(value, file)
            file.flush()
            return subprocess.run([ROOST, 'lower', '--no-daemon', *options, file.name], capture_output=True,
                                  timeout=TIMEOUT, check=False)

    def report(self, value, *options):
        done = self.lower(value, '--stats', '--check=full', *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), json.loads(done.stderr)

    def test_no_pressure(self):
        _, stats = self.report(pressed(20))
        self.assertEqual(stats['passes']['spilled_registers'], 0)
        self.assertEqual(stats['passes']['spill_score'], 0)
        self.assertLess(stats['passes']['register_utilisation_percent'], 100)
        self.assertGreater(stats['passes']['register_utilisation_percent'], 0)

    def test_spills(self):
        """A hundred live registers on one engine."""
        lowered, stats = self.report(pressed(100))
        passes = stats['passes']
        self.assertGreaterEqual(passes['spilled_registers'], 100 - FILE_SIZE)
        self.assertEqual(passes['register_utilisation_percent'], 100)
        self.assertEqual(passes['peak_physical_registers'], FILE_SIZE)
        # Every spilled register has one def and one use outside of loops at least (lowering.md 11 item 7).
        self.assertGreaterEqual(passes['spill_score'], 2 * passes['spilled_registers'])
        self.assertEqual(stats['validation'], {**stats['validation'], 'operands': 100, 'points': 100})
        function = lowered['functions'][0]
        spills = [s for s in function['allocations'] if s['name'].endswith('-spill_set')]
        self.assertEqual(len(spills), passes['spilled_registers'])
        ids = [s['physical_id'] for s in function['allocations'] if s['Skind'] == 'register' and 'physical_id' in s]
        self.assertTrue(ids and all(0 <= i < FILE_SIZE for i in ids))
        opcodes = [inst['opcode'] for inst in function['blocks'][0]['instructions']]
        self.assertGreaterEqual(opcodes.count('TensorSave'), passes['spilled_registers'])

    def test_spills_with_branches(self):
        done = self.lower(pressed(100), '--check=full', '--stats', '--passes=split_engines,assign_loop_registers,'
                          'insert_address_tables,lower_ap,expand_inst_late,lower_branch,color_registers')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(json.loads(done.stderr)['passes']['spilled_registers'], 0)

    def test_no_candidates(self):
        self.assertEqual(self.lower(crowded(FILE_SIZE)).returncode, 0)
        done = self.lower(crowded(FILE_SIZE + 1))
        self.assertEqual(done.returncode, 1)
        text = done.stderr.decode()
        self.assertIn('cannot allocate registers since spilling candidates are not enough', text)
        self.assertIn('[colour-pressure]', text)
        self.assertIn(f'engine SP has {FILE_SIZE} registers, {FILE_SIZE + 1} are live at once', text)
        for i in range(FILE_SIZE + 1):  # by its name, or by that of the copy that was to be reloaded
            self.assertRegex(text, rf'\br{i}(-r\d+)?\b')


if __name__ == '__main__':
    unittest.main()
