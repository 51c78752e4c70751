#!/usr/bin/env python3
"""The daemon as its clients see it."""
import json
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import tempfile
import time
import unittest

from harness import (CODES, HELLO, METHODS, ROOSTD, SOURCE, TIMEOUT, Connection, Daemon, ReplyError, SchemaError, check_schema,
                     frame, load_schema, main, schema_of)

SAMPLES = SOURCE / 'tests' / 'vectors' / 'integration'
MODULE = (SAMPLES / 'static_scale.json').read_bytes()
LOOP = (SAMPLES / 'loop_sb.json').read_bytes()
UNKNOWN = '00' * 32


class Handshake(unittest.TestCase):
    def test_hello_names_everything(self):
        with Daemon('--in-flight=7', '--payload-bytes=5M') as daemon, daemon.connect() as c:
            self.assertEqual(c.hello['protocol'], {'major': 1, 'minor': 0})
            self.assertEqual(c.hello['pid'], daemon.process.pid)
            self.assertEqual(c.hello['limits']['in_flight'], 7)
            self.assertEqual(c.hello['limits']['payload_bytes'], 5 << 20)
            self.assertEqual(sorted(c.hello['capabilities']),
                             sorted(('hello', 'ping', 'stats', 'cancel', 'shutdown') + METHODS))
            c.call('hello', HELLO)

    def test_major_mismatch_names_both_sides(self):
        with Daemon() as daemon, daemon.connect(hello=False) as c:
            error = c.fail('hello', {'protocol': {'major': 2, 'minor': 5}, 'build_id': 'their"build'})
            self.assertEqual(error['code'], CODES['version'])
            self.assertEqual(error['data']['client'], {'protocol': {'major': 2, 'minor': 5}, 'build_id': 'their"build'})
            self.assertEqual(error['data']['server']['protocol'], {'major': 1, 'minor': 0})
            self.assertIn(error['data']['server']['build_id'], error['message'])
            c.call('hello', {'protocol': {'major': 1, 'minor': 9}, 'more': 1})
            c.call('ping')

    def test_hello_comes_first(self):
        with Daemon() as daemon:
            for method in ('ping', 'lower', 'nonsense'):
                with daemon.connect(hello=False) as c:
                    self.assertEqual(c.fail(method, {})['code'], CODES['invalid-request'])
                    self.assertTrue(c.closed())

    def test_malformed_hello(self):
        with Daemon() as daemon, daemon.connect(hello=False) as c:
            for params in ({}, {'protocol': 1}, {'protocol': {'major': '1', 'minor': 0}}, {'protocol': {'major': 1}},
                           {'protocol': {'major': -1, 'minor': 0}}):
                self.assertEqual(c.fail('hello', params)['code'], CODES['invalid-params'])
            c.call('hello', HELLO)


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = Daemon()
        cls.daemon.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.daemon.__exit__(None)

    def test_ping_and_unknown_method(self):
        with self.daemon.connect() as c:
            self.assertEqual(c.call('ping'), ({}, b''))
            self.assertEqual(c.fail('frobnicate')['code'], CODES['unknown-method'])
            c.call('ping')

    def test_miss_then_l1_by_payload_and_by_digest(self):
        module = MODULE + b'\n'
        with self.daemon.connect() as c:
            first, lowered = c.compile('lower', module)
            self.assertEqual(first['cache'], 'miss')
            self.assertTrue(lowered)
            for again in (c.compile('lower', module), c.repeat('lower', first['digest']),
                          c.repeat('lower', first['digest']), c.repeat('lower', first['digest'])):
                self.assertEqual(again[0]['cache'], 'l1')
                self.assertEqual(again[0]['digest'], first['digest'])
                self.assertEqual(again[1], lowered)
        with self.daemon.connect() as c:
            self.assertEqual(c.repeat('lower', first['digest'])[1], lowered)

    def test_digest_is_blake2b(self):
        import hashlib
        with self.daemon.connect() as c:
            for size in (len(MODULE), 100000, 1000000):
                module = MODULE + b' ' * (size - len(MODULE))
                result, _ = c.compile('lower', module)
                self.assertEqual(result['digest'], hashlib.blake2b(module, digest_size=32).hexdigest())

    def test_options_are_part_of_the_key(self):
        with self.daemon.connect() as c:
            compact = c.compile('convert', LOOP)
            digest = compact[0]['digest']
            indented = c.repeat('convert', digest, {'indent': 2})
            self.assertEqual(indented[0]['cache'], 'miss')
            self.assertEqual(c.repeat('convert', digest, {'indent': 2})[0]['cache'], 'l1')
            self.assertEqual(c.repeat('convert', digest, {'indent': 0})[0]['cache'], 'l1')
            self.assertNotEqual(compact[1], indented[1])
            self.assertEqual(json.loads(compact[1]), json.loads(indented[1]))

    def test_unknown_digest(self):
        with self.daemon.connect() as c:
            for _ in range(2):
                with self.assertRaises(ReplyError) as caught:
                    c.repeat('lower', UNKNOWN)
                self.assertEqual(caught.exception.name, 'not-found')

    def test_invalid_params(self):
        module = {'module': {'format': 'auto'}}
        cases = [None, {}, {'module': 1}, {'module': {'digest': 'xyz'}}, {'module': {'digest': UNKNOWN.upper() + 'A'}},
                 {'module': {'digest': 7}}, {'module': {'format': 'elf'}}, {'module': {'format': 1}},
                 {**module, 'options': []}, {**module, 'options': {'nonsense': True}},
                 {**module, 'options': {'strict': 'yes'}}, {**module, 'options': {'indent': True}},
                 {**module, 'options': {'indent': 100000}}, {**module, 'options': {'check': 'maybe'}},
                 {**module, 'options': {'faithful': True}}, {**module, 'deadline_ms': 0},
                 {**module, 'deadline_ms': '5'},
                 {'module': {'digest': UNKNOWN, 'format': 'auto'}}]
        with self.daemon.connect() as c:
            for params in cases:
                self.assertEqual(c.fail('lower', params, MODULE)['code'], CODES['invalid-params'], params)
            c.call('ping')

    def test_bad_module(self):
        with self.daemon.connect() as c:
            for _ in range(2):
                error = c.fail('lower', {'module': {'format': 'bir-json'}}, b'{"functions":')
                self.assertEqual(error['code'], CODES['bad-module'])
                self.assertEqual(error['data']['diagnostics'][0]['severity'], 'error')
            c.fail('lower', {'module': {}}, b'')

    def test_check(self):
        with self.daemon.connect() as c:
            good, payload = c.compile('check', MODULE)
            self.assertTrue(good['valid'])
            self.assertEqual(payload, b'')
            for cache in ('miss', 'l1'):
                bad, _ = c.compile('check', b'[broken')
                self.assertFalse(bad['valid'])
                self.assertEqual(bad['cache'], cache)
                self.assertEqual(bad['diagnostics'][0]['severity'], 'error')

    def test_verdict_is_kept_with_the_answer(self):
        vectors = SOURCE / 'tests' / 'vectors' / 'hazards'
        seen = set()
        with self.daemon.connect() as c:
            for expected in sorted(vectors.glob('*.expect.json')):
                verdict = json.loads(expected.read_text())['verdict']
                if verdict in seen:
                    continue
                seen.add(verdict)
                module = (vectors / expected.name.replace('.expect', '')).read_bytes()
                for report in ('json', 'text'):
                    first, output = c.compile('hazards', module, {'report': report})
                    self.assertEqual((first['cache'], first['verdict']), ('miss', verdict), expected)
                    for again in (c.compile('hazards', module, {'report': report}),
                                  c.repeat('hazards', first['digest'], {'report': report}),
                                  c.repeat('hazards', first['digest'], {'report': report})):
                        self.assertEqual((again[0]['cache'], again[0]['verdict'], again[1]), ('l1', verdict, output))
                    if report == 'json':
                        self.assertEqual(json.loads(output)['verdict'], verdict)
        self.assertEqual(seen, {'clean', 'findings', 'undecided'})

    def test_every_method_is_counted(self):
        with Daemon() as daemon, daemon.connect() as c:
            for method in METHODS:
                payload = b'00' * 64 if method == 'decode' else LOOP
                c.call(method, {'module': {}}, payload)
                c.call(method, {'module': {}}, payload)
            requests = c.call('stats')[0]['requests']
            self.assertEqual({m: requests[m] for m in METHODS}, {m: 2 for m in METHODS})

    def test_decode(self):
        with self.daemon.connect() as c:
            text = b'00 10 00 00 01 00 40 00 20 00 10 00'
            options = {'slot': 'TENSOR2D', 'report': 'json'}
            as_hex = c.call('decode', {'module': {}, 'options': options}, text)
            as_bytes = c.call('decode', {'module': {}, 'options': {**options, 'bytes': 'binary'}}, bytes.fromhex(text.decode()))
            self.assertEqual(json.loads(as_hex[1]), json.loads(as_bytes[1]))
            self.assertEqual(c.repeat('decode', as_hex[0]['digest'], options)[1], as_hex[1])
            for params, payload in (({'module': {'format': 'auto'}}, text), ({'module': {}, 'options': {'slot': 'TENSOR9D'}}, text),
                                    ({'module': {}, 'options': {'check': 'off'}}, text)):
                self.assertEqual(c.fail('decode', params, payload)['code'], CODES['invalid-params'])
            for payload in (b'', b'0', b'zz', b'00' * 65):
                error = c.fail('decode', {'module': {}, 'options': {'bytes': 'hex'}}, payload)
                self.assertEqual(error['data']['name'], 'bad-module')
                self.assertEqual(error['data']['diagnostics'][0]['severity'], 'error')

    def test_ids(self):
        with self.daemon.connect() as c:
            for id in ('a "quoted" \u00fc id', 0, -5, 1 << 62, 'x' * 128):
                message, _ = c.wait(c.send('ping', id=id))
                self.assertEqual(message['id'], id)
                message, _ = c.wait(c.send('convert', {'module': {}}, MODULE, id=id))
                self.assertEqual(message['id'], id)
            c.send('ping', id='x' * 129)
            self.assertEqual(c.receive()[0]['error']['code'], CODES['invalid-request'])

    def test_pipelined_requests_are_all_answered(self):
        with self.daemon.connect() as c:
            digest = c.compile('check', MODULE)[0]['digest']
            ids = [c.send('check', {'module': {'digest': digest}}) for _ in range(500)]
            self.assertEqual({c.receive()[0]['id'] for _ in ids}, set(ids))

    def test_byte_by_byte(self):
        with self.daemon.connect() as c:
            data = frame({'jsonrpc': '2.0', 'id': 900, 'method': 'convert', 'params': {'module': {}}}, b'{}')
            c.methods[900] = 'convert'
            for i in range(len(data)):
                c.send_raw(data[i:i + 1])
            self.assertEqual(c.receive()[0]['id'], 900)

    def test_examples_of_the_protocol_page(self):
        text = (SOURCE / 'proto' / 'protocol.md').read_text(encoding='utf-8')
        examples = re.findall(r'^    (->|<-) (\{.*\})$(?:\n       payload: (.*)$)?', text, re.M)
        requests = [(json.loads(t), payload) for arrow, t, payload in examples if arrow == '->']
        replies = [(json.loads(t), payload) for arrow, t, payload in examples if arrow == '<-']
        self.assertGreaterEqual(len(requests), 8)
        with Daemon() as daemon, daemon.connect(hello=False) as c:
            for request, payload in requests:
                if 'id' not in request:
                    check_schema(load_schema('cancel.notification'), request)
                    c.send_raw(frame(request))
                    continue
                c.send(request['method'], request.get('params'), LOOP if payload == 'the module' else payload.encode(),
                       id=request['id'])
                message, output = c.receive()
                shown = [r for r in replies if r[0]['id'] == request['id']]
                self.assertEqual(len(shown), 1)
                self.assertEqual(set(shown[0][0]['result']), set(message['result']))
                self.assertEqual(bool(shown[0][1]), bool(output), request)
                if shown[0][1].startswith('{'):
                    members = re.findall(r'"(\w+)":["\[]', shown[0][1])
                    self.assertEqual(members, list(json.loads(output)))
            self.assertEqual(daemon.process.wait(TIMEOUT), 0)

    def test_schemas_reject(self):
        with self.assertRaises(SchemaError):
            check_schema(load_schema('error'), {'jsonrpc': '2.0', 'id': 1, 'error': {
                'code': -32001, 'message': '', 'data': {'name': 'version'}}})
        with self.assertRaises(SchemaError):
            check_schema(schema_of('lower', 'result'), {'jsonrpc': '2.0', 'id': 1, 'result': {'cache': 'l1'}})


