//! How commands print: whether notices are wanted, and whether text is coloured. The crate `anstream` decides about
//! colours, and respects `NO_COLOR` and `CLICOLOR`.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use clap::builder::Styles;
use indicatif::{ProgressBar, ProgressDrawTarget};

pub(in crate::cli) const HEADING: Style = AnsiColor::Green.on_default().bold();
pub(in crate::cli) const NAME: Style = AnsiColor::Cyan.on_default().bold();
pub(in crate::cli) const ERROR: Style = AnsiColor::Red.on_default().bold();
pub(in crate::cli) const WARNING: Style = AnsiColor::Yellow.on_default().bold();

/// The style of help and of clap's own errors.
pub(in crate::cli) const HELP: Styles = Styles::styled()
    .header(HEADING)
    .usage(HEADING)
    .literal(NAME)
    .placeholder(AnsiColor::Cyan.on_default())
    .error(ERROR)
    .valid(AnsiColor::Green.on_default())
    .invalid(WARNING);

static QUIET: AtomicBool = AtomicBool::new(false);

/// Makes the program print only results, warnings and errors from now on.
pub(in crate::cli) fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Whether the program prints only results, warnings and errors.
pub(in crate::cli) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Prints a note on standard output, such as where a command has written its result. Prints nothing if the program is
/// quiet.
pub(in crate::cli) fn notice(text: &str) {
    if !is_quiet() {
        println!("{text}");
    }
}

/// Whether standard error is a terminal and the program is not quiet.
pub(in crate::cli) fn is_watched() -> bool {
    !is_quiet() && std::io::stderr().is_terminal()
}

/// Returns the bar or spinner, which is hidden if the program is quiet.
pub(in crate::cli) fn quietly(bar: ProgressBar) -> ProgressBar {
    if is_quiet() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar
}

/// Adds the style to a text if standard output shows styles.
pub(in crate::cli) fn on_output(style: Style, text: &str) -> String {
    styled(AutoStream::choice(&std::io::stdout()), style, text)
}

/// Adds the style to a text if standard error shows styles.
pub(in crate::cli) fn on_error(style: Style, text: &str) -> String {
    styled(AutoStream::choice(&std::io::stderr()), style, text)
}

fn styled(choice: ColorChoice, style: Style, text: &str) -> String {
    match choice {
        ColorChoice::Never => text.to_owned(),
        _ => format!("{style}{text}{style:#}"),
    }
}

/// Returns the width of the terminal in characters. Without a terminal, returns 100, the maximum width of help.
pub(in crate::cli) fn width() -> usize {
    let terminal = terminal_size::terminal_size().map(|(terminal_size::Width(width), _)| usize::from(width));
    terminal.filter(|width| *width > 0).unwrap_or(100)
}
