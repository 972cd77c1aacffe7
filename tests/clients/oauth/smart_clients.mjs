// Connects records with npm openid-client, oauth4webapi and fhirclient, and opens health links with kill-the-clipboard,
// as their documentation shows it.
//
// smart_clients.py runs a copy of this beside the packages. Standard input has the address of the service, the keys of
// the application, and the address that sends a patient through an authorization URL.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { SHLInvalidPasscodeError, SHLManifestNotFoundError, SHLViewer } from "kill-the-clipboard";
import * as client from "openid-client";
import * as oauth from "oauth4webapi";
import smart from "fhirclient";

const { base, redirect, walk, publishableKey, secretKey } = JSON.parse(readFileSync(0, "utf8"));
const SCOPE = "launch/patient offline_access";

// Lets the patient go through the flow. Returns the address of the redirect.
async function authorized(url) {
  const answer = await fetch(walk, { method: "POST", body: String(url) });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return new URL(text);
}

// The service answers 429 during the first sync.
async function records(token, path) {
  for (;;) {
    const answer = await fetch(`${base}/fhir/${path}`, { headers: { authorization: `Bearer ${token}` } });
    if (answer.status !== 429) return [answer.status, await answer.json()];
    assert.equal(answer.headers.get("x-retry-after"), "3");
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

async function reads(token, patient) {
  const [status, bundle] = await records(token, `Coverage?beneficiary=$PATIENT_ID&_include=Coverage:beneficiary`);
  assert.equal(status, 200, JSON.stringify(bundle));
  const ids = bundle.entry.filter((entry) => entry.search.mode === "include").map((entry) => entry.resource.id);
  assert.deepEqual(ids, [patient]);
}

async function openidClient(authentication) {
  const config = await client.discovery(new URL(`${base}/`), publishableKey, undefined, authentication, {
    execute: [client.allowInsecureRequests],
  });
  return connects(config);
}

async function connects(config) {
  const verifier = client.randomPKCECodeVerifier();
  const state = client.randomState();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: redirect,
    scope: SCOPE,
    code_challenge: await client.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    svc_external_id: "openid-client",
  });
  const tokens = await client.authorizationCodeGrant(config, await authorized(url), {
    pkceCodeVerifier: verifier,
    expectedState: state,
  });
  assert.equal(tokens.expires_in, 86400);
  assert.equal(tokens.scope, SCOPE);
  await reads(tokens.access_token, tokens.patient);
  const fresh = await client.refreshTokenGrant(config, tokens.refresh_token);
  assert.notEqual(fresh.refresh_token, tokens.refresh_token);
  await reads(fresh.access_token, fresh.patient);
  return fresh.access_token;
}

async function applicationToken() {
  const config = await client.discovery(new URL(`${base}/`), publishableKey, undefined, client.ClientSecretBasic(secretKey), {
    execute: [client.allowInsecureRequests],
  });
  const tokens = await client.clientCredentialsGrant(config);
  assert.equal(tokens.expires_in, 1800);
  const answer = await fetch(`${base}/rest/consents`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
  assert.equal(answer.status, 200);
}

async function registered() {
  const options = { execute: [client.allowInsecureRequests] };
  const metadata = {
    client_name: "Registered",
    redirect_uris: [redirect],
    grant_types: ["authorization_code", "refresh_token"],
    response_types: ["code"],
    token_endpoint_auth_method: "none",
  };
  const config = await client.dynamicClientRegistration(new URL(`${base}/`), metadata, client.None(), options);
  assert.match(config.clientMetadata().client_id, /^pk_test_/);
  await connects(config);
}

// By default the library sends the key pair in the body, whether or not the registration asked for that.
async function registeredWithSecret(asked) {
  const options = { execute: [client.allowInsecureRequests] };
  const metadata = { client_name: "Registered", redirect_uris: [redirect], ...asked };
  const config = await client.dynamicClientRegistration(new URL(`${base}/`), metadata, undefined, options);
  const { client_secret: secret, token_endpoint_auth_method: method } = config.clientMetadata();
  assert.match(secret, /^sk_test_/);
  assert.equal(method, asked.token_endpoint_auth_method ?? "client_secret_basic");
  await connects(config);
  const tokens = await client.clientCredentialsGrant(config);
  assert.equal(tokens.expires_in, 1800);
}

async function oauth4webapi() {
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(`${base}/`);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }),
  );
  const application = { client_id: publishableKey };
  const authentication = oauth.None();
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(server.authorization_endpoint);
  const parameters = {
    client_id: publishableKey,
    redirect_uri: redirect,
    response_type: "code",
    scope: SCOPE,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: "S256",
    state,
    svc_external_id: "oauth4webapi",
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const callback = oauth.validateAuthResponse(server, application, await authorized(url), state);
  const tokens = await oauth.processAuthorizationCodeResponse(
    server,
    application,
    await oauth.authorizationCodeGrantRequest(server, application, authentication, callback, redirect, verifier, insecure),
  );
  await reads(tokens.access_token, tokens.patient);
  const fresh = await oauth.processRefreshTokenResponse(
    server,
    application,
    await oauth.refreshTokenGrantRequest(server, application, authentication, tokens.refresh_token, insecure),
  );
  await reads(fresh.access_token, fresh.patient);
  const again = await oauth.refreshTokenGrantRequest(server, application, authentication, tokens.refresh_token, insecure);
  await assert.rejects(oauth.processRefreshTokenResponse(server, application, again), { error: "invalid_grant" });
}

