// Keeps the files of the static site, so that it opens quickly and offline. The build writes VERSION and FILES above.

const NAME = `secateur ${self.registration.scope}`;

self.addEventListener("install", (event) => event.waitUntil(caches.open(`${NAME} ${VERSION}`).then((cache) => cache.addAll(FILES.map((file) => new Request(file, {cache: "reload"}))))));

self.addEventListener("activate", (event) => event.waitUntil((async () => {
  for (const name of await caches.keys()) if (name.startsWith(`${NAME} `) && name !== `${NAME} ${VERSION}`) await caches.delete(name);
  await self.clients.claim();
})()));

self.addEventListener("fetch", (event) => {
  if (event.request.method !== "GET" || !event.request.url.startsWith(self.registration.scope)) return;
  event.respondWith(caches.open(`${NAME} ${VERSION}`).then((cache) => cache.match(event.request, {ignoreSearch: true}))
    .then((kept) => kept ?? fetch(event.request)));
});
