//! Walks over a search's pages while records are imported, changed, deleted and merged. Every match of the first page's
//! snapshot comes exactly once, as it was then, with its includes. New searches do not find deleted rows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tabularium::http::Limits;
use tabularium::ingest::{Options, Session};
use tabularium::lake::clock::ManualClock;
use tabularium::lake::compact::{self, CompactOptions, Effort};
use tabularium::lake::{Lake, LakeOptions, Mode};

use crate::harness::records;
use crate::harness::server::{Answer, Server};

const PATIENTS: usize = 6;
const OBSERVATIONS: usize = 90;

fn patient(at: usize) -> Value {
    json!({"resourceType":"Patient","id":format!("p{at}"),"name":[{"family":format!("Walker{at}")}]})
}

fn observation(at: usize, status: &str) -> Value {
    json!({"resourceType":"Observation","id":format!("o{at:04}"),"status":status,
        "code":{"coding":[{"system":"urn:c","code":format!("c{}", at % 4)}]},
        "subject":{"reference":format!("Patient/p{}", at % PATIENTS)},
        "performer":[{"reference":"Practitioner/doc"}],
        "effectiveDateTime":format!("2024-01-{:02}", 1 + at % 9)})
}

fn name(resource: &Value) -> String {
    format!(
        "{}/{}",
        resource["resourceType"].as_str().unwrap(),
        resource["id"].as_str().unwrap()
    )
}

fn import(lake: &Lake, resources: &[Value]) {
    let mut writer = lake.writer().unwrap();
    let mut session = Session::begin(&mut writer, Options::default()).unwrap();
    for resource in resources {
        session.add_document(resource.to_string().as_bytes()).unwrap();
    }
    assert_eq!(session.finish().unwrap().refused, 0);
}

/// A server, another writer, and the current contents of the lake.
struct World {
    server: Server,
    /// Opened separately, as by another process.
    writer: Lake,
    clock: Arc<ManualClock>,
    /// The status of each Observation.
    held: BTreeMap<usize, String>,
    next: usize,
    writes: usize,
}

impl World {
    fn new() -> World {
        let folder = tempfile::tempdir().unwrap();
        let clock = Arc::new(ManualClock::at(1_800_000_000_000_000));
        let options = || LakeOptions {
            clock: clock.clone(),
            ..crate::harness::kind::options()
        };
        let lake = Lake::create_with(folder.path(), options()).unwrap();
        let mut resources: Vec<Value> = (0..PATIENTS).map(patient).collect();
        resources.push(json!({"resourceType":"Practitioner","id":"doc","name":[{"family":"Doc"}]}));
        resources.extend((0..OBSERVATIONS).map(|at| observation(at, "final")));
        for part in resources.chunks(30) {
            import(&lake, part);
        }
        let writer = Lake::open_with(folder.path(), options()).unwrap();
        World {
            server: Server::over(folder, lake, Limits::default()),
            writer,
            clock,
            held: (0..OBSERVATIONS).map(|at| (at, "final".to_owned())).collect(),
            next: OBSERVATIONS,
            writes: 0,
        }
    }

    /// Writes new records, changes, deletions or merges.
    fn write(&mut self) {
        self.writes += 1;
        match self.writes % 5 {
            1 => {
                let new: Vec<Value> = (self.next..self.next + 5).map(|at| observation(at, "final")).collect();
                import(&self.writer, &new);
                self.held
                    .extend((self.next..self.next + 5).map(|at| (at, "final".to_owned())));
                self.next += 5;
            }
            2 | 4 => {
                let status = format!("amended-{}", self.writes);
                let some: Vec<usize> = self
                    .held
                    .keys()
                    .copied()
                    .filter(|at| at % 7 == self.writes % 7)
                    .collect();
                let changed: Vec<Value> = some.iter().map(|at| observation(*at, &status)).collect();
                import(&self.writer, &changed);
                self.held.extend(some.into_iter().map(|at| (at, status.clone())));
            }
            3 => self.delete(),
            _ => {
                let options = CompactOptions::new(Effort::Thorough);
                let mut writer = self.writer.writer().unwrap();
                compact::run(&mut writer, &options, |_, _, _| {}).unwrap();
                writer.expire().unwrap();
            }
        }
        self.clock.advance(Duration::from_secs(1));
        self.server.lake.refresh().unwrap();
    }

