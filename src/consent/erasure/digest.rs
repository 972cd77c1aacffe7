//! The digest that identifies a receipt in the audit log.

use aws_lc_rs::digest::{SHA256, digest as hash};

/// The digest that identifies a receipt in the audit log.
pub fn receipt_digest(receipt: &str) -> String {
    format!(
        "sha256:{}",
        hexadecimal(hash(&SHA256, receipt.trim().as_bytes()).as_ref())
    )
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
