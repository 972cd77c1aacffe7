//! Builders of Arrow columns whose values have no children. A builder does nothing for a row without a value. It adds
//! the nulls of all such rows at once, before the next value or at the end of the batch.

use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BooleanArray, BooleanBufferBuilder, NullBufferBuilder,
    PrimitiveArray, StringArray,
};
use arrow::buffer::{Buffer, OffsetBuffer, ScalarBuffer};
use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use std::sync::Arc;

fn validity() -> NullBufferBuilder {
    NullBufferBuilder::new(0)
}

/// A column of texts or bytes, concatenated.
#[derive(Debug)]
pub(super) struct Text {
    offsets: Vec<i32>,
    bytes: Vec<u8>,
    nulls: NullBufferBuilder,
}

impl Text {
    pub(super) fn new() -> Text {
        Text {
            offsets: vec![0],
            bytes: Vec::new(),
            nulls: validity(),
        }
    }

    /// Reserves memory for this many values with this many bytes in total.
    pub(super) fn reserve(&mut self, values: usize, bytes: usize) {
        self.offsets.reserve(values);
        self.bytes.reserve(bytes);
    }

    #[inline(always)]
    pub(super) fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    #[inline]
    pub(super) fn pad(&mut self, to: usize) {
        let len = self.len();
        if to > len {
            self.offsets.resize(to + 1, self.bytes.len() as i32);
            self.nulls.append_n_nulls(to - len);
        }
    }

    /// Appends a value. The offsets cannot overflow, because the shredder limits the bytes of a batch.
    #[inline]
    pub(super) fn push(&mut self, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.offsets.push(self.bytes.len() as i32);
        self.nulls.append_non_null();
    }

    pub(super) fn push_at(&mut self, at: usize, value: &str) {
        self.pad(at);
        self.push(value.as_bytes());
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if self.len() > len {
            self.offsets.truncate(len + 1);
            self.bytes.truncate(self.offsets[len] as usize);
            self.nulls.truncate(len);
        }
    }

    fn take(&mut self, len: usize) -> (OffsetBuffer<i32>, Buffer, Option<arrow::buffer::NullBuffer>) {
        self.pad(len);
        let offsets = std::mem::replace(&mut self.offsets, vec![0]);
        let bytes = std::mem::take(&mut self.bytes);
        let nulls = std::mem::replace(&mut self.nulls, validity()).finish();
        (OffsetBuffer::new(offsets.into()), bytes.into(), nulls)
    }

    pub(super) fn finish(&mut self, len: usize) -> Result<ArrayRef, ArrowError> {
        let (offsets, bytes, nulls) = self.take(len);
        Ok(Arc::new(StringArray::try_new(offsets, bytes, nulls)?))
    }

    pub(super) fn finish_binary(&mut self, len: usize) -> Result<ArrayRef, ArrowError> {
        let (offsets, bytes, nulls) = self.take(len);
        Ok(Arc::new(BinaryArray::try_new(offsets, bytes, nulls)?))
    }
}

/// A column of numbers.
#[derive(Debug)]
pub(super) struct Numbers<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
}

impl<T: ArrowPrimitiveType> Numbers<T> {
    pub(super) fn new() -> Numbers<T> {
        Numbers {
            values: Vec::new(),
            nulls: validity(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    pub(super) fn pad(&mut self, to: usize) {
        let len = self.len();
        if to > len {
            self.values.resize(to, T::Native::default());
            self.nulls.append_n_nulls(to - len);
        }
    }

    #[inline]
    pub(super) fn push(&mut self, value: T::Native) {
        self.values.push(value);
        self.nulls.append_non_null();
    }

    pub(super) fn push_at(&mut self, at: usize, value: Option<T::Native>) {
        if let Some(value) = value {
            self.pad(at);
            self.push(value);
        }
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if self.len() > len {
            self.values.truncate(len);
            self.nulls.truncate(len);
        }
    }

    /// Returns the values as an array of `data_type`, which must store its values as `T` does. Empties the column.
    pub(super) fn finish(&mut self, len: usize, data_type: DataType) -> Result<ArrayRef, ArrowError> {
        self.pad(len);
        let values: ScalarBuffer<T::Native> = std::mem::take(&mut self.values).into();
        let nulls = std::mem::replace(&mut self.nulls, validity()).finish();
        Ok(Arc::new(
            PrimitiveArray::<T>::try_new(values, nulls)?.with_data_type(data_type),
        ))
    }
}

/// A column of booleans.
#[derive(Debug)]
pub(super) struct Flags {
    values: BooleanBufferBuilder,
    nulls: NullBufferBuilder,
}

impl Flags {
    pub(super) fn new() -> Flags {
        Flags {
            values: BooleanBufferBuilder::new(0),
            nulls: validity(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.values.len()
    }

    fn pad(&mut self, to: usize) {
        let len = self.len();
        if to > len {
            self.values.append_n(to - len, false);
            self.nulls.append_n_nulls(to - len);
        }
    }

    pub(super) fn push_at(&mut self, at: usize, value: bool) {
        self.pad(at);
        self.values.append(value);
        self.nulls.append_non_null();
    }

    pub(super) fn truncate(&mut self, len: usize) {
        if self.len() > len {
            self.values.truncate(len);
            self.nulls.truncate(len);
        }
    }

    pub(super) fn finish(&mut self, len: usize) -> ArrayRef {
        self.pad(len);
        let values = self.values.finish();
        Arc::new(BooleanArray::new(
            values,
            std::mem::replace(&mut self.nulls, validity()).finish(),
        ))
    }
}

/// Whether an array holds only nulls, or is empty.
pub(super) fn is_absent(array: &ArrayRef) -> bool {
    array.null_count() == array.len()
}
