//! Prints the typed program of an expression, and reports its errors and warnings.

use std::collections::BTreeSet;

use super::super::resource_types::named;
use super::args::Args;
use crate::cli::terminal::failure::{Failure, warn};
use crate::fhir::{TypeId, facts};
use crate::fhirpath::{CompileOptions, FhirPathError, Program, typed};

/// Prints the typed program and the columns that it reads.
pub(super) fn explain(arguments: &Args, type_id: TypeId, options: &CompileOptions<'_>) -> Result<(), Failure> {
    let (program, part) = typed(&arguments.expression, type_id, options).map_err(|error| wrong(arguments, &error))?;
    advise([&program]);
    println!("{} over {}", arguments.expression, facts().get(type_id).name);
    print!("{part}");
    let leaves: Vec<&str> = program.leaves().iter().map(String::as_str).collect();
    println!("reads [{}]", leaves.join(", "));
    Ok(())
}

/// Converts an error of the expression to a failure. Below the error, the message shows the faulty line and a `^` at
/// the position.
pub(super) fn wrong(arguments: &Args, error: &FhirPathError) -> Failure {
    let mut message = error.to_string() + &error.meant();
    if let Some(at) = error.position()
        && let Some(line) = arguments.expression.split('\n').nth(at.line as usize - 1)
    {
        // Copies the tabs of the faulty line, so that the `^` is printed below the faulty position.
        let before = line.chars().take(at.column as usize - 1);
        let before: String = before.map(|letter| if letter == '\t' { '\t' } else { ' ' }).collect();
        message.push_str(&format!("\n  {line}\n  {before}^"));
    }
    if error.is_too_costly() {
        Failure::partial(message)
    } else {
        Failure::input(message)
    }
}

/// Warns of JSON property names in the expression, such as `valueCoding`. FHIRPath has another name for the element,
/// such as `value`. Reports each name one time.
pub(super) fn advise<'p>(programs: impl IntoIterator<Item = &'p Program>) {
    let names = programs.into_iter().flat_map(Program::json_names);
    let names: BTreeSet<String> = names.map(ToString::to_string).collect();
    names.iter().for_each(|name| warn(name));
}

/// Looks up a resource type by its name.
pub(super) fn resource_type(name: &str) -> Result<TypeId, Failure> {
    named(name).map_err(Failure::input)
}
