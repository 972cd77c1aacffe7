//! Hostile attachments in records: a real server answers each `$pdf` with a whole file and goes on.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Mutex;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::{Hostile, Kind, Library, settings};
use crate::harness::command::{done, imported};
use crate::harness::process::Process;
use crate::pdf::reading::{pages, squeezed, text};

/// The number of hostile files of a person. One honest document follows them.
const OF_A_PERSON: usize = 30;
/// The number of people whose files are in one lake.
const PEOPLE: usize = 100;
/// The number of requests at once.
const CLIENTS: usize = 2;
/// The server's memory beside hostile files, in bytes above its memory before them.
const MAX_GROWTH: u64 = 256 << 20;
const LETTER: &str = "The letter behind all of them";

/// All of a person's records as NDJSON: hostile documents and one honest letter.
fn records(person: usize, files: &[Hostile]) -> String {
    let subject = json!({"reference": format!("Patient/p{person}")});
    let mut lines = format!("{}\n", json!({"resourceType": "Patient", "id": format!("p{person}")}));
    let letter = json!({"contentType": "text/plain", "title": "Letter", "data": STANDARD.encode(LETTER)});
    let attachments = files.iter().enumerate().map(|(place, file)| {
        let title = format!("Nr{place}");
        json!({"contentType": file.content_type, "title": title, "data": STANDARD.encode(&file.bytes)})
    });
    for (place, attachment) in attachments.chain([letter]).enumerate() {
        let document = json!({"resourceType": "DocumentReference", "id": format!("d{person}-{place:03}"),
            "status": "current", "subject": subject, "content": [{"attachment": attachment}]});
        let _ = writeln!(lines, "{document}");
    }
    lines
}

/// A server over people with these files.
struct Asked {
    service: Process,
    token: String,
    _folder: tempfile::TempDir,
}

impl Asked {
    fn over(people: &[Vec<Hostile>]) -> Asked {
        let folder = tempfile::tempdir().unwrap();
        let lake = folder.path().join("lake");
        let lines: String = people
            .iter()
            .map(Vec::as_slice)
            .chain([&[][..]])
            .enumerate()
            .map(|(person, files)| records(person, files))
            .collect();
        imported(&lake, &lines);
        let data = lake.to_str().unwrap();
        let service = Process::start(&["serve", "--data", data, "--listen", "127.0.0.1:0"]);
        let token = String::from_utf8(done(&["token", "--data", data])).unwrap();
        Asked {
            service,
            token: token.trim().to_owned(),
            _folder: folder,
        }
    }

    /// A person's records as a PDF. Panics unless the server answers with a whole file.
    fn pdf(&self, person: usize, what: &str) -> Vec<u8> {
        let answer = ureq::get(format!("{}/fhir/Patient/p{person}/$pdf", self.service.base_url()))
            .header("authorization", format!("Bearer {}", self.token))
            .call();
        let mut answer = answer.unwrap_or_else(|error| panic!("person {person}: {error}: {what}"));
        let body = answer.body_mut().with_config().limit(1 << 30).read_to_vec();
        body.unwrap_or_else(|error| panic!("person {person}: {error}: {what}"))
    }

    /// The server's memory in use, in bytes. 0 on other systems than Linux.
    fn memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.service.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
        kilobytes.unwrap_or(0) * 1_024
    }
}

/// Checks that a file is whole: its end is there, its table of objects leads to all its pages, and it shows the honest
/// letter. `whole` also looks for the title of each hostile file.
fn check(person: usize, file: &[u8], files: &[Hostile], whole: bool) {
    let what: Vec<&str> = files.iter().map(|file| file.what).collect();
    assert!(
        file.starts_with(b"%PDF-") && file.trim_ascii_end().ends_with(b"%%EOF"),
        "{person}: {what:?}"
    );
    let read = lopdf::Document::load_mem(file).unwrap_or_else(|error| panic!("{person}: {error}: {what:?}"));
    let own = read.get_pages();
    assert!(!own.is_empty(), "{person}: {what:?}");
    assert!(
        own.values().all(|page| read.get_dictionary(*page).is_ok()),
        "{person}: {what:?}"
    );
    let root = read.catalog().and_then(|catalog| catalog.get(b"Pages")?.as_reference());
    let count = root
        .and_then(|root| read.get_dictionary(root)?.get(b"Count")?.as_i64())
        .unwrap();
    assert_eq!(count, own.len() as i64, "{person}: {what:?}");
    // The reader of these tests gives up at a page with a letter of thousands of marks. Other readers do not.
    let is_readable = files.iter().all(|file| file.what != "marks over a letter");
    if whole && is_readable {
        let shown = text(file);
        // The documents of one file share their time. The letter is the last one.
        let is_late = shown.contains(&squeezed("took all the time that there is for it"));
        assert!(is_late || shown.contains(&squeezed(LETTER)), "{person}: {what:?}");
        for place in 0..files.len() {
            assert!(shown.contains(&format!("Nr{place}")), "{person}, {place}: {what:?}");
        }
        assert!(!pages(file).is_empty());
    }
}

/// Each kind had files that ended the server, or took gigabytes of its memory.
#[test]
fn hostile_attachments_end_as_content_or_placeholders_and_the_server_goes_on() {
    let (count, seed) = settings();
    let mut libraries: Vec<Library> = Kind::ALL.iter().map(|kind| Library::new(*kind, seed)).collect();
    // The kinds in turn, so that each person has files of all kinds.
    let mut files = (0..count * Kind::ALL.len()).filter_map(|place| libraries[place % Kind::ALL.len()].next());
    let mut asked = 0;
    loop {
        let mut people: Vec<Vec<Hostile>> = Vec::new();
        while people.len() < PEOPLE {
            let some: Vec<Hostile> = files.by_ref().take(OF_A_PERSON).collect();
            if some.is_empty() {
                break;
            }
            people.push(some);
        }
        if people.is_empty() {
            break;
        }
        asked += people.len();
        ask(&people);
    }
    println!("{} files of {asked} people", count * Kind::ALL.len());
}

/// Asks a server for the files of all these people.
fn ask(people: &[Vec<Hostile>]) {
    let served = Asked::over(people);
    // A person without hostile files.
    let quiet_person = people.len();
    check(quiet_person, &served.pdf(quiet_person, "honest"), &[], true);
    let quiet = served.memory();
    let left: Mutex<VecDeque<usize>> = Mutex::new((0..people.len()).collect());
    let most = Mutex::new(0);
    std::thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| {
                loop {
                    let Some(person) = left.lock().unwrap().pop_front() else {
                        return;
                    };
                    let files = &people[person];
                    let what: Vec<&str> = files.iter().map(|file| file.what).collect();
                    let file = served.pdf(person, &format!("{what:?}"));
                    check(person, &file, files, person % 8 == 0);
                    let memory = served.memory();
                    let mut most = most.lock().unwrap();
                    *most = memory.max(*most);
                }
            });
        }
    });
    let most = most.into_inner().unwrap();
    println!("{} MiB of memory before, {} MiB at most", quiet >> 20, most >> 20);
    assert!(most <= quiet + MAX_GROWTH, "{quiet} before, {most} at most");
    // The server answers as before.
    check(quiet_person, &served.pdf(quiet_person, "honest"), &[], true);
}
