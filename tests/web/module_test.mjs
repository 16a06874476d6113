// The module for node and pages: bits, options, tensors, refusals. node tests/web/module_test.mjs FOLDER, of app/package --web.
import assert from 'node:assert/strict';
import {readFile} from 'node:fs/promises';
import {resolve} from 'node:path';
import test from 'node:test';
import {pathToFileURL} from 'node:url';

const folder = resolve(process.env.ATTOSCOPE_WEB ?? process.argv[2]);
const from = (name) => import(pathToFileURL(`${folder}/${name}`));
const {AttoscopeError, command, dot, judge, load, run} = await from('attoscope.mjs');
const {compare} = await from('bits.mjs');
assert.throws(() => run({}), /await load\(\) before/);
await load();

const read = async (name) => {
  const bytes = await readFile(`${folder}/${name}`);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
};

test('every digest is the native one, and every recorded product is met', async () => {
  const rows = await compare({command, dot}, read);
  assert.deepEqual(rows.filter((row) => !row.same), []);
  assert.equal(rows.filter((row) => row.kind === 'experiment').length, 200);
  assert.equal(new Set(rows.filter((row) => row.kind === 'experiment').map((row) => row.native)).size, 200, 'experiments differ from each other');
  assert.equal(rows.filter((row) => row.kind === 'products').length, 48);
});

test('a table that is not this module\'s is seen', async () => {
  const table = JSON.parse(new TextDecoder().decode(await read('bits.json')));
  table.experiments.length = 3;
  table.products = table.products.slice(0, 1);
  table.experiments[1].digests.a = '0000000000000000';
  const altered = (name) => (name === 'bits.json' ? new TextEncoder().encode(JSON.stringify(table)) : read(name));
  const off = {command, dot: (gpu, options) => { const found = dot(gpu, options); found.d[7] += 1; return found; }};
  assert.deepEqual((await compare(off, altered)).map((row) => row.same), [true, false, true, false]);
});

/// Softmax attention in double, rounded once to float32.
function attention(q, k, v, n, d) {
  const o = new Float32Array(n * d);
  for (let i = 0; i < n; ++i) {
    const s = Array.from({length: n}, (_, j) => q.subarray(i * d, i * d + d).reduce((sum, x, c) => sum + x * k[j * d + c], 0) / Math.sqrt(d));
    const e = s.map((x) => Math.exp(x - Math.max(...s))), l = e.reduce((sum, x) => sum + x, 0);
    for (let c = 0; c < d; ++c) o[i * d + c] = e.reduce((sum, x, j) => sum + x * v[j * d + c], 0) / l;
  }
  return o;
}

test('judge tells rounded from wrong', () => {
  const n = 24, d = 8;
  const wave = (step) => Float32Array.from({length: n * d}, (_, i) => Math.sin((i + 1) * step));
  const tensor = (data) => ({data, shape: [1, n, d]});
  const call = {q: tensor(wave(1.1)), k: tensor(wave(0.7)), v: tensor(wave(0.3))};
  const o = attention(call.q.data, call.k.data, call.v.data, n, d);
  assert.equal(judge({...call, o: tensor(o)}).verdict, 'rounded');
  const wrong = o.slice();
  wrong[17] += 0.01;
  const found = judge({...call, o: tensor(wrong)});
  assert.equal(found.verdict, 'wrong');
  assert.match(found.sentences[1], /row 2\b/);
});

