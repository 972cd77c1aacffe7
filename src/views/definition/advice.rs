//! Warnings about a view that can be run. Most concern a column: it has no declared type, has another type than its
//! path yields, may have more values than it can hold, or is always empty. Others concern unused constants, and
//! profiles that the view claims but does not meet. A warning changes no row.

use super::column::ANSI_TYPE;
use super::finding::{Finding, Findings};
use super::kind::Kind;
use super::raw::{Definition, RawColumn, RawSelect};
use super::sql_type::SqlType;
use crate::fhir::nearest::nearest;
use crate::fhir::outcome::IssueType;
use crate::fhir::{Kind as FhirKind, TypeId, facts};
use crate::fhirpath::parse;
use crate::fhirpath::{Expr, ExprKind, FhirPathError, ItemType, JsonName, Program, System};

/// Returns the name of a FHIR type. For a System type, returns the name of the corresponding FHIR type.
pub(in crate::views) fn fhir_name(item_type: ItemType) -> &'static str {
    match item_type {
        ItemType::Fhir(_) => item_type.name(),
        ItemType::System(system) => match system {
            System::Boolean => "boolean",
            System::String => "string",
            System::Integer => "integer",
            System::Long => "integer64",
            System::Decimal => "decimal",
            System::Date => "date",
            System::DateTime => "dateTime",
            System::Time => "time",
            System::Quantity | System::TypeInfo | System::Target => system.name(),
        },
    }
}

/// Returns a suggestion for an unknown name, to append to the error's message. Empty if no known name is similar.
pub(in crate::views) fn meant<'n>(error: &FhirPathError, constants: impl Iterator<Item = &'n String>) -> String {
    match error {
        FhirPathError::UnknownConstant { name, .. } => match nearest(name, constants.map(String::as_str)) {
            Some(meant) => format!("; did you mean %{meant}?"),
            None => String::new(),
        },
        _ => error.meant(),
    }
}

/// Returns the SQL type that a column's tag `ansi/type` names. `None` without this tag, or if the type is unknown.
/// Warns if the type is unknown or if the column's values cannot have it.
pub(in crate::views) fn sql_type(raw: &RawColumn, kind: Kind, findings: &mut Findings) -> Option<SqlType> {
    let tag = raw.tags.iter().find(|tag| tag.name.eq_ignore_ascii_case(ANSI_TYPE))?;
    let sql_type = SqlType::parse(&tag.value);
    let problem = match sql_type {
        None => format!(
            "'{}' is no SQL type that is known here; the column stays {}",
            tag.value,
            SqlType::of(kind, raw.fhir_type.as_deref())
        ),
        Some(sql_type) if !sql_type.suits(kind) => format!("no {} can be a {sql_type}", kind.name()),
        Some(_) => return sql_type,
    };
    let finding = Finding::warning(format!("{}.value", tag.at), IssueType::Value, problem);
    findings.add(finding.of_column(&raw.name));
    sql_type
}

