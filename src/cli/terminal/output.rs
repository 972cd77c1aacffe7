//! Writes to standard output. If its reader stops, as in `tabularium info | head -3`, the program ends without a
//! message.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

/// Writes `text` and then `end`. If that fails, ends the process: with exit code 0 if the reader has closed the
/// output, and with 1 after other errors.
pub(in crate::cli) fn write(text: Arguments<'_>, end: &str) {
    let mut out = std::io::stdout().lock();
    let written = out.write_fmt(text).and_then(|()| out.write_all(end.as_bytes()));
    if let Err(error) = written.and_then(|()| out.flush()) {
        let code = if error.kind() == ErrorKind::BrokenPipe { 0 } else { 1 };
        std::process::exit(code);
    }
}
