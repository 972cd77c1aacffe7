//! The program's own mixes and views, in the form of a mix file.

/// The families. Each belongs to one of [`NAMES`].
pub(in crate::bench) const FAMILIES: &str = include_str!("builtin.json");

/// The mixes. `all` is all of them except `soak`.
pub(in crate::bench) const NAMES: [&str; 9] = [
    "read",
    "patient-search",
    "population",
    "includes",
    "paging",
    "everything",
    "views",
    "all",
    "soak",
];

/// The ViewDefinition of this name.
pub(in crate::bench) fn view(name: &str) -> Option<&'static str> {
    Some(match name {
        "patients" => include_str!("../../../benches/views/patients.view.json"),
        "observations" => include_str!("../../../benches/views/observations.view.json"),
        "blood_pressure" => include_str!("../../../benches/views/blood_pressure.view.json"),
        "eob_adjudication" => include_str!("../../../benches/views/eob_adjudication.view.json"),
        "condition_codings" => include_str!("../../../benches/views/condition_codings.view.json"),
        "encounter_participants" => include_str!("../../../benches/views/encounter_participants.view.json"),
        _ => return None,
    })
}