    fn delete(&mut self) {
        let gone: Vec<usize> = self
            .held
            .keys()
            .copied()
            .filter(|at| at % 11 == self.writes % 11)
            .take(4)
            .collect();
        let mut writer = self.writer.writer().unwrap();
        let snapshot = writer.lake().snapshot();
        let type_id = records::type_named("Observation");
        let table = writer.lake().table(&snapshot, type_id, &records::application("local"));
        let places: Vec<_> = gone
            .iter()
            .map(|at| table.locate(&format!("o{at:04}")).unwrap().unwrap())
            .collect();
        let mut transaction = writer.begin();
        for place in places {
            transaction
                .delete_rows(Mode::Live, type_id, place.file, [u64::from(place.row)])
                .unwrap();
        }
        transaction.commit("test", "").unwrap();
        for at in gone {
            self.held.remove(&at);
        }
    }

    /// The current matches of a search of Observations: names and contents.
    fn means(&self, keep: impl Fn(usize) -> bool) -> BTreeMap<String, String> {
        let held = self.held.iter().filter(|(at, _)| keep(**at));
        held.map(|(at, status)| (format!("Observation/o{at:04}"), status.clone()))
            .collect()
    }
}

fn path_of(url: &str) -> String {
    format!("/fhir{}", url.split_once("/fhir").unwrap().1)
}

fn link(page: &Value, relation: &str) -> Option<String> {
    let links = page["link"].as_array()?;
    let link = links.iter().find(|link| link["relation"] == relation)?;
    Some(path_of(link["url"].as_str()?))
}

fn page(answer: &Answer, path: &str) -> Value {
    assert_eq!(answer.status, 200, "{path}: {}", answer.text);
    answer.json()
}

fn of_mode(page: &Value, mode: &str) -> Vec<Value> {
    let entries = page["entry"].as_array().cloned().unwrap_or_default();
    let of_mode = entries.into_iter().filter(|entry| entry["search"]["mode"] == mode);
    of_mode.map(|mut entry| entry["resource"].take()).collect()
}

/// The pages of a search; `between` runs after each page.
fn walk(server: &Server, token: &str, path: &str, mut between: impl FnMut()) -> Vec<Value> {
    let mut pages = Vec::new();
    let mut next = Some(path.to_owned());
    while let Some(path) = next {
        assert!(pages.len() < 200, "{path}: no end");
        let answer = server.get(&path, token);
        let page = page(&answer, &path);
        next = link(&page, "next");
        pages.push(page);
        between();
    }
    pages
}

