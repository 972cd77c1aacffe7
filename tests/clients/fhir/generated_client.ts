// Uses each route with a client that openapi-typescript generated from /openapi.json. A route without a use does not
// compile, nor does an answer without documented members. generated_client.py generates the client beside this,
// compiles both, and runs this against the server with the document.

import createClient from "openapi-fetch";
import type { components, paths } from "./openapi.js";

type Schemas = components["schemas"];

declare const process: { argv: string[] };
const [base, publishableKey, secretKey, applicationToken, patientToken] = process.argv.slice(2) as [
  string,
  string,
  string,
  string,
  string,
];

const open = createClient<paths>({ baseUrl: base });
const bearing = (token: string) => createClient<paths>({ baseUrl: base, headers: { authorization: `Bearer ${token}` } });
const application = bearing(applicationToken);
const patient = bearing(patientToken);
const form = { "content-type": "application/x-www-form-urlencoded" };
const keys = { authorization: `Basic ${btoa(`${publishableKey}:${secretKey}`)}` };

function expect(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(`not so: ${what}`);
}

const issues = (outcome: Schemas["OperationOutcome"]) =>
  outcome.issue.map((issue) => `${issue.severity} ${issue.code}: ${issue.details?.text}`).join("; ");

function page(answer: { data?: Schemas["Bundle"]; error?: Schemas["OperationOutcome"] }) {
  expect(answer.data !== undefined, answer.error ? issues(answer.error) : "there is an answer");
  const ids: (string | undefined)[] = (answer.data.entry ?? []).map((entry) => entry.resource.id);
  const next: string | undefined = answer.data.link.find((link) => link.relation === "next")?.url;
  expect(ids.includes("anna") && next === undefined, "the only Patient is found");
}

function tokens(answer: { data?: Schemas["Tokens"] | Schemas["LinkTokens"]; error?: Schemas["OAuthError"] }) {
  expect(answer.data !== undefined, `${answer.error?.error}: ${answer.error?.error_description}`);
  const bearer: "Bearer" = answer.data.token_type;
  const seconds: number = answer.data.expires_in;
  const text: string = answer.data.access_token;
  const refresh: string | undefined = answer.data.refresh_token;
  expect(bearer === "Bearer" && seconds === 1800 && text.length > 0 && refresh === undefined, "it is an application's token");
}

function introspected(answer: { data?: Schemas["Introspection"]; error?: Schemas["Message"] }) {
  expect(answer.data !== undefined, `${answer.error?.message}`);
  const { active, usage, sync, endpoint, user, timeUntilMaxAuth } = answer.data;
  const resources: Record<string, number> = sync?.resourceTypes ?? {};
  const known: [Schemas["Usage"] | undefined, string | undefined, string | undefined] = [usage, endpoint?.name, user?.externalId];
  const left: number | string | undefined = timeUntilMaxAuth;
  expect(active && known.length === 3 && left === "unsupported" && Object.keys(resources).length > 0, "the token is good");
}

function consent(answer: { data?: Schemas["Consent"]; error?: Schemas["Message"] }) {
  expect(answer.data !== undefined, `${answer.error?.message}`);
  const { id, state, mode, createdAt, user, patientAuthorizations } = answer.data;
  const authorizations = patientAuthorizations.map((one) => {
    const type: "OAUTH" | "CREDENTIALS" | "IAL2" | "IAL1" = one.type;
    const name: string | undefined = one.endpoint?.name;
    const rejected: string[] = one.scope?.rejected ?? [];
    return [type, one.state, one.usage, one.active, name, one.sync?.lastSyncedAt, rejected];
  });
  expect(id !== "" && state === "EXCHANGED" && mode === "LIVE" && createdAt !== null && user === null, "it is the imported one's");
  expect(authorizations.length === 0, "imported records have no source");
}

// Expects that a request is refused, in the words of the route.
async function refused<Why>(asked: Promise<{ error?: Why }>, words: (why: Why) => string) {
  const { error } = await asked;
  expect(error !== undefined && words(error) !== "", "it says why not");
}

const view = {
  resourceType: "ViewDefinition",
  resource: "Patient",
  status: "active",
  select: [{ column: [{ name: "id", path: "id" }] }],
};
const run = { resourceType: "Parameters", parameter: [{ name: "viewResource", resource: view }] };

