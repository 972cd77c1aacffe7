//! Recognizes the publisher's layout of a file by its first lines.

use crate::published::{columns, decode};

/// A publisher's layout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Layout {
    Icd10Cm,
    Icd10Pcs,
    Hcpcs,
    Cvx,
    CvxXml,
    Mvx,
    MvxXml,
    DrugProducts,
    DrugPackages,
    RxnormConcepts,
    RxnormAttributes,
    RxnormRelations,
    Loinc,
    SnomedConcepts,
    SnomedDescriptions,
    SnomedRelations,
    Nucc,
    PlaceOfService,
    FhirJson,
    FhirLines,
    FhirPackage,
}

/// The list of known layouts, for the error about a file that has none of them.
pub(super) const LOOKED_FOR: &str = "ICD-10-CM and ICD-10-PCS order files, the HCPCS annual file, CDC's CVX and MVX tables, FDA's NDC \
     product and package files, RxNorm RRF (RXNCONSO, RXNSAT, RXNREL), LOINC CSV, SNOMED CT RF2, NUCC CSV, CMS's place-of-service \
     table, FHIR CodeSystems, ValueSets, Bundles and packages, and ZIP archives of these";

/// The maximum number of lines that CMS's notice above the HCPCS records may have.
const MAX_NOTICE: usize = 20;

impl Layout {
    /// Returns what a file with this layout contains, for messages.
    pub(super) fn what(self) -> &'static str {
        match self {
            Layout::Icd10Cm => "ICD-10-CM",
            Layout::Icd10Pcs => "ICD-10-PCS",
            Layout::Hcpcs => "HCPCS",
            Layout::Cvx | Layout::CvxXml => "CVX",
            Layout::Mvx | Layout::MvxXml => "MVX",
            Layout::DrugProducts => "FDA's NDC products",
            Layout::DrugPackages => "FDA's NDC packages",
            Layout::RxnormConcepts => "RxNorm's concepts (RXNCONSO)",
            Layout::RxnormAttributes => "RxNorm's attributes (RXNSAT)",
            Layout::RxnormRelations => "RxNorm's relations (RXNREL)",
            Layout::Loinc => "LOINC",
            Layout::SnomedConcepts => "SNOMED CT's concepts",
            Layout::SnomedDescriptions => "SNOMED CT's descriptions",
            Layout::SnomedRelations => "SNOMED CT's relations",
            Layout::Nucc => "NUCC's taxonomy",
            Layout::PlaceOfService => "CMS's places of service",
            Layout::FhirJson | Layout::FhirLines | Layout::FhirPackage => "FHIR resources",
        }
    }

    /// Whether the layout is one of FHIR's. One command may have several files of such a layout.
    pub(super) fn is_fhir(self) -> bool {
        matches!(self, Layout::FhirJson | Layout::FhirLines | Layout::FhirPackage)
    }
}

/// Recognizes the layout of a file that begins with `head`. `whole` says whether `head` is the whole file.
pub(super) fn recognise(head: &[u8], whole: bool) -> Option<Layout> {
    if head.starts_with(&[0x1f, 0x8b]) {
        return Some(Layout::FhirPackage);
    }
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let end = if whole {
        head.len()
    } else {
        // The last line may be cut off, so it is left out.
        head.iter().rposition(|byte| *byte == b'\n').unwrap_or(head.len())
    };
    let text = decode(&head[..end]);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let first = lines.first()?.trim();
    if first.starts_with('{') {
        return json(first, &text);
    }
    if first.starts_with('<') {
        return xml(&text);
    }
    headed(&lines).or_else(|| delimited(&lines)).or_else(|| fixed(&lines))
}

fn json(first: &str, text: &str) -> Option<Layout> {
    if !text.contains("\"resourceType\"") {
        return None;
    }
    match serde_json::from_str::<serde::de::IgnoredAny>(first) {
        Ok(_) => Some(Layout::FhirLines),
        Err(_) => Some(Layout::FhirJson),
    }
}

