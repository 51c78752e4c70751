#!/usr/bin/env python3
"""Runs the measurements of run.sh. usage: run.py BUILD_DIR [TABLE...]"""
import hashlib
import json
import math
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

BUILD = pathlib.Path(sys.argv[1]).resolve()
BENCH = BUILD / 'tests' / 'bench'
WORK = pathlib.Path(tempfile.mkdtemp(prefix='roost-bench-'))


def run(*command, stdout=subprocess.PIPE):
    return subprocess.run([str(c) for c in command], check=True, stdout=stdout).stdout


def module(kind, count):
    path = WORK / f'{kind}-{count}.json'
    if not path.exists():
        with open(path, 'wb') as out:
            run(BENCH / 'bench_generate', kind, count, stdout=out)
    return path


def title(text):
    print(f'\n{text}\n{"-" * len(text)}', flush=True)


# ---------------------------------------------------------------------------------------------------------------- tables


def table_read():
    title('Reading and writing BIR-JSON (CPU time, against jansson on the same text)')
    print(run(BENCH / 'bench_core', 'read', module('static', 20000), module('loops', 5000)).decode(), end='')


def table_lower():
    title('Cold lower of loop modules (operations: register-ALU instructions here, arith operations there)')
    count = 4000
    out = run(BENCH / 'bench_core', 'lower', module('loops', count)).decode()
    print(out, end='')
    tool = shutil.which('mlir-opt-14') or shutil.which('mlir-opt')
    if not tool:
        print('  mlir-opt not installed: no ratio')
        return
    source = module('mlir', count)
    best = min(timed(tool, '-lower-affine', source)[0] for _ in range(3))
    empty = WORK / 'empty.mlir'
    empty.write_text('')
    best -= min(timed(tool, '-lower-affine', empty)[0] for _ in range(3))
    operations = len(re.findall(rb' = arith\.(?!constant)', timed(tool, '-lower-affine', source)[1]))
    theirs = operations / best
    ours = float(re.search(r'check off .*?(\d+) operations/s', out).group(1))
    print(f'  mlir-opt -lower-affine    {best:8.3f} s   {theirs:10.0f} operations/s (its start-up subtracted)')
    print(f'  ratio {ours / theirs:.1f} (bound: at least 5)')


def timed(*command):
    """CPU seconds of a command, and its output."""
    before = os.times()
    out = run(*command)
    after = os.times()
    return (after.children_user + after.children_system) - (before.children_user + before.children_system), out


def table_encode():
    title('Cold encode of a static module')
    print(run(BENCH / 'bench_core', 'encode', module('static', 20000)).decode(), end='')


def frame(message, payload=b''):
    text = json.dumps(message, separators=(',', ':')).encode()
    return struct.pack('>II', len(text), len(payload)) + text + payload


def read_exact(sock, count):
    data = b''
    while len(data) < count:
        part = sock.recv(count - len(data))
        if not part:
            raise ConnectionError('the daemon closed the connection')
        data += part
    return data


def read_frame(sock):
    text, payload = struct.unpack('>II', read_exact(sock, 8))
    return json.loads(read_exact(sock, text)), read_exact(sock, payload)


HELLO = frame({'jsonrpc': '2.0', 'id': 0, 'method': 'hello', 'params': {'protocol': {'major': 1, 'minor': 0}, 'client': 'bench'}})


def wait_for(path):
    """A connection to a server that is starting."""
    for _ in range(200):
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(path)
            return sock
        except OSError:
            sock.close()
            time.sleep(0.02)
    raise RuntimeError(f'nothing listens on {path}')


class Daemon:
    def __init__(self, *options):
        self.path = str(WORK / 'sock')
        self.process = subprocess.Popen([str(BUILD / 'daemon' / 'roostd'), '--socket', self.path, *options], stderr=subprocess.DEVNULL)
        wait_for(self.path).close()

    def dial(self):
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(self.path)
        sock.sendall(HELLO)
        read_frame(sock)
        return sock

    def stop(self):
        self.process.terminate()
        self.process.wait()


def request(method, digest=None, options=None):
    params = {'module': {'digest': digest} if digest else {'format': 'auto'}}
    if options:
        params['options'] = options
    return {'jsonrpc': '2.0', 'id': 1, 'method': method, 'params': params}


def rtt(path, hello, asked, connections, reply_out=None):
    extra = [reply_out] if reply_out else []
    rates = []
    for _ in range(3):
        out = run(BENCH / 'bench_rtt', path, hello, asked, connections, 1, *extra).split()
        rates.append((float(out[0]), float(out[1]), int(out[2])))
    return max(rates)


