//! Checks the parameters of a request that begins a flow. The caller checks whether the client, its redirect URI and
//! an endpoint exist.

use chrono::NaiveDate;

use super::parameters::Parameters;
use crate::consent::{Display, Door, FlowRequest, Hints, Holder, Way};
use crate::fhir::hidden::is_hidden;

/// The maximum number of bytes of a parameter that is stored.
const LONGEST: usize = 1_024;
/// The maximum number of bytes of `state`. It is returned in a URL, and proxies may refuse longer URLs.
const LONGEST_STATE: usize = 4_096;
/// The number of characters of a SHA-256 digest in base64url without padding.
const CHALLENGE: usize = 43;
const RESUME: &str = "svc_resume";

/// The parameters of an authorization request that must not be repeated.
const SINGLE: &[&str] = &[
    "client_id",
    "redirect_uri",
    "response_type",
    "response_mode",
    "code_challenge",
    "code_challenge_method",
    "scope",
    "state",
    "aud",
    "svc_external_id",
    "svc_endpoint_id",
    "svc_ial2_mode",
    "svc_search_mode",
    RESUME,
    "svc_hint_first_name",
    "svc_hint_last_name",
    "svc_hint_dob",
];
/// The parameters of the link component that must not be repeated.
const SINGLE_LINK: &[&str] = &[
    "publishable_key",
    "origin",
    "channel",
    "display",
    "usage",
    "svc_external_id",
    "svc_endpoint_id",
    "svc_ial2_mode",
    "svc_search_mode",
    "svc_hint_first_name",
    "svc_hint_last_name",
    "svc_hint_dob",
];

/// Why a request cannot begin a flow: an error code of RFC 6749, section 4.1.2.1, and a description.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::http::connect) struct Invalid {
    pub(in crate::http::connect) error: &'static str,
    pub(in crate::http::connect) description: String,
}

/// Why a request is refused on a page of the service, and not by an error that is sent to the application: the client,
/// the redirect URI or the origin in the request is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::http::connect) enum Untrusted {
    /// `client_id` or `publishable_key` is missing, repeated or unknown.
    Client,
    /// `redirect_uri` is missing or repeated.
    NoRedirect,
    /// `redirect_uri` is not registered for the application.
    Redirect,
    /// The origin of the page with the link component is missing, repeated, or not registered for the application.
    Origin,
}

impl Untrusted {
    const ALL: [Untrusted; 4] = [
        Untrusted::Client,
        Untrusted::NoRedirect,
        Untrusted::Redirect,
        Untrusted::Origin,
    ];

    /// Returns the reason's name in the URL of its page.
    pub(in crate::http::connect) fn name(self) -> &'static str {
        match self {
            Untrusted::Client => "client",
            Untrusted::NoRedirect => "no-redirect",
            Untrusted::Redirect => "redirect",
            Untrusted::Origin => "origin",
        }
    }

    /// Returns the reason with this name.
    pub(in crate::http::connect) fn named(name: &str) -> Option<Untrusted> {
        Untrusted::ALL.into_iter().find(|one| one.name() == name)
    }
}

/// Reads the client and the redirect URI. The caller must check both.
pub(in crate::http::connect) fn client_and_redirect(parameters: &Parameters) -> Result<(&str, &str), Untrusted> {
    let client = parameters.sole("client_id").ok_or(Untrusted::Client)?;
    let redirect = parameters.sole("redirect_uri").ok_or(Untrusted::NoRedirect)?;
    Ok((client, redirect))
}

/// Reads the application's publishable key and the origin from a request of the link component. The caller must check
/// both.
pub(in crate::http::connect) fn key_and_origin(parameters: &Parameters) -> Result<(&str, &str), Untrusted> {
    let key = parameters.sole("publishable_key").ok_or(Untrusted::Client)?;
    let origin = parameters.sole("origin").ok_or(Untrusted::Origin)?;
    Ok((key, origin))
}

