//! Evaluates the expression over files with one resource, or with many.

use std::collections::HashMap;
use std::sync::Arc;

use super::args::Args;
use super::expression::{advise, explain, resource_type, wrong};
use super::result::{Lines, rendered};
use crate::cli::query::run::{Input, documents};
use crate::cli::terminal::failure::Failure;
use crate::cli::terminal::input::{is_standard, standard_input};
use crate::columns::json::Tape;
use crate::columns::shred::{Shredder, SystemValues};
use crate::fhir::storage::{EVERYTHING, LeafSet, TEXT};
use crate::fhir::{TypeId, facts};
use crate::fhirpath::{CompileOptions, FhirPathError, Program, compile};
use crate::views::{Document, Reader};

/// Evaluates the expression over the resources in the files, or explains the expression.
pub(super) fn run(arguments: &Args, options: &CompileOptions<'_>) -> Result<(), Failure> {
    let wanted = arguments.resource_type.as_deref().map(resource_type).transpose()?;
    if let Some(type_id) = wanted.filter(|_| arguments.explain) {
        return explain(arguments, type_id, options);
    }
    let (mut documents, refusals) = documents(&standard_input(&arguments.input), |_| {})?;
    let one_file = matches!(arguments.input.as_slice(), [path] if path.is_file() || is_standard(path));
    let first = documents.next();
    match first {
        Some(document) if one_file && !document.is_lines() => {
            if single(arguments, options, wanted, &document)? {
                return Ok(());
            }
            many(arguments, options, wanted, std::iter::once(document))?.finish()?;
        }
        first if arguments.explain => {
            let type_id = first.as_ref().and_then(first_type);
            let asked = "say with --type what type of resource to explain it for";
            return explain(arguments, type_id.ok_or_else(|| Failure::input(asked))?, options);
        }
        first => {
            let lines = many(arguments, options, wanted, first.into_iter().chain(documents))?;
            refusals.whole()?;
            lines.finish()?;
        }
    }
    refusals.whole()?;
    refusals.report("the others are answered")
}

/// Returns the columns to read below a result item of this type. For a complex type these are all columns, because the
/// whole item is printed. Returns `None` for a primitive type.
pub(super) fn whole(type_id: TypeId) -> Option<Vec<&'static str>> {
    (!matches!(facts().get(type_id).kind, crate::fhir::Kind::Primitive(_))).then(|| vec!["*"])
}

/// Returns the columns that the program reads. If the program reads all columns, the resource's JSON text is added.
pub(super) fn leaves(program: &Program) -> LeafSet {
    let mut leaves = program.leaves().clone();
    if leaves.contains(EVERYTHING) {
        leaves.insert(TEXT.to_owned());
    }
    leaves
}

/// Returns the type of the first resource in a document. `None` if the text is no JSON or no R4 resource.
fn first_type(document: &Input) -> Option<TypeId> {
    let text = document.text();
    let line = if document.is_lines() {
        text.split(|byte| *byte == b'\n').next()?
    } else {
        text
    };
    let mut tape = Tape::new();
    let root = tape.parse(line.trim_ascii()).ok()?;
    resource_type(&root.get_str("resourceType")?).ok()
}

