//! Prepares a family: finds the rows from which each query may draw, or the reason why there are none.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::super::error::BenchError;
use super::dice::{Dice, Reservoir};
use super::mix::{Draw, Family, Kind, Query, Subject, Who};
use super::people::People;
use super::pool::{Code, PersonRows, Pool};
use super::row::{Field, Row};
use super::table::ids;
use crate::fhir::{TypeId, facts};
use crate::lake::scan::ScopedTable;
use crate::lake::{Lake, Scope};

/// The maximum number of resources in the sample for queries such as `{type}/{id}`. The sample has only their types and
/// ids.
const ANY: usize = 100_000;
/// The number of rows in a working set.
const WORKING_SET: usize = 1_000;
/// The maximum number of people from whose rows a query draws. Only a query of [`Kind::Once`] draws from more, because
/// it requests each person one time.
const HOT_PEOPLE: usize = 200;
/// A query of [`Draw::People`] with a code draws only rows whose code the person has in this many rows. If there are no
/// such rows, it draws any rows of the people.
const OF_PERSON: std::ops::RangeInclusive<u32> = 100..=400;
/// The minimum number of rows of a code for [`Draw::Large`].
const LARGE: u64 = 1_000;
const HUNDRED_THOUSAND: u64 = 100_000;

/// The values drawn from a lake.
#[derive(Debug)]
pub(in crate::bench) struct Drawn {
    pub(in crate::bench) people: People,
    pools: BTreeMap<&'static str, Pool>,
    any: Vec<Arc<Row>>,
    seed: u64,
}

/// A prepared family.
#[derive(Debug)]
pub(in crate::bench) struct Plan {
    pub(in crate::bench) kind: Kind,
    pub(in crate::bench) queries: Vec<Ready>,
    /// The number of rows of the searched table. `None` unless the report shows how many rows are read per second.
    pub(in crate::bench) table_rows: Option<u64>,
    /// The reasons why queries were left out, one for each of these queries.
    pub(in crate::bench) left_out: Vec<String>,
    total_weight: u64,
}

/// A query with the rows from which its values are drawn.
#[derive(Debug)]
pub(in crate::bench) struct Ready {
    pub(in crate::bench) query: Query,
    pub(in crate::bench) expects: Option<&'static str>,
    /// The rows from which the query draws: first a random group, then a row of the group.
    pub(in crate::bench) groups: Vec<Vec<Arc<Row>>>,
    pub(in crate::bench) others: Vec<Others>,
    pub(in crate::bench) people: Arc<[Box<str>]>,
    /// The number of rows that the query is expected to match: all rows with the code of its first group, or all rows
    /// of the type if the query has no `{code}`.
    matches: u64,
}

/// The rows from which a placeholder such as `{Patient.id}` gets its values. They have the type and the field of the
/// placeholder.
#[derive(Debug)]
pub(in crate::bench) struct Others {
    pub(in crate::bench) type_id: TypeId,
    pub(in crate::bench) field: Field,
    pub(in crate::bench) rows: Vec<Arc<Row>>,
}

impl Drawn {
    /// Reads the values that these families need.
    pub(in crate::bench) fn read(
        lake: &Lake,
        scope: &Arc<Scope>,
        families: &[Family],
        seed: u64,
    ) -> Result<Drawn, BenchError> {
        let snapshot = lake.refresh()?;
        let table = |type_id| lake.table(&snapshot, type_id, scope);
        let queries: Vec<&Query> = families.iter().flat_map(|family| &family.queries).collect();
        let wanted = types_of(&queries);
        let people = match facts().lookup("Patient") {
            Some(patient) if asks_for_people(&queries) => People::read(&table(patient), seed)?,
            _ => People::default(),
        };
        let mut drawn = Drawn {
            people,
            pools: BTreeMap::new(),
            any: Vec::new(),
            seed,
        };
        for type_id in &wanted {
            let pool = Pool::read(&table(*type_id), &drawn.people, seed)?;
            drawn.pools.insert(facts().get(*type_id).name, pool);
        }
        if queries.iter().any(|query| query.subject == Subject::Lake) {
            let tables = snapshot.tables.values().filter(|table| table.mode == scope.mode);
            let mut types: Vec<TypeId> = tables.map(|table| table.type_id).collect();
            types.sort_by_key(|type_id| facts().get(*type_id).name);
            drawn.any = any(types.into_iter().map(table), seed)?;
        }
        Ok(drawn)
    }

