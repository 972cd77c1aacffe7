//! The checksums of a Parquet file: where they are, how they are written and how they are verified.
//!
//! Each page has a checksum, which covers its header too. Another checksum covers all bytes after the pages: bloom
//! filters, page indexes, footer. Parquet's own checksums, in the page headers, are not used: they do not cover
//! headers, indexes and footers, and the Parquet library cannot write them. A file without checksums, from an earlier
//! program, is read unverified.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use parquet::arrow::arrow_writer::{PageKey, PageStore, PageStoreArgs, PageStoreFactory};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;

/// The footer key of the checksums. Its value has two parts: where the section of checksums begins (16 hexadecimal
/// digits), and the checksum of all bytes from there to the file's end (8 digits). These 8 digits count as zeros in
/// that checksum.
pub const CHECKSUMS_KEY: &str = "tabularium.checksums";

/// The numbers of digits of the position and of the checksum.
const PLACE_DIGITS: usize = 16;
const SUM_DIGITS: usize = 8;
/// The bytes between the key and its value in the footer's Thrift encoding: field 2, a string of 24 bytes.
const VALUE_FOLLOWS: [u8; 2] = [0x18, (PLACE_DIGITS + SUM_DIGITS) as u8];
/// The offset of the first page: after Parquet's magic number.
const FIRST_PAGE: u64 = 4;
/// The length of the last fields of the file: the footer's length and the magic number.
const END: u64 = 8;
/// The minimum number of bytes at the file's end that are searched for the key. So the key is found even if the
/// footer's length is damaged.
const SEARCHED: u64 = 64 << 10;

/// The length and checksum of each page, in the order in which the writer puts pages into the file.
#[derive(Clone, Debug, Default)]
pub(super) struct PageSums(Arc<Mutex<Vec<(u32, u32)>>>);

impl PageSums {
    /// Returns the section that follows the last page: the number of pages, then the length and the checksum of each.
    pub(super) fn section(&self) -> Vec<u8> {
        let sums = self.lock();
        let mut section = Vec::with_capacity(4 + 8 * sums.len());
        section.extend_from_slice(&(sums.len() as u32).to_le_bytes());
        for (length, sum) in sums.iter() {
            section.extend_from_slice(&length.to_le_bytes());
            section.extend_from_slice(&sum.to_le_bytes());
        }
        section
    }

    /// Returns the position where the last page ends, if the pages follow each other without gaps.
    pub(super) fn end(&self) -> u64 {
        FIRST_PAGE + self.lock().iter().map(|(length, _)| u64::from(*length)).sum::<u64>()
    }

