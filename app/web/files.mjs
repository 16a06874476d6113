const notYet = 6;  // EAGAIN in emscripten
const patience = 5000;  // milliseconds until a failed fetch is tried again

/// Fetches a file compressed as NAME.packed (many servers do not compress); returns it unpacked as a Response, also in node.
export async function unpacked(name, type = 'application/octet-stream') {
  const place = new URL(name + '.packed', import.meta.url);
  const {body} = place.protocol === 'file:' ? new Response(await (await import('node:fs/promises')).readFile(place)) : await fetched(place, name);
  return new Response(body.pipeThrough(new DecompressionStream('gzip')), {headers: {'Content-Type': type}});
}

async function fetched(place, name) {
  const answer = await fetch(place);
  if (!answer.ok) throw new Error(`${name}.packed cannot be fetched (${answer.status}).`);
  return answer;
}

/// Settings that start a module from a WebAssembly.Module.
export const begunFrom = (code, failed) => ({
  instantiateWasm(imports, done) {
    WebAssembly.instantiate(code, imports).then((instance) => done(instance, code)).catch(failed);
    return {};
  },
});

/// Writes a file into a module's memory.
export function put(module, path, bytes) {
  module.FS.mkdirTree(path.slice(0, path.lastIndexOf('/')));
  if (module.FS.analyzePath(path).exists) module.FS.unlink(path);
  module.FS.writeFile(path, bytes);
}

/// The files of a list in files.json, read from NAME.packed: paths and sizes are in the list, bytes one after the other.
export async function filesOf(list, name) {
  const data = await unpacked(name).then((answer) => answer.arrayBuffer());
  let at = 0;
  return list.map(({path, size}) => ({path, bytes: new Uint8Array(data, (at += size) - size, size)}));
}

/// Files that stay at the server until a module opens one: opening fails with EAGAIN and fetches all files of its bundle. Calls
/// `fetched` afterwards, with an error on failure.
export class FilesAtServer {
  #module;
  #lists;
  #fetched;
  #coming = new Map();  // promises, keyed by the bundle's name

  constructor(module, lists, fetched) {
    this.#module = module;
    this.#lists = lists;
    this.#fetched = fetched;
    for (const [name, list] of Object.entries(lists))
      for (const {path, size} of list) this.#leave(name, path, size);
  }

  #leave(name, path, size) {
    const {FS} = this.#module;
    put(this.#module, path, new Uint8Array());
    const {node} = FS.lookupPath(path), open = () => {
      this.fetch(name);
      throw new FS.ErrnoError(notYet);
    };
    Object.assign(node, {usedBytes: size, stream_ops: {...node.stream_ops, open}});
  }

  /// Promise that the bundle of this name has arrived.
  fetch(name) {
    if (!this.#coming.has(name)) {
      const coming = this.#take(name);
      this.#coming.set(name, coming);
      coming.then(this.#fetched, this.#fetched);
    }
    return this.#coming.get(name);
  }

  async #take(name) {
    try {
      for (const {path, bytes} of await filesOf(this.#lists[name], name)) put(this.#module, path, bytes);
      this.#coming.delete(name);
    } catch (error) {
      setTimeout(() => this.#coming.delete(name), patience);
      throw error;
    }
  }

  /// Promise that all bundles have arrived, or one has failed; null: none is on its way.
  get arrival() {
    return this.#coming.size ? Promise.all(this.#coming.values()) : null;
  }
}

/// The bytes of a file, not copied.
function contents(module, path) {
  const {node} = module.FS.lookupPath(path);
  return node.usedBytes ? node.contents.subarray(0, node.usedBytes) : new Uint8Array();
}

/// Returns a function that lists the present files in these folders: a Map of path to bytes; a file's array stays the same
/// while it does not change.
export function filesIn(module, folders) {
  const known = new Map();
  const look = (folder) => {
    if (!module.FS.analyzePath(folder).exists) return;
    for (const name of module.FS.readdir(folder)) {
      const path = `${folder}/${name}`, {mode, mtime, size} = /^\.\.?$/.test(name) ? {mode: 0} : module.FS.stat(path);
      if (module.FS.isDir(mode)) look(path);
      if (!module.FS.isFile(mode) || module.FS.lookupPath(path).node.stream_ops.open) continue;
      const stamp = `${mtime.getTime()} ${size}`;
      if (known.get(path)?.stamp !== stamp) known.set(path, {stamp, bytes: contents(module, path)});
    }
  };
  return () => {
    folders.forEach(look);
    return new Map([...known].map(([path, {bytes}]) => [path, bytes]));
  };
}
