/// Computes in a Web Worker: {id, module} loads, {id, name, args} calls a function of attoscope.mjs; replies with {id, answer}
/// or {id, error}.
import {load} from './attoscope.mjs';

let api = null;

onmessage = async ({data: {id, module, name, args}}) => {
  try {
    if (module) {
      api = await load({module});
      postMessage({id, answer: null});
    } else {
      postMessage({id, answer: api[name](...args)});
    }
  } catch (error) {
    postMessage({id, error: {message: error.message, code: error.code ?? 1}});
  }
};
