// The window in a page of headless Chromium or, with ATTOSCOPE_BROWSER=firefox, of Firefox, served without special
// headers:
// node tests/web/window_test.mjs FOLDER [PICTURES], of app/package --web. PICTURES: a folder for pictures of the page.
import assert from 'node:assert/strict';
import {readdir, readFile, writeFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import {networkInterfaces} from 'node:os';
import {extname, join, resolve} from 'node:path';
import test, {after, before} from 'node:test';
import {deflateSync} from 'node:zlib';
import {Chromium, Firefox, sleep} from './browsers.mjs';

const folder = resolve(process.env.ATTOSCOPE_WEB ?? process.argv[2]), pictures = process.env.ATTOSCOPE_PICTURES ?? process.argv[3];
const types = {'.html': 'text/html', '.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm', '.css': 'text/css'};
const slider = [150, 367, 128, 367];  // the slider of N in the left panel
const run = [366, 106], train = [372, 123];  // the run buttons of Sweep and Train
const field = [[898, 491], [1115, 685]], figure = [[831, 17], [700, 414]];  // menus and an entry of each: the field, the plot of how often the max moves
const picture_middle = [576, 320];  // the middle of Explore's picture
const lesson = '/lessons/x.html';
// Other programs of this machine reach the page by an address with fewer permissions in browsers than localhost.
const outside = Object.values(networkInterfaces()).flat().find(({family, internal}) => family === 'IPv4' && !internal)?.address;

/// The part after # of the page's address for a session's text, as `copy link` writes it.
const link = (session) => '#session=' + deflateSync(JSON.stringify({schema: 'attoscope.session/1', ...session})).toString('base64url');

/// A page as `attoscope lessons --html` writes it, of one step.
async function lesson_page() {
  const script = await readFile(join(import.meta.dirname, '../../assets/lessons/page.mjs'), 'utf8');
  const session = link({view: {workspace: 'learn'}, lesson: {name: '06-tiles', step: 2}}).replace('#session=', '');
  return `<!doctype html><link rel="icon" href="data:,"><section data-session="${session}"><h2>x</h2></section><script type="module">${script}</script>`;
}

const asked = new Set();  // names of requested compressed files
const server = createServer(async ({url}, answer) => {
  const name = decodeURIComponent(new URL(url, 'http://h').pathname).replace(/\/$/, '/index.html');
  if (name.endsWith('.packed')) asked.add(name.slice(1, -'.packed'.length));
  try {
    const bytes = name === lesson ? await lesson_page() : await readFile(join(folder, name));
    answer.writeHead(200, {'Content-Type': types[extname(name)] ?? 'application/octet-stream'}).end(bytes);
  } catch {
    answer.writeHead(404).end();
  }
});

const page = process.env.ATTOSCOPE_BROWSER === 'firefox' ? new Firefox : new Chromium;
before(async () => {
  await new Promise((done) => server.listen(0, done));
  page.address = `http://${outside ?? 'localhost'}:${server.address().port}/`;
  await page.open();
});
const picture = (name) => page.picture(pictures && join(pictures, name));
after(async () => {
  await page.close();
  server.close();
});

test('the window is drawn', async () => {
  console.log(`first frame after ${(await page.load()).toFixed(1)} s, on the first visit`);
  console.log(`first frame after ${(await page.load()).toFixed(1)} s`);
  assert.match((await page.kept((s) => s.experiment?.problem?.input?.file)).experiment.problem.input.file, /smollm2/, 'the example of a new user');
  await sleep(3000);
  await picture('1280x800.png');
  assert.deepEqual(page.complaints, []);
});

test('a link is a setting', async () => {
  await page.load(link({experiment: {problem: {n: 96, d: 32}, format: 'fp16'}}));
  const session = await page.kept((s) => s.experiment?.problem?.n === 96);
  assert.equal(session.experiment.problem.n, 96);
  assert.equal(session.experiment.problem.d, 32);
  assert.equal(session.experiment.format, 'fp16');
  await page.value("location.hash = '#session=none'");
  await page.until("/link of this page/.test(document.getElementById('status').textContent)");
  asked.clear();
  await page.value(`location.hash = '${link({view: {workspace: 'learn'}})}'`);  // fetches the lessons
  await page.until("document.getElementById('status').textContent === ''");
  await page.value("location.hash = '#session=none'");
  for (let i = 0; i < 300 && !asked.has('lessons'); ++i) await sleep(100);
  await sleep(2000);
  assert.match(await page.value("document.getElementById('status').textContent"), /link of this page/);
  await page.value("document.getElementById('status').click()");
  assert.equal(await page.value("document.getElementById('status').textContent"), '');
  assert.deepEqual(page.complaints, []);
});

test('what is copied comes from the text itself where the browser offers no clipboard, or is shown', async () => {
  await page.load();
  await page.value("Object.defineProperty(navigator, 'clipboard', {value: undefined, configurable: true}), 0");
  await page.value("document.execCommand = (what) => (globalThis.copied = [what, document.activeElement.value], true), attoscope.copy('0.25'), 0");
  assert.deepEqual(await page.value('copied'), ['copy', '0.25']);
  assert.equal(await page.value("document.getElementById('status').textContent"), '');
  await page.value("document.execCommand = () => false, attoscope.copy('0.75'), 0");
  assert.match(await page.value("document.getElementById('status').textContent"), /copy is: 0\.75$/);
  assert.equal(await page.value("document.querySelectorAll('textarea').length"), 0);
});

test('lessons and examples are fetched once they are asked for', async () => {
  const needed = ['first', 'window_module.wasm'];
  const asked_by = async (session, holds) => {
    asked.clear();
    await page.load(link(session));
    await page.kept(holds);
    await sleep(1500);
    assert.deepEqual(page.complaints, []);
    return [...asked].filter((name) => !needed.includes(name)).sort();
  };
  const from_file = (name) => ({experiment: {problem: {n: 64, input: {kind: 'tensors', file: `shipped:examples/${name}.safetensors`}}}});
  assert.deepEqual(await asked_by({experiment: {problem: {n: 72}}}, (s) => s.experiment?.problem?.n === 72), []);
  assert.deepEqual([...asked].sort(), needed);
  assert.deepEqual(await asked_by(from_file('grouped'), (s) => /grouped/.test(s.experiment?.problem?.input?.file)), ['grouped']);
  // of the session before, of the lesson
  const of_example = {view: {workspace: 'learn'}, lesson: {name: '14-scales', step: 2}};
  assert.deepEqual(await asked_by(of_example, (s) => s.view?.workspace === 'learn'), ['grouped', 'lessons', 'smollm2_135m']);
});

test('a moved slider changes the experiment, and the page never freezes', async () => {
  await page.load(link({experiment: {problem: {n: 512, d: 64}}}));
  const {experiment} = await page.kept((s) => s.experiment?.problem?.n === 512);
  await page.value(`globalThis.longest = 0; globalThis.last = performance.now(); globalThis.watch = setInterval(() => {
    const now = performance.now(); longest = Math.max(longest, now - last); last = now; }, 1);
    globalThis.waits = 0; for (const name of ['getParameter', 'getError', 'finish', 'readPixels']) {
      const own = WebGL2RenderingContext.prototype[name];
      WebGL2RenderingContext.prototype[name] = function(...given) { return ++waits, own.apply(this, given); };
    } 0`);
  await page.drag(...slider);
  const moved = await page.kept((s) => s.experiment?.problem?.n !== 512);
  assert.notEqual(moved.experiment.problem.n, experiment.problem.n);
  const longest = await page.value('clearInterval(watch), longest');
  console.log(`longest pause of the page while a slider is dragged: ${longest.toFixed(0)} ms`);
  assert.ok(longest < 200, `${longest} ms`);
  assert.equal(await page.value('waits'), 0, 'no frame waits until WebGL has drawn');
});

/// The file of this ending that the page has saved.
async function saved(ending) {
  for (let i = 0; i < 300; ++i, await sleep(100)) {
    const name = (await readdir(page.profile)).find((name) => name.endsWith(ending));
    if (name) return readFile(join(page.profile, name), 'utf8');
  }
  assert.fail(`no ${ending} is downloaded`);
}

test('the last session comes back, and what is saved is downloaded', async () => {
  await page.load(link({experiment: {problem: {n: 80}}}));
  await page.kept((s) => s.experiment?.problem?.n === 80);
  await page.until("localStorage.getItem('attoscope.session')?.includes('80')");
  await page.load();
  await page.key('s', true);
  assert.equal(JSON.parse(await saved('.attoscope.json')).experiment.problem.n, 80);
  const kept = await page.value(`(async () => {
    location.hash = '${link({experiment: {problem: {n: 88}}})}';
    await new Promise((done) => setTimeout(done, 500));  // a frame, and less than an idle window waits before it saves
    dispatchEvent(new Event('pagehide'));
    return localStorage.getItem('attoscope.session');
  })()`);
  assert.equal(JSON.parse(kept).experiment.problem.n, 88, 'a page that is left keeps its last change');
  assert.deepEqual(page.complaints, []);
});

test('fields and the data of figures are downloaded', async () => {
  await page.load(link({experiment: {problem: {n: 96, d: 32}}, view: {figure: {as: 'svg'}, named_figure: {n: 32, d: 8, seeds: 2}}}));
  await page.kept((s) => s.experiment?.problem?.n === 96);
  await sleep(2000);
  for (const place of field) await page.click(...place), await sleep(500);
  assert.match(await saved('a_error-1.npy'), /'shape': \(96, 32\)/);
  for (const place of figure) await page.click(...place), await sleep(500);
  assert.match(await saved('rescales-1.csv'), /normal,32,0/);
  assert.deepEqual(page.complaints, []);
});

/// A float32 .npy file of one head.
function npy(data, n, d) {
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (1, ${n}, ${d}), }`.padEnd(117) + '\n';
  const length = Buffer.alloc(2);
  length.writeUInt16LE(header.length);
  return Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), length, Buffer.from(header), Buffer.from(Float32Array.from(data).buffer)]);
}

/// Paths of q.npy, k.npy, v.npy and o.npy, an output that is wrong.
async function kernel_files(n, d) {
  const wave = (step) => Array.from({length: n * d}, (_, i) => Math.sin((i + 1) * step));
  const files = [];
  for (const [name, step] of [['q', 1.1], ['k', 0.7], ['v', 0.3], ['o', 0.3]]) {
    files.push(join(page.profile, `${name}.npy`));
    await writeFile(files.at(-1), npy(wave(step), n, d));
  }
  return files;
}

for (const [how, give] of [['dropped', 'drop'], ['pasted', 'paste']]) {
  test(`${how} files are judged`, async () => {
    const files = await kernel_files(64, 16);
    await page.load(link({experiment: {problem: {n: 512}}}));
    await page[give](files);
    assert.match(JSON.stringify(await page.kept((s) => JSON.stringify(s).includes('o.npy'))), /o\.npy/);
    await sleep(3000);
    await picture(`${how}.png`);
    assert.deepEqual(page.complaints, []);
  });
}

test('files that take long to read are read', async () => {
  await page.load(link({experiment: {problem: {n: 512}}}));
  await page.drop((await kernel_files(8192, 64)).slice(0, 3));
  assert.match((await page.kept((s) => s.experiment?.problem?.n === 8192)).experiment.problem.input.file, /q\.npy/);
  assert.deepEqual(page.complaints, []);
});

test('two fingers zoom', {skip: !page.pinch}, async () => {
  await page.load(link({experiment: {problem: {n: 512}}}));
  await page.kept((s) => s.experiment?.problem?.n === 512);
  await page.pinch(...picture_middle, 30, 90);
  const {view} = await page.kept((s) => s.view?.zoom?.row1 > 0);
  const rows = view.zoom.row1 - view.zoom.row0;
  assert.ok(rows > 130 && rows < 220, `${rows} of 512 rows are shown under fingers three times as far apart`);
  assert.deepEqual(page.complaints, []);
});

test('a step of a lesson runs in its page, and leaves the last session alone', async () => {
  await page.load(link({experiment: {problem: {n: 80}}}));
  await page.until("localStorage.getItem('attoscope.session')?.includes('80')");
  const before = await page.value("localStorage.getItem('attoscope.session')");
  await page.go(page.address.slice(0, -1) + lesson);
  await page.until("document.querySelector('button')");
  await page.value("document.querySelector('button').click()");
  const inside = "document.querySelector('iframe')?.contentWindow";
  await page.until(`${inside}?.attoscope?.FS.analyzePath('/state/attoscope/session.json').exists`);
  await page.until(`/06-tiles/.test(${inside}.attoscope.FS.readFile('/state/attoscope/session.json', {encoding: 'utf8'}))`);
  await sleep(2500);
  await picture('step.png');
  assert.equal(await page.value("localStorage.getItem('attoscope.session')"), before);
  assert.deepEqual(page.complaints, []);
});

test('a lesson is drawn, and so is every size', async () => {
  await page.load(link({view: {workspace: 'learn'}}));
  await sleep(4000);
  await picture('lesson.png');
  await page.load(link({view: {workspace: 'sweep'}}));
  await sleep(1000);
  await page.click(...run);
  await page.until('attoscope.answered.some((kind) => /Sweeper/.test(kind))');
  await sleep(5000);
  await picture('sweep.png');
  await page.load(link({view: {workspace: 'train'}}));
  await sleep(2000);
  await page.click(...train);
  await page.until('attoscope.answered.some((kind) => /TrainThread/.test(kind))');
  await sleep(8000);
  await picture('train.png');
  for (const [width, height] of [[1024, 768], [390, 844]]) {
    await page.size(width, height, width < 500);
    await page.load(link({view: {workspace: 'explore'}}));
    await sleep(3000);
    await picture(`${width}x${height}.png`);
  }
  await page.size(1280, 800);
  assert.deepEqual(page.complaints, []);
});
