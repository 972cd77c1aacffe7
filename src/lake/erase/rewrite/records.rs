//! The levels and values of consecutive rows in one leaf, as Parquet stores them.

use parquet::column::reader::ColumnReaderImpl;
use parquet::column::writer::ColumnWriterImpl;
use parquet::data_type::{AsBytes, DataType};
use parquet::errors::ParquetError;
use parquet::file::metadata::LevelHistogram;
use parquet::schema::types::ColumnDescriptor;

/// The rows of a leaf. Each row has one or more slots, and each slot a definition and a repetition level. Lists of
/// levels whose maximum is zero are empty.
#[derive(Clone, Debug)]
pub(super) struct Records<V> {
    maximum: Maximum,
    definitions: Vec<i16>,
    repetitions: Vec<i16>,
    values: Vec<V>,
    /// The dictionary code of each value. `None` if the values have no codes.
    codes: Option<Vec<u32>>,
}

/// The maximum levels of a leaf.
#[derive(Clone, Copy, Debug)]
pub(super) struct Maximum {
    definition: i16,
    repetition: i16,
}

impl Maximum {
    pub(super) fn of(leaf: &ColumnDescriptor) -> Maximum {
        Maximum {
            definition: leaf.max_def_level(),
            repetition: leaf.max_rep_level(),
        }
    }
}

/// The number of slots: in all, with each definition level, and with each repetition level. A leaf without levels has
/// no histogram of them.
pub(super) struct Levels {
    pub(super) slots: usize,
    pub(super) definitions: Option<LevelHistogram>,
    pub(super) repetitions: Option<LevelHistogram>,
}

/// What a blank row has in a leaf.
pub(super) enum Fill<'f, V> {
    Null,
    /// The same as the neighbour: the last row before it that is not blank.
    Neighbour,
    /// A value made from the neighbour's value.
    Made(&'f dyn Fn(&V) -> V),
    Always(V),
}

/// One row of a leaf without lists.
#[derive(Clone, Debug)]
pub(super) struct Row<V> {
    definition: i16,
    value: Option<(V, Option<u32>)>,
}

/// Rows of which some have become blank.
pub(super) struct Blanked<V> {
    pub(super) records: Records<V>,
    /// The dictionary codes of the rows that have become blank.
    pub(super) gone: Vec<u32>,
}

