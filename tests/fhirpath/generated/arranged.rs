//! Resources arranged in all the ways that an evaluation may get them: together, alone, as a slice of a larger batch,
//! and reordered.

use arrow::array::RecordBatch;
use tabularium::fhir::TypeId;
use tabularium::fhirpath::{Evaluation, Program};

/// Resources of one type, as batches.
pub(in crate::fhirpath) struct Arranged {
    together: RecordBatch,
    alone: Vec<RecordBatch>,
    /// The same rows as a slice in the middle of others.
    sliced: RecordBatch,
    /// Every second row first, from the end.
    order: Vec<usize>,
    shuffled: RecordBatch,
}

impl Arranged {
    pub(in crate::fhirpath) fn new(type_id: TypeId, texts: &[String]) -> Arranged {
        let batch = |texts: &[String]| super::super::batch(type_id, texts);
        let around: Vec<String> = texts
            .iter()
            .rev()
            .chain(texts)
            .chain(texts.iter().rev())
            .cloned()
            .collect();
        let mut order: Vec<usize> = (0..texts.len()).rev().step_by(2).collect();
        order.extend((0..texts.len()).filter(|row| !order.contains(row)).collect::<Vec<_>>());
        let shuffled: Vec<String> = order.iter().map(|row| texts[*row].clone()).collect();
        Arranged {
            together: batch(texts),
            alone: texts.iter().map(|text| batch(std::slice::from_ref(text))).collect(),
            sliced: batch(&around).slice(texts.len(), texts.len()),
            shuffled: batch(&shuffled),
            order,
        }
    }

    pub(in crate::fhirpath) fn rows(&self) -> usize {
        self.alone.len()
    }

    /// The answers for each row, by arrangement.
    pub(in crate::fhirpath) fn answers(
        &self,
        program: &Program,
        answer: impl Fn(&Evaluation, usize) -> String,
    ) -> Vec<(&'static str, Vec<String>)> {
        let over = |batch: &RecordBatch| match program.evaluate(batch) {
            Ok(evaluation) => (0..batch.num_rows()).map(|row| answer(&evaluation, row)).collect(),
            Err(error) => vec![format!("!{error}"); batch.num_rows()],
        };
        let shuffled = over(&self.shuffled);
        let place = |row: usize| self.order.iter().position(|other| *other == row).unwrap();
        let slices = (0..self.rows()).flat_map(|row| over(&self.together.slice(row, 1)));
        vec![
            ("together", over(&self.together)),
            ("alone", self.alone.iter().flat_map(over).collect()),
            ("each a slice", slices.collect()),
            ("sliced", over(&self.sliced)),
            (
                "shuffled",
                (0..self.rows()).map(|row| shuffled[place(row)].clone()).collect(),
            ),
        ]
    }
}
