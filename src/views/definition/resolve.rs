//! Turns the raw definition into a view: compiles expressions in their contexts and assigns output columns. Checks
//! that names are valid and unique, and that the branches of a `unionAll` agree. After an error, it still checks the
//! other parts as far as possible.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use chrono::Utc;

use super::super::view;
use super::super::view::{Cell, Converts, Filter, Iteration, Names, Select, Steps, View};
use super::advice;
use super::column::{Column, Tag};
use super::finding::{Finding, Findings};
use super::kind::Kind;
use super::name::{is_name, no_name};
use super::raw::{Definition, Located, RawColumn, RawIteration, RawSelect};
use super::sql_type::SqlType;
use super::union::{Placed, agree};
use crate::fhir::nearest::did_you_mean;
use crate::fhir::outcome::{IssueType, Severity};
use crate::fhir::storage::LeafSet;
use crate::fhir::{Kind as FhirKind, TypeId, facts};
use crate::fhirpath::parse;
use crate::fhirpath::{
    CompileOptions, Constant, FhirPathError, ItemType, Program, System, WorkBudget, compile, necessary,
};
use crate::terminology::Terminology;

/// The maximum number of columns of a view.
const MAX_COLUMNS: usize = 4096;

/// Resolves a definition. Returns a view if no error prevents a run.
pub(in crate::views) fn resolve(
    definition: &Definition,
    terminology: Option<Arc<Terminology>>,
    names: Names,
    findings: &mut Findings,
) -> Option<View> {
    let type_id = resource_type(definition.resource.as_deref(), findings);
    let (constants, unreadable) = constants(definition, findings);
    advice::profiles(definition, type_id, findings);
    let mut resolver = Resolver {
        type_id,
        constants,
        unreadable,
        terminology,
        names,
        leaves: LeafSet::new(),
        parts: 0,
        findings,
    };
    let filters: Vec<Option<Filter>> = definition.wheres.iter().map(|filter| resolver.filter(filter)).collect();
    // Drop the leaves that the filters read. `View::leaves` has only the leaves that the selects read.
    resolver.leaves.clear();
    let (mut selects, mut columns) = (Vec::new(), Vec::new());
    for select in &definition.selects {
        let (select, of_select) = resolver.select(select, Context::Resource, columns.len());
        selects.push(select);
        columns.extend(of_select);
    }
    let (leaves, parts, constants) = (resolver.leaves, resolver.parts, Arc::new(resolver.constants));
    unique(&columns, findings);
    advice::constants(definition, findings);
    advice::claims(definition, findings);
    if findings.errors() > 0 {
        return None;
    }
    let columns = columns.into_iter().map(|placed| placed.column);
    let columns: Vec<Column> = columns.collect::<Option<_>>()?;
    let schema = view::schema(&columns);
    Some(View {
        name: definition.name.clone(),
        resource: type_id?,
        filters: filters.into_iter().collect::<Option<_>>()?,
        selects,
        constants,
        columns,
        schema,
        leaves,
        now: Utc::now(),
        parts,
        budget: WorkBudget::default(),
        definition: Arc::default(),
        reads_ids: false,
        converts: Converts::default(),
        projected: None,
    })
}

/// The context on which an expression is evaluated.
#[derive(Clone, Copy)]
enum Context<'p> {
    Resource,
    Items(&'p Program),
    /// A context that could not be resolved. Only the grammar of its expressions is checked.
    Unknown,
}

fn resource_type(name: Option<&str>, findings: &mut Findings) -> Option<TypeId> {
    let name = name?;
    let concrete = |type_id: &TypeId| {
        let def = facts().get(*type_id);
        def.kind == FhirKind::Resource && !def.is_abstract
    };
    let type_id = facts().lookup(name).filter(concrete);
    if type_id.is_none() {
        let names = facts()
            .resources()
            .filter(concrete)
            .map(|type_id| facts().get(type_id).name);
        let meant = did_you_mean(name, names);
        let problem = format!("'{name}' is no R4 resource type{meant}");
        findings.error("ViewDefinition.resource", IssueType::CodeInvalid, problem);
    }
    type_id
}

