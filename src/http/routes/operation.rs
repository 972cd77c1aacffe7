//! Describes one method of a route for the OpenAPI document. The path's parameters are taken from the path itself.

use serde_json::{Map, Value, json};

use super::headers;
use super::refusals::Refusals;

/// An operation of the OpenAPI document.
#[derive(Clone, Debug)]
pub(in crate::http) struct Operation {
    id: &'static str,
    summary: &'static str,
    security: Option<Value>,
    parameters: Vec<Value>,
    body: Option<Value>,
    responses: Map<String, Value>,
}

impl Operation {
    /// Creates an operation that needs an access token. `id` is unique among all operations.
    pub(in crate::http) fn new(id: &'static str, summary: &'static str) -> Operation {
        Operation {
            id,
            summary,
            security: None,
            parameters: Vec::new(),
            body: None,
            responses: Map::new(),
        }
    }

    /// Declares that the operation needs no credential.
    pub(in crate::http) fn open(mut self) -> Operation {
        self.security = Some(json!([]));
        self
    }

    pub(super) fn is_open(&self) -> bool {
        self.security
            .as_ref()
            .and_then(Value::as_array)
            .is_some_and(Vec::is_empty)
    }

    /// Declares that the client is named by HTTP Basic, by fields of the body, or not at all.
    pub(in crate::http) fn by_key_pair_or_body(mut self) -> Operation {
        self.security = Some(json!([{"keys": []}, {}]));
        self
    }

    /// Declares that the client is named by HTTP Basic with its key pair.
    pub(in crate::http) fn by_key_pair(mut self) -> Operation {
        self.security = Some(json!([{"keys": []}]));
        self
    }

    /// Declares that the operation needs an access token or a signed address.
    pub(in crate::http) fn by_token_or_address(mut self) -> Operation {
        self.security = Some(json!([{"oauth2": []}, {"bearer": []}, {}]));
        self
    }

    /// Declares that the operation needs a registration access token.
    pub(in crate::http) fn by_registration_token(mut self) -> Operation {
        self.security = Some(json!([{"registration": []}]));
        self
    }

    /// Adds an optional query parameter.
    pub(in crate::http) fn query(self, name: &str, schema: Value) -> Operation {
        self.parameter(json!({"name": name, "in": "query", "schema": schema}))
    }

    /// Adds a required query parameter.
    pub(in crate::http) fn required_query(self, name: &str, schema: Value) -> Operation {
        self.parameter(json!({"name": name, "in": "query", "required": true, "schema": schema}))
    }

    /// Adds a request header that the operation reads.
    pub(in crate::http) fn header(self, name: &str, description: &str) -> Operation {
        let schema = json!({"type": "string"});
        self.parameter(json!({"name": name, "in": "header", "description": description, "schema": schema}))
    }

    /// Adds a parameter. The description in its schema becomes that of the parameter, because generators of clients and
    /// documents look for it there.
    fn parameter(mut self, mut parameter: Value) -> Operation {
        if let Some(about) = parameter["schema"]
            .as_object_mut()
            .and_then(|schema| schema.remove("description"))
        {
            parameter["description"] = about;
        }
        self.parameters.push(parameter);
        self
    }

    /// Adds a required request body in one of these media types.
    pub(in crate::http) fn body(mut self, media: &[&str], description: &str, schema: &Value) -> Operation {
        self.body = Some(json!({"required": true, "description": description, "content": content(media, schema)}));
        self
    }

    /// Adds an example of the request body in this media type. `/docs` shows the example, and fills the form for trying
    /// the call with it.
    pub(in crate::http) fn body_example(mut self, media: &str, example: Value) -> Operation {
        if let Some(body) = &mut self.body {
            body["content"][media]["example"] = example;
        }
        self
    }

    /// Adds the response 200 in one of these media types, all with the same schema.
    pub(in crate::http) fn answers(self, media: &[&str], schema: &Value) -> Operation {
        self.response(200, "The answer", media, schema)
    }

