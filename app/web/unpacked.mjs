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