// A standalone launch through the application's own server. /launch redirects the browser, which returns afterwards.
async function fhirclient(extra) {
  const session = {};
  let connected;
  const backend = createServer((request, response) => {
    request.session = session;
    response.setHeader("connection", "close");
    // Without a secret it refreshes with the refresh token alone, by its default.
    const api = smart(request, response);
    const work = request.url.startsWith("/launch")
      ? api.authorize({ iss: `${base}/fhir`, clientId: publishableKey, scope: SCOPE, redirectUri: redirect, ...extra })
      : api.ready().then((client) => {
          connected = client;
          response.end("connected");
        });
    work.catch((error) => response.writeHead(500).end(String(error)));
  });
  await new Promise((resolve) => backend.listen(new URL(redirect).port, "127.0.0.1", resolve));
  try {
    const launched = await fetch(new URL("/launch", redirect), { redirect: "manual" });
    assert.equal(launched.status, 302, await launched.text());
    const back = await fetch(await authorized(launched.headers.get("location")));
    assert.equal(await back.text(), "connected");
    const { access_token: token } = connected.state.tokenResponse;
    await reads(token, connected.patient.id);
    assert.equal((await connected.patient.read()).id, connected.patient.id);
    await connected.refresh();
    assert.notEqual(connected.state.tokenResponse.access_token, token);
    assert.equal((await connected.patient.read()).id, connected.patient.id);
  } finally {
    backend.closeAllConnections();
    await new Promise((resolve) => backend.close(resolve));
  }
}

// Makes health links of each kind with the patient's token. Another project's viewer opens them.
async function healthLinks(token) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const made = async (body) => {
    const answer = await fetch(`${base}/rest/health-links`, { method: "POST", headers, body: JSON.stringify(body) });
    const text = await answer.text();
    assert.equal(answer.status, 201, text);
    return JSON.parse(text);
  };
  const opens = async (link, asked) => {
    const { fhirResources } = await new SHLViewer({ shlinkURI: link }).resolveSHL({ recipient: "Dr. Client", ...asked });
    assert.deepEqual(fhirResources.map((one) => `${one.resourceType} ${one.type}`), ["Bundle document"]);
    assert.equal(fhirResources[0].entry[0].resource.resourceType, "Composition");
  };
  const plain = await made({ label: "For a client" });
  assert.equal(new SHLViewer({ shlinkURI: plain.link }).shl.label, "For a client");
  await opens(plain.link, {});
  await opens(plain.viewerUrl, { embeddedLengthMax: 10_000_000 });
  await opens(plain.link, { embeddedLengthMax: 10 });
  await opens((await made({ flag: "U" })).link, {});
  const locked = await made({ passcode: "2468" });
  await assert.rejects(opens(locked.link, { passcode: "8642" }), SHLInvalidPasscodeError);
  await opens(locked.link, { passcode: "2468" });
  const revoked = await fetch(`${base}/rest/health-links/${plain.id}`, { method: "DELETE", headers });
  assert.equal(revoked.status, 204);
  await assert.rejects(opens(plain.link, {}), SHLManifestNotFoundError);
}

const token = await openidClient(client.None());
await openidClient(client.ClientSecretBasic(secretKey));
await openidClient(client.ClientSecretPost(secretKey));
await applicationToken();
await registered();
await registeredWithSecret({});
await registeredWithSecret({ token_endpoint_auth_method: "client_secret_post" });
console.log("npm openid-client discovers, registers, connects, reads and refreshes");
await oauth4webapi();
console.log("npm oauth4webapi discovers, connects, reads and refreshes");
await fhirclient({});
await fhirclient({ clientSecret: secretKey });
console.log("npm fhirclient launches, connects, reads and refreshes");
await healthLinks(token);
console.log("npm kill-the-clipboard opens health links");
