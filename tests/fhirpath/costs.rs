//! Cost limits of an evaluation: expressions that multiply their items end in an error, and ordinary ones are not
//! affected.

use serde_json::{Value, json};
use tabularium::fhir::{TypeId, facts};
use tabularium::fhirpath::{CompileOptions, FhirPathError, compile};

/// A Patient with many values.
fn wide() -> Value {
    let name = |at: usize| {
        json!({"family": format!("family {at}"), "given": [format!("given {at}"), "again"],
            "extension": [{"url": "u", "valueQuantity": {"value": at, "unit": "mg"}}]})
    };
    let names: Vec<Value> = (0..120).map(name).collect();
    json!({"resourceType": "Patient", "id": "wide", "name": names})
}

fn patient() -> TypeId {
    facts().lookup("Patient").unwrap()
}

fn evaluate(expression: &str, resources: &[Value]) -> Result<usize, FhirPathError> {
    let texts: Vec<String> = resources.iter().map(Value::to_string).collect();
    let program = compile(expression, patient(), &CompileOptions::default()).unwrap();
    let evaluation = program.evaluate(&super::batch(patient(), &texts))?;
    evaluation.strict().map(|collection| collection.len())
}

/// Each of these ran for seconds or minutes.
#[test]
fn what_multiplies_ends() {
    let texts =
        "('aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').select($this & $this & $this & $this & $this & $this & $this & $this)";
    let long = format!("{texts}.select({})", vec!["$this"; 64].join(" & "));
    for expression in [
        "descendants().repeatAll($this)".to_owned(),
        "descendants().repeatAll($this | %resource.name)".to_owned(),
        "descendants().repeat($this | $this.descendants()).repeatAll($this)".to_owned(),
        "name.repeatAll($this).repeatAll($this).count()".to_owned(),
        "descendants().select(%resource.descendants()).distinct().count()".to_owned(),
        "descendants().select(%resource.descendants().where($this is Quantity)).distinct()".to_owned(),
        "name.select(%resource.name.extension.value).select(%resource.name.extension.value).isDistinct()".to_owned(),
        "name.aggregate(iif($total.empty(), $this, $total.combine($total)).combine($this), {})".to_owned(),
        format!("name.select(%resource.name).select({long}).where($this.upper() ~ $this.lower()).count()"),
        format!("name.select(%resource.name).select({long}).toChars().count()"),
        format!("name.select({long}).where(matches('(?:[ab]*a[ab]{{900}})+c')).count()"),
        format!("name.select(%resource.name).select({long}).join(',')"),
    ] {
        let ended = evaluate(&expression, &[wide()]);
        assert!(
            ended.as_ref().is_err_and(FhirPathError::is_too_costly),
            "{expression}: {ended:?}"
        );
    }
}

/// Each pattern was compiled again. For this many patterns that took a minute.
#[test]
fn patterns_of_the_data_are_counted() {
    let given: Vec<String> = (0..2_000).map(|at| format!("\\w{{9}}[a-z]{at:05}")).collect();
    let patterns = json!({"resourceType": "Patient", "id": "p", "name": [{"given": given}]});
    for expression in [
        "name.given.where('x'.matches($this)).count()",
        "name.given.select('x'.replaceMatches($this, 'y')).count()",
    ] {
        assert_eq!(
            evaluate(expression, std::slice::from_ref(&patterns)),
            Err(FhirPathError::TooCostly),
            "{expression}"
        );
    }
    let few = json!({"resourceType": "Patient", "id": "p", "name": [{"given": ["^x", "y$", "[a-z]{1,30}"]}]});
    assert_eq!(evaluate("name.given.where('x'.matches($this))", &[few]), Ok(2));
}

/// A pattern of two megabytes took eight gigabytes of memory.
#[test]
fn long_patterns_are_refused_before_they_are_read() {
    let pattern =
        |classes: usize| json!({"resourceType": "Patient", "id": "p", "name": [{"family": "\\w".repeat(classes)}]});
    let refused = evaluate("'x'.matches(name.family)", &[pattern(1_000_000)]).unwrap_err();
    assert!(
        refused.to_string().contains("its pattern is longer than 8192 bytes"),
        "{refused}"
    );
    assert_eq!(evaluate("'x'.matches(name.family)", &[pattern(2)]), Ok(1));
}

/// A short text costs no more than its parts.
#[test]
fn many_short_texts_are_split() {
    let patients: Vec<Value> = (0..20_000)
        .map(|at| json!({"resourceType": "Patient", "id": format!("p{at}"), "name": [{"family": "Roe Doe"}]}))
        .collect();
    assert_eq!(evaluate("name.family.split(' ')", &patients), Ok(40_000));
    assert_eq!(evaluate("name.family.toChars()", &patients), Ok(140_000));
}

/// The limit depends on the work and the data, not on the machine's load.
#[test]
fn what_is_spent_does_not_depend_on_time() {
    let turns = |expression: &str| (0..3).map(|_| evaluate(expression, &[wide()])).collect::<Vec<_>>();
    let honest = turns("name.select(%resource.name).given.count()");
    assert!(honest.iter().all(|end| *end == Ok(1)), "{honest:?}");
    let costly = turns("name.aggregate(iif($total.empty(), $this, $total.combine($total)).combine($this), {})");
    assert!(
        costly.iter().all(|end| *end == Err(FhirPathError::TooCostly)),
        "{costly:?}"
    );
}

#[test]
fn what_is_honest_does_not_meet_it() {
    let many: Vec<Value> = (0..300).map(|_| wide()).collect();
    for expression in [
        "descendants().count()",
        "name.where(%resource.name.where(family = 'family 7').exists()).given.distinct()",
        "name.given.join(', ').upper()",
        "name.extension('u').value.ofType(Quantity).value.aggregate($this + $total, 0)",
        "name.family.where(matches('^[a-z]+ [0-9]{1,3}$'))",
        "name.sort(family).first().family",
    ] {
        assert!(evaluate(expression, &many).is_ok(), "{expression}");
    }
}