/// Reads the origin and the channel of the page that contains the link component. `None` if one is missing or invalid,
/// so that no message can be sent to the page. Both may be forged, so a message only says that the request is refused.
pub(in crate::http::connect) fn claimed_holder(parameters: &Parameters) -> Option<(&str, &str)> {
    let origin = parameters.sole("origin").filter(|origin| is_origin(origin))?;
    let channel = parameters.sole("channel").filter(|channel| is_channel(channel))?;
    Some((origin, channel))
}

/// Whether the string is an origin as browsers write it. It becomes part of a Content-Security-Policy, so hosts with
/// special characters are refused.
fn is_origin(text: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b".-:/[]".contains(&byte);
    let url = url::Url::parse(text).ok().filter(|_| text.bytes().all(letters));
    url.is_some_and(|url| matches!(url.scheme(), "https" | "http") && url.origin().ascii_serialization() == text)
}

fn is_channel(text: &str) -> bool {
    text.len() <= 128 && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
}

/// Whether the request asks to show the pages in a frame.
pub(in crate::http::connect) fn is_framed(parameters: &Parameters) -> bool {
    parameters.sole("display") == Some("iframe")
}

/// Whether the request asks to resume an interrupted flow.
pub(in crate::http::connect) fn resumes(parameters: &Parameters) -> bool {
    parameters.sole(RESUME) == Some("true")
}

/// Checks an OAuth request. The caller has already checked the client and the redirect URI. `fhir_base` is the base
/// URL of the FHIR API, without a trailing slash.
pub(in crate::http::connect) fn oauth(
    parameters: &Parameters,
    door: Door,
    fhir_base: &str,
) -> Result<FlowRequest, Invalid> {
    once(parameters, SINGLE)?;
    for unsupported in ["request", "request_uri"] {
        if parameters.all(unsupported).next().is_some() {
            let error = match unsupported {
                "request" => "request_not_supported",
                _ => "request_uri_not_supported",
            };
            return Err(refused(error, format!("{unsupported} is not supported")));
        }
    }
    match parameters.sole("response_type") {
        Some("code") => {}
        None => return Err(missing("response_type")),
        Some(_) => return Err(refused("unsupported_response_type", "response_type must be code")),
    }
    if parameters.sole("response_mode").is_some_and(|mode| mode != "query") {
        return Err(invalid("response_mode must be query"));
    }
    let challenge = challenge(parameters)?;
    let offline = scope(parameters)?;
    if let Some(aud) = parameters.sole("aud")
        && aud.strip_suffix('/').unwrap_or(aud) != fhir_base
    {
        return Err(invalid("aud must be the address of the FHIR API"));
    }
    let external_id = text(parameters, "svc_external_id", LONGEST)?;
    if external_id.is_none() && door == Door::Oauth {
        return Err(invalid("svc_external_id is required"));
    }
    if let Some(value) = parameters.sole(RESUME)
        && !matches!(value, "true" | "false")
    {
        return Err(invalid("svc_resume must be true or false"));
    }
    let (way, endpoint, hints) = way(parameters)?;
    Ok(FlowRequest {
        door,
        client: parameters.sole("client_id").unwrap_or_default().to_owned(),
        redirect_uri: parameters.sole("redirect_uri").map(str::to_owned),
        state: state(parameters)?,
        challenge: Some(challenge),
        offline,
        external_id,
        endpoint,
        way,
        hints,
        display: Display::Page,
        holder: None,
        fingerprint: parameters.fingerprint(RESUME),
    })
}

