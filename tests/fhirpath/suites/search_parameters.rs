//! All 1,375 search parameters of R4, including components of composites, compile for each of their types.

use tabularium::fhir::search_parameter::SearchParameters;
use tabularium::fhir::{TypeId, facts};
use tabularium::fhirpath::{CompileOptions, compile};

/// The concrete types that a parameter with this base applies to.
fn types_of(base: TypeId) -> Vec<TypeId> {
    facts()
        .resources()
        .filter(|type_id| facts().is_a(*type_id, base))
        .collect()
}

#[test]
fn every_expression_compiles_for_each_of_its_bases() {
    let parameters = SearchParameters::builtin();
    assert_eq!(parameters.all().len(), 1375);
    let (mut compiled, mut failures) = (0, Vec::new());
    let search = CompileOptions {
        search: true,
        ..CompileOptions::default()
    };
    for parameter in parameters.all() {
        let Some(expression) = parameter.expression.as_deref() else {
            continue;
        };
        for type_id in parameter.bases.iter().flat_map(|base| types_of(*base)) {
            let program = match compile(expression, type_id, &search) {
                Ok(program) => program,
                Err(error) => {
                    failures.push(format!("{} {}: {error}", parameter.url, facts().get(type_id).name));
                    continue;
                }
            };
            compiled += 1;
            for component in &parameter.components {
                let options = CompileOptions {
                    context: Some(&program),
                    ..search.clone()
                };
                if let Err(error) = compile(&component.expression, type_id, &options) {
                    failures.push(format!("{} {}: {error}", parameter.url, component.expression));
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
    assert!(compiled > 2000, "{compiled}");
}
