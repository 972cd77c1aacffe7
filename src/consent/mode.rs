//! The mode of a row, as the store spells it.

use crate::lake::Mode;

/// The schema admits only two spellings.
pub(super) fn mode_of(text: &str) -> Mode {
    if text == Mode::Live.schema() {
        Mode::Live
    } else {
        Mode::Test
    }
}
