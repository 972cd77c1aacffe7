//! Plans with semi-joins, written as bytes and run in another process: their rows and their scopes.

use datafusion::physical_plan::displayable;
use serde_json::json;
use tabularium::codec::CodecError;
use tabularium::lake::Lake;
use tabularium::search::Engine;

use super::super::joined;
use super::super::small::{Small, small};
use crate::harness::plans::Traveling;
use crate::harness::records;

#[test]
fn plans_with_other_sides_give_the_same_rows_in_another_process() {
    let records = joined::plans::records();
    let mut traveling = Traveling::new(&records.lake);
    let mut semi_joins = 0;
    for query in [
        "Observation?encounter.class=AMB&_count=5",
        "Observation?encounter:Encounter.class=AMB&_sort=-date&_count=5",
        "Observation?encounter:Encounter.service-provider:Organization.name=Clinic 1&_count=5",
        "Observation?encounter.class=AMB&code=1234-1,1234-2&_sort=code,-date",
        "Observation?encounter.class=AMB&encounter.service-provider.name=Clinic 0",
        "Observation?encounter.class=IMP&subject:Patient.gender=female&_count=50",
        "Observation?_list=k0",
        "Observation?_filter=encounter.class eq AMB",
        "Observation?_filter=encounter[class eq AMB].service-provider.name eq \"Clinic 1\"",
        "Observation?_filter=code eq 1234-1 or encounter.class eq IMP",
        "Observation?_filter=not (encounter.class eq IMP) and date ge 2005",
        "Encounter?_has:Observation:encounter:code=1234-1&_count=5",
        "Encounter?_has:Observation:encounter:subject.gender=female&class=AMB",
        "Patient?_has:Observation:subject:code=1234-1",
        "Location?partof:below=l0",
        "Location?partof:above=Location/l2",
        "Organization?_has:Encounter:service-provider:_has:Observation:encounter:code=1234-3",
        "Practitioner?_has:Patient:general-practitioner:_id=p0,p1",
        "Observation?date=ge2010&encounter.date:missing=true&_sort=date",
    ] {
        for plan in records.plans(query) {
            let shown = datafusion::physical_plan::displayable(plan.as_ref())
                .indent(false)
                .to_string();
            semi_joins += shown.matches("SemiJoinExec").count();
            traveling.add(query, &plan).unwrap();
        }
    }
    assert!(semi_joins > 10, "{semi_joins}");
    assert!(traveling.arrive() > 20);
}

