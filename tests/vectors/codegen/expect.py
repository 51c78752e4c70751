#!/usr/bin/env python3
"""Expected conversion of the sample kernels, from their JSON renderings.

    expect.py > expect.tsv

A second implementation of the conversion rules, written from the format pages and not from the C code. It knows no module, no
bounds and no diagnostics beyond a code; test_codegen.c compares its lines with what the library makes of the .klr files.

Columns: file, body, statement, opcode, engine, operands, keys. A refused statement has `error` for opcode and the code for engine. A
statement of a file marked * is converted alone, in a kernel of its own.
Operands: LIST:LOCATION:DTYPE:PAIRS@OFFSET, imm:DTYPE:HEXBITS, LIST:reg:NAME, in list order ins, indirection_ins, outs; LIST is in, ind or out.
A runtime offset follows as {c=C,coef=K,OFFSET,max=M}, OFFSET a register name after "reg " or "ind ARG".
"""
import json
import os
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ALONE = ['all_operators_full', 'all_operators_bare', 'immediates', 'transpose2d']
WHOLE = ['tensor_add', 'tensor_add_unlowered', 'tensor_add_lnc2', 'matmul_tiled', 'rmsnorm', 'softmax', 'dynamic_offset', 'gather',
         'edges', 'lowering_guards_in', 'lowering_guards_out', 'lowering_extra_in', 'contents_kernel']

SIZES = {'int8': 1, 'uint8': 1, 'float8e3': 1, 'float8e4': 1, 'float8e5': 1, 'float8_e4m3fn': 1, 'int16': 2, 'uint16': 2, 'bfloat16': 2,
         'float16': 2, 'float4_e2m1fn_x4': 2, 'int32': 4, 'uint32': 4, 'float32': 4, 'float32r': 4, 'float8_e5m2_x4': 4,
         'float8_e4m3fn_x4': 4, 'int64': 8, 'uint64': 8}
NEVER = 'activate affineSelect copy dmaCopy loadMaskRegister loadStationary localGather matMul matchValueLoad rangeSelect ' \
        'scalarTensorTensor broadcast extendedInst'.split()
ENGINES = {'act': 'Activation', 'dma': 'DMA', 'dve': 'DVE', 'pe': 'PE', 'pool': 'Pool', 'sp': 'SP'}
FUNCTIONS = {'abs': 'Abs', 'arctan': 'Arctan', 'copy': 'Copy', 'erf': 'Erf', 'erf_dx': 'Derivative_Erf', 'exp': 'Exp', 'gelu': 'Gelu',
             'gelu_apprx_tanh': 'Gelu_apprx_tanh', 'gelu_dx': 'Derivative_Gelu', 'log': 'Ln', 'mish': 'Mish', 'reciprocal': 'Reciprocal',
             'relu': 'Relu', 'rsqrt': 'Rsqrt', 'sigmoid': 'Sigmoid', 'sign': 'Sign', 'silu': 'Silu', 'silu_dx': 'Derivative_silu',
             'sin': 'Sin', 'softplus': 'Softplus', 'sqrt': 'Sqrt', 'square': 'Square', 'tanh': 'Tanh',
             'gelu_apprx_sigmoid': 'Gelu_apprx_sigmoid', 'gelu_apprx_sigmoid_dx': 'Derivative_Gelu_apprx_sigmoid'}
ACCUMULATE = {'Idle': 'Idle', 'Zero': 'Zero', 'Accumulate': 'AddAccumulate', 'ZeroAccumulate': 'ZeroAccumulate'}
DGE = ['Unassigned', 'SWDGE', 'HWDGE', 'None']
COMPARE = {'lt': 'LT', 'le': 'LE', 'eq': 'EQ', 'ne': 'NE', 'ge': 'GE', 'gt': 'GT'}
COLLECTIVES = {'allReduce': 'AllReduce', 'allGather': 'AllGather', 'reduceScatter': 'ReduceScatter', 'collectivePermute': 'Permute',
               'collectivePermuteImplicit': 'PermuteImplicit', 'collectivePermuteImplicitReduce': 'PermuteReduceImplicit',
               'allToAll': 'AllToAll'}


class Refused(Exception):
    pass


def dtype(name):
    return 'float8e4' if name == 'float8_e4m3' else name


def arm(value):
    """(arm, payload) of a sum; an arm without fields is a bare string."""
    if isinstance(value, str):
        return value, None
    (name, payload), = value.items()
    return name, payload