/// Evaluates or explains the expression for a file with one resource. Returns `false`, and prints nothing, if the
/// resource is not of the type `wanted`.
fn single(
    arguments: &Args,
    options: &CompileOptions<'_>,
    wanted: Option<TypeId>,
    document: &Input,
) -> Result<bool, Failure> {
    let path = document.file().display().to_string();
    let mut tape = Tape::new();
    let root = tape
        .parse(document.text())
        .map_err(|error| Failure::input(format!("{path} is no JSON: {error}")))?;
    let name = root.get_str("resourceType").unwrap_or_default();
    let type_id = resource_type(&name)
        .map_err(|_| Failure::input(format!("{path} holds no R4 resource: resourceType is '{name}'")))?;
    if wanted.is_some_and(|wanted| wanted != type_id) {
        return Ok(false);
    }
    if arguments.explain {
        return explain(arguments, type_id, options).map(|()| true);
    }
    let program = compile(&arguments.expression, type_id, options).map_err(|error| wrong(arguments, &error))?;
    advise([&program]);
    let id = root.get_str("id").unwrap_or_default();
    let system = SystemValues::outside(&id, root.raw());
    let mut shredder = Shredder::new(type_id);
    shredder
        .push(&system, root)
        .map_err(|error| Failure::input(format!("{path}: {error}")))?;
    let batch = shredder.finish().map_err(Failure::other)?;
    let collection = program
        .evaluate(&batch)
        .and_then(|evaluation| evaluation.strict())
        .map_err(|error| wrong(arguments, &error))?;
    println!("{}", rendered(&collection, 0, ",\n "));
    Ok(true)
}

/// Prints a line for each resource in the documents, until the limit of `--limit` is reached.
fn many(
    arguments: &Args,
    options: &CompileOptions<'_>,
    wanted: Option<TypeId>,
    documents: impl Iterator<Item = Input>,
) -> Result<Lines, Failure> {
    let options = CompileOptions {
        extra: Some(&whole),
        ..options.clone()
    };
    let programs = programs(arguments, &options, wanted).map_err(|error| wrong(arguments, &error))?;
    advise(programs.values());
    let wanted = programs.iter().map(|(type_id, program)| (*type_id, leaves(program)));
    let reader = Arc::new(Reader::of_leaves(wanted.collect(), None));
    let mut lines = Lines::new(arguments.limit);
    for document in documents {
        for batch in reader.clone().batches(vec![document]) {
            let (type_id, batch) = batch.map_err(Failure::other)?;
            if lines.wants_more() {
                lines
                    .print(type_id, &programs[&type_id], &batch)
                    .map_err(|error| wrong(arguments, &error))?;
            }
        }
        if !lines.wants_more() {
            break;
        }
    }
    Ok(lines)
}

/// Compiles the expression for the type `wanted`. If `wanted` is `None`, compiles it for every type that has the
/// elements of the expression.
fn programs(
    arguments: &Args,
    options: &CompileOptions<'_>,
    wanted: Option<TypeId>,
) -> Result<HashMap<TypeId, Program>, FhirPathError> {
    let text = &arguments.expression;
    if let Some(type_id) = wanted {
        return Ok(HashMap::from([(type_id, compile(text, type_id, options)?)]));
    }
    let (mut programs, mut faults) = (HashMap::new(), Vec::new());
    for type_id in facts().resources().filter(|type_id| !facts().get(*type_id).is_abstract) {
        match compile(text, type_id, options) {
            Ok(program) => {
                programs.insert(type_id, program);
            }
            Err(fault) => faults.push(fault),
        }
    }
    match most_useful(faults) {
        Some(fault) if programs.is_empty() => Err(fault),
        _ => Ok(programs),
    }
}

/// Returns the most useful of the errors that an expression has for the resource types. Many types lack an element of
/// the expression, so `UnknownElement` says little, and any other error goes before it. If all types lack the same
/// name, that is the error.
fn most_useful(mut faults: Vec<FhirPathError>) -> Option<FhirPathError> {
    let is_other = |fault: &FhirPathError| !matches!(fault, FhirPathError::UnknownElement { .. });
    if let Some(other) = faults.iter().rposition(is_other) {
        return Some(faults.swap_remove(other));
    }
    let lacks = |fault: &FhirPathError| match fault {
        FhirPathError::UnknownElement { at, name, type_name } if resource_type(type_name).is_ok() => {
            Some((*at, name.clone()))
        }
        _ => None,
    };
    let name = lacks(faults.first()?);
    match name {
        Some((at, name)) if faults.iter().all(|fault| lacks(fault) == Some((at, name.clone()))) => {
            Some(FhirPathError::UnknownName { at, name })
        }
        _ => Some(faults.swap_remove(0)),
    }
}
