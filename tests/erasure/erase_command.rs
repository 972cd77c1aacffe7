//! `tabularium erase` as its user sees it: its messages, its exit codes, and its memory use.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};
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
{"resourceType":"Group","id":"g","type":"person","actual":true,"member":[{"entity":{"reference":"Patient/ann"}},{"entity":{"reference":"Patient/anna"}}]}
{"resourceType":"Task","id":"t","status":"draft","intent":"plan","for":{"reference":"Patient/ann"}}
{"resourceType":"Task","id":"other","status":"draft","intent":"plan","for":{"reference":"Patient/anna"}}
{"resourceType":"Organization","id":"h"}
"#;

#[test]
fn what_names_the_person_and_stays_is_told() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    import(&folder, PEOPLE);
    let (out, _) = said(&command(&folder, &["erase", "--yes", "--patient", "ann"]));
    let (receipt, last) = {
        let mut lines = out.lines().rev();
        (lines.next().unwrap(), lines.next().unwrap())
    };
    assert!(
        last.starts_with("stays, ") && last.ends_with("Patient/ann: 1 Group, 1 Task"),
        "{out}"
    );
    assert_eq!(receipt.split('.').count(), 3, "{out}");
}

#[test]
fn programs_get_one_object() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    import(&folder, PEOPLE);
    let object = |arguments: &[&str]| -> Value {
        let done = command(&folder, &[&["erase", "--json", "--patient", "ann"], arguments].concat());
        assert!(done.status.success(), "{}", said(&done).1);
        serde_json::from_slice(&done.stdout).unwrap()
    };
    let resources = json!({"Observation": 1, "Patient": 1});
    let stays = json!({"named": {"Group": 1, "Task": 1}, "synced": 0, "unread": []});
    let would = object(&["--dry-run"]);
    let expected = json!({"patient": "ann", "dryRun": true, "resources": resources, "stays": stays});
    assert_eq!(would, expected);
    let mut erased = object(&["--yes"]);
    let receipt = erased["receipt"].take();
    assert_eq!(receipt.as_str().unwrap().split('.').count(), 3);
    let expected = json!({"patient": "ann", "dryRun": false, "resources": resources, "rows": 2, "attachments": 0,
        "filesRewritten": 1, "filesRemoved": 1, "tokensEnded": false, "finished": [], "left": [], "receipt": null,
        "stays": stays});
    assert_eq!(erased, expected);
    // A Patient without records gives an error and no object.
    let again = command(&folder, &["erase", "--json", "--yes", "--patient", "ann"]);
    assert_eq!((again.status.code(), said(&again).0.as_str()), (Some(2), ""));
    let (list, _) = said(&command(&folder, &["receipt", "list", "--json"]));
    let list: Value = serde_json::from_str(&list).unwrap();
    let id = list[0]["erasure"].as_str().unwrap();
    let (shown, _) = said(&command(&folder, &["receipt", "show", id, "--json"]));
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["receipt"], &shown["digest"]), (&receipt, &list[0]["digest"]));
}

#[test]
fn nothing_is_erased_unless_somebody_means_it() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    import(&folder, PEOPLE);
    let done = command(&folder, &["erase", "--patient", "ann"]);
    let (out, error) = said(&done);
    assert_eq!((done.status.code(), out.as_str()), (Some(2), ""), "{error}");
    assert!(error.contains("--yes"), "{error}");
    assert!(
        said(&command(&folder, &["search", "Patient?_id=ann"]))
            .0
            .contains("\"id\":\"ann\"")
    );
}

#[test]
fn the_receipt_says_what_was_erased_and_is_checked_by_the_folder() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    import(&folder, PEOPLE);
    let (out, error) = said(&command(&folder, &["erase", "--yes", "--patient", "ann"]));
    let receipt = scratch.path().join("receipt");
    std::fs::write(&receipt, out.lines().last().unwrap()).unwrap();
    let verify = |patient: &str| {
        command(
            &folder,
            &["receipt", "verify", receipt.to_str().unwrap(), "--patient", patient],
        )
    };
    let done = verify("ann");
    let (out, _) = said(&done);
    // The Task and the Group that name the person are in other files and stay.
    assert_eq!(done.status.code(), Some(0), "{out} {error}");
    assert!(
        out.contains("\n2 rows went, from 2 files: 1 rewritten, 1 removed; and 0 attachments.\n"),
        "{out}"
    );
    assert!(out.contains("A search for 2 ids found 0 in "), "{out}");
    assert!(out.ends_with("It is about Patient/ann.\n"), "{out}");
    assert_eq!(verify("anna").status.code(), Some(3));
    let (list, _) = said(&command(&folder, &["receipt", "list"]));
    let line = list.lines().nth(1).unwrap();
    assert!(line.contains("tabularium erase") && line.contains("sha256:"), "{list}");
    let id = line.split_whitespace().next().unwrap();
    let (shown, _) = said(&command(&folder, &["receipt", "show", id]));
    assert_eq!(shown.trim(), std::fs::read_to_string(&receipt).unwrap());
    let (audit, _) = said(&command(&folder, &["audit"]));
    assert!(audit.contains("erasure.receipt"), "{audit}");
}