    /// Adds pages that are copied from another file, with their lengths and checksums.
    pub(super) fn extend(&self, pages: impl Iterator<Item = (u32, u32)>) {
        self.lock().extend(pages);
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(u32, u32)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PageStoreFactory for PageSums {
    fn create(&self, _: &PageStoreArgs<'_>) -> Result<Box<dyn PageStore>, ParquetError> {
        Ok(Box::new(SummedPages {
            blobs: Vec::new(),
            bytes: 0,
            header: None,
            sums: self.clone(),
        }))
    }
}

/// The pages of a column chunk, which stay in memory until their row group is written.
struct SummedPages {
    blobs: Vec<Bytes>,
    bytes: usize,
    /// The header of a page whose data have not been taken yet: the checksum so far, and the length of the header.
    header: Option<(crc32fast::Hasher, usize)>,
    sums: PageSums,
}

impl PageStore for SummedPages {
    fn put(&mut self, value: Bytes) -> Result<PageKey, ParquetError> {
        self.bytes += value.len();
        self.blobs.push(value);
        Ok(PageKey::new(self.blobs.len() as u64 - 1))
    }

    /// The writer takes blobs in the order of the file. A page consists of two blobs: its header and its data. So every
    /// second call completes a page, and adds its length and checksum to `sums`.
    fn take(&mut self, key: PageKey) -> Result<Bytes, ParquetError> {
        let blob = self.blobs.get_mut(key.get() as usize).map(std::mem::take);
        let blob = blob.ok_or_else(|| ParquetError::General("a page that was not stored".to_owned()))?;
        self.bytes -= blob.len();
        let (mut sum, before) = self.header.take().unwrap_or_default();
        sum.update(&blob);
        if before == 0 {
            self.header = Some((sum, blob.len()));
        } else {
            let length = u32::try_from(before + blob.len())?;
            self.sums.lock().push((length, sum.finalize()));
        }
        Ok(blob)
    }

    fn memory_size(&self) -> usize {
        self.bytes
    }
}

/// Returns the footer's entry with zeros in the place of the checksum, which is not known yet. `start` is where the
/// section begins, or 0 in a file without a section.
pub(in crate::lake) fn unsealed(start: u64) -> KeyValue {
    KeyValue::new(
        CHECKSUMS_KEY.to_owned(),
        format!("{start:0PLACE_DIGITS$x}{:0SUM_DIGITS$x}", 0),
    )
}

/// Computes the checksum of all bytes from `start` to the end of an otherwise complete file. Writes it over the zeros
/// in the footer.
pub(in crate::lake) fn seal(file: &File, start: u64) -> io::Result<()> {
    let length = file.metadata()?.len();
    let mut tail = vec![0; length.saturating_sub(start) as usize];
    file.read_exact_at(&mut tail, start)?;
    let value = value_in(&tail).ok_or_else(|| io::Error::other("the footer has no place for checksums"))?;
    let sum = format!("{:0SUM_DIGITS$x}", crc32fast::hash(&tail));
    file.write_all_at(sum.as_bytes(), start + (value + PLACE_DIGITS) as u64)
}

/// Returns the offset in these bytes at which the value of [`CHECKSUMS_KEY`] begins. If the key occurs several times,
/// the last one counts.
fn value_in(bytes: &[u8]) -> Option<usize> {
    let mut announced = CHECKSUMS_KEY.as_bytes().to_vec();
    announced.extend(VALUE_FOLLOWS);
    let value = memchr::memmem::rfind(bytes, &announced)? + announced.len();
    (value + PLACE_DIGITS + SUM_DIGITS <= bytes.len()).then_some(value)
}

/// The bytes after the pages of a file with checksums, already verified.
#[derive(Clone, Debug)]
pub(in crate::lake) struct Tail {
    /// Where the section of checksums begins. 0 in a file without a section.
    pub(in crate::lake) start: u64,
    pub(in crate::lake) bytes: Bytes,
}

impl Tail {
    /// Reads the bytes after the pages and compares them with their checksum. Returns `None` if the file has no
    /// checksums.
    pub(in crate::lake) fn read(file: &File, length: u64) -> Result<Option<Tail>, ParquetError> {
        if length < FIRST_PAGE + END {
            return Ok(None);
        }
        let mut footer = [0; 4];
        file.read_exact_at(&mut footer, length - END)?;
        let footer = u64::from(u32::from_le_bytes(footer)) + END;
        let searched = length.saturating_sub(footer.max(SEARCHED));
        let mut end = vec![0; (length - searched) as usize];
        file.read_exact_at(&mut end, searched)?;
        let Some(value) = value_in(&end) else { return Ok(None) };
        let (place, rest) = end[value..].split_at(PLACE_DIGITS);
        let start = hexadecimal(place)?;
        let sum = hexadecimal(&rest[..SUM_DIGITS])?;
        if start > length {
            return Err(differs());
        }
        let value = (searched + value as u64 + PLACE_DIGITS as u64).checked_sub(start);
        let value = value.ok_or_else(differs)? as usize;
        let mut bytes = vec![0; (length - start) as usize];
        file.read_exact_at(&mut bytes, start)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&bytes[..value]);
        hasher.update(&[b'0'; SUM_DIGITS]);
        hasher.update(&bytes[value + SUM_DIGITS..]);
        if u64::from(hasher.finalize()) != sum {
            return Err(differs());
        }
        Ok(Some(Tail {
            start,
            bytes: bytes.into(),
        }))
    }

    /// Returns the checksums of the pages. The list is empty in a file without a section.
    pub(in crate::lake) fn pages(&self) -> Result<Checksums, ParquetError> {
        let (mut starts, mut sums) = (vec![FIRST_PAGE], Vec::new());
        if self.start > 0 {
            let (count, mut rest) = self.bytes.split_first_chunk::<4>().ok_or_else(differs)?;
            let mut end = FIRST_PAGE;
            for _ in 0..u32::from_le_bytes(*count) {
                let (page, others) = rest.split_first_chunk::<8>().ok_or_else(differs)?;
                let [a, b, c, d, sum @ ..] = page;
                end += u64::from(u32::from_le_bytes([*a, *b, *c, *d]));
                starts.push(end);
                sums.push(u32::from_le_bytes(*sum));
                rest = others;
            }
            if end != self.start {
                return Err(differs());
            }
        }
        Ok(Checksums {
            starts: starts.into(),
            sums: sums.into(),
        })
    }
}

fn hexadecimal(digits: &[u8]) -> Result<u64, ParquetError> {
    let digits = std::str::from_utf8(digits).ok();
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.ok_or_else(differs)
}

fn differs() -> ParquetError {
    ParquetError::General("what stands behind the pages differs from its checksum".to_owned())
}

/// The lengths and checksums of a file's pages.
#[derive(Debug)]
pub(in crate::lake) struct Checksums {
    /// Where each page begins, and where the last one ends.
    starts: Box<[u64]>,
    sums: Box<[u32]>,
}

impl Checksums {
    /// Returns the size of this value in bytes.
    pub(in crate::lake) fn weight(&self) -> usize {
        size_of_val(&*self.starts) + size_of_val(&*self.sums)
    }

