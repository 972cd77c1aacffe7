//! Writes codes in the form that their system uses.
//!
//! It decides the form of a code, not whether the code exists. A code that does not fit the form of its system is
//! unchanged.

use std::borrow::Cow;
use std::cell::RefCell;

use super::memo::Memo;
use super::systems::{
    CDT, CPT, CVX, HCPCS, ICD_9_CM, ICD_10_CM, ICD_10_PCS, ISO_3166, ISO_3166_2, LOINC, NDC, NUCC, REVENUE,
    TYPE_OF_BILL, well_known,
};
use crate::normalize::codes::Codes;

/// Returns a code in the form that its system uses, without white space around it. A code that does not fit this form
/// is only trimmed. `system` may be any known spelling. For ICD-9-CM, the spelling decides the position of the dot.
pub fn canonical_code<'c>(system: &str, code: &'c str, codes: &dyn Codes) -> Cow<'c, str> {
    let code = trim(code);
    match form(system, code, codes) {
        Form::Right | Form::Unfit => Cow::Borrowed(code),
        Form::Written(code) => Cow::Owned(code),
    }
}

/// Returns a code without the white space around it, which R4 does not allow.
pub(super) fn trim(code: &str) -> &str {
    code.trim_matches([' ', '\t', '\n', '\r'])
}

/// How a code compares to the form that its system uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// The code already has the form of its system, or no form is known for the system.
    Right,
    /// The code in the form of its system.
    Written(String),
    /// The code does not fit the form of its system.
    Unfit,
}

/// Compares a code to the form of its system. `code` has no white space around it.
pub(super) fn form(system: &str, code: &str, codes: &dyn Codes) -> Form {
    thread_local! {
        static FORMS: RefCell<Memo<2, Form>> = RefCell::default();
    }
    match well_known(system) {
        None => Form::Right,
        // The form of an NDC depends on the terminology, which may change. So it is not cached.
        Some(NDC) => formed(system, code, codes),
        Some(_) => FORMS.with_borrow_mut(|forms| forms.get([system, code], || formed(system, code, codes))),
    }
}

fn formed(system: &str, code: &str, codes: &dyn Codes) -> Form {
    let written = match well_known(system) {
        Some(ICD_10_CM) => icd_10_cm(code),
        Some(ICD_10_PCS) => alphanumeric(code, 7..=7),
        Some(ICD_9_CM) => icd_9_cm(system, code),
        // A code with two letters or digits is a modifier.
        Some(CPT | HCPCS) => alphanumeric(code, 5..=5).or_else(|| alphanumeric(code, 2..=2)),
        Some(CDT) => alphanumeric(code, 5..=5).filter(|code| code.starts_with('D')),
        Some(NDC) => ndc(code, codes),
        Some(LOINC) => loinc(code),
        Some(CVX) => cvx(code),
        Some(NUCC) => alphanumeric(code, 10..=10),
        Some(REVENUE | TYPE_OF_BILL) => four(code),
        Some(ISO_3166) => alphanumeric(code, 2..=3),
        Some(ISO_3166_2) => (!code.is_empty()).then(|| code.to_ascii_uppercase()),
        _ => return Form::Right,
    };
    match written {
        None => Form::Unfit,
        Some(written) if written == code => Form::Right,
        Some(written) => Form::Written(written),
    }
}

/// Returns the code in upper case, if it consists of letters and digits and has a length in `length`.
fn alphanumeric(code: &str, length: std::ops::RangeInclusive<usize>) -> Option<String> {
    let fits = length.contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_alphanumeric());
    fits.then(|| code.to_ascii_uppercase())
}

/// Returns the code without its dot, in upper case. Returns `None` if the code has several dots, or a dot at another
/// position than after `before` characters. Also returns `None` if the code without the dot has other characters than
/// letters and digits, or more than eight characters.
fn undotted(code: &str, before: usize) -> Option<String> {
    match code.split_once('.') {
        None => alphanumeric(code, 1..=8),
        Some((head, tail)) if head.len() == before && !tail.is_empty() => alphanumeric(&format!("{head}{tail}"), 1..=8),
        Some(_) => None,
    }
}

/// Returns the code with a dot after `before` characters. Returns a code that is not longer than `before` unchanged.
fn dotted(code: &str, before: usize) -> String {
    let (head, tail) = code.split_at(before.min(code.len()));
    if tail.is_empty() {
        head.to_owned()
    } else {
        format!("{head}.{tail}")
    }
}