async function rows(path: "/fhir/ViewDefinition/$run" | "/fhir/ViewDefinition/$viewdefinition-run" | "/fhir/$viewdefinition-run" | "/fhir/$sql-run") {
  const { data, error } = await application.POST(path, { body: run, params: { query: { _format: "json" } } });
  expect(data !== undefined && typeof data !== "string", error ? issues(error) : "rows come as JSON");
  const ids: unknown[] = data.rows.map((row) => row["id"]);
  expect(data.resourceCount === 1 && ids.length === 1 && ids[0] === "anna", "the only Patient is a row");
}

async function text(asked: Promise<{ data?: string; response: Response }>) {
  const { data, response } = await asked;
  expect(response.ok && data !== undefined && data.length > 0, "there is a page");
}

async function smart(path: "/.well-known/smart-configuration" | "/fhir/.well-known/smart-configuration") {
  const { data } = await open.GET(path);
  expect(data !== undefined, "it is answered");
  const capabilities: string[] = data.capabilities;
  expect(data.token_endpoint === `${base}/link/token` && capabilities.length > 0, "it names SMART's token endpoint");
}

const flow = {
  client_id: "pk_test_unknown",
  redirect_uri: "https://app.example/callback",
  response_type: "code",
  code_challenge: "c".repeat(43),
  code_challenge_method: "S256",
  scope: "launch/patient",
} as const;
const said = (why: Schemas["Message"]) => why.message;
const oauth = (why: Schemas["OAuthError"]) => `${why.error}: ${why.error_description}`;

