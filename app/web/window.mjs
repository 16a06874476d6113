/// The page of the window: puts its files into the module's memory, passes files that the window saves to the browser, and has
/// its questions answered by Web Workers.
import {FarWork} from './far.mjs';
import {FilesAtServer, filesIn, filesOf, put, unpacked} from './files.mjs';

const place = (name) => new URL(name, import.meta.url);
const status = document.getElementById('status');
const canvas = document.getElementById('canvas');
const example = 'smollm2_135m';  // example of a new user
const narrowest = 720;  // CSS pixels of the window's width
const autosave = '/state/attoscope/session.json', kept = 'attoscope.session';
const environment = {HOME: '/home', XDG_STATE_HOME: '/state', XDG_DATA_HOME: '/data', XDG_CACHE_HOME: '/cache',
  XDG_CONFIG_HOME: '/config', XDG_PICTURES_DIR: '/downloads', ATTOSCOPE_ASSETS: '/assets', ATTOSCOPE_PAGE: location.href.replace(/#.*/, '')};
const folders = ['/state/attoscope', '/data', '/cache', '/config', '/downloads', '/files', '/assets', '/fonts'];

function stored(name, value) {
  if (self !== top) return null;  // a step embedded in a lesson's page
  try {
    return value === undefined ? localStorage.getItem(name) : localStorage.setItem(name, value);
  } catch {
    return null;  // no storage is available
  }
}

/// Lets Web Workers answer the window's questions; `begun` returns their start data.
function farWork(begun, module) {
  const files = filesIn(module, ['/assets', '/files', '/.glfw_dropped_files', '/data']);
  const putBack = (path, bytes) => put(module, path, bytes);
  const far = new FarWork(begun, files, putBack, (kind, number, what, bytes) => {
    if (!module.answered.includes(kind)) module.answered.push(kind);
    const place = module._malloc(bytes.length);
    module.HEAPU8.set(bytes, place);
    module.ccall('attoscope_told', null, ['string', 'number', 'number', 'number', 'number'], [kind, number, what, place, bytes.length]);
    module._free(place);
  });
  module.answered = [];  // kinds of questions
  module.ask = (...question) => far.ask(...question);
  module.drop = (kind) => far.drop(kind);
}

/// Passes each new or changed file in /downloads to the browser.
function downloads(module) {
  const files = filesIn(module, ['/downloads']), seen = new Map();
  return () => {
    for (const [path, bytes] of files()) {
      if (/\.part-|\/\./.test(path) || seen.get(path) === bytes) continue;
      seen.set(path, bytes);
      const link = Object.assign(document.createElement('a'), {download: path.slice(path.lastIndexOf('/') + 1)});
      link.href = URL.createObjectURL(new Blob([bytes]));
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    }
  };
}

/// Keeps the last session for the next visit.
function keeper(module) {
  let last = stored(kept);
  return () => {
    if (!module.FS.analyzePath(autosave).exists) return;
    const text = module.FS.readFile(autosave, {encoding: 'utf8'});
    if (text !== last) stored(kept, last = text);
  };
}

function chooser(module) {
  return (several) => {
    const input = Object.assign(document.createElement('input'), {type: 'file', multiple: several !== 0});
    const tell = (paths) => module.ccall('attoscope_chosen', null, ['string'], [paths.join('\n')]);
    input.oncancel = () => tell([]);
    input.onchange = async () => {
      const paths = [];
      for (const file of input.files) {
        const path = '/files/' + file.name;
        put(module, path, new Uint8Array(await file.arrayBuffer()));
        paths.push(path);
      }
      tell(paths);
    };
    input.click();
  };
}

/// Opens the session of the page's link.
function follow(module) {
  if (!location.hash.startsWith('#session=')) return;
  const why = location.hash.length > 8192 ? `has ${location.hash.length} bytes, expected at most 8192`
    : module.ccall('attoscope_open', 'string', ['string'], ['attoscope:open?' + location.hash.slice(1)]);
  status.textContent = why ? `The link of this page ${why}.` : '';
  history.replaceState(null, '', location.pathname + location.search);  // from here on the window's session is kept
}

/// Zooms with two fingers, like the wheel at their midpoint.
function pinch() {
  let spread = 0;  // distance of two fingers in CSS pixels; 0: not two
  const move = (event) => {
    const [a, b] = event.touches;
    if (!b) return void (spread = 0);
    event.stopPropagation();
    event.preventDefault();
    const at = {clientX: (a.clientX + b.clientX) / 2, clientY: (a.clientY + b.clientY) / 2, bubbles: true};
    const now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    if (!spread) canvas.dispatchEvent(new MouseEvent('mouseup', at));  // the first finger had pressed
    canvas.dispatchEvent(new MouseEvent('mousemove', at));
    if (spread) canvas.dispatchEvent(new WheelEvent('wheel', {...at, deltaY: -615 * Math.log(now / spread)}));  // 100: factor
                                                                                                                // 0.85
    spread = now;
  };
  for (const kind of ['touchstart', 'touchmove', 'touchend', 'touchcancel']) addEventListener(kind, move, {capture: true, passive: false});
}

/// Copies text. A page of an `http:` address has no navigator.clipboard; if nothing copies, the text is shown.
function copy(text) {
  const selected = () => {
    const area = Object.assign(document.createElement('textarea'), {value: text});
    status.after(area);
    area.select();
    const copied = document.execCommand('copy');
    area.remove();
    canvas.focus();
    if (!copied) status.textContent = `This browser lets the page copy nothing. The text to copy is: ${text}`;
  };
  if (navigator.clipboard) navigator.clipboard.writeText(text).catch(selected);
  else selected();
}

function paste(module, {clipboardData}) {
  if (clipboardData.files.length) canvas.dispatchEvent(new DragEvent('drop', {dataTransfer: clipboardData}));
  else module.ccall('attoscope_paste', null, ['string'], [clipboardData.getData('text')]);
}

function listen(module) {
  pinch();
  addEventListener('hashchange', () => follow(module));
  status.addEventListener('click', () => getSelection().isCollapsed && (status.textContent = ''));
  addEventListener('paste', (event) => paste(module, event));
  addEventListener('dragover', (event) => event.preventDefault());
  addEventListener('drop', (event) => event.preventDefault());
  addEventListener('contextmenu', (event) => event.preventDefault());
  addEventListener('keydown', (event) => event.ctrlKey && /^[so]$/i.test(event.key) && event.preventDefault());
  const keep = keeper(module), give = downloads(module);
  setInterval(keep, 2000);
  setInterval(give, 300);
  addEventListener('pagehide', () => {
    try {  // a new user's example may be on its way while there is no file
      if (module.FS.analyzePath(autosave).exists) module.ccall('attoscope_leave', null, [], []);
    } finally {
      keep();
    }
  });
}

async function start() {
  if (screen.width < narrowest) document.getElementById('viewport').content = `width=${narrowest}, user-scalable=no`;
  const code = unpacked('window_module.wasm', 'application/wasm');
  const session = stored(kept), linked = location.hash.length > 1;
  const loaded = fetch(place('files.json')).then((f) => f.json()).then(async ({first, ...lists}) => [await filesOf(first, 'first'), lists]);
  const [{default: make}, [files, lists]] = await Promise.all([import('./window_module.mjs'), loaded]);
  let tell, fail, compiled;
  const drawn = new Promise((resolve) => (tell = resolve)), failed = new Promise((_, reject) => (fail = reject));
  const instantiateWasm = (imports, done) => {
    WebAssembly.instantiateStreaming(code, imports).then(({instance, module}) => done(instance, compiled = module)).catch(fail);
    return {};
  };
  let failure = '';  // sentence about a fetch
  const fetched = (module) => (error) => {
    if (error || status.textContent === failure) status.textContent = failure = error?.message ?? '';
    module.ccall('attoscope_fetched', null, [], []);
  };
  let said = '', atServer;
  const module = await Promise.race([failed, make({canvas, instantiateWasm, locateFile: (name) => place(name).href, print: console.log,
    printErr: (line) => console.warn(said = line), onExit: () => fail(new Error(said)),
    drawn: () => tell(), copy,
    preRun: [(early) => {
      Object.assign(early.ENV, environment);
      for (const folder of folders) early.FS.mkdirTree(folder);
      for (const {path, bytes} of files) put(early, path, bytes);
      if (session !== null) put(early, autosave, session);
      early.FS.chdir('/downloads');
      atServer = new FilesAtServer(early, lists, fetched(early));
      farWork(() => ({code: compiled, environment, lists}), early);
    }]})]);
  module.choose = chooser(module);
  listen(module);
  follow(module);
  await Promise.race([failed, drawn]);
  if (status.textContent === 'Loading.') status.textContent = '';
  canvas.focus();
  globalThis.attoscope = module;
  if (session !== null || linked) return;
  const touched = new Promise((resolve) => ['pointerdown', 'keydown', 'drop'].forEach((kind) => addEventListener(kind, resolve, true)));
  const here = await atServer.fetch(example).then(() => true, () => false);  // on failure `fetched` has shown why
  if (here && await Promise.race([touched, null]) === null) module.ccall('attoscope_show_example', null, [], []);
}

start().catch((error) => (status.textContent = `Attoscope cannot be loaded: ${error.message}`));
