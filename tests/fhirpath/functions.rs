//! Functions and operators, family by family, over one small record.

use tabularium::fhir::facts;
use tabularium::fhirpath::{CompileOptions, Focus, compile};

const PATIENT: &str = r#"{
    "resourceType": "Patient", "id": "p", "active": true, "birthDate": "1974-12-25",
    "_birthDate": {"extension": [{"url": "http://x/time", "valueDateTime": "1974-12-25T14:35:45-05:00"}]},
    "name": [
        {"use": "official", "family": "Chalmers", "given": ["Peter", "James"]},
        {"use": "usual", "given": ["Jim"]},
        {"use": "maiden", "family": "Windsor", "given": ["Peter", "James"], "period": {"end": "2002"}}
    ],
    "telecom": [{"system": "phone", "value": "1", "rank": 2}, {"system": "email", "value": "a@b"}],
    "multipleBirthInteger": 3,
    "extension": [{"url": "http://x/weight", "valueQuantity":
        {"value": 70.50, "unit": "kg", "system": "http://unitsofmeasure.org", "code": "kg"}}],
    "managingOrganization": {"reference": "Organization/o1"},
    "generalPractitioner": [{"reference": "Practitioner/d1"}, {"reference": "http://x/fhir/Organization/o2"}]
}"#;

/// The results of an expression for the patient, as JSON values separated by spaces. An error begins with `!`.
pub(super) fn yields(expression: &str) -> String {
    yields_of(PATIENT, expression)
}

fn yields_of(patient: &str, expression: &str) -> String {
    let type_id = facts().lookup("Patient").unwrap();
    let program = match compile(expression, type_id, &CompileOptions::default()) {
        Ok(program) => program,
        Err(error) => return format!("!{error}"),
    };
    match program
        .evaluate(&super::batch(type_id, &[patient.to_string()]))
        .and_then(|evaluation| evaluation.strict())
    {
        Err(error) => format!("!{error}"),
        Ok(collection) => {
            let json = |item| {
                let (items, item) = collection.item(item);
                let mut json = String::new();
                items.write_json(item, &mut json);
                json
            };
            collection.range(0).map(json).collect::<Vec<_>>().join(" ")
        }
    }
}

#[track_caller]
pub(super) fn check(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(yields(expression), *expected, "{expression}");
    }
}

