//! What a file's name says of the version, where nothing in the file does.

/// A date of 8 digits or a year of 4 in the file's own name, or else in the name of the archive that holds it.
pub(super) fn version(name: &str) -> Option<String> {
    by_name(name, |digits| match digits.len() {
        8 => Some(digits.to_string()),
        4 if digits.starts_with("19") || digits.starts_with("20") => Some(digits.to_string()),
        _ => None,
    })
}

/// NUCC's version: 3 digits, of which the last counts the releases of a year.
pub(super) fn release(name: &str) -> Option<String> {
    by_name(name, |digits| match digits.len() {
        3 => Some(format!("{}.{}", &digits[..2], &digits[2..])),
        _ => None,
    })
}

fn by_name(name: &str, of: impl Fn(&str) -> Option<String>) -> Option<String> {
    let of_path = |path: &str| {
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        file.split(|c: char| !c.is_ascii_digit()).find_map(&of)
    };
    match name.split_once(": ") {
        Some((archive, entry)) => of_path(entry).or_else(|| of_path(archive)),
        None => of_path(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn years_and_dates_are_found() {
        for (name, expected) in [
            ("/a/2019/icd10cm_order_2025.txt", Some("2025")),
            ("RxNorm_full_01062025.zip: rrf/RXNCONSO.RRF", Some("01062025")),
            ("HCPC2025_JAN_ANWEB.txt", Some("2025")),
            ("icd10cm.txt", None),
        ] {
            assert_eq!(version(name).as_deref(), expected, "{name}");
        }
        assert_eq!(release("nucc_taxonomy_251.csv").as_deref(), Some("25.1"));
        assert_eq!(release("taxonomy.csv"), None);
    }
}