/// The receipt used to be compared with the listed paths only.
#[test]
fn a_replaced_file_is_found_under_any_name() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    import(&folder, PEOPLE);
    let copy = scratch.path().join("copy");
    let copied = crate::harness::lake::files_below(&folder.join("data"));
    for path in &copied {
        let to = copy.join(path.strip_prefix(&folder).unwrap());
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(path, to).unwrap();
    }
    let (out, _) = said(&command(&folder, &["erase", "--yes", "--patient", "ann"]));
    let receipt = scratch.path().join("receipt");
    std::fs::write(&receipt, out.lines().last().unwrap()).unwrap();
    let verify = || command(&folder, &["receipt", "verify", receipt.to_str().unwrap()]);
    assert_eq!(verify().status.code(), Some(0));
    let gone = copied.iter().find(|path| !path.exists()).unwrap();
    let copy = copy.join(gone.strip_prefix(&folder).unwrap());
    for name in ["data/live/Patient/x.parquet", "data/.orphans/y", "audit/z"] {
        let back = folder.join(name);
        std::fs::create_dir_all(back.parent().unwrap()).unwrap();
        std::fs::copy(&copy, &back).unwrap();
        let done = verify();
        let (_, error) = said(&done);
        assert_eq!(done.status.code(), Some(3), "{name}: {error}");
        assert!(error.contains(name.strip_prefix("data/").unwrap_or(name)), "{error}");
        std::fs::remove_file(&back).unwrap();
    }
    assert_eq!(verify().status.code(), Some(0));
}

/// A process killed between the exchange of the files and the receipt leaves the facts in the catalog.
#[test]
fn a_receipt_of_an_interrupted_erasure_misses_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("lake");
    import(&folder, PEOPLE);
    let lake = Lake::open(&folder).unwrap();
    let person = PatientScope {
        patients: vec!["ann".to_owned()],
        owners: lake.owners_of("local", "ann"),
        authorizations: Vec::new(),
    };
    lake.writer().unwrap().erase(Mode::Live, "local", &person).unwrap();
    let done = command(&folder, &["erase", "--yes", "--patient", "ann"]);
    let (out, error) = said(&done);
    assert!(done.status.success(), "{error}");
    let receipt = scratch.path().join("receipt");
    std::fs::write(&receipt, out.lines().last().unwrap()).unwrap();
    let (out, _) = said(&command(&folder, &["receipt", "verify", receipt.to_str().unwrap()]));
    assert!(out.contains("\n2 rows went, from 2 files: "), "{out}");
    let again = command(&folder, &["erase", "--yes", "--patient", "ann"]);
    assert_eq!(again.status.code(), Some(2));
}

/// After a killed run, the same command finished the erasure, but used to say that there was nothing to erase.
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
    let done = command(&folder, &["erase", "--yes", "--patient", "ann"]);
    let (out, error) = said(&done);
    assert!(done.status.success(), "{error}");
    assert!(
        out.starts_with("Observation  1\nPatient      1\ntotal        2\n"),
        "{out}"
    );
    record("anna");
    let done = command(&folder, &["erase", "--yes", "--patient", "ann"]);
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
    let type_id = tabularium::fhir::facts().lookup("Observation").unwrap();
    let file = lake.snapshot().table(Mode::Live, type_id).unwrap().files[0]
        .path
        .clone();
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, b"no file").unwrap();
    let done = command(&folder, &["erase", "--yes", "--patient", "ann"]);
    let (_, error) = said(&done);
    assert_eq!(done.status.code(), Some(3), "{error}");
    assert!(
        error.lines().last().unwrap().contains(&*file.to_string_lossy()),
        "{error}"
    );
    // Other writers are not blocked.
    import(&folder, r#"{"resourceType":"Patient","id":"cid"}"#);
    std::fs::write(&file, whole).unwrap();
    let done = command(&folder, &["erase", "--yes", "--patient", "ann"]);
    assert!(done.status.success(), "{}", said(&done).1);
}

