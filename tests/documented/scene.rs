//! The folder that a page's lines are run in, and the servers that they start.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::LazyLock;

use regex::Regex;
use tempfile::TempDir;

use super::compared::{Form, agree};
use super::page::{Step, blocks};
use super::pages::{BEFORE_LINES, BEFORE_PAGES, IN_ORDER_OF_LAKE, WITHOUT_LAKE};
use crate::harness::command::{PROGRAM, done};

const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");
/// The person of the examples.
const PERSON: &str = "581437f2-956a-4c84-89ec-ba264551683a";
/// The server and the sandbox as the pages name them.
const HOSTS: [&str; 2] = ["127.0.0.1:8080", "127.0.0.1:8081"];
/// The folder of the example in docs/operations.md.
const SRV: &str = "/srv/records";
/// Programs that some machines lack. A line that needs a missing one is skipped, except under `CI=true`.
const OTHERS: [&str; 4] = ["curl", "jq", "openssl", "pdfinfo"];

/// An assignment to a variable.
static ASSIGNED: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^([A-Z_]+)=").unwrap());
/// A command that serves.
static SERVES: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^tabularium (serve|sandbox|demo)\b").unwrap());
static HOST: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"127\.0\.0\.1:\d+").unwrap());

/// Records and a lake of them, which the scenes are copies of.
pub(super) struct Base {
    folder: TempDir,
}

impl Base {
    pub(super) fn new() -> Base {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        done(&["generate", "--patients", "20", "--out", &path("records")]);
        done(&["import", "--data", &path("lake"), &path("records")]);
        Base { folder }
    }
}

/// A page's folder.
pub(super) struct Scene {
    folder: TempDir,
    /// Variables that lines have set.
    variables: Vec<(String, String)>,
    /// The addresses of the server and the sandbox, if they run.
    hosts: [Option<String>; 2],
    running: Vec<Running>,
}

/// A server, which ends with its page.
struct Running {
    child: Child,
    /// Kept open, because the process must not write to a closed pipe.
    _output: BufReader<ChildStdout>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Scene {
    pub(super) fn of(base: &Base, page: &str, text: &str) -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        copied(&base.folder.path().join("records"), &path("records"));
        if !WITHOUT_LAKE.contains(&page) {
            copied(&base.folder.path().join("lake"), &path("lake"));
        }
        for folder in ["bin", "views"] {
            std::fs::create_dir(path(folder)).unwrap();
        }
        std::os::unix::fs::symlink(PROGRAM, path("bin/tabularium")).unwrap();
        for folder in ["examples", "tests"] {
            std::os::unix::fs::symlink(Path::new(REPOSITORY).join(folder), path(folder)).unwrap();
        }
        let view = "blood-pressure.view.json";
        std::fs::copy(path("examples").join(view), path("views").join(view)).unwrap();
        let patients = std::fs::read_to_string(path("records/Patient.ndjson")).unwrap();
        let patient = patients.lines().find(|line| line.contains(PERSON)).unwrap();
        std::fs::write(path("patient.json"), patient).unwrap();
        let settings = blocks(text).into_iter().find(|block| block.lines.contains(&"[serve]"));
        if let Some(block) = settings {
            std::fs::write(path("tabularium.toml"), block.lines.join("\n")).unwrap();
        }
        let mut scene = Scene {
            folder,
            variables: Vec::new(),
            hosts: [None, None],
            running: Vec::new(),
        };
        for line in BEFORE_PAGES
            .iter()
            .filter(|(of, _)| *of == page)
            .flat_map(|(_, lines)| *lines)
        {
            if let Err(fault) = scene.prepare(line) {
                panic!("{page}: {line}: {fault}");
            }
        }
        scene
    }

    /// Runs a line, and says what is not as the page has it.
    pub(super) fn run(&mut self, page: &str, step: &Step) -> Result<(), String> {
        let mut needed = OTHERS.iter().filter(|program| step.command.contains(**program));
        if let Some(program) = needed.find(|program| !is_there(program)) {
            if needs_all() {
                return Err(format!("there is no {program}"));
            }
            println!("skipped {page}:{}: there is no {program}", step.line);
            return Ok(());
        }
        let before = |(of, part, _): &&(&str, &str, &str)| *of == page && step.command.contains(part);
        for (_, _, line) in BEFORE_LINES.iter().filter(before) {
            self.prepare(line)?;
        }
        let (code, came) = self.carried_out(&step.command)?;
        let shown = step.shown.as_deref().unwrap_or_default();
        let is_error = shown.iter().any(|line| line.starts_with("tabularium: "));
        if (code != 0) != is_error {
            return Err(format!("ended with {code}:\n{}", came.join("\n")));
        }
        let in_order = |(of, part): &(&str, &str)| *of == page && step.command.contains(part);
        let form = if IN_ORDER_OF_LAKE.iter().any(in_order) {
            Form::Shape
        } else {
            Form::Words
        };
        if shown.is_empty() || agree(shown, &came, form) {
            Ok(())
        } else {
            Err(format!("gave:\n{}", came.join("\n")))
        }
    }

