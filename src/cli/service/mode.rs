//! The option `--mode`.

use clap::ValueEnum;

use crate::lake;

/// The mode of the records that a command works on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Mode {
    /// Real records
    #[default]
    Live,
    /// Sample records
    Test,
}

impl From<Mode> for lake::Mode {
    fn from(mode: Mode) -> lake::Mode {
        match mode {
            Mode::Live => lake::Mode::Live,
            Mode::Test => lake::Mode::Test,
        }
    }
}
