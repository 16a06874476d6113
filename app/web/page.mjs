/// The page of experiments and verdicts.
import {Client} from './client.mjs';

const byId = (id) => document.getElementById(id);
const experiment = byId('experiment'), judging = byId('judge');
const measures = ['max_abs', 'mean_abs', 'rms', 'bias', 'rel_rms', 'cosine', 'wasserstein', 'max_ulp', 'nonfinite'];
const shown = (x) => (x === null || x === undefined ? '' : Number(x).toPrecision(4));

function row(cells, kind = 'td') {
  const line = document.createElement('tr');
  for (const cell of cells) line.appendChild(document.createElement(kind)).textContent = cell;
  return line;
}

/// Blue below 0, red above; NaN and infinities green. The largest |value| has the full colour.
function paint({data, shape: [rows, columns]}) {
  const canvas = byId('picture'), context = canvas.getContext('2d');
  canvas.width = columns;
  canvas.height = rows;
  const image = context.createImageData(columns, rows);
  let most = 0;
  for (const x of data) if (Math.abs(x) > most && Number.isFinite(x)) most = Math.abs(x);
  data.forEach((x, i) => {
    const share = most > 0 ? Math.min(1, Math.abs(x) / most) : 0, rest = 255 * (1 - share);
    image.data.set(Number.isFinite(x) ? (x < 0 ? [rest, rest, 255, 255] : [255, rest, rest, 255]) : [0, 200, 0, 255], 4 * i);
  });
  context.putImageData(image, 0, 0);
  return most;
}

function show(answer, field) {
  const {device, a, b, ratio, timing_ms: timing, digests, fields} = answer;
  const most = paint(fields[field]);
  byId('status').textContent = `${shown(timing.total)} ms on ${device}; the colours reach to ${shown(most)}`;
  byId('numbers').replaceChildren(row(['error from golden', 'a', 'b', 'a/b'], 'th'),
    ...measures.map((name) => row([name, shown(a[name]), shown(b[name]), shown(ratio[name])])));
  byId('digests').textContent = `Digests: golden ${digests.golden}, a ${digests.a}, b ${digests.b}.`;
}

/// The settings of the form, for the link and for the command.
const settings = () => Object.fromEntries(new FormData(experiment));

async function update(client) {
  for (const input of experiment.querySelectorAll('input[type=range]')) input.previousElementSibling.textContent = input.value;
  const {field, ...options} = settings();
  history.replaceState(null, '', '#' + new URLSearchParams({...options, field}));
  document.body.classList.add('busy');
  try {
    const answer = await client.newest('run', {...options, fields: [field]});
    if (!answer) return;  // a newer question
    show(answer, field);
  } catch (error) {
    byId('status').textContent = error.message;
  }
  document.body.classList.remove('busy');
}

/// Settings of the link that opened the page; others stay as they are.
function follow(link) {
  for (const [name, value] of new URLSearchParams(link.slice(1))) {
    const control = experiment.elements.namedItem(name);
    if (control) control.value = value;
  }
}

/// Which of Q, K, V and O each file is, by its name; one file alone holds all.
async function tensorsOf(files) {
  const read = async (file) => ({name: file.name, bytes: new Uint8Array(await file.arrayBuffer())});
  if (files.length === 1) return {input: await read(files[0])};
  const tensors = {};
  for (const file of files) {
    const part = /^(q|k|v|o|out|output|do|dq|dk|dv|lse)\b/i.exec(file.name.replaceAll('_', ' '))?.[1].toLowerCase();
    if (!part) throw new Error(`${file.name} is called like none of q, k, v and o: expected such a name.`);
    tensors[part.startsWith('out') ? 'o' : part] = await read(file);
  }
  return tensors;
}

async function verdict(client, files) {
  const place = byId('verdict');
  place.textContent = 'Judging.';
  try {
    const found = await client.ask('judge', await tensorsOf(files), Object.fromEntries(new FormData(judging)));
    place.replaceChildren(...found.sentences.map((sentence, i) => {
      const line = document.createElement('p');
      line.textContent = sentence;
      if (i === 0 && found.verdict !== 'rounded') line.className = 'wrong';
      return line;
    }));
  } catch (error) {
    place.textContent = error.message;
  }
}

async function start() {
  follow(location.hash);
  const client = await Client.start();
  experiment.addEventListener('input', () => update(client));
  addEventListener('hashchange', () => (follow(location.hash), update(client)));
  const chosen = judging.querySelector('input');
  judging.addEventListener('change', () => chosen.files.length > 0 && verdict(client, [...chosen.files]));
  addEventListener('dragover', (event) => event.preventDefault());
  addEventListener('drop', (event) => (event.preventDefault(), verdict(client, [...event.dataTransfer.files])));
  await update(client);
}

start().catch((error) => (byId('status').textContent = `Attoscope cannot be loaded: ${error.message}`));
