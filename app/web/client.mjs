/// Attoscope in a worker of a page, which never waits: questions are asked by `ask`, and of those that follow one another fast
/// `newest` answers the last.

const patience = 1000;  // milliseconds for a question that a newer one waits for; then its worker is ended

export class Client {
  #module = null;
  #worker = null;
  #waiting = new Map();
  #next = 0;
  #running = null;  // the question of `newest` that is computed: {since}
  #asked = null;    // the newest that waits: {name, args, resolve}

  static async start() {
    const client = new Client();
    client.#module = await WebAssembly.compileStreaming(fetch(new URL('attoscope_module.wasm', import.meta.url)));
    await client.#begin();
    return client;
  }

  async #begin() {
    this.#worker = new Worker(new URL('worker.mjs', import.meta.url), {type: 'module'});
    this.#worker.onmessage = ({data}) => {
      const {resolve, reject} = this.#waiting.get(data.id);
      this.#waiting.delete(data.id);
      data.error ? reject(Object.assign(new Error(data.error.message), data.error)) : resolve(data.answer);
    };
    await this.#send({module: this.#module});
  }

  #send(message) {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, {resolve, reject});
      this.#worker.postMessage({id, ...message});
    });
  }

  /// The answer of a function of attoscope.mjs.
  ask(name, ...args) {
    return this.#send({name, args});
  }

  /// The same; null where a newer question came before this one was answered.
  newest(name, ...args) {
    return new Promise((resolve, reject) => {
      this.#asked?.resolve(null);
      this.#asked = {name, args, resolve, reject};
      if (!this.#running) this.#serve();
      else if (performance.now() - this.#running.since > patience) this.#restart();
      else setTimeout(() => this.#running && this.#asked && performance.now() - this.#running.since > patience && this.#restart(), patience);
    });
  }

  async #serve() {
    while (this.#asked) {
      const {name, args, resolve, reject} = this.#asked;
      const mine = {since: performance.now(), resolve};
      this.#asked = null;
      this.#running = mine;
      try {
        const answer = await this.ask(name, ...args);
        resolve(answer);
      } catch (error) {
        reject(error);
      }
      if (this.#running !== mine) return;
      this.#running = null;
    }
  }

  /// Ends the worker, with what it computes, and begins anew from the compiled module.
  async #restart() {
    this.#running.resolve(null);
    this.#running = {since: performance.now(), resolve: () => {}};
    this.#worker.terminate();
    this.#waiting.clear();
    await this.#begin();
    this.#running = null;
    this.#serve();
  }
}
