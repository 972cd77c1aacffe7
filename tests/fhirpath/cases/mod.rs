//! All functions and operators over rows of all kinds: the usual, none, elements without a value, many items, other
//! types. The expected results follow FHIRPath N1 (http://hl7.org/fhirpath/N1/) and, for later functions, its
//! successor.
//!
//! A family has rows, and expressions with the results for each row. An expression is evaluated over all rows together,
//! over each alone, over slices of a larger batch, and over reordered rows. The answers must be equal.

mod collections;
mod equality;
mod operators;
mod references;
mod terminology;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use tabularium::fhir::{TypeId, facts};
use tabularium::fhirpath::{CompileOptions, Evaluation, Expr, ExprKind, Operator, compile, functions, parse};

use super::generated::arranged::Arranged;

/// An expression with the result for each of the family's rows: JSON values separated by spaces. An error is `!` and a
/// part of its message. If all rows have the same result, it is given once.
type Case = (&'static str, &'static [&'static str]);

/// Expressions over the same rows.
struct Family {
    name: &'static str,
    /// Elements of Patients, without an id.
    rows: &'static [&'static str],
    cases: &'static [Case],
}

const FAMILIES: &[Family] = &[
    values::boundaries::FAMILY,
    collections::combining::FAMILY,
    collections::control::FAMILY,
    values::conversion::FAMILY,
    values::conversion::TESTS,
    values::dates::FAMILY,
    equality::FAMILY,
    collections::existence::FAMILY,
    collections::existence::BOOLEANS,
    collections::filtering::FAMILY,
    values::math::FAMILY,
    collections::nodes::FAMILY,
    operators::ARITHMETIC,
    operators::LOGIC,
    operators::TEXTS,
    references::FAMILY,
    values::regex::FAMILY,
    values::strings::FAMILY,
    values::strings::LISTS,
    collections::subsetting::FAMILY,
    values::temporal::FAMILY,
    values::temporal::COMPARISON,
    terminology::FAMILY,
    terminology::VARIABLES,
];

fn patient() -> TypeId {
    facts().lookup("Patient").unwrap()
}

/// The rows of a family as resources.
fn rows(family: &Family) -> Arranged {
    let text = |(place, row): (usize, &&str)| {
        if row.is_empty() {
            format!(r#"{{"resourceType":"Patient","id":"r{place}"}}"#)
        } else {
            format!(r#"{{"resourceType":"Patient","id":"r{place}",{row}}}"#)
        }
    };
    let texts: Vec<String> = family.rows.iter().enumerate().map(text).collect();
    Arranged::new(patient(), &texts)
}

/// The results of an expression for each row, in each arrangement.
fn answers(rows: &Arranged, expression: &str) -> Vec<(&'static str, Vec<String>)> {
    match compile(expression, patient(), &CompileOptions::default()) {
        Ok(program) => rows.answers(&program, answer),
        Err(error) => vec![("compiled", vec![format!("!{error}"); rows.rows()])],
    }
}

fn answer(evaluation: &Evaluation, row: usize) -> String {
    if let Some(fault) = evaluation.faults.iter().find(|fault| fault.row as usize == row) {
        return format!("!{}", fault.error);
    }
    let collection = &evaluation.collection;
    let json = |item| {
        let (items, item) = collection.item(item);
        let mut json = String::new();
        items.write_json(item, &mut json);
        json
    };
    collection.range(row).map(json).collect::<Vec<_>>().join(" ")
}

fn is_as_expected(found: &str, expected: &str) -> bool {
    match (expected.strip_prefix('!'), found.strip_prefix('!')) {
        (Some(part), Some(message)) => message.contains(part),
        (None, None) => found == expected,
        _ => false,
    }
}

#[test]
fn functions_and_operators_do_what_the_specification_says() {
    let mut failures = Vec::new();
    for family in FAMILIES {
        let rows = rows(family);
        for (expression, expected) in family.cases {
            let expected = match expected {
                [all] => vec![*all; family.rows.len()],
                each => each.to_vec(),
            };
            assert_eq!(expected.len(), family.rows.len(), "{}: {expression}", family.name);
            for (arrangement, found) in answers(&rows, expression) {
                for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
                    if !is_as_expected(found, expected) {
                        failures.push(format!(
                            "{} ({arrangement}) {expression}\n  row {row} expected {expected}\n  row {row} found    {found}",
                            family.name
                        ));
                    }
                }
            }
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

/// Collects the functions and operators that are applied to data. Those applied only to literals are left out.
fn used(expr: &Expr, names: &mut BTreeSet<String>) -> bool {
    let mut any = |parts: &[&Expr]| parts.iter().filter(|part| used(part, names)).count() > 0;
    let (name, over_data) = match &expr.kind {
        ExprKind::Call { on, name, arguments } => {
            let arguments: Vec<&Expr> = arguments.iter().collect();
            let within = any(&arguments);
            let on = on.as_deref().is_none_or(|on| any(&[on]));
            (name.clone(), on || within)
        }
        ExprKind::Binary { operator, left, right } => {
            (operator.symbol().to_string(), any(&[left.as_ref(), right.as_ref()]))
        }
        ExprKind::Indexer { on, index } => ("[]".to_string(), any(&[on.as_ref(), index.as_ref()])),
        ExprKind::Sign { negative, operand } => {
            let name = if *negative { "unary -" } else { "unary +" };
            (name.to_string(), any(&[operand.as_ref()]))
        }
        ExprKind::TypeTest { cast, operand, .. } => {
            let name = if *cast { "operator as" } else { "operator is" };
            (name.to_string(), any(&[operand.as_ref()]))
        }
        ExprKind::Member { on, .. } => {
            if let Some(on) = on {
                any(&[on.as_ref()]);
            }
            return true;
        }
        ExprKind::This | ExprKind::Index | ExprKind::Total | ExprKind::External(_) => return true,
        ExprKind::Empty | ExprKind::Literal(_) => return false,
    };
    if over_data {
        names.insert(name);
    }
    over_data
}

/// A new function needs a case here: over rows with no items, many items, and items of the wrong type.
#[test]
fn every_function_and_operator_has_cases_over_data() {
    let mut covered: BTreeMap<String, usize> = BTreeMap::new();
    for (expression, _) in FAMILIES.iter().flat_map(|family| family.cases) {
        let Ok(expr) = parse(expression) else { continue };
        let mut names = BTreeSet::new();
        used(&expr, &mut names);
        for name in names {
            *covered.entry(name).or_default() += 1;
        }
    }
    let operators = Operator::ALL.iter().map(|operator| operator.symbol());
    let others = ["[]", "unary -", "unary +", "operator is", "operator as"];
    let missing: Vec<&str> = functions()
        .chain(operators)
        .chain(others)
        .filter(|name| !covered.contains_key(*name))
        .collect();
    assert!(
        missing.is_empty(),
        "without a case over data in tests/fhirpath/cases: {missing:?}"
    );
}
