/// Shared memory needs two headers that many servers of static files do not send: this service worker of the page adds them to
/// the files of the page's own folder.
addEventListener('install', () => skipWaiting());
addEventListener('activate', (event) => event.waitUntil(clients.claim()));
addEventListener('fetch', (event) => {
  if (event.request.cache === 'only-if-cached' && event.request.mode !== 'same-origin') return;
  event.respondWith(fetch(event.request).then((answer) => {
    if (answer.status === 0) return answer;
    const headers = new Headers(answer.headers);
    headers.set('Cross-Origin-Opener-Policy', 'same-origin');
    headers.set('Cross-Origin-Embedder-Policy', 'require-corp');
    return new Response(answer.body, {status: answer.status, statusText: answer.statusText, headers});
  }));
});