test('files of one name are several files', () => {
  const n = 16, d = 8;
  const file = (data) => {
    const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (${n}, ${d}), }`.padEnd(117) + '\n';
    const bytes = Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), Buffer.from([header.length, 0]), Buffer.from(header), Buffer.from(data.buffer)]);
    return {name: 't.npy', bytes};
  };
  const [q, k, v] = [1.1, 0.7, 0.3].map((step) => Float32Array.from({length: n * d}, (_, i) => Math.sin((i + 1) * step)));
  assert.equal(judge({q: file(q), k: file(k), v: file(v), o: file(attention(q, k, v, n, d))}).verdict, 'rounded');
});

test('options are those of the command line', () => {
  const plain = run({n: 48, d: 16, format: 'fp16', policy: 'eager', blockQ: 16, block_k: 8, set: ['a.O=fp32', 'a.P=exact'], kahan: true, sink: null});
  const words = '--n 48 --d 16 --format fp16 --policy eager --block-q 16 --block-k 8 --set a.O=fp32 --set a.P=exact --kahan --json -';
  assert.deepEqual(plain.digests, JSON.parse(command(['run', ...words.split(' ')]).out).digests);
  assert.notDeepEqual(plain.digests, run({n: 48, d: 16, format: 'fp16', policy: 'eager', blockQ: 16, block_k: 8}).digests);
});

test('fields are matrices', () => {
  const {fields: {golden, a, a_error: error}} = run({n: 20, d: 8, fields: ['golden', 'a', 'a_error']});
  assert.deepEqual(error.shape, [20, 8]);
  error.data.forEach((x, i) => assert.ok(Math.abs(x - (a.data[i] - golden.data[i])) <= 1e-7));
});

test('numbers in texts are read to the last bit', () => {
  const same = (x, y) => assert.deepEqual(run({n: 16, d: 8, scale: x}).digests, run({n: 16, d: 8, scale: y}).digests);
  same('0.1', '1e-1');
  same('0.1', '0.10000000000000000555');
  for (const scale of ['', ' 1', '+1', '0x1p3', '1e', '1e999', '.', '1,', '--1']) assert.throws(() => run({n: 16, d: 8, scale}), AttoscopeError, `'${scale}'`);
});

test('a failure is a sentence with its code, and leaves no file', () => {
  const fails = (call, code, sentence) => assert.throws(call, (error) => error instanceof AttoscopeError && error.code === code && sentence.test(error.message));
  fails(() => run({n: 'x'}), 2, /^--n is 'x', expected a whole number/);
  fails(() => run({n: 1048576, d: 1024}), 1, /they need \d+ bytes, expected at most the \d+ that are free/);
  fails(() => run({device: 'cuda'}), 1, /without CUDA/);
  fails(() => judge({q: {data: new Float32Array(4), shape: [2, 3]}}), 2, /has 4 numbers/);
  fails(() => judge({q: {name: 'q.npy', bytes: new Uint8Array(10)}, k: {name: 'k.npy', bytes: new Uint8Array(3)}, v: 'v.npy', o: 'o.npy'}), 1, /q\.npy/);
  fails(() => dot('h900', {format: 'bf16', a: {data: new Float32Array(4), shape: [2, 2]}, b: {data: new Float32Array(4), shape: [2, 2]}}), 2, /h900/);
  assert.doesNotThrow(() => run({n: 16, d: 8}));  // a folder left by one call would make the next call fail
});

test('work with a state keeps its Web Worker', async () => {
  const made = [], got = [];
  Object.defineProperty(globalThis, 'navigator', {value: {hardwareConcurrency: 2}, configurable: true});
  globalThis.Worker = class {
    constructor() { made.push(this); }
    postMessage({kind, number}) { if (kind) got.push([kind, made.indexOf(this)]), this.number = number; }
    answer() { this.onmessage({data: {number: this.number, what: 2, bytes: new Uint8Array()}}); }
    terminate() { this.ended = true; }
  };
  const {FarWork} = await from('far.mjs');
  const far = new FarWork(() => ({}), () => new Map(), () => {}, () => {});
  const ask = (kind, patience) => far.ask(kind, 1, new Uint8Array(1), patience);
  ask('train', Infinity);
  made[0].answer();
  for (const kind of ['main', 'why']) ask(kind, 250);  // two more, beside the idle Web Worker of the training
  ask('train', Infinity);
  ask('train', Infinity);  // waits
  far.drop('train');
  far.drop('main');
  made[0].answer();
  ask('train', Infinity);
  assert.deepEqual(got, [['train', 0], ['main', 1], ['why', 2], ['train', 0], ['train', 0]]);
  assert.deepEqual(made.map((worker) => worker.ended ?? false), [false, true, false]);
});

test('an update at N = 512 takes less than a second on one thread', () => {
  run({n: 512});
  assert.ok(run({n: 512}).timing_ms.total < 1000);
});
