//! The `tabularium` program.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Otherwise a kilobyte in use may hold two megabytes of memory: the allocator asks for large pages. It makes
    // population searches 2 % faster, and a patient's first search takes twice the time.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    tabularium::cli::run()
}
