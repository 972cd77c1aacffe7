//! CSRF tokens: prove that a form came from a page of the session. The token is masked with random bytes each time, so
//! that the length of compressed answers reveals nothing.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Context, SHA256};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const LENGTH: usize = 32;

/// The CSRF token of a form in the session of this cookie.
pub(in crate::http::console) fn token(cookie: &str) -> Option<String> {
    let mut mask = [0u8; LENGTH];
    aws_lc_rs::rand::fill(&mut mask).ok()?;
    let masked = derived(cookie)
        .into_iter()
        .zip(mask)
        .map(|(secret, mask)| secret ^ mask);
    Some(URL_SAFE_NO_PAD.encode(mask.into_iter().chain(masked).collect::<Vec<u8>>()))
}

/// Whether a form carries a valid token for the session of this cookie.
pub(in crate::http::console) fn is_valid(cookie: &str, token: &str) -> bool {
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(token) else {
        return false;
    };
    let Some((mask, masked)) = bytes.split_at_checked(LENGTH) else {
        return false;
    };
    let secret: Vec<u8> = masked.iter().zip(mask).map(|(masked, mask)| masked ^ mask).collect();
    masked.len() == LENGTH && verify_slices_are_equal(&secret, &derived(cookie)).is_ok()
}

fn derived(cookie: &str) -> [u8; LENGTH] {
    let mut context = Context::new(&SHA256);
    context.update(b"console form\xff");
    context.update(cookie.as_bytes());
    let mut derived = [0u8; LENGTH];
    derived.copy_from_slice(context.finish().as_ref());
    derived
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_valid_in_its_own_session_only() {
        let (one, again, other) = (token("a").unwrap(), token("a").unwrap(), token("b").unwrap());
        assert_ne!(one, again);
        assert!(is_valid("a", &one) && is_valid("a", &again));
        assert!(!is_valid("a", &other));
        for bad in ["", "a", "!", &one[1..], &format!("{one}AAAA"), &"A".repeat(86)] {
            assert!(!is_valid("a", bad), "{bad}");
        }
    }
}
