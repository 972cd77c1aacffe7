//! Parquet's RLE and bit-packing hybrid, in which levels and dictionary codes lie, run by run.

use parquet::errors::ParquetError;

/// Hands out `count` values of `width` bits as (value, how often), in order.
pub(super) fn runs(
    bytes: &[u8],
    width: u32,
    count: usize,
    mut take: impl FnMut(u32, usize),
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
            take(value, length);
            (at, left) = (at + size, left - length);
        } else {
            let size = length.checked_mul(width as usize).ok_or_else(short)?;
            let wanted = length.saturating_mul(8).min(left);
            if wanted == 0 {
                return Err(short());
            }
            let packed = bytes.get(at..(at + size).min(bytes.len())).ok_or_else(short)?;
            if packed.len() * 8 < wanted * width as usize {
                return Err(short());
            }
            unpack(packed, width, wanted, &mut take);
            (at, left) = (at + size, left - wanted);
        }
    }
    Ok(())
}

fn unpack(packed: &[u8], width: u32, count: usize, take: &mut impl FnMut(u32, usize)) {
    let mask = (1u64 << width) - 1;
    let (mut buffer, mut bits, mut bytes) = (0u64, 0, packed.iter());
    // Neighbours are often equal, and a run costs the taker less than its values one by one.
    let (mut last, mut times) = (0, 0);
    for _ in 0..count {
        while bits < width {
            buffer |= u64::from(*bytes.next().unwrap_or(&0)) << bits;
            bits += 8;
        }
        let value = (buffer & mask) as u32;
        (buffer, bits) = (buffer >> width, bits - width);
        if value != last && times > 0 {
            take(last, times);
            times = 0;
        }
        (last, times) = (value, times + 1);
    }
    if times > 0 {
        take(last, times);
    }
}

fn varint(bytes: &[u8], mut at: usize) -> Option<(u64, usize)> {
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
    use super::*;

    fn values(bytes: &[u8], width: u32, count: usize) -> Option<Vec<u32>> {
        let mut values = Vec::new();
        runs(bytes, width, count, |value, times| {
            values.extend(std::iter::repeat_n(value, times))
        })
        .ok()?;
        Some(values)
    }

    #[test]
    fn runs_and_packed_groups_alternate() {
        // The example of the Parquet format: 0 to 7 in three bits; before it five times four.
        let bytes = [5 << 1, 4, 0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010];
        assert_eq!(values(&bytes, 3, 13).unwrap(), [4, 4, 4, 4, 4, 0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(values(&bytes, 3, 7).unwrap(), [4, 4, 4, 4, 4, 0, 1]);
        assert_eq!(values(&[3 << 1], 0, 3).unwrap(), [0, 0, 0]);
        assert_eq!(values(&[2 << 1, 1, 2], 16, 2).unwrap(), [513, 513]);
    }

    #[test]
    fn damage_is_an_error() {
        for bytes in [&[][..], &[0], &[1], &[4], &[0b11, 1], &[0xff; 12]] {
            assert_eq!(values(bytes, 3, 8), None, "{bytes:?}");
        }
        assert_eq!(values(&[2, 0], 33, 1), None);
    }
}