fn xml(text: &str) -> Option<Layout> {
    let text = text.to_ascii_lowercase();
    if text.contains("<cvxcodes") {
        return Some(Layout::CvxXml);
    }
    (text.contains("<mvxcodes") || text.contains("<mvxinfo")).then_some(Layout::MvxXml)
}

/// Recognizes files with a line that names the columns.
fn headed(lines: &[&str]) -> Option<Layout> {
    let first = lines.first()?.trim();
    let tabs: Vec<String> = first.split('\t').map(|name| name.trim().to_ascii_uppercase()).collect();
    let has = |name: &str| tabs.iter().any(|known| known == name);
    if has("PRODUCTNDC") && has("NDCPACKAGECODE") {
        return Some(Layout::DrugPackages);
    }
    if has("PRODUCTNDC") && has("PROPRIETARYNAME") {
        return Some(Layout::DrugProducts);
    }
    if has("ID") && has("EFFECTIVETIME") && has("ACTIVE") {
        if has("DEFINITIONSTATUSID") {
            return Some(Layout::SnomedConcepts);
        }
        if has("CONCEPTID") && has("LANGUAGECODE") && has("TERM") {
            return Some(Layout::SnomedDescriptions);
        }
        return (has("SOURCEID") && has("DESTINATIONID")).then_some(Layout::SnomedRelations);
    }
    let plain = first.replace('"', "").to_ascii_uppercase();
    // Files with translations of LOINC have LOINC_NUM and LONG_COMMON_NAME, too, but no status. So the status is
    // required here.
    if plain.starts_with("LOINC_NUM,") && plain.contains(",LONG_COMMON_NAME") && plain.contains(",STATUS") {
        return Some(Layout::Loinc);
    }
    if plain.starts_with("CODE,GROUPING,CLASSIFICATION,SPECIALIZATION") {
        return Some(Layout::Nucc);
    }
    // CMS's table of places of service has a title above its header. So look for the header in several lines.
    let is_places = |line: &&&str| {
        let line = line.to_ascii_lowercase();
        line.contains("place of service code") && line.contains("place of service name")
    };
    lines.iter().take(20).find(is_places).map(|_| Layout::PlaceOfService)
}

/// A check whether the fields of a line fit a layout.
type Fits = fn(&[&str]) -> bool;

