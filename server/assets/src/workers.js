const WORKERS = { json: 'json.worker.js', graphql: 'graphql.worker.js' };

/** Configure Monaco's web workers; without them it runs in the page's main thread. */
export function setUpWorkers(assets) {
  globalThis.MonacoEnvironment = {
    getWorker: (_id, label) => new Worker(assets + (WORKERS[label] ?? 'editor.worker.js')),
  };
}