/// Runs the command and returns its peak memory in bytes.
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

/// Large documents were read a thousand at a time, whatever their size, until the process ran out of memory.
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
    let erased = peak(&folder, &["erase", "--yes", "--patient", "ann"]);
    println!("compaction {} MiB, erasure {} MiB", merged >> 20, erased >> 20);
    assert!(merged < most && erased < most, "compaction {merged}, erasure {erased}");
}

/// An erased person's tokens stayed valid, and `service.sqlite` still contained the id.
#[test]
fn the_persons_tokens_end_and_nothing_names_them() {
    let resources: Vec<serde_json::Value> = PEOPLE
        .lines()
        .map(|line| serde_json::from_str(&line.replace("ann\"", "p-erased-1\"")).unwrap())
        .collect();
    let server = crate::harness::server::Server::imported_at(&resources[..2], tabularium::consent::Clock::System);
    let folder = server.folder();
    let (gone, stays) = (server.patient_token("p-erased-1"), server.patient_token("anna"));
    let status = |path: &str, token: &str| server.get(path, token).status;
    assert_eq!(status("/fhir/Patient/p-erased-1", &gone), 200);
    assert_eq!(status("/fhir/Patient/anna", &stays), 200);
    let done = command(folder, &["erase", "--yes", "--patient", "p-erased-1"]);
    assert!(done.status.success(), "{}", said(&done).1);
    assert!(
        said(&done)
            .0
            .contains("the tokens that were made for this Patient are ended")
    );
    server.store.refresh().unwrap();
    assert_eq!(status("/fhir/Patient/p-erased-1", &gone), 401);
    assert_eq!(status("/fhir/Patient/anna", &stays), 200);
    for path in crate::harness::lake::files_below(folder) {
        let content = std::fs::read(&path).unwrap();
        assert!(
            memchr::memmem::find(&content, b"p-erased-1").is_none(),
            "{} names the person",
            path.display()
        );
    }
    let again = command(folder, &["erase", "--yes", "--patient", "p-erased-1"]);
    assert_eq!(again.status.code(), Some(2));
}

/// On a nearly full disk the command said `disk is full` with exit code 1, although the records were already hidden.
#[test]
#[cfg(target_os = "linux")]
fn the_exit_code_is_right_however_little_room_there_is() {
    let scratch = tempfile::tempdir().unwrap();
    let made = scratch.path().join("lake");
    import(&made, PEOPLE);
    let mut codes = std::collections::BTreeMap::new();
    // The store with the signing key needs more space than the lake.
    for kilobytes in (8..=160).step_by(8).chain([4_096]) {
        let folder = scratch.path().join(format!("lake{kilobytes}"));
        for from in crate::harness::lake::files_below(&made) {
            let to = folder.join(from.strip_prefix(&made).unwrap());
            std::fs::create_dir_all(to.parent().unwrap()).unwrap();
            std::fs::copy(from, to).unwrap();
        }
        // No file can grow beyond the limit, as on a nearly full disk.
        let script = format!("trap '' XFSZ; ulimit -f {kilobytes}; exec \"$0\" \"$@\"");
        let mut limited = Command::new("bash");
        limited.args(["-c", &script, PROGRAM, "erase", "--yes", "--patient", "ann", "--data"]);
        let done = limited.arg(&folder).output().unwrap();
        let (_, error) = said(&done);
        let found = said(&command(&folder, &["search", "Observation?_id=o"])).0;
        let is_shown = found.contains("\"id\":\"o\"");
        let code = done.status.code().unwrap();
        match code {
            0 | 3 => assert!(!is_shown, "{kilobytes}: {error}"),
            1 => assert!(is_shown, "{kilobytes}: {error}"),
            code => panic!("{kilobytes}: {code}: {error}"),
        }
        assert!(code != 3 || error.contains("hidden from all readers"), "{error}");
        codes.entry(code).or_insert(Vec::new()).push(kilobytes);
        // The next writer finishes the erasure.
        import(&folder, r#"{"resourceType":"Patient","id":"cid"}"#);
        let writer = Lake::open(&folder).unwrap().writer().unwrap();
        assert_eq!(writer.unfinished().len(), 0, "{kilobytes}");
    }
    println!("exit codes by KiB: {codes:?}");
    assert!(codes.contains_key(&0) && codes.contains_key(&3), "{codes:?}");
}
