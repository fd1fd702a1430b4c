const STOREFRONT_KEY = /^sfk_/;

/** Return the credential type, which determines its header; '' for an empty token. */
export function credentialType(token) {
  if (!token) return '';
  return STOREFRONT_KEY.test(token) ? 'storefront key' : 'bearer';
}

function headersFor({ token, store }) {
  const headers = {};
  if (credentialType(token) === 'bearer') headers.Authorization = `Bearer ${token}`;
  if (credentialType(token) === 'storefront key') headers['X-API-Key'] = token;
  if (store) headers['X-Tenant-ID'] = store;
  return headers;
}

/** Send an operation and return the response object; a non-JSON or missing response becomes an error object. */
async function send(endpoint, headers, operation) {
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

/** Drop a stale operation name: just after a tab change GraphiQL still sends the previous tab's. */
function withValidName({ operationName, ...operation }) {
  const named = new RegExp(`\\b(query|mutation|subscription)\\s+${operationName}\\b`);
  return named.test(operation.query) ? { operationName, ...operation } : operation;
}

/** Describe the result of the introspection query. */
function describe(response) {
  const schema = response.data?.__schema;
  if (schema) return { ok: true, text: `Schema: ${schema.types.length} types` };
  const reason = response.errors?.[0]?.message ?? response.message ?? response.error ?? 'no reason given';
  return { ok: false, text: ['No schema', response.status, reason].filter(Boolean).join(' · ') };
}

const STORE_MISSING = { message: 'enter the UUID of a store: stores share this address' };

/**
 * Create the fetcher of GraphiQL.
 *
 * `credentials` is called for every request, so that a changed token applies immediately;
 * `onSchema` receives the result of each introspection query. With `needsStore` nothing is sent without a store.
 */
export function createFetcher({ endpoint, needsStore }, credentials, onSchema) {
  return async (operation, { headers } = {}) => {
    const { store, token } = credentials();
    const response = needsStore && !store
      ? { errors: [STORE_MISSING] }
      : await send(endpoint, { ...headersFor({ store, token }), ...headers }, withValidName(operation));
    if (operation.operationName === 'IntrospectionQuery') onSchema(describe(response));
    return response;
  };
}
