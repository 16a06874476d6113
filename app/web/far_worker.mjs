/// Answers the window's questions in a Web Worker. Receives {code, environment, lists, files} first, then {path, bytes} and
/// {kind, number, question}; sends {path, bytes} of written files and {number, what, bytes}.
import make from './window_module.mjs';
import {begunFrom, FilesAtServer, filesIn, put} from './files.mjs';

const share = 0, first = 1, folders = ['/data', '/downloads'];
let module = null, asked = 0, files = null, atServer = null;
const known = new Map();  // files that the page has

function newFiles() {
  const found = [...files()].filter(([path, bytes]) => known.get(path) !== bytes);
  for (const [path, bytes] of found) known.set(path, bytes);
  return found;
}

function tell(what, bytes) {
  if (atServer.arrival && what !== share) return;  // the question is asked again
  if (what > first) for (const [path, written] of newFiles()) postMessage({path, bytes: written});
  postMessage({number: asked, what, bytes}, [bytes.buffer]);
}

async function begin({code, environment, lists, files: given}) {
  module = await make({...begunFrom(code, (error) => console.error(error)), noInitialRun: true, tell,
    preRun: [(early) => {
      Object.assign(early.ENV, environment);
      for (const folder of folders) early.FS.mkdirTree(folder);
      atServer = new FilesAtServer(early, lists, () => {});
      for (const {path, bytes} of given) put(early, path, bytes);
      early.FS.chdir('/downloads');
    }]});
  files = filesIn(module, folders);
  newFiles();
  module.ccall('attoscope_serve', null, [], []);
}

/// Answers when the files that the answer opens have arrived.
async function answer({kind, number, question}) {
  asked = number;
  do {
    await atServer.arrival;
    const place = module._malloc(question.length);
    module.HEAPU8.set(question, place);
    module.ccall('attoscope_answer', null, ['string', 'number', 'number'], [kind, place, question.length]);
    module._free(place);
  } while (atServer.arrival);
}

/// Reports a failed module (out of memory, for instance), which answers no more questions.
const broken = ({message}) => postMessage({broken: message});

let ready = null;
onmessage = ({data}) => {
  if (data.code) ready = begin(data), ready.catch(broken);
  else ready = ready.then(() => (data.kind ? answer(data) : (put(module, data.path, data.bytes), newFiles()))).catch(broken);
};
