//! NUBC's types of bill: facility, kind of care and frequency.

/// The kind of Encounter of an institutional claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::normalize::claims) enum Setting {
    /// A stay of an inpatient.
    Stay,
    /// Services to inpatients under Part B. If a stay at the same facility covers them, they belong to this stay. If
    /// not, they are visits on single days.
    InpatientPartB,
    /// Home health: one Encounter for each period.
    HomeHealth,
    /// Hospice: one Encounter for each period.
    Hospice,
    /// Visits on single days.
    Visit,
}

/// The known parts of a type of bill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(in crate::normalize::claims) struct Bill {
    /// The first digit of three: the facility.
    pub(in crate::normalize::claims) facility: Option<u8>,
    /// The second digit: the kind of care.
    pub(in crate::normalize::claims) care: Option<u8>,
    /// The third character: the frequency. It tells whether another bill follows.
    pub(in crate::normalize::claims) frequency: Option<u8>,
}

impl Bill {
    /// Reads `131`, `0131` or `13`, or a single character, which is a frequency. Ignores other texts.
    pub(in crate::normalize::claims) fn take(&mut self, text: &str) {
        let text = text.trim();
        let digits = match text.len() {
            4 => text.strip_prefix('0').unwrap_or_default(),
            _ => text,
        };
        match *digits.as_bytes() {
            [frequency] if frequency.is_ascii_alphanumeric() => self.frequency = Some(frequency),
            [facility, care] if facility.is_ascii_digit() && care.is_ascii_digit() => {
                self.facility = Some(facility);
                self.care = Some(care);
            }
            [facility, care, frequency] if facility.is_ascii_digit() && care.is_ascii_digit() => {
                self.facility = Some(facility);
                self.care = Some(care);
                self.frequency = Some(frequency.to_ascii_uppercase());
            }
            _ => {}
        }
    }

    /// Returns the kind of Encounter. Returns `None` if the facility or the kind of care is unknown.
    pub(in crate::normalize::claims) fn setting(self) -> Option<Setting> {
        Some(match (self.facility?, self.care?) {
            (b'1' | b'2' | b'4', b'1') | (b'1' | b'2', b'8') => Setting::Stay,
            (b'1' | b'2', b'2') => Setting::InpatientPartB,
            (b'3', b'2'..=b'4') => Setting::HomeHealth,
            (b'8', b'1' | b'2') => Setting::Hospice,
            _ => Setting::Visit,
        })
    }

    /// Whether another bill follows. This is so for the first bill of a series and for a continuing bill. Returns
    /// `None` if the frequency is unknown.
    pub(in crate::normalize::claims) fn interim(self) -> Option<bool> {
        self.frequency.map(|frequency| matches!(frequency, b'2' | b'3'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bills_tell_their_setting() {
        let bill = |text: &str| {
            let mut bill = Bill::default();
            bill.take(text);
            bill
        };
        for stay in ["0111", "111", "181", "0211", "281", "411", "11"] {
            assert_eq!(bill(stay).setting(), Some(Setting::Stay), "{stay}");
        }
        assert_eq!(bill("0121").setting(), Some(Setting::InpatientPartB));
        assert_eq!(bill("0221").setting(), Some(Setting::InpatientPartB));
        assert_eq!(bill("0329").setting(), Some(Setting::HomeHealth));
        assert_eq!(bill("0341").setting(), Some(Setting::HomeHealth));
        assert_eq!(bill("0811").setting(), Some(Setting::Hospice));
        assert_eq!(bill("0131").setting(), Some(Setting::Visit));
        assert_eq!(bill("0831").setting(), Some(Setting::Visit));
        assert_eq!(bill("Dummy"), Bill::default());
        assert_eq!(bill("0112").interim(), Some(true));
        assert_eq!(bill("0114").interim(), Some(false));
        assert_eq!(bill("11").interim(), None);
        let mut parts = bill("11");
        parts.take("3");
        assert_eq!(parts.interim(), Some(true));
    }
}
