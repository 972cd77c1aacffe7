//! From the raw definition to a view: compiles expressions in the context they stand in, gives columns their places, and
//! checks that names are sound and unique and that the branches of a `unionAll` agree.

use std::collections::HashMap;
use std::sync::Arc;

use super::column::{Column, Kind};
use super::definition::{Definition, Located, MAX_COLUMNS, RawColumn, RawIteration, RawSelect, check_name, wrong};
use super::error::ViewError;
use super::place::Place;
use super::view::{self, Cell, Filter, Iteration, Select, Steps, View};
use crate::fhir::storage::LeafSet;
use crate::fhir::terminology::Terminology;
use crate::fhir::{Kind as FhirKind, TypeId, facts};
use crate::fhirpath::{CompileOptions, Constant, FhirPathError, ItemType, Program, System, compile, necessary};

/// Resolves a definition.
pub(super) fn resolve(definition: &Definition, terminology: Option<Arc<Terminology>>) -> Result<View, ViewError> {
    let ty = resource_type(&definition.resource)?;
    let mut constants = HashMap::new();
    for (index, (name, value)) in definition.constants.iter().enumerate() {
        if constants.insert(name.clone(), value.clone()).is_some() {
            return Err(wrong(
                &Place::Root.property("constant").item(index),
                format!("'{name}' is defined twice"),
            ));
        }
    }
    let mut resolver = Resolver {
        ty,
        constants,
        terminology,
        leaves: LeafSet::new(),
    };
    let filters = definition
        .wheres
        .iter()
        .map(|filter| resolver.filter(filter))
        .collect::<Result<Vec<_>, _>>()?;
    // What filters read is read by the scan on its own.
    resolver.leaves.clear();
    let (mut selects, mut columns) = (Vec::new(), Vec::new());
    for select in &definition.selects {
        let (select, of_select) = resolver.select(select, None, columns.len())?;
        selects.push(select);
        columns.extend(of_select);
    }
    unique(&columns)?;
    let columns: Vec<Column> = columns.into_iter().map(|(_, column)| column).collect();
    let schema = view::schema(&columns);
    Ok(View {
        name: definition.name.clone(),
        resource: ty,
        filters,
        selects,
        columns,
        schema,
        leaves: resolver.leaves,
    })
}

/// A column and where its definition stands.
type Placed = (String, Column);

fn resource_type(name: &str) -> Result<TypeId, ViewError> {
    let root = Place::Root;
    let at = root.property("resource");
    let ty = facts().lookup(name).filter(|ty| {
        let def = facts().get(*ty);
        def.kind == FhirKind::Resource && !def.is_abstract
    });
    ty.ok_or_else(|| wrong(&at, format!("'{name}' is no R4 resource type")))
}

fn unique(columns: &[Placed]) -> Result<(), ViewError> {
    if columns.len() > MAX_COLUMNS {
        return Err(wrong(&Place::Root, format!("has more than {MAX_COLUMNS} columns")));
    }
    let mut first: HashMap<&str, &str> = HashMap::new();
    for (at, column) in columns {
        if let Some(before) = first.insert(&column.name, at) {
            let problem = format!("the name '{}' is taken by {before}", column.name);
            return Err(ViewError::Structure {
                at: format!("{at}.name"),
                problem,
            });
        }
    }
    Ok(())
}

struct Resolver {
    ty: TypeId,
    constants: HashMap<String, Constant>,
    terminology: Option<Arc<Terminology>>,
    leaves: LeafSet,
}

impl Resolver {
    fn compile(&mut self, text: &str, context: Option<&Program>) -> Result<Program, FhirPathError> {
        let options = CompileOptions {
            constants: self.constants.clone(),
            terminology: self.terminology.clone(),
            context,
            ..CompileOptions::default()
        };
        let program = compile(text, self.ty, &options)?;
        self.leaves.extend(program.leaves().iter().cloned());
        Ok(program)
    }

    fn filter(&mut self, filter: &Located) -> Result<Filter, ViewError> {
        let failed = |source| ViewError::Expression {
            at: filter.at.clone(),
            source,
        };
        let program = self.compile(&filter.text, None).map_err(failed)?;
        let boolean = |ty: &ItemType| ty.system() == Some(System::Boolean);
        if let Some(other) = program.output_types().iter().find(|ty| !boolean(ty)) {
            let problem = format!("must be true or false, but is a {other}");
            return Err(ViewError::Structure {
                at: filter.at.clone(),
                problem,
            });
        }
        let options = CompileOptions {
            constants: self.constants.clone(),
            ..CompileOptions::default()
        };
        Ok(Filter {
            at: filter.at.clone(),
            necessary: necessary(&filter.text, self.ty, &options).map_err(failed)?,
            program,
        })
    }