/// Warns about a column. `compiled` compiles a part of the column's path in the same context.
pub(in crate::views) fn column(
    raw: &RawColumn,
    program: &Program,
    compiled: impl Fn(&str) -> Option<Program>,
    findings: &mut Findings,
) {
    let doubt = |findings: &mut Findings, at: &str, problem: String| {
        findings.add(Finding::warning(at, IssueType::BusinessRule, problem).of_column(&raw.name));
    };
    if program.is_statically_empty() {
        return doubt(findings, &raw.path.at, "is empty whatever the data".to_owned());
    }
    let (primitive, complex): (Vec<ItemType>, Vec<ItemType>) = program
        .output_types()
        .into_iter()
        .partition(|item_type| Kind::of_items(*item_type).is_some());
    let given = either(&primitive);
    if let Some(complex) = complex.first() {
        let problem = format!("may be a {complex}, which is not a primitive and an error when it happens");
        doubt(findings, &raw.path.at, problem);
    }
    match &raw.fhir_type {
        None => {
            let problem = format!("has no type; its path gives {given}");
            let finding = Finding {
                is_of_missing_type: true,
                ..Finding::warning(&raw.at, IssueType::BusinessRule, problem)
            };
            findings.add(finding.of_column(&raw.name));
        }
        Some(fhir_type) if !primitive.iter().all(|given| is_of(*given, fhir_type)) => {
            doubt(
                findings,
                &format!("{}.type", raw.at),
                format!("is declared as {fhir_type}, but its path gives {given}"),
            );
        }
        Some(_) => {}
    }
    if program.is_multi_valued() && raw.collection != Some(true) {
        let problem = "may have several values in a row, which is an error when it happens; say \"collection\": true, take \
            first(), or go through them with forEach";
        doubt(findings, &raw.path.at, problem.to_owned());
    }
    if let Some(joined) = joined(&raw.path.text).and_then(compiled) {
        let types = joined.output_types();
        if let Some(other) = types
            .iter()
            .find(|item_type| item_type.system() != Some(System::String))
        {
            let problem = format!(
                "join() is defined for strings; a {} is joined as it is written",
                fhir_name(*other)
            );
            doubt(findings, &raw.path.at, problem);
        }
    }
}

/// Warns about each name that is written as in JSON, such as `valueCoding`, in the programs of an expression. The
/// warning states FHIRPath's form of the name.
pub(in crate::views) fn json_names<'p>(
    programs: impl IntoIterator<Item = &'p Program>,
    at: &str,
    column: Option<&str>,
    findings: &mut Findings,
) {
    let mut met: Vec<&JsonName> = Vec::new();
    for name in programs.into_iter().flat_map(Program::json_names) {
        if met.contains(&name) {
            continue;
        }
        met.push(name);
        let finding = Finding {
            position: Some(name.at),
            is_of_json_name: true,
            ..Finding::warning(at, IssueType::BusinessRule, name.to_string())
        };
        findings.add(match column {
            Some(column) => finding.of_column(column),
            None => finding,
        });
    }
}

/// Returns the part of a path before its last `join()`. `None` if the path has no `join()`.
fn joined(text: &str) -> Option<&str> {
    let tree = parse(text).ok()?;
    let mut step: &Expr = &tree;
    loop {
        step = match &step.kind {
            ExprKind::Call { on: Some(_), name, .. } if name == "join" => {
                return text.get(..step.at)?.trim_end().strip_suffix('.');
            }
            ExprKind::Call { on: Some(on), .. }
            | ExprKind::Member { on: Some(on), .. }
            | ExprKind::Indexer { on, .. } => on,
            _ => return None,
        };
    }
}

/// Returns the names of types, joined by `or`.
fn either(types: &[ItemType]) -> String {
    let mut names: Vec<&str> = types.iter().map(|item_type| fhir_name(*item_type)).collect();
    names.sort_unstable();
    names.dedup();
    names.join(" or ")
}

/// Whether items of the type `given` fit the type `declared` of a column.
fn is_of(given: ItemType, declared: &str) -> bool {
    let name = declared.rsplit('/').next().unwrap_or(declared);
    let name = name.strip_prefix("FHIR.").unwrap_or(name);
    if let Some(system) = name.strip_prefix("System.") {
        return given.system().is_some_and(|given| given.name() == system);
    }
    if name == "integer64" {
        return matches!(given.system(), Some(System::Integer | System::Long));
    }
    let Some(declared) = facts().lookup(name) else {
        return false;
    };
    match given {
        ItemType::Fhir(given) => facts().is_a(given, declared),
        ItemType::System(system) => ItemType::Fhir(declared).system() == Some(system),
    }
}

/// Warns about a `where` that is always empty or may have several values.
pub(in crate::views) fn filter(program: &Program, at: &str, findings: &mut Findings) {
    if program.is_statically_empty() {
        findings.warn(
            at,
            IssueType::BusinessRule,
            "is empty whatever the data, and keeps no resource",
        );
    } else if program.is_multi_valued() {
        let problem = "may have several values, which is an error when it happens; say exists() or all()";
        findings.warn(at, IssueType::BusinessRule, problem);
    }
}

