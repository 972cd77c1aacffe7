//! Parquet's hybrid of run-length encoding and bit packing, in which levels and dictionary codes are stored.

use parquet::errors::ParquetError;

/// One part of the encoded values: a run or a group of packed values.
pub(in crate::lake) enum Part<'a> {
    /// A value and the number of its repetitions, at least one.
    Run(u32, usize),
    /// Bit-packed values.
    Packed(Packed<'a>),
}

/// Bit-packed values, lowest bits first. There is at least one.
#[derive(Clone, Copy)]
pub(in crate::lake) struct Packed<'a> {
    bytes: &'a [u8],
    width: u32,
    pub(in crate::lake) count: usize,
}

/// Decodes `count` values of `width` bits, and calls `take` with each part.
pub(in crate::lake) fn parts<'a>(
    bytes: &'a [u8],
    width: u32,
    count: usize,
    mut take: impl FnMut(Part<'a>),
) -> Result<(), ParquetError> {
    let short = || ParquetError::General("a run of levels or codes ends early".to_owned());
    if width > 32 {
        return Err(ParquetError::General(format!("values of {width} bits")));
    }
    let (mut at, mut left) = (0, count);
    while left > 0 {
        let (header, next) = varint(bytes, at).ok_or_else(short)?;
        at = next;
        let length = (header >> 1) as usize;
        if header & 1 == 0 {
            let size = width.div_ceil(8) as usize;
            let value = bytes.get(at..at + size).ok_or_else(short)?;
            let value = value
                .iter()
                .rev()
                .fold(0u32, |value, byte| (value << 8) | u32::from(*byte));
            let length = length.min(left);
            if length == 0 {
                return Err(short());
            }
            take(Part::Run(value, length));
            (at, left) = (at + size, left - length);
        } else {
            let size = length.checked_mul(width as usize).ok_or_else(short)?;
            let count = length.saturating_mul(8).min(left);
            if count == 0 {
                return Err(short());
            }
            let end = at.saturating_add(size).min(bytes.len());
            let packed = bytes.get(at..end).ok_or_else(short)?;
            if packed.len() * 8 < count * width as usize {
                return Err(short());
            }
            take(Part::Packed(Packed {
                bytes: packed,
                width,
                count,
            }));
            (at, left) = (end, left - count);
        }
    }
    Ok(())
}

impl<'a> Packed<'a> {
    /// Returns the values in order.
    pub(in crate::lake) fn values(self) -> impl Iterator<Item = u32> + 'a {
        let (width, mask) = (self.width as usize, (1u64 << self.width) - 1);
        let value = move |at: usize, word: u64| ((word >> ((at * width) & 7)) & mask) as u32;
        // A value has at most 32 bits and begins in the first of eight bytes, so they hold it. The first values, whose
        // eight bytes all exist, are read without looking for the end of the bytes.
        let whole = match self.bytes.len().checked_sub(8) {
            Some(last) if width > 0 => ((8 * last + 7) / width + 1).min(self.count),
            _ => 0,
        };
        let first = (0..whole).map(move |at| {
            let rest = self.bytes[(at * width) >> 3..].first_chunk::<8>();
            value(at, rest.map_or(0, |word| u64::from_le_bytes(*word)))
        });
        let others = (whole..self.count).map(move |at| {
            let rest = self.bytes.get((at * width) >> 3..).unwrap_or_default();
            let word = rest.iter().take(8).rev();
            value(at, word.fold(0, |word, byte| (word << 8) | u64::from(*byte)))
        });
        first.chain(others)
    }

    /// Returns the number of values that are equal to `wanted`.
    pub(in crate::lake) fn count_of(self, wanted: u32) -> usize {
        match self.words() {
            Some(words) => {
                let ones: usize = words.map(|word| word.count_ones() as usize).sum();
                match wanted {
                    1 => ones,
                    0 => self.count - ones,
                    _ => 0,
                }
            }
            None => self.values().filter(|value| *value == wanted).count(),
        }
    }

    /// Calls `take` with the positions of all ones. If the values are not single bits, returns `false` without a call.
    pub(in crate::lake) fn ones(self, mut take: impl FnMut(usize)) -> bool {
        let Some(words) = self.words() else { return false };
        for (at, mut word) in words.enumerate() {
            while word != 0 {
                take(64 * at + word.trailing_zeros() as usize);
                word &= word - 1;
            }
        }
        true
    }

    /// Returns the values 64 at a time, as the bits of a word. Bits after the last value are zero. `None` if the values
    /// have more or less than one bit.
    fn words(self) -> Option<impl Iterator<Item = u64> + 'a> {
        let words = self.bytes.chunks(8).take(self.count.div_ceil(64)).enumerate();
        (self.width == 1).then(move || {
            words.map(move |(at, bytes)| {
                let word = bytes.iter().rev().fold(0, |word, byte| (word << 8) | u64::from(*byte));
                match self.count - 64 * at {
                    left @ 0..64 => word & ((1 << left) - 1),
                    _ => word,
                }
            })
        })
    }
}

/// The number of values in a group. Packed values come in whole groups, and the last group is filled up with zeros.
const GROUP: usize = 8;

