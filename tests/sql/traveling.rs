//! Plans of statements, written as bytes and run in another process, give the same rows as here.

use std::sync::Arc;
use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;
use tabularium::codec::CodecError;
use tabularium::lake::{LakeError, Mode};
use tabularium::sql::{Options, Session};
use tabularium::views::View;

use super::{Lake, observations, parts, patients};
use crate::harness::lake::{fixture, patient, row, table, write};
use crate::harness::plans::Traveling;
use crate::harness::records;

fn plan(session: &Session, statement: &str) -> Arc<dyn ExecutionPlan> {
    let query = futures::executor::block_on(session.query(statement));
    query
        .unwrap_or_else(|error| panic!("{statement}: {error}"))
        .physical()
        .clone()
}

fn session(lake: &tabularium::lake::Lake, application: &str) -> Session {
    let view = |definition: serde_json::Value| {
        let view = View::parse(definition.to_string().as_bytes()).unwrap();
        (view.name().unwrap().to_owned(), Arc::new(view))
    };
    let views = [patients(), observations(), parts()].map(view).to_vec();
    let options = Options {
        memory: 1 << 28,
        ..Options::default()
    };
    Session::new(lake, &records::application(application), views, options).unwrap()
}

#[test]
fn statements_give_the_same_rows_in_another_process() {
    let folder = Lake::new();
    let lake = tabularium::lake::Lake::open(folder.data()).unwrap();
    let session = session(&lake, "local");
    let mut traveling = Traveling::new(&lake);
    for statement in [
        "SELECT id, gender FROM Patient WHERE gender = 'female' ORDER BY id",
        "SELECT id, name[1]['family'] AS family FROM Patient ORDER BY id",
        "SELECT id, fhirpath(Patient, 'name.family.first()') AS family FROM Patient ORDER BY id",
        "SELECT fhirpath_list(Patient, 'name.given') AS given FROM Patient ORDER BY id",
        "SELECT id FROM Observation WHERE fhirpath(Observation, 'code.coding.code.first()') = 'weight' ORDER BY id",
        "SELECT * FROM patients ORDER BY id",
        "SELECT id, value FROM observations WHERE code = 'weight' AND value > 70 ORDER BY day DESC",
        "SELECT code, count(*) AS n, round(avg(CAST(value AS DOUBLE)), 1) AS mean FROM observations GROUP BY code ORDER BY code",
        "SELECT p.id, count(o.id) AS n FROM patients p LEFT JOIN observations o ON o.patient = p.id GROUP BY p.id ORDER BY p.id",
        "SELECT P.id, fhirpath(O, 'id') AS o FROM Patient P LEFT JOIN Observation O ON O.patient = P.id AND O.status = 'x' ORDER BY P.id",
        "SELECT id, row_number() OVER (PARTITION BY patient ORDER BY id) AS at FROM observations ORDER BY id",
        "SELECT id, count(*) OVER () AS n FROM observations ORDER BY id",
        "SELECT part, sum(value) AS total FROM parts GROUP BY part ORDER BY part",
        "SELECT id FROM Patient WHERE id IN (SELECT patient FROM observations WHERE code = 'weight') ORDER BY id",
        "SELECT id FROM patients UNION ALL SELECT id FROM observations ORDER BY 1",
        "SELECT upper(family) AS family, length(family) AS n FROM patients WHERE family LIKE 'S%'",
        "SELECT id FROM patients WHERE born >= DATE '1985-01-01' ORDER BY born LIMIT 1",
    ] {
        traveling.add(statement, &plan(&session, statement)).unwrap();
    }
    assert!(traveling.arrive() > 12);
}

#[test]
fn a_statement_reads_as_whom_it_was_planned_for() {
    let folder = Lake::new();
    let lake = tabularium::lake::Lake::open(folder.data()).unwrap();
    let statement = "SELECT id FROM Patient ORDER BY id";
    let mut traveling = Traveling::new(&lake);
    let other = plan(&session(&lake, "other"), statement);
    assert!(traveling.rows(&other).unwrap().is_empty());
    traveling.add("other", &other).unwrap();
    assert_eq!(traveling.arrive(), 0);
}

/// Data in memory for one statement cannot be read by another process.
#[test]
fn an_operator_that_cannot_travel_is_named() {
    let folder = Lake::new();
    let lake = tabularium::lake::Lake::open(folder.data()).unwrap();
    let session = session(&lake, "local");
    let tables = plan(&session, "SHOW TABLES");
    match Traveling::new(&lake).codec.encode(&tables) {
        Err(CodecError::Operator(name)) => assert!(name.ends_with("Exec"), "{name}"),
        other => panic!("{other:?}"),
    }
}

/// A plan is refused where it is written if no reader could read it. The command runs on a stack of this size too.
#[test]
fn a_plan_that_is_nested_too_deeply_is_refused() {
    let deep_plans = || {
        let folder = Lake::new();
        let lake = tabularium::lake::Lake::open(folder.data()).unwrap();
        let session = session(&lake, "local");
        let traveling = Traveling::new(&lake);
        let sum = |parts: usize| {
            format!(
                "SELECT length(id){} AS n FROM Patient",
                " + length(id) - 1".repeat(parts)
            )
        };
        let few = plan(&session, &sum(5));
        assert!(traveling.codec.decode(&traveling.codec.encode(&few).unwrap()).is_ok());
        let many = plan(&session, &sum(40));
        assert!(!traveling.rows(&many).unwrap().is_empty());
        let written = traveling.codec.encode(&many);
        assert!(matches!(written, Err(CodecError::Deep)), "{written:?}");
    };
    let thread = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(deep_plans)
        .unwrap();
    thread.join().unwrap();
}

/// A plan names its snapshot. Once that has expired nobody can run the plan any more.
#[test]
fn a_plan_of_an_expired_snapshot_is_refused() {
    let it = fixture();
    let first = it.commit(&[row(1)]);
    let (old_file, snapshot) = (table(&first).files[0].id, first.id);
    drop(first);
    let written = {
        let session = Session::new(
            &it.lake,
            &records::application("local"),
            Vec::new(),
            Options {
                memory: 1 << 28,
                ..Options::default()
            },
        );
        let plan = plan(&session.unwrap(), "SELECT id FROM Patient");
        let traveling = Traveling::new(&it.lake);
        let written = traveling.codec.encode(&plan).unwrap();
        assert!(traveling.codec.decode(&written).is_ok());
        written
    };
    let mut writer = it.lake.writer().unwrap();
    let mut transaction = writer.begin();
    let new = write(&mut transaction, &[row(1)]);
    transaction
        .replace_files(Mode::Live, patient(), [old_file], [new])
        .unwrap();
    transaction.commit("test", "").unwrap();
    it.clock.advance(Duration::from_secs(2 * 3_600));
    assert_eq!(writer.expire().unwrap().files, 1);
    drop(writer);
    let traveling = Traveling::new(&it.lake);
    let read = traveling.codec.decode(&written);
    assert!(
        matches!(read, Err(CodecError::Lake(LakeError::SnapshotGone(id))) if id == snapshot),
        "{read:?}"
    );
    let ran = traveling.run(&[traveling.file("plan", &written)]);
    let error = String::from_utf8(ran.stderr).unwrap();
    assert_eq!((ran.status.code(), ran.stdout.len()), (Some(2), 0), "{error}");
    assert!(error.contains(&format!("snapshot {snapshot}")), "{error}");
}