/// A chain also searches contained resources, and plans show that condition.
#[test]
fn answers_inside_of_contained_resources_travel() {
    let encounter = |id: &str, class: &str| json!({"resourceType": "Encounter", "id": id, "status": "finished", "class": {"code": class}});
    let observation = |id: &str, reference: &str, contained: serde_json::Value| {
        json!({"resourceType": "Observation", "id": id, "status": "final", "code": {"text": "x"},
            "encounter": {"reference": reference}, "contained": contained})
    };
    let records = small(&[
        encounter("e1", "AMB"),
        encounter("e2", "IMP"),
        observation("outside", "Encounter/e1", json!([])),
        observation("other", "Encounter/e2", json!([])),
        observation("inside", "#c", json!([encounter("c", "AMB")])),
        observation("other-inside", "#c", json!([encounter("c", "IMP")])),
    ]);
    let mut traveling = Traveling::new(&records.lake);
    for plan in records.plans("Observation?encounter.class=AMB&_sort=_id") {
        let rows = traveling.add("contained", &plan).unwrap();
        assert!(rows.len() == 2 || rows == [r#"{"count(*)":2}"#], "{rows:?}");
    }
    assert_eq!(traveling.arrive(), 2);
}

/// Searches of several types, `_contained`, canonicals and includes run plans besides those of a page and a count.
#[test]
fn merged_and_contained_and_included_plans_give_the_same_rows_in_another_process() {
    let records = joined::plans::records();
    let mut traveling = Traveling::new(&records.lake);
    for (query, operator) in [
        ("?_type=Observation,Encounter&_sort=-date&_count=5", "SortExec"),
        ("?_type=Observation,Encounter&_count=5&_total=accurate", "AggregateExec"),
        ("Encounter?_revinclude=Observation:encounter&_count=3", "LakeScanExec"),
        (
            "Observation?_include=Observation:encounter&_count=3",
            "LookupExec: Encounter by id",
        ),
        ("Patient?_contained=both&_count=3", "OrderedLimitExec"),
    ] {
        let plans = records.ran_plans(query);
        let shown: Vec<String> = plans
            .iter()
            .map(|plan| displayable(plan.as_ref()).indent(false).to_string())
            .collect();
        assert!(shown.iter().any(|plan| plan.contains(operator)), "{query}: {shown:?}");
        plans.iter().for_each(|plan| traveling.add_ran(query, plan));
    }
    assert!(traveling.arrive() > 5);

    let records = of_canonicals();
    let mut traveling = Traveling::new(&records.lake);
    for query in [
        "Questionnaire?_revinclude=QuestionnaireResponse:questionnaire",
        "QuestionnaireResponse?_include=QuestionnaireResponse:questionnaire",
        "QuestionnaireResponse?questionnaire:Questionnaire.title=first",
        "Questionnaire?_has:QuestionnaireResponse:questionnaire:status=completed",
        "Practitioner?_contained=both&gender=female",
        "Practitioner?_contained=true&_containedType=contained&_has:Patient:general-practitioner:_id=p",
    ] {
        let plans = records.ran_plans(query);
        assert!(!plans.is_empty(), "{query}");
        plans.iter().for_each(|plan| traveling.add_ran(query, plan));
    }
    assert!(traveling.arrive() > 5);
}

/// Resources with canonicals, and with contained resources.
fn of_canonicals() -> Small {
    let response = |id: &str, questionnaire: &str| {
        json!({"resourceType": "QuestionnaireResponse", "id": id, "status": "completed",
            "questionnaire": questionnaire})
    };
    let questionnaire = |id: &str, title: &str| {
        json!({"resourceType": "Questionnaire", "id": id, "status": "active", "title": title,
            "url": format!("http://example.org/{id}"), "version": "1"})
    };
    small(&[
        questionnaire("q1", "First"),
        questionnaire("q2", "Second"),
        response("r1", "http://example.org/q1"),
        response("r2", "http://example.org/q2|1"),
        response("r3", "http://example.org/q2|2"),
        json!({"resourceType": "Practitioner", "id": "d", "gender": "female"}),
        json!({"resourceType": "Patient", "id": "p", "generalPractitioner": [{"reference": "#d"}],
            "contained": [{"resourceType": "Practitioner", "id": "d", "gender": "female"}]}),
    ])
}

/// Canonicals and contained resources are resolved by plans of their own, and an explanation has them.
#[test]
fn the_plans_of_canonicals_and_contained_resources_are_explained() {
    let records = of_canonicals();
    for (query, step, expected) in [
        (
            "QuestionnaireResponse?questionnaire:Questionnaire.title=first",
            "others",
            "columns=[url, version",
        ),
        (
            "Questionnaire?_has:QuestionnaireResponse:questionnaire:status=completed",
            "others",
            "of 2 URLs",
        ),
        (
            "QuestionnaireResponse?_include=QuestionnaireResponse:questionnaire",
            "include",
            "of 2 URLs",
        ),
        (
            "Patient?_contained=true&organization.name=x",
            "inside",
            "IdsExec: Organization.id",
        ),
    ] {
        let explained = records.explained(query);
        let steps = explained["steps"].as_array().unwrap();
        let step = steps.iter().find(|one| one["step"] == step);
        let step = step.unwrap_or_else(|| panic!("{query}: {explained}"));
        let plans = step["plans"].to_string();
        assert!(plans.contains(expected), "{query}: {plans}");
    }
}

fn people() -> Small {
    let observation = |at: usize| {
        json!({"resourceType": "Observation", "id": format!("o{at}"), "status": "final", "code": {"text": "x"},
            "subject": {"reference": format!("Patient/{}", ["ann", "ben"][at % 2])}})
    };
    let patient = |id: &str| json!({"resourceType": "Patient", "id": id});
    let mut all = vec![patient("ann"), patient("ben")];
    all.extend((0..6).map(observation));
    small(&all)
}

/// A search over one person's columns runs an operator that travels like a scan.
#[test]
fn plans_over_one_persons_columns_give_the_same_rows_in_another_process() {
    let records = people();
    let mut traveling = Traveling::new(&records.lake);
    for (query, rows) in [
        ("Observation?subject=Patient/ann", 3),
        ("Observation?subject=Patient/ann&_sort=-_id&_count=2", 2),
        ("Observation?subject=Patient/ann&_id=o2,o3,o4", 2),
        ("Observation?subject=Patient/ann&_count=2&_offset=2", 1),
    ] {
        let plans = records.plans(query);
        assert!(plans.iter().all(|plan| plan.name() == "LookupExec"), "{query}");
        assert_eq!(traveling.add(query, &plans[0]).unwrap().len(), rows, "{query}");
        traveling.add(query, &plans[1]).unwrap();
    }
    for query in [
        "Observation?subject=Patient/ann&_sort=-_id&_count=2&_include=Observation:subject",
        "Observation?subject=Patient/ann&_summary=count",
        "?_type=Observation,Encounter&subject=Patient/ann&_sort=_id",
    ] {
        let plans = records.ran_plans(query);
        assert!(!plans.is_empty(), "{query}");
        plans.iter().for_each(|plan| traveling.add_ran(query, plan));
    }
    assert!(traveling.arrive() > 8);
}

/// A plan reads with its own scope. A patient's plan that was changed to read another patient is refused.
#[test]
fn a_plan_whose_scope_was_changed_is_refused() {
    let records = people();
    let engine = Engine::new(
        records.lake.clone(),
        tabularium::fhir::search_parameter::SearchParameters::builtin(),
    );
    let engine = engine.without_shortcuts();
    let ann = records::patient(&records.lake, "local", "ann");
    let plans = records.plans_of(&engine, &ann, "Observation?_count=20");
    let mut traveling = Traveling::new(&records.lake);
    traveling.add("ann", &plans[0]).unwrap();
    assert_eq!(traveling.rows(&plans[0]).unwrap().len(), 3);
    assert_eq!(traveling.arrive(), 1);

    let written = traveling.codec.encode(&plans[0]).unwrap();
    let changed = |from: &[u8], to: &[u8]| {
        assert_eq!(from.len(), to.len());
        let mut changed = written.clone();
        let at = changed.windows(from.len()).position(|bytes| bytes == from).unwrap();
        changed[at..at + to.len()].copy_from_slice(to);
        changed
    };
    let (ann_owner, ben_owner) = (
        records.lake.owner_of("local", "ann"),
        records.lake.owner_of("local", "ben"),
    );
    let (ann_owner, ben_owner) = (ann_owner.to_string(), ben_owner.to_string());
    let mut tried = vec![
        ("another patient", changed(br#"["ann"]"#, br#"["ben"]"#)),
        ("another application", changed(br#""local""#, br#""other""#)),
        ("the test records", changed(br#""is_live":true"#, br#""is_livE":true"#)),
        ("cut off", written[..written.len() - 1].to_vec()),
        ("nothing", Vec::new()),
    ];
    if ann_owner.len() == ben_owner.len() {
        tried.push(("another owner", changed(ann_owner.as_bytes(), ben_owner.as_bytes())));
    }
    for (name, bytes) in &tried {
        let read = traveling.codec.decode(bytes);
        assert!(matches!(read, Err(CodecError::Altered)), "{name}");
        let file = traveling.file("changed", bytes);
        let ran = traveling.run(&[file]);
        assert_eq!((ran.status.code(), ran.stdout.len()), (Some(2), 0), "{name}");
        let error = String::from_utf8(ran.stderr).unwrap();
        assert!(
            error.contains("this is no plan of this lake, or it was altered"),
            "{error}"
        );
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}

/// Lakes with equal records have different keys.
#[test]
fn a_plan_of_another_lake_is_refused() {
    let (records, others) = (people(), people());
    let plan = records.plans("Observation?code:text=x&_count=5").remove(0);
    let written = Traveling::new(&records.lake).codec.encode(&plan).unwrap();
    assert!(Traveling::new(&records.lake).codec.decode(&written).is_ok());
    let other = Traveling::new(&others.lake);
    assert!(matches!(other.codec.decode(&written), Err(CodecError::Altered)));
    assert_eq!(other.run(&[other.file("plan", &written)]).status.code(), Some(2));
}

/// A plan reads its own snapshot, even if newer rows are stored.
#[test]
fn a_plan_reads_the_snapshot_that_it_was_made_for() {
    let records = people();
    let plan = records.plans("Observation?_count=20").remove(0);
    let mut traveling = Traveling::new(&records.lake);
    traveling.add("before", &plan).unwrap();
    let another = json!({"resourceType": "Observation", "id": "later", "status": "final", "code": {"text": "x"}});
    records::commit(&records.lake, &[records::Record::new(another)]);
    assert_eq!(
        traveling
            .rows(&records.plans("Observation?_count=20")[0])
            .unwrap()
            .len(),
        7
    );
    assert_eq!(traveling.rows(&plan).unwrap().len(), 6);
    assert_eq!(traveling.arrive(), 1);
}

/// A reader of a plan needs the search parameters that the plan was made with.
#[test]
fn a_plan_of_parameters_that_are_not_known_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let parameter = json!({"resourceType": "SearchParameter", "url": "http://example.org/note", "name": "note",
        "status": "active", "description": "x", "code": "note", "base": ["Observation"], "type": "string",
        "expression": "Observation.note.text"});
    std::fs::write(folder.path().join("note.json"), parameter.to_string()).unwrap();
    let parameters = tabularium::fhir::search_parameter::SearchParameters::builtin();
    let parameters = std::sync::Arc::new(parameters.with_folder(folder.path()).unwrap());
    let records = people();
    let engine = |lake: &Lake| Engine::new(lake.clone(), parameters.clone());
    let all = records::application("local");
    let plan = records
        .plans_of(&engine(&records.lake), &all, "Observation?note:missing=true")
        .remove(0);
    let options = ["--search-parameters", folder.path().to_str().unwrap()];
    let mut knows = Traveling::by(&records.lake, engine(&records.lake), &options);
    knows.add("note", &plan).unwrap();
    assert_eq!(knows.arrive(), 1);
    let written = knows.codec.encode(&plan).unwrap();
    let other = Traveling::new(&records.lake);
    let read = other.codec.decode(&written);
    assert!(matches!(read, Err(CodecError::Search(_))), "{read:?}");
    let ran = other.run(&[other.file("plan", &written)]);
    let error = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(2), "{error}");
    assert!(error.contains("other search parameters are known"), "{error}");
}
