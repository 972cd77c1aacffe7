//! Checks that a form was sent from one of our pages. Only the session's own pages know the secret. Each page masks it
//! anew, so that the length of compressed answers reveals nothing.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Context, SHA256};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const LENGTH: usize = 32;

/// The token for the forms of the session with this cookie.
pub(in crate::http::connect) fn token(cookie: &str) -> Option<String> {
    let mut mask = [0u8; LENGTH];
    aws_lc_rs::rand::fill(&mut mask).ok()?;
    let secret = derived("csrf", cookie);
    let masked = secret.iter().zip(mask).map(|(secret, mask)| secret ^ mask);
    Some(URL_SAFE_NO_PAD.encode(mask.into_iter().chain(masked).collect::<Vec<u8>>()))
}

/// Whether a form carries a valid token for the session with this cookie.
pub(in crate::http::connect) fn is_valid(cookie: &str, token: &str) -> bool {
    let Ok(bytes) = URL_SAFE_NO_PAD.decode(token) else {
        return false;
    };
    if bytes.len() != 2 * LENGTH {
        return false;
    }
    let (mask, masked) = bytes.split_at(LENGTH);
    let secret: Vec<u8> = masked.iter().zip(mask).map(|(masked, mask)| masked ^ mask).collect();
    verify_slices_are_equal(&secret, &derived("csrf", cookie)).is_ok()
}

fn derived(purpose: &str, cookie: &str) -> [u8; LENGTH] {
    let mut context = Context::new(&SHA256);
    context.update(purpose.as_bytes());
    context.update(&[0xff]);
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
        for bad in ["", "a", "!", &one[1..], &format!("{one}A"), &"A".repeat(86)] {
            assert!(!is_valid("a", bad), "{bad}");
        }
    }
}
