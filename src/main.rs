//! The `tabularium` program.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // The allocator asks for pages of 2 MiB. A page stays in memory for a single small value in it, and a server took
    // up to twice the memory. Small pages cost population searches 2 %. Child processes inherit the setting.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
    tabularium::cli::run()
}
