//! Reads a source's CapabilityStatement as a stream, because it may have many megabytes, and only a small part is used.

use std::collections::BTreeMap;
use std::io::Read;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize as Derive, Serialize};

use super::calls::Client;
use super::error::Error;
use super::http::charset::declared;
use super::http::{FHIR_JSON, host, malformed};

/// The maximum number of bytes of a statement.
const LARGEST: u64 = 16 << 20;
/// The maximum number of pieces that wait for the parser.
const PIECES: usize = 4;
/// The maximum number of types. `ENTRIES` is the maximum number of entries of each list in a type.
const TYPES: usize = 300;
const ENTRIES: usize = 200;
/// The maximum number of characters of a name or an address. Further characters are cut off.
const LETTERS: usize = 512;
const OAUTH_URIS: &str = "http://fhir-registry.smarthealthit.org/StructureDefinition/oauth-uris";
const COMBINATION: &str = "http://hl7.org/fhir/StructureDefinition/capabilitystatement-search-parameter-combination";

/// What a source can do, according to its CapabilityStatement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Derive)]
#[serde(default)]
pub struct Statement {
    /// The version of FHIR. Empty if it is not stated.
    pub fhir_version: String,
    /// Whether the source gives FHIR as XML only.
    #[serde(skip_serializing_if = "is_false")]
    pub xml_only: bool,
    /// The source's FHIR base, if the CapabilityStatement states one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// The authorization endpoint, for sources without a SMART configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorize: Option<String>,
    /// The token endpoint.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The resource types that the source serves, by their names.
    pub types: BTreeMap<String, Served>,
}

/// What a source can do with a type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Derive)]
#[serde(default)]
pub struct Served {
    /// Whether resources of the type can be read by id.
    pub read: bool,
    /// Whether the type can be searched.
    pub search: bool,
    /// The names of the type's search parameters. Empty if the CapabilityStatement lists none.
    pub parameters: Vec<String>,
    /// Whether a search can include Provenance.
    #[serde(skip_serializing_if = "is_false")]
    pub provenance: bool,
    /// Sets of parameters that a search may combine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub combinations: Vec<Vec<String>>,
}

fn is_false(value: &bool) -> bool {
    !*value
}

impl Statement {
    /// If the source's records cannot be read, returns the reason as a sentence. Otherwise returns `None`.
    pub fn problem(&self) -> Option<String> {
        if self.xml_only {
            return Some("it gives FHIR as XML only, and only JSON is read".to_owned());
        }
        let version = self.fhir_version.as_str();
        let name = match version.split('.').next() {
            // A statement without a version is accepted.
            _ if matches!(version, "" | "4.0" | "R4") || version.starts_with("4.0.") => return None,
            Some("0" | "1") => " (DSTU2)",
            Some("3") => " (STU3)",
            Some("5") => " (R5)",
            _ if version.starts_with("4.") => " (R4B)",
            _ => "",
        };
        Some(format!("it speaks FHIR {version:?}{name}, and only R4 is read"))
    }

    /// Whether a type can be searched by `_lastUpdated`.
    pub fn tells_news(&self) -> bool {
        let mut types = self.types.values();
        types.any(|served| served.tells_news())
    }

    /// Whether the CapabilityStatement lists any types.
    pub fn tells_types(&self) -> bool {
        !self.types.is_empty()
    }
}

impl Served {
    /// Whether the type can be searched by `_lastUpdated`.
    pub fn tells_news(&self) -> bool {
        self.parameters.iter().any(|name| name == "_lastUpdated")
    }
}

impl Client {
    /// Gets a source's CapabilityStatement. XML or another version of FHIR is no error here. [`Statement::problem`]
    /// reports them.
    pub async fn statement(&self, fhir_base: &str) -> Result<Statement, Error> {
        let address = format!("{}/metadata", fhir_base.trim_end_matches('/'));
        let (mut response, url) = self.http.open(&address, FHIR_JSON, None).await?;
        let status = response.status().as_u16();
        if matches!(status, 406 | 415) {
            return Ok(Statement::of_xml());
        }
        if status != 200 {
            return Err(super::http::refusal(&response, &url));
        }
        let too_large = || Error::TooLarge { host: host(&url) };
        if response.content_length().is_some_and(|length| length > LARGEST) {
            return Err(too_large());
        }
        let content_type = super::http::content_type(response.headers());
        let encoding = declared(content_type.as_deref()).unwrap_or(encoding_rs::UTF_8);
        let mut decoder = encoding.new_decoder();
        let (give, take) = tokio::sync::mpsc::channel(PIECES);
        let pieces = Pieces {
            take,
            piece: Default::default(),
        };
        let reading = tokio::task::spawn_blocking(move || read(pieces));
        let (mut length, mut is_xml, mut begun) = (0, false, false);
        while let Some(piece) = response
            .chunk()
            .await
            .map_err(|error| super::http::failure(&error, &url))?
        {
            length += piece.len() as u64;
            if length > LARGEST {
                return Err(too_large());
            }
            let mut text = String::with_capacity(decoder.max_utf8_buffer_length(piece.len()).unwrap_or(piece.len()));
            let _ = decoder.decode_to_string(&piece, &mut text, false);
            let piece = bytes::Bytes::from(text);
            if !begun && let Some(first) = piece.iter().find(|byte| !byte.is_ascii_whitespace() && byte.is_ascii()) {
                begun = true;
                is_xml = *first == b'<' && !is_html(&piece);
            }
            // If the parser has stopped, it needs no more pieces.
            if give.send(piece).await.is_err() {
                break;
            }
        }
        drop(give);
        let found = reading.await.map_err(|_| Error::Setup)?;
        if is_xml {
            return Ok(Statement::of_xml());
        }
        found.ok_or_else(|| malformed(&url, "no CapabilityStatement"))
    }
}

