/// Runs the functions of attoscope.mjs in a worker, so that the page never blocks.
import {unpacked} from './files.mjs';

export class Client {
  #worker = new Worker(new URL('worker.mjs', import.meta.url), {type: 'module'});
  #waiting = new Map();
  #next = 0;

  static async start() {
    const client = new Client();
    client.#worker.onmessage = ({data}) => {
      const {resolve, reject} = client.#waiting.get(data.id);
      client.#waiting.delete(data.id);
      data.error ? reject(Object.assign(new Error(data.error.message), data.error)) : resolve(data.answer);
    };
    await client.#send({module: await WebAssembly.compileStreaming(unpacked('attoscope_module.wasm', 'application/wasm'))});
    return client;
  }

  #send(message) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, {resolve, reject});
      this.#worker.postMessage({id, ...message});
    });
  }

  /// Calls a function of attoscope.mjs; returns a promise of its result.
  ask(name, ...args) {
    return this.#send({name, args});
  }
}
