/// Compares this machine's bits with the native program's: digests of experiments, and sums of recorded products.
import {unpacked} from './files.mjs';

const element = {F16: [5, 10, 2], BF16: [8, 7, 2], F32: [8, 23, 4], F8_E4M3: [4, 3, 1], F8_E5M2: [5, 2, 1]};

/// The numbers of a tensor with finite elements.
function numbers(view, {dtype, data_offsets: [first, end]}, data) {
  const [exponentBits, mantissaBits, bytes] = element[dtype];
  const all = new Float32Array((end - first) / bytes);
  for (let i = 0; i < all.length; ++i) {
    const at = data + first + i * bytes;
    const bits = bytes === 4 ? view.getUint32(at, true) : bytes === 2 ? view.getUint16(at, true) : view.getUint8(at);
    const fraction = bits % 2 ** mantissaBits;
    const biased = Math.floor(bits / 2 ** mantissaBits) % 2 ** exponentBits;
    const significand = biased === 0 ? fraction : fraction + 2 ** mantissaBits;
    const scale = 2 ** (Math.max(biased, 1) - (2 ** (exponentBits - 1) - 1) - mantissaBits);
    all[i] = (bits >= 2 ** (exponentBits + mantissaBits) ? -1 : 1) * significand * scale;
  }
  return all;
}

/// Returns a function name -> {data, shape} for a safetensors file.
function tensorsOf(buffer) {
  const view = new DataView(buffer);
  const length = Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 8, length)));
  return (name) => ({data: numbers(view, header[name], 8 + length), shape: header[name].shape});
}

/// True of the sets of H100 and H200 for fp8 with sums in fp32 were recorded with c = 0, whatever the file says.
const withoutC = (set) => /^h[12]00$/.test(set.gpu) && /^e[45]m/.test(set.format) && set.result === 'f32';

/// Number of rows, and of rows whose sum differs from the recorded one; -0 = +0.
async function missed(api, set, tensor) {
  const [a, b, c] = ['a', 'b', 'c'].map((part) => tensor(`${set.format}.${part}`));
  const found = await api.dot(set.gpu, {format: set.format, result: set.result, a, b, ...(withoutC(set) ? {} : {c})});
  const recorded = tensor(`${set.format}.d_${set.result}`).data;
  return {rows: recorded.length, missed: recorded.filter((d, row) => d !== found.d[row]).length};
}

/// Digests as text.
const text = (...sets) => sets.filter(Boolean).map(({golden, a, b}) => `golden ${golden}, a ${a}, b ${b}`).join('; gradients: ');

/// One row for each experiment and each set of products: {kind, name, same, here, native}. `read(name)` returns a file as an
/// ArrayBuffer; calls `told(done, all, row)` after each row.
export async function compare(api, read, told = () => {}) {
  const table = JSON.parse(new TextDecoder().decode(await read('bits.json')));
  const all = table.experiments.length + table.products.length;
  const rows = [];
  const add = (row) => (rows.push(row), told(rows.length, all, row));
  for (const {words, digests, backward} of table.experiments) {
    const answer = await api.command(['run', ...words, '--json', '-']);
    const json = answer.code === 0 ? JSON.parse(answer.out) : {};
    const here = text(json.digests, json.backward?.digests), native = text(digests, backward);
    add({kind: 'experiment', name: words.join(' '), same: here === native, here: answer.err || here, native});
  }
  const files = {};
  for (const set of table.products) {
    files[set.gpu] ??= tensorsOf(await unpacked(`products/${set.gpu}.safetensors`).then((file) => file.arrayBuffer()));
    const found = await missed(api, set, files[set.gpu]);
    const name = `${set.gpu}, products of ${set.format}, sums in ${set.result}`;
    add({kind: 'products', name, same: found.missed === 0, here: `${found.rows - found.missed} sums`, native: `${found.rows} sums`});
  }
  return rows;
}
