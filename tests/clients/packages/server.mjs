// What the test passes to a client: `node CLIENT.mjs JSON`, and a fetch that records its requests.
const given = JSON.parse(process.argv[2]);

export const { base, headers, names } = given;
export const url = `${base}/graphql`;
export const parameters = given;

/** Return a fetch and the list of its requests, each with its method and what of the operation it sent. */
export function recordingFetch() {
  const requests = [];
  const recording = async (input, options = {}) => {
    const sent = options.body ? JSON.parse(options.body) : Object.fromEntries(new URL(input).searchParams);
    requests.push({ method: options.method ?? "GET", text: "query" in sent, persisted: "extensions" in sent });
    return fetch(input, options);
  };
  return { requests, recording };
}
