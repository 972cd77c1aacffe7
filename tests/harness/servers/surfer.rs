//! A browser without scripts that follows links, forms and redirects across servers, with cookies by path.

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use regex::Regex;
use url::Url;

static TAG: LazyLock<Regex> = LazyLock::new(|| Regex::new("<[^>]*>").unwrap());

/// A browser and its current page.
pub(crate) struct Surfer {
    pub(crate) url: Url,
    pub(crate) status: u16,
    pub(crate) text: String,
    cookies: Vec<Cookie>,
    /// The prefix of addresses without a server. The browser stops there without a request.
    outside: Option<String>,
}

struct Cookie {
    origin: String,
    path: String,
    name: String,
    value: String,
}

impl Surfer {
    /// Opens an address and follows redirects.
    pub(crate) fn open(address: &str) -> Surfer {
        let mut surfer = Surfer {
            url: Url::parse(address).unwrap(),
            status: 0,
            text: String::new(),
            cookies: Vec::new(),
            outside: None,
        };
        surfer.go(address);
        surfer
    }

    /// The same; it stops at addresses that begin with `outside`, where there is no server.
    pub(crate) fn open_until(outside: &str, address: &str) -> Surfer {
        let mut surfer = Surfer {
            url: Url::parse(outside).unwrap(),
            status: 0,
            text: String::new(),
            cookies: Vec::new(),
            outside: Some(outside.to_owned()),
        };
        surfer.go(address);
        surfer
    }

    /// Whether there was no server at the address. The page says so.
    pub(crate) fn is_cut_off(&self) -> bool {
        self.status == 0 && !self.text.is_empty()
    }

    /// Opens an address relative to the page's, and follows redirects.
    pub(crate) fn go(&mut self, address: &str) {
        let url = self.url.join(address).unwrap();
        self.request("GET", url, None);
    }

    /// Reloads the page.
    pub(crate) fn reload(&mut self) {
        self.request("GET", self.url.clone(), None);
    }

