//! The text that the demo prints: addresses to open, and commands to paste.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

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

impl Guide<'_> {
    /// Returns the addresses and the login as JSON.
    pub(super) fn object(&self) -> Value {
        let Playground {
            sandbox,
            organization,
            user,
        } = &self.playground;
        json!({
            "fhir": format!("{}/fhir", self.base_url), "docs": format!("{}/docs", self.base_url), "console": self.console,
            "sampleApplication": format!("{sandbox}/app"), "organization": organization, "user": user,
            "password": PASSWORD, "data": absolute(self.data), "people": self.people, "patient": self.person,
        })
    }
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
        let Playground {
            sandbox,
            organization,
            user,
        } = playground;
        // The other terminal may be in another folder.
        let (program, data) = (program(), quoted(&absolute(data)));
        let curl = r#"curl -sS -H "Authorization: Bearer $TOKEN""#;
        writeln!(f, "{people} made-up people; nobody in the records is real.\n")?;
        writeln!(f, "  Sample application  {sandbox}/app")?;
        writeln!(
            f,
            "                      Choose {organization}, and log in as {user} with the password {PASSWORD}"
        )?;
        writeln!(
            f,
            "  All operations      {base_url}/docs (it asks for a token: run the export line below, and paste what echo $TOKEN prints)"
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

/// Returns the name with which the program was started, quoted for a shell. If it was started by a path, the path is
/// made absolute.
fn program() -> String {
    let name = std::env::args_os().next().map(PathBuf::from);
    let name = name.unwrap_or_else(|| PathBuf::from("tabularium"));
    // The shell looks a name without a folder up in PATH.
    if name.components().count() > 1 {
        quoted(&absolute(&name))
    } else {
        quoted(&name.display().to_string())
    }
}

/// Returns a path that is valid in every folder. If the current folder is unknown, returns the path as it is.
fn absolute(path: &Path) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute.display().to_string()
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
    fn a_path_is_valid_in_another_folder() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(absolute(Path::new("demo")), here.join("demo").display().to_string());
        assert_eq!(
            absolute(Path::new("./a/demo")),
            here.join("a/demo").display().to_string()
        );
        assert_eq!(absolute(Path::new("/srv/demo")), "/srv/demo");
    }

    #[test]
    fn programs_get_the_addresses() {
        let guide = Guide {
            base_url: "http://127.0.0.1:8080",
            data: Path::new("/srv/demo"),
            people: 50,
            person: "ann",
            playground: Playground {
                sandbox: "http://127.0.0.1:8081".to_owned(),
                organization: "Riverbend",
                user: "ann.smith".to_owned(),
            },
            console: "http://127.0.0.1:8080/console/sign-in".to_owned(),
        };
        let object = guide.object();
        assert_eq!(object["fhir"], "http://127.0.0.1:8080/fhir");
        assert_eq!(object["sampleApplication"], "http://127.0.0.1:8081/app");
        assert_eq!((&object["user"], &object["people"]), (&"ann.smith".into(), &50.into()));
    }

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
