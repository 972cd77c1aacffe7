//! A view restricted to some of its columns. The other columns are neither read nor evaluated. The number of rows stays
//! the same.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Field, FieldRef, Schema, SchemaRef};

use super::super::error::RunError;
use super::super::output;
use super::super::view;
use super::super::view::{Cell, Iteration, Select, Steps, View};
use crate::fhir::storage::LeafSet;

impl View {
    /// Returns the view with only the columns at these indexes, in this order.
    pub fn project(&self, columns: &[usize]) -> View {
        let selects: Vec<Select> = self
            .selects
            .iter()
            .filter_map(|select| select.project(columns))
            .collect();
        let mut leaves = LeafSet::new();
        let known = selects.iter().all(|select| select.add_leaves(&mut leaves));
        let place = |at: &usize| self.projected.as_ref().map_or(*at, |places| places[*at]);
        let projected = columns.iter().map(place).collect();
        let columns: Vec<_> = columns.iter().map(|at| self.columns[*at].clone()).collect();
        View {
            projected: Some(projected),
            leaves: if known { leaves } else { self.leaves.clone() },
            schema: view::schema(&columns),
            selects,
            columns,
            ..self.clone()
        }
    }

    /// Returns the schema of the columns with their SQL types.
    pub fn typed_schema(&self) -> SchemaRef {
        let typed = output::typed_schema(&self.columns);
        let plain = |field: &FieldRef| Arc::new(Field::new(field.name(), field.data_type().clone(), true));
        Arc::new(Schema::new(typed.fields().iter().map(plain).collect::<Vec<_>>()))
    }

    /// Converts rows of the view to the SQL types of its columns. `schema` is [`View::typed_schema`].
    pub fn typed(&self, schema: &SchemaRef, rows: &RecordBatch) -> Result<RecordBatch, RunError> {
        output::typed(&self.columns, schema, rows)
    }
}

impl Select {
    /// Restricts a select to these columns. `None` if the restricted select has no columns and yields exactly one row
    /// for each context.
    fn project(&self, columns: &[usize]) -> Option<Select> {
        let cell = |cell: &Cell| {
            let slot = columns.iter().position(|at| *at == cell.slot)?;
            Some(Cell { slot, ..cell.clone() })
        };
        let select = Select {
            iteration: self.iteration.clone(),
            cells: self.cells.iter().filter_map(cell).collect(),
            selects: self
                .selects
                .iter()
                .filter_map(|select| select.project(columns))
                .collect(),
            // Keep a branch without columns, because it still yields rows.
            union: self.union.iter().map(|branch| branch.project_rows(columns)).collect(),
        };
        let is_neutral = select.iteration.is_none()
            && select.cells.is_empty()
            && select.selects.is_empty()
            && select.union.is_empty();
        (!is_neutral).then_some(select)
    }

    /// Restricts a branch of a union to these columns. Keeps the branch even if it has only rows and no columns.
    fn project_rows(&self, columns: &[usize]) -> Select {
        self.project(columns).unwrap_or(Select {
            iteration: None,
            cells: Vec::new(),
            selects: Vec::new(),
            union: Vec::new(),
        })
    }

    /// Adds the leaves that the select's expressions read. Returns `false` if they are unknown for some expression.
    fn add_leaves(&self, leaves: &mut LeafSet) -> bool {
        match &self.iteration {
            Some(Iteration {
                steps: Steps::Each(program),
                ..
            }) => leaves.extend(program.leaves().iter().cloned()),
            // A `repeat` reads everything below its context, to the depth of the data. So its leaves are unknown.
            Some(Iteration {
                steps: Steps::Repeat { .. },
                ..
            }) => return false,
            None => {}
        }
        for cell in &self.cells {
            leaves.extend(cell.program.leaves().iter().cloned());
        }
        let mut below = self.selects.iter().chain(&self.union);
        below.all(|select| select.add_leaves(leaves))
    }
}
