//! Standard output with a reader that may stop: `tabularium info | head -3` ends quietly.

use std::fmt::Arguments;
use std::io::{ErrorKind, Write};

/// Writes a text and its end. If the output is closed, the program ends.
pub(in crate::cli) fn write(text: Arguments<'_>, end: &str) {
    let mut out = std::io::stdout().lock();
    let written = out.write_fmt(text).and_then(|()| out.write_all(end.as_bytes()));
    if let Err(error) = written.and_then(|()| out.flush()) {
        let code = if error.kind() == ErrorKind::BrokenPipe { 0 } else { 1 };
        std::process::exit(code);
    }
}
