//! National Drug Codes: their form of 11 digits, and their concepts.

/// Returns the 11 digits of an NDC. The code has 11 digits without hyphens, or three hyphenated parts: labeler, product
/// and package. A short part is padded with zeros. Ten digits without hyphens can be read in several ways, so they are
/// refused.
pub fn eleven_digits(code: &str) -> Option<String> {
    let code = code.trim();
    if !code.contains('-') {
        return (code.len() == 11 && is_digits(code)).then(|| code.to_string());
    }
    let mut parts = code.split('-');
    let (labeler, product, package) = (parts.next()?, parts.next()?, parts.next()?);
    // Only one part may be short: 4-4-2, 5-3-2 or 5-4-1 digits.
    let is_whole = labeler.len() + product.len() + package.len() >= 10;
    let fits = is_whole && parts.next().is_none() && (1..=2).contains(&package.len()) && is_digits(package);
    let nine = nine_digits(labeler, product).filter(|_| fits)?;
    Some(format!("{nine}{package:0>2}"))
}

/// Returns the 9 digits of a product, from the labeler and product of an NDC in two hyphenated parts.
pub(in crate::terminology) fn product_digits(code: &str) -> Option<String> {
    let (labeler, product) = code.trim().split_once('-')?;
    nine_digits(labeler, product)
}

fn nine_digits(labeler: &str, product: &str) -> Option<String> {
    let fits = (4..=5).contains(&labeler.len()) && (3..=4).contains(&product.len());
    let fits = fits && labeler.len() + product.len() >= 8;
    (fits && is_digits(labeler) && is_digits(product)).then(|| format!("{labeler:0>5}{product:0>4}"))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A table with the index of each NDC's concept. It takes 12 bytes for each NDC.
#[derive(Debug, Default)]
pub(in crate::terminology) struct Ndcs {
    codes: Vec<u64>,
    places: Vec<u32>,
}

impl Ndcs {
    /// Creates the table from pairs of an NDC as a number and the index of its concept. If one NDC has several
    /// concepts, the lowest index counts.
    pub(in crate::terminology) fn new(mut pairs: Vec<(u64, u32)>) -> Ndcs {
        pairs.sort_unstable();
        pairs.dedup_by_key(|(code, _)| *code);
        Ndcs {
            codes: pairs.iter().map(|(code, _)| *code).collect(),
            places: pairs.iter().map(|(_, place)| *place).collect(),
        }
    }

    /// Returns the index of an NDC's concept.
    pub(in crate::terminology) fn place(&self, ndc: &str) -> Option<u32> {
        let number = number(ndc)?;
        let at = self.codes.binary_search(&number).ok()?;
        Some(self.places[at])
    }

    /// Returns each NDC with the index of its concept.
    pub(in crate::terminology) fn pairs(&self) -> impl Iterator<Item = (u64, u32)> {
        self.codes.iter().copied().zip(self.places.iter().copied())
    }

    pub(in crate::terminology) fn len(&self) -> usize {
        self.codes.len()
    }

    pub(in crate::terminology) fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    pub(in crate::terminology) fn size(&self) -> usize {
        self.codes.capacity() * 8 + self.places.capacity() * 4
    }
}

/// Returns an NDC of 11 digits as a number. `None` for any other text.
pub(in crate::terminology) fn number(ndc: &str) -> Option<u64> {
    ndc.parse().ok().filter(|_| ndc.len() == 11 && is_digits(ndc))
}

/// Returns a number as an NDC of 11 digits.
pub(in crate::terminology) fn text(number: u64) -> String {
    format!("{number:011}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphenated_codes_are_padded_where_they_are_short() {
        for (code, expected) in [
            ("0002-1433-80", Some("00002143380")),
            ("50242-040-62", Some("50242004062")),
            ("60575-4112-1", Some("60575411201")),
            ("00002-1433-80", Some("00002143380")),
            ("00002143380", Some("00002143380")),
            ("0002143380", None),
            ("0002-1433", None),
            ("a002-1433-80", None),
            ("0002-1433-80-1", None),
            ("0002-143-80", None),
            ("0002-1433-8", None),
            ("50242-040-6", None),
            ("", None),
        ] {
            assert_eq!(eleven_digits(code).as_deref(), expected, "{code}");
        }
        assert_eq!(product_digits("0002-1433").as_deref(), Some("000021433"));
        assert_eq!(product_digits("00021433"), None);
        assert_eq!(product_digits("0002-143"), None);
    }

    #[test]
    fn the_first_of_several_concepts_counts() {
        let ndcs = Ndcs::new(vec![(7, 3), (5, 9), (7, 2)]);
        assert_eq!(ndcs.place("00000000007"), Some(2));
        assert_eq!(ndcs.place("00000000005"), Some(9));
        assert_eq!(ndcs.place("00000000006"), None);
        assert_eq!(ndcs.place("7"), None);
    }
}
