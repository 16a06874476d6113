/// Answers the window's questions in Web Workers, each with its own module. A kind's newest question replaces its waiting one;
/// a Web Worker that takes long is terminated and starts again from the compiled module. A kind asked with infinite patience has
/// a state in its Web Worker, which serves no other kind and is never terminated.

const share = 0, first = 1, failed = 3;  // messages, as in far/far.cpp
const most = Math.min(4, Math.max(2, (navigator.hardwareConcurrency ?? 2) - 1));

export class FarWork {
  #begun;       // () => start data of a Web Worker: {code, environment, lists}
  #files;       // () => all files that a Web Worker needs: Map of path to bytes
  #written;     // called with (path, bytes) of a file written by a Web Worker
  #told;        // (kind, number, what, bytes)
  #workers = [];
  #lines = new Map();  // by kind
  #queue = [];  // kinds that wait for a Web Worker

  constructor(begun, files, written, told) {
    this.#written = written;
    this.#begun = begun;
    this.#files = files;
    this.#told = told;
  }

  ask(kind, number, question, patience) {
    const line = this.#lines.get(kind) ?? {kind, patience, worker: null};
    this.#lines.set(kind, line);
    line.waiting = {number, question, patience};
    this.#serve(line);
  }

  /// Drops the questions of a kind and stops its work, unless that has a state.
  drop(kind) {
    const line = this.#lines.get(kind);
    if (!line) return;
    line.waiting = null;
    if (line.worker) this.#end(line);
  }

  #serve(line) {
    if (!line.waiting) return;
    if (line.worker) return this.#hurry(line);
    const idle = this.#workers.filter((worker) => !worker.line && (!worker.keeps || worker.last === line.kind));
    const worker = idle.find((one) => one.last === line.kind) ?? idle[0] ?? this.#begin();
    if (!worker) return void (this.#queue.includes(line) || this.#queue.push(line));
    const {number, question, patience} = line.waiting;
    line.waiting = null;
    Object.assign(line, {worker, since: performance.now(), shown: false, number});
    Object.assign(worker, {line, last: line.kind, keeps: patience === Infinity});
    for (const [path, bytes] of this.#files())
      if (worker.files.get(path) !== bytes) worker.files.set(path, bytes), worker.postMessage({path, bytes});
    worker.postMessage({kind: line.kind, number, question}, [question.buffer]);
  }

  /// Ends work that a newer question waits for, once it has published something or its patience has run out.
  #hurry(line) {
    if (line.worker.keeps) return;
    const left = line.shown ? 0 : line.patience - (performance.now() - line.since), {worker, number} = line;
    setTimeout(() => {
      if (!line.waiting || line.worker !== worker || line.number !== number) return;
      if (!line.shown) line.patience *= 2;
      this.#end(line);
      this.#serve(line);
    }, Math.max(0, left));
  }

  #begin() {
    if (this.#workers.filter((worker) => !worker.keeps).length >= most) return null;
    const worker = new Worker(new URL('far_worker.mjs', import.meta.url), {type: 'module'});
    const files = this.#files();
    worker.files = new Map(files);
    worker.postMessage({...this.#begun(), files: [...files].map(([path, bytes]) => ({path, bytes}))});
    worker.onmessage = ({data}) => {
      if (data.path) this.#written(data.path, data.bytes);
      else if (data.broken !== undefined) this.#fail(worker, data.broken);
      else this.#take(worker, data);
    };
    worker.onerror = ({message}) => this.#fail(worker, message);
    this.#workers.push(worker);
    return worker;
  }

  #take(worker, {number, what, bytes}) {
    const {line} = worker;
    if (what === first) {
      line.shown = true;
    } else if (what !== share) {
      line.patience = line.waiting?.patience ?? line.patience;
      worker.line = line.worker = null;
    }
    this.#told(line.kind, number, what, bytes);
    if (line.waiting) this.#serve(line);
    this.#next();
  }

  #fail(worker, message) {
    const {line} = worker, number = line?.number;
    this.#close(worker);
    if (!line) return;
    line.worker = null;
    this.#told(line.kind, number, failed, new TextEncoder().encode(message || 'A Web Worker of this page has failed.'));
    this.#serve(line);
  }

  #close(worker) {
    worker.terminate();
    this.#workers = this.#workers.filter((other) => other !== worker);
  }

  #end(line) {
    if (line.worker.keeps) return;
    this.#close(line.worker);
    line.worker = null;
    this.#next();
  }

  #next() {
    for (const line of this.#queue.splice(0)) this.#serve(line);
  }
}
