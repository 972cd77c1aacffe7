//! CSRF tokens. They prove that a form came from a page of the session. A token is a hash of the session's cookie,
//! masked with new random bytes each time, so that the length of compressed pages does not reveal it.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{Context, SHA256};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

const LENGTH: usize = 32;

/// Creates and checks the CSRF tokens of one group of forms. The string names the group. The hash includes it, so a
/// token of one group is not valid for another group.
#[derive(Clone, Copy)]
pub(in crate::http) struct Csrf(pub(in crate::http) &'static str);

impl Csrf {
    /// Creates a token for the forms of the session with this cookie. `None` if the system has no random bytes.
    pub(in crate::http) fn token(self, cookie: &str) -> Option<String> {
        let mut mask = [0u8; LENGTH];
        aws_lc_rs::rand::fill(&mut mask).ok()?;
        let secret = self.secret(cookie);
        let masked = secret.iter().zip(mask).map(|(secret, mask)| secret ^ mask);
        Some(URL_SAFE_NO_PAD.encode(mask.into_iter().chain(masked).collect::<Vec<u8>>()))
    }

    /// Whether a form's token is valid for the session with this cookie.
    pub(in crate::http) fn is_valid(self, cookie: &str, token: &str) -> bool {
        let Ok(bytes) = URL_SAFE_NO_PAD.decode(token) else {
            return false;
        };
        if bytes.len() != 2 * LENGTH {
            return false;
        }
        let (mask, masked) = bytes.split_at(LENGTH);
        let secret: Vec<u8> = masked.iter().zip(mask).map(|(masked, mask)| masked ^ mask).collect();
        verify_slices_are_equal(&secret, &self.secret(cookie)).is_ok()
    }

    fn secret(self, cookie: &str) -> [u8; LENGTH] {
        let mut context = Context::new(&SHA256);
        context.update(self.0.as_bytes());
        context.update(&[0xff]);
        context.update(cookie.as_bytes());
        let mut secret = [0u8; LENGTH];
        secret.copy_from_slice(context.finish().as_ref());
        secret
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_valid_in_its_own_session_only() {
        let forms = Csrf("forms");
        let token = |cookie| forms.token(cookie).unwrap();
        let (one, again, other) = (token("a"), token("a"), token("b"));
        assert_ne!(one, again);
        assert!(forms.is_valid("a", &one) && forms.is_valid("a", &again));
        assert!(!forms.is_valid("a", &other));
        assert!(!Csrf("other forms").is_valid("a", &one));
        for bad in [
            "",
            "a",
            "!",
            &one[1..],
            &format!("{one}A"),
            &format!("{one}AAAA"),
            &"A".repeat(86),
        ] {
            assert!(!forms.is_valid("a", bad), "{bad}");
        }
    }
}