impl Statement {
    fn of_xml() -> Statement {
        Statement {
            xml_only: true,
            ..Statement::default()
        }
    }
}

/// Whether a piece is from an HTML page.
fn is_html(piece: &[u8]) -> bool {
    let start = String::from_utf8_lossy(&piece[..piece.len().min(256)]).to_ascii_lowercase();
    start.contains("<html") || start.contains("<!doctype html")
}

/// A body that arrives in pieces, as a reader.
struct Pieces<B> {
    take: tokio::sync::mpsc::Receiver<B>,
    piece: std::io::Cursor<B>,
}

impl<B: AsRef<[u8]>> Read for Pieces<B> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let count = self.piece.read(into)?;
            if count > 0 || into.is_empty() {
                return Ok(count);
            }
            match self.take.blocking_recv() {
                Some(piece) => self.piece = std::io::Cursor::new(piece),
                None => return Ok(0),
            }
        }
    }
}

/// Reads a statement. Returns `None` for another resource, and for malformed JSON.
fn read(source: impl Read) -> Option<Statement> {
    let document: Document = serde_json::from_reader(std::io::BufReader::new(source)).ok()?;
    // DSTU2 calls the CapabilityStatement Conformance.
    if !matches!(document.resource_type.0.as_str(), "CapabilityStatement" | "Conformance") {
        return None;
    }
    let mut statement = Statement {
        fhir_version: document.fhir_version.map(|version| version.0).unwrap_or_default(),
        url: document.implementation.and_then(|one| one.url).map(|url| url.0),
        ..Statement::default()
    };
    for rest in document.rest.0 {
        let extensions = rest.security.map(|security| security.extension.0).unwrap_or_default();
        for extension in extensions.into_iter().filter(|extension| extension.url.0 == OAUTH_URIS) {
            for part in extension.extension.0 {
                let uri = part.value_uri.or(part.value_url).map(|uri| uri.0);
                match part.url.0.as_str() {
                    "authorize" => statement.authorize = uri,
                    "token" => statement.token = uri,
                    _ => {}
                }
            }
        }
        for resource in rest.resource.0 {
            let served = statement.types.entry(resource.resource_type.0).or_default();
            // If no interactions are listed, the type is assumed to support reading and searching.
            let is_silent = resource.interaction.0.is_empty();
            (served.read, served.search) = (served.read || is_silent, served.search || is_silent);
            for interaction in resource.interaction.0 {
                served.read |= interaction.code.0 == "read";
                served.search |= interaction.code.0 == "search-type";
            }
            served
                .parameters
                .extend(resource.search_param.0.into_iter().map(|one| one.name.0));
            served.provenance |= resource
                .search_rev_include
                .0
                .iter()
                .any(|one| matches!(one.0.as_str(), "Provenance:target" | "*"));
            for extension in resource.extension.0 {
                if extension.url.0 == COMBINATION {
                    let parts = extension.extension.0.into_iter();
                    let required = parts.filter(|part| part.url.0 == "required");
                    let names = required.filter_map(|part| part.value_string).map(|name| name.0);
                    served.combinations.push(names.collect());
                }
            }
        }
    }
    Some(statement)
}

#[derive(Derive)]
struct Document {
    #[serde(rename = "resourceType")]
    resource_type: Short,
    #[serde(rename = "fhirVersion")]
    fhir_version: Option<Short>,
    implementation: Option<Implementation>,
    #[serde(default)]
    rest: Few<Rest, 4>,
}

#[derive(Derive)]
struct Implementation {
    url: Option<Short>,
}

#[derive(Derive)]
struct Rest {
    security: Option<Security>,
    #[serde(default)]
    resource: Few<Resource, TYPES>,
}

#[derive(Derive)]
struct Security {
    #[serde(default)]
    extension: Few<Extension, ENTRIES>,
}

#[derive(Derive)]
struct Resource {
    #[serde(rename = "type")]
    resource_type: Short,
    #[serde(default)]
    interaction: Few<Interaction, ENTRIES>,
    #[serde(default, rename = "searchParam")]
    search_param: Few<Parameter, ENTRIES>,
    #[serde(default, rename = "searchRevInclude")]
    search_rev_include: Few<Short, ENTRIES>,
    #[serde(default)]
    extension: Few<Extension, ENTRIES>,
}