/// Warns about the iteration of a select that never yields an item.
pub(in crate::views) fn iteration(program: &Program, at: &str, findings: &mut Findings) {
    if program.is_statically_empty() {
        findings.warn(at, IssueType::BusinessRule, "is empty whatever the data");
    }
}

/// Warns if the view's `profile` is R4's own definition of another resource type, for example of Patient in a view of
/// Observations.
pub(in crate::views) fn profiles(definition: &Definition, type_id: Option<TypeId>, findings: &mut Findings) {
    let Some(type_name) = type_id.map(|type_id| facts().get(type_id).name) else {
        return;
    };
    for profile in &definition.profiles {
        let address = profile.text.split('|').next().unwrap_or_default();
        let about = address.strip_prefix("http://hl7.org/fhir/StructureDefinition/");
        if let Some(about) = about
            && about != type_name
            && facts()
                .lookup(about)
                .is_some_and(|about| facts().get(about).kind == FhirKind::Resource)
        {
            findings.warn(
                &profile.at,
                IssueType::Value,
                format!("is about {about}, not {type_name}"),
            );
        }
    }
}

/// Warns about constants that no expression uses.
pub(in crate::views) fn constants(definition: &Definition, findings: &mut Findings) {
    if definition.constants.is_empty() {
        return;
    }
    let mut texts: Vec<&str> = definition.wheres.iter().map(|filter| filter.text.as_str()).collect();
    definition
        .selects
        .iter()
        .for_each(|select| expressions(select, &mut texts));
    for constant in &definition.constants {
        if !texts.iter().any(|text| uses(text, &constant.name)) {
            findings.warn(
                &constant.at,
                IssueType::BusinessRule,
                format!("%{} is not used", constant.name),
            );
        }
    }
}

/// Adds all expressions of a select to `texts`, including those of nested selects.
fn expressions<'d>(select: &'d RawSelect, texts: &mut Vec<&'d str>) {
    use super::raw::RawIteration;
    match &select.iteration {
        Some(RawIteration::Each(path) | RawIteration::EachOrNull(path)) => texts.push(&path.text),
        Some(RawIteration::Repeat(paths)) => texts.extend(paths.iter().map(|path| path.text.as_str())),
        Some(RawIteration::Unknown) | None => {}
    }
    texts.extend(select.columns.iter().map(|column| column.path.text.as_str()));
    for select in select.selects.iter().chain(&select.union) {
        expressions(select, texts);
    }
}

/// Whether a text contains `%name`, with or without quotes around the name.
fn uses(text: &str, name: &str) -> bool {
    text.split('%').skip(1).any(|behind| {
        let behind = behind.trim_start();
        let bare = behind.strip_prefix(['`', '\'', '"']).unwrap_or(behind);
        let ends = |rest: &str| !rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
        bare.strip_prefix(name).is_some_and(ends)
    })
}

/// Warns about columns that do not meet the profiles that a definition claims.
pub(in crate::views) fn claims(definition: &Definition, findings: &mut Findings) {
    definition
        .selects
        .iter()
        .for_each(|select| claims_of(select, definition, findings));
}

fn claims_of(select: &RawSelect, definition: &Definition, findings: &mut Findings) {
    for column in &select.columns {
        let mut unmet = |problem: &str| {
            findings.add(Finding::warning(&column.at, IssueType::Invariant, problem).of_column(&column.name));
        };
        if definition.claims.shareable && column.fhir_type.is_none() {
            unmet("has no type, which ShareableViewDefinition asks for");
        }
        if definition.claims.tabular && column.collection == Some(true) {
            unmet("is a collection, which TabularViewDefinition does not have");
        }
    }
    for select in select.selects.iter().chain(&select.union) {
        claims_of(select, definition, findings);
    }
}
