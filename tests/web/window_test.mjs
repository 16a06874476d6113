// The window in a page of headless Chromium, served without special headers: node tests/web/window_test.mjs FOLDER [PICTURES], of
// app/package --web. PICTURES: a folder for pictures of the page at several sizes.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {mkdtemp, readdir, readFile, rm, writeFile} from 'node:fs/promises';
import {createServer} from 'node:http';
import {tmpdir} from 'node:os';
import {extname, join, resolve} from 'node:path';
import test, {after, before} from 'node:test';
import {deflateSync} from 'node:zlib';

const folder = resolve(process.env.ATTOSCOPE_WEB ?? process.argv[2]), pictures = process.env.ATTOSCOPE_PICTURES ?? process.argv[3];
const types = {'.html': 'text/html', '.mjs': 'text/javascript', '.js': 'text/javascript', '.wasm': 'application/wasm', '.css': 'text/css'};
const slider = [150, 367, 128, 367];  // of N, in the left panel
const run = [366, 106, 366, 106];  // the button of Sweep
const autosave = '/state/attoscope/session.json';
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const server = createServer(async ({url}, answer) => {
  const name = decodeURIComponent(new URL(url, 'http://h').pathname).replace(/\/$/, '/index.html');
  try {
    const bytes = await readFile(join(folder, name));
    answer.writeHead(200, {'Content-Type': types[extname(name)] ?? 'application/octet-stream'}).end(bytes);
  } catch {
    answer.writeHead(404).end();
  }
});

/// Chromium's page, driven by its DevTools protocol over a pipe.
class Page {
  #next = 0;
  #waiting = new Map();
  #text = '';
  complaints = [];

