//! A browser without scripts. It keeps cookies, sends the forms of pages, and does not follow redirects out of the
//! service.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ureq::http::HeaderMap;
use url::Url;

/// A browser with its own cookies.
pub(crate) struct Browser {
    base: String,
    /// The `Origin` that it sends with forms.
    pub(crate) origin: Option<String>,
    pub(crate) cookies: BTreeMap<String, String>,
    /// The current page.
    pub(crate) page: Page,
}

/// The last response.
#[derive(Clone, Default)]
pub(crate) struct Page {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Page {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// The target of a redirect.
    pub(crate) fn location(&self) -> Url {
        let location = self.header("location");
        Url::parse(location).unwrap_or_else(|error| panic!("{error}: {} {location:?} {}", self.status, self.text))
    }

    /// A parameter in the target of a redirect.
    pub(crate) fn answer(&self, name: &str) -> Option<String> {
        let location = self.location();
        let mut pairs = location.query_pairs();
        pairs.find(|(one, _)| one == name).map(|(_, value)| value.into_owned())
    }

    /// The heading of the page.
    pub(crate) fn heading(&self) -> String {
        let text = self
            .text
            .split("<h1>")
            .nth(1)
            .and_then(|rest| rest.split("</h1>").next());
        decoded(text.unwrap_or_else(|| panic!("no heading: {} {:?} {}", self.status, self.headers, self.text)))
    }

    /// Whether the page reloads by itself without scripts.
    pub(crate) fn is_waiting(&self) -> bool {
        self.text
            .contains(r#"<noscript><meta http-equiv="refresh" content="2"></noscript>"#)
    }

    /// The text between a mark and the next quotation mark.
    pub(crate) fn behind(&self, mark: &str) -> String {
        let rest = self.text.split(mark).nth(1).and_then(|rest| rest.split('"').next());
        decoded(rest.unwrap_or_else(|| panic!("no {mark}: {}", self.text)))
    }

    /// The name of the current step.
    pub(crate) fn current(&self) -> Option<&str> {
        let rest = self.text.split(r#"aria-current="step"><span>"#).nth(1)?;
        rest.split('<').next()
    }

    /// The values of all fields with a name.
    pub(crate) fn values(&self, name: &str) -> Vec<String> {
        let mark = format!(r#"name="{name}" value=""#);
        let rest = self.text.split(&mark).skip(1);
        rest.map(|rest| decoded(rest.split('"').next().unwrap())).collect()
    }
}

/// Character references as the templates write them.
fn decoded(text: &str) -> String {
    let pairs = [
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#38;", "&"),
    ];
    pairs.iter().fold(text.to_owned(), |text, (reference, letter)| {
        text.replace(reference, letter)
    })
}

impl Browser {
    pub(crate) fn new(base: &str) -> Browser {
        Browser {
            base: base.to_owned(),
            origin: Some(base.trim_end_matches('/').to_owned()),
            cookies: BTreeMap::new(),
            page: Page::default(),
        }
    }

    /// Opens an address and follows redirects within the service.
    pub(crate) fn go(&mut self, address: &str) -> &Page {
        self.ask("GET", address, None);
        self.follow()
    }

    /// Requests an address without following redirects.
    pub(crate) fn ask(&mut self, method: &str, address: &str, form: Option<&[(&str, &str)]>) -> &Page {
        let url = if address.starts_with('/') {
            format!("{}{address}", self.base)
        } else {
            address.to_owned()
        };
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false);
        let agent: ureq::Agent = config.build().into();
        let mut request = ureq::http::Request::builder().method(method).uri(url);
        let cookies: Vec<String> = self
            .cookies
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if !cookies.is_empty() {
            request = request.header("cookie", cookies.join("; "));
        }
        let sent = match form {
            None => agent.run(request.body(()).unwrap()),
            Some(fields) => {
                if let Some(origin) = &self.origin {
                    request = request.header("origin", origin);
                }
                let body = form_urlencoded::Serializer::new(String::new())
                    .extend_pairs(fields)
                    .finish();
                let request = request.header("content-type", "application/x-www-form-urlencoded");
                agent.run(request.body(body).unwrap())
            }
        };
        let (parts, mut body) = sent.unwrap().into_parts();
        for value in parts.headers.get_all("set-cookie") {
            let text = value.to_str().unwrap();
            let (name, value) = text.split(';').next().unwrap().split_once('=').unwrap();
            if text.contains("Max-Age=0") {
                self.cookies.remove(name)
            } else {
                self.cookies.insert(name.to_owned(), value.to_owned())
            };
        }
        self.page = Page {
            status: parts.status.as_u16(),
            headers: parts.headers,
            text: body.read_to_string().unwrap(),
        };
        &self.page
    }

    /// Follows redirects as long as they stay within the service.
    pub(crate) fn follow(&mut self) -> &Page {
        for _ in 0..5 {
            let location = self.page.header("location").to_owned();
            if !(location.starts_with('/') || location.starts_with(&format!("{}/", self.base))) {
                break;
            }
            self.ask("GET", &location, None);
        }
        &self.page
    }

    /// Reloads as long as the page waits.
    pub(crate) fn wait(&mut self) -> &Page {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.page.is_waiting() {
            assert!(Instant::now() < deadline, "{}", self.page.text);
            self.go("/connect");
        }
        &self.page
    }

    /// Sends a form of the current page with its token, and follows redirects.
    pub(crate) fn send(&mut self, action: &str, fields: &[(&str, &str)]) -> &Page {
        self.press(action, fields);
        self.follow()
    }

    /// Sends a form of the current page with its token, without following redirects.
    pub(crate) fn press(&mut self, action: &str, fields: &[(&str, &str)]) -> &Page {
        let mark = format!(r#"action="/connect/{action}""#);
        assert!(
            self.page.text.contains(&mark),
            "no form {action}: {} {:?} {}",
            self.page.status,
            self.page.headers,
            self.page.text
        );
        let csrf = self.page.values("csrf").first().cloned().expect("a token");
        let mut all = vec![("csrf", csrf.as_str())];
        all.extend(fields);
        self.ask("POST", &format!("/connect/{action}"), Some(&all))
    }
}