/// Checks a request of the link component. The caller has already checked the key and the origin.
pub(in crate::http::connect) fn link(parameters: &Parameters) -> Result<FlowRequest, Invalid> {
    once(parameters, SINGLE_LINK)?;
    let display = match parameters.sole("display") {
        None | Some("popup") => Display::Popup,
        Some("iframe") => Display::Frame,
        Some(_) => return Err(invalid("display must be popup or iframe")),
    };
    let offline = match parameters.sole("usage") {
        None | Some("ONE_TIME") => false,
        Some("MULTIPLE") => true,
        Some(_) => return Err(invalid("usage must be ONE_TIME or MULTIPLE")),
    };
    let channel = parameters.sole("channel").ok_or_else(|| missing("channel"))?;
    if !is_channel(channel) {
        return Err(invalid("channel must be 1 to 128 letters, digits or hyphens"));
    }
    let (way, endpoint, hints) = way(parameters)?;
    Ok(FlowRequest {
        door: Door::Link,
        client: parameters.sole("publishable_key").unwrap_or_default().to_owned(),
        redirect_uri: None,
        state: None,
        challenge: None,
        offline,
        external_id: text(parameters, "svc_external_id", LONGEST)?,
        endpoint,
        way,
        hints,
        display,
        holder: Some(Holder {
            origin: parameters.sole("origin").unwrap_or_default().to_owned(),
            channel: channel.to_owned(),
        }),
        fingerprint: parameters.fingerprint(RESUME),
    })
}

/// Reads the `state` that the response returns to the application.
pub(in crate::http::connect) fn state(parameters: &Parameters) -> Result<Option<String>, Invalid> {
    match parameters.sole("state") {
        Some(state) if state.len() > LONGEST_STATE => {
            Err(invalid(format!("state is longer than {LONGEST_STATE} bytes")))
        }
        state => Ok(state.map(str::to_owned)),
    }
}

fn once(parameters: &Parameters, names: &[&str]) -> Result<(), Invalid> {
    match names.iter().find(|name| parameters.one(name).is_err()) {
        None => Ok(()),
        Some(name) => Err(invalid(format!("{name} comes more than once"))),
    }
}

/// Reads the code challenge of PKCE. Only the method S256 is accepted (RFC 7636).
fn challenge(parameters: &Parameters) -> Result<String, Invalid> {
    let challenge = parameters
        .sole("code_challenge")
        .ok_or_else(|| missing("code_challenge"))?;
    match parameters.sole("code_challenge_method") {
        Some("S256") => {}
        None => return Err(missing("code_challenge_method")),
        Some(_) => return Err(invalid("code_challenge_method must be S256")),
    }
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if challenge.len() != CHALLENGE || !challenge.bytes().all(letters) {
        return Err(invalid(
            "code_challenge must be 43 base64url characters: the SHA-256 of the verifier, without padding",
        ));
    }
    Ok(challenge.to_owned())
}

/// Reads the scopes and returns whether they include `offline_access`. An error if `launch/patient` is missing. All
/// other scopes are ignored.
fn scope(parameters: &Parameters) -> Result<bool, Invalid> {
    let scope = parameters.sole("scope").ok_or_else(|| missing("scope"))?;
    let mut scopes = scope.split_ascii_whitespace();
    if !scopes.clone().any(|scope| scope == "launch/patient") {
        return Err(refused("invalid_scope", "scope must include launch/patient"));
    }
    Ok(scopes.any(|scope| scope == "offline_access"))
}

