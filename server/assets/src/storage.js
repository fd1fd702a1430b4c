const HISTORY_KEYS = ['graphiql:queries', 'graphiql:favorites'];

const withoutHeaders = (history) =>
  JSON.stringify(JSON.parse(history), (name, value) => (name === 'headers' ? undefined : value));

/** localStorage for GraphiQL without request headers in the history, since they contain tokens. */
export const storage = {
  get length() {
    return localStorage.length;
  },
  getItem: (key) => localStorage.getItem(key),
  setItem: (key, value) => localStorage.setItem(key, HISTORY_KEYS.includes(key) ? withoutHeaders(value) : value),
  removeItem: (key) => localStorage.removeItem(key),
  clear: () =>
    Object.keys(localStorage)
      .filter((key) => key.startsWith('graphiql:'))
      .forEach((key) => localStorage.removeItem(key)),
};