  async open() {
    this.profile = await mkdtemp(join(tmpdir(), 'attoscope-'));
    this.browser = spawn('chromium', ['--headless=new', '--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--remote-debugging-pipe',
      `--user-data-dir=${this.profile}`, '--window-size=1280,800', 'about:blank'], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    this.browser.stdio[4].on('data', (data) => this.#read(data));
    const {targetInfos} = await this.send('Target.getTargets');
    this.session = (await this.send('Target.attachToTarget', {targetId: targetInfos.find((t) => t.type === 'page').targetId, flatten: true})).sessionId;
    for (const part of ['Page', 'Runtime', 'Log']) await this.send(`${part}.enable`);
    await this.size(1280, 800);
  }

  #read(data) {
    this.#text += data;
    for (let end; (end = this.#text.indexOf('\0')) >= 0; this.#text = this.#text.slice(end + 1)) {
      const {id, method, params, result, error} = JSON.parse(this.#text.slice(0, end));
      if (id) this.#waiting.get(id)(result ?? error);
      if (method === 'Runtime.exceptionThrown') this.complaints.push(JSON.stringify(params.exceptionDetails).slice(0, 600));
      if (method === 'Log.entryAdded' && params.entry.level === 'error') this.complaints.push(params.entry.text);
      if (method === 'Runtime.consoleAPICalled' && /error|warning/.test(params.type)) this.complaints.push(params.args.map((a) => a.value).join(' '));
    }
  }

  send(method, params = {}) {
    const id = ++this.#next;
    this.browser.stdio[3].write(JSON.stringify({id, method, params, sessionId: this.session}) + '\0');
    return new Promise((done) => this.#waiting.set(id, done));
  }

  async value(expression) {
    return (await this.send('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true})).result?.value;
  }

  size(width, height, mobile = false) {
    return this.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: mobile ? 2 : 1, mobile});
  }

  /// Loads the page anew, and returns the seconds until the window's first frame.
  async load(hash = '') {
    await this.send('Page.navigate', {url: 'about:blank'});
    const start = performance.now();
    await this.send('Page.navigate', {url: `http://localhost:${server.address().port}/${hash}`});
    await this.until("Boolean(globalThis.attoscope) && document.getElementById('status').textContent === ''");
    return (performance.now() - start) / 1000;
  }

  async until(condition, seconds = 60) {
    for (const end = performance.now() + 1000 * seconds; performance.now() < end; await sleep(50)) if (await this.value(condition)) return;
    assert.fail(`${condition} is not true after ${seconds} s; the page says: ${await this.value("document.getElementById('status')?.textContent")}`);
  }

  mouse(type, x, y, buttons = 1) {
    return this.send('Input.dispatchMouseEvent', {type, x, y, button: type === 'mouseMoved' && !buttons ? 'none' : 'left', buttons, clickCount: 1});
  }

  async drag(x0, y0, x1, y1) {
    await this.mouse('mouseMoved', x0, y0, 0);
    await sleep(150);
    await this.mouse('mousePressed', x0, y0);
    for (let i = 1; i <= 20; ++i) {
      await sleep(30);
      await this.mouse('mouseMoved', x0 + (x1 - x0) * i / 20, y0 + (y1 - y0) * i / 20);
    }
    await this.mouse('mouseReleased', x1, y1, 0);
  }

  async picture(name) {
    const {data} = await this.send('Page.captureScreenshot');
    if (pictures) await writeFile(join(pictures, name), Buffer.from(data, 'base64'));
    return data;
  }

  /// The session that the window has kept, once it has one that holds.
  async kept(holds) {
    let session;
    for (let i = 0; i < 200; ++i, await sleep(100)) {
      session = JSON.parse(await this.value(`attoscope.FS.analyzePath('${autosave}').exists ? attoscope.FS.readFile('${autosave}', {encoding: 'utf8'}) : '{}'`));
      if (holds(session)) return session;
    }
    return session;
  }

  async close() {
    this.browser.kill();
    await sleep(300);
    await rm(this.profile, {recursive: true, force: true});
  }
}

const page = new Page();
before(async () => {
  await new Promise((done) => server.listen(0, done));
  await page.open();
});
after(async () => {
  await page.close();
  server.close();
});

test('the window is drawn', async () => {
  console.log(`first frame after ${(await page.load()).toFixed(1)} s, with the service worker's reload`);
  console.log(`first frame after ${(await page.load()).toFixed(1)} s`);
  await sleep(3000);
  await page.picture('1280x800.png');
  assert.deepEqual(page.complaints, []);
});

/// The page's address behind # for a session's text, as `copy link` writes it.
const link = (session) => '#session=' + deflateSync(JSON.stringify({schema: 'attoscope.session/1', ...session})).toString('base64url');

test('a link is a setting', async () => {
  await page.load(link({experiment: {problem: {n: 96, d: 32}, format: 'fp16'}}));
  const session = await page.kept((s) => s.experiment?.problem?.n === 96);
  assert.equal(session.experiment.problem.n, 96);
  assert.equal(session.experiment.problem.d, 32);
  assert.equal(session.experiment.format, 'fp16');
  await page.send('Runtime.evaluate', {expression: "location.hash = '#session=none'"});
  await page.until("/link of this page/.test(document.getElementById('status').textContent)");
  assert.deepEqual(page.complaints, []);
});

test('a moved slider changes the experiment, and the page never freezes', async () => {
  await page.load(link({experiment: {problem: {n: 512, d: 64}}}));
  const {experiment} = await page.kept((s) => s.experiment?.problem?.n === 512);
  await page.value(`globalThis.longest = 0; globalThis.last = performance.now(); globalThis.watch = setInterval(() => {
    const now = performance.now(); longest = Math.max(longest, now - last); last = now; }, 1); 0`);
  await page.drag(...slider);
  const moved = await page.kept((s) => s.experiment?.problem?.n !== 512);
  assert.notEqual(moved.experiment.problem.n, experiment.problem.n);
  const longest = await page.value('clearInterval(watch), longest');
  console.log(`longest pause of the page while a slider is dragged: ${longest.toFixed(0)} ms`);
  assert.ok(longest < 1000, `${longest} ms`);
});

test('the last session comes back, and what is saved is downloaded', async () => {
  await page.load(link({experiment: {problem: {n: 80}}}));
  await page.kept((s) => s.experiment?.problem?.n === 80);
  await page.until("localStorage.getItem('attoscope.session')?.includes('80')");
  await page.load();
  await page.send('Browser.setDownloadBehavior', {behavior: 'allow', downloadPath: page.profile});
  const press = (type, key, code, windowsVirtualKeyCode) =>
    page.send('Input.dispatchKeyEvent', {type, key, code, windowsVirtualKeyCode, modifiers: 2}).then(() => sleep(200));
  await press('rawKeyDown', 'Control', 'ControlLeft', 17);
  await press('rawKeyDown', 's', 'KeyS', 83);
  await press('keyUp', 's', 'KeyS', 83);
  await press('keyUp', 'Control', 'ControlLeft', 17);
  let saved = null;
  for (let i = 0; i < 100 && !saved; ++i, await sleep(100)) saved = (await readdir(page.profile)).find((name) => name.endsWith('.attoscope.json'));
  assert.ok(saved, 'a session file is downloaded');
  assert.equal(JSON.parse(await readFile(join(page.profile, saved))).experiment.problem.n, 80);
  assert.deepEqual(page.complaints, []);
});

/// A float32 .npy file of one head.
function npy(data, n, d) {
  const header = `{'descr': '<f4', 'fortran_order': False, 'shape': (1, ${n}, ${d}), }`.padEnd(117) + '\n';
  const length = Buffer.alloc(2);
  length.writeUInt16LE(header.length);
  return Buffer.concat([Buffer.from('\x93NUMPY\x01\x00', 'latin1'), length, Buffer.from(header), Buffer.from(Float32Array.from(data).buffer)]);
}

test('dropped files are judged', async () => {
  const n = 64, d = 16, wave = (step) => Array.from({length: n * d}, (_, i) => Math.sin((i + 1) * step));
  const files = [];
  for (const [name, step] of [['q', 1.1], ['k', 0.7], ['v', 0.3], ['o', 0.3]]) {
    files.push(join(page.profile, `${name}.npy`));
    await writeFile(files.at(-1), npy(wave(step), n, d));
  }
  await page.load(link({experiment: {problem: {n: 512}}}));
  const data = {items: [], files, dragOperationsMask: 1};
  for (const type of ['dragEnter', 'dragOver', 'drop']) await page.send('Input.dispatchDragEvent', {type, x: 640, y: 400, data});
  const session = await page.kept((s) => JSON.stringify(s).includes('o.npy'));
  assert.match(JSON.stringify(session), /o\.npy/);
  await sleep(3000);
  await page.picture('verdict.png');
  assert.deepEqual(page.complaints, []);
});

test('a lesson is drawn, and so is every size', async () => {
  await page.load(link({view: {workspace: 'learn'}}));
  await sleep(4000);
  await page.picture('lesson.png');
  await page.load(link({view: {workspace: 'sweep'}}));
  await sleep(1000);
  await page.drag(...run);
  await page.until("attoscope.FS.analyzePath('/cache/attoscope/points').exists && attoscope.FS.readdir('/cache/attoscope/points').length > 2");
  await sleep(5000);
  await page.picture('sweep.png');
  for (const [width, height] of [[1024, 768], [390, 844]]) {
    await page.size(width, height, width < 500);
    await page.load(link({view: {workspace: 'explore'}}));
    await sleep(3000);
    await page.picture(`${width}x${height}.png`);
  }
  await page.size(1280, 800);
  assert.deepEqual(page.complaints, []);
});