class SharedWork(unittest.TestCase):
    def test_64_clients_one_compile(self):
        with Daemon('--debug-hold-ms=1500') as daemon:
            clients = [daemon.connect() for _ in range(64)]
            for c in clients:
                c.send('lower', {'module': {'format': 'auto'}}, LOOP, id=7)
            replies = [c.wait(7) for c in clients]
            outcomes = [message['result']['cache'] for message, _ in replies]
            self.assertEqual(sorted(outcomes), ['merged'] * 63 + ['miss'])
            self.assertEqual(len({payload for _, payload in replies}), 1)
            stats = clients[0].call('stats')[0]
            self.assertEqual(stats['jobs']['compiles'], 1)
            self.assertEqual(stats['answers'], {'l1': 0, 'miss': 1, 'merged': 63})
            self.assertEqual(stats['memory']['held_bytes'], 0)
            for c in clients:
                c.close()

    def test_failure_is_shared_and_not_kept(self):
        with Daemon('--debug-hold-ms=500') as daemon, daemon.connect() as c:
            ids = [c.send('lower', {'module': {}}, b'nonsense') for _ in range(3)]
            for id in ids:
                self.assertEqual(c.wait(id)[0]['error']['data']['name'], 'bad-module')
            self.assertEqual(c.call('stats')[0]['jobs']['compiles'], 1)
            c.fail('lower', {'module': {}}, b'nonsense')
            stats = c.call('stats')[0]
            self.assertEqual(stats['jobs']['compiles'], 2)
            self.assertEqual(stats['cache']['l1']['answers']['entries'], 0)
            self.assertEqual(stats['cache']['l1']['sources']['entries'], 0)

    def test_cancel(self):
        with Daemon('--debug-hold-ms=60000') as daemon, daemon.connect() as c:
            started = time.monotonic()
            id = c.send('lower', {'module': {}}, MODULE)
            c.notify('cancel', {'id': 12345})
            c.notify('cancel', {'id': id})
            self.assertEqual(c.wait(id)[0]['error']['data']['name'], 'cancelled')
            stats = daemon.until(lambda s: s['jobs']['active'] == 0, 'the job ends')
            self.assertEqual(stats['jobs']['cancelled'], 1)
            self.assertLess(time.monotonic() - started, 30)

    def test_cancel_of_one_leaves_the_others(self):
        with Daemon('--debug-hold-ms=700') as daemon, daemon.connect() as leader, daemon.connect() as follower:
            first = leader.send('lower', {'module': {}}, MODULE)
            daemon.until(lambda s: s['jobs']['active'] == 1, 'the leader runs')
            second = follower.send('lower', {'module': {}}, MODULE)
            daemon.until(lambda s: s['requests']['open'] == 2, 'the follower joins')
            leader.notify('cancel', {'id': first})
            self.assertEqual(leader.wait(first)[0]['error']['data']['name'], 'cancelled')
            self.assertEqual(follower.wait(second)[0]['result']['cache'], 'merged')

    def test_nobody_joins_cancelled_work(self):
        with Daemon('--debug-hold-ms=700') as daemon, daemon.connect() as c:
            first = c.send('lower', {'module': {}}, MODULE)
            c.notify('cancel', {'id': first})
            second = c.send('lower', {'module': {}}, MODULE)
            self.assertEqual(c.wait(first)[0]['error']['data']['name'], 'cancelled')
            self.assertEqual(c.wait(second)[0]['result']['cache'], 'miss')

    def test_disconnect_stops_the_work(self):
        with Daemon('--debug-hold-ms=60000') as daemon:
            with daemon.connect() as c:
                c.send('lower', {'module': {}}, MODULE)
                daemon.until(lambda s: s['jobs']['active'] == 1, 'the job starts')
            stats = daemon.until(lambda s: s['jobs']['active'] == 0, 'the job ends')
            self.assertEqual(stats['jobs']['cancelled'], 1)
            self.assertEqual(stats['requests']['open'], 0)
            self.assertEqual(stats['memory']['held_bytes'], 0)

    def test_deadline(self):
        with Daemon('--debug-hold-ms=60000') as daemon, daemon.connect() as c, daemon.connect() as patient:
            other = patient.send('lower', {'module': {}}, MODULE)
            daemon.until(lambda s: s['jobs']['active'] == 1, 'the job starts')
            started = time.monotonic()
            error = c.fail('lower', {'module': {}, 'deadline_ms': 300}, MODULE)
            self.assertEqual(error['code'], CODES['deadline'])
            self.assertIn('300', error['message'])
            self.assertLess(time.monotonic() - started, 30)
            self.assertEqual(daemon.stats()['jobs']['active'], 1)
            patient.notify('cancel', {'id': other})
            daemon.until(lambda s: s['jobs']['active'] == 0, 'the job ends')

    def test_default_deadline(self):
        with Daemon('--debug-hold-ms=60000', '--deadline-ms=200') as daemon, daemon.connect() as c:
            self.assertEqual(c.fail('lower', {'module': {}}, MODULE)['code'], CODES['deadline'])

    def test_duplicate_id(self):
        with Daemon('--debug-hold-ms=400') as daemon, daemon.connect() as c:
            c.send('lower', {'module': {}}, MODULE, id=5)
            c.send('lower', {'module': {}}, LOOP, id=5)
            self.assertEqual(c.receive()[0]['error']['data']['name'], 'invalid-request')
            self.assertIn('result', c.receive()[0])


