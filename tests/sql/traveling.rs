//! Plans of statements, written as bytes and run in another process, give the same rows as here.

use std::sync::Arc;

use datafusion::physical_plan::ExecutionPlan;
use tabularium::codec::CodecError;
use tabularium::sql::{Options, Session};
use tabularium::views::View;

use super::{Lake, observations, parts, patients};
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
