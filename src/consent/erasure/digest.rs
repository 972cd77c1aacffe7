//! The digest by which the audit log knows a receipt.

use aws_lc_rs::digest::{SHA256, digest as hash};

/// The digest by which the audit log knows a receipt.
pub fn receipt_digest(receipt: &str) -> String {
    format!(
        "sha256:{}",
        hexadecimal(hash(&SHA256, receipt.trim().as_bytes()).as_ref())
    )
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
