//! The digest that identifies a receipt in the audit log.

use aws_lc_rs::digest::{SHA256, digest as hash};

/// Returns the digest that identifies a receipt in the audit log: `sha256:` and 64 hexadecimal digits.
pub fn receipt_digest(receipt: &str) -> String {
    format!(
        "sha256:{}",
        hexadecimal(hash(&SHA256, receipt.trim().as_bytes()).as_ref())
    )
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