/// Returns the constants, and the names of constants whose values could not be read.
fn constants(definition: &Definition, findings: &mut Findings) -> (HashMap<String, Constant>, HashSet<String>) {
    let (mut constants, mut unreadable, mut met) = (HashMap::new(), HashSet::new(), HashSet::new());
    for constant in &definition.constants {
        let name = &constant.name;
        if !met.insert(name) {
            let at = format!("{}.name", constant.at);
            findings.error(at, IssueType::Duplicate, format!("'{name}' is defined twice"));
        }
        match &constant.value {
            Some(value) => {
                constants.insert(name.clone(), value.clone());
            }
            None => {
                unreadable.insert(name.clone());
            }
        }
    }
    (constants, unreadable)
}

fn unique(columns: &[Placed], findings: &mut Findings) {
    if columns.len() > MAX_COLUMNS {
        let problem = format!("has more than {MAX_COLUMNS} columns");
        findings.error("ViewDefinition", IssueType::TooCostly, problem);
    }
    let mut first: HashMap<&str, &str> = HashMap::new();
    for placed in columns {
        match first.get(placed.name.as_str()) {
            None => {
                first.insert(&placed.name, &placed.at);
            }
            Some(before) => findings.error(
                format!("{}.name", placed.at),
                IssueType::Duplicate,
                format!("the name '{}' is taken by {before}", placed.name),
            ),
        }
    }
}

struct Resolver<'f> {
    type_id: Option<TypeId>,
    constants: HashMap<String, Constant>,
    unreadable: HashSet<String>,
    terminology: Option<Arc<Terminology>>,
    names: Names,
    leaves: LeafSet,
    /// The sum of [`Program::parts`] of all expressions. It decides how much work a run of the view may do.
    parts: usize,
    findings: &'f mut Findings,
}

