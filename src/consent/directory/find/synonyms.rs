//! Synonyms: words that have the same meaning for the search.

/// Groups of synonyms.
const GROUPS: &[&[&str]] = &[
    &["saint", "st"],
    &["mount", "mt"],
    &["fort", "ft"],
    &["center", "centre", "centro", "ctr"],
    &["hospital", "hosp", "infirmary"],
    &["medical", "medico", "med"],
    &["medicine", "medicina"],
    &["university", "universidad", "univ"],
    &["doctor", "doctors", "dr", "physician", "physicians"],
    &["clinic", "clinica", "practice"],
    &["pharmacy", "pharmacies", "farmacia", "drugstore", "rx"],
    &["laboratory", "laboratories", "laboratorio", "lab", "labs"],
    &["plan", "insurance", "insurer", "seguro", "seguros", "aseguradora"],
    &["health", "healthcare", "salud"],
    &["children", "childrens", "kids", "pediatric", "pediatrics"],
    &["women", "womens"],
    &["orthopedic", "orthopaedic", "orthopedics", "orthopaedics", "ortho"],
    &["eye", "vision", "ophthalmology"],
    &["heart", "cardiology", "cardiac"],
    &["dental", "dentist", "dentistry"],
    &["veterans", "va"],
];

/// Abbreviations and their full forms.
const WRITTEN_OUT: &[(&str, &str)] = &[("bcbs", "blue cross blue shield"), ("uhc", "united healthcare")];

/// The words that patients use for organizations of a type.
const KINDS: &[(&str, &str)] = &[
    ("PAYER", "health plan insurance insurer payer seguro"),
    ("PROVIDER", "clinic hospital doctor doctors provider clinica"),
    ("PHARMACY", "pharmacy drugstore farmacia"),
    ("LAB", "lab laboratory laboratorio"),
];

/// Words of insurance cards that few names of health plans have. A patient who types one of them means a health plan.
const OF_PLANS: &[&str] = &["hmo", "ppo", "epo", "medicare", "medicaid", "member", "subscriber"];
/// A word by which the index finds all health plans.
const PLAN: &str = "insurer";

/// Returns another word that a typed word may mean. Unlike synonyms, it is not in the index, so that misspelt words
/// such as "medical" do not match it.
pub(super) fn meant_by(word: &str) -> Option<&'static str> {
    OF_PLANS.contains(&word).then_some(PLAN)
}

/// Returns the synonyms of a word, and the words of its full form if it is an abbreviation.
pub(super) fn others(word: &str) -> impl Iterator<Item = &'static str> {
    let groups = GROUPS.iter().filter(|group| group.contains(&word));
    let alike: Vec<&'static str> = groups.flat_map(|group| group.iter().copied()).collect();
    let out = WRITTEN_OUT.iter().filter(|(short, _)| *short == word);
    let out = out.flat_map(|(_, long)| long.split(' '));
    let all: Vec<&'static str> = alike.into_iter().filter(|other| *other != word).chain(out).collect();
    all.into_iter()
}

/// Returns the words that patients use for organizations of this type.
pub(super) fn of_kind(organization_type: &str) -> impl Iterator<Item = &'static str> {
    let known = KINDS
        .iter()
        .filter(move |(kind, _)| organization_type.eq_ignore_ascii_case(kind));
    known.flat_map(|(_, words)| words.split(' '))
}
