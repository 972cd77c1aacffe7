//! Names of views, columns and constants.

/// Names become columns of SQL tables. They have letters, digits and underscores, and begin with a letter.
pub(in crate::views) fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.len() <= 255
}

/// The message for an invalid name.
pub(in crate::views) fn no_name(name: &str) -> String {
    format!("'{name}' is no name: it may have letters, digits and underscores, a letter first")
}