    /// The text of the first element with an id. It must contain no other element.
    pub(crate) fn element(&self, id: &str) -> String {
        let pattern = format!(r#"(?s)<\w+[^>]*\sid="{id}"[^>]*>(.*?)</"#);
        let found = Regex::new(&pattern).unwrap().captures(&self.text);
        plain(&found.unwrap_or_else(|| panic!("no element {id}: {}", self.text))[1])
    }

    /// The value of an attribute that occurs once in the page.
    pub(crate) fn attribute(&self, name: &str) -> String {
        let found = attribute(&self.text, name);
        found.unwrap_or_else(|| panic!("no attribute {name}: {}", self.text))
    }

    /// Whether the page has a form whose action ends like this, with a button of this text.
    pub(crate) fn offers(&self, action: &str, button: &str) -> bool {
        self.form(action, button).is_some()
    }

    fn form(&self, action: &str, button: &str) -> Option<&str> {
        let forms = self.text.split("<form").skip(1);
        let mut forms = forms.map(|rest| rest.split("</form>").next().unwrap());
        let page = self.url.as_str();
        forms.find(|form| {
            let to = attribute(form.split('>').next().unwrap(), "action");
            let to = to.as_deref().unwrap_or(page);
            to.split('?').next().unwrap().ends_with(action) && buttons(form).any(|(_, words)| words.contains(button))
        })
    }

    /// Fills in `fields` of the form whose action ends like this, and sends it by the button of this text.
    pub(crate) fn press(&mut self, action: &str, button: &str, fields: &[(&str, &str)]) {
        let page = self.url.as_str();
        let form = self.form(action, button);
        let form =
            form.unwrap_or_else(|| panic!("{page}: no form {action} with {button}: {} {}", self.status, self.text));
        let tag = form.split('>').next().unwrap();
        let mut all: Vec<(String, String)> = inputs(form);
        all.retain(|(name, _)| fields.iter().all(|(other, _)| other != name));
        all.extend(
            fields
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
        );
        let pressed = buttons(form).find(|(_, words)| words.contains(button));
        if let Some((tag, _)) = pressed
            && let (Some(name), Some(value)) = (attribute(tag, "name"), attribute(tag, "value"))
        {
            all.push((name, value));
        }
        let mut url = self
            .url
            .join(&attribute(tag, "action").unwrap_or_else(|| page.to_owned()))
            .unwrap();
        if attribute(tag, "method").as_deref() == Some("post") {
            let body = form_urlencoded::Serializer::new(String::new())
                .extend_pairs(all)
                .finish();
            self.request("POST", url, Some(body));
        } else {
            url.query_pairs_mut().clear().extend_pairs(all);
            self.request("GET", url, None);
        }
    }

    fn request(&mut self, method: &str, url: Url, body: Option<String>) {
        let (mut method, mut url, mut body) = (method.to_owned(), url, body);
        let deadline = Instant::now() + Duration::from_secs(120);
        while Instant::now() < deadline {
            self.url = url.clone();
            if self
                .outside
                .as_deref()
                .is_some_and(|outside| url.as_str().starts_with(outside))
            {
                (self.status, self.text) = (0, String::new());
                return;
            }
            match self.exchange(&method, &url, body.take()) {
                Ok(Some(location)) => {
                    url = url.join(&location).unwrap();
                    "GET".clone_into(&mut method);
                }
                // A page that waits for a source reloads by itself without scripts.
                Ok(None) if self.text.contains(r#"<noscript><meta http-equiv="refresh""#) => {
                    std::thread::sleep(Duration::from_millis(50));
                    "GET".clone_into(&mut method);
                }
                Ok(None) => return,
                Err(error) => {
                    (self.status, self.text) = (0, format!("{method} {url}: {error}"));
                    return;
                }
            }
        }
        panic!("redirects do not end at {url}: {}", self.text);
    }

    fn exchange(&mut self, method: &str, url: &Url, body: Option<String>) -> Result<Option<String>, ureq::Error> {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false);
        let agent: ureq::Agent = config.build().into();
        let mut plain = url.clone();
        plain.set_fragment(None);
        let mut request = ureq::http::Request::builder().method(method).uri(plain.as_str());
        let origin = url.origin().ascii_serialization();
        let sent = self
            .cookies
            .iter()
            .filter(|cookie| cookie.origin == origin && url.path().starts_with(&cookie.path));
        let sent: Vec<String> = sent.map(|cookie| format!("{}={}", cookie.name, cookie.value)).collect();
        if !sent.is_empty() {
            request = request.header("cookie", sent.join("; "));
        }
        let answer = match body {
            Some(body) => {
                let request = request
                    .header("content-type", "application/x-www-form-urlencoded")
                    .header("origin", &origin);
                agent.run(request.body(body).unwrap())
            }
            None => agent.run(request.body(()).unwrap()),
        };
        let (parts, mut body) = answer?.into_parts();
        for value in parts.headers.get_all("set-cookie") {
            self.keep(&origin, value.to_str().unwrap());
        }
        self.status = parts.status.as_u16();
        self.text = body.read_to_string()?;
        let location = parts.headers.get("location");
        Ok(location.map(|location| location.to_str().unwrap().to_owned()))
    }

    fn keep(&mut self, origin: &str, text: &str) {
        let mut parts = text.split(';').map(str::trim);
        let (name, value) = parts.next().unwrap().split_once('=').unwrap();
        let path = parts.clone().find_map(|part| part.strip_prefix("Path="));
        let path = path.unwrap_or("/").to_owned();
        self.cookies
            .retain(|one| one.origin != origin || one.name != name || one.path != path);
        if !parts.any(|part| part == "Max-Age=0") {
            self.cookies.push(Cookie {
                origin: origin.to_owned(),
                path,
                name: name.to_owned(),
                value: value.to_owned(),
            });
        }
    }
}

/// The buttons of a form: tag and text.
fn buttons(form: &str) -> impl Iterator<Item = (&str, String)> {
    form.split("<button").skip(1).map(|rest| {
        let (tag, rest) = rest.split_once('>').unwrap();
        (
            tag,
            plain(&TAG.replace_all(rest.split("</button>").next().unwrap(), " ")),
        )
    })
}

/// The fields that a form sends without changes by the user.
fn inputs(form: &str) -> Vec<(String, String)> {
    let tags = form.split("<input").skip(1).map(|rest| rest.split('>').next().unwrap());
    tags.filter_map(|tag| {
        let kind = attribute(tag, "type").unwrap_or_default();
        let chosen = !matches!(kind.as_str(), "checkbox" | "radio") || tag.contains(" checked");
        let value = attribute(tag, "value").unwrap_or_default();
        chosen.then_some(())?;
        Some((attribute(tag, "name")?, value))
    })
    .collect()
}

fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(r#" {name}=""#))?;
    Some(plain(rest.split('"').next()?))
}

/// Text with its character references decoded.
fn plain(text: &str) -> String {
    let references = [
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&#38;", "&"),
    ];
    references.iter().fold(text.to_owned(), |text, (reference, letter)| {
        text.replace(reference, letter)
    })
}