def redis_rate(size, connections):
    if not shutil.which('redis-server'):
        return None
    path = str(WORK / 'redis')
    server = subprocess.Popen(['redis-server', '--port', '0', '--unixsocket', path, '--save', '', '--appendonly', 'no'],
                              stdout=subprocess.DEVNULL, cwd=WORK)
    try:
        sock = wait_for(path)
        sock.sendall(b'*3\r\n$3\r\nSET\r\n$16\r\nkey:__rand_int__\r\n$%d\r\n%s\r\n' % (size, b'x' * size))
        sock.recv(64)
        best = 0.0
        for _ in range(3):
            out = run('redis-benchmark', '-s', path, '-n', 60000, '-c', connections, '-q', 'GET', 'key:__rand_int__').decode()
            best = max(best, *(float(m) for m in re.findall(r'([\d.]+) requests per second', out)))
        return best
    finally:
        server.terminate()
        server.wait()


def table_warm():
    title('Warm round trips by digest (best of three runs of one second)')
    print(f'{"method":8} {"reply":>8} {"conn":>5} {"roostd/s":>10} {"echo/s":>10} {"ratio":>6} {"redis/s":>10} {"ratio":>6}   bounds: 1.3 of echo, 1.0 of Redis')
    hello, asked, reply = WORK / 'hello', WORK / 'request', WORK / 'reply'
    hello.write_bytes(HELLO)
    nothing = WORK / 'nothing'
    nothing.write_bytes(b'')
    daemon = Daemon()
    try:
        for method, count in (('lower', 3), ('encode', 15), ('lower', 72), ('encode', 190)):
            source = module('static', count).read_bytes()
            sock = daemon.dial()
            sock.sendall(frame(request(method), source))
            answer = read_frame(sock)[0]
            if 'error' in answer:
                raise RuntimeError(answer['error'])
            asked.write_bytes(frame(request(method, answer['result']['module_digest'] if 'module_digest' in answer['result']
                                            else hashlib.blake2b(source, digest_size=32).hexdigest())))
            for connections in (1, 50):
                ours = rtt(daemon.path, hello, asked, connections, reply)
                echo_path = str(WORK / 'echo')
                echo = subprocess.Popen([str(BENCH / 'bench_echo'), echo_path, str(reply)])
                wait_for(echo_path)
                theirs = rtt(echo_path, nothing, asked, connections)
                echo.terminate()
                echo.wait()
                os.unlink(echo_path)
                redis = redis_rate(ours[2], connections)
                tail = f'{redis:10.0f} {ours[0] / redis:6.2f}' if redis else '         -      -'
                print(f'{method:8} {ours[2]:8} {connections:5} {ours[0]:10.0f} {theirs[0]:10.0f} {theirs[0] / ours[0]:6.2f} {tail}', flush=True)
    finally:
        daemon.stop()


def slow_module():
    """A small module whose full check executes 2^20 points: slow to compile, quick to send."""
    text = json.loads(module('loops', 8).read_text())

    def stretch(node):
        if isinstance(node, dict):
            if 'LoopAxis' in node:
                node['LoopAxis']['ub'] = 1024
            if node.get('kind') == 'AffExprKind':
                for term in node['terms']:
                    term['coeff'] = 16 if term['coeff'] == 16384 else 0
            for value in node.values():
                stretch(value)
        elif isinstance(node, list):
            for value in node:
                stretch(value)

    stretch(text)
    return json.dumps(text, separators=(',', ':')).encode()


def table_merge():
    title('64 clients ask for the same cold kernel')
    source = slow_module()
    options = {'check': 'full'}

    def ask(daemon, clients):
        socks = [daemon.dial() for _ in range(clients)]
        start = time.monotonic()
        threads = [threading.Thread(target=lambda s: (s.sendall(frame(request('lower', options=options), source)), read_frame(s)), args=(s,)) for s in socks]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        wall = time.monotonic() - start
        socks[0].sendall(frame({'jsonrpc': '2.0', 'id': 9, 'method': 'stats'}))
        stats = read_frame(socks[0])[0]['result']
        for s in socks:
            s.close()
        return wall, stats

    walls = {}
    for clients in (1, 64):
        daemon = Daemon()
        walls[clients], stats = ask(daemon, clients)
        daemon.stop()
        print(f'{clients:3} clients: {walls[clients]:.3f} s wall; {json.dumps({k: v for k, v in flatten(stats) if re.search("merged|compiles|hits", k)})}')
    print(f'ratio {walls[64] / walls[1]:.2f} (bound: 1.2)')