/// Recognizes files of separated fields without a header.
fn delimited(lines: &[&str]) -> Option<Layout> {
    let all = |fits: Fits, separator: char| {
        lines
            .iter()
            .all(|line| fits(&line.split(separator).map(str::trim).collect::<Vec<_>>()))
    };
    let layouts: [(Layout, Fits); 5] = [
        (Layout::RxnormConcepts, is_rxnorm_concept),
        (Layout::RxnormAttributes, is_rxnorm_attribute),
        (Layout::RxnormRelations, is_rxnorm_relation),
        (Layout::Cvx, is_vaccine),
        (Layout::Mvx, is_manufacturer),
    ];
    let found = layouts.iter().find(|(_, fits)| all(*fits, '|'));
    let found = found.or_else(|| layouts[3..].iter().find(|(_, fits)| all(*fits, '\t')));
    found.map(|(layout, _)| *layout)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether the fields are those of RXNCONSO. RRF has a bar after each field, so the split of a line yields 18 fields
/// and an empty one.
fn is_rxnorm_concept(fields: &[&str]) -> bool {
    fields.len() == 19
        && is_number(fields[0])
        && fields[1].len() == 3
        && !fields[11].is_empty()
        && !fields[12].is_empty()
}

fn is_rxnorm_attribute(fields: &[&str]) -> bool {
    fields.len() == 14
        && (fields[0].is_empty() || is_number(fields[0]))
        && !fields[8].is_empty()
        && !fields[9].is_empty()
}

fn is_rxnorm_relation(fields: &[&str]) -> bool {
    let of_kind = |kind: &str| matches!(kind, "AUI" | "CUI" | "CODE" | "SCUI" | "SDUI");
    fields.len() == 17 && of_kind(fields[2]) && of_kind(fields[6])
}

fn is_date(text: &str) -> bool {
    let parts: Vec<&str> = text.split(['/', '-']).collect();
    parts.len() == 3 && parts.iter().all(|part| is_number(part))
}

/// Whether the fields are those of CVX: code, short description, full name, notes, status, whether it is no vaccine,
/// date.
fn is_vaccine(fields: &[&str]) -> bool {
    let flag = |text: &str| text.eq_ignore_ascii_case("true") || text.eq_ignore_ascii_case("false");
    (7..=8).contains(&fields.len())
        && is_number(fields[0])
        && fields[0].len() <= 3
        && flag(fields[5])
        && is_date(fields[6])
}

/// Whether the fields are those of MVX: code, name, notes, status, date.
fn is_manufacturer(fields: &[&str]) -> bool {
    let code = fields[0];
    let named = (2..=4).contains(&code.len())
        && code
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
    (5..=6).contains(&fields.len()) && named && fields[3].to_ascii_lowercase().contains("active") && is_date(fields[4])
}

/// Recognizes files whose fields are at fixed positions in each line.
fn fixed(lines: &[&str]) -> Option<Layout> {
    if lines.iter().all(|line| is_order(line)) {
        return Some(if lines.iter().any(|line| is_pcs(line)) || only_pcs_lengths(lines) {
            Layout::Icd10Pcs
        } else {
            Layout::Icd10Cm
        });
    }
    // CMS puts a notice above the records, so skip it.
    let notice = lines.iter().take_while(|line| !is_hcpcs(line)).count();
    let records = &lines[notice..];
    let fits = notice <= MAX_NOTICE && !records.is_empty() && records.iter().all(|line| is_hcpcs(line));
    fits.then_some(Layout::Hcpcs)
}

/// Whether a line has the form of an ICD-10 order file: an order number of 5 digits, the code from column 7, 0 for a
/// header or 1 in column 15, titles from column 17.
pub(super) fn is_order(line: &str) -> bool {
    let bytes = line.as_bytes();
    bytes.len() > 16
        && bytes[..5].iter().all(u8::is_ascii_digit)
        && [5, 13, 15].iter().all(|at| bytes[*at] == b' ')
        && matches!(bytes[14], b'0' | b'1')
        && (3..=7).contains(&columns(line, 6, 13).len())
        && columns(line, 6, 13)
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit())
}

/// Whether the code in a line is certainly one of ICD-10-PCS. All codes of ICD-10-CM begin with a letter and a digit,
/// so a code with another beginning is not one of them.
fn is_pcs(line: &str) -> bool {
    let code = columns(line, 6, 13).as_bytes();
    code[0].is_ascii_digit() || code[1].is_ascii_uppercase()
}

/// Whether all codes have the lengths of ICD-10-PCS: 3 characters for a header, 7 for any other code.
fn only_pcs_lengths(lines: &[&str]) -> bool {
    lines.iter().all(|line| match line.as_bytes()[14] {
        b'0' => columns(line, 6, 13).len() == 3,
        _ => columns(line, 6, 13).len() == 7,
    })
}

/// Whether a line is a record of the HCPCS file: the code, or a modifier after 3 spaces; a sequence of 5 digits; the
/// kind of record in column 11.
pub(super) fn is_hcpcs(line: &str) -> bool {
    let bytes = line.as_bytes();
    if bytes.len() < 12 || !bytes[..11].is_ascii() {
        return false;
    }
    let code = columns(line, 0, 5);
    let procedure = code.len() == 5 && code.as_bytes()[1..4].iter().all(u8::is_ascii_digit);
    let modifier = line.starts_with("   ") && code.len() == 2;
    let fits = match bytes[10] {
        b'3' | b'4' => procedure,
        b'7' | b'8' => modifier,
        _ => false,
    };
    fits && code.bytes().all(|byte| byte.is_ascii_alphanumeric()) && bytes[5..10].iter().all(u8::is_ascii_digit)
}
