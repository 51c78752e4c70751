"""What the integration tests share: a daemon on a socket of its own, a raw client, and a validator for the schemas.

Environment: ROOSTD and ROOST name the programs under test (meson sets them; another pair can be put in their place),
ROOST_SOURCE is the source tree.
"""
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ROOSTD = os.environ['ROOSTD']
ROOST = os.environ.get('ROOST', '')
SOURCE = pathlib.Path(os.environ.get('ROOST_SOURCE', pathlib.Path(__file__).resolve().parents[2]))
SCHEMAS = SOURCE / 'proto' / 'schema'
TIMEOUT = 60
CODES = {'parse': -32700, 'invalid-request': -32600, 'unknown-method': -32601, 'invalid-params': -32602, 'version': -32000,
         'busy': -32001, 'cancelled': -32002, 'deadline': -32003, 'too-large': -32004, 'not-found': -32005,
         'bad-module': -32006, 'limit': -32007, 'shutting-down': -32008, 'internal': -32009}
# What ignores these signals for us, such as nohup, must not ignore them for the daemons: they would heed it.
for _number in (signal.SIGHUP, signal.SIGINT):
    if signal.getsignal(_number) == signal.SIG_IGN:
        signal.signal(_number, signal.SIG_DFL)
HELLO = {'protocol': {'major': 1, 'minor': 0}, 'client': 'test'}


class SchemaError(AssertionError):
    pass


TYPES = {'object': lambda v: isinstance(v, dict), 'array': lambda v: isinstance(v, list),
         'string': lambda v: isinstance(v, str), 'boolean': lambda v: isinstance(v, bool), 'null': lambda v: v is None,
         'integer': lambda v: isinstance(v, int) and not isinstance(v, bool)}
KNOWN = {'$schema', 'title', 'type', 'const', 'enum', 'required', 'properties', 'additionalProperties', 'items', 'pattern',
         'minimum', 'anyOf'}


def check_schema(schema, value, where='$'):
    """The part of JSON Schema that our schemas use; a keyword outside of it is an error of the schema."""
    import re
    if schema is True:
        return
    if schema is False:
        raise SchemaError(f'{where}: not allowed here')
    if set(schema) - KNOWN:
        raise SchemaError(f'{where}: the schema uses {set(schema) - KNOWN}')
    if 'type' in schema:
        types = schema['type'] if isinstance(schema['type'], list) else [schema['type']]
        if not any(TYPES[t](value) for t in types):
            raise SchemaError(f'{where}: {value!r} is none of {types}')
    if 'const' in schema and (value != schema['const'] or type(value) is not type(schema['const'])):
        raise SchemaError(f'{where}: {value!r} is not {schema["const"]!r}')
    if 'enum' in schema and value not in schema['enum']:
        raise SchemaError(f'{where}: {value!r} is none of {schema["enum"]}')
    if 'pattern' in schema and isinstance(value, str) and not re.search(schema['pattern'], value):
        raise SchemaError(f'{where}: {value!r} does not match {schema["pattern"]}')
    if 'minimum' in schema and isinstance(value, int) and value < schema['minimum']:
        raise SchemaError(f'{where}: {value} is below {schema["minimum"]}')
    if isinstance(value, dict):
        for name in schema.get('required', []):
            if name not in value:
                raise SchemaError(f'{where}: {name} is missing in {value!r}')
        for name, item in value.items():
            rule = schema.get('properties', {}).get(name, schema.get('additionalProperties', True))
            check_schema(rule, item, f'{where}.{name}')
    if isinstance(value, list) and 'items' in schema:
        for i, item in enumerate(value):
            check_schema(schema['items'], item, f'{where}[{i}]')
    if 'anyOf' in schema:
        problems = []
        for choice in schema['anyOf']:
            try:
                check_schema(choice, value, where)
                return
            except SchemaError as problem:
                problems.append(str(problem))
        raise SchemaError(f'{where}: no alternative fits: {problems[-1]}')


def load_schema(name):
    return json.loads((SCHEMAS / f'{name}.json').read_text(encoding='utf-8'))


METHODS = tuple(load_schema('compile.request')['properties']['method']['enum'])  # of the compiler


def schema_of(method, kind):
    if method in METHODS:
        method = method if method in ('check', 'hazards') and kind == 'result' else 'compile'
    return load_schema(f'{method}.{kind}')


def frame(text, payload=b''):
    data = text if isinstance(text, bytes) else json.dumps(text, separators=(',', ':')).encode()
    return struct.pack('>II', len(data), len(payload)) + data + payload