    /// Prepares a family. The error is the reason why it cannot run.
    pub(in crate::bench) fn plan(&self, family: &Family) -> Result<Plan, String> {
        let mut left_out = Vec::new();
        let mut queries = Vec::new();
        for query in &family.queries {
            match self.ready(query, family.kind) {
                Ok(ready) => queries.push(ready),
                Err(reason) => left_out.push(reason),
            }
        }
        if family.kind == Kind::Pages {
            // Keep only the query whose number of matches is closest to a hundred thousand.
            queries.sort_by_key(|ready| distance(ready.matches));
            queries.truncate(1);
        }
        if family.kind == Kind::Once {
            queries.truncate(1);
        }
        if queries.is_empty() {
            return Err(left_out.into_iter().next().unwrap_or_default());
        }
        if matches!(family.kind, Kind::Once | Kind::Pages) {
            left_out.clear();
        }
        let table_rows = queries
            .first()
            .and_then(|ready| self.pool(ready.query.subject))
            .map(|pool| pool.rows);
        Ok(Plan {
            kind: family.kind,
            total_weight: queries.iter().map(|ready| u64::from(ready.query.weight)).sum(),
            table_rows: table_rows.filter(|_| family.scans && queries.len() == 1),
            queries,
            left_out,
        })
    }

    fn ready(&self, query: &Query, kind: Kind) -> Result<Ready, String> {
        let own = query.own();
        let groups = self.groups(query, &own, kind)?;
        let mut others = Vec::new();
        for (type_id, field) in query.others() {
            let name = facts().get(type_id).name;
            let sample = self.pools.get(name).map_or(&[][..], |pool| &pool.sample);
            let rows: Vec<Arc<Row>> = sample.iter().filter(|row| row.has(&[field])).cloned().collect();
            if rows.is_empty() {
                return Err(format!("the lake has no {name} with a {}", field.name()));
            }
            others.push(Others { type_id, field, rows });
        }
        if query.names_people() && self.people.all().is_empty() {
            return Err("the lake has no Patient".to_owned());
        }
        let code = groups.first().and_then(|group| group.first()?.get(Field::Code));
        let pool = self.pool(query.subject);
        let matches = pool.map(|pool| match code.filter(|_| own.contains(&Field::Code)) {
            Some(code) => pool
                .codes
                .iter()
                .find(|other| *other.text == *code)
                .map_or(0, |code| code.rows),
            None => pool.rows,
        });
        Ok(Ready {
            query: query.clone(),
            expects: query.expects(),
            groups,
            others,
            people: if query.names_people() {
                self.people.all().into()
            } else {
                Arc::default()
            },
            matches: matches.unwrap_or_default(),
        })
    }

    fn pool(&self, subject: Subject) -> Option<&Pool> {
        match subject {
            Subject::Type(type_id) => self.pools.get(facts().get(type_id).name),
            Subject::Lake | Subject::Server => None,
        }
    }

    /// Returns the rows from which a query's values are drawn, in groups that are equally likely. The error is the
    /// reason why there are no such rows.
    fn groups(&self, query: &Query, own: &[Field], kind: Kind) -> Result<Vec<Vec<Arc<Row>>>, String> {
        let mut dice = Dice::new(self.seed, &query.text, 0);
        let nothing = || vec![vec![Arc::new(Row::default())]];
        let pool = match query.subject {
            Subject::Server => return Ok(nothing()),
            Subject::Lake => {
                let mut rows = self.any.clone();
                if query.draw == Draw::WorkingSet {
                    dice.deal(&mut rows, WORKING_SET);
                    rows.truncate(WORKING_SET);
                }
                return some(vec![rows], || "the lake holds nothing".to_owned());
            }
            Subject::Type(_) => self.pool(query.subject),
        };
        let name = match query.subject {
            Subject::Type(type_id) => facts().get(type_id).name,
            _ => "",
        };
        let Some(pool) = pool.filter(|pool| pool.rows > 0) else {
            return Err(format!("the lake has no {name}"));
        };
        if own.is_empty() {
            return Ok(nothing());
        }
        let fit = |rows: &[Arc<Row>]| -> Vec<Arc<Row>> { rows.iter().filter(|row| row.has(own)).cloned().collect() };
        let groups = match query.draw {
            Draw::Rows => vec![fit(&pool.sample)],
            Draw::WorkingSet => {
                let mut rows = fit(&pool.sample);
                dice.deal(&mut rows, WORKING_SET);
                rows.truncate(WORKING_SET);
                vec![rows]
            }
            Draw::People => people(&pool.people, own, kind),
            Draw::Common => of_codes(
                pool,
                |code| code.rows * 100 >= pool.rows,
                fit,
                |code| u64::MAX - code.rows,
            ),
            Draw::Rare => of_codes(pool, |code| code.rows * 1_000 <= pool.rows, fit, |code| code.rows),
            Draw::Large => of_codes(pool, |code| code.rows >= LARGE, fit, |code| u64::MAX - code.rows),
            Draw::HundredThousand => of_codes(pool, |_| false, fit, |code| distance(code.rows)),
        };
        some(groups, || {
            let fields: Vec<&str> = own.iter().map(|field| field.name()).collect();
            format!("the lake has no {name} with a {}", fields.join(" and a "))
        })
    }
}