def flatten(value, prefix=''):
    for key, item in value.items():
        if isinstance(item, dict):
            yield from flatten(item, f'{prefix}{key}.')
        else:
            yield prefix + key, item


FEW = 100  # BIR instructions whose whole run counts as start-up


def table_growth():
    title(f'Growth: instructions executed per BIR instruction beyond the first {FEW} (callgrind; ROOST_BENCH_ALL=1: lower and encode of a million, too)')
    if not shutil.which('valgrind'):
        print('valgrind not installed')
        return
    sizes = (1000, 10000, 100000)
    million = (*sizes, 1000000)
    most = million if os.environ.get('ROOST_BENCH_ALL') else sizes
    print(f'{"module":9} {"method":8} ' + ' '.join(f'{count:10,}' for count in million))
    for kind, method, counts in (('static', 'convert', million), ('nested48', 'convert', sizes), ('names', 'convert', sizes), ('static', 'lower', most),
                                 ('loops', 'lower', most), ('nested48', 'lower', sizes), ('names', 'lower', sizes), ('static', 'encode', most)):
        row = []
        start_up = instructions(BENCH / 'bench_core', 'once', method, module(kind, FEW))[0]
        for count in counts:
            source = module(kind, count)
            row.append((instructions(BENCH / 'bench_core', 'once', method, source)[0] - start_up) / (count - FEW))
            source.unlink()
        cells = ' '.join(f'{v:10.0f}' for v in row) + ' ' * 11 * (len(million) - len(row))
        print(f'{kind:9} {method:8} {cells}   most/least {max(row) / min(row):.2f} (bound: 1.10)', flush=True)


def klr_module(count):
    path = WORK / f'{count}.klr'
    if not path.exists():
        with open(path, 'wb') as out:
            run(BENCH / 'generate_klr', count, stdout=out)
    return path


def instructions(*command):
    """Instructions that a command executes, by callgrind, and what it prints."""
    done = subprocess.run(['valgrind', '--tool=callgrind', '--callgrind-out-file=/dev/null', *(str(c) for c in command)], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return int(re.search(r'Collected : (\d+)', done.stderr.decode()).group(1)), done.stdout


def table_klr():
    title('Reading and converting .klr')
    sample = pathlib.Path(__file__).resolve().parent.parent / 'vectors' / 'klr' / 'flash_attention_2k.klr'
    print(run(BENCH / 'bench_klr', sample, klr_module(200000)).decode(), end='')
    if not shutil.which('valgrind'):
        print('valgrind not installed: no instruction counts')
        return
    for step, bound in (('read', ''), ('convert', ' (bound: 40)')):
        count, out = instructions(BENCH / 'bench_klr', 'once', step, sample)
        print(f'flash_attention_2k: instructions a byte to the end of {step:8} {count / int(out.split()[0]):6.1f}{bound}', flush=True)
    rows = [instructions(BENCH / 'bench_klr', 'once', 'convert', klr_module(count))[0] / count for count in (2000, 20000, 200000)]
    print('instructions a statement of 2,000, 20,000 and 200,000: ' + ' '.join(f'{v:8.0f}' for v in rows) +
          f'   last/first {rows[-1] / rows[0]:.2f} (bound: within 10%)', flush=True)


def dump(count):
    path = WORK / f'dump-{count}.json'
    if not path.exists():
        with open(path, 'wb') as out:
            run(BENCH / 'generate_dump', count, stdout=out)
    return path


def table_hazards():
    title('Hazard analysis of clean dumps, reading included (CPU time)')
    sizes = (5000, 20000, 80000, 320000)
    times = []
    for count in sizes:
        out = run(BENCH / 'bench_hazards', dump(count)).decode()
        print(out, end='', flush=True)
        times.append(float(re.search(r'total +([0-9.]+) s', out).group(1)))
        dump(count).unlink()
    print(f'  growth exponent from {sizes[0]} to {sizes[-1]}: {math.log(times[-1] / times[0]) / math.log(sizes[-1] / sizes[0]):.2f} (bound: 1.15)')


TABLES = {'read': table_read, 'hazards': table_hazards, 'klr': table_klr, 'lower': table_lower, 'encode': table_encode, 'warm': table_warm, 'merge': table_merge, 'growth': table_growth}


def main():
    names = sys.argv[2:] or list(TABLES)
    unknown = [n for n in names if n not in TABLES]
    if unknown:
        print(f'no such table: {", ".join(unknown)}; there are {", ".join(TABLES)}', file=sys.stderr)
        return 2
    try:
        for name in names:
            TABLES[name]()
    finally:
        shutil.rmtree(WORK, ignore_errors=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
