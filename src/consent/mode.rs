//! The mode of a row as the store spells it.

use crate::lake::Mode;

/// Converts the store's text into a mode. A CHECK constraint allows only the names of the two modes.
pub(super) fn mode_of(text: &str) -> Mode {
    if text == Mode::Live.schema() {
        Mode::Live
    } else {
        Mode::Test
    }
}