/// Returns the groups that have rows. Fails if no group has any.
fn some(mut groups: Vec<Vec<Arc<Row>>>, why: impl Fn() -> String) -> Result<Vec<Vec<Arc<Row>>>, String> {
    groups.retain(|group| !group.is_empty());
    if groups.is_empty() { Err(why()) } else { Ok(groups) }
}

/// Returns the ratio between a number and a hundred thousand, the larger over the smaller, times 1,000.
fn distance(rows: u64) -> u64 {
    let (rows, wanted) = (rows.max(1), HUNDRED_THOUSAND);
    rows.max(wanted) * 1_000 / rows.min(wanted)
}

/// Returns a group of rows for each code that `wanted` accepts. `fit` selects the rows that the query can use. Codes
/// without usable rows are skipped. If no wanted code is left, returns one group: the usable rows of the code with the
/// lowest `rank`.
fn of_codes(
    pool: &Pool,
    wanted: impl Fn(&Code) -> bool,
    fit: impl Fn(&[Arc<Row>]) -> Vec<Arc<Row>>,
    rank: impl Fn(&Code) -> u64,
) -> Vec<Vec<Arc<Row>>> {
    let rows = |code: &Code| Some(fit(&code.sample)).filter(|rows| !rows.is_empty());
    let found: Vec<Vec<Arc<Row>>> = pool.codes.iter().filter(|code| wanted(code)).filter_map(rows).collect();
    if !found.is_empty() {
        return found;
    }
    let mut codes: Vec<&Code> = pool.codes.iter().collect();
    codes.sort_by_key(|code| rank(code));
    codes.into_iter().find_map(rows).into_iter().collect()
}

/// Returns a group of rows for each person. There are at most [`HOT_PEOPLE`] people, except for [`Kind::Once`], which
/// requests each person one time.
fn people(people: &[PersonRows], own: &[Field], kind: Kind) -> Vec<Vec<Arc<Row>>> {
    let limit = if kind == Kind::Once { people.len() } else { HOT_PEOPLE };
    let rows = |wanted: &dyn Fn(u32) -> bool| -> Vec<Vec<Arc<Row>>> {
        let of_person = |person: &PersonRows| -> Vec<Arc<Row>> {
            let fits = |(row, many): &&(Arc<Row>, u32)| row.has(own) && wanted(*many);
            person.sample.iter().filter(fits).map(|(row, _)| row.clone()).collect()
        };
        people
            .iter()
            .map(of_person)
            .filter(|rows| !rows.is_empty())
            .take(limit)
            .collect()
    };
    if own.contains(&Field::Code) {
        let usual = rows(&|many| OF_PERSON.contains(&many));
        if !usual.is_empty() {
            return usual;
        }
    }
    rows(&|_| true)
}

/// Returns the types whose rows the queries need.
fn types_of(queries: &[&Query]) -> BTreeSet<TypeId> {
    let mut types = BTreeSet::new();
    for query in queries {
        if let Subject::Type(type_id) = query.subject {
            types.insert(type_id);
        }
        types.extend(query.others().into_iter().map(|(type_id, _)| type_id));
    }
    types
}

fn asks_for_people(queries: &[&Query]) -> bool {
    queries
        .iter()
        .any(|query| query.draw == Draw::People || query.token == Who::Patient || query.names_people())
}

/// Draws up to `count` of the resources that a scope shows. The rows have only the type and id.
pub(in crate::bench) fn some_of(
    lake: &Lake,
    scope: &Arc<Scope>,
    seed: u64,
    count: usize,
) -> Result<Vec<Arc<Row>>, BenchError> {
    let snapshot = lake.refresh()?;
    let types = snapshot.tables.keys().filter(|(mode, _)| *mode == scope.mode);
    let mut rows = any(types.map(|(_, type_id)| lake.table(&snapshot, *type_id, scope)), seed)?;
    Dice::new(seed, "some", 0).deal(&mut rows, count);
    rows.truncate(count);
    Ok(rows)
}