/// Reads how the patient finds sources. Returns the way, the endpoint that the application requests, and hints about
/// the patient.
fn way(parameters: &Parameters) -> Result<(Way, Option<String>, Hints), Invalid> {
    let identity = flag(parameters, "svc_ial2_mode")?;
    let search = flag(parameters, "svc_search_mode")?;
    let endpoint = text(parameters, "svc_endpoint_id", LONGEST)?;
    if identity && search {
        return Err(invalid("svc_ial2_mode cannot be combined with svc_search_mode"));
    }
    if identity && endpoint.is_some() {
        return Err(invalid("svc_ial2_mode cannot be combined with svc_endpoint_id"));
    }
    let hints = Hints {
        given: text(parameters, "svc_hint_first_name", LONGEST)?,
        family: text(parameters, "svc_hint_last_name", LONGEST)?,
        birth_date: text(parameters, "svc_hint_dob", LONGEST)?,
    };
    let given = [
        ("svc_hint_first_name", hints.given.is_some()),
        ("svc_hint_last_name", hints.family.is_some()),
        ("svc_hint_dob", hints.birth_date.is_some()),
    ];
    if let Some((name, _)) = given.iter().find(|(_, given)| *given && !search) {
        return Err(invalid(format!("{name} requires svc_search_mode=true")));
    }
    if hints.birth_date.as_deref().is_some_and(|date| !is_date(date)) {
        return Err(invalid("svc_hint_dob must be a date of the form YYYY-MM-DD"));
    }
    let way = if identity {
        Way::Identity
    } else if search {
        Way::Search
    } else {
        Way::Choose
    };
    Ok((way, endpoint, hints))
}

/// Reads a parameter whose only allowed value is `true`.
fn flag(parameters: &Parameters, name: &str) -> Result<bool, Invalid> {
    match parameters.sole(name) {
        None => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(invalid(format!("{name} must be true or left out"))),
    }
}

/// Reads a value that is stored: at most `longest` bytes, without hidden characters.
fn text(parameters: &Parameters, name: &str, longest: usize) -> Result<Option<String>, Invalid> {
    let Some(value) = parameters.sole(name) else {
        return Ok(None);
    };
    if value.len() > longest {
        return Err(invalid(format!("{name} is longer than {longest} bytes")));
    }
    if value.chars().any(is_hidden) {
        return Err(invalid(format!("{name} contains control characters or invisible ones")));
    }
    Ok(Some(value.to_owned()))
}

/// Whether the string is an existing date of the form `YYYY-MM-DD`.
pub(in crate::http::connect) fn is_date(text: &str) -> bool {
    text.len() == 10
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
        && NaiveDate::parse_from_str(text, "%Y-%m-%d").is_ok()
}

fn missing(name: &str) -> Invalid {
    invalid(format!("{name} is required"))
}

fn invalid(description: impl Into<String>) -> Invalid {
    refused("invalid_request", description)
}