def shape_of(tensor):
    dims = [tensor['shape']['parDim']] + tensor['shape']['freeDims']
    strides, size = [], 1
    for extent in reversed(dims):
        strides.insert(0, size)
        size *= extent
    return dims, strides


def geometry(access):
    """Tensor, pairs, start and the BirAccessPattern (or None)."""
    kind, payload = arm(access)
    if kind == 'simple':
        tensor = payload['tensor']
        dims, strides = shape_of(tensor)
        return tensor, list(zip(strides, dims)), 0, None
    payload = payload['access']
    tensor = payload['tensor']
    dims, strides = shape_of(tensor)
    if kind == 'basic':
        pairs, start = [], 0
        for index, stride in zip(payload['indexes'], strides):
            name, value = arm(index)
            if name == 'coord':
                reached, step = [value['e']], 1
            else:
                cut = value['slice']
                step = cut['step']
                reached = list(range(cut['l'], cut['u'], step))
            start += stride * reached[0] if reached else 0
            pairs.append((stride * step, len(reached)))
        return tensor, pairs, start, None
    pairs = [(p['step'], p['num']) for p in payload['pattern']]
    if kind == 'pattern':
        return tensor, pairs, sum(p['step'] * p['offset'] for p in payload['pattern']), None
    return tensor, pairs, payload['offset'], payload


def tensors_in(value):
    if isinstance(value, dict):
        if 'address' in value and 'shape' in value:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from tensors_in(item)