fn are_digits(code: &str) -> bool {
    !code.is_empty() && code.bytes().all(|byte| byte.is_ascii_digit())
}

/// Formats a code of ICD-10-CM: a letter, a digit, a letter or digit, and up to four more after the dot.
fn icd_10_cm(code: &str) -> Option<String> {
    let plain = undotted(code, 3)?;
    let bytes = plain.as_bytes();
    let fits = (3..=7).contains(&bytes.len()) && bytes[0].is_ascii_uppercase() && bytes[1].is_ascii_digit();
    fits.then(|| dotted(&plain, 3))
}

/// Formats a code of ICD-9-CM. A diagnosis has three characters before its dot, or four if it begins with `E`. A
/// procedure has two digits before its dot. Four digits without a dot may be a diagnosis or a procedure. Then `system`
/// decides, if its spelling means only one of them. If it does not, the code does not fit.
fn icd_9_cm(system: &str, code: &str) -> Option<String> {
    let is_dotted = code.contains('.');
    let is_procedure = [".6.104", "/procedure", "/ICD9"]
        .iter()
        .any(|tail| system.ends_with(tail));
    let is_diagnosis = [".6.103", "/diagnosis"].iter().any(|tail| system.ends_with(tail));
    let upper = code.to_ascii_uppercase();
    let before = match upper.as_bytes().first()? {
        b'E' => 4,
        b'V' => 3,
        _ if is_dotted => upper.find('.').filter(|at| matches!(at, 2 | 3))?,
        _ if is_procedure => 2,
        _ if is_diagnosis || upper.len() != 4 => 3,
        _ => return None,
    };
    let plain = undotted(&upper, before)?;
    let digits = plain.strip_prefix(['E', 'V']).unwrap_or(&plain);
    // A procedure with two digits has no dot.
    let fits = are_digits(digits) && (before.min(2)..=before + 2).contains(&plain.len());
    fits.then(|| dotted(&plain, before))
}

/// Formats an NDC with 11 digits: 5 of the labeler, 4 of the product, 2 of the package. A code of ten digits without
/// hyphens lacks the leading zero of one of the three parts. So it has three readings, and fits only if the terminology
/// knows exactly one of them.
fn ndc(code: &str, codes: &dyn Codes) -> Option<String> {
    let parts: Vec<&str> = code.split('-').collect();
    if !parts.iter().all(|part| are_digits(part)) {
        return None;
    }
    match parts[..] {
        [digits] if digits.len() == 11 => Some(digits.to_owned()),
        [digits] if digits.len() == 10 => {
            let readings = [(4, 4), (5, 3), (5, 4)].map(|(labeler, product)| {
                let (labeler, rest) = digits.split_at(labeler);
                let (product, package) = rest.split_at(product);
                padded(labeler, product, package)
            });
            let mut known = readings.into_iter().filter(|ndc| codes.knows_ndc(ndc));
            let first = known.next()?;
            known.next().is_none().then_some(first)
        }
        [labeler, product, package] => {
            let lengths = (labeler.len(), product.len(), package.len());
            matches!(lengths, (5, 4, 2) | (5, 3, 2) | (4, 4, 2) | (5, 4, 1)).then(|| padded(labeler, product, package))
        }
        _ => None,
    }
}

fn padded(labeler: &str, product: &str, package: &str) -> String {
    format!("{labeler:0>5}{product:0>4}{package:0>2}")
}

/// Formats a code of LOINC: digits, a hyphen and a check digit. Codes of parts and answers begin with letters.
fn loinc(code: &str) -> Option<String> {
    let upper = code.to_ascii_uppercase();
    let (head, check) = upper.split_once('-')?;
    let digits = head.trim_start_matches(|c: char| c.is_ascii_uppercase());
    (are_digits(digits) && check.len() == 1 && are_digits(check)).then_some(upper)
}

/// Formats a code of CVX with at least two digits: `8` becomes `08`, `0140` becomes `140`.
fn cvx(code: &str) -> Option<String> {
    let number = are_digits(code).then(|| code.trim_start_matches('0'))?;
    (1..=3).contains(&number.len()).then(|| format!("{number:0>2}"))
}

