//! Encodes a link as the specification defines it: `shlink:/` and a payload.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;

use super::jwe::LinkKey;
use crate::consent::HealthLink;

/// The maximum length of a payload's `url`, in characters.
pub(super) const LONGEST_URL: usize = 128;

#[derive(Serialize)]
struct Payload<'a> {
    url: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    flag: &'a str,
    key: String,
    exp: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<&'a str>,
    v: u32,
}

/// Returns the link with this URL and key.
pub(super) fn shlink(url: &str, key: &LinkKey, link: &HealthLink) -> Result<String, serde_json::Error> {
    let payload = serde_json::to_vec(&Payload {
        url,
        flag: link.flag(),
        key: key.text(),
        exp: link.expires_at,
        label: link.label.as_deref(),
        v: 1,
    })?;
    Ok(format!("shlink:/{}", URL_SAFE_NO_PAD.encode(payload)))
}

/// Returns the URL in a link's payload. It leads to the manifest, or with flag `U` to the file. `address` is the random
/// part.
pub(super) fn url(base_url: &str, address: &str) -> String {
    format!("{base_url}/health-links/{address}")
}
