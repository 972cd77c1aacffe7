//! `tabularium read-attachments`: the process that reads attachments for `$pdf` and `tabularium pdf`. The program
//! starts itself with this argument. It is no command for people, so it is not among the commands of the help.

use std::process::ExitCode;

use crate::confined;
use crate::patient::pdf::apart;

/// Does the work if the program was started for it. Otherwise returns `None`.
///
/// Call this before anything else, so that the process has nothing to give up: no configuration and no key of a lake.
pub(in crate::cli) fn run_if_asked() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next()? != apart::COMMAND || arguments.next().is_some() {
        return None;
    }
    apart::serve(confined::enter());
    Some(ExitCode::SUCCESS)
}
