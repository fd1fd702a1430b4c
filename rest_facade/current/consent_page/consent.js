// The consent page: sign in, show the requested scopes, approve. Tokens exist only in this script's memory.
"use strict";

const config = JSON.parse(document.getElementById("config").textContent);
const texts = config.texts;
const INSTALL = `mutation Install(
  $client_id: String!, $scopes: [String!]!, $redirect_uri: String, $state: String, $code_challenge: String
) {
  app_install(
    client_id: $client_id, scopes: $scopes, redirect_uri: $redirect_uri, state: $state, code_challenge: $code_challenge
  ) { redirect_to }
}`;

let tokens = null;
let tempToken = null;

const byId = (id) => document.getElementById(id);

function show(step) {
  for (const form of document.forms) form.hidden = form.id !== step;
  const field = step && byId(step).querySelector("input:not([type=checkbox])");
  if (field) field.focus();
}

function showProblem(text) {
  byId("problem").textContent = text;
  byId("problem").hidden = !text;
}

async function call(method, path, body) {
  const headers = { "X-Tenant-ID": config.tenant };
  if (body) headers["Content-Type"] = "application/json";
  if (tokens) headers.Authorization = `Bearer ${tokens.access_token}`;
  const response = await fetch(path, {
    method, headers, body: body && JSON.stringify(body), credentials: "omit", cache: "no-store", redirect: "error",
  });
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(texts.errors[answer.error] || answer.message || answer.detail || answer.error || texts.unexpected);
  return answer;
}

async function signOut() {
  if (!tokens) return;
  const { refresh_token } = tokens;
  tokens = null;
  await call("POST", "/api/v1/auth/logout", { refresh_token }).catch(() => {});
}

async function completeSignIn(answer) {
  if (answer.requires_2fa) {
    tempToken = answer.temp_token;
    show("second-factor");
    return;
  }
  tokens = answer;
  const me = await call("GET", "/api/v1/auth/me");
  if (me.role !== "admin" || !me.privileges.includes("manage_apps")) {
    await signOut();
    throw new Error(texts.no_administrator.replace("{name}", "manage_apps"));
  }
  byId("who").textContent = me.name ? `${me.name} (${me.email})` : me.email;
  renderScopes(me.privileges);
  show("consent");
}

function renderScopes(privileges) {
  byId("scopes").replaceChildren(...config.scopes.map((scope) => {
    const [, verb, part] = scope.name.match(/^([a-z]+)_(.*)$/);
    const isGranted = privileges.includes(scope.privilege);
    const box = Object.assign(document.createElement("input"), {
      type: "checkbox", name: "scope", value: scope.name, checked: isGranted, disabled: !isGranted,
    });
    const text = document.createElement("span");
    text.append(`${texts[verb]} ${texts.scopes[part] || part} `);
    text.append(Object.assign(document.createElement("code"), { textContent: scope.name }));
    if (!isGranted) {
      const reason = texts.no_privilege.replace("{name}", scope.privilege);
      text.append(Object.assign(document.createElement("small"), { textContent: reason }));
    }
    const label = document.createElement("label");
    label.append(box, text);
    const item = document.createElement("li");
    item.append(label);
    return item;
  }));
  updateInstallButton();
}

const selectedScopes = () => [...document.querySelectorAll("input[name=scope]:checked")].map((box) => box.value);

function updateInstallButton() {
  byId("install").disabled = selectedScopes().length === 0;
}

async function install() {
  const answer = await call("POST", "/graphql", {
    query: INSTALL,
    variables: {
      client_id: config.client_id, scopes: selectedScopes(), redirect_uri: config.redirect_uri,
      state: config.state, code_challenge: config.code_challenge,
    },
  });
  if (answer.errors) throw new Error(answer.errors[0].message);
  await redirect(answer.data.app_install.redirect_to);
}

async function redirect(address) {
  await signOut();
  show(null);
  byId("busy").hidden = false;
  location.replace(address);
}

function onSubmit(id, handle) {
  const form = byId(id);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    showProblem("");
    const buttons = [...form.querySelectorAll("button:not(:disabled)")];
    for (const button of buttons) button.disabled = true;
    try {
      await handle(Object.fromEntries(new FormData(form)));
    } catch (error) {
      showProblem(error.message);
    } finally {
      for (const button of buttons) button.disabled = false;
      for (const secret of form.querySelectorAll("[type=password], [name=code]")) secret.value = "";
    }
  });
}

onSubmit("sign-in", async (credentials) => completeSignIn(await call("POST", "/api/v1/auth/login", credentials)));
onSubmit("second-factor", async ({ code }) =>
  completeSignIn(await call("POST", "/api/v1/auth/verify-2fa", { temp_token: tempToken, code })));
onSubmit("consent", install);
byId("scopes").addEventListener("change", updateInstallButton);
for (const button of document.querySelectorAll("[data-cancel]")) {
  button.addEventListener("click", () => redirect(config.deny_to));
}

byId("store").textContent = config.store;
byId("store-again").textContent = config.store;
byId("app").textContent = config.name;
byId("mode").hidden = config.mode !== "test";
byId("target").textContent = new URL(config.redirect_uri).host;
show("sign-in");