fn refused(error: &'static str, description: impl Into<String>) -> Invalid {
    Invalid {
        error,
        description: description.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FHIR: &str = "https://records.example/fhir";

    /// Checks a valid request with some changed parameters. An empty value removes the parameter.
    fn with(changes: &[(&str, &str)]) -> Result<FlowRequest, Invalid> {
        at(Door::Oauth, changes)
    }

    fn at(door: Door, changes: &[(&str, &str)]) -> Result<FlowRequest, Invalid> {
        let challenge = "c".repeat(43);
        let mut pairs = vec![
            ("client_id", "pk_test_1"),
            ("redirect_uri", "https://app.example/cb"),
            ("response_type", "code"),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
            ("scope", "launch/patient"),
            ("svc_external_id", "user-1"),
            ("state", "s"),
        ];
        for (name, value) in changes {
            pairs.retain(|(known, _)| known != name);
            pairs.push((name, value));
        }
        let mut query = form_urlencoded::Serializer::new(String::new());
        oauth(
            &Parameters::parse(query.extend_pairs(pairs).finish().as_bytes()),
            door,
            FHIR,
        )
    }

    fn refusal(changes: &[(&str, &str)]) -> (&'static str, String) {
        let Invalid { error, description } = with(changes).unwrap_err();
        (error, description)
    }

    #[test]
    fn a_request_with_what_is_required_is_fine() {
        let request = with(&[]).unwrap();
        assert_eq!(request.external_id.as_deref(), Some("user-1"));
        assert_eq!(request.state.as_deref(), Some("s"));
        assert_eq!((request.way, request.offline), (Way::Choose, false));
    }

    #[test]
    fn every_required_parameter_is_required() {
        for name in [
            "response_type",
            "code_challenge",
            "code_challenge_method",
            "scope",
            "svc_external_id",
        ] {
            assert_eq!(
                refusal(&[(name, "")]),
                ("invalid_request", format!("{name} is required"))
            );
        }
    }

    #[test]
    fn svc_external_id_is_optional_at_link_auth() {
        assert_eq!(at(Door::Smart, &[("svc_external_id", "")]).unwrap().external_id, None);
    }

    #[test]
    fn response_type_is_code_and_response_mode_query() {
        assert_eq!(refusal(&[("response_type", "token")]).0, "unsupported_response_type");
        assert_eq!(refusal(&[("response_mode", "fragment")]).0, "invalid_request");
        assert!(with(&[("response_mode", "query")]).is_ok());
        assert_eq!(refusal(&[("request", "x")]).0, "request_not_supported");
        assert_eq!(refusal(&[("request_uri", "https://x")]).0, "request_uri_not_supported");
    }

    #[test]
    fn the_challenge_is_43_base64url_characters_by_s256() {
        let long = "c".repeat(44);
        let odd = format!("{}=", "c".repeat(42));
        for challenge in ["c", long.as_str(), odd.as_str(), &format!("{}+", "c".repeat(42))] {
            assert_eq!(
                refusal(&[("code_challenge", challenge)]).0,
                "invalid_request",
                "{challenge}"
            );
        }
        assert_eq!(
            refusal(&[("code_challenge_method", "plain")]),
            ("invalid_request", "code_challenge_method must be S256".to_owned())
        );
    }

    #[test]
    fn scope_must_include_launch_patient_and_others_are_ignored() {
        assert_eq!(refusal(&[("scope", "offline_access")]).0, "invalid_scope");
        assert_eq!(refusal(&[("scope", "launch/patients")]).0, "invalid_scope");
        let request = with(&[("scope", "openid  fhirUser offline_access launch/patient patient/*.read")]).unwrap();
        assert!(request.offline);
        assert_eq!(request.scope(), "launch/patient offline_access");
    }

    #[test]
    fn aud_is_the_fhir_base_with_or_without_a_slash() {
        assert!(with(&[("aud", FHIR)]).is_ok());
        assert!(with(&[("aud", &format!("{FHIR}/"))]).is_ok());
        for aud in [
            "https://records.example",
            "https://other.example/fhir",
            &format!("{FHIR}//"),
        ] {
            assert_eq!(refusal(&[("aud", aud)]).0, "invalid_request", "{aud}");
        }
    }

    #[test]
    fn the_modes_exclude_each_other() {
        assert_eq!(with(&[("svc_ial2_mode", "true")]).unwrap().way, Way::Identity);
        assert_eq!(with(&[("svc_search_mode", "true")]).unwrap().way, Way::Search);
        for changes in [
            [("svc_ial2_mode", "true"), ("svc_search_mode", "true")],
            [("svc_ial2_mode", "true"), ("svc_endpoint_id", "e")],
        ] {
            let (error, description) = refusal(&changes);
            assert_eq!(error, "invalid_request");
            assert!(description.contains("cannot be combined"), "{description}");
        }
        let both = with(&[("svc_search_mode", "true"), ("svc_endpoint_id", "e")]).unwrap();
        assert_eq!((both.way, both.endpoint.as_deref()), (Way::Search, Some("e")));
    }

    #[test]
    fn the_modes_have_the_value_true_only() {
        for name in ["svc_ial2_mode", "svc_search_mode"] {
            for value in ["false", "TRUE", "1", " true"] {
                let expected = format!("{name} must be true or left out");
                assert_eq!(refusal(&[(name, value)]), ("invalid_request", expected));
            }
        }
    }

    #[test]
    fn hints_require_search_mode() {
        for (name, value) in [
            ("svc_hint_first_name", "Ada"),
            ("svc_hint_last_name", "Byron"),
            ("svc_hint_dob", "1815-12-10"),
        ] {
            let expected = format!("{name} requires svc_search_mode=true");
            assert_eq!(refusal(&[(name, value)]), ("invalid_request", expected));
            assert!(with(&[(name, value), ("svc_search_mode", "true")]).is_ok());
        }
    }

    #[test]
    fn svc_hint_dob_is_a_day_that_exists() {
        for date in [
            "1815-13-10",
            "1815-02-30",
            "15-12-10",
            "1815-12-1",
            "10.12.1815",
            "+815-12-10",
            "today",
        ] {
            let (error, _) = refusal(&[("svc_search_mode", "true"), ("svc_hint_dob", date)]);
            assert_eq!(error, "invalid_request", "{date}");
        }
    }

    #[test]
    fn a_parameter_stands_once() {
        for name in SINGLE {
            let query = format!("{name}=true&{name}=true");
            let refused = oauth(&Parameters::parse(query.as_bytes()), Door::Oauth, FHIR).unwrap_err();
            assert_eq!(refused.description, format!("{name} comes more than once"));
        }
    }

    #[test]
    fn values_are_bounded_and_printable() {
        assert_eq!(refusal(&[("svc_external_id", &"x".repeat(1_025))]).0, "invalid_request");
        assert_eq!(refusal(&[("svc_external_id", "a\nb")]).0, "invalid_request");
        assert_eq!(refusal(&[("state", &"x".repeat(4_097))]).0, "invalid_request");
        assert_eq!(refusal(&[("svc_external_id", "a\u{202e}b")]).0, "invalid_request");
        let odd = "'; DROP TABLE consent; --<script>é";
        assert_eq!(
            with(&[("svc_external_id", odd)]).unwrap().external_id.as_deref(),
            Some(odd)
        );
    }

    #[test]
    fn svc_resume_is_true_or_false_and_no_part_of_the_request() {
        assert_eq!(refusal(&[("svc_resume", "maybe")]).0, "invalid_request");
        assert_eq!(with(&[("svc_resume", "true")]).unwrap(), with(&[]).unwrap());
        assert_ne!(
            with(&[("state", "t")]).unwrap().fingerprint,
            with(&[]).unwrap().fingerprint
        );
    }

    #[test]
    fn who_cannot_be_trusted_is_not_redirected() {
        let of = |query: &str| client_and_redirect(&Parameters::parse(query.as_bytes())).map(|_| ());
        assert_eq!(of("redirect_uri=x"), Err(Untrusted::Client));
        assert_eq!(of("client_id=a&client_id=a&redirect_uri=x"), Err(Untrusted::Client));
        assert_eq!(of("client_id=a"), Err(Untrusted::NoRedirect));
        assert_eq!(
            of("client_id=a&redirect_uri=x&redirect_uri=x"),
            Err(Untrusted::NoRedirect)
        );
    }

    #[test]
    fn the_link_component_says_where_it_is_shown_and_how_long_records_are_wanted() {
        let of = |query: &str| link(&Parameters::parse(format!("channel=c-1&{query}").as_bytes()));
        let plain = of("publishable_key=pk&origin=https://a.example").unwrap();
        assert_eq!(
            (plain.display, plain.offline, plain.way),
            (Display::Popup, false, Way::Choose)
        );
        let framed = of("display=iframe&usage=MULTIPLE&svc_search_mode=true").unwrap();
        assert_eq!(
            (framed.display, framed.offline, framed.way),
            (Display::Frame, true, Way::Search)
        );
        for query in ["display=window", "usage=FOREVER", "channel=x", "svc_ial2_mode=1"] {
            assert!(of(query).is_err(), "{query}");
        }
        assert!(link(&Parameters::parse(b"channel=%3Cscript%3E")).is_err());
        assert!(link(&Parameters::parse(b"display=popup")).is_err());
    }
}