    /// Returns the number of pages.
    pub(in crate::lake) fn len(&self) -> usize {
        self.sums.len()
    }

    /// Returns the position and the length of a page.
    pub(in crate::lake) fn page(&self, at: usize) -> (u64, usize) {
        (self.starts[at], (self.starts[at + 1] - self.starts[at]) as usize)
    }

    /// Returns the index of the page that contains a byte.
    pub(in crate::lake) fn page_of(&self, byte: u64) -> Option<usize> {
        let at = self.starts.partition_point(|start| *start <= byte).checked_sub(1)?;
        (at < self.len()).then_some(at)
    }

    /// Returns the lengths and checksums of the pages that begin in this range of bytes.
    pub(super) fn within(&self, range: Range<u64>) -> impl Iterator<Item = (u32, u32)> + '_ {
        let begins = |byte| self.starts[..self.len()].partition_point(|start| *start < byte);
        let pages = begins(range.start)..begins(range.end);
        pages.map(|at| (self.page(at).1 as u32, self.sums[at]))
    }

    /// Returns `length` bytes from `start` on. Calls `read` for the complete pages that contain them, and verifies
    /// these pages.
    pub(in crate::lake) fn read(
        &self,
        start: u64,
        length: usize,
        read: impl FnOnce(u64, usize) -> io::Result<Bytes>,
    ) -> Result<Bytes, ParquetError> {
        let end = start + length as u64;
        let (Some(first), Some(last)) = (self.page_of(start), self.page_of(end.saturating_sub(1).max(start))) else {
            return Err(ParquetError::EOF(format!("{length} bytes at {start} lie in no page")));
        };
        let (from, until) = (self.starts[first], self.starts[last + 1]);
        let bytes = read(from, (until - from) as usize)?;
        for at in first..=last {
            let page = (self.starts[at] - from) as usize..(self.starts[at + 1] - from) as usize;
            if crc32fast::hash(&bytes[page]) != self.sums[at] {
                let at = self.starts[at];
                return Err(ParquetError::General(format!(
                    "the page at byte {at} differs from its checksum"
                )));
            }
        }
        Ok(bytes.slice((start - from) as usize..(end - from) as usize))
    }
}
