//! `tabularium fhirpath`: one expression over one resource, by the same engine that search and views use.

use std::path::PathBuf;

use super::failure::Failure;
use super::terminology::TerminologyArgument;
use crate::fhir::facts;
use crate::fhirpath::{Collection, CompileOptions, FhirPathError, compile};
use crate::lake::json::Tape;
use crate::lake::shred::{Shredder, SystemValues};

/// Evaluate a FHIRPath expression over a resource and print the result as a JSON array of {type, value}
///
/// Example: tabularium fhirpath "name.where(use = 'official').given" --input patient.json
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
pub(super) struct Args {
    /// The expression
    #[arg(value_name = "EXPR", allow_hyphen_values = true)]
    expression: String,
    /// File holding one resource as JSON
    #[arg(long, value_name = "RESOURCE.json")]
    input: PathBuf,
    #[command(flatten)]
    terminology: TerminologyArgument,
}

pub(super) fn run(arguments: Args) -> Result<(), Failure> {
    let path = arguments.input.display();
    let text = std::fs::read_to_string(&arguments.input)
        .map_err(|error| Failure::input(format!("cannot read {path}: {error}")))?;
    let mut tape = Tape::new();
    let root = tape
        .parse(text.as_bytes())
        .map_err(|error| Failure::input(format!("{path} is no JSON: {error}")))?;
    let name = root.get_str("resourceType").unwrap_or_default();
    let ty = facts()
        .resources()
        .find(|ty| facts().get(*ty).name == name)
        .ok_or_else(|| Failure::input(format!("{path} holds no R4 resource: resourceType is '{name}'")))?;
    let options = CompileOptions {
        terminology: arguments.terminology.load()?,
        ..CompileOptions::default()
    };
    let program = compile(&arguments.expression, ty, &options).map_err(wrong)?;
    let id = root.get_str("id").unwrap_or_default();
    let system = SystemValues::outside(&id, root.raw());
    let mut shredder = Shredder::new(ty);
    shredder
        .push(&system, root)
        .map_err(|error| Failure::input(format!("{path}: {error}")))?;
    let batch = shredder.finish().map_err(Failure::other)?;
    let collection = program
        .evaluate(&batch)
        .and_then(|evaluation| evaluation.strict())
        .map_err(wrong)?;
    println!("{}", rendered(&collection));
    Ok(())
}

fn wrong(error: FhirPathError) -> Failure {
    Failure::input(error.to_string())
}

fn rendered(collection: &Collection) -> String {
    let mut out = String::from("[");
    for item in collection.range(0) {
        let (items, item) = collection.item(item);
        let comma = if out.len() > 1 { ",\n " } else { "" };
        out.push_str(&format!("{comma}{{\"type\": \"{}\", \"value\": ", items.type_name()));
        items.write_json(item, &mut out);
        out.push('}');
    }
    out.push(']');
    out
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        arguments: Args,
    }

    /// An expression that begins with a sign was refused as an unknown option.
    #[test]
    fn an_expression_may_begin_with_a_sign() {
        for line in [["fhirpath", "-5", "--input", "x"], ["fhirpath", "--input", "x", "-5"]] {
            let arguments = Command::try_parse_from(line).map(|command| command.arguments).unwrap();
            assert_eq!(arguments.expression, "-5");
            assert_eq!(arguments.input, PathBuf::from("x"));
        }
        let long = Command::try_parse_from(["fhirpath", "-multipleBirth + 1", "--input", "x"]).unwrap();
        assert_eq!(long.arguments.expression, "-multipleBirth + 1");
    }
}