impl Resolver<'_> {
    fn options<'p>(&self, context: Option<&'p Program>) -> CompileOptions<'p> {
        CompileOptions {
            constants: self.constants.clone(),
            terminology: self.terminology.clone(),
            json_names: self.names == Names::Both,
            context,
            ..CompileOptions::default()
        }
    }

    /// Compiles an expression. An error becomes a finding. In an unknown context, only checks the grammar and returns
    /// `None`.
    fn compile(&mut self, expression: &Located, column: Option<&str>, context: Context<'_>) -> Option<Program> {
        let context = match context {
            Context::Resource => self.type_id.map(|type_id| (type_id, None)),
            Context::Items(items) => self.type_id.map(|type_id| (type_id, Some(items))),
            Context::Unknown => None,
        };
        let compiled = match context {
            None => parse(&expression.text).map(|_| None),
            Some((type_id, context)) => {
                let options = self.options(context);
                compile(&expression.text, type_id, &options).map(Some)
            }
        };
        match compiled {
            Ok(program) => {
                let leaves = program.iter().flat_map(|program| program.leaves().iter().cloned());
                self.leaves.extend(leaves);
                if let Some(program) = &program {
                    self.parts += program.parts();
                    advice::json_names([program], &expression.at, column, self.findings);
                }
                program
            }
            Err(error) => {
                self.failed(&expression.at, column, &error);
                None
            }
        }
    }

    /// Reports that an expression cannot be compiled, unless the cause is a constant whose error was reported before.
    fn failed(&mut self, at: &str, column: Option<&str>, error: &FhirPathError) {
        if let FhirPathError::UnknownConstant { name, .. } = error
            && self.unreadable.contains(name)
        {
            return;
        }
        let mut finding = Finding::expression(at, error);
        finding.problem += &advice::meant(error, self.constants.keys());
        self.findings.add(match column {
            Some(column) => finding.of_column(column),
            None => finding,
        });
    }

    fn filter(&mut self, filter: &Located) -> Option<Filter> {
        let program = self.compile(filter, None, Context::Resource)?;
        let boolean = |item_type: &ItemType| item_type.system() == Some(System::Boolean);
        if let Some(other) = program.output_types().iter().find(|item_type| !boolean(item_type)) {
            let problem = format!("must be true or false, but is a {other}");
            self.findings.error(&filter.at, IssueType::Value, problem);
            return None;
        }
        advice::filter(&program, &filter.at, self.findings);
        let options = self.options(None);
        let necessary = match necessary(&filter.text, self.type_id?, &options) {
            Ok(necessary) => necessary,
            Err(error) => {
                self.failed(&filter.at, None, &error);
                return None;
            }
        };
        Some(Filter {
            at: filter.at.clone(),
            necessary,
            program,
        })
    }

    /// Resolves a select. Also returns its columns, which fill output slots from `base` on. A column with an error gets
    /// no cell.
    fn select(&mut self, raw: &RawSelect, context: Context<'_>, base: usize) -> (Select, Vec<Placed>) {
        let iteration = raw
            .iteration
            .as_ref()
            .map(|iteration| self.iteration(iteration, context));
        let context = match &iteration {
            None => context,
            Some(Some((_, items))) => Context::Items(items),
            Some(None) => Context::Unknown,
        };
        let (mut cells, mut columns) = (Vec::new(), Vec::new());
        for column in &raw.columns {
            let (cell, placed) = self.column(column, context, base + columns.len());
            cells.extend(cell);
            columns.push(placed);
        }
        let mut selects = Vec::new();
        for select in &raw.selects {
            let (select, of_select) = self.select(select, context, base + columns.len());
            selects.push(select);
            columns.extend(of_select);
        }
        let (union, of_union) = self.union(&raw.union, context, base + columns.len());
        columns.extend(of_union);
        let iteration = iteration.flatten().map(|(iteration, _)| iteration);
        let select = Select {
            iteration,
            cells,
            selects,
            union,
        };
        (select, columns)
    }

    /// Resolves the branches of a union. All branches fill the same output slots.
    fn union(&mut self, raw: &[RawSelect], context: Context<'_>, base: usize) -> (Vec<Select>, Vec<Placed>) {
        let mut branches = Vec::new();
        let mut agreed: Option<Vec<Placed>> = None;
        let all_read = raw.iter().all(|branch| branch.whole);
        for branch in raw {
            let (select, columns) = self.select(branch, context, base);
            branches.push(select);
            agreed = Some(match agreed {
                None => columns,
                Some(agreed) if all_read => agree(agreed, columns, &branch.at, self.findings),
                Some(agreed) => agreed,
            });
        }
        (branches, agreed.unwrap_or_default())
    }

    /// Resolves an iteration. Also returns a program whose output items are the contexts of everything inside the
    /// select.
    fn iteration(&mut self, raw: &RawIteration, context: Context<'_>) -> Option<(Iteration, Program)> {
        let (expression, or_null) = match raw {
            RawIteration::Each(expression) => (expression, false),
            RawIteration::EachOrNull(expression) => (expression, true),
            RawIteration::Repeat(paths) => return self.repeat(paths, context),
            RawIteration::Unknown => return None,
        };
        let program = self.compile(expression, None, context)?;
        advice::iteration(&program, &expression.at, self.findings);
        let iteration = Iteration {
            at: expression.at.clone(),
            steps: Steps::Each(program.clone()),
            or_null,
        };
        Some((iteration, program))
    }

    fn repeat(&mut self, paths: &[Located], context: Context<'_>) -> Option<(Iteration, Program)> {
        let on = match (self.type_id, context) {
            (Some(_), Context::Resource) => None,
            (Some(_), Context::Items(items)) => Some(items),
            _ => {
                for path in paths {
                    self.compile(path, None, Context::Unknown);
                }
                return None;
            }
        };
        let resolved =
            super::super::evaluation::repeat::resolve(paths, self.type_id?, &self.options(None), on, &mut self.leaves);
        let (iteration, items) = match resolved {
            Ok(resolved) => resolved,
            Err((at, error)) => {
                self.failed(&at, None, &error);
                return None;
            }
        };
        if let Steps::Repeat { first, next } = &iteration.steps {
            for (path, (first, next)) in paths.iter().zip(first.iter().zip(next)) {
                self.parts += first.parts() + next.parts();
                advice::json_names([first, next], &path.at, None, self.findings);
                if first.is_statically_empty() && next.is_statically_empty() {
                    // An expression need not work on all types of items. But this one is empty on all of them, so
                    // compile it without leniency to find out why.
                    match compile(&path.text, self.type_id?, &self.options(on)) {
                        Ok(program) => advice::iteration(&program, &path.at, self.findings),
                        Err(error) => self.findings.add(Finding {
                            severity: Severity::Warning,
                            ..Finding::expression(&path.at, &error)
                        }),
                    }
                }
            }
        }
        Some((iteration, items))
    }

    fn column(&mut self, raw: &RawColumn, context: Context<'_>, slot: usize) -> (Option<Cell>, Placed) {
        if !is_name(&raw.name) {
            let at = format!("{}.name", raw.at);
            self.findings.error(at, IssueType::Invariant, no_name(&raw.name));
        }
        let declared = raw.fhir_type.as_deref().map(|fhir_type| {
            Kind::declared(fhir_type).map_err(|problem| {
                let finding = Finding::error(format!("{}.type", raw.at), IssueType::Value, problem);
                self.findings.add(finding.of_column(&raw.name));
            })
        });
        let program = self.compile(&raw.path, Some(&raw.name), context);
        let mut placed = Placed {
            at: raw.at.clone(),
            name: raw.name.clone(),
            column: None,
            empty: program.as_ref().is_some_and(Program::is_statically_empty) && raw.fhir_type.is_none(),
            tagged: false,
        };
        let (Some(program), Ok(declared)) = (program, declared.transpose()) else {
            return (None, placed);
        };
        let types = program.output_types();
        let kinds: Vec<Kind> = types
            .iter()
            .filter_map(|item_type| Kind::of_items(*item_type))
            .collect();
        if kinds.is_empty()
            && let Some(complex) = types.first()
        {
            let problem = format!("yields a {complex}, which is not a primitive; choose one of its elements");
            let finding = Finding::error(&raw.path.at, IssueType::Value, problem);
            self.findings.add(finding.of_column(&raw.name));
            return (None, placed);
        }
        let kind = declared.or(kinds.into_iter().reduce(Kind::with)).unwrap_or(Kind::Text);
        let fhir_type = raw.fhir_type.clone().or(match types.as_slice() {
            [only] => Some(advice::fhir_name(*only).to_owned()),
            _ => None,
        });
        let tagged = advice::sql_type(raw, kind, self.findings);
        placed.tagged = tagged.is_some();
        placed.column = Some(Column {
            name: raw.name.clone(),
            at: raw.at.clone(),
            kind,
            collection: raw.collection.unwrap_or(false),
            sql: tagged.unwrap_or(SqlType::of(kind, fhir_type.as_deref())),
            fhir_type,
            description: raw.description.clone(),
            tags: raw
                .tags
                .iter()
                .map(|tag| Tag {
                    name: tag.name.clone(),
                    value: tag.value.clone(),
                })
                .collect(),
        });
        if let Some(type_id) = self.type_id {
            let compiled_on = match context {
                Context::Items(items) => Some(items),
                _ => None,
            };
            let options = self.options(compiled_on);
            let of_prefix = |text: &str| compile(text, type_id, &options).ok();
            advice::column(raw, &program, of_prefix, self.findings);
        }
        let cell = Cell {
            at: raw.path.at.clone(),
            slot,
            program,
            is_row_index: raw.path.text.trim() == "%rowIndex",
        };
        (Some(cell), placed)
    }
}
