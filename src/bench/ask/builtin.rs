//! The program's own mixes and views, in the form of a mix file.

/// The built-in families (groups of queries that are timed together), in the format of a mix file. Each family states
/// its mix, which is one of [`NAMES`].
pub(in crate::bench) const FAMILIES: &str = include_str!("builtin.json");

/// The names of the program's mixes. `all` has the families of all others except `soak`.
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

/// Returns the ViewDefinition with this name. `None` if the program has no such view.
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
