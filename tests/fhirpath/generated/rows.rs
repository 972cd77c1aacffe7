//! A row's answer does not depend on other rows: an expression over a batch gives each row the same result as over the
//! row alone, including errors.

use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::{Value, json};
use tabularium::fhir::facts;
use tabularium::fhirpath::{CompileOptions, Evaluation, compile};

use super::arranged::Arranged;
use super::grammar::{Choices, ROOTS};

/// The types and values of a row, or its error.
pub(in crate::fhirpath) fn answer(evaluation: &Evaluation, row: usize) -> String {
    if let Some(fault) = evaluation.faults.iter().find(|fault| fault.row as usize == row) {
        return format!("!{}", fault.error);
    }
    let collection = &evaluation.collection;
    let item = |item| {
        let (items, item) = collection.item(item);
        let mut text = format!("{} ", items.item_type());
        items.write_json(item, &mut text);
        text
    };
    collection.range(row).map(item).collect::<Vec<_>>().join("; ")
}

struct Case {
    expression: String,
    resources: Vec<String>,
    root: &'static str,
}

impl Case {
    fn new(expression: &[u8], resources: &[Vec<u8>]) -> Case {
        let (&root, rest) = expression.split_first().unwrap_or((&0, &[]));
        let (on, root) = ROOTS[usize::from(root) % ROOTS.len()];
        let resource = |(id, bytes): (usize, &Vec<u8>)| Choices::new(bytes).resource(on, id).to_string();
        Case {
            expression: Choices::new(rest).expression(on),
            resources: resources.iter().enumerate().map(resource).collect(),
            root,
        }
    }

    /// Each row's answer, after the check that all arrangements agree. `None` if the expression does not compile.
    fn answers(&self) -> Option<Vec<String>> {
        let type_id = facts().lookup(self.root).unwrap();
        let program = compile(&self.expression, type_id, &CompileOptions::default()).ok()?;
        let answers = Arranged::new(type_id, &self.resources).answers(&program, answer);
        let (_, together) = &answers[0];
        for (arrangement, found) in &answers[1..] {
            assert_eq!(
                found, together,
                "{arrangement}: {} over {:#?}",
                self.expression, self.resources
            );
        }
        Some(together.clone())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_row_yields_the_same_in_any_company(
        expression in prop::collection::vec(any::<u8>(), 2..80),
        resources in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..150), 2..6),
    ) {
        Case::new(&expression, &resources).answers();
    }
}

/// Elements without a value lie in columns of several depths. Those of one content count once, whichever slots the
/// other rows leave them.
#[test]
fn elements_without_a_value_count_once_by_content_and_not_by_slot() {
    let unknown = json!({"extension": [{"url": "u", "valueCode": "unknown"}]});
    let refused = json!({"extension": [{"url": "u", "valueCode": "refused"}]});
    let inner = |element: &Value| json!([{"linkId": "a", "answer": [{"_valueString": element}]}]);
    let resource = |id: &str, outer: &Value, nested: &Value| {
        let item = json!({"linkId": "a", "answer": [{"_valueString": outer, "item": inner(nested)}]});
        json!({"resourceType": "QuestionnaireResponse", "id": id, "status": "completed", "item": [item]}).to_string()
    };
    let case = Case {
        expression: "repeat(children()).ofType(string).where(hasValue().not()).count()".to_string(),
        resources: vec![
            resource("r0", &unknown, &unknown),
            resource("r1", &unknown, &refused),
            resource("r2", &refused, &unknown),
        ],
        root: "QuestionnaireResponse",
    };
    assert_eq!(case.answers().unwrap(), ["Integer 1", "Integer 2", "Integer 2"]);
}

/// The property above is weak if few of the expressions compile or find values.
#[test]
fn most_of_the_expressions_mean_something() {
    let mut random = ChaCha8Rng::seed_from_u64(7);
    let mut bytes = |count: usize| {
        let mut bytes = vec![0; count];
        random.fill_bytes(&mut bytes);
        bytes
    };
    let (mut compiled, mut found, mut failed) = (0, 0, 0);
    for _ in 0..300 {
        let (expression, resources) = (bytes(60), [bytes(150), bytes(150), bytes(150)]);
        let Some(answers) = Case::new(&expression, &resources).answers() else {
            continue;
        };
        compiled += 1;
        found += usize::from(
            answers
                .iter()
                .any(|answer| !answer.is_empty() && !answer.starts_with('!')),
        );
        failed += usize::from(answers.iter().any(|answer| answer.starts_with('!')));
    }
    assert!(
        compiled > 200 && found > 100 && failed > 10,
        "{compiled} compiled, {found} found something, {failed} failed"
    );
}
