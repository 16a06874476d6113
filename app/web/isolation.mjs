/// Shared memory, for the threads that compute: by the server's headers, or by those of the service worker after one reload.
/// False where the browser has none.
export async function isolated() {
  if (globalThis.crossOriginIsolated) return sessionStorage.removeItem('reloaded'), true;
  if (!navigator.serviceWorker || sessionStorage.getItem('reloaded')) return false;
  await navigator.serviceWorker.register(new URL('isolated.js', import.meta.url));
  await navigator.serviceWorker.ready;
  sessionStorage.setItem('reloaded', 'once');
  location.reload();
  return new Promise(() => {});
}
