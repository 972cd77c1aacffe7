//! Signatures of Standard Webhooks: HMAC-SHA256 over the message's id, its timestamp and its body.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// The beginning of a secret's text.
const PREFIX: &str = "whsec_";

/// Signs a message. Returns the value of the header `webhook-signature`: one signature for each secret, separated by
/// spaces. A text that is no secret signs nothing.
pub fn sign(secrets: &[String], id: &str, timestamp: i64, body: &[u8]) -> String {
    let keys = secrets.iter().filter_map(|secret| key(secret));
    let signed: Vec<String> = keys.map(|key| one(&key, id, timestamp, body)).collect();
    signed.join(" ")
}

fn one(key: &hmac::Key, id: &str, timestamp: i64, body: &[u8]) -> String {
    let mut context = hmac::Context::with_key(key);
    context.update(format!("{id}.{timestamp}.").as_bytes());
    context.update(body);
    format!("v1,{}", STANDARD.encode(context.sign()))
}

fn key(secret: &str) -> Option<hmac::Key> {
    let bytes = STANDARD.decode(secret.strip_prefix(PREFIX)?).ok()?;
    Some(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Python's `hmac` computed the expected value.
    #[test]
    fn a_signature_is_an_hmac_over_id_timestamp_and_body() {
        let secret = format!("{PREFIX}{}", STANDARD.encode([7u8; 32]));
        let signed = sign(std::slice::from_ref(&secret), "msg_1", 1_700_000_000, b"{}");
        assert_eq!(signed, "v1,nuLLyheCKcS2N8JNOFt5stk98R+umYWr26/ZTfdtGM8=");
        let both = sign(
            &[secret.clone(), secret.clone(), "none".to_owned()],
            "msg_1",
            1_700_000_000,
            b"{}",
        );
        assert_eq!(both, format!("{signed} {signed}"));
        assert_ne!(sign(&[secret], "msg_1", 1_700_000_001, b"{}"), signed);
    }
}
