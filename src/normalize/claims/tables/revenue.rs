//! NUBC's revenue codes.

use super::super::read::services::Service;

/// Whether the code means an emergency room, or an emergency physician's fee.
pub(in crate::normalize::claims) fn is_emergency(code: &str) -> bool {
    matches!(number(code), Some(450..=459 | 981))
}

/// Whether the code means hospice care to an inpatient: respite or general.
pub(in crate::normalize::claims) fn is_inpatient_hospice(code: &str) -> bool {
    matches!(number(code), Some(655 | 656))
}

/// Returns the purpose of a line that has a revenue code and no service code.
pub(in crate::normalize::claims) fn service(code: &str) -> Service {
    match number(code) {
        Some(270..=279 | 290..=299 | 600..=609 | 620..=629) => Service::Supply,
        Some(300..=319) => Service::Laboratory,
        _ => Service::Other,
    }
}

fn number(code: &str) -> Option<u32> {
    if code.len() > 4 {
        return None;
    }
    code.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_read_with_and_without_the_leading_zero() {
        assert!(is_emergency("0450") && is_emergency("459") && is_emergency("0981"));
        assert!(!is_emergency("0460") && !is_emergency("Dummy") && !is_emergency("04500"));
        assert!(is_inpatient_hospice("0656") && !is_inpatient_hospice("0651"));
        assert_eq!(service("0301"), Service::Laboratory);
        assert_eq!(service("0291"), Service::Supply);
        assert_eq!(service("0120"), Service::Other);
    }
}