/// Returns a sample of the resources in these tables. The rows have only the type and id.
fn any(tables: impl Iterator<Item = ScopedTable>, seed: u64) -> Result<Vec<Arc<Row>>, BenchError> {
    let mut dice = Dice::new(seed, "any", 0);
    let mut rows = Reservoir::new(ANY);
    for table in tables {
        let name = facts().get(table.type_id()).name;
        ids(&table, |id| {
            rows.offer(&mut dice, || {
                let mut row = Row::default();
                row.set(Field::Type, name);
                row.set(Field::Id, id);
                Arc::new(row)
            });
        })?;
    }
    Ok(rows.items().to_vec())
}

impl Plan {
    /// Draws a query by weight.
    pub(in crate::bench) fn draw(&self, dice: &mut Dice) -> Option<&Ready> {
        if let [only] = self.queries.as_slice() {
            return Some(only);
        }
        let mut at = dice.below(usize::try_from(self.total_weight).unwrap_or(usize::MAX)) as u64;
        self.queries.iter().find(|ready| {
            let weight = u64::from(ready.query.weight);
            let found = at < weight;
            at = at.saturating_sub(weight);
            found
        })
    }

    /// Returns the ids of the Patients who need a token of their own, because a query can draw their rows and carries
    /// their token.
    pub(in crate::bench) fn token_people(&self) -> BTreeSet<&str> {
        let by_patient = self.queries.iter().filter(|ready| ready.query.token == Who::Patient);
        by_patient
            .flat_map(|ready| ready.groups.iter().flatten())
            .filter_map(|row| row.get(Field::Patient))
            .collect()
    }
}

