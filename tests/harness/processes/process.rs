//! The program as a server process.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_tabularium");

/// A running command, killed when dropped.
pub(crate) struct Process {
    child: Child,
    /// Its output until it served.
    pub(crate) printed: Vec<String>,
}

impl Process {
    /// Starts a command and reads its output up to the line with its address.
    pub(crate) fn start(arguments: &[&str]) -> Process {
        Process::run(Command::new(PROGRAM).args(arguments))
    }

    /// The same in a shell that runs `before` first.
    pub(crate) fn limited(before: &str, arguments: &[&str]) -> Process {
        let script = format!("{before} && exec \"$0\" \"$@\"");
        Process::run(Command::new("sh").args(["-c", &script, PROGRAM]).args(arguments))
    }

    fn run(command: &mut Command) -> Process {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let printed = Vec::new();
        let mut process = Process { child, printed };
        let lines = BufReader::new(process.child.stdout.take().unwrap()).lines();
        for line in lines {
            process.printed.push(line.unwrap());
            if process.printed.last().is_some_and(|line| line.starts_with("Serving")) {
                return process;
            }
        }
        panic!("it ended before it served: {:?}", process.printed);
    }

    /// Its address, such as `http://127.0.0.1:port`.
    pub(crate) fn base_url(&self) -> String {
        let last = self.printed.last().unwrap();
        let url = last
            .split_whitespace()
            .find(|word| word.starts_with("http://"))
            .unwrap();
        url.trim_end_matches("/fhir").to_owned()
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Asks it to end as an operator would. Returns the exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        let asked = Command::new("kill")
            .args(["-TERM", &self.child.id().to_string()])
            .status()
            .unwrap();
        assert!(asked.success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