#[test]
fn every_match_comes_once_whatever_is_written_meanwhile() {
    let mut world = World::new();
    let application = world.server.application_token();
    let person = world.server.patient_token("p1");
    let walks = [
        ("Observation?_count=8", false),
        ("Observation?_count=8&_sort=-date", false),
        (
            "Observation?_count=11&_sort=code,-date,-_id&_include=Observation:subject",
            false,
        ),
        (
            "Observation?_count=9&_sort=_lastUpdated&_include=Observation:performer&_include=Observation:subject",
            false,
        ),
        ("Observation?_count=13&code=c1,c2,c3,c0&_total=accurate", false),
        (
            "Observation?_count=10&subject:Patient.family=walker&_sort=status",
            false,
        ),
        ("?_type=Observation&_count=12", false),
        ("?_type=Observation&_count=12&_sort=-_lastUpdated", false),
        ("Observation?_count=3", true),
        ("Observation?_count=3&_sort=-date&_include=Observation:subject", true),
        ("Patient/p1/Observation?_count=4&_sort=date", true),
        (
            "Patient/p1/$everything?_type=Observation&_count=3&_total=accurate",
            true,
        ),
    ];
    for (query, own) in walks {
        let token = if own { &person } else { &application };
        let slash = if query.starts_with('?') { "" } else { "/" };
        let expected = world.means(|at| !own || at % PATIENTS == 1);
        let first = format!("/fhir{slash}{query}");
        // The server runs in another thread. Between the pages, records are written as by another process.
        let mut pages = Vec::new();
        let mut next = Some(first.clone());
        while let Some(path) = next {
            assert!(pages.len() < 100, "{query}: no end");
            let answer = world.server.get(&path, token);
            let page = page(&answer, &path);
            next = link(&page, "next");
            pages.push(page);
            if pages.len() <= 6 {
                world.write();
            }
        }
        assert!(pages.len() > 3, "{query}: {} pages", pages.len());
        let mut found = BTreeMap::new();
        for page in &pages {
            let matches = of_mode(page, "match");
            let included: BTreeSet<String> = of_mode(page, "include").iter().map(name).collect();
            for resource in &matches {
                let status = resource["status"].as_str().unwrap().to_owned();
                let again = found.insert(name(resource), status);
                assert!(again.is_none(), "{query}: {} comes twice", name(resource));
                if query.contains("Observation:subject") {
                    assert!(
                        included.contains(resource["subject"]["reference"].as_str().unwrap()),
                        "{query}"
                    );
                }
            }
            if query.contains("_total") {
                assert_eq!(page["total"], expected.len(), "{query}");
            }
        }
        assert_eq!(found, expected, "{query}");
    }
    // New searches never find deleted rows, before and after their file is merged.
    for _ in 0..5 {
        world.write();
        let pages = walk(&world.server, &application, "/fhir/Observation?_count=50", || {});
        let found: BTreeSet<String> = pages
            .iter()
            .flat_map(|page| of_mode(page, "match"))
            .map(|row| name(&row))
            .collect();
        assert_eq!(found, world.means(|_| true).into_keys().collect());
        let gone = (0..world.next).find(|at| !world.held.contains_key(at)).unwrap();
        let read = world.server.get(&format!("/fhir/Observation/o{gone:04}"), &application);
        assert_eq!(read.status, 404);
    }
}

impl World {
    /// Erases a person as another process would.
    fn erase(&mut self, patient: &str) {
        let scope = records::patient(&self.writer, "local", patient);
        let mut writer = self.writer.writer().unwrap();
        let scope = scope.patient.as_ref().unwrap();
        let done = writer.erase(Mode::Live, "local", scope).unwrap();
        assert!(done.rows > 0);
        drop(writer);
        self.server.lake.refresh().unwrap();
    }
}

