//! What the pages take for granted: which have a lake already, what is done before a page or a line, and which lines
//! are not run.

use std::path::Path;

/// Pages that make their lake themselves. On others the lake has the records of 20 generated people.
pub(super) const WITHOUT_LAKE: [&str; 3] = ["README.md", "docs/first-contact.md", "docs/sealed.md"];

/// The commands that run before the first line of a page.
pub(super) const BEFORE_PAGES: [(&str, &[&str]); 9] = [
    ("README.md", &["rm -r records"]),
    ("docs/first-contact.md", &["rm -r records"]),
    (
        "docs/views.md",
        &[
            "cp \"$REPOSITORY\"/benches/views/{condition_codings,patients}.view.json views/",
            "mkdir terminology",
            "echo '{\"resourceType\": \"ValueSet\", \"url\": \"http://hl7.org/fhir/ValueSet/administrative-gender\", \"status\": \
             \"active\", \"compose\": {\"include\": [{\"system\": \"http://hl7.org/fhir/administrative-gender\"}]}}' > \
             terminology/gender.json",
            "tabularium serve --data lake",
        ],
    ),
    (
        "docs/consent.md",
        &[
            "tabularium serve --data lake",
            "tabularium sandbox",
            "KEYS=$(tabularium app create Keys --data lake | awk '/^test/ {print $2 \" \" $3}')",
            "PUBLISHABLE_KEY=${KEYS% *}",
            "SECRET_KEY=${KEYS#* }",
        ],
    ),
    (
        "docs/erasure.md",
        &[
            "tabularium erase --data lake --patient 581437f2-956a-4c84-89ec-ba264551683a --yes | tail -1 > receipt.jws",
            "JOB=$(tabularium receipt list --data lake | awk 'NR == 2 {print $1}')",
            "tabularium keys list --of receipt --data lake --json > keys.json",
        ],
    ),
    (
        "docs/pages.md",
        &[
            "tabularium app create 'My App' --data lake",
            "echo '<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"8\" height=\"8\"/>' > logo.svg",
        ],
    ),
    ("docs/records.md", &["ID=581437f2-956a-4c84-89ec-ba264551683a"]),
    ("docs/sealed.md", &["cp records/Patient.ndjson records.ndjson"]),
    (
        "docs/sql.md",
        &["echo 'SELECT count(*) FROM blood_pressure' > question.sql"],
    ),
];

/// The commands that run before a line.
pub(super) const BEFORE_LINES: [(&str, &str, &str); 2] = [
    (
        "docs/keys.md",
        "tabularium keys copy",
        "tabularium seal --data lake --key-file lake.key",
    ),
    (
        "docs/sealed.md",
        "tabularium restore",
        "tabularium seal --data lake --key-file lake.key && tabularium backup --data lake --to backups --key-file lake.key",
    ),
];

/// Lines with rows in the order of the lake. This order differs between lakes.
pub(super) const IN_ORDER_OF_LAKE: [(&str, &str); 6] = [
    ("README.md", "tabularium run examples/"),
    ("docs/views.md", "tabularium run examples/"),
    ("docs/views.md", "tabularium show"),
    ("docs/views.md", "tabularium describe"),
    ("docs/views.md", "$run?_limit=1"),
    ("docs/views.md", "$run?_format=csv&_limit=2"),
];

/// Lines that are not run, by a part of them.
pub(super) const EXCUSED: [(&str, &str, &str); 19] = [
    (
        "README.md",
        "cargo run --release",
        "builds in release; demo runs in tests/commands/demo.rs",
    ),
    ("README.md", "cargo test", "is what runs this"),
    ("README.md", "tabularium terminology load", PUBLISHERS),
    ("README.md", "tabularium terminology lookup", PUBLISHERS),
    (
        "README.md",
        "tabularium bench",
        "measures for half a minute; tests/bench runs it for less",
    ),
    ("docs/first-contact.md", "git clone", "needs the repository's address"),
    ("docs/first-contact.md", "cargo build --release", "builds in release"),
    (
        "docs/performance.md",
        "target/release/tabularium",
        "measures a release build over 200,000 resources",
    ),
    ("docs/terminology.md", "tabularium terminology load", PUBLISHERS),
    ("docs/terminology.md", "tabularium terminology lookup", PUBLISHERS),
    ("docs/terminology.md", "tabularium plans", PUBLISHERS),
    ("docs/consent.md", "tabularium consents", CONSENT),
    ("docs/consent.md", "tabularium audit", CONSENT),
    ("docs/consent.md", "tabularium sync list", CONSENT),
    ("docs/consent.md", "/oauth/introspect", CONSENT),
    ("docs/records.md", "/admin/riverbend/knobs", ATTACHMENTS),
    ("docs/records.md", "tabularium sync show", ATTACHMENTS),
    ("docs/records.md", "Authorization: Bearer $TOKEN", ATTACHMENTS),
    ("docs/webhooks.md", "tabularium listen", LISTENS),
];

const PUBLISHERS: &str = "needs files of publishers; tests/terminology and tests/plans load excerpts";
const CONSENT: &str = "needs a patient who signs in on the pages; tests/live.rs does";
const LISTENS: &str = "runs until it is stopped; tests/webhooks/listening.rs runs it";
const ATTACHMENTS: &str = "needs documents that a sync fetched; tests/sync/attachments has them";

/// README.md and the pages of docs/.
pub(super) fn page_names() -> Vec<String> {
    let docs = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")).unwrap();
    let mut names: Vec<String> = docs
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".md"))
        .map(|name| format!("docs/{name}"))
        .collect();
    names.push("README.md".to_owned());
    // Begin with the pages that take longest.
    names.sort_by_key(|name| (!WITHOUT_LAKE.contains(&name.as_str()), name.clone()));
    names
}
