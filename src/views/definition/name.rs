//! Names of views, columns and constants.

/// Whether a name is valid. Names become columns of SQL tables. A valid name begins with a letter, has only letters,
/// digits and underscores, and is at most 255 bytes long.
pub(in crate::views) fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.len() <= 255
}

/// Returns the message for an invalid name.
pub(in crate::views) fn no_name(name: &str) -> String {
    format!("'{name}' is no name: it may have letters, digits and underscores, a letter first")
}
