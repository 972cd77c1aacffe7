//! Evaluates an expression without any input: over literals and the current time.

use super::args::Args;
use super::expression::{advise, explain, resource_type, wrong};
use super::result::rendered;
use crate::cli::terminal::failure::Failure;
use crate::fhir::{TypeId, facts};
use crate::fhirpath::{CompileOptions, FhirPathError, Focus, Program, compile};

/// Evaluates the expression once and prints the result, or explains the expression for the type of `--type`.
pub(super) fn run(arguments: &Args, options: &CompileOptions<'_>) -> Result<(), Failure> {
    if let Some(type_name) = arguments.resource_type.as_deref() {
        return if arguments.explain {
            explain(arguments, resource_type(type_name)?, options)
        } else {
            Err(Failure::input(
                "--type says what to read of an input; name one with --input or --data",
            ))
        };
    }
    if arguments.explain {
        return Err(Failure::input(
            "say with --type what type of resource to explain it for",
        ));
    }
    let Some(any) = facts().lookup("Resource") else {
        return Err(Failure::other("R4 has resources"));
    };
    refuse_elements(arguments, any, options)?;
    let nothing = compile("{}", any, &CompileOptions::default()).map_err(|error| wrong(arguments, &error))?;
    let options = CompileOptions {
        context: Some(&nothing),
        ..options.clone()
    };
    let program = compile(&arguments.expression, any, &options).map_err(|error| wrong(arguments, &error))?;
    advise([&program]);
    let focus = Focus::nothing(any).map_err(Failure::other)?;
    let collection = program
        .evaluate_on(&focus)
        .and_then(|evaluation| evaluation.strict())
        .map_err(|error| wrong(arguments, &error))?;
    println!("{}", rendered(&collection, 0, ",\n "));
    Ok(())
}

/// Refuses an expression that reads elements of a resource. Without this check, a user who forgot the input would get
/// an empty result.
fn refuse_elements(arguments: &Args, any: TypeId, options: &CompileOptions<'_>) -> Result<(), Failure> {
    let is_root = |program: &Program| program.origins().any(|origin| origin.path == Some(""));
    match compile(&arguments.expression, any, options) {
        Ok(program) if program.leaves().is_empty() && !is_root(&program) => Ok(()),
        Ok(_) | Err(FhirPathError::UnknownElement { .. } | FhirPathError::JsonName { .. }) => Err(Failure::input(
            "the expression asks for elements of a resource; name an input with --input or --data",
        )),
        Err(error) => Err(wrong(arguments, &error)),
    }
}
