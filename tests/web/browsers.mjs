// Pages of headless browsers, driven by Chromium's DevTools protocol over a pipe and by Firefox's WebDriver BiDi.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {basename, join} from 'node:path';

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const autosave = '/state/attoscope/session.json';

/// A page, and the browser that it alone is in. `address`: of the window, without #.
class Page {
  #next = 0;
  #waiting = new Map();
  complaints = [];  // errors and warnings of the page's console

  /// Sends a command of the browser's protocol; resolves to its result, or to its error.
  send(method, params = {}) {
    const id = ++this.#next;
    this.write(JSON.stringify({id, method, params, ...(this.session && {sessionId: this.session})}));
    return new Promise((done) => this.#waiting.set(id, done));
  }

  received(text) {
    const message = JSON.parse(text);
    if (message.id) this.#waiting.get(message.id)(message.result ?? message);
    else this.told(message);
  }

  /// Loads the page anew, and returns the seconds until the window's first frame.
  async load(hash = '') {
    await this.go('about:blank');
    const start = performance.now();
    await this.go(this.address + hash);
    await this.until("Boolean(globalThis.attoscope) && document.getElementById('status').textContent === ''");
    return (performance.now() - start) / 1000;
  }

  async until(condition, seconds = 60) {
    for (const end = performance.now() + 1000 * seconds; performance.now() < end; await sleep(50)) if (await this.value(condition)) return;
    assert.fail(`${condition} is not true after ${seconds} s; the page says: ${await this.value("document.getElementById('status')?.textContent")}`);
  }

  async drag(x0, y0, x1, y1) {
    await this.mouse('move', x0, y0, 0);
    await sleep(150);
    await this.mouse('press', x0, y0);
    for (let i = 1; i <= 20; ++i) {
      await sleep(30);
      await this.mouse('move', x0 + (x1 - x0) * i / 20, y0 + (y1 - y0) * i / 20);
    }
    await this.mouse('release', x1, y1, 0);
  }

  /// Makes an event with these files in the page: an expression of `dataTransfer`.
  async give(files, event) {
    const items = await Promise.all(files.map(async (file) => ({name: basename(file), data: (await readFile(file)).toString('base64')})));
    await this.value(`(() => {
      const dataTransfer = new DataTransfer();
      for (const {name, data} of ${JSON.stringify(items)}) dataTransfer.items.add(new File([Uint8Array.from(atob(data), (c) => c.charCodeAt(0))], name));
      ${event};
    })()`);
  }

  paste(files) {
    return this.give(files, "dispatchEvent(new ClipboardEvent('paste', {clipboardData: dataTransfer}))");
  }

  click(x, y) {
    return this.drag(x, y, x, y);
  }

  async picture(file) {
    const data = await this.screenshot();
    if (file) await writeFile(file, Buffer.from(data, 'base64'));
  }

  /// The session that the window has kept, once it has one that holds.
  async kept(holds, seconds = 20) {
    let session;
    for (let i = 0; i < 10 * seconds; ++i, await sleep(100)) {
      session = JSON.parse(await this.value(`attoscope.FS.analyzePath('${autosave}').exists ? attoscope.FS.readFile('${autosave}', {encoding: 'utf8'}) : '{}'`) ?? '{}');
      if (holds(session)) return session;
    }
    return session;
  }

  async close() {
    this.browser.kill();
    await sleep(500);
    await rm(this.profile, {recursive: true, force: true, maxRetries: 5});
  }
}

export class Chromium extends Page {
  #text = '';

