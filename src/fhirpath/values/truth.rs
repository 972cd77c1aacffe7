//! A three-valued boolean for each row, as two bit masks.

use arrow::array::BooleanArray;
use arrow::buffer::{BooleanBuffer, NullBuffer};

use super::super::compile::types::{ItemType, System};
use super::collection::{Collection, Offsets};
use super::columns::Values;
use super::items::{Index, Items};

/// True, false or unknown for each row. Unknown is FHIRPath's empty collection.
#[derive(Clone, Debug)]
pub(in crate::fhirpath) struct Truth {
    /// Set for rows that are true. Not set for unknown rows.
    pub(in crate::fhirpath) yes: BooleanBuffer,
    /// Set for known rows. `None` means that all rows are known.
    pub(in crate::fhirpath) known: Option<BooleanBuffer>,
}

impl Truth {
    pub(in crate::fhirpath) fn known(yes: BooleanBuffer) -> Truth {
        Truth { yes, known: None }
    }

    pub(in crate::fhirpath) fn partly(yes: BooleanBuffer, known: BooleanBuffer) -> Truth {
        if known.count_set_bits() == known.len() {
            Truth::known(yes)
        } else {
            Truth {
                yes: &yes & &known,
                known: Some(known),
            }
        }
    }

    /// Calls `answer` for each row and collects the results. `None` means unknown.
    pub(in crate::fhirpath) fn collect(rows: usize, mut answer: impl FnMut(usize) -> Option<bool>) -> Truth {
        let mut known = Vec::with_capacity(rows);
        let yes = BooleanBuffer::collect_bool(rows, |row| {
            let answer = answer(row);
            known.push(answer.is_some());
            answer == Some(true)
        });
        Truth::partly(yes, BooleanBuffer::from(known))
    }

    pub(in crate::fhirpath) fn rows(&self) -> usize {
        self.yes.len()
    }

    pub(in crate::fhirpath) fn get(&self, row: usize) -> Option<bool> {
        self.is_known(row).then(|| self.yes.value(row))
    }

    pub(in crate::fhirpath) fn is_known(&self, row: usize) -> bool {
        self.known.as_ref().is_none_or(|known| known.value(row))
    }

    /// Returns a mask that is set for rows that are false.
    fn no(&self) -> BooleanBuffer {
        match &self.known {
            None => !&self.yes,
            Some(known) => &(!&self.yes) & known,
        }
    }

    fn of(yes: BooleanBuffer, no: BooleanBuffer) -> Truth {
        let known = &yes | &no;
        Truth::partly(yes, known)
    }

    pub(in crate::fhirpath) fn not(self) -> Truth {
        Truth {
            yes: self.no(),
            known: self.known,
        }
    }

    pub(in crate::fhirpath) fn and(&self, other: &Truth) -> Truth {
        if self.known.is_none() && other.known.is_none() {
            return Truth::known(&self.yes & &other.yes);
        }
        Truth::of(&self.yes & &other.yes, &self.no() | &other.no())
    }

    pub(in crate::fhirpath) fn or(&self, other: &Truth) -> Truth {
        if self.known.is_none() && other.known.is_none() {
            return Truth::known(&self.yes | &other.yes);
        }
        Truth::of(&self.yes | &other.yes, &self.no() & &other.no())
    }

    pub(in crate::fhirpath) fn xor(&self, other: &Truth) -> Truth {
        let yes = &self.yes ^ &other.yes;
        match (&self.known, &other.known) {
            (None, None) => Truth::known(yes),
            (Some(known), None) | (None, Some(known)) => Truth::partly(yes, known.clone()),
            (Some(left), Some(right)) => Truth::partly(yes, left & right),
        }
    }

    /// Returns a collection of booleans. An unknown row has no item.
    pub(in crate::fhirpath) fn collection(self) -> Collection {
        let rows = self.rows();
        let values = Values::Boolean(BooleanArray::new(self.yes, self.known.clone().map(NullBuffer::new)));
        let items = Items::new(ItemType::System(System::Boolean), values);
        let Some(known) = self.known else {
            return Collection::each(items);
        };
        let slots: Vec<u32> = known.set_indices().map(|row| row as u32).collect();
        let mut offsets = Vec::with_capacity(rows + 1);
        let mut count = 0;
        offsets.push(0);
        offsets.extend((0..rows).map(|row| {
            count += i32::from(known.value(row));
            count
        }));
        let items = Items {
            len: slots.len(),
            index: Index::Gather(slots.into()),
            ..items
        };
        Collection::new(Offsets::list(offsets), items)
    }
}
