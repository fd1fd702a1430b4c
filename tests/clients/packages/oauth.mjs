// openid-client: discovery, an authorization code with PKCE, the use, renewal and revocation of its tokens.
import assert from "node:assert/strict";
import * as client from "openid-client";
import { base, headers, parameters } from "./server.mjs";

const { client_id, client_secret, redirect_uri, scope, approve } = parameters;
for (const authentication of [client.ClientSecretBasic, client.ClientSecretPost]) {
  const options = { algorithm: "oauth2", execute: [client.allowInsecureRequests] };
  const config = await client.discovery(new URL(base), client_id, client_secret, authentication(client_secret), options);
  assert(config.serverMetadata().supportsPKCE());

  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const code_challenge = await client.calculatePKCECodeChallenge(pkceCodeVerifier);
  const expectedState = client.randomState();
  const asked = { redirect_uri, scope, code_challenge, code_challenge_method: "S256", state: expectedState };
  const consent = client.buildAuthorizationUrl(config, asked);
  const page = await fetch(consent, { headers: { "X-Tenant-ID": headers["X-Tenant-ID"] } });
  assert.equal(page.status, 200);

  // What the page does when the administrator clicks.
  const variables = { ...Object.fromEntries(consent.searchParams), scopes: consent.searchParams.get("scope").split(" ") };
  const approval = { method: "POST", body: JSON.stringify({ query: approve, variables }) };
  const approved = await fetch(`${base}/graphql`, { ...approval, headers: { ...headers, "Content-Type": "application/json" } });
  const redirected = new URL((await approved.json()).data.app_install.redirect_to);
  assert.equal(redirected.origin + redirected.pathname, redirect_uri);

  const wrong = { pkceCodeVerifier: client.randomPKCECodeVerifier(), expectedState };
  await assert.rejects(client.authorizationCodeGrant(config, redirected, wrong), { error: "invalid_grant" });
  const tokens = await client.authorizationCodeGrant(config, redirected, { pkceCodeVerifier, expectedState });
  assert.equal(tokens.scope, scope);
  assert.equal(tokens.expires_in, 3600);
  const orders = new URL(`${base}/api/v1/admin/orders`);
  const tenant = new Headers({ "X-Tenant-ID": headers["X-Tenant-ID"] });
  const read = (token) => client.fetchProtectedResource(config, token, orders, "GET", null, tenant);
  assert.equal((await read(tokens.access_token)).status, 200);

  const renewed = await client.refreshTokenGrant(config, tokens.refresh_token);
  assert.notEqual(renewed.refresh_token, tokens.refresh_token);
  await client.tokenRevocation(config, renewed.refresh_token);
  await assert.rejects(client.refreshTokenGrant(config, renewed.refresh_token), { error: "invalid_grant" });
  await assert.rejects(read(renewed.access_token), (error) => error.status === 401);
}