/// A person is erased during a walk. The others' rows still come exactly once, as they were at the beginning, and no
/// erased row follows. If the link's position is an erased row or a row count, the link reports that, and the walk
/// begins again.
#[test]
fn walks_go_on_while_people_are_erased() {
    let mut world = World::new();
    let application = world.server.application_token();
    let person = world.server.patient_token("p1");
    let walks = [
        ("/Observation?_count=7", false),
        ("/Observation?_count=8&_sort=-date", false),
        (
            "/Observation?_count=11&_sort=code,-date,-_id&_include=Observation:subject",
            false,
        ),
        ("/Observation?_count=13&code=c1,c2,c3,c0&_total=accurate", false),
        ("?_type=Observation&_count=12", false),
        ("?_type=Observation&_count=12&_sort=-_lastUpdated", false),
        ("/Observation?_count=3", true),
        ("/Observation?_count=3&_sort=-date&_include=Observation:subject", true),
        ("/Patient/p1/Observation?_count=4&_sort=date", true),
        ("/Patient/p1/$everything?_type=Observation,Practitioner&_count=3", true),
    ];
    let mut expiries = 0;
    for (at, (query, own)) in walks.into_iter().enumerate() {
        let token = if own { &person } else { &application };
        let gone = [0, 2, 3, 4, 5][at % 5];
        let is_gone = |name: &str| name["Observation/o".len()..].parse::<usize>().unwrap() % PATIENTS == gone;
        let mut expected: Option<BTreeMap<String, String>> = None;
        let mut found: BTreeMap<String, String> = BTreeMap::new();
        let mut next = Some(format!("/fhir{query}"));
        let mut pages = 0;
        while let Some(path) = next {
            let answer = world.server.get(&path, token);
            if answer.status == 410 {
                assert!(pages > 1 && !own, "{query}: another's erasure ends no person's walk");
                (expiries, pages, found) = (expiries + 1, 0, BTreeMap::new());
                expected = None;
                next = Some(format!("/fhir{query}"));
                continue;
            }
            let page = page(&answer, &path);
            expected.get_or_insert_with(|| world.means(|at| !own || at % PATIENTS == 1));
            pages += 1;
            for resource in of_mode(&page, "match") {
                let status = resource["status"].as_str().unwrap().to_owned();
                let again = found.insert(name(&resource), status);
                assert!(again.is_none(), "{query}: {} comes twice", name(&resource));
                assert!(
                    pages <= 2 || own || !is_gone(&name(&resource)) || world.held.contains_key(&gone),
                    "{query}: {} was erased",
                    name(&resource)
                );
            }
            if pages > 2 && query.contains("_total") {
                assert_eq!(page["total"], world.held.len(), "{query}");
            }
            next = link(&page, "next");
            if pages == 2 && world.held.contains_key(&gone) {
                world.erase(&format!("p{gone}"));
                world.held.retain(|at, _| at % PATIENTS != gone);
            }
        }
        let mut expected = expected.unwrap();
        if !own {
            expected.retain(|name, _| !is_gone(name));
            found.retain(|name, _| !is_gone(name));
        }
        assert_eq!(found, expected, "{query}");
        // The person is imported again, like other new records.
        let again: Vec<usize> = (0..world.next).filter(|at| at % PATIENTS == gone).collect();
        let mut resources = vec![patient(gone)];
        resources.extend(again.iter().map(|at| observation(*at, "again")));
        import(&world.writer, &resources);
        world.held.extend(again.into_iter().map(|at| (at, "again".to_owned())));
        world.server.lake.refresh().unwrap();
    }
    println!("{expiries} walks began anew");
    assert!(expiries < 5);
}

/// If the row at a link's position was erased, a search over several types returned an empty page, as if the walk had
/// ended. Its parts did not know that records had been erased since the link was made.
#[test]
fn a_search_over_types_says_that_its_row_was_erased() {
    for query in ["_type=Observation", "_type=Observation,Encounter"] {
        let mut world = World::new();
        let token = world.server.application_token();
        let path = format!("/fhir?{query}&patient=Patient/p0&_count=4");
        let first = page(&world.server.get(&path, &token), &path);
        let next = link(&first, "next").unwrap();
        world.erase("p0");
        let answer = world.server.get(&next, &token);
        assert_eq!(answer.status, 410, "{query}: {}", answer.text);
        assert_eq!(answer.issue(), "expired");
    }
}

#[test]
fn links_back_lead_to_the_same_pages() {
    let mut world = World::new();
    let token = world.server.application_token();
    for query in ["Observation?_count=20", "Observation?_count=20&_sort=-date"] {
        let pages = walk(&world.server, &token, &format!("/fhir/{query}"), || {});
        world.write();
        world.write();
        let last = pages.last().unwrap();
        let mut back = link(last, "previous");
        for page_before in pages.iter().rev().skip(1) {
            let path = back.unwrap();
            let answer = world.server.get(&path, &token);
            let here = page(&answer, &path);
            assert_eq!(of_mode(&here, "match"), of_mode(page_before, "match"), "{query}");
            back = link(&here, "previous");
        }
        assert_eq!(back, None);
    }
}

