/// A file that the folder has compressed by gzip, since many servers send files as they are: the answer of `fetch`, under node too.
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

/// Settings of a module by which it begins from a WebAssembly.Module.
export const begunFrom = (code, failed) => ({
  instantiateWasm(imports, done) {
    WebAssembly.instantiate(code, imports).then((instance) => done(instance, code)).catch(failed);
    return {};
  },
});

/// Writes a file into a module's memory.
export function put(module, path, bytes) {
  module.FS.mkdirTree(path.slice(0, path.lastIndexOf('/')));
  module.FS.writeFile(path, bytes);
}

/// The files in these folders, again and again: each path with its bytes, the same array as long as it does not change.
export function filesIn(module, folders) {
  const known = new Map();
  const look = (folder) => {
    if (!module.FS.analyzePath(folder).exists) return;
    for (const name of module.FS.readdir(folder)) {
      const path = `${folder}/${name}`, {mode, mtime, size} = /^\.\.?$/.test(name) ? {mode: 0} : module.FS.stat(path);
      if (module.FS.isDir(mode)) look(path);
      if (!module.FS.isFile(mode)) continue;
      const stamp = `${mtime.getTime()} ${size}`;
      if (known.get(path)?.stamp !== stamp) known.set(path, {stamp, bytes: module.FS.readFile(path)});
    }
  };
  return () => {
    folders.forEach(look);
    return new Map([...known].map(([path, {bytes}]) => [path, bytes]));
  };
}
