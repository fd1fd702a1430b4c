const STOREFRONT_KEY = /^sfk_/;

/** Name the kind of credential, which decides the header that carries it; an empty one has none. */
export function credentialKind(token) {
  if (!token) return '';
  return STOREFRONT_KEY.test(token) ? 'storefront key' : 'bearer';
}

function headersFor({ token, store }) {
  const headers = {};
  if (credentialKind(token) === 'bearer') headers.Authorization = `Bearer ${token}`;
  if (credentialKind(token) === 'storefront key') headers['X-API-Key'] = token;
  if (store) headers['X-Tenant-ID'] = store;
  return headers;
}

/** Give the answer's object; what is not JSON, or no answer at all, becomes an object that says so. */
async function ask(endpoint, headers, operation) {
  let response;
  try {
    response = await fetch(endpoint, {
      method: 'POST',
      credentials: 'omit',
      headers: { Accept: 'application/json', 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(operation),
    });
  } catch (error) {
    return { error: 'no_answer', message: `The request could not be sent: ${error.message}` };
  }
  const text = await response.text();
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    return { error: 'not_json', message: text.slice(0, 2000), status: response.status };
  }
  return response.ok || 'errors' in body ? body : { ...body, status: response.status };
}

/** Drop a name that is another tab's: for a moment after a change of tabs GraphiQL still sends the former one. */
function withOwnName({ operationName, ...operation }) {
  const named = new RegExp(`\\b(query|mutation|subscription)\\s+${operationName}\\b`);
  return named.test(operation.query) ? { operationName, ...operation } : operation;
}

/** Say in a few words how reading the schema went. */
function describe(answer) {
  const schema = answer.data?.__schema;
  if (schema) return { ok: true, text: `Schema: ${schema.types.length} types` };
  const reason = answer.errors?.[0]?.message ?? answer.message ?? answer.error ?? 'no reason given';
  return { ok: false, text: ['No schema', answer.status, reason].filter(Boolean).join(' · ') };
}

/**
 * Make the function GraphiQL sends operations with.
 *
 * `credentials` is asked at every request, so that a token typed a moment ago is already used;
 * `onSchema` hears how each reading of the schema went.
 */
export function createFetcher(endpoint, credentials, onSchema) {
  return async (operation, { headers } = {}) => {
    const answer = await ask(endpoint, { ...headersFor(credentials()), ...headers }, withOwnName(operation));
    if (operation.operationName === 'IntrospectionQuery') onSchema(describe(answer));
    return answer;
  };
}
