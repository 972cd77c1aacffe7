//! Tells the program from which commit it was built, if that is known, and the tests whether there are shared records.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=TABULARIUM_COMMIT");
    println!("cargo:rerun-if-env-changed=TABULARIUM_SHARED");
    // Tests over the shared records are ignored without them, and the summary of `cargo test` says how many.
    println!("cargo:rustc-check-cfg=cfg(shared_records)");
    if std::env::var_os("TABULARIUM_SHARED").is_some_and(|folder| !folder.is_empty()) {
        println!("cargo:rustc-cfg=shared_records");
    }
    // Who packages a release may name its commit.
    let named = std::env::var("TABULARIUM_COMMIT")
        .ok()
        .filter(|named| !named.is_empty());
    // A build for development is not made anew with every commit, so that it would name an old one.
    let is_release = std::env::var("PROFILE").is_ok_and(|profile| profile == "release");
    let commit = named.or_else(|| is_release.then(of_git).flatten());
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let sound = commit.filter(|commit| commit.chars().all(|letter| letter.is_ascii_alphanumeric()));
    let version = sound.map_or(version.clone(), |commit| format!("{version} ({commit})"));
    println!("cargo:rustc-env=TABULARIUM_VERSION={version}");
}

/// The commit that is checked out in the package's own repository.
fn of_git() -> Option<String> {
    // A package that lies in the repository of something else is not built from that.
    let own = git(&["rev-parse", "--show-prefix"])?.is_empty();
    for file in ["HEAD", "logs/HEAD"] {
        let path = git(&["rev-parse", "--git-path", file])?;
        // A file that is not there would make every build a new one.
        if Path::new(&path).exists() {
            println!("cargo:rerun-if-changed={path}");
        }
    }
    git(&["rev-parse", "--short=12", "HEAD"]).filter(|_| own)
}

fn git(arguments: &[&str]) -> Option<String> {
    let folder = std::env::var_os("CARGO_MANIFEST_DIR")?;
    let output = Command::new("git").current_dir(folder).args(arguments).output().ok()?;
    let text = output.status.success().then_some(output.stdout)?;
    Some(String::from_utf8(text).ok()?.trim().to_owned())
}
