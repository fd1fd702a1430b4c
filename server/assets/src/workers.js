const WORKERS = { json: 'json.worker.js', graphql: 'graphql.worker.js' };

/** Tell Monaco where its workers lie, which would otherwise run in the page's own thread. */
export function setUpWorkers(assets) {
  globalThis.MonacoEnvironment = {
    getWorker: (_id, label) => new Worker(assets + (WORKERS[label] ?? 'editor.worker.js')),
  };
}