/// Formats a revenue code or a type of bill with four characters. The first is usually a zero.
fn four(code: &str) -> Option<String> {
    let upper = alphanumeric(code, 3..=4)?;
    are_digits(&upper[..2]).then(|| format!("{upper:0>4}"))
}

#[cfg(test)]
mod tests {
    use super::super::systems::*;
    use super::*;
    use crate::normalize::{Concept, NoCodes};

    struct Known(&'static [&'static str]);

    impl Codes for Known {
        fn display(&self, _: &str, _: &str) -> Option<Cow<'_, str>> {
            None
        }

        fn rxnorm(&self, _: &str) -> Option<Concept<'_>> {
            None
        }

        fn ingredients(&self, _: &str) -> Vec<String> {
            Vec::new()
        }

        fn knows_ndc(&self, ndc: &str) -> bool {
            self.0.contains(&ndc)
        }
    }

    #[test]
    fn codes_take_the_form_of_their_system() {
        for (system, code, expected) in [
            (ICD_10_CM, "e119", "E11.9"),
            (ICD_10_CM, " E11.9 ", "E11.9"),
            (ICD_10_CM, "I10", "I10"),
            (ICD_10_CM, "S72001A", "S72.001A"),
            (ICD_10_PCS, "4a023n7", "4A023N7"),
            (ICD_9_CM, "25000", "250.00"),
            (ICD_9_CM, "v270", "V27.0"),
            (ICD_9_CM, "E8490", "E849.0"),
            (ICD_9_CM, "401.9", "401.9"),
            (ICD_9_CM, "37.22", "37.22"),
            ("urn:oid:2.16.840.1.113883.6.103", "4019", "401.9"),
            ("http://www.cms.gov/Medicare/Coding/ICD9", "3722", "37.22"),
            (CPT, "0001u", "0001U"),
            (HCPCS, "g0008", "G0008"),
            (HCPCS, "rt", "RT"),
            (CDT, "d0120", "D0120"),
            (NDC, "0002-8215-01", "00002821501"),
            (NDC, "50242-040-62", "50242004062"),
            (NDC, "12345-6789-1", "12345678901"),
            (NDC, "00002-8215-01", "00002821501"),
            (NDC, "00002821501", "00002821501"),
            (LOINC, "la6576-8", "LA6576-8"),
            (CVX, "8", "08"),
            (CVX, "008", "08"),
            (CVX, "0140", "140"),
            (NUCC, "207q00000x", "207Q00000X"),
            (REVENUE, "450", "0450"),
            (TYPE_OF_BILL, "11a", "011A"),
            (ISO_3166, "us", "US"),
            ("https://payer.example/codes", " x ", "x"),
        ] {
            let found = canonical_code(system, code, &NoCodes);
            assert_eq!(found, expected, "{system} {code}");
            assert_eq!(
                canonical_code(system, &found, &NoCodes),
                expected,
                "twice: {system} {code}"
            );
        }
    }

    #[test]
    fn a_code_that_does_not_fit_stays() {
        for (system, code) in [
            (ICD_10_CM, "E1.19"),
            (ICD_10_CM, "119E"),
            (ICD_10_CM, "E11.9.1"),
            (ICD_10_CM, ""),
            (ICD_10_PCS, "4A02"),
            (ICD_9_CM, "4019"),
            (ICD_9_CM, "abc"),
            (CPT, "992"),
            (CDT, "12345"),
            (NDC, "1234567890"),
            (NDC, "0002-8215"),
            (NDC, "0002-82a5-01"),
            (LOINC, "8302"),
            (CVX, "abc"),
            (CVX, "000"),
            (NUCC, "207Q"),
            (REVENUE, "Dummy"),
            (REVENUE, "é50"),
        ] {
            assert_eq!(form(system, code, &NoCodes), Form::Unfit, "{system} {code}");
            assert_eq!(canonical_code(system, code, &NoCodes), code);
        }
    }

    #[test]
    fn ten_digits_are_read_where_one_reading_is_known() {
        let one = Known(&["00002821501"]);
        let two = Known(&["00002821501", "00028021501"]);
        assert_eq!(canonical_code(NDC, "0002821501", &one), "00002821501");
        assert_eq!(canonical_code(NDC, "0002821501", &two), "0002821501");
        assert_eq!(canonical_code(NDC, "9999999999", &one), "9999999999");
    }
}
