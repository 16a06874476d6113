/// Answers the window's questions in a Web Worker: {code, environment, files} begins, then come {path, bytes} and
/// {kind, number, question}; {number, what, bytes} goes back.
import make from './alone_module.mjs';
import {begunFrom, put} from './unpacked.mjs';

let module = null, asked = 0;

async function begin({code, environment, files}) {
  module = await make({...begunFrom(code, (error) => console.error(error)), noInitialRun: true,
    tell: (what, bytes) => postMessage({number: asked, what, bytes}, [bytes.buffer]),
    preRun: [(early) => {
      Object.assign(early.ENV, environment);
      for (const {path, bytes} of files) put(early, path, bytes);
    }]});
  module.ccall('attoscope_serve', null, [], []);
}

function answer({kind, number, question}) {
  asked = number;
  const place = module._malloc(question.length);
  module.HEAPU8.set(question, place);
  module.ccall('attoscope_answer', null, ['string', 'number', 'number'], [kind, place, question.length]);
  module._free(place);
}

let ready = null;
onmessage = ({data}) => {
  if (data.code) ready = begin(data);
  else ready = ready.then(() => (data.kind ? answer(data) : put(module, data.path, data.bytes)));
};