const uses: { [Path in keyof paths]: () => Promise<void> } = {
  "/": () => text(open.GET("/", { parseAs: "text" })),
  "/docs": () => text(open.GET("/docs", { parseAs: "text" })),
  "/errors": () => text(open.GET("/errors", { parseAs: "text" })),
  "/errors/{code}": () => text(open.GET("/errors/{code}", { params: { path: { code: "access_denied" } }, parseAs: "text" })),
  "/link/v1/link.js": () => text(open.GET("/link/v1/link.js", { parseAs: "text" })),
  "/openapi.json": async () => {
    const { data } = await open.GET("/openapi.json");
    expect(data !== undefined && typeof data["paths"] === "object", "it is the document");
  },
  "/.well-known/oauth-authorization-server": async () => {
    const { data } = await open.GET("/.well-known/oauth-authorization-server");
    expect(data !== undefined, "it is answered");
    const methods: string[] = data.token_endpoint_auth_methods_supported;
    expect(data.issuer === `${base}/` && methods[0] === "client_secret_basic", "it names the issuer");
  },
  "/.well-known/openid-configuration": async () => {
    const { data } = await open.GET("/.well-known/openid-configuration");
    expect(data !== undefined && data.service_documentation === `${base}/docs`, "it names the documentation");
  },
  "/.well-known/smart-configuration": () => smart("/.well-known/smart-configuration"),
  "/fhir/.well-known/smart-configuration": () => smart("/fhir/.well-known/smart-configuration"),
  "/.well-known/jwks.json": async () => {
    const { data } = await open.GET("/.well-known/jwks.json");
    const kinds: string[] = (data?.keys ?? []).map((key) => `${key.kty} ${key.alg} ${key.kid.length > 0}`);
    expect(kinds.join() === "RSA RS256 true", "there is one key");
  },
  "/health-cards/.well-known/jwks.json": async () => {
    const { data } = await open.GET("/health-cards/.well-known/jwks.json");
    const kinds: string[] = (data?.keys ?? []).map((key) => `${key.kty} ${key.alg} ${key.crlVersion}`);
    expect(kinds.join() === "EC ES256 1", "there is one key");
  },
  "/health-cards/.well-known/crl/{file}": async () => {
    const keys = await open.GET("/health-cards/.well-known/jwks.json");
    const file = `${keys.data?.keys[0]?.kid}.json`;
    const { data } = await open.GET("/health-cards/.well-known/crl/{file}", { params: { path: { file } } });
    expect(data?.method === "rid" && data.rids.length === 0, "no card is revoked");
  },
  "/organizations": async () => {
    const { data, error } = await open.GET("/organizations");
    expect(data !== undefined, `${error?.message}`);
    const names: string[] = data.map((one) => `${one.id} ${one.name} ${one.note} ${one.type}`);
    expect(names.length === 0, "there is none");
  },
  "/endpoints": async () => {
    const { data, error } = await open.GET("/endpoints");
    expect(data !== undefined, `${error?.message}`);
    const lasting: (number | null)[] = data.map((one) => (one.organization.name === one.name ? one.maxAuthPeriod : one.refreshValidFor));
    const live = data.filter((one) => one.mode === "LIVE" && one.status !== "UNAVAILABLE" && one.resources.includes("Patient"));
    expect(lasting.length === 0 && live.length === 0, "there is none");
  },
  "/apply": async () => {
    const person = { name: "Ada", email: "ada@example.org", why: "w", location: "l", resume: "https://ada.example/cv" };
    const { data, error } = await open.POST("/apply", { body: person });
    expect(data !== undefined, `${error?.message}`);
    const id: string = data.id;
    expect(id !== "", "it was taken down");
  },
  "/oauth/authorize": async () => {
    const query = { ...flow, svc_external_id: "user-1" };
    const { error, response } = await open.GET("/oauth/authorize", { params: { query }, parseAs: "text" });
    expect(response.status === 400 && typeof error === "string", "nobody is sent to an unknown client");
  },
  "/link/auth": async () => {
    const { response } = await open.GET("/link/auth", { params: { query: flow }, parseAs: "text" });
    expect(response.status === 400, "nobody is sent to an unknown client");
  },
  "/link/start": async () => {
    const query = { publishable_key: "pk_test_unknown", origin: "https://app.example", channel: "c" };
    const { response } = await open.GET("/link/start", { params: { query }, parseAs: "text" });
    expect(response.status === 400, "an unknown application has no component");
  },
  "/oauth/token": async () => {
    tokens(await open.POST("/oauth/token", { body: { grant_type: "client_credentials" }, headers: keys }));
    const posted = { grant_type: "client_credentials", client_id: publishableKey, client_secret: secretKey } as const;
    tokens(await open.POST("/oauth/token", { body: posted, headers: form }));
  },
  "/oauth/introspect": async () => introspected(await patient.GET("/oauth/introspect")),
  "/oauth/revoke": async () => {
    const asked = patient.POST("/oauth/revoke", { body: { secret_key: "none" } });
    const count: number | undefined = (await asked).data?.count;
    expect(count === undefined, "the secret key is wrong");
    await refused(asked, said);
  },
  "/oauth/register": async () => {
    const body = { redirect_uris: ["https://app.example/callback"], token_endpoint_auth_method: "client_secret_post" } as const;
    const { data, error } = await open.POST("/oauth/register", { body: { ...body, redirect_uris: [...body.redirect_uris] } });
    expect(data !== undefined, error ? oauth(error) : "it is answered");
    const secret: string | undefined = data.client_secret;
    expect(data.client_id !== "" && secret !== undefined && data.token_endpoint_auth_method === "client_secret_post", "it has keys");
  },
  "/oauth/register/{client_id}": async () => {
    const metadata = { redirect_uris: ["https://app.example/callback"], client_name: "Managed" };
    const { data: made, error } = await open.POST("/oauth/register", { body: metadata });
    expect(made !== undefined, error ? oauth(error) : "it is answered");
    const managing = (token: string) => bearing(token);
    const params = (id: string) => ({ params: { path: { client_id: id } } });
    const { data: read } = await managing(made.registration_access_token).GET("/oauth/register/{client_id}", params(made.client_id));
    expect(read?.client_name === "Managed" && read.client_secret === undefined, "it is read");
    const body = { ...metadata, client_id: made.client_id, sync_frequency: "daily", rotate_keys: true } as const;
    const { data: changed } = await managing(made.registration_access_token).PUT("/oauth/register/{client_id}", {
      ...params(made.client_id),
      body,
    });
    expect(changed !== undefined && changed.client_secret !== undefined && changed.sync_frequency === "daily", "it is changed");
    const uri: string = changed.registration_client_uri;
    expect(uri.endsWith(changed.client_id), "the address has the new key");
    const ended = await managing(changed.registration_access_token).DELETE("/oauth/register/{client_id}", params(changed.client_id));
    expect(ended.response.status === 204, "it is ended");
  },
  "/link/exchange": async () => {
    const asked = open.POST("/link/exchange", { body: { public_token: "public_none", secret_key: secretKey } });
    const { data } = await asked;
    const read: [string, string | undefined, string | undefined, string | null] | undefined = data && [
      data.access_token,
      data.endpoint?.name,
      data.user?.externalId,
      data.patient,
    ];
    expect(read === undefined && data?.sync.state === undefined, "there is no such token");
    await refused(asked, oauth);
  },
  "/link/introspect": async () => introspected(await patient.GET("/link/introspect")),
  "/link/token": async () => {
    const answer = await open.POST("/link/token", { body: { grant_type: "client_credentials" }, headers: keys });
    tokens(answer);
    const synced: number | null | undefined = answer.data?.sync?.lastSyncedAt;
    expect(synced === undefined, "an application has no sync");
  },
  "/link/revoke": () => refused(patient.POST("/link/revoke", { body: { secret_key: "none" } }), said),
  "/rest/consent": async () => consent(await patient.GET("/rest/consent", { params: { query: { skipResourceCounts: true } } })),
  "/rest/consent/{id}": () => refused(application.GET("/rest/consent/{id}", { params: { path: { id: "none" } } }), said),
  "/rest/consent/{id}/revoke": async () => {
    const params = { path: { id: "none" } };
    const asked = open.POST("/rest/consent/{id}/revoke", { params, headers: keys });
    const count: number | undefined = (await asked).data?.count;
    expect(count === undefined, "there is no such consent");
    await refused(asked, said);
  },
  "/rest/consents": async () => {
    const { data, error } = await application.GET("/rest/consents", { params: { query: { limit: 5, state: "EXCHANGED", externalId: "user-1" } } });
    expect(data !== undefined, `${error?.message}`);
    const next: string | null = data.meta.nextCursor;
    data.consents.forEach((one) => consent({ data: one }));
    expect(!data.meta.hasMore && next === null, "that is all");
  },
  "/rest/health-links": async () => {
    const { data: made, error } = await patient.POST("/rest/health-links", { body: { label: "For Ada", flag: "" } });
    expect(made !== undefined, `${error?.message}`);
    const texts: [string, string, string, string | null] = [made.link, made.viewerUrl, made.qr.svg, made.expiresAt];
    expect(texts[0].startsWith("shlink:/") && texts[1].endsWith(texts[0]), "the link comes with its viewer");
    const { data } = await patient.GET("/rest/health-links");
    const found = data?.healthLinks.map((one) => `${one.id} ${one.content} ${one.uses} ${one.label}`);
    expect(found?.[0] === `${made.id} summary 0 For Ada`, "it is listed");
  },
  "/rest/health-links/{id}": () => refused(patient.DELETE("/rest/health-links/{id}", { params: { path: { id: "none" } } }), said),
  "/health-links/{address}": async () => {
    const params = { path: { address: "none" } };
    const { data, response } = await open.POST("/health-links/{address}", { params, body: { recipient: "Ada" } });
    const files: (string | undefined)[] | undefined = data?.files.map((file) => file.embedded ?? file.location);
    expect(response.status === 404 && files === undefined, "there is no such link");
  },
  "/health-links/{address}/file/{ticket}": async () => {
    const params = { path: { address: "none", ticket: "none" } };
    const { response } = await open.GET("/health-links/{address}/file/{ticket}", { params, parseAs: "text" });
    expect(response.status === 404, "there is no such file");
  },
  "/health-link": () => text(open.GET("/health-link", { parseAs: "text" })),
  "/fhir/metadata": async () => {
    const { data } = await open.GET("/fhir/metadata");
    expect(data !== undefined && data.fhirVersion === "4.0.1" && data.rest.length === 1, "it is R4");
  },
  "/fhir": async () => page(await application.GET("/fhir", { params: { query: { _type: "Patient" } } })),
  "/fhir/_search": async () => page(await application.POST("/fhir/_search", { body: { _type: "Patient" }, headers: form })),
  "/fhir/{type}": async () => page(await application.GET("/fhir/{type}", { params: { path: { type: "Patient" } } })),
  "/fhir/{type}/_search": async () => {
    const params = { path: { type: "Patient" } };
    page(await application.POST("/fhir/{type}/_search", { params, body: { _id: "anna" }, headers: form }));
  },
  "/fhir/Patient/{id}/{type}": async () => {
    page(await application.GET("/fhir/Patient/{id}/{type}", { params: { path: { id: "anna", type: "*" } } }));
  },
  "/fhir/Patient/{id}/{type}/_search": async () => {
    const params = { path: { id: "anna", type: "*" } };
    page(await application.POST("/fhir/Patient/{id}/{type}/_search", { params, body: { _count: 5 }, headers: form }));
  },
  "/fhir/{type}/{id}": async () => {
    const { data, error } = await patient.GET("/fhir/{type}/{id}", { params: { path: { type: "Patient", id: "$PATIENT_ID" } } });
    expect(data !== undefined, error ? issues(error) : "it is answered");
    const born: unknown = data["birthDate"];
    expect(data.resourceType === "Patient" && born === "1970" && data.meta?.versionId === "1", "it is the token's Patient");
  },
  "/fhir/Binary/{id}": async () => {
    const { response } = await application.GET("/fhir/Binary/{id}", { params: { path: { id: "nobody" } } });
    expect(response.status === 404, "there is no such Binary");
  },
  "/fhir/Patient/{id}/$everything": async () => {
    const { data } = await patient.GET("/fhir/Patient/{id}/$everything", { params: { path: { id: "$PATIENT_ID" } } });
    expect(data?.resourceType === "Bundle", "it is a Bundle");
  },
  "/fhir/Patient/{id}/$health-cards-issue": async () => {
    const { data, error } = await patient.POST("/fhir/Patient/{id}/$health-cards-issue", {
      params: { path: { id: "$PATIENT_ID" } },
      body: { resourceType: "Parameters", parameter: [{ name: "credentialType", valueUri: "Patient/$everything" }] },
    });
    expect(data !== undefined, error ? issues(error) : "it is answered");
    const [card] = data.parameter;
    expect(card?.name === "verifiableCredential" && card.valueString.split(".").length === 3, "it is a JWS");
  },
  "/fhir/Patient/{id}/$expunge": async () => {
    const { error, response } = await application.POST("/fhir/Patient/{id}/$expunge", { params: { path: { id: "anna" } } });
    expect(response.status === 422 && error !== undefined, "an application cannot ask for it");
  },
  "/fhir/$expunge-status/{id}": async () => {
    const { response } = await application.GET("/fhir/$expunge-status/{id}", { params: { path: { id: "none" } } });
    expect(response.status === 404, "there is no such erasure");
  },
  "/receipts/.well-known/jwks.json": async () => {
    const { data } = await open.GET("/receipts/.well-known/jwks.json");
    expect(Array.isArray(data?.keys), "it is a key set");
  },
  "/fhir/Patient/{id}/$pdf": async () => {
    const { response } = await patient.GET("/fhir/Patient/{id}/$pdf", { params: { path: { id: "$PATIENT_ID" } }, parseAs: "blob" });
    expect(response.headers.get("content-type") === "application/pdf", "it is a PDF");
  },
  "/fhir/Patient/{id}/$summary": async () => {
    const { data } = await patient.GET("/fhir/Patient/{id}/$summary", { params: { path: { id: "$PATIENT_ID" } } });
    expect(data?.resourceType === "Bundle", "it is a Bundle");
  },
  "/fhir/Patient/$summary": async () => {
    const { response } = await application.GET("/fhir/Patient/$summary", { params: { query: { identifier: "nobodys" } } });
    expect(response.status === 404, "nobody has the identifier");
  },
  "/fhir/ViewDefinition/$run": () => rows("/fhir/ViewDefinition/$run"),
  "/fhir/ViewDefinition/$viewdefinition-run": () => rows("/fhir/ViewDefinition/$viewdefinition-run"),
  "/fhir/$viewdefinition-run": () => rows("/fhir/$viewdefinition-run"),
  "/fhir/$sql-run": () => rows("/fhir/$sql-run"),
  "/fhir/ViewDefinition/$validate": async () => {
    const { data } = await application.POST("/fhir/ViewDefinition/$validate", { body: view });
    expect(data?.resourceType === "OperationOutcome", "it is an OperationOutcome");
    expect(data.issue.every((issue) => issue.severity !== "error"), issues(data));
  },
};

for (const [path, use] of Object.entries(uses)) {
  await use().catch((error: unknown) => {
    throw new Error(`${path}: ${String(error)}`);
  });
}
console.log(`${Object.keys(uses).length} routes by openapi-typescript's client`);
