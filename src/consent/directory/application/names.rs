//! The names and ids that applications may have.

use rusqlite::Connection;

use crate::consent::error::Error;
use crate::fhir::hidden::is_hidden;

/// The maximum length of an application's name, in characters.
const LONGEST_NAME: usize = 200;
const LONGEST_ID: usize = 64;

/// Checks an application's name, which patients see. Returns it trimmed.
pub(super) fn checked_name(name: &str) -> Result<&str, Error> {
    let problem = match name.trim() {
        "" => "is empty",
        name if name.chars().count() > LONGEST_NAME => "is longer than 200 letters",
        name if name.chars().any(is_hidden) => "has control characters or invisible ones",
        name => return Ok(name),
    };
    Err(Error::Invalid {
        what: "the application's name".to_owned(),
        problem,
    })
}

pub(super) fn checked_id(id: &str) -> Result<&str, Error> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if !id.is_empty() && id.len() <= LONGEST_ID && id.bytes().all(plain) {
        return Ok(id);
    }
    Err(Error::Invalid {
        what: format!("the application's id {id:?}"),
        problem: "is not made of up to 64 letters a to z, digits, '-', '_' and '.'",
    })
}

/// Makes an unused id from the name.
pub(super) fn free_id(connection: &Connection, name: &str) -> Result<String, Error> {
    let mut id = String::new();
    for letter in name.chars().map(|letter| letter.to_ascii_lowercase()) {
        if letter.is_ascii_alphanumeric() {
            id.push(letter);
        } else if !id.is_empty() && !id.ends_with('-') {
            id.push('-');
        }
    }
    id.truncate(LONGEST_ID - 12);
    let id = id.trim_matches('-');
    let id = if id.is_empty() { "app" } else { id };
    let mut free = id.to_owned();
    let mut at = 1u64;
    while exists(connection, &free)? {
        at += 1;
        free = format!("{id}-{at}");
    }
    Ok(free)
}

pub(super) fn exists(connection: &Connection, id: &str) -> Result<bool, Error> {
    let sql = "SELECT EXISTS (SELECT 1 FROM application WHERE id = ?1)";
    Ok(connection.query_row(sql, [id], |row| row.get(0))?)
}