class Connection:
    """A client that does what it is told; everything it receives is validated."""

    def __init__(self, path, hello=True):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect(str(path))
        self.buffer = b''
        self.next_id = 1
        self.methods = {}
        self.replies = {}
        if hello:
            self.hello = self.call('hello', HELLO)[0]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send_raw(self, data):
        self.socket.sendall(data)

    def send(self, method, params=None, payload=b'', id=None, valid=True):
        if id is None:
            id = self.next_id
            self.next_id += 1
        message = {'jsonrpc': '2.0', 'id': id, 'method': method}
        if params is not None:
            message['params'] = params
        if valid:
            check_schema(schema_of(method, 'request'), message)
        self.methods[id] = method
        self.send_raw(frame(message, payload))
        return id

    def notify(self, method, params):
        self.send_raw(frame({'jsonrpc': '2.0', 'method': method, 'params': params}))

    def exactly(self, n):
        while len(self.buffer) < n:
            data = self.socket.recv(1 << 20)
            if not data:
                raise EOFError(f'connection closed with {len(self.buffer)} of {n} bytes')
            self.buffer += data
        head, self.buffer = self.buffer[:n], self.buffer[n:]
        return head

    def receive(self):
        """The next reply: (message, payload)."""
        json_len, payload_len = struct.unpack('>II', self.exactly(8))
        message = json.loads(self.exactly(json_len))
        payload = self.exactly(payload_len)
        if 'error' in message:
            check_schema(load_schema('error'), message)
        else:
            check_schema(schema_of(self.methods[message['id']], 'result'), message)
        return message, payload

    def wait(self, id):
        while id not in self.replies:
            message, payload = self.receive()
            self.replies[message['id']] = (message, payload)
        return self.replies.pop(id)

    def call(self, method, params=None, payload=b''):
        """Result and payload; an error reply is an exception."""
        message, payload = self.wait(self.send(method, params, payload))
        if 'error' in message:
            raise ReplyError(message['error'])
        return message['result'], payload

    def fail(self, method, params=None, payload=b'', valid=False):
        """The error of a call that must fail."""
        message, _ = self.wait(self.send(method, params, payload, valid=valid))
        if 'error' not in message:
            raise AssertionError(f'{method} gave {message}')
        return message['error']

    def compile(self, method, module, options=None, **more):
        params = {'module': {'format': 'auto'}, **more}
        if options:
            params['options'] = options
        return self.call(method, params, module)

    def repeat(self, method, digest, options=None, **more):
        params = {'module': {'digest': digest}, **more}
        if options:
            params['options'] = options
        return self.call(method, params)

    def closed(self):
        """True when the daemon has closed the connection and sent nothing more."""
        try:
            return self.buffer == b'' and self.socket.recv(1) == b''
        except ConnectionResetError:
            return True


class ReplyError(Exception):
    def __init__(self, error):
        super().__init__(error['message'])
        self.name = error['data']['name']
        self.error = error


class Daemon:
    """A roostd with its socket in a directory of its own."""

    def __init__(self, *options, path=None, command=(), env=None, **popen):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix='roost-it-', dir='/tmp'))
        self.path = pathlib.Path(path) if path else self.directory / 'sock'
        ready, ready_write = os.pipe()
        os.set_inheritable(ready_write, True)
        self.log = open(self.directory / 'log', 'w+b')
        self.process = subprocess.Popen(
            [*command, ROOSTD, f'--socket={self.path}', f'--ready-fd={ready_write}', *options], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=self.log, pass_fds=(ready_write,), env=env, **popen)
        os.close(ready_write)
        with os.fdopen(ready, 'rb') as pipe:
            self.ready = pipe.read().decode()
        if self.ready != 'ready\n':
            self.process.wait(TIMEOUT)
            self.refusal = self.log_text()
            self.clean()

    def __enter__(self):
        if self.ready != 'ready\n':
            raise AssertionError(f'not ready: {self.ready!r} {self.refusal}')
        return self

    def __exit__(self, kind, *_):
        try:
            if self.process.poll() is None:
                self.stop()
            text = self.log_text()
            if 'Sanitizer' in text or 'runtime error' in text or self.process.returncode not in (0, -signal.SIGKILL):
                raise AssertionError(f'roostd ended with {self.process.returncode}:\n{text}')
        finally:
            self.clean()

    def clean(self):
        self.log.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def log_text(self):
        self.log.seek(0)
        return self.log.read().decode(errors='replace')

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(TIMEOUT)

    def gone(self):
        """Waits until the socket is removed, as at the start of a drain."""
        end = time.monotonic() + TIMEOUT
        while self.path.exists() and time.monotonic() < end:
            time.sleep(0.01)

    def connect(self, hello=True):
        return Connection(self.path, hello)

    def stats(self):
        with self.connect() as connection:
            return connection.call('stats')[0]

    def until(self, condition, what):
        """Polls the stats; condition gets them. The daemon may refuse the connection that asks."""
        end = time.monotonic() + TIMEOUT
        stats = None
        while time.monotonic() < end:
            try:
                stats = self.stats()
            except (EOFError, ConnectionError):
                continue
            if condition(stats):
                return stats
            time.sleep(0.02)
        raise AssertionError(f'timed out: {what}: {stats}')



class Place(unittest.TestCase):
    """A directory and an environment without a daemon."""

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory(prefix='roost-cli-', dir='/tmp')
        self.directory = pathlib.Path(self.temporary.name)
        self.socket = self.directory / 'sock'

    def tearDown(self):
        self.temporary.cleanup()

    def env(self, **more):
        env = {k: v for k, v in os.environ.items() if k not in ('NO_COLOR', 'XDG_RUNTIME_DIR')}
        return {**env, 'ROOST_SOCKET': str(self.socket), 'ROOST_DAEMON': ROOSTD, **more}

    def run_roost(self, *arguments, input=None, socket=None, env=None, **more):
        env = env or self.env(**({'ROOST_SOCKET': str(socket)} if socket else {}))
        kind = {'input': input} if input is not None else {'stdin': subprocess.DEVNULL}
        return subprocess.run([ROOST, *map(str, arguments)], capture_output=True, timeout=TIMEOUT, env=env, **kind, **more)

    def expect(self, status, *arguments, **more):
        result = self.run_roost(*arguments, **more)
        self.assertEqual(result.returncode, status, (arguments, result.stderr[:2000], result.stdout[:200]))
        return result


def main():
    """Runs the calling module's tests and prints the count that tests/count_tests.py reads."""
    program = unittest.main(module='__main__', exit=False, verbosity=1)
    bad = len(program.result.failures) + len(program.result.errors)
    print(f'{program.result.testsRun - bad} passed, {bad} failed')
    sys.exit(1 if bad else 0)
