//! The code systems of R4 and of HL7 that are part of the program: codes, displays and hierarchy from
//! `schemas/code-systems.tsv`.

use std::sync::{Arc, LazyLock, OnceLock};

use rustc_hash::FxHashMap;

use super::error::TerminologyError;
use super::system::builder::Builder;
use super::system::code_system::{CodeSystem, Head};

/// One system of the table: its lines of text, and the code system that is built from them at its first use.
struct Entry {
    lines: &'static str,
    system: OnceLock<Option<Arc<CodeSystem>>>,
}

static TABLE: LazyLock<FxHashMap<&'static str, Entry>> = LazyLock::new(|| {
    let text = include_str!("../../schemas/code-systems.tsv");
    let mut table = FxHashMap::default();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest
            .match_indices('\n')
            .map(|(at, _)| at + 1)
            .find(|at| !rest[*at..].starts_with('\t'));
        let (lines, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        if let Some((url, _)) = lines.split_once('\t').filter(|_| !lines.starts_with('#')) {
            let system = OnceLock::new();
            table.insert(url, Entry { lines, system });
        }
    }
    table
});

/// Returns the system with this URL.
pub(super) fn code_system(url: &str) -> Option<Arc<CodeSystem>> {
    let entry = TABLE.get(url)?;
    let system = entry.system.get_or_init(|| build(entry.lines).ok().map(Arc::new));
    system.clone()
}

fn build(lines: &str) -> Result<CodeSystem, TerminologyError> {
    let mut lines = lines.lines();
    let mut columns = lines.next().unwrap_or_default().split('\t');
    let url = columns.next().unwrap_or_default();
    let version = columns.next().filter(|version| *version != "-").map(str::to_string);
    let flags = columns.next().unwrap_or_default();
    let mut builder = Builder::new(Head {
        case_sensitive: flags.starts_with('s'),
        subsuming: flags.ends_with('h'),
        ..Head::complete(url, version)
    });
    let mut above: Vec<u32> = Vec::new();
    for line in lines {
        let columns = line.trim_start_matches('\t');
        let depth = line.len() - columns.len();
        let (code, display) = columns.split_once('\t').unwrap_or((columns, "-"));
        let (place, _) = builder.concept(code)?;
        if display != "-" && !builder.has_display(place) {
            builder.display(place, display)?;
        }
        above.truncate(depth - 1);
        if let Some(parent) = above.last() {
            builder.join(*parent, place);
        }
        above.push(place);
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_system_of_the_table_can_be_built() {
        assert!(TABLE.len() > 1000);
        for url in TABLE.keys() {
            let system = code_system(url).unwrap();
            assert_eq!(system.url(), *url);
            assert!(!system.is_empty(), "{url}");
        }
        let marital = code_system("http://terminology.hl7.org/CodeSystem/v3-MaritalStatus").unwrap();
        assert_eq!(marital.display("M"), Some("Married"));
        assert_eq!(marital.contains("Z"), Some(false));
        assert_eq!(marital.subsumes("M", "C"), Some(true));
        assert_eq!(marital.subsumes("C", "M"), Some(false));
        assert!(code_system("http://loinc.org").is_none());
    }
}