class Limits(unittest.TestCase):
    def test_in_flight(self):
        with Daemon('--debug-hold-ms=400', '--in-flight=2') as daemon, daemon.connect() as c:
            ids = [c.send('lower', {'module': {}}, MODULE + b' ' * i) for i in range(3)]
            self.assertEqual(c.wait(ids[2])[0]['error']['data']['name'], 'busy')
            for id in ids[:2]:
                self.assertIn('result', c.wait(id)[0])

    def test_queued_jobs(self):
        with Daemon('--debug-hold-ms=400', '--queued-jobs=1') as daemon, daemon.connect() as c:
            ids = [c.send('lower', {'module': {}}, MODULE + b' ' * i) for i in range(2)]
            self.assertEqual(c.wait(ids[1])[0]['error']['data']['name'], 'busy')
            self.assertIn('result', c.wait(ids[0])[0])

    def test_connections(self):
        with Daemon('--connections=2') as daemon:
            with daemon.connect(), daemon.connect():
                with daemon.connect(hello=False) as third:
                    self.assertEqual(third.receive()[0]['error']['data']['name'], 'busy')
                    self.assertTrue(third.closed())
            daemon.until(lambda s: s['connections']['open'] == 1, 'they go')

    def test_silent_connections_end(self):
        """One that says nothing, and one that never ends its hello; a greeted one may be silent."""
        with Daemon('--greeting-ms=300') as daemon, daemon.connect() as greeted, daemon.connect(hello=False) as silent, \
                daemon.connect(hello=False) as slow:
            slow.send_raw(frame({'jsonrpc': '2.0', 'id': 1, 'method': 'hello', 'params': HELLO})[:-5])
            for c in (silent, slow):
                message, _ = c.receive()
                self.assertEqual((message['id'], message['error']['data']['name']), (None, 'invalid-request'))
                self.assertIn('300 ms', message['error']['message'])
                self.assertTrue(c.closed())
            time.sleep(0.4)
            greeted.call('ping')
            self.assertEqual(greeted.hello['limits']['greeting_ms'], 300)

    def test_payload_size(self):
        with Daemon('--payload-bytes=100000') as daemon, daemon.connect() as c:
            error = c.fail('lower', {'module': {}}, b' ' * 100001)
            self.assertEqual(error['code'], CODES['too-large'])
            self.assertIn('100001', error['message'])
            self.assertIn('100000', error['message'])
            c.compile('convert', MODULE)

    def test_held_bytes(self):
        with Daemon('--held-bytes=200000', '--debug-hold-ms=500') as daemon, daemon.connect() as c:
            first = c.send('convert', {'module': {}}, MODULE + b' ' * 150000)
            second = c.send('convert', {'module': {}}, MODULE + b' ' * 150001)
            self.assertEqual(c.wait(second)[0]['error']['data']['name'], 'busy')
            self.assertIn('result', c.wait(first)[0])
            c.compile('convert', MODULE + b' ' * 150002)
            self.assertEqual(c.call('stats')[0]['memory']['held_bytes'], 0)

    def test_json_depth(self):
        with Daemon() as daemon, daemon.connect() as c:
            c.send_raw(frame(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":' + b'[' * 100000 + b'}}'))
            self.assertEqual(c.receive()[0]['error']['data']['name'], 'parse')
            self.assertTrue(c.closed())
            daemon.stats()

    def test_cache_budget(self):
        with Daemon('--cache-bytes=400K') as daemon, daemon.connect() as c:
            for i in range(40):
                c.compile('convert', MODULE + b' ' * (20000 + i))
            stats = c.call('stats')[0]['cache']['l1']
            self.assertLessEqual(stats['used_bytes'], 400 << 10)
            self.assertGreater(stats['sources']['evicted'] + stats['answers']['evicted'], 20)
        with Daemon('--cache-bytes=0') as daemon, daemon.connect() as c:
            for _ in range(2):
                self.assertEqual(c.compile('convert', MODULE)[0]['cache'], 'miss')

    def test_client_that_does_not_read(self):
        with Daemon('--output-queue-bytes=65536', '--in-flight=65536') as daemon, daemon.connect() as c, daemon.connect() as other:
            digest = c.compile('convert', LOOP + b' ' * 1000)[0]['digest']
            reply = len(c.repeat('convert', digest)[1])
            text = frame({'jsonrpc': '2.0', 'id': 1, 'method': 'convert', 'params': {'module': {'digest': digest}}})
            c.methods[1] = 'convert'
            c.socket.setblocking(False)
            sent = 0
            end = time.monotonic() + 5
            data = text * 200
            blocked = 0
            while blocked < 50 and time.monotonic() < end:
                try:
                    at = sent % len(data)
                    sent += c.socket.send(data[at:])
                    blocked = 0
                except BlockingIOError:
                    blocked += 1
                    time.sleep(0.01)
            self.assertEqual(blocked, 50, 'the daemon never stopped reading')
            other.call('ping')
            stats = other.call('stats')[0]
            self.assertLess(stats['bytes']['sent'], (sent // len(text)) * reply)
            # Once it reads, everything complete is answered.
            c.socket.settimeout(TIMEOUT)
            for _ in range(sent // len(text)):
                c.receive()


class Hostile(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon('--log-level=error')
        self.daemon.__enter__()
        self.witness = self.daemon.connect()
        self.digest = self.witness.compile('lower', MODULE)[0]['digest']

    def tearDown(self):
        self.assertEqual(self.witness.repeat('lower', self.digest)[0]['cache'], 'l1')
        self.witness.close()
        self.daemon.__exit__(None)

    def expect_closed(self, data, name):
        with self.daemon.connect() as c:
            c.send_raw(data)
            message, _ = c.receive()
            self.assertIsNone(message['id'])
            self.assertEqual(message['error']['data']['name'], name)
            self.assertTrue(c.closed())

    def test_broken_frames(self):
        for data, name in [(b'\xff' * 64, 'too-large'), (b'GET / HTTP/1.1\r\n\r\n', 'too-large'),
                           (struct.pack('>II', 0, 0), 'invalid-request'), (struct.pack('>II', 1 << 31, 0), 'too-large'),
                           (frame(b'{"a":"\xff\xfe"}'), 'parse'), (frame(b'\0\0\0\0'), 'parse'), (frame(b'nonsense'), 'parse'),
                           (frame(b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}'), 'parse')]:
            self.expect_closed(data, name)

    def test_refused_messages_keep_the_connection(self):
        with self.daemon.connect() as c:
            for text in (b'[]', b'[{}]', b'{}', b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
                         b'{"jsonrpc":"2.0","id":{},"method":"ping"}', b'{"jsonrpc":"2.0","id":1,"result":{}}',
                         b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}'):
                c.send_raw(frame(text))
                self.assertIn('error', c.receive()[0], text)
            c.send_raw(frame(b'{"jsonrpc":"2.0","method":"unknown"}'))
            c.send_raw(frame(b'{"jsonrpc":"2.0","method":"lower","params":{}}'))
            c.send_raw(frame(b'{"jsonrpc":"2.0","method":"cancel"}'))
            c.send_raw(frame(b'{"jsonrpc":"2.0","method":"cancel","params":{"id":[]}}'))
            c.call('ping')

    def test_answers_are_utf8_wherever_names_are_cut(self):
        """Messages quote names of the request up to a length that may lie inside a character."""
        with self.daemon.connect() as c:
            for n in range(60, 66):
                name = 'x' * n + '\u00e9\u20ac\U0001f40c' * 20
                texts = [{'method': name}, {'method': 'lower', 'params': {'module': {}, 'options': {name: 1}}},
                         {'method': 'lower', 'params': {'module': {'format': name}}},
                         {'method': 'decode', 'params': {'module': {}, 'options': {'slot': name}}}]
                for text in texts:
                    c.send_raw(frame(json.dumps({'jsonrpc': '2.0', 'id': 1, **text}, ensure_ascii=False).encode()))
                    self.assertIn(c.receive()[0]['error']['data']['name'], ('unknown-method', 'invalid-params'))
        for n in range(100, 160):
            self.expect_closed(frame(b'{"jsonrpc":"2.0",' + b'x' * n + '\u20ac'.encode() * 60), 'parse')
            name = '"' + 'x' * n + '\u20ac' * 60 + '":1'
            self.expect_closed(frame(('{' + name + ',' + name + '}').encode()), 'parse')

    def test_a_notification_sent_as_a_request_is_answered(self):
        with self.daemon.connect() as c:
            c.send_raw(frame({'jsonrpc': '2.0', 'id': 7, 'method': 'cancel', 'params': {'id': 1}}))
            message, _ = c.receive()
            self.assertEqual((message['id'], message['error']['data']['name']), (7, 'invalid-request'))

    def test_a_wrong_choice_is_told_the_right_ones(self):
        with self.daemon.connect() as c:
            error = c.fail('lower', {'module': {}, 'options': {'check': 'maybe'}})
            self.assertIn('sample|full|off', error['message'])
            error = c.fail('lower', {'module': {}, 'options': {'passes': 'lower_ap,colour_registers'}})
            self.assertIn('did you mean color_registers? passes: klr_codegen ', error['message'])
            error = c.fail('check', {'module': {}, 'options': {'allocate': 'first-fit'}})
            self.assertIn('unknown option', error['message'])

    def test_log_lines_hold_no_control_characters(self):
        with Daemon() as daemon:
            with daemon.connect() as c:
                c.send_raw(frame(b'{"a":\x1b[31m\n\x07}'))
                c.receive()
                self.assertTrue(c.closed(), 'the line is written by then')
            log = daemon.log_text()
            self.assertIn('is not valid', log)
            self.assertNotRegex(log.replace('\n', ''), '[\\x00-\\x1f\\x7f]')

    def test_false_length_and_disconnect(self):
        for announced in (1 << 29, 1000):
            with self.daemon.connect() as c:
                text = b'{"jsonrpc":"2.0","id":1,"method":"lower","params":{"module":{}}}'
                c.send_raw(struct.pack('>II', len(text), announced) + text + b'abc')
                time.sleep(0.05)
                self.assertLess(self.witness.call('stats')[0]['memory']['held_bytes'], 1 << 20)
        self.daemon.until(lambda s: s['connections']['open'] == 2 and s['memory']['held_bytes'] == 0, 'they go')

    def test_cut_at_every_byte(self):
        data = frame({'jsonrpc': '2.0', 'id': 1, 'method': 'convert', 'params': {'module': {}}}, b'{}  ')
        for cut in range(len(data)):
            with self.daemon.connect() as c:
                c.send_raw(data[:cut])
        self.daemon.until(lambda s: s['connections']['open'] == 2, 'they go')

    def test_mutated_frames(self):
        import random
        rng = random.Random(7)
        good = frame({'jsonrpc': '2.0', 'id': 1, 'method': 'convert', 'params': {'module': {'format': 'auto'}}}, b'{"functions":[]}')
        for _ in range(300):
            data = bytearray(good)
            for _ in range(rng.randrange(1, 5)):
                data[rng.randrange(4 if rng.random() < .9 else 0, len(data))] = rng.randrange(256)
            with self.daemon.connect(hello=rng.random() < .8) as c:
                c.send_raw(bytes(data))
                if rng.random() < .3:
                    c.socket.shutdown(socket.SHUT_WR)
                    try:
                        while c.socket.recv(65536):
                            pass
                    except ConnectionError:
                        pass


class Life(unittest.TestCase):
    def test_signals_drain(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with Daemon('--debug-hold-ms=800') as daemon, daemon.connect() as c, daemon.connect():
                id = c.send('lower', {'module': {}}, MODULE)
                daemon.until(lambda s: s['jobs']['active'] == 1, 'the job starts')
                daemon.process.send_signal(number)
                daemon.gone()
                self.assertEqual(c.fail('lower', {'module': {}}, LOOP)['code'], CODES['shutting-down'])
                c.call('ping')
                self.assertIn('result', c.wait(id)[0])
                self.assertTrue(c.closed())
                self.assertEqual(daemon.process.wait(TIMEOUT), 0)
                self.assertFalse(daemon.path.exists())

    def test_drain_timeout(self):
        with Daemon('--debug-hold-ms=60000', '--drain-timeout-ms=200') as daemon, daemon.connect() as c:
            id = c.send('lower', {'module': {}}, MODULE)
            daemon.until(lambda s: s['jobs']['active'] == 1, 'the job starts')
            daemon.process.send_signal(signal.SIGTERM)
            self.assertEqual(c.wait(id)[0]['error']['data']['name'], 'shutting-down')
            self.assertEqual(daemon.process.wait(TIMEOUT), 0)

    def test_second_signal_gives_up_the_work(self):
        with Daemon('--debug-hold-ms=60000', '--drain-timeout-ms=60000') as daemon, daemon.connect() as c:
            id = c.send('lower', {'module': {}}, MODULE)
            daemon.until(lambda s: s['jobs']['active'] == 1, 'the job starts')
            daemon.process.send_signal(signal.SIGINT)
            daemon.gone()
            daemon.process.send_signal(signal.SIGINT)
            self.assertEqual(c.wait(id)[0]['error']['data']['name'], 'shutting-down')
            self.assertEqual(daemon.process.wait(TIMEOUT), 0)

    def test_ignored_signals_stay_ignored(self):
        with Daemon(command=['sh', '-c', 'trap "" HUP INT; exec "$0" "$@"']) as daemon:
            daemon.process.send_signal(signal.SIGHUP)
            daemon.process.send_signal(signal.SIGINT)
            time.sleep(0.2)
            daemon.stats()

    def test_closed_standard_streams(self):
        """No socket may take the number of a stream that whoever starts the daemon has closed."""
        with Daemon(command=['sh', '-c', 'exec "$0" "$@" <&- >&-']) as daemon, daemon.connect() as c:
            c.compile('lower', MODULE)
            for number in (0, 1):
                self.assertEqual(os.readlink(f'/proc/{daemon.process.pid}/fd/{number}'), '/dev/null')

    def test_journal_priorities_only_in_the_journal(self):
        """Shells of a graphical session inherit JOURNAL_STREAM, which names another stream than their terminal."""
        with Daemon(env={**os.environ, 'JOURNAL_STREAM': '8:12345'}) as daemon:
            self.assertTrue(daemon.log_text().startswith('roostd: version'), daemon.log_text())
        with Daemon(command=['python3', '-c', '''if True:
                import os, sys
                st = os.fstat(2)
                os.environ['JOURNAL_STREAM'] = f'{st.st_dev}:{st.st_ino}'
                os.execv(sys.argv[1], sys.argv[1:])''']) as daemon:
            self.assertTrue(daemon.log_text().startswith('<6>roostd: version'), daemon.log_text())

    def test_shutdown_request(self):
        with Daemon() as daemon, daemon.connect() as c:
            self.assertEqual(c.call('shutdown')[0], {'draining': True})
            self.assertTrue(c.closed())
            self.assertEqual(daemon.process.wait(TIMEOUT), 0)

    def test_stale_socket_and_kill(self):
        with Daemon() as daemon:
            daemon.stop(signal.SIGKILL)
            self.assertTrue(daemon.path.exists())
            with Daemon(path=daemon.path) as again:
                self.assertEqual(again.stats()['requests']['total'], 2)

    def test_second_daemon_refuses(self):
        with Daemon() as daemon:
            second = Daemon(path=daemon.path)
            self.assertEqual(second.process.returncode, 1)
            self.assertIn('another roostd is running', second.ready)
            self.assertIn(str(daemon.path), second.refusal)
            daemon.stats()

    def test_answering_socket_is_left_alone(self):
        with tempfile.TemporaryDirectory(dir='/tmp') as directory, socket.socket(socket.AF_UNIX) as other:
            path = f'{directory}/sock'
            other.bind(path)
            other.listen()
            self.assertIn('another process answers', Daemon(path=path).ready)
            self.assertTrue(os.path.exists(path))

    def test_what_is_no_socket_is_left_alone(self):
        with tempfile.TemporaryDirectory(dir='/tmp') as directory:
            path = pathlib.Path(directory, 'sock')
            path.write_text('precious')
            self.assertIn('not a socket', Daemon(path=path).ready)
            self.assertEqual(path.read_text(), 'precious')
            self.assertEqual(os.listdir(directory), ['sock'], 'and nothing is made beside it')

    def test_socket_mode(self):
        with Daemon() as daemon:
            self.assertEqual(daemon.path.stat().st_mode & 0o777, 0o700)

    def test_path_too_long(self):
        long = Daemon(path='/tmp/' + 'x' * 103)
        self.assertEqual(long.process.returncode, 1)
        self.assertIn('108 bytes', long.ready)
        self.assertIn('107', long.ready)

    def test_socket_activation(self):
        with tempfile.TemporaryDirectory(dir='/tmp') as directory, socket.socket(socket.AF_UNIX) as listening:
            path = f'{directory}/sock'
            listening.bind(path)
            listening.listen()
            wrapper = ('import os,sys; fd=int(sys.argv[1]); os.dup2(fd,3); os.environ.update(LISTEN_FDS=sys.argv[2], '
                       'LISTEN_PID=str(os.getpid())); os.execv(sys.argv[3], sys.argv[3:])')

            def start(fd, count='1'):
                return subprocess.Popen(['python3', '-c', wrapper, str(fd), count, ROOSTD], pass_fds=(fd,),
                                        stderr=subprocess.PIPE)
            daemon = start(listening.fileno())
            with Connection(path) as c:
                c.call('ping')
                c.call('shutdown')
            self.assertEqual(daemon.wait(TIMEOUT), 0)
            daemon.stderr.close()
            self.assertTrue(os.path.exists(path), 'the path belongs to the service manager')
            with socket.socket(socket.AF_INET) as wrong, socket.socket(socket.AF_UNIX) as deaf, open('/dev/null') as null:
                for fd, count, text in [(wrong.fileno(), '1', b'not a Unix socket'),
                                        (deaf.fileno(), '1', b'not a listening'), (null.fileno(), '1', b'not a Unix socket'),
                                        (listening.fileno(), '2', b'takes one')]:
                    refused = start(fd, count)
                    self.assertIn(text, refused.communicate(timeout=TIMEOUT)[1])
                    self.assertEqual(refused.returncode, 1)

    def test_notify(self):
        with tempfile.TemporaryDirectory(dir='/tmp') as directory, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(f'{directory}/notify')
            manager.settimeout(TIMEOUT)
            env = {**os.environ, 'NOTIFY_SOCKET': f'{directory}/notify', 'WATCHDOG_USEC': '200000'}
            with Daemon(env=env) as daemon:
                seen = [manager.recv(4096).decode() for _ in range(4)]
                self.assertTrue(any(s.startswith('READY=1\nSTATUS=') for s in seen), seen)
                self.assertGreaterEqual(seen.count('WATCHDOG=1'), 2)
                daemon.process.send_signal(signal.SIGTERM)
                text = ''
                while 'STOPPING=1' not in text:
                    text = manager.recv(4096).decode()

    def test_idle_timeout(self):
        with Daemon('--idle-timeout=1', '--debug-hold-ms=1500') as daemon:
            with daemon.connect() as c:
                time.sleep(1.3)
                self.assertIsNone(daemon.process.poll(), 'a connection is open')
                c.compile('lower', MODULE)
            started = time.monotonic()
            self.assertEqual(daemon.process.wait(TIMEOUT), 0)
            self.assertGreater(time.monotonic() - started, 0.7)

    def test_environment_does_not_matter(self):
        with Daemon(env={**os.environ, 'LC_ALL': 'de_DE.UTF-8', 'LANG': 'de_DE', 'TZ': 'Asia/Tokyo', 'TMPDIR': '/nonexistent'}) as daemon:
            environ = pathlib.Path(f'/proc/{daemon.process.pid}/environ')
            daemon.stats()
            self.assertTrue(environ.exists())
            with daemon.connect() as c, Daemon() as plain, plain.connect() as p:
                self.assertEqual(c.compile('lower', LOOP), p.compile('lower', LOOP))

    def test_usage(self):
        def run(*arguments):
            return subprocess.run([ROOSTD, *arguments], capture_output=True, timeout=TIMEOUT)
        text = run('--help')
        self.assertEqual(text.returncode, 0)
        self.assertIn(b'--idle-timeout', text.stdout)
        self.assertEqual(text.stderr, b'')
        self.assertIn(b'protocol 1.0', run('--version').stdout)
        for bad in (['--nonsense'], ['--threads'], ['--threads=0'], ['--threads=x'], ['--threads=-1'], ['extra'],
                    ['--peers=all'], ['--help=1'], ['--cache-bytes=99999999999999999999'], ['--cache-bytes=1Q']):
            result = run(*bad)
            self.assertEqual(result.returncode, 2, bad)
            self.assertEqual(result.stdout, b'')
            self.assertTrue(result.stderr.startswith(b'roostd: error: '), result.stderr)
            self.assertNotIn(b'_', result.stderr, 'options are spelled as on the command line')


if __name__ == '__main__':
    main()
