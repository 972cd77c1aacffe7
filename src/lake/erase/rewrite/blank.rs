//! Blank rows. A blank row takes the place of an erased row. It has a neighbour's system columns and an id that no
//! resource can have.

/// What a blank row has in a column.
#[derive(Clone, Copy)]
pub(super) enum Blank {
    Null,
    /// The value of the neighbour: the last row before it that is not blank.
    Neighbour,
    /// A text made from the text of the neighbour.
    Made(fn(&str) -> String),
    /// The same text in each blank row.
    Always(&'static str),
}

/// Returns what a blank row has in the top-level column of this name. Some of the columns copied from the neighbour
/// must not be null, some decide which scopes show a row, and the catalog has bounds for some.
pub(super) fn blank(column: &str) -> Blank {
    match column {
        // This id sorts right after the id of the neighbour.
        "id" => Blank::Made(|id| format!("{id}!")),
        "resource" => Blank::Always("{}"),
        "owner" | "patient" | "application" | "authorization" | "endpoint" | "version" | "last_updated" | "digest" => {
            Blank::Neighbour
        }
        _ => Blank::Null,
    }
}
