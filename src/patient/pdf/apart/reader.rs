//! The program that reads attachments, and what it may cost.

use std::path::PathBuf;
use std::time::Duration;

/// The program that is started to read attachments, with the bounds of its processes.
#[derive(Clone, Debug)]
pub struct Reader {
    /// The path of the program. It must know the command [`super::COMMAND`].
    pub program: PathBuf,
    /// What the processes of one request may cost.
    pub bounds: Bounds,
}

impl Default for Reader {
    /// This program, with the usual bounds.
    fn default() -> Reader {
        // On Linux, this link leads to the running program even if its file was replaced.
        let link = PathBuf::from("/proc/self/exe");
        let program = if cfg!(target_os = "linux") {
            link
        } else {
            std::env::current_exe().unwrap_or(link)
        };
        Reader {
            program,
            bounds: Bounds::default(),
        }
    }
}

/// What the processes of one request may cost.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The memory for one attachment, in bytes. The records and further attachments give a process more.
    pub memory: u64,
    /// The processor time for one attachment. It ends at a whole second.
    pub attachment: Duration,
    /// The processor time for all attachments of a request.
    pub attachments: Duration,
    /// The processor time for the pages of the records. A process may use it in addition.
    pub records: Duration,
    /// The time by the clock for one attachment.
    pub attachment_wait: Duration,
    /// The time by the clock for all attachments of a request.
    pub attachments_wait: Duration,
    /// The time by the clock for any other step of a process.
    pub wait: Duration,
    /// The processor time in which a file must be made to be quick, rounded down to whole seconds. A process has one
    /// second more.
    pub quick: Duration,
    /// The time by the clock in which a file must be made to be quick.
    pub quick_wait: Duration,
}

impl Reader {
    /// The reader for files that are not quick. They share the time for attachments with the quick attempt.
    #[must_use]
    pub fn after_quick(&self) -> Reader {
        let used = self.bounds.quick + Duration::from_secs(1);
        let bounds = Bounds {
            attachments: self.bounds.attachments.saturating_sub(used),
            ..self.bounds
        };
        Reader {
            program: self.program.clone(),
            bounds,
        }
    }
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            memory: 440 << 20,
            attachment: Duration::from_secs(10),
            attachments: Duration::from_secs(20),
            records: Duration::from_secs(60),
            attachment_wait: Duration::from_secs(60),
            attachments_wait: Duration::from_secs(120),
            wait: Duration::from_secs(300),
            quick: Duration::from_secs(1),
            quick_wait: Duration::from_secs(5),
        }
    }
}