def pitches_of(value):
    """Bytes from one partition to the next at each on-chip address: the longest row there, in whole elements."""
    rows, elems = {}, {}
    for tensor in tensors_in(value):
        name = tensor['address']['name']
        if tensor['address']['memory'] in ('sbuf', 'psum'):
            elem = SIZES[dtype(tensor['dtype'])]
            rows[name] = max(rows.get(name, 0), shape_of(tensor)[1][0] * elem)
            elems[name] = max(elems.get(name, 0), elem)
    return {name: -(-rows[name] // elems[name]) * elems[name] for name in rows}


def unplaced_of(value):
    return {t['address']['name'] for t in tensors_in(value) if t['address']['parOffset'] is None and t['address']['freeOffset'] is None}


class Statement:
    def __init__(self, function):
        self.function = function
        self.lists = {'in': [], 'ind': [], 'out': []}
        self.keys = {}

    def access(self, where, access, dynamic=False):
        tensor, pairs, start, pattern = geometry(access)
        kind = dtype(tensor['dtype'])
        suffix = ''
        if pattern:
            if pattern['dtypeOverride']:
                kind = dtype(pattern['dtypeOverride'])
            scalar, vector = pattern['scalarOffset'], pattern['vectorOffset']
            if scalar or vector:
                if not dynamic:
                    raise Refused('klr-dynamic-access')
                suffix = self.offset(tensor, pattern, start, scalar, vector)
                start = 0
        if pairs[0][0] < 0 and pairs[0][1] > 1:
            raise Refused('klr-negative-partition-step')
        pitch = self.function['pitches'].get(tensor['address']['name'])
        if pitch:
            row, pitch = shape_of(tensor)[1][0], pitch // SIZES[kind]
            pairs = [(step // row * pitch if step % row == 0 else step, num) for step, num in pairs]
            start = start // row * pitch + start % row
        text = ''.join('(%d,%d)' % p for p in pairs)
        self.lists[where].append('%s:%s:%s:%s@%d%s' % (where, tensor['address']['name'], kind, text, start, suffix))
        return kind

    def offset(self, tensor, pattern, start, scalar, vector):
        dims, strides = shape_of(tensor)
        coef = strides[pattern['indirectDim']]
        name, value = arm(scalar) if scalar else ('vector', None)
        if name == 'reg':
            return '{c=%d,coef=%d,reg %s,max=0}' % (start, coef, value['r'])
        self.access('ind', vector if vector else value['a'])
        return '{c=%d,coef=%d,ind %d,max=%d}' % (start, coef, len(self.lists['ind']), dims[0] if vector else 0)

    def ref(self, where, ref, dynamic=False):
        name, value = arm(ref)
        if name == 'register':
            raise Refused('klr-tensor-ref')
        if name != 'abstract':
            view = value['view']
            if name != 'hbm' and view['parOffset'] + view['parNum'] > 128:
                raise Refused('klr-partitions')
            if view['name'] in self.function['unplaced']:
                raise Refused('klr-address-conflict')
            raise SystemExit('no sample does this')
        return self.access(where, value['access'], dynamic)

    def immediate(self, imm):
        name, value = arm(imm)
        if name == 'int':
            self.lists['in'].append('imm:int32:%x' % (value['i'] & (1 << 64) - 1))
        elif name == 'float':
            self.lists['in'].append('imm:float32:%x' % float_bits(value['f']))
        else:
            raise Refused('klr-immediate')

    def operand(self, operand):
        name, value = arm(operand)
        if name == 'imm':
            self.immediate(value['i'])
        else:
            self.ref('in', value['t'])

    def register(self, where, name):
        self.lists[where].append('%s:reg:%s' % (where, name))


def number(value):
    if isinstance(value, str):
        return float(value.replace('Infinity', 'inf').replace('NaN', 'nan'))
    return value


def float_bits(value):
    if value == 'NaN':
        return 0x7FC00000
    return struct.unpack('>I', struct.pack('>f', number(value)))[0]


def imm_number(imm):
    name, value = arm(imm)
    if name not in ('int', 'float'):
        raise Refused('klr-immediate')
    return number(value['i' if name == 'int' else 'f'])


def imm_int(imm):
    value = imm_number(imm)
    if value != value or value in (float('inf'), float('-inf')) or value != int(value) or not -2**31 <= value < 2**31:
        raise Refused('klr-immediate')
    return int(value)


def show(value):
    if isinstance(value, bool):
        return 'true' if value else 'false'
    if isinstance(value, float):
        return '%.9g' % value
    if isinstance(value, list):
        return json.dumps(value, separators=(',', ':'))
    return str(value)


def accumulate(command):
    if command not in ACCUMULATE:
        raise Refused('klr-accumulation')
    return ACCUMULATE[command]


def reverse(which):
    return {'reverse0': which in ('first', 'both'), 'reverse1': which in ('second', 'both')}


def bounds_keys(keys, p, priority):
    name, _ = arm(p['oobMode'])
    if p['dgeMode'] > 3:
        raise Refused('klr-dge-mode')
    if name == 'reg':
        raise Refused('klr-dma-bounds')
    keys['dge_type'] = DGE[p['dgeMode']]
    keys['oob_is_err'] = name == 'error'
    if priority is not None:
        if priority > 14:
            raise Refused('klr-dma-priority')
        keys['dma_qos'] = 'P%d' % priority


def is_dynamic(ref):
    name, value = arm(ref)
    if name != 'abstract':
        return False
    kind, payload = arm(value['access'])
    return kind == 'birPattern' and bool(payload['access']['scalarOffset'] or payload['access']['vectorOffset'])


def memset_bits(value, kind):
    value = number(value)
    bits = 8 * SIZES[kind]
    if kind.startswith('int') or kind.startswith('uint'):
        low, high = (-2**(bits - 1), 2**(bits - 1)) if kind[0] == 'i' else (0, 2**bits)
        if value != value or value in (float('inf'), float('-inf')) or value != int(value) or not low <= value < high:
            raise Refused('klr-memset-value')
        return int(value) & (1 << bits) - 1
    raw = float_bits('NaN' if value != value else value)
    if kind in ('float32', 'float32r'):
        return raw
    if kind == 'bfloat16':
        return (raw + 0x7FFF + (raw >> 16 & 1)) >> 16 if value == value else raw >> 16
    if kind == 'float16':
        return struct.unpack('>H', struct.pack('>e', value))[0]
    if value != 0:
        raise Refused('klr-memset-value')
    return 0


def convert(name, p, s):
    """Returns opcode and default engine; fills operands and keys. p is the payload."""
    k = s.keys
    if name in NEVER:
        raise Refused('klr-unsupported-operator')
    if name in ('ncActivate', 'activationReduce'):
        s.ref('in', p['src'])
        if p['bias']:
            s.ref('in', p['bias'])
        else:
            s.lists['in'].append('imm:float32:0')
        s.ref('out', p['dst'])
        if p['reduceRes']:
            s.ref('out', p['reduceRes'])
        k.update(func=FUNCTIONS[p['activationFunc']], acc=accumulate(p['accumulatorCmd']), reduce_op=p['reduceOp'] or 'bypass', alpha=0.0,
                 op0='bypass', op1='bypass')
        which, value = arm(p['scale'])
        k['scale'] = float(imm_number(value['i'])) if which == 'imm' else 1.0
        if which != 'imm':
            s.operand(p['scale'])
        return 'Activation', 'Activation'
    if name in ('ncAffineSelect', 'iota'):
        pattern = p['pred' if name == 'ncAffineSelect' else 'pattern']
        k.update(base=pattern['offset'], channel_multiplier=pattern['channelMultiplier'],
                 pattern=[[q['step'], q['num']] for q in pattern['pattern']])
        if name == 'iota':
            s.ref('out', p['dst'])
            return 'Iota', 'Pool'
        s.ref('in', p['onTrueTile'])
        s.ref('out', p['dst'])
        k.update(compare_op=p['cmpOp'], fill_value=float(imm_number(p['onFalseValue'])))
        return 'TensorScalarAffineSelect', 'Pool'
    simple = {'batchNormAggregate': ('BNStatsAggregate', 'DVE'), 'batchNormStats': ('BNStats', 'DVE'), 'max8': ('Max', 'DVE'),
              'reciprocal': ('Reciprocal', 'DVE')}
    if name in simple:
        s.ref('in', p['src'])
        s.ref('out', p['dst'])
        return simple[name]
    if name == 'ncCopy':
        if is_dynamic(p['src']) and is_dynamic(p['dst']):
            raise Refused('klr-dynamic-access')
        s.ref('in', p['src'], True)
        s.ref('out', p['dst'], True)
        return ('TensorCopyDynamicSrc' if is_dynamic(p['src']) else 'TensorCopyDynamicDst' if is_dynamic(p['dst']) else 'TensorCopy'), 'DVE'
    if name == 'copyPredicated':
        s.ref('in', p['src'])
        s.ref('in', p['predicate'])
        s.ref('out', p['dst'])
        k['reverse_pred'] = p['reversePred']
        return 'CopyPredicated', 'DVE'
    if name == 'ncDmaCopy':
        return dma_copy(p, s)
    if name == 'dmaTranspose':
        s.ref('in', p['src'], True)
        s.ref('out', p['dst'])
        k.update(mode='Transpose', transpose_op=p['axes'])
        bounds_keys(k, p, p['priority'])
        return 'DMACopy', 'SP'
    if name == 'dropout':
        s.ref('in', p['src'])
        s.operand(p['threshold'])
        s.ref('out', p['dst'])
        k['is_keep_threshold'] = p['thresholdType'] == 'KeepRate'
        return 'Dropout', 'DVE'
    if name == 'findIndex8':
        s.ref('in', p['src'])
        s.ref('in', p['vals'])
        s.ref('out', p['dst'])
        return 'MaxIndex', 'DVE'
    if name == 'ncLocalGather':
        s.ref('in', p['src'])
        s.ref('in', p['index'])
        s.ref('out', p['dst'])
        each = imm_int(p['numElemPerIdx'])
        if p['numValidIndicies']:
            valid = imm_int(p['numValidIndicies'])
        else:
            valid = 1
            for _, num in geometry(arm(p['index'])[1]['access'])[1]:
                valid *= num
        if not 0 <= valid < 65536 or each < 1:
            raise Refused('klr-gather-count')
        k['num_valid_indices'] = valid
        if each != 1:
            k['num_elem_per_idx'] = each
        return 'IndirectCopy', 'Pool'
    if name in ('ncMatMul', 'ncMatMulMX'):
        mx = name == 'ncMatMulMX'
        s.ref('in', p['stationary'])
        s.ref('in', p['moving'])
        if mx:
            s.ref('in', p['stationaryScale'])
            s.ref('in', p['movingScale'])
        s.ref('out', p['dst'])
        for key in ('psum_zero_region', 'replication_resolution', 'replication_shift_amnt', 'replication_num_rows', 'ifmap_quant_offset',
                    'weights_quant_offset'):
            k[key] = 0
        for key, field in (('tile_size', 'tileSize'), ('tile_position', 'tilePosition')):
            k[key] = p[field] or [-1, -1]
            if len(k[key]) != 2:
                raise Refused('klr-tile')
        k.update(is_transpose=not mx and p['isTranspose'], is_fmap_onezero=not mx and p['isMovingZero'],
                 is_weight_onezero=not mx and p['isStationaryOneZero'], perf_mode='None' if mx else p['perfMode'])
        return 'MatmultMx' if mx else 'Matmult', 'PE'
    if name == 'matchReplace8':
        s.ref('in', p['src'])
        s.ref('in', p['vals'])
        s.ref('out', p['dst'])
        if p['dstIdx']:
            s.ref('out', p['dstIdx'])
        k['imm_value'] = float(imm_number(p['replaceValue']))
        return 'MaxIndexAndMatchReplace' if p['dstIdx'] else 'MatchReplace', 'DVE'
    if name == 'memSet':
        kind = s.ref('out', p['dst'])
        which, value = arm(p['value'])
        imm_number(p['value'])
        k.update(mode='Const', constant=memset_bits(value['i' if which == 'int' else 'f'], kind))
        return 'Memset', 'DVE'
    if name == 'ncRangeSelect':
        for field in ('onTrueTile', 'bound0', 'bound1'):
            s.ref('in', p[field])
        s.ref('out', p['dst'])
        if p['reduceRes']:
            s.ref('out', p['reduceRes'])
        k.update(base=imm_int(p['rangeStart']), compare_op0=p['compOp0'], compare_op1=p['compOp1'], reduce_op=p['reduceOp'] or 'bypass',
                 reduce_cmd=accumulate(p['reduceCommand']), fill_value=float(imm_number(p['onFalseValue'])))
        return 'RangeSelect', 'DVE'
    if name == 'ncScalarTensorTensor':
        s.ref('in', p['data'])
        s.operand(p['src0'])
        s.operand(p['src1'])
        s.ref('out', p['dst'])
        k.update(op0=p['op0'], op1=p['op1'], is_scalar_tensor_tensor=True, **reverse(p['reverseOperands']))
        return 'TensorScalarPtr', 'DVE'
    if name == 'shuffle':
        s.ref('in', p['src'])
        s.ref('out', p['dst'])
        k['mask'] = [imm_int(i) for i in p['shuffleMask']]
        return 'StreamShuffle', 'DVE'
    if name == 'tensorReduce':
        s.ref('in', p['src'])
        s.ref('out', p['dst'])
        k.update(op=p['op'], axis=p['opDim'], negate=p['negated'])
        return 'TensorReduce', 'DVE'
    if name == 'tensorScalar':
        s.ref('in', p['src'])
        s.ref('out', p['dst'])
        k.update(op0=p['op0'], op1=p['op1'] or 'bypass', **reverse(p['reverse']))
        scalars = [p['imm0'], p['imm1']]
        if all(not x or arm(x)[0] == 'imm' for x in scalars):
            for key, x in zip(('const0', 'const1'), scalars):
                k[key] = float(imm_number(arm(x)[1]['i'])) if x else 0.0
            return 'TensorScalar', 'DVE'
        for x in scalars:
            if x:
                s.operand(x)
        return 'TensorScalarPtr', 'DVE'
    if name == 'tensorTensor':
        s.ref('in', p['src0'])
        s.ref('in', p['src1'])
        s.ref('out', p['dst'])
        k.update(op=p['op'], acc='Idle')
        return 'TensorTensor', 'DVE'
    if name == 'tensorTensorScan':
        s.ref('in', p['src0'])
        s.ref('in', p['src1'])
        s.operand(p['imm0'])
        s.ref('out', p['dst'])
        k.update(op0=p['op0'], op1=p['op1'], acc=accumulate(p['accumulatorCmd']), is_tensor_tensor_scan=True, **reverse(p['reverseOperands']))
        return 'TensorScalarPtr', 'DVE'
    if name == 'tensorPartitionReduce':
        s.ref('in', p['data'])
        s.ref('out', p['dst'])
        k.update(op=p['op'], axis='C')
        return 'TensorReduce', 'Pool'
    if name == 'tensorScalarReduce':
        s.ref('in', p['src'])
        s.operand(p['operand0'])
        if p['reduceInit']:
            s.immediate(p['reduceInit'])
        s.ref('out', p['dst'])
        s.ref('out', p['reduceRes'])
        k.update(op0=p['op0'], op1=p['reduceOp'] or 'bypass', reverse0=p['reverse0'], reverse1=False, mode='Reduce',
                 acc=accumulate(p['reduceCmd']))
        return 'TensorScalarCache', 'DVE'
    if name == 'tensorScalarCumulative':
        s.ref('in', p['src'])
        s.operand(p['imm0'])
        if p['imm1']:
            s.operand(p['imm1'])
        s.ref('out', p['dst'])
        k.update(op0=p['op0'], op1=p['op1'], mode='Cumulative', acc=accumulate(p['reduceCmd']), **reverse(p['reverse']))
        return 'TensorScalarCache', 'DVE'
    if name == 'transpose':
        s.ref('in', p['src'])
        s.ref('out', p['dst'])
        if p['engine'] not in ('unassigned', 'dve'):
            raise Refused('klr-transpose-engine')
        return 'StreamTranspose', 'DVE'
    if name == 'selectReduce':
        s.ref('in', p['onTrue'])
        s.ref('in', p['predicate'])
        s.operand(p['onFalse'])
        s.ref('out', p['dst'])
        if p['reduceRes']:
            s.ref('out', p['reduceRes'])
        k.update(reverse_pred=p['reversePred'], reduce_op=p['reduceOp'], accumulator_cmd=accumulate(p['reduceCmd']))
        return 'CopyPredicated', 'DVE'
    if name == 'sequenceBounds':
        s.ref('in', p['segmentIds'])
        s.ref('out', p['dst'])
        return 'GetSequenceBounds', 'Pool'
    return convert_rest(name, p, s)


def expression(value):
    return {'c': value, 'kind': 'AffExprKind', 'terms': []}


def convert_rest(name, p, s):
    k = s.keys
    if name in ('sendRecv', 'sendRecvCompute'):
        many = name == 'sendRecvCompute'
        for ref in p['srcs'] if many else [p['src']]:
            s.ref('in', ref)
        for ref in p['dsts'] if many else [p['dst']]:
            s.ref('out', ref)
        k.update(kind='SendRecvCCE' if many else 'SendRecv', pipe_id=imm_int(p['pipeId']))
        to = p['sendToRanks'] if many else [p['sendToRank']]
        if len(to) > 1:
            raise Refused('klr-send-ranks')
        for rank in to:
            k['send_to_rank'] = 'expr:%d' % imm_int(rank)
        k['recv_from_rank'] = [expression(imm_int(rank)) for rank in (p['recvFromRanks'] if many else [p['recvFromRank']])]
        if many:
            k['op'] = p['op']
        else:
            k['use_gpsimd_dma'] = p['useGpsimdDma']
        return 'CollectiveCompute', 'DVE'
    if name == 'tensorLoad':
        s.ref('in', p['src'])
        s.register('out', p['dst'])
        return 'TensorLoad', 'ALL'
    if name == 'tensorStore':
        s.register('in', p['src'])
        s.ref('out', p['dst'])
        return 'TensorSave', 'ALL'
    if name == 'registerMove':
        s.lists['in'].append('imm:int32:%x' % (p['imm'] & (1 << 64) - 1))
        s.register('out', p['dst'])
        return 'RegisterMove', 'ALL'
    if name == 'registerAluOp':
        s.register('in', p['src'])
        s.lists['in'].append('imm:int32:%x' % (p['imm'] & (1 << 64) - 1))
        s.register('out', p['dst'])
        k.update(op=p['op'], is_64bit=False)
        return 'RegisterAlu', 'ALL'
    if name == 'cmpBranch':
        labels = s.function['labels']
        if p['trueLabel'] not in labels or (p['op'] != 'always' and p['falseLabel'] not in labels):
            raise Refused('klr-unknown-label')
        if p['op'] == 'always':
            k['target'] = p['trueLabel']
            return 'UnconditionalBranch', 'ALL'
        compare, way = p['op'].split('_')
        s.register('in', p['reg1'])
        if way == 'reg':
            s.register('in', p['reg2'])
        else:
            s.lists['in'].append('imm:int32:%x' % (p['imm'] & (1 << 64) - 1))
        after = labels[labels.index(s.function['block']) + 1:][:1]
        k.update(comp_op='IS_%s%s' % (COMPARE[compare], way.upper()), on_true=p['trueLabel'],
                 on_false=p['falseLabel'] if set(after) & {p['trueLabel'], p['falseLabel']} else s.function['block'] + '.else')
        return 'CompareAndBranch', 'ALL'
    if name == 'quantizeMX':
        s.ref('in', p['src'])
        s.ref('out', p['dst'])
        s.ref('out', p['dstScale'])
        return 'QuantizeMx', 'DVE'
    if name == 'dmaCompute':
        for ref in p['srcs']:
            s.ref('in', ref)
        s.ref('out', p['dst'])
        if len(p['scales']) != len(p['srcs']):
            raise Refused('klr-dma-compute')
        k.update(mode='CCE', cce_op=p['reduceOp'], constants=[float(imm_number(x)) for x in p['scales']])
        return 'DMACopy', 'SP'
    if name in COLLECTIVES:
        for ref in p['srcs']:
            s.ref('in', ref)
        for ref in p['dsts']:
            s.ref('out', ref)
        group, value = arm(p['replicaGroup'])
        if group == 'named':
            raise Refused('klr-replica-group')
        k.update(kind=COLLECTIVES[name], op=p['op'] or 'bypass')
        if group == 'literal':
            k['replica_groups'] = value['groups']
        if p['sourceTargetPairs'] is not None:
            k['src_target_pairs'] = p['sourceTargetPairs']
        if p['concatDim'] is not None:
            k['cc_dim'] = 'Partition' if p['concatDim'] == 0 else 'Free'
        if p['channel_id'] is not None:
            k['stream_id'] = p['channel_id']
        if p['num_channels'] is not None:
            k['num_channels'] = p['num_channels']
        if p['priority'] is not None:
            k['dma_qos'] = 'P%d' % p['priority']
        return 'CollectiveCompute', 'DVE'
    if name == 'rankId':
        s.register('out', p['dst'])
        k['world_size'] = 0
        return 'GetGlobalRankId', 'ALL'
    if name == 'currentProcessingRankId':
        s.register('out', p['dst'])
        if p['iterationId'] < 0 or p['channelId'] < 0:
            raise Refused('klr-rank-id')
        k.update(iter_id=p['iterationId'], channel_id=p['channelId'], replica_groups=p['replicaGroup'])
        if p['numChannels'] != 1:
            k['num_channels'] = p['numChannels']
        return 'GetCurProcessingRankID', 'ALL'
    if name in ('send', 'recv'):
        for ref in p['srcs'] if name == 'send' else p['dsts']:
            s.ref('in' if name == 'send' else 'out', ref)
        k['peer_id'] = p['peerId']
        if name == 'recv':
            k['replica_groups'] = p['replicaGroups']
        if p['op'] != 'bypass':
            k['op'] = p['op']
        return 'CollectiveSend' if name == 'send' else 'CollectiveRecv', 'DVE'
    if name == 'coreBarrier':
        s.ref('in', p['data'])
        k.update(cores=p['cores'], id=s.function['barriers'])
        s.function['barriers'] += 1
        return 'CoreBarrier', 'DVE'
    if name in ('rng', 'randGetState'):
        s.ref('out', p['dst'])
        return 'Rng' if name == 'rng' else 'RandGetState', 'DVE'
    if name == 'rand2':
        s.operand(p['min'])
        s.operand(p['max'])
        s.ref('out', p['dst'])
        return 'Rand2', 'DVE'
    if name in ('setRngSeed', 'randSetState'):
        s.ref('in', p['src'])
        if name == 'setRngSeed':
            k['rng_engine'] = 'DVE'
        return 'SetRandState' if name == 'setRngSeed' else 'RandSetState', 'DVE'
    if name == 'ncNGather':
        s.ref('in', p['data'])
        s.ref('in', p['indices'])
        s.ref('out', p['dst'])
        return 'Gather', 'Pool'
    if name == 'nonzeroWithCount':
        s.ref('in', p['src'])
        s.immediate(p['indexOffset'])
        s.immediate(p['paddingVal'])
        s.ref('out', p['dst'])
        return 'NonzeroWithCount', 'DVE'
    if name == 'devicePrint':
        s.ref('in', p['src'])
        k.update(prefix=p['printPrefix'], output_buffer=p['buffer'])
        return 'DevicePrint', 'DVE'
    if name == 'exponential':
        s.ref('in', p['src'])
        s.operand(p['maxValue'])
        s.operand(p['reduceInit'])
        s.ref('out', p['dst'])
        if p['reduceRes']:
            s.ref('out', p['reduceRes'])
        k['reduce_cmd'] = accumulate(p['reducecmd'])
        return 'Exponential', 'DVE'
    if name == 'activate2':
        s.ref('in', p['src'])
        for field in ('imm0', 'imm1', 'reluParam'):
            s.operand(p[field])
        s.ref('out', p['dst'])
        if p['reduceRes']:
            s.ref('out', p['reduceRes'])
        which, value = arm(p['reluParam'])
        k.update(func=FUNCTIONS[p['activationFunc']], acc=accumulate(p['reduceCmd']), op0=p['op0'], op1=p['op1'], reduce_op=p['reduceOp'],
                 reverse0=p['reverse0'], reverse1=p['reverse1'], is_activate2=True, scale=1.0,
                 alpha=float(imm_number(value['i'])) if which == 'imm' else 0.0)
        return 'Activation', 'Activation'
    raise SystemExit('no rule for ' + name)


def dma_copy(p, s):
    k = s.keys
    src, dst = is_dynamic(p['src']), is_dynamic(p['dst'])
    adds = p['compute_op'] == 'add'
    if src and dst:
        raise Refused('klr-dynamic-access')
    if (src or dst) and p['dgeMode'] == 3:
        raise Refused('klr-dge-mode')
    if adds and (src or dst) and not p['uniqueIndices']:
        raise SystemExit('no sample does this')
    s.ref('in', p['src'], True)
    s.ref('out', p['dst'], True)
    if adds and not src and not dst:
        s.ref('in', p['dst'])
        k['constants'] = [1.0, 1.0]
    k['mode'] = 'CCE' if adds else 'Copy'
    if adds:
        k['cce_op'] = 'add'
    bounds_keys(k, p, p['priority'])
    return 'DMACopy', 'SP'


def accumulation(block, rows):
    """Flags of a block's matmuls: begin where the region was not the one written last, or was used in between; regions compared as text."""
    last = {}
    for row in rows:
        if 'Matmult' not in row['opcode']:
            for where, operands in row['lists'].items():
                for operand in operands:
                    last.pop(operand.split(':')[1], None)
            continue
        out = row['lists']['out'][0]
        name = out.split(':')[1]
        for operand in row['lists']['in']:
            last.pop(operand.split(':')[1], None)
        before = last.get(name)
        if before and before['lists']['out'][0] == out:
            before['keys']['accumulation_flag'] -= 2
            row['keys']['accumulation_flag'] = 2
        else:
            row['keys']['accumulation_flag'] = 3
        last[name] = row


def rows_of(sample):
    with open(os.path.join(HERE, '..', 'klr', sample + '.json'), encoding='utf-8') as f:
        (content, value), = json.load(f).items()
    kernel = value['kernel']
    bodies = kernel['bodies'] if content == 'lnc' else [kernel['body']]
    alone = sample in ALONE
    for core, blocks in enumerate(bodies):
        function = {'labels': [b['label'] for b in blocks], 'barriers': 0, 'block': None, 'pitches': pitches_of(kernel),
                    'unplaced': unplaced_of(kernel)}
        for block in blocks:
            function['block'] = block['label']
            rows = []
            for statement in block['body']:
                if alone:
                    tensors = [statement, kernel['inputs'], kernel['outputs'], kernel['sharedBuffers']]
                    function = {'labels': [block['label']], 'barriers': 0, 'block': block['label'], 'pitches': pitches_of(tensors),
                                'unplaced': unplaced_of(tensors)}
                value = statement['oper']
                name, payload = arm(value['op'])
                s = Statement(function)
                row = {'statement': value['name'], 'lists': s.lists, 'keys': s.keys, 'core': core}
                try:
                    row['opcode'], engine = convert(name, payload['op'], s)
                    own = payload['op'].get('engine')
                    if own in ENGINES and not (own == 'dma' and row['opcode'] == 'DMACopy'):
                        engine = ENGINES[own]
                    row['engine'] = engine
                    if 'Matmult' in row['opcode']:
                        s.keys['accumulation_flag'] = 3
                except Refused as error:
                    row.update(opcode='error', engine=str(error), lists={'in': [], 'ind': [], 'out': []}, keys={})
                rows.append(row)
            if not alone:
                accumulation(block, rows)
            yield from rows


def main():
    print('file\tbody\tstatement\topcode\tengine\toperands\tkeys')
    for sample in WHOLE + ALONE:
        for row in rows_of(sample):
            operands = ' '.join(row['lists']['in'] + row['lists']['ind'] + row['lists']['out'])
            keys = '; '.join('%s=%s' % (key, show(row['keys'][key])) for key in sorted(row['keys']))
            print('\t'.join([sample + ('*' if sample in ALONE else ''), str(row['core']), row['statement'] or '-', row['opcode'],
                             row['engine'], operands or '-', keys or '-']))


if __name__ == '__main__':
    sys.exit(main())