#[test]
fn navigation_and_filtering() {
    check(&[
        ("name.given", r#""Peter" "James" "Jim" "Peter" "James""#),
        ("Patient.name.where(use = 'usual').given", r#""Jim""#),
        (
            "Practitioner.name",
            "!a path that begins with Practitioner has no meaning in the context of Patient (line 1, column 1)",
        ),
        ("DomainResource.extension.url", r#""http://x/weight""#),
        (
            "name.as(HumanName).use",
            "!as needs a single item, but there are 3 (line 1, column 6)",
        ),
        (
            "(name as HumanName).use",
            "!as needs a single item, but there are 3 (line 1, column 7)",
        ),
        ("name.first().as(HumanName).use", r#""official""#),
        ("name.ofType(HumanName).use", r#""official" "usual" "maiden""#),
        ("name.select(given.first() & '.')", r#""Peter." "Jim." "Peter.""#),
        ("name[1].given", r#""Jim""#),
        ("name[7]", ""),
        ("name.where($index = 1).use", r#""usual""#),
        ("name.given.where($this.startsWith('J'))", r#""James" "Jim" "James""#),
        ("multipleBirth", "3"),
        ("multipleBirth.ofType(boolean)", ""),
        ("name.wrong", "!HumanName has no element 'wrong' (line 1, column 6)"),
        ("name.wrong()", "!function wrong() is not supported (line 1, column 6)"),
        ("name.where(%resource.active).use", r#""official" "usual" "maiden""#),
        ("telecom.rank", "2"),
    ]);
}

#[test]
fn existence_and_subsets() {
    check(&[
        ("name.exists() and photo.empty()", "true"),
        ("name.exists(use = 'old')", "false"),
        ("name.all(given.exists())", "true"),
        ("photo.all(url.exists())", "true"),
        ("name.given.count()", "5"),
        ("name.family.first()", r#""Chalmers""#),
        ("name.given.last()", r#""James""#),
        ("name.given.tail().take(2)", r#""James" "Jim""#),
        ("name.given.skip(4)", r#""James""#),
        (
            "name.family.single()",
            "!single needs a single item, but there are 2 (line 1, column 13)",
        ),
        ("(true | false).anyTrue()", "true"),
        ("active.not()", "false"),
        ("name.given.distinct()", r#""Peter" "James" "Jim""#),
        ("name.given.isDistinct()", "false"),
    ]);
}

#[test]
fn sets_and_membership() {
    check(&[
        (
            "name.given | name.family",
            r#""Peter" "James" "Jim" "Chalmers" "Windsor""#,
        ),
        ("'Jim' in name.given", "true"),
        ("name.given contains 'Eve'", "false"),
        ("name[0].given.combine(name[2].given).count()", "4"),
        ("name.given.intersect('Jim' | 'Eve')", r#""Jim""#),
        ("name.given.exclude('Peter')", r#""James" "Jim" "James""#),
        ("name[0].given.subsetOf(name.given)", "true"),
        ("(1 | 2).supersetOf(2)", "true"),
        ("name.where(given = ('Peter' | 'James')).count()", "2"),
    ]);
}

#[test]
fn three_valued_logic() {
    check(&[
        ("{} and false", "false"),
        ("{} and true", ""),
        ("{} or true", "true"),
        ("true implies {}", ""),
        ("false implies (1 | 2).single()", "true"),
        ("true or (1 | 2).single() = 1", "true"),
        ("true xor {}", ""),
        ("{} = 1", ""),
        ("{} ~ {}", "true"),
        ("1 != 2", "true"),
        ("'Abc  d' ~ 'abc D'", "true"),
        ("(1 | 2) ~ (2 | 1)", "true"),
    ]);
}

#[test]
fn dates_compare_with_what_they_give() {
    check(&[
        ("birthDate = @1974-12-25", "true"),
        ("birthDate > @1974", ""),
        ("birthDate < @1975", "true"),
        ("@2012-04-15T10:00:00Z = @2012-04-15T12:00:00+02:00", "true"),
        ("@2012-04 = @2012-04-01", ""),
        ("@2012-04 ~ @2012-04-01", "false"),
        ("birthDate + 1 month", r#""1975-01-25""#),
        ("@2020-02-29 + 1 year", r#""2021-02-28""#),
        ("@T10:30 + 45 minutes", r#""11:15""#),
        ("@T10:30 - 45 seconds", r#""10:30""#),
        ("@T10 - 30 minutes", r#""10""#),
        ("@2020-01-01T10 + 90 minutes", r#""2020-01-01T11""#),
        ("@2024-13-01", "!'2024-13-01' is no Date (line 1, column 1)"),
        ("birthDate.lowBoundary()", r#""1974-12-25""#),
        ("@2014-02.highBoundary()", r#""2014-02-28""#),
        ("birthDate.precision()", "8"),
        ("today() > @2020-01-01", "true"),
    ]);
}

#[test]
fn numbers_and_quantities() {
    check(&[
        ("100.10", "100.10"),
        ("1.10 + 2.205", "3.305"),
        ("7 div 2", "3"),
        ("7 mod 2", "1"),
        ("1 / 4", "0.25"),
        ("1 / 0", ""),
        ("-3.abs()", "-3"),
        ("(-3).abs()", "3"),
        ("2.5.round() + 1.1.ceiling()", "5"),
        ("2.power(10)", "1024"),
        ("16.sqrt()", "4"),
        ("2147483647 + 1", ""),
        ("extension('http://x/weight').value.value", "70.50"),
        ("extension.value > 70 'kg'", "true"),
        ("extension.value = 70500 'g'", "true"),
        ("extension.value > 70 'm'", ""),
        ("1 year = 12 months", "true"),
        ("1 year = 1 'a'", ""),
        ("1 'mg' + 1 'g' = 1001 'mg'", "true"),
        ("1 + 'a'", "!+ is not defined for Integer and String (line 1, column 3)"),
        (
            "name.given + 'x'",
            "!+ needs a single item, but there are 5 (line 1, column 12)",
        ),
        ("1.587.lowBoundary(2)", "1.58"),
    ]);
}

#[test]
fn text() {
    check(&[
        ("'abc'.contains('b') and 'abc'.endsWith('c')", "true"),
        ("'äbc'.indexOf('c')", "2"),
        ("'äbc'.substring(1, 1)", r#""b""#),
        ("'äbc'.upper().length()", "3"),
        ("name[0].given.join(', ')", r#""Peter, James""#),
        ("name.given.join()", r#""PeterJamesJimPeterJames""#),
        ("'a,b'.split(',')", r#""a" "b""#),
        ("'abc'.replace('b', 'x')", r#""axc""#),
        ("'2020-05'.matches('^[0-9]{4}')", "true"),
        (
            "'11/30/72'.replaceMatches('(\\\\d+)/(\\\\d+)/(\\\\d+)', '$2-$1')",
            r#""30-11""#,
        ),
        (
            "'a'.matches('(')",
            "!matches: its pattern is no regular expression that can be run (line 1, column 5)",
        ),
        ("'x' & {} & 'y'", r#""xy""#),
        ("'a'.encode('hex')", r#""61""#),
        ("'  a '.trim()", r#""a""#),
    ]);
}

#[test]
fn conversions() {
    check(&[
        ("'1'.toInteger() + 1", "2"),
        ("'x'.toInteger()", ""),
        ("'1.50'.toDecimal()", "1.50"),
        ("1.toString() & true.toString()", r#""1true""#),
        ("'yes'.toBoolean()", "true"),
        ("'2020-01'.toDate()", r#""2020-01""#),
        ("'4 days'.toQuantity() = 4 days", "true"),
        ("'nothing'.convertsToDateTime()", "false"),
        (
            "name.given.toString()",
            "!toString needs a single item, but there are 5 (line 1, column 12)",
        ),
    ]);
}

#[test]
fn types_and_elements() {
    check(&[
        ("active is boolean", "true"),
        ("active.is(System.Boolean)", "false"),
        ("(1 as Integer) + 1", "2"),
        (
            "birthDate.extension('http://x/time').value",
            r#""1974-12-25T14:35:45-05:00""#,
        ),
        ("birthDate.hasValue()", "true"),
        ("active.type().name", r#""boolean""#),
        ("1.type().namespace", r#""System""#),
        (
            "name.ofType(Wrong)",
            "!'Wrong' is no FHIR or System type (line 1, column 13)",
        ),
        ("telecom.children().count()", "5"),
        ("descendants().where($this = 'Jim').count()", "1"),
        ("telecom.repeat(system)", r#""phone" "email""#),
    ]);
}

#[test]
fn references() {
    check(&[
        ("getResourceKey()", r#""p""#),
        ("managingOrganization.getReferenceKey()", r#""o1""#),
        ("managingOrganization.getReferenceKey(Patient)", ""),
        (
            "generalPractitioner.where(resolve() is Practitioner).reference",
            r#""Practitioner/d1""#,
        ),
        (
            "generalPractitioner.where(resolve().ofType(Organization).exists()).reference",
            r#""http://x/fhir/Organization/o2""#,
        ),
        (
            "generalPractitioner.resolve().name",
            "!a step into the target of a reference that does not lie in the same resource is not supported (line 1, column 31)",
        ),
    ]);
}

/// The key of an absolute reference was its bare id. So another server's patient was joined with ours of the same id.
#[test]
fn references_to_other_servers_give_no_key() {
    check(&[
        ("generalPractitioner.getReferenceKey()", r#""d1""#),
        ("generalPractitioner.getReferenceKey(Practitioner)", r#""d1""#),
        ("generalPractitioner.getReferenceKey(Organization)", ""),
    ]);
}

/// A stored decimal that is too large or too small for arithmetic was taken for a complex item, so operators on it
/// failed.
#[test]
fn decimals_beyond_computing_are_no_errors() {
    let patient = r#"{"resourceType": "Patient", "id": "p", "extension": [
        {"url": "great", "valueDecimal": 1e40}, {"url": "same", "valueDecimal": 10e39},
        {"url": "small", "valueDecimal": -5e-324}, {"url": "long", "valueDecimal": 1.0000000000000000000000000000000000000000},
        {"url": "date", "valueDate": "2020-01-01"}, {"url": "quantity", "valueQuantity":
            {"value": 1e40, "unit": "mg", "system": "http://unitsofmeasure.org", "code": "mg"}}]}"#;
    let of = |url: &str| format!("extension.where(url = '{url}').value");
    let (great, same, small) = (of("great"), of("same"), of("small"));
    let (long, date, quantity) = (of("long"), of("date"), of("quantity"));
    for (expression, expected) in [
        (great.clone(), "1e40"),
        (format!("{great} * 2"), ""),
        (format!("1.5 - {small}"), ""),
        (format!("{great} div 2"), ""),
        (format!("-({great})"), ""),
        (format!("{great} & 'x'"), r#""1e40x""#),
        (format!("{great} > 1"), "true"),
        (format!("{great} <= 1.5"), "false"),
        (format!("0 > {small}"), "true"),
        (format!("{small} < {great}"), "true"),
        (format!("{great} = {same}"), "true"),
        (format!("{great} ~ {same}"), "true"),
        (format!("{great} = {small}"), "false"),
        (format!("({great} | {same} | {small}).count()"), "2"),
        (format!("{great}.abs()"), ""),
        (format!("{great}.round(2)"), ""),
        (format!("2.power({small})"), ""),
        (format!("{great}.lowBoundary()"), ""),
        (format!("{great}.toString()"), r#""1e40""#),
        (format!("{great}.toInteger()"), ""),
        (format!("{long} + 1 = 2"), "true"),
        (format!("{quantity} > 1 'mg'"), ""),
        (format!("{quantity} * 2"), ""),
        (format!("{quantity} = {quantity}"), "true"),
        (format!("{quantity}.value > 1"), "true"),
    ] {
        assert_eq!(yields_of(patient, &expression), expected, "{expression}");
    }
    let wrong = yields_of(patient, &format!("{great} > {date}"));
    assert!(wrong.contains("cannot compare Decimal with Date"), "{wrong}");
}

#[test]
fn choosing_and_folding() {
    check(&[
        ("iif(active, 'on', 'off')", r#""on""#),
        ("iif(active, 'on', (1 | 2).single())", r#""on""#),
        ("iif(active.not(), 'on')", ""),
        (
            "name.select(iif(family.exists(), family, given))",
            r#""Chalmers" "Jim" "Windsor""#,
        ),
        ("(1 | 2 | 3).aggregate($total + $this, 0)", "6"),
        ("name.given.distinct().sort()", r#""James" "Jim" "Peter""#),
        ("(1 | 3 | 2).sort(-$this)", "3 2 1"),
        ("name.family.trace('names').count()", "2"),
    ]);
}

#[test]
fn constants() {
    let type_id = facts().lookup("Patient").unwrap();
    let mut options = CompileOptions::default();
    options.constants.insert(
        "use".to_string(),
        tabularium::fhirpath::Constant::String("usual".to_string()),
    );
    let program = compile("name.where(use = %use).given", type_id, &options).unwrap();
    let found = program
        .evaluate(&super::batch(type_id, &[PATIENT.to_string()]))
        .unwrap()
        .strict()
        .unwrap();
    assert_eq!(found.first_texts().value(0), "Jim");
    assert_eq!(yields("%use"), "!%use is not defined (line 1, column 1)");
}

/// Each of these used unlimited time or memory.
#[test]
fn greedy_expressions_are_refused() {
    let nested = |open: &str, core: &str, close: &str, depth: usize| {
        format!("{}{core}{}", open.repeat(depth), close.repeat(depth))
    };
    for expression in [
        nested("name.repeat(", "given", ")", 60),
        nested("(1).aggregate($this, ", "1", ")", 90),
        format!("'aaaaaaaa'{}", ".replace('a', 'aaaaaaaa')".repeat(30)),
        format!("name{}", ".select(%resource.name)".repeat(40)),
        format!("descendants(){}", ".select(%resource.descendants())".repeat(8)),
    ] {
        let found = yields(&expression);
        assert!(found.starts_with('!'), "{}", &expression[..60]);
    }
}

#[test]
fn texts_of_json_are_escaped_whole() {
    check(&[
        (r#"'a\nb\t\\'.escape('json') = 'a\\nb\\t\\\\'"#, "true"),
        (
            r#"'a\nb\t\\ \'\"'.escape('json').unescape('json') = 'a\nb\t\\ \'\"'"#,
            "true",
        ),
        (r#"'\\u0041\\\\n'.unescape('json')"#, r#""A\\n""#),
        (r#"'a\"b\\q\\u12'.unescape('json') = 'a\"b\\q\\u12'"#, "true"),
        (r#"'\\ud83d\\ude00'.unescape('json')"#, "\"\u{1f600}\""),
        ("(1.50 'mg').value", "1.50"),
        ("(1.50 'mg').unit", r#""mg""#),
        (
            "(1.50 'mg').code",
            "!Quantity has no element 'code' (line 1, column 13)",
        ),
    ]);
}

/// Two calls read the clock twice, so `now() = now()` was sometimes false.
#[test]
fn the_present_is_one_moment_for_a_whole_evaluation() {
    let type_id = facts().lookup("Patient").unwrap();
    let expression = "now().toString() & ' ' & today().toString() & ' ' & iif(true, timeOfDay().toString())";
    let program = compile(expression, type_id, &CompileOptions::default()).unwrap();
    let batch = super::batch(type_id, &[PATIENT.to_string(), PATIENT.to_string()]);
    let now = "2024-02-29T23:59:58.25Z".parse().unwrap();
    let evaluation = program.evaluate_on(&Focus::root(&batch, type_id).at(now)).unwrap();
    let collection = evaluation.strict().unwrap();
    for row in 0..2 {
        let (items, item) = collection.item(collection.range(row).start);
        let expected = "2024-02-29T23:59:58.250+00:00 2024-02-29 23:59:58.250";
        assert_eq!(items.text(item), Some(expected));
    }
}
