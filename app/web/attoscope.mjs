/// Attoscope's commands for pages and node. `await load()` first; then run(options), judge({q, k, v, o}, options) and
/// dot(gpu, options) return the JSON of `attoscope run`, `judge` and `dot`, and command([...]) runs any command line.
///
/// Options are those of the command line without their dashes (`blockQ` or `block_q` for --block-q); true sets a flag; false,
/// null and undefined are left out; a list repeats an option. Instead of a file's name give a tensor {data, shape}, with data a
/// Float32Array, Float64Array, Int32Array, BigInt64Array or Uint8Array (of booleans), or a file {name, bytes}.
import createModule from './attoscope_module.mjs';
import {begunFrom, unpacked} from './files.mjs';

let core = null;

/// A command that failed: `message` is its sentence, `code` its exit code.
export class AttoscopeError extends Error {
  constructor(sentence, code) {
    super(sentence);
    this.name = 'AttoscopeError';
    this.code = code;
  }
}

const mebibyte = 1 << 20;
const mostMemory = 4096 * mebibyte;

/// Writes the memory left for the module to /proc/meminfo, where the program reads it to refuse sizes that do not fit.
function tellMemory() {
  const free = mostMemory - core.HEAPU8.length;
  core.FS.writeFile('/proc/meminfo', `MemAvailable: ${Math.floor(free / 1024)} kB\n`);
}

/// Compiles the module once, from its own folder or from `options.module`, a WebAssembly.Module.
export async function load(options = {}) {
  if (core) return api;
  const code = options.module ?? await WebAssembly.compile(await unpacked('attoscope_module.wasm').then((file) => file.arrayBuffer()));
  core = await new Promise((done, failed) => createModule({...begunFrom(code, failed), noInitialRun: true}).then(done, failed));
  return api;
}

const kinds = [[Float32Array, '<f4'], [Float64Array, '<f8'], [Int32Array, '<i4'], [BigInt64Array, '<i8'], [Uint8Array, '|b1']];

/// The bytes of a .npy file.
function npyBytes({data, shape}) {
  const kind = kinds.find(([type]) => data instanceof type);
  const count = shape?.reduce((product, n) => product * n, 1);
  if (!kind) throw new AttoscopeError('data of a tensor is expected to be a Float32Array, Float64Array, Int32Array, BigInt64Array or Uint8Array', 2);
  if (count !== data.length) throw new AttoscopeError(`a tensor has ${data.length} numbers, expected those of its shape [${shape}]`, 2);
  const text = `{'descr': '${kind[1]}', 'fortran_order': False, 'shape': (${shape.join(', ')}${shape.length === 1 ? ',' : ''}), }`;
  const header = text + ' '.repeat((64 - (11 + text.length) % 64) % 64) + '\n';
  const bytes = new Uint8Array(10 + header.length + data.byteLength);
  bytes.set([0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0, header.length & 255, header.length >> 8]);
  bytes.set(new TextEncoder().encode(header), 10);
  bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), 10 + header.length);
  return bytes;
}

/// Removes a file, or a folder with its contents.
function removeAll(path) {
  if (!core.FS.isDir(core.FS.stat(path).mode)) return core.FS.unlink(path);
  for (const name of core.FS.readdir(path)) if (!/^\.\.?$/.test(name)) removeAll(`${path}/${name}`);
  core.FS.rmdir(path);
}

/// The files of one call, in the module's memory; each in a folder of its own, as several may have one name.
class Files {
  constructor() {
    this.folder = '/call';
    this.places = new Map();  // by bytes
    core.FS.mkdirTree(this.folder);
  }

  /// Text of an option's value; writes its tensor or file first.
  text(option, value) {
    if (typeof value !== 'object') return String(value);
    const bytes = value.bytes ?? npyBytes(value);
    if (!this.places.has(bytes)) {
      const folder = `${this.folder}/${this.places.size}`, place = `${folder}/${(value.name ?? `${option}.npy`).replaceAll('/', '_')}`;
      core.FS.mkdir(folder);
      core.FS.writeFile(place, bytes);
      this.places.set(bytes, place);
    }
    return this.places.get(bytes) + (value.tensor === undefined ? '' : `:${value.tensor}`);
  }

  read(name) {
    return core.FS.readFile(`${this.folder}/${name}`);
  }

  remove() {
    removeAll(this.folder);
  }
}

const optionName = (key) => '--' + key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`).replaceAll('_', '-');

function words(options, files) {
  const all = [];
  for (const [key, given] of Object.entries(options))
    for (const value of Array.isArray(given) ? given : [given]) {
      if (value === false || value === null || value === undefined) continue;
      all.push(optionName(key));
      if (value !== true) all.push(files.text(key, value));
    }
  return all;
}

/// Runs a command line given as a list of words; returns {code, out, err}.
export function command(list) {
  if (!core) throw new AttoscopeError('attoscope is not loaded: expected await load() before', 1);
  tellMemory();
  const answer = JSON.parse(core.ccall('attoscope_command', 'string', ['string'], [JSON.stringify(list.map(String))]));
  answer.err = answer.err.replace(/^attoscope: /, '').trim();
  return answer;
}

const roundedOrWrong = [0, 3];

/// Returns the command's JSON; `more(files)` adds to it before the files are removed.
function jsonOf(name, leading, options, more = () => ({})) {
  if (!core) throw new AttoscopeError('attoscope is not loaded: expected await load() before', 1);
  const files = new Files();
  try {
    const answer = command([name, ...leading, ...words(options, files), '--json', '-']);
    if (!roundedOrWrong.includes(answer.code)) throw new AttoscopeError(answer.err, answer.code);
    return {...JSON.parse(answer.out), ...more(files)};
  } finally {
    files.remove();
  }
}

/// The numbers of a .npy file of float64 or float32 written by the program.
function npyMatrix(bytes) {
  const begin = 10 + bytes[8] + 256 * bytes[9];
  const header = new TextDecoder().decode(bytes.subarray(10, begin));
  const Type = header.includes('<f8') ? Float64Array : Float32Array;
  return {data: new Type(bytes.slice(begin).buffer), shape: /\(([^)]*)\)/.exec(header)[1].split(',').filter((n) => n.trim()).map(Number)};
}

/// Computes one experiment. `fields` names fields of the heat map (golden, a, a_error, b_ulps, ...) to add as {data, shape}.
export function run({fields = [], ...options} = {}) {
  const saved = fields.map((name) => `${name}=/call/${name}.npy`);
  return jsonOf('run', [], {...options, saveField: saved}, (files) =>
    fields.length === 0 ? {} : {fields: Object.fromEntries(fields.map((name) => [name, npyMatrix(files.read(`${name}.npy`))]))});
}

/// Decides if the output o of a kernel is rounded or wrong. Tensors may also be d_o (--do), dq, dk, dv, lse, ...
export function judge(tensors, options = {}) {
  const {d_o: gradient, ...others} = tensors;
  return jsonOf('judge', [], {...others, do: gradient, ...options});
}

/// Sums of products as a GPU's tensor cores add them: returns the command's JSON, and the sums as `d`.
export const dot = (gpu, options) =>
  jsonOf('dot', [gpu], {...options, out: '/call/d.npy'}, (files) => ({d: npyMatrix(files.read('d.npy')).data}));

const api = {run, judge, dot, command};