    /// Adds the response 200 in one of these media types, each with its own schema.
    pub(in crate::http) fn answers_as(mut self, media: &[(&str, Value)]) -> Operation {
        let content = media.iter().map(|(media, schema)| content(&[media], schema));
        let content: Map<String, Value> = content.flatten().collect();
        let response = json!({"description": "The answer", "content": content});
        self.responses.insert("200".to_owned(), response);
        self
    }

    /// Adds a response with this status. It has no body if there are no media types.
    pub(in crate::http) fn response(mut self, status: u16, about: &str, media: &[&str], schema: &Value) -> Operation {
        let mut response = json!({"description": about});
        if !media.is_empty() {
            response["content"] = content(media, schema).into();
        }
        self.responses.insert(status.to_string(), response);
        self
    }

    /// Adds a header to the response with this status, which must have been added before.
    pub(in crate::http) fn response_header(mut self, status: u16, name: &str, about: &str) -> Operation {
        if let Some(response) = self.responses.get_mut(&status.to_string()) {
            response["headers"][name] = json!({"description": about, "schema": {"type": "string"}});
        }
        self
    }

    /// Returns the operation as JSON. `path` is the route's path: it contains the names of the path parameters, and
    /// decides the format of errors. `family` becomes the operation's tag.
    pub(super) fn at(&self, path: &str, family: &str) -> Value {
        let mut parameters: Vec<Value> = names(path).map(|name| in_path(path, name)).collect();
        parameters.extend(self.parameters.iter().cloned());
        let mut responses = self.responses.clone();
        responses.values_mut().for_each(headers::add_all);
        let is_sent = |name: &str| self.parameters.iter().any(|parameter| parameter["name"] == name);
        if let Some(answer) = responses.get_mut("200") {
            headers::add_wished(answer, is_sent);
        }
        let refusals = Refusals::at(path);
        let refused = |status| json!({"$ref": format!("#/components/responses/{}", refusals.component(status))});
        let own = headers::REFUSED
            .into_iter()
            .filter(|status| *status != 401 || !self.is_open());
        for status in own {
            let name = status.to_string();
            responses.entry(name).or_insert_with(|| refused(Some(status)));
        }
        responses.insert("default".to_owned(), refused(None));
        let mut value = json!({
            "operationId": self.id, "summary": self.summary, "tags": [family], "responses": responses,
        });
        if !parameters.is_empty() {
            value["parameters"] = parameters.into();
        }
        if let Some(security) = &self.security {
            value["security"] = security.clone();
        }
        if let Some(body) = &self.body {
            value["requestBody"] = body.clone();
        }
        value
    }
}

fn content(media: &[&str], schema: &Value) -> Map<String, Value> {
    let one = |media: &&str| ((*media).to_owned(), json!({"schema": schema}));
    media.iter().map(one).collect()
}

/// Returns the names of a path's parameters, which are in braces.
fn names(path: &str) -> impl Iterator<Item = &str> {
    path.split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
}

fn in_path(path: &str, name: &str) -> Value {
    let mut parameter = json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}});
    if let Some(about) = about(path, name) {
        parameter["description"] = about.into();
    }
    parameter
}

/// Returns the description of a parameter in a path.
fn about(path: &str, name: &str) -> Option<&'static str> {
    Some(match name {
        "type" => "the resource type, such as Observation",
        "client_id" => "a publishable key that the registration has or had",
        "address" => "the secret part of the link",
        "ticket" => "the ticket that the link's manifest names",
        "file" => "the id of a key, and .json",
        "code" => "the error, as the redirect to the application names it",
        "endpoint" => "the endpoint to which the browser was sent",
        "provider" => "the identity provider to which the browser was sent",
        "id" if path.starts_with("/fhir/Patient/") => "the Patient's id; with a patient token also $PATIENT_ID",
        "id" if path.starts_with("/fhir/$expunge-status/") => "the job that $expunge returned",
        "id" if path.starts_with("/fhir/") => "the resource's id",
        "id" if path.starts_with("/rest/consent/") => "the consent's id",
        "id" if path.starts_with("/rest/health-links/") => "the link's id, as the list of links has it",
        _ => return None,
    })
}
