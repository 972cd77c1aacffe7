//! Facts about the machine and its processes, from `/proc` on Linux. Other systems yield fewer facts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::report::{Machine, MemoryAt};

/// The interval between two readings of a process's memory.
const SAMPLE: Duration = Duration::from_millis(100);

/// Describes the machine on which the bench runs.
pub(in crate::bench) fn machine() -> Machine {
    let processors = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    Machine {
        system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
        processor: field(&processors, "model name").map(str::to_owned),
        cores: std::thread::available_parallelism().map_or(1, usize::from),
        memory_bytes: field(&memory, "MemTotal").and_then(kibibytes),
    }
}

/// Returns the memory that a process has in use, in bytes.
pub(in crate::bench) fn memory(process: u32) -> Option<u64> {
    status(process, "VmRSS")
}

/// Returns the peak memory of a process, in bytes.
pub(in crate::bench) fn peak_memory(process: u32) -> Option<u64> {
    status(process, "VmHWM")
}

fn status(process: u32, name: &str) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    field(&status, name).and_then(kibibytes)
}

/// Returns the text after a name and a colon, in the first line that begins with them.
fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (key, value) = line.split_once(':')?;
        (key.trim() == name).then(|| value.trim())
    })
}

fn kibibytes(text: &str) -> Option<u64> {
    let number: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
    number.checked_mul(1024)
}

/// Reads a process's memory again and again, until this value is dropped.
pub(in crate::bench) struct Memory {
    seen: Arc<Mutex<Vec<MemoryAt>>>,
    task: Option<tokio::task::JoinHandle<()>>,
}

impl Memory {
    pub(in crate::bench) fn watch(process: Option<u32>) -> Memory {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let task = process.map(|process| {
            let (seen, begun) = (seen.clone(), Instant::now());
            tokio::spawn(async move {
                loop {
                    if let Some(bytes) = memory(process) {
                        let seconds = begun.elapsed().as_secs_f64();
                        lock(&seen).push(MemoryAt { seconds, bytes });
                    }
                    tokio::time::sleep(SAMPLE).await;
                }
            })
        });
        Memory { seen, task }
    }

    /// Returns all samples so far.
    pub(in crate::bench) fn samples(&self) -> Vec<MemoryAt> {
        lock(&self.seen).clone()
    }

    /// Returns the maximum so far, in bytes. `None` if there are no samples.
    pub(in crate::bench) fn peak(&self) -> Option<u64> {
        lock(&self.seen).iter().map(|sample| sample.bytes).max()
    }

    /// Returns the last sample, in bytes. `None` if there are no samples.
    pub(in crate::bench) fn last(&self) -> Option<u64> {
        lock(&self.seen).last().map(|sample| sample.bytes)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(task) = &self.task {
            task.abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "VmHWM:\t  2048 kB\nVmRSS:\t 1024 kB\nmodel name\t: A: B\n";
        assert_eq!(field(text, "VmRSS").and_then(kibibytes), Some(1_048_576));
        assert_eq!(field(text, "model name"), Some("A: B"));
        assert_eq!(field(text, "Vm"), None);
        assert_eq!(kibibytes("12"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn this_process_uses_memory() {
        let (now, peak) = (
            memory(std::process::id()).unwrap(),
            peak_memory(std::process::id()).unwrap(),
        );
        assert!(now > 0 && peak > 0);
    }
}
