//! The text that the demo prints: addresses to open, and commands to paste.

use std::path::Path;

use super::playground::Playground;
use crate::sandbox::payer::PASSWORD;

/// The values in the demo's text. `Display` writes the text.
pub(super) struct Guide<'a> {
    pub(super) base_url: &'a str,
    pub(super) data: &'a Path,
    pub(super) people: u64,
    pub(super) person: &'a str,
    pub(super) playground: Playground,
    /// The address at which an operator signs in to the console.
    pub(super) console: String,
}

impl std::fmt::Display for Guide<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Guide {
            base_url,
            data,
            people,
            person,
            playground,
            console,
        } = self;
        let Playground { sandbox, user } = playground;
        let (program, data) = (program(), quoted(&data.display().to_string()));
        let curl = r#"curl -sS -H "Authorization: Bearer $TOKEN""#;
        writeln!(f, "{people} made-up people; nobody in the records is real.\n")?;
        writeln!(f, "  Sample application  {sandbox}/app")?;
        writeln!(f, "                      Log in as {user} with the password {PASSWORD}")?;
        writeln!(
            f,
            "  All operations      {base_url}/docs (to try them there: echo $TOKEN, see below)"
        )?;
        writeln!(f, "  Console             {console} (once, within ten minutes)\n")?;
        writeln!(
            f,
            "Paste into another terminal. $PATIENT_ID stays as it is: the service puts the token's patient there.\n"
        )?;
        writeln!(f, "  export TOKEN=$({program} token --data {data} --patient {person})")?;
        writeln!(f, "  {curl} '{base_url}/fhir/Patient/$PATIENT_ID?_pretty=true'")?;
        writeln!(
            f,
            "  {curl} '{base_url}/fhir/Observation?code=85354-9&_sort=-date&_count=2&_pretty=true'"
        )?;
        writeln!(
            f,
            "  {curl} '{base_url}/fhir/Patient/$PATIENT_ID/$summary?_pretty=true'"
        )?;
        writeln!(
            f,
            "  {program} run Patient --data {data} --column id --column born=birthDate --column \"city=address.city.first()\" --limit 5\n"
        )?;
        write!(f, "Serving at {base_url}/fhir (Ctrl-C stops)")
    }
}

/// Returns the name or path with which the program was started, quoted for a shell.
fn program() -> String {
    let name = std::env::args_os()
        .next()
        .map(|name| name.to_string_lossy().into_owned());
    quoted(&name.unwrap_or_else(|| "tabularium".to_owned()))
}

/// Quotes a word for a shell, if needed.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        // For a quote inside the word: end the quoted text, write the quote with a backslash, and begin a new quoted
        // text.
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        for (word, expected) in [
            ("a/b-c.d", "a/b-c.d"),
            ("my demo", "'my demo'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
