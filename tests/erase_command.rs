//! `tabularium erase` as its user sees it: what it says, how it ends, and how much memory it takes.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tabularium::lake::{Intent, Lake, Mode, PatientScope};

const PROGRAM: &str = env!("CARGO_BIN_EXE_tabularium");

fn command(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(arguments).arg("--data").arg(folder).output().unwrap()
}

fn import(folder: &Path, text: &str) {
    let input = folder.with_extension("ndjson");
    std::fs::write(&input, text).unwrap();
    let done = command(folder, &["import", input.to_str().unwrap()]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

fn said(done: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (text(&done.stdout), text(&done.stderr))
}

const PEOPLE: &str = r#"{"resourceType":"Patient","id":"ann"}
{"resourceType":"Patient","id":"anna"}
{"resourceType":"Observation","id":"o","status":"final","code":{"text":"c"},"subject":{"reference":"Patient/ann"}}
{"resourceType":"Binary","id":"b","contentType":"text/plain","securityContext":{"reference":"Patient/ann"}}
{"resourceType":"Task","id":"t","status":"draft","intent":"plan","for":{"reference":"Patient/ann"}}
{"resourceType":"Task","id":"other","status":"draft","intent":"plan","for":{"reference":"Patient/anna"}}
{"resourceType":"Organization","id":"h"}
"#;

#[test]
fn what_names_the_person_and_stays_is_told() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    import(&folder, PEOPLE);
    let (out, _) = said(&command(&folder, &["erase", "--patient", "ann"]));
    let last = out.lines().last().unwrap();
    assert!(
        last.starts_with("stays, ") && last.ends_with("Patient/ann: 1 Binary, 1 Task"),
        "{out}"
    );
}

/// The same command after one that was killed used to say that there was nothing, having just finished it.
#[test]
fn an_interrupted_erasure_is_finished_and_told() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    import(&folder, PEOPLE);
    let record = |patient: &str| {
        let lake = Lake::open(&folder).unwrap();
        let intent = Intent {
            mode: Mode::Live,
            application: "local".to_owned(),
            patient: PatientScope {
                patients: vec![patient.to_owned()],
                owners: lake.owners_of("local", patient),
                authorizations: Vec::new(),
            },
        };
        lake.writer().unwrap().record_erasures(&[intent]).unwrap();
    };
    record("ann");
    let done = command(&folder, &["erase", "--patient", "ann"]);
    let (out, error) = said(&done);
    assert!(done.status.success(), "{error}");
    assert!(
        out.starts_with("Observation  1\nPatient      1\ntotal        2\n"),
        "{out}"
    );
    record("anna");
    let done = command(&folder, &["erase", "--patient", "ann"]);
    let (out, error) = said(&done);
    assert_eq!(done.status.code(), Some(2), "{error}");
    assert!(
        out.starts_with("finished an erasure that had been interrupted: Patient/anna\n"),
        "{out}"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named_with_a_code_of_its_own() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    import(&folder, PEOPLE);
    let lake = Lake::open(&folder).unwrap();
    let ty = tabularium::fhir::facts().lookup("Observation").unwrap();
    let file = lake.picture().table(Mode::Live, ty).unwrap().files[0].path.clone();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, b"no file").unwrap();
    let done = command(&folder, &["erase", "--patient", "ann"]);
    let (_, error) = said(&done);
    assert_eq!(done.status.code(), Some(3), "{error}");
    assert!(
        error.lines().last().unwrap().contains(&*file.to_string_lossy()),
        "{error}"
    );
    // Nobody else is kept from writing.
    import(&folder, r#"{"resourceType":"Patient","id":"cid"}"#);
    std::fs::write(&file, whole).unwrap();
    let done = command(&folder, &["erase", "--patient", "ann"]);
    assert!(done.status.success(), "{}", said(&done).1);
}

/// Runs the command and gives the most memory that it held, in bytes.
fn peak(folder: &Path, arguments: &[&str]) -> u64 {
    let mut command = Command::new(PROGRAM);
    let command = command.args(arguments).arg("--data").arg(folder);
    let mut child = command.stdout(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0;
    while child.try_wait().unwrap().is_none() {
        let text = std::fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        most = most.max(kilobytes.unwrap_or(0) * 1_024);
        std::thread::yield_now();
    }
    assert!(child.wait().unwrap().success());
    most
}

/// Large documents were held a thousand at a time, whatever they weighed, until the process was killed for it.
#[test]
#[cfg(target_os = "linux")]
fn large_documents_take_little_memory() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    let data = "QUJD".repeat(500_000);
    for part in 0..2 {
        let mut text = String::new();
        for (at, patient) in (0..12).flat_map(|at| [(at, "ann"), (at, "ben")]) {
            writeln!(
                text,
                r#"{{"resourceType":"DocumentReference","id":"{patient}-{part}-{at}","status":"current","subject":{{"reference":"Patient/{patient}"}},"content":[{{"attachment":{{"contentType":"text/plain","data":"{data}"}}}}]}}"#
            )
            .unwrap();
        }
        import(&folder, &text);
    }
    let most = 250 << 20;
    let merged = peak(&folder, &["compact"]);
    let erased = peak(&folder, &["erase", "--patient", "ann"]);
    println!("compaction {} MiB, erasure {} MiB", merged >> 20, erased >> 20);
    assert!(merged < most && erased < most, "compaction {merged}, erasure {erased}");
}
