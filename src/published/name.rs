//! Finds the version in a file's name, for files whose content does not state it.

/// Returns a date of 8 digits or a year of 4 digits from the file's own name, or else from the name of the archive
/// that contains it.
pub(crate) fn version(name: &str) -> Option<String> {
    by_name(name, |digits| match digits.len() {
        8 => Some(digits.to_string()),
        4 if digits.starts_with("19") || digits.starts_with("20") => Some(digits.to_string()),
        _ => None,
    })
}

/// Returns a year from 2000 to 2099: 4 digits, or the first 4 of 6 or 8 digits.
pub(crate) fn year(name: &str) -> Option<i32> {
    let of = |digits: &str| {
        let year: i32 = digits.get(..4)?.parse().ok()?;
        let known = matches!(digits.len(), 4 | 6 | 8) && (2000..2100).contains(&year);
        known.then(|| year.to_string())
    };
    by_name(name, of)?.parse().ok()
}

/// Returns NUCC's version, such as `25.1` for the digits `251`: the year, and the number of the release in the year.
pub(crate) fn release(name: &str) -> Option<String> {
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
    // In `name`, the file comes last. Before it come the archive, and the archive inside that archive if there is one.
    // So look in the file's own name first.
    name.rsplit(": ").find_map(of_path)
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
        for (name, expected) in [
            ("a/2023LandscapeSource file MA_AtoM 10142022.csv", Some(2023)),
            ("cy2026-landscape-202603.zip: CY2026_Landscape_202603.csv", Some(2026)),
            ("CPSC_Contract_Info_2025_01.csv", Some(2025)),
            ("b/2024.zip: inner 3.zip: plans.csv", Some(2024)),
            ("plans_10142022.csv", None),
            ("plans.csv", None),
        ] {
            assert_eq!(year(name), expected, "{name}");
        }
    }
}
