//! When a delivery that has failed is tried again.

use super::super::error::Error;

/// The wait in seconds after the first failure. Each further failure multiplies it by four.
const FIRST: i64 = 5;
/// The maximum wait in seconds.
pub(super) const LONGEST: i64 = 6 * 3_600;

/// Returns the seconds to wait after so many attempts: exponential, with a jitter of a fifth in both directions. A
/// receiver may ask for a longer wait.
pub(super) fn wait(attempts: u32, asked: Option<u64>) -> Result<i64, Error> {
    let mut random = [0u8; 2];
    aws_lc_rs::rand::fill(&mut random).map_err(|_| Error::Key("the system gave no random numbers"))?;
    let jitter = i64::from(u16::from_le_bytes(random)) % 401;
    let asked = asked.map_or(0, |asked| i64::try_from(asked).unwrap_or(LONGEST).min(LONGEST));
    Ok((plain(attempts) * (800 + jitter) / 1_000).max(asked))
}

/// Returns the same without jitter.
fn plain(attempts: u32) -> i64 {
    let doubled = attempts.saturating_sub(1).min(16) * 2;
    (FIRST << doubled).min(LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_six_hours_and_differ() {
        let waits: Vec<i64> = (1..10).map(plain).collect();
        assert_eq!(waits, [5, 20, 80, 320, 1_280, 5_120, 20_480, 21_600, 21_600]);
        for attempts in [1, 4, 7, u32::MAX] {
            let waits: Vec<i64> = (0..500).map(|_| wait(attempts, None).unwrap()).collect();
            let (least, most) = (plain(attempts) * 4 / 5, plain(attempts) * 6 / 5);
            assert!(waits.iter().all(|wait| (least..=most).contains(wait)), "{waits:?}");
            assert!(waits.iter().any(|wait| *wait != waits[0]));
        }
        assert_eq!(wait(1, Some(100)).unwrap(), 100);
        assert!(wait(1, Some(u64::MAX)).unwrap() == LONGEST && wait(5, Some(1)).unwrap() >= 1_024);
    }
}