/// Encodes values of at most `width` bits, and appends them to `bytes`. Eight or more equal values at the start of a
/// group become a run. So do all values of no bits.
pub(in crate::lake) fn encode(values: &[u32], width: u32, bytes: &mut Vec<u8>) {
    let (mut at, mut packed) = (0, 0);
    while let Some(value) = values.get(at) {
        let rest = &values[at..];
        let is_run = (at - packed) % GROUP == 0
            && (width == 0 || rest.len() >= GROUP && rest[..GROUP].iter().all(|next| next == value));
        if !is_run {
            at += 1;
            continue;
        }
        pack(&values[packed..at], width, bytes);
        let run = rest.iter().take_while(|next| *next == value).count();
        put_varint((run as u64) << 1, bytes);
        bytes.extend_from_slice(&value.to_le_bytes()[..width.div_ceil(8) as usize]);
        at += run;
        packed = at;
    }
    pack(&values[packed..], width, bytes);
}

/// Appends the values as packed groups.
fn pack(values: &[u32], width: u32, bytes: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(GROUP);
    put_varint((groups as u64) << 1 | 1, bytes);
    let end = bytes.len() + groups * width as usize;
    let (mut word, mut bits) = (0u64, 0);
    for value in values {
        word |= u64::from(*value) << bits;
        bits += width;
        while bits >= 8 {
            bytes.push(word as u8);
            word >>= 8;
            bits -= 8;
        }
    }
    if bits > 0 {
        bytes.push(word as u8);
    }
    bytes.resize(end, 0);
}

fn put_varint(mut value: u64, bytes: &mut Vec<u8>) {
    while value > 0x7f {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Reads a variable-length number at `at`. Returns it and the position after it.
pub(in crate::lake) fn varint(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
    let (mut value, mut shift) = (0, 0);
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some((value, at));
        }
        shift += 7;
        if shift > 56 {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn values(bytes: &[u8], width: u32, count: usize) -> Option<Vec<u32>> {
        let mut values = Vec::new();
        parts(bytes, width, count, |part| match part {
            Part::Run(value, times) => values.extend(std::iter::repeat_n(value, times)),
            Part::Packed(packed) => {
                let before = values.len();
                values.extend(packed.values());
                for wanted in 0..3 {
                    let found = values[before..].iter().filter(|value| **value == wanted).count();
                    assert_eq!(packed.count_of(wanted), found);
                }
                let mut ones = Vec::new();
                if packed.ones(|at| ones.push(at)) {
                    let there = values[before..].iter().enumerate().filter(|(_, value)| **value == 1);
                    assert!(width == 1 && there.map(|(at, _)| at).eq(ones));
                }
            }
        })
        .ok()?;
        Some(values)
    }

    #[test]
    fn runs_and_packed_groups_alternate() {
        // Five times the value 4, then the example in Parquet's specification: the numbers 0 to 7 in three bits each.
        let bytes = [5 << 1, 4, 0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!(values(&bytes, 3, 13).unwrap(), [4, 4, 4, 4, 4, 0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(values(&bytes, 3, 7).unwrap(), [4, 4, 4, 4, 4, 0, 1]);
        assert_eq!(values(&[3 << 1], 0, 3).unwrap(), [0, 0, 0]);
        assert_eq!(values(&[2 << 1, 1, 2], 16, 2).unwrap(), [513, 513]);
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_out(width in prop_oneof![Just(1u32), 0u32..=32], drawn in prop::collection::vec(any::<u32>(), 1..200)) {
            let wanted: Vec<u32> = drawn.iter().map(|value| (u64::from(*value) & ((1 << width) - 1)) as u32).collect();
            let groups = wanted.len().div_ceil(8);
            let mut bytes = vec![0; groups * width as usize];
            for (at, value) in wanted.iter().enumerate() {
                for bit in (0..width as usize).filter(|bit| value >> bit & 1 == 1) {
                    bytes[(at * width as usize + bit) / 8] |= 1 << ((at * width as usize + bit) % 8);
                }
            }
            let mut all = Vec::new();
            put_varint((groups as u64) << 1 | 1, &mut all);
            all.extend(bytes);
            prop_assert_eq!(values(&all, width, wanted.len()), Some(wanted));
        }

        #[test]
        fn what_is_encoded_comes_out(
            width in 0u32..=32,
            drawn in prop::collection::vec((any::<u32>(), prop_oneof![Just(1usize), 1usize..40]), 0..60),
        ) {
            let repeated = drawn.iter().flat_map(|(value, times)| std::iter::repeat_n(*value, *times));
            let wanted: Vec<u32> = repeated.map(|value| (u64::from(value) & ((1 << width) - 1)) as u32).collect();
            let mut bytes = Vec::new();
            encode(&wanted, width, &mut bytes);
            prop_assert_eq!(values(&bytes, width, wanted.len()), Some(wanted));
        }
    }

    #[test]
    fn equal_values_become_a_run() {
        let encoded = |values: &[u32]| {
            let mut bytes = Vec::new();
            encode(values, 3, &mut bytes);
            bytes
        };
        assert_eq!(encoded(&[4; 13]), [13 << 1, 4]);
        // A group of its own stands before a run, and packed values follow it.
        assert_eq!(
            encoded(&[1, 1, 1, 1, 1, 1, 1, 0, 2, 2, 2, 2, 2, 2, 2, 2, 7]),
            [0b11, 0x49, 0x92, 0x04, 8 << 1, 2, 0b11, 7, 0, 0]
        );
    }

    #[test]
    fn damage_is_an_error() {
        for bytes in [&[][..], &[0], &[1], &[4], &[0b11, 1], &[0xff; 12]] {
            assert_eq!(values(bytes, 3, 8), None, "{bytes:?}");
        }
        assert_eq!(values(&[2, 0], 33, 1), None);
    }
}
