//! CMS's place of service codes, and the class of Encounter of each place.

/// A class of Encounter in HL7's v3 ActCode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::normalize::claims) enum Class {
    /// An inpatient stay.
    Inpatient,
    /// A visit to an emergency department.
    Emergency,
    /// Telehealth.
    Virtual,
    /// At home.
    Home,
    /// A visit in the field, such as by an ambulance.
    Field,
    /// Any other visit.
    Ambulatory,
}

impl Class {
    /// Returns the class for a place of service code, which has two digits.
    pub(in crate::normalize::claims) fn of_place(place: &str) -> Class {
        match place {
            "21" | "31" | "51" | "61" => Class::Inpatient,
            "23" => Class::Emergency,
            "02" | "10" => Class::Virtual,
            "12" => Class::Home,
            "41" | "42" => Class::Field,
            _ => Class::Ambulatory,
        }
    }

    /// Returns the code and the display.
    pub(in crate::normalize::claims) fn code(self) -> (&'static str, &'static str) {
        match self {
            Class::Inpatient => ("IMP", "inpatient encounter"),
            Class::Emergency => ("EMER", "emergency"),
            Class::Virtual => ("VR", "virtual"),
            Class::Home => ("HH", "home health"),
            Class::Field => ("FLD", "field"),
            Class::Ambulatory => ("AMB", "ambulatory"),
        }
    }
}

/// The place of service code of an inpatient hospital. Services there belong to a stay.
pub(in crate::normalize::claims) const INPATIENT_HOSPITAL: &str = "21";

/// The place of service code of an independent laboratory.
pub(in crate::normalize::claims) const LABORATORY: &str = "81";