impl Ready {
    /// Draws a group, and a row of the group.
    pub(in crate::bench) fn row(&self, dice: &mut Dice) -> Option<&Arc<Row>> {
        dice.one_of(&self.groups).and_then(|group| dice.one_of(group))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::ask::mix::Mix;
    use crate::bench::connect::target::Target;
    use crate::ingest::{self, Session};
    use crate::lake::Mode;

    const RECORDS: &[&str] = &[
        r#"{"resourceType":"Patient","id":"p1","birthDate":"1970-02-03"}"#,
        r#"{"resourceType":"Patient","id":"p2"}"#,
        r#"{"resourceType":"Observation","id":"o1","status":"final","subject":{"reference":"Patient/p1"},
            "code":{"coding":[{"system":"http://loinc.org","code":"8867-4"}]},"effectiveDateTime":"2020-01-31T10:00:00Z",
            "category":[{"coding":[{"system":"http://c","code":"vital,signs"}]}],"valueQuantity":{"value":72.50}}"#,
        r#"{"resourceType":"Observation","id":"o2","status":"final","subject":{"reference":"Patient/p1"},
            "code":{"coding":[{"system":"http://loinc.org","code":"8867-4"}]}}"#,
        r#"{"resourceType":"Observation","id":"o3","status":"final","subject":{"reference":"Patient/p2"},
            "code":{"coding":[{"code":"local"}]},"effectivePeriod":{"start":"2021-01-01"}}"#,
    ];

    struct Fixture {
        _folder: tempfile::TempDir,
        lake: Lake,
    }

    fn fixture() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let lake = Lake::open_or_create(folder.path()).unwrap();
        let mut writer = lake.writer().unwrap();
        for (application, records) in [("ours", RECORDS), ("theirs", &RECORDS[..0])] {
            let options = ingest::Options {
                application: application.to_owned(),
                ..ingest::Options::default()
            };
            let mut session = Session::begin(&mut writer, options).unwrap();
            for record in records {
                session.add_document(record.as_bytes()).unwrap();
            }
            if application == "theirs" {
                let foreign = r#"{"resourceType":"Observation","id":"x","status":"final","code":{"coding":[{"code":"foreign"}]}}"#;
                session.add_document(foreign.as_bytes()).unwrap();
            }
            assert_eq!(session.finish().unwrap().refused, 0);
        }
        drop(writer);
        Fixture { _folder: folder, lake }
    }

    /// Draws 50 requests for a query. Returns their first lines and bodies, without duplicates.
    fn drawn(fixture: &Fixture, query: &str, seed: u64) -> Result<BTreeSet<String>, String> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mix.json");
        std::fs::write(
            &path,
            format!(r#"{{"families":[{{"name":"x","queries":[{{{query}}}]}}]}}"#),
        )
        .unwrap();
        let mix = Mix::load(path.to_str().unwrap()).unwrap();
        let scope = Arc::new(Scope {
            mode: Mode::Live,
            application: "ours".into(),
            patient: None,
        });
        let drawn = Drawn::read(&fixture.lake, &scope, &mix.families, seed).unwrap();
        let plan = drawn.plan(&mix.families[0])?;
        let target = Target::parse("http://localhost/fhir").unwrap();
        let (mut dice, mut out) = (Dice::new(seed, "test", 0), Vec::new());
        let mut requests = BTreeSet::new();
        for _ in 0..50 {
            let ready = plan.draw(&mut dice).unwrap();
            let row = ready.row(&mut dice).unwrap();
            ready.request(row, &target, Some("t0ken"), &mut dice, &mut out);
            let text = String::from_utf8(out.clone()).unwrap();
            assert!(text.contains("\r\nAuthorization: Bearer t0ken\r\n") && text.contains("\r\nHost: localhost\r\n"));
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let line = head.lines().next().unwrap().strip_suffix(" HTTP/1.1").unwrap();
            requests.insert(format!("{line} {body}").trim_end().to_owned());
        }
        Ok(requests)
    }

    fn set(requests: &[&str]) -> BTreeSet<String> {
        requests.iter().map(|request| (*request).to_owned()).collect()
    }

    #[test]
    fn queries_ask_for_what_the_lake_holds_and_nothing_else() {
        let fixture = fixture();
        let observations = "GET /fhir/Observation";
        for (query, requests) in [
            (
                r#""query": "Observation?code={code}""#,
                &["?code=http%3A%2F%2Floinc.org%7C8867-4", "?code=local"][..],
            ),
            (
                r#""query": "Observation?value-quantity={value}&date=ge{date}&date=lt{until}&category={category}""#,
                &[
                    "?value-quantity=72.50&date=ge2020-01-31&date=lt2020-04-30&category=http%3A%2F%2Fc%7Cvital%5C%2Csigns",
                ],
            ),
            (
                r#""query": "Observation?patient={patient}&code={code}", "draw": "people""#,
                &[
                    "?patient=p1&code=http%3A%2F%2Floinc.org%7C8867-4",
                    "?patient=p2&code=local",
                ],
            ),
            (
                r#""query": "Observation/{id}", "draw": "working-set""#,
                &["/o1", "/o2", "/o3"],
            ),
            (
                r#""query": "Observation?code={code}", "draw": "rare""#,
                &["?code=local"],
            ),
            (
                r#""query": "Observation?code={code}", "draw": "large""#,
                &["?code=http%3A%2F%2Floinc.org%7C8867-4"],
            ),
            (
                r#""query": "Observation?patient.birthdate={Patient.date}""#,
                &["?patient.birthdate=1970-02-03"],
            ),
        ] {
            let expected: Vec<String> = requests.iter().map(|rest| format!("{observations}{rest}")).collect();
            assert_eq!(
                drawn(&fixture, query, 1).unwrap(),
                expected.into_iter().collect(),
                "{query}"
            );
        }
        assert_eq!(
            drawn(&fixture, r#""query": "{type}/{id}""#, 1).unwrap(),
            set(&[
                "Patient/p1",
                "Patient/p2",
                "Observation/o1",
                "Observation/o2",
                "Observation/o3"
            ]
            .map(|path| format!("GET /fhir/{path}"))
            .each_ref()
            .map(String::as_str))
        );
        assert_eq!(
            drawn(
                &fixture,
                r#""query": "Observation/_search", "post": "patient={patients}", "token": "patient""#,
                1
            )
            .unwrap(),
            set(&[
                "POST /fhir/Observation/_search patient=p1,p2",
                "POST /fhir/Observation/_search patient=p2,p1"
            ])
        );
    }

    #[test]
    fn what_the_lake_lacks_is_said() {
        let fixture = fixture();
        for (query, reason) in [
            (r#""query": "Condition?code={code}""#, "no Condition"),
            (r#""query": "Patient?x={code}""#, "no Patient with a code"),
            (
                r#""query": "Patient?x={Observation.until}&y={Condition.code}""#,
                "no Condition with a code",
            ),
            (r#""view": "eob_adjudication""#, "no ExplanationOfBenefit"),
        ] {
            let error = drawn(&fixture, query, 1).unwrap_err();
            assert!(error.contains(reason), "{query}: {error}");
        }
    }
}