#[derive(Derive)]
struct Interaction {
    #[serde(default)]
    code: Short,
}

#[derive(Derive)]
struct Parameter {
    #[serde(default)]
    name: Short,
}

#[derive(Derive)]
struct Extension {
    #[serde(default)]
    url: Short,
    #[serde(default)]
    extension: Few<Part, ENTRIES>,
}

#[derive(Derive)]
struct Part {
    #[serde(default)]
    url: Short,
    #[serde(rename = "valueUri")]
    value_uri: Option<Short>,
    #[serde(rename = "valueUrl")]
    value_url: Option<Short>,
    #[serde(rename = "valueString")]
    value_string: Option<Short>,
}

/// The first [`LETTERS`] characters of a string.
#[derive(Default)]
struct Short(String);

impl<'de> Deserialize<'de> for Short {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Short, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Short;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a text")
            }

            fn visit_str<E>(self, text: &str) -> Result<Short, E> {
                Ok(Short(text.chars().take(LETTERS).collect()))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

/// The first `MAX` items of a list. The others are skipped.
struct Few<T, const MAX: usize>(Vec<T>);

impl<T, const MAX: usize> Default for Few<T, MAX> {
    fn default() -> Self {
        Few(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for Few<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Items<T, const MAX: usize>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Items<T, MAX> {
            type Value = Few<T, MAX>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a list")
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Few::default())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
                let mut items = Vec::new();
                while items.len() < MAX {
                    match list.next_element()? {
                        Some(item) => items.push(item),
                        None => return Ok(Few(items)),
                    }
                }
                while list.next_element::<IgnoredAny>()?.is_some() {}
                Ok(Few(items))
            }
        }
        deserializer.deserialize_any(Items::<T, MAX>(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(json: &serde_json::Value) -> Option<Statement> {
        read(json.to_string().as_bytes())
    }

    #[test]
    fn a_statement_tells_what_can_be_asked() {
        let statement = of(&json!({"resourceType": "CapabilityStatement", "fhirVersion": "4.0.1", "text": {"div": "x"},
            "implementation": {"description": "d", "url": "https://payer.example/r4"},
            "rest": [{"mode": "server", "security": {"cors": true, "extension": [{"url": OAUTH_URIS, "extension": [
                {"url": "authorize", "valueUri": "https://payer.example/a"},
                {"url": "token", "valueUri": "https://payer.example/t"}]}]},
             "resource": [
                {"type": "Organization", "interaction": [{"code": "read"}]},
                {"type": "Observation", "interaction": [{"code": "search-type"}, {"code": "read"}],
                 "searchRevInclude": ["Provenance:target"], "searchParam": [{"name": "patient", "type": "reference"}],
                 "extension": [{"url": COMBINATION, "extension": [{"url": "required", "valueString": "patient"},
                     {"url": "required", "valueString": "category"}, {"url": "optional", "valueString": "date"}]}]}]}]}))
        .unwrap();
        assert_eq!(statement.problem(), None);
        assert_eq!(statement.url.as_deref(), Some("https://payer.example/r4"));
        assert_eq!(statement.token.as_deref(), Some("https://payer.example/t"));
        let organization = &statement.types["Organization"];
        assert!(organization.read && !organization.search);
        let observation = &statement.types["Observation"];
        assert!(observation.read && observation.search && observation.provenance);
        assert_eq!(observation.parameters, ["patient"]);
        assert_eq!(observation.combinations, [["patient", "category"]]);
        // The stored form reads back to the same value.
        let stored = serde_json::to_string(&statement).unwrap();
        assert_eq!(serde_json::from_str::<Statement>(&stored).unwrap(), statement);
    }

    #[test]
    fn what_is_no_statement_is_none_and_other_versions_are_told() {
        assert_eq!(of(&json!({"resourceType": "Patient"})), None);
        assert_eq!(of(&json!([1])), None);
        assert_eq!(read("{\"resourceType\":\"CapabilityStatement\",".as_bytes()), None);
        let version = |resource_type: &str, version: &str| {
            let statement = of(&json!({"resourceType": resource_type, "fhirVersion": version})).unwrap();
            statement.problem().unwrap_or_default()
        };
        assert!(version("Conformance", "1.0.2").contains("DSTU2"));
        assert!(version("CapabilityStatement", "3.0.1").contains("STU3"));
        assert!(version("CapabilityStatement", "4.3.0").contains("R4B"));
        assert_eq!(version("CapabilityStatement", "4.0.1"), "");
        assert!(Statement::of_xml().problem().unwrap().contains("XML"));
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let parameters: Vec<_> = (0..1_000)
            .map(|one| json!({"name": format!("{one}{}", "x".repeat(5_000))}))
            .collect();
        let statement = of(&json!({"resourceType": "CapabilityStatement", "rest": [{"resource": [
            {"type": "Observation", "searchParam": parameters}]}]}))
        .unwrap();
        let kept = &statement.types["Observation"].parameters;
        assert_eq!((kept.len(), kept[0].len()), (ENTRIES, LETTERS));
    }
}
