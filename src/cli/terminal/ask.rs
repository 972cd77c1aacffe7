//! Questions before actions that cannot be undone.

use std::io::IsTerminal;

use super::columns::plain;
use super::failure::Failure;

/// Asks the user on the terminal to type `yes`. Fails on any other answer. Without a terminal it fails, too, and the
/// message suggests `--yes`. `what` completes the message "nothing was ...".
pub(in crate::cli) fn confirm(what: &str, question: &str) -> Result<(), Failure> {
    if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() {
        return Err(Failure::input(format!(
            "nothing was {what}: add --yes, since nobody can be asked here"
        )));
    }
    eprint!("{} Type yes: ", plain(question));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(Failure::other)?;
    match answer.trim() {
        "yes" => Ok(()),
        _ => Err(Failure::input(format!("nothing was {what}"))),
    }
}
