//! The envelope of a plan: a magic number, a version and the lake's signature.
//!
//! ```text
//! 0..4   "TBPL"
//! 4      version
//! 5..37  HMAC-SHA256 over the bytes 0..5 and 37.., under a key that is derived from the lake's key
//! 37..   the plan, as datafusion-proto encodes it
//! ```

use super::error::CodecError;
use crate::lake::{Lake, SIGNATURE};

/// The first bytes of an envelope.
const MAGIC: &[u8; 4] = b"TBPL";
/// The version of the format. Other versions are refused.
const VERSION: u8 = 1;
/// The number of bytes before the signature.
const HEAD: usize = MAGIC.len() + 1;
/// The purpose of the signature. A signature that was made for another purpose is refused.
const PURPOSE: &str = "physical plans";

/// Signs an encoded plan and puts it into an envelope.
pub(super) fn seal(lake: &Lake, plan: &[u8]) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.push(VERSION);
    bytes.extend_from_slice(plan);
    let signature = lake.sign(&bytes, PURPOSE);
    bytes.splice(HEAD..HEAD, signature);
    bytes
}

/// Returns the encoded plan of an envelope that this lake has signed. Checks the magic number and the length, then the
/// signature, and only then the version.
pub(super) fn open(lake: &Lake, bytes: &[u8]) -> Result<Vec<u8>, CodecError> {
    if bytes.len() < HEAD + SIGNATURE || !bytes.starts_with(MAGIC) {
        return Err(CodecError::Altered);
    }
    let (head, rest) = bytes.split_at(HEAD);
    let (signature, plan) = rest.split_at(SIGNATURE);
    let signed = [head, plan].concat();
    if !lake.has_signed(&signed, PURPOSE, signature) {
        return Err(CodecError::Altered);
    }
    match head[MAGIC.len()] {
        VERSION => Ok(plan.to_vec()),
        other => Err(CodecError::Version(other, VERSION)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_byte_that_is_altered_or_missing_is_noticed() {
        let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let [lake, other] = folders
            .each_ref()
            .map(|folder| Lake::open_or_create(folder.path()).unwrap());
        let sealed = seal(&lake, b"a plan");
        assert_eq!(open(&lake, &sealed).unwrap(), b"a plan");
        assert!(matches!(open(&other, &sealed), Err(CodecError::Altered)));
        for at in 0..sealed.len() {
            let mut altered = sealed.clone();
            altered[at] ^= 1;
            assert!(matches!(open(&lake, &altered), Err(CodecError::Altered)), "byte {at}");
            assert!(
                matches!(open(&lake, &sealed[..at]), Err(CodecError::Altered)),
                "{at} bytes"
            );
        }
        assert!(matches!(
            open(&lake, &[sealed.as_slice(), b"s"].concat()),
            Err(CodecError::Altered)
        ));
    }

    /// A later version of this program may have written the bytes. So their signature is valid, but this program does
    /// not know their version.
    #[test]
    fn another_version_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open_or_create(folder.path()).unwrap();
        let mut bytes = [MAGIC.as_slice(), &[VERSION + 1], b"a plan"].concat();
        let signature = lake.sign(&bytes, PURPOSE);
        bytes.splice(HEAD..HEAD, signature);
        assert!(matches!(open(&lake, &bytes), Err(CodecError::Version(2, VERSION))));
    }
}