    /// A select and its columns; their slots begin with `base`.
    fn select(
        &mut self,
        raw: &RawSelect,
        context: Option<&Program>,
        base: usize,
    ) -> Result<(Select, Vec<Placed>), ViewError> {
        let iteration = match &raw.iteration {
            None => None,
            Some(iteration) => Some(self.iteration(iteration, context)?),
        };
        let context = match &iteration {
            None => context,
            Some((_, items)) => Some(items),
        };
        let (mut cells, mut columns) = (Vec::new(), Vec::new());
        for column in &raw.columns {
            let (program, column_at) = (self.column_program(column, context)?, column.at.clone());
            let is_row_index = column.path.text.trim() == "%rowIndex";
            columns.push((column_at, resolved(column, &program)?));
            cells.push(Cell {
                slot: base + cells.len(),
                program,
                is_row_index,
            });
        }
        let mut selects = Vec::new();
        for select in &raw.selects {
            let (select, of_select) = self.select(select, context, base + columns.len())?;
            selects.push(select);
            columns.extend(of_select);
        }
        let (union, of_union) = self.union(&raw.union, context, base + columns.len())?;
        columns.extend(of_union);
        let iteration = iteration.map(|(iteration, _)| iteration);
        Ok((
            Select {
                iteration,
                cells,
                selects,
                union,
            },
            columns,
        ))
    }

    /// The branches of a union fill the same slots.
    fn union(
        &mut self,
        raw: &[RawSelect],
        context: Option<&Program>,
        base: usize,
    ) -> Result<(Vec<Select>, Vec<Placed>), ViewError> {
        let mut branches = Vec::new();
        let mut agreed: Option<Vec<Placed>> = None;
        for branch in raw {
            let (select, columns) = self.select(branch, context, base)?;
            branches.push(select);
            agreed = Some(match agreed {
                None => columns,
                Some(agreed) => agree(agreed, &columns, &branch.at)?,
            });
        }
        Ok((branches, agreed.unwrap_or_default()))
    }

    fn column_program(&mut self, column: &RawColumn, context: Option<&Program>) -> Result<Program, ViewError> {
        self.compile(&column.path.text, context)
            .map_err(|source| ViewError::Column {
                at: column.path.at.clone(),
                column: column.name.clone(),
                source,
            })
    }

    /// The iteration, and a program whose output items are the context of what stands below it.
    fn iteration(&mut self, raw: &RawIteration, context: Option<&Program>) -> Result<(Iteration, Program), ViewError> {
        let (expression, or_null) = match raw {
            RawIteration::Each(expression) => (expression, false),
            RawIteration::EachOrNull(expression) => (expression, true),
            RawIteration::Repeat(paths) => {
                let options = CompileOptions {
                    constants: self.constants.clone(),
                    terminology: self.terminology.clone(),
                    ..CompileOptions::default()
                };
                return super::repeat::resolve(paths, self.ty, &options, context, &mut self.leaves);
            }
        };
        let failed = |source| ViewError::Expression {
            at: expression.at.clone(),
            source,
        };
        let program = self.compile(&expression.text, context).map_err(failed)?;
        let iteration = Iteration {
            at: expression.at.clone(),
            steps: Steps::Each(program.clone()),
            or_null,
        };
        Ok((iteration, program))
    }
}

/// A column with the kind that its declaration and its expression give.
fn resolved(raw: &RawColumn, program: &Program) -> Result<Column, ViewError> {
    let structure = |property: &str, problem: String| ViewError::Structure {
        at: format!("{}.{property}", raw.at),
        problem,
    };
    check_name(&raw.name, &Place::Root).map_err(|error| match error {
        ViewError::Structure { problem, .. } => structure("name", problem),
        other => other,
    })?;
    let types = program.output_types();
    let kinds: Vec<Kind> = types.iter().filter_map(|ty| Kind::of_items(*ty)).collect();
    if kinds.is_empty()
        && let Some(complex) = types.first()
    {
        let problem = format!(
            "column '{}' yields a {complex}, which is not a primitive; choose one of its elements",
            raw.name
        );
        return Err(structure("path", problem));
    }
    let yielded = kinds.into_iter().reduce(Kind::with);
    let declared = raw
        .ty
        .as_deref()
        .map(Kind::declared)
        .transpose()
        .map_err(|problem| structure("type", problem))?;
    let only = match types.as_slice() {
        [only] => Some(only.name().to_owned()),
        _ => None,
    };
    Ok(Column {
        name: raw.name.clone(),
        kind: declared.or(yielded).unwrap_or(Kind::Text),
        collection: raw.collection.unwrap_or(false),
        ty: raw.ty.clone().or(only),
        description: raw.description.clone(),
        tags: Vec::new(),
    })
}

/// The columns of two branches of a union, if they agree.
fn agree(agreed: Vec<Placed>, columns: &[Placed], at: &str) -> Result<Vec<Placed>, ViewError> {
    let names = |columns: &[Placed]| {
        columns
            .iter()
            .map(|(_, column)| column.name.as_str())
            .collect::<Vec<_>>()
            .join(", ")
    };
    let structure = |problem: String| ViewError::Structure {
        at: at.to_owned(),
        problem,
    };
    let same_names = agreed.len() == columns.len()
        && agreed
            .iter()
            .zip(columns)
            .all(|((_, one), (_, other))| one.name == other.name);
    if !same_names {
        let problem = format!(
            "has the columns {}, but the first branch has {}",
            names(columns),
            names(&agreed)
        );
        return Err(structure(problem));
    }
    let joined = agreed.into_iter().zip(columns).map(|((place, one), (_, other))| {
        if one.collection != other.collection {
            return Err(structure(format!(
                "column '{}' is a collection in one branch only",
                one.name
            )));
        }
        let kind = one.kind.with(other.kind);
        Ok((place, Column { kind, ..one }))
    });
    joined.collect()
}