  async open() {
    this.profile = await mkdtemp(join(tmpdir(), 'attoscope-'));
    this.browser = spawn('chromium', ['--headless=new', '--no-sandbox', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--remote-debugging-pipe',
      `--user-data-dir=${this.profile}`, '--window-size=1280,800', 'about:blank'], {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    this.browser.stdio[4].on('data', (data) => {
      this.#text += data;
      for (let end; (end = this.#text.indexOf('\0')) >= 0; this.#text = this.#text.slice(end + 1)) this.received(this.#text.slice(0, end));
    });
    const {targetInfos} = await this.send('Target.getTargets');
    this.session = (await this.send('Target.attachToTarget', {targetId: targetInfos.find((t) => t.type === 'page').targetId, flatten: true})).sessionId;
    for (const part of ['Page', 'Runtime', 'Log']) await this.send(`${part}.enable`);
    await this.size(1280, 800);
    await this.send('Browser.setDownloadBehavior', {behavior: 'allow', downloadPath: this.profile});
  }

  write(text) {
    this.browser.stdio[3].write(text + '\0');
  }

  told({method, params}) {
    if (method === 'Runtime.exceptionThrown') this.complaints.push(JSON.stringify(params.exceptionDetails).slice(0, 600));
    if (method === 'Log.entryAdded' && params.entry.level === 'error') this.complaints.push(params.entry.text);
    if (method === 'Runtime.consoleAPICalled' && /error|warning/.test(params.type)) this.complaints.push(params.args.map((a) => a.value).join(' '));
  }

  go(url) {
    return this.send('Page.navigate', {url});
  }

  async value(expression) {
    return (await this.send('Runtime.evaluate', {expression, awaitPromise: true, returnByValue: true})).result?.value;
  }

  size(width, height, mobile = false) {
    return this.send('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: mobile ? 2 : 1, mobile});
  }

  mouse(what, x, y, buttons = 1) {
    const type = {move: 'mouseMoved', press: 'mousePressed', release: 'mouseReleased'}[what];
    return this.send('Input.dispatchMouseEvent', {type, x, y, button: what === 'move' && !buttons ? 'none' : 'left', buttons, clickCount: 1});
  }

  /// Two fingers at (x - apart, y) and (x + apart, y), which go to `wide` on both sides.
  async pinch(x, y, apart, wide) {
    const fingers = (by) => [{x: x - by, y, id: 0}, {x: x + by, y, id: 1}];
    await this.send('Input.dispatchTouchEvent', {type: 'touchStart', touchPoints: fingers(apart)});
    for (let i = 1; i <= 10; ++i, await sleep(30))
      await this.send('Input.dispatchTouchEvent', {type: 'touchMove', touchPoints: fingers(apart + (wide - apart) * i / 10)});
    await this.send('Input.dispatchTouchEvent', {type: 'touchEnd', touchPoints: []});
  }

  /// Presses a letter, with the Control key where `control`.
  async key(letter, control = false) {
    const press = (type, key, code, windowsVirtualKeyCode) =>
      this.send('Input.dispatchKeyEvent', {type, key, code, windowsVirtualKeyCode, modifiers: control ? 2 : 0, ...(type === 'keyDown' && {text: key})}).then(() => sleep(200));
    const code = letter === ' ' ? ['Space', 32] : [`Key${letter.toUpperCase()}`, letter.toUpperCase().charCodeAt(0)];
    if (control) await press('rawKeyDown', 'Control', 'ControlLeft', 17);
    await press(control ? 'rawKeyDown' : 'keyDown', letter, ...code);
    await press('keyUp', letter, ...code);
    if (control) await press('keyUp', 'Control', 'ControlLeft', 17);
  }

  async drop(files) {
    const data = {items: [], files, dragOperationsMask: 1};
    for (const type of ['dragEnter', 'dragOver', 'drop']) await this.send('Input.dispatchDragEvent', {type, x: 640, y: 400, data});
  }

  async screenshot() {
    return (await this.send('Page.captureScreenshot')).data;
  }
}

export class Firefox extends Page {
  async open() {
    this.profile = await mkdtemp(join(tmpdir(), 'attoscope-'));
    const settings = {'browser.download.dir': this.profile, 'browser.download.folderList': 2, 'browser.download.useDownloadDir': true,
      'browser.download.always_ask_before_handling_new_types': false, 'webgl.force-enabled': true, 'browser.shell.checkDefaultBrowser': false,
      'datareporting.policy.dataSubmissionEnabled': false, 'app.normandy.enabled': false};
    await writeFile(join(this.profile, 'user.js'), Object.entries(settings).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});\n`).join(''));
    this.browser = spawn('firefox-esr', ['--no-remote', '--profile', this.profile, '--remote-debugging-port', '0', 'about:blank'],
      {stdio: ['ignore', 'ignore', 'pipe']});
    const address = await new Promise((found) => {
      let text = '';
      this.browser.stderr.on('data', (data) => {
        const listening = /BiDi listening on (ws:\S+)/.exec(text += data);
        if (listening) found(listening[1]);
      });
    });
    this.socket = new WebSocket(address + '/session');
    await new Promise((opened) => (this.socket.onopen = opened));
    this.socket.onmessage = ({data}) => this.received(data);
    await this.send('session.new', {capabilities: {}});
    await this.send('session.subscribe', {events: ['log.entryAdded']});
    this.context = (await this.send('browsingContext.getTree')).contexts[0].context;
    await this.size(1280, 800);
  }

  write(text) {
    this.socket.send(text);
  }

  told({method, params}) {
    if (method === 'log.entryAdded' && /error|warn/.test(params.level)) this.complaints.push(params.text);
  }

  go(url) {
    return this.send('browsingContext.navigate', {context: this.context, url, wait: 'interactive'});
  }

  async value(expression) {
    const {result} = await this.send('script.callFunction', {functionDeclaration: 'async (text) => JSON.stringify(await (0, eval)(text))', awaitPromise: true,
      arguments: [{type: 'string', value: expression}], target: {context: this.context}});
    return result?.type === 'string' ? JSON.parse(result.value) : undefined;
  }

  size(width, height, mobile = false) {
    return this.send('browsingContext.setViewport', {context: this.context, viewport: {width, height}, devicePixelRatio: mobile ? 2 : 1});
  }

  #act(type, actions) {
    return this.send('input.performActions', {context: this.context, actions: [{type, id: type, actions}]});
  }

  mouse(what, x, y) {
    const button = {press: 'pointerDown', release: 'pointerUp'}[what];
    return this.#act('pointer', [{type: 'pointerMove', x: Math.round(x), y: Math.round(y)}, ...(button ? [{type: button, button: 0}] : [])]);
  }

  async key(letter, control = false) {
    const keys = [...(control ? ['\uE009'] : []), letter], pause = {type: 'pause', duration: 150};
    await this.#act('key', [...keys.flatMap((value) => [{type: 'keyDown', value}, pause]), ...keys.reverse().flatMap((value) => [{type: 'keyUp', value}, pause])]);
  }

  drop(files) {  // BiDi cannot drag files
    return this.give(files, "document.getElementById('canvas').dispatchEvent(new DragEvent('drop', {dataTransfer, bubbles: true}))");
  }

  async screenshot() {
    return (await this.send('browsingContext.captureScreenshot', {context: this.context})).data;
  }
}
