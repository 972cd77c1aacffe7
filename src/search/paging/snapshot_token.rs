//! The token of the snapshot from which a view reads its rows. Links to further rows carry it as `_tag`. The numbers of
//! snapshots and erasures reveal something about other people's records, so the token is encrypted with the lake's key.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::lake::{Lake, Snapshot};

const USED: &[u8] = b"snapshot of a view's rows";

/// The content of a token: the snapshot of a view's rows, and the epoch.
///
/// FHIR also has a search parameter `_tag`. A snapshot token begins with two tildes, and no value of FHIR's `_tag`
/// does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotToken {
    /// The id of the snapshot.
    pub snapshot: u64,
    /// The epoch of the lake when the token was issued.
    pub erasures: u64,
}

impl SnapshotToken {
    /// Returns the token of a snapshot.
    pub fn of(snapshot: &Snapshot) -> SnapshotToken {
        SnapshotToken {
            snapshot: snapshot.id,
            erasures: snapshot.erasures(),
        }
    }

    /// Returns the encrypted token, as links carry it.
    pub fn text(self, lake: &Lake) -> String {
        let numbers = [self.snapshot, self.erasures].map(u64::to_le_bytes).concat();
        format!("~~{}", URL_SAFE_NO_PAD.encode(lake.enclose(&numbers, USED)))
    }

    /// Whether a value of `_tag` is meant as a token. The token may be damaged.
    pub fn is_meant(value: &str) -> bool {
        value.starts_with("~~")
    }

    /// Decrypts a token that this lake issued. Returns `None` for any other value.
    pub fn parse(value: &str, lake: &Lake) -> Option<SnapshotToken> {
        let enclosed = URL_SAFE_NO_PAD.decode(value.strip_prefix("~~")?).ok()?;
        let numbers = lake.disclose(&enclosed, USED)?;
        let (snapshot, erasures) = numbers.split_first_chunk()?;
        Some(SnapshotToken {
            snapshot: u64::from_le_bytes(*snapshot),
            erasures: u64::from_le_bytes(erasures.try_into().ok()?),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_reads_back_and_is_no_tag() {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open_or_create(folder.path()).unwrap();
        let token = SnapshotToken {
            snapshot: 4711,
            erasures: 12,
        };
        let text = token.text(&lake);
        assert!(SnapshotToken::is_meant(&text));
        assert_eq!(SnapshotToken::parse(&text, &lake), Some(token));
        for other in [
            "http://example.org|a",
            "~~1.zz",
            "~~",
            "~~1-0.9e",
            &text[..text.len() - 1],
        ] {
            assert_eq!(SnapshotToken::parse(other, &lake), None, "{other}");
        }
    }
}
