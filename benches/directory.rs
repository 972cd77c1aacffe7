//! Finding an organization among very many by a misspelt name.

use criterion::Criterion;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use tabularium::consent::{Actor, Clock, Organization, Store};
use tabularium::lake::Mode;

const ORGANIZATIONS: usize = 10_000;
/// The size of a page, and one more to know whether there are others.
const SHOWN: usize = 51;
const PARTS: [&str; 24] = [
    "lake", "cedar", "river", "north", "field", "mercy", "blue", "shore", "wil", "low", "oak", "ash", "spring", "hill",
    "west", "east", "brook", "stone", "wood", "dale", "ford", "ton", "mont", "clair",
];
const KINDS: [&str; 6] = [
    "Health Plan",
    "Medical Center",
    "Hospital",
    "Clinic",
    "Pharmacy",
    "Family Practice",
];

pub(crate) fn benches(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("directory");
    group.sample_size(20);
    let made = std::cell::OnceCell::new();
    let directory = || made.get_or_init(Directory::new);
    group.bench_function("find-10,000", |bench| {
        let directory = directory();
        let mut at = 0;
        bench.iter(|| {
            at = (at + 7) % ORGANIZATIONS;
            directory.find(at)
        });
    });
    group.bench_function("index-10,000", |bench| {
        let directory = directory();
        bench.iter(|| {
            directory.save(0);
            directory.find(0)
        });
    });
    group.finish();
}

/// A store with organizations.
struct Directory {
    store: Store,
    names: Vec<String>,
    _folder: tempfile::TempDir,
}

impl Directory {
    fn new() -> Directory {
        let folder = tempfile::tempdir().unwrap();
        let mut random = ChaCha8Rng::seed_from_u64(1);
        let names: Vec<String> = (0..ORGANIZATIONS).map(|_| name(&mut random)).collect();
        let store = Store::open(folder.path(), Clock::System).unwrap();
        // One transaction, because each call of the store would be its own.
        let mut connection = rusqlite::Connection::open(folder.path().join("service.sqlite")).unwrap();
        let transaction = connection.transaction().unwrap();
        for (number, name) in names.iter().enumerate() {
            let sql = "INSERT INTO organization (id, name, type, created_at) VALUES (?1, ?2, 'PROVIDER', 0)";
            transaction.execute(sql, [&id(number), name]).unwrap();
            let sql = "INSERT INTO endpoint (id, organization, name, mode, label, type, refreshable, status, resources,
                                             fhir_base, client_id, scope, identifier_system, created_at)
                       VALUES (?1, ?1, ?1, 'live', json_array(?2), 'OAUTH', 1, 'LIVE', '[]', 'https://' || ?1 || '.example',
                               'c', '', 'urn:bench', 0)";
            transaction.execute(sql, [&id(number), name]).unwrap();
        }
        transaction.commit().unwrap();
        Directory {
            store,
            names,
            _folder: folder,
        }
    }

    /// Saves an organization unchanged, which counts as a change of the directory.
    fn save(&self, number: usize) {
        let organization = Organization {
            id: id(number),
            name: self.names[number].clone(),
            note: String::new(),
            organization_type: "PROVIDER".to_owned(),
        };
        self.store.organizations().save(&organization, Actor::Operator).unwrap();
    }

    /// Searches for an organization by its name without one letter.
    fn find(&self, number: usize) {
        let mut misspelt = self.names[number].clone();
        misspelt.remove(2);
        let found = self
            .store
            .endpoints()
            .search(Mode::Live, &misspelt, &[], SHOWN)
            .unwrap();
        assert!(!found.is_empty(), "{misspelt}");
    }
}

fn id(number: usize) -> String {
    format!("organization-{number}")
}

/// Two random words, rarely the same ones, and a kind of organization.
fn name(random: &mut impl Rng) -> String {
    let mut one_of = |all: &[&'static str]| all[random.next_u32() as usize % all.len()];
    let mut part = || one_of(&PARTS);
    let (first, second) = ([part(), part(), part()].concat(), [part(), part()].concat());
    format!("{first} {second} {}", one_of(&KINDS))
}