/// A link with an expired snapshot says so, even if the server read its pages before and another process removed the
/// files.
#[test]
fn an_expired_link_is_gone() {
    let mut world = World::new();
    let token = world.server.application_token();
    for query in ["Observation?_count=20", "Observation?_count=20&_sort=-date"] {
        let first = world.server.get(&format!("/fhir/{query}"), &token);
        let second = link(&page(&first, query), "next").unwrap();
        world.write();
        let answer = world.server.get(&second, &token);
        let third = link(&page(&answer, &second), "next").unwrap();
        world.clock.advance(Duration::from_secs(2 * 3600));
        for _ in 0..5 {
            world.write();
        }
        for path in [second, third] {
            let answer = world.server.get(&path, &token);
            assert_eq!(
                (answer.status, answer.issue().as_str()),
                (410, "expired"),
                "{path}: {}",
                answer.text
            );
        }
    }
}

#[test]
fn walks_and_writes_at_the_same_time() {
    let world = World::new();
    let token = world.server.application_token();
    let person = world.server.patient_token("p2");
    let (walked, done) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|threads| {
        let writer = threads.spawn(|| {
            let mut writes = 0;
            let (server, lake) = (&world.server, &world.writer);
            // Writes as long as there are walks, and often enough that each walk meets some.
            while !done.load(Ordering::Relaxed) || writes < 6 {
                let from = 1000 + writes * 4;
                let mut some: Vec<Value> = (from..from + 4).map(|at| observation(at, "final")).collect();
                some.push(observation(5, &format!("changed-{writes}")));
                import(lake, &some);
                if writes % 3 == 2 {
                    let options = CompactOptions::new(Effort::Thorough);
                    compact::run(&mut lake.writer().unwrap(), &options, |_, _, _| {}).unwrap();
                }
                server.lake.refresh().unwrap();
                writes += 1;
            }
            writes
        });
        let walkers: Vec<_> = [
            (&token, "/fhir/Observation?_count=25", 0..OBSERVATIONS, 1),
            (
                &token,
                "/fhir/Observation?_count=25&_sort=-date,code&_include=Observation:subject",
                0..OBSERVATIONS,
                1,
            ),
            (
                &person,
                "/fhir/Observation?_count=4&_sort=-date",
                0..OBSERVATIONS,
                PATIENTS,
            ),
            (
                &person,
                "/fhir/Patient/p2/$everything?_count=4",
                0..OBSERVATIONS,
                PATIENTS,
            ),
            (
                &token,
                "/fhir/Patient/p2/$everything?_count=3&_type=Observation,Practitioner&_total=accurate",
                0..OBSERVATIONS,
                PATIENTS,
            ),
        ]
        .into_iter()
        .map(|(token, path, of, every)| {
            let (world, walked) = (&world, &walked);
            threads.spawn(move || {
                for _ in 0..4 {
                    let pages = walk(&world.server, token, path, || {});
                    let all: Vec<String> = pages
                        .iter()
                        .flat_map(|page| of_mode(page, "match"))
                        .map(|row| name(&row))
                        .collect();
                    let once: BTreeSet<&String> = all.iter().collect();
                    assert_eq!(all.len(), once.len(), "{path}");
                    if path.contains("$everything") {
                        let included: Vec<String> = pages
                            .iter()
                            .flat_map(|page| of_mode(page, "include"))
                            .map(|row| name(&row))
                            .collect();
                        assert_eq!(included, ["Practitioner/doc"], "{path}");
                        let totals = pages.iter().filter_map(|page| page["total"].as_u64());
                        assert!(totals.into_iter().all(|total| total == all.len() as u64), "{path}");
                    }
                    // Rows that existed before and stay.
                    for at in of.clone().filter(|at| every == 1 || at % every == 2) {
                        assert!(
                            once.contains(&format!("Observation/o{at:04}")),
                            "{path}: {at} is missing"
                        );
                    }
                    walked.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
        let outcomes: Vec<_> = walkers.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        done.store(true, Ordering::Relaxed);
        assert!(writer.join().unwrap() >= 6);
        outcomes.into_iter().for_each(|outcome| outcome.unwrap());
    });
    assert_eq!(walked.into_inner(), 20);
}