impl<V: AsBytes + Clone> Records<V> {
    /// Reads the next `rows` rows.
    pub(super) fn read<T: DataType<T = V>>(
        reader: &mut ColumnReaderImpl<T>,
        maximum: Maximum,
        rows: usize,
    ) -> Result<Records<V>, ParquetError> {
        let (mut definitions, mut repetitions, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut read = 0;
        while read < rows {
            let levels = (Some(&mut definitions), Some(&mut repetitions));
            let (count, ..) = reader.read_records(rows - read, levels.0, levels.1, &mut values)?;
            if count == 0 {
                return Err(ParquetError::General("a page has fewer rows than recorded".to_owned()));
            }
            read += count;
        }
        let is_above = |levels: &[i16], maximum| levels.iter().any(|level| *level > maximum);
        if is_above(&definitions, maximum.definition) || is_above(&repetitions, maximum.repetition) {
            return Err(ParquetError::General("a page has a level above the maximum".to_owned()));
        }
        Ok(Records {
            maximum,
            definitions,
            repetitions,
            values,
            codes: None,
        })
    }

    /// Adds the dictionary codes of the values.
    pub(super) fn with_codes(mut self, codes: Vec<u32>) -> Records<V> {
        self.codes = Some(codes);
        self
    }

    /// Returns the dictionary codes of the values, if they have codes.
    pub(super) fn codes(&self) -> Option<&[u32]> {
        self.codes.as_deref()
    }

    /// Writes all rows.
    pub(super) fn write<T: DataType<T = V>>(&self, writer: &mut ColumnWriterImpl<'_, T>) -> Result<(), ParquetError> {
        let definitions = (self.maximum.definition > 0).then_some(&*self.definitions);
        let repetitions = (self.maximum.repetition > 0).then_some(&*self.repetitions);
        writer.write_batch(&self.values, definitions, repetitions)?;
        Ok(())
    }

    fn slots(&self) -> usize {
        match self.maximum.definition {
            0 => self.values.len(),
            _ => self.definitions.len(),
        }
    }

    /// Returns the number of values.
    pub(super) fn values(&self) -> usize {
        self.values.len()
    }

    /// Returns the number of bytes of all values.
    pub(super) fn bytes(&self) -> i64 {
        self.values.iter().map(|value| value.as_bytes().len() as i64).sum()
    }

    /// Returns how many slots have which levels.
    pub(super) fn levels(&self) -> Levels {
        let histogram = |maximum, levels: &[i16]| {
            let mut histogram = LevelHistogram::try_new(maximum)?;
            levels.iter().for_each(|level| histogram.increment_by(*level, 1));
            Some(histogram)
        };
        Levels {
            slots: self.slots(),
            definitions: histogram(self.maximum.definition, &self.definitions),
            repetitions: histogram(self.maximum.repetition, &self.repetitions),
        }
    }

    /// Whether all these rows are null. The rows ascend.
    pub(super) fn are_null(&self, rows: &[usize]) -> bool {
        if self.maximum.definition == 0 {
            return rows.is_empty();
        }
        let (mut left, mut row) = (rows, 0);
        for (slot, definition) in self.definitions.iter().enumerate() {
            row += usize::from(slot > 0 && !self.continues(slot));
            left = &left[usize::from(left.first().is_some_and(|next| *next < row))..];
            match left.first() {
                None => break,
                Some(next) if *next == row && *definition > 0 => return false,
                Some(_) => {}
            }
        }
        true
    }

    /// Whether the slot belongs to the same row as the one before it.
    fn continues(&self, slot: usize) -> bool {
        self.repetitions.get(slot).is_some_and(|level| *level > 0)
    }

    /// Returns the last row that does not become blank. `None` if there is none, or if the leaf has lists.
    pub(super) fn last_without(&self, blank: &[usize]) -> Option<Row<V>> {
        if self.maximum.repetition > 0 {
            return None;
        }
        let row = (0..self.slots()).rev().find(|row| blank.binary_search(row).is_err())?;
        let values = match self.maximum.definition {
            0 => row,
            _ => self.definitions[..row]
                .iter()
                .filter(|level| **level == self.maximum.definition)
                .count(),
        };
        self.row(row, values)
    }

    /// Returns a row of a leaf without lists. `value` is the index of the row's value, if it has one.
    fn row(&self, row: usize, value: usize) -> Option<Row<V>> {
        let definition = self.definitions.get(row).copied().unwrap_or(0);
        let code = || self.codes.as_ref().and_then(|codes| codes.get(value).copied());
        let value = match definition == self.maximum.definition {
            true => Some((self.values.get(value)?.clone(), code())),
            false => None,
        };
        Some(Row { definition, value })
    }

    /// Makes some rows blank. The rows ascend. `before` is the neighbour of the first row. Returns `None` if a blank
    /// row needs a neighbour and has none, or if `fill` cannot be used for this leaf.
    pub(super) fn blanked(&self, blank: &[usize], fill: &Fill<'_, V>, before: Option<&Row<V>>) -> Option<Blanked<V>> {
        let flat = self.maximum.repetition == 0;
        match fill {
            Fill::Null if self.maximum.definition == 0 => return None,
            Fill::Neighbour | Fill::Made(_) | Fill::Always(_) if !flat => return None,
            _ => {}
        }
        let mut made = Blanked {
            records: Records {
                maximum: self.maximum,
                definitions: Vec::with_capacity(self.definitions.len()),
                repetitions: Vec::with_capacity(self.repetitions.len()),
                values: Vec::with_capacity(self.values.len()),
                codes: self.codes.as_ref().map(|codes| Vec::with_capacity(codes.len())),
            },
            gone: Vec::new(),
        };
        // The neighbour of the next row: its first slot and its first value. `None` before the first row that stays.
        let mut neighbour = None;
        let (mut slot, mut value, mut left) = (0, 0, blank);
        for row in 0.. {
            if slot == self.slots() {
                break;
            }
            let is_blank = left.first() == Some(&row);
            let first = (slot, value);
            loop {
                let definition = self.definitions.get(slot).copied().unwrap_or(0);
                let has_value = definition == self.maximum.definition;
                let code = self.codes.as_ref().and_then(|codes| codes.get(value).copied());
                if is_blank {
                    made.gone.extend(code.filter(|_| has_value));
                } else {
                    made.records.slot(definition, self.repetitions.get(slot).copied());
                    if has_value {
                        made.records.value(self.values.get(value)?.clone(), code)?;
                    }
                }
                value += usize::from(has_value);
                slot += 1;
                if !self.continues(slot) {
                    break;
                }
            }
            if !is_blank {
                neighbour = Some(first);
                continue;
            }
            left = &left[1..];
            let neighbour = || match neighbour {
                Some((slot, value)) => self.row(slot, value),
                None => before.cloned(),
            };
            match fill {
                Fill::Null => made.records.slot(0, (!flat).then_some(0)),
                Fill::Neighbour => {
                    let Row { definition, value } = neighbour()?;
                    made.records.slot(definition, None);
                    if let Some((value, code)) = value {
                        made.records.value(value, code)?;
                    }
                }
                Fill::Made(make) => {
                    let Row { definition, value } = neighbour()?;
                    made.records.slot(definition, None);
                    made.records.value(make(&value?.0), None)?;
                }
                Fill::Always(value) => {
                    made.records.slot(self.maximum.definition, None);
                    made.records.value(value.clone(), None)?;
                }
            }
        }
        left.is_empty().then_some(made)
    }

    fn slot(&mut self, definition: i16, repetition: Option<i16>) {
        if self.maximum.definition > 0 {
            self.definitions.push(definition);
        }
        self.repetitions.extend(repetition);
    }

    /// Adds a value. `None` if the other values have codes and this one has none.
    fn value(&mut self, value: V, code: Option<u32>) -> Option<()> {
        if let Some(codes) = &mut self.codes {
            codes.push(code?);
        }
        self.values.push(value);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn records(maximum: (i16, i16), definitions: &[i16], repetitions: &[i16], values: &[i32]) -> Records<i32> {
        Records {
            maximum: Maximum {
                definition: maximum.0,
                repetition: maximum.1,
            },
            definitions: definitions.to_vec(),
            repetitions: repetitions.to_vec(),
            values: values.to_vec(),
            codes: None,
        }
    }

    #[test]
    fn a_blank_row_of_a_list_is_one_null() {
        // [1, 2], null, [], [3]
        let lists = records((2, 1), &[2, 2, 0, 1, 2], &[0, 1, 0, 0, 0], &[1, 2, 3]);
        assert!(lists.are_null(&[1]) && lists.are_null(&[]));
        for rows in [&[0][..], &[2], &[3], &[1, 2], &[0, 1]] {
            assert!(!lists.are_null(rows), "{rows:?}");
        }
        let coded = lists.clone().with_codes(vec![4, 5, 6]);
        let made = coded.blanked(&[0, 2], &Fill::Null, None).unwrap();
        assert_eq!(made.records.definitions, [0, 0, 0, 2]);
        assert_eq!(made.records.repetitions, [0, 0, 0, 0]);
        assert_eq!((made.records.values, made.records.codes), (vec![3], Some(vec![6])));
        assert_eq!(made.gone, [4, 5]);
        assert!(lists.blanked(&[4], &Fill::Null, None).is_none());
        assert!(lists.blanked(&[1], &Fill::Neighbour, None).is_none() && lists.last_without(&[]).is_none());
    }

    #[test]
    fn a_blank_row_copies_the_row_before_it() {
        let flat = records((1, 0), &[1, 0, 1, 1], &[], &[5, 6, 7]);
        let made = flat.blanked(&[2], &Fill::Neighbour, None).unwrap();
        assert_eq!(
            (made.records.definitions, made.records.values),
            (vec![1, 0, 0, 1], vec![5, 7])
        );
        assert!(flat.blanked(&[0], &Fill::Neighbour, None).is_none());
        let before = flat.last_without(&[3]);
        let made = flat.blanked(&[0, 1], &Fill::Neighbour, before.as_ref()).unwrap();
        assert_eq!(
            (made.records.definitions, made.records.values),
            (vec![1; 4], vec![6, 6, 6, 7])
        );
        // A value without a code cannot stand among values with codes.
        let coded = flat.clone().with_codes(vec![0, 1, 2]);
        assert!(coded.blanked(&[0], &Fill::Neighbour, before.as_ref()).is_none());
        let before = coded.last_without(&[2, 3]);
        let made = coded.blanked(&[0], &Fill::Neighbour, before.as_ref()).unwrap();
        assert_eq!(
            (made.records.definitions, made.records.codes),
            (vec![0, 0, 1, 1], Some(vec![1, 2]))
        );

        let required = records((0, 0), &[], &[], &[5, 6, 7]);
        assert!(!required.are_null(&[0]) && required.blanked(&[1], &Fill::Null, None).is_none());
        let made = required.blanked(&[1, 2], &Fill::Made(&|last| last * 10), None).unwrap();
        assert_eq!(made.records.values, [5, 50, 50]);
        let made = required.blanked(&[0, 2], &Fill::Always(1), None).unwrap();
        assert_eq!(made.records.values, [1, 6, 1]);
    }
}