    /// Does what comes before lines of a page.
    fn prepare(&mut self, line: &str) -> Result<(), String> {
        match self.carried_out(line)? {
            (0, _) => Ok(()),
            (code, came) => Err(format!("ended with {code}: {}", came.join("\n"))),
        }
    }

    /// Carries a line out: the exit code, and what it wrote to standard output, or to standard error if it failed.
    fn carried_out(&mut self, line: &str) -> Result<(i32, Vec<String>), String> {
        let mut command = line.to_owned();
        // A word in capitals stands for what the scene has set.
        for (name, value) in self
            .variables
            .iter()
            .filter(|(name, _)| ["ID", "JOB"].contains(&name.as_str()))
        {
            command = command.replace(&format!(" {name}"), &format!(" {value}"));
        }
        if SERVES.is_match(&command) {
            return self.serve(&command);
        }
        for (documented, host) in HOSTS.iter().zip(&self.hosts) {
            match host {
                Some(host) => command = command.replace(documented, host),
                None if command.starts_with("curl") && command.contains(documented) => {
                    return Err(format!("nobody serves {documented}"));
                }
                None => {}
            }
        }
        let assigned = ASSIGNED.captures(&command).map(|found| found[1].to_owned());
        if let Some(name) = &assigned {
            command.push_str(&format!("\nprintf %s \"${name}\""));
        }
        let Output { status, stdout, stderr } = self.shell(&command).output().unwrap();
        let stdout = String::from_utf8_lossy(&stdout).into_owned();
        let code = status.code().unwrap_or(-1);
        if let (Some(name), 0) = (assigned, code) {
            self.variables.push((name, stdout));
            return Ok((0, Vec::new()));
        }
        let came = match code {
            0 => stdout,
            _ => stdout + &String::from_utf8_lossy(&stderr),
        };
        let place = self.folder.path().canonicalize().unwrap();
        let came = came.replace(place.to_str().unwrap(), SRV);
        Ok((code, came.lines().map(str::to_owned).collect()))
    }

    /// Starts a command that serves, at a port of its own.
    fn serve(&mut self, line: &str) -> Result<(i32, Vec<String>), String> {
        let mut command = format!("exec {line} --listen 127.0.0.1:0");
        if line.starts_with("tabularium demo") {
            // The number of people that the page names would take too long.
            command.push_str(" --sandbox-listen 127.0.0.1:0 --patients 3");
        }
        let mut child = self
            .shell(&command)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut came = Vec::new();
        loop {
            let mut line = String::new();
            if output.read_line(&mut line).unwrap() == 0 {
                let code = child.wait().unwrap().code().unwrap_or(-1);
                return Err(format!("ended with {code} before it served: {}", came.join("\n")));
            }
            let line = line.trim_end().to_owned();
            let host = HOST.find(&line).map(|host| host.as_str().to_owned());
            let is_sandbox = line.contains("Serving the sandbox") || line.contains("Sample application");
            let is_serving = line.starts_with("Serving");
            if is_sandbox {
                self.hosts[1] = host;
            } else if is_serving {
                self.hosts[0] = host;
            }
            came.push(line);
            if is_serving {
                break;
            }
        }
        self.running.push(Running { child, _output: output });
        Ok((0, came))
    }

    fn shell(&self, command: &str) -> Command {
        let bin = self.folder.path().join("bin");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut shell = Command::new("bash");
        shell
            .args(["-c", command])
            .current_dir(self.folder.path())
            .env("PATH", format!("{}:{path}", bin.display()))
            .env("REPOSITORY", REPOSITORY)
            .env("NO_COLOR", "1")
            .envs(self.variables.iter().map(|(name, value)| (name, value)));
        for variable in [
            "TABULARIUM_DATA",
            "TABULARIUM_LAKE_KEY",
            "TABULARIUM_ERASURES",
            "TABULARIUM_KEY",
        ] {
            shell.env_remove(variable);
        }
        shell
    }
}

fn copied(from: &Path, to: &Path) {
    let done = Command::new("cp").arg("-r").args([from, to]).status().unwrap();
    assert!(done.success());
}

/// Whether a missing program is a fault. `.ci/run` needs them all, unless it may skip checks.
fn needs_all() -> bool {
    let is_set = |name: &str, value: &str| std::env::var_os(name).is_some_and(|set| set == value);
    is_set("CI", "true") && !is_set("TABULARIUM_CI_MAY_SKIP", "1")
}

fn is_there(program: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", &format!("command -v {program}")])
        .output();
    found.is_ok_and(|found| found.status.success())
}
