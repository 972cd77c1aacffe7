//! Classifies CPT, HCPCS and CDT codes.

/// The purpose of a claim line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::normalize::claims) enum Service {
    /// An evaluation and management service: the visit itself.
    Visit,
    /// A procedure.
    Procedure,
    /// Supplies and equipment.
    Supply,
    /// Laboratory tests.
    Laboratory,
    /// Drugs, transport, quality reporting and other codes that are no procedures.
    Other,
}

/// Returns the purpose of a service code. The form of the code decides to which system it belongs. The stated system
/// cannot be trusted: payers send HCPCS codes with CPT's system, and CMS sends all codes with HCPCS's.
pub(in crate::normalize::claims) fn service(code: &str) -> Service {
    let bytes = code.as_bytes();
    let [first, .., last] = *bytes else {
        return Service::Other;
    };
    if bytes.len() != 5 || !bytes[1..4].iter().all(u8::is_ascii_digit) {
        return Service::Other;
    }
    let middle = |from: usize, to: usize| code[from..to].parse::<u32>().unwrap_or_default();
    match (first, last) {
        (b'0'..=b'9', b'0'..=b'9') => cpt(middle(0, 5)),
        (b'0'..=b'9', b'U' | b'M') => Service::Laboratory,
        // Category III codes, and the administration of a COVID-19 vaccine.
        (b'0'..=b'9', b'T' | b'A') => Service::Procedure,
        (b'A'..=b'Z', b'0'..=b'9') => hcpcs(first, middle(1, 5)),
        // The remaining codes include category II codes, which are for quality reporting.
        _ => Service::Other,
    }
}

fn cpt(code: u32) -> Service {
    match code {
        99201..=99499 | 92002..=92014 => Service::Visit,
        80047..=89398 => Service::Laboratory,
        // Immune globulins and vaccines as products. Their administration (90460 to 90474) is a procedure.
        90281..=90399 | 90476..=90759 | 91300..=91323 => Service::Other,
        _ => Service::Procedure,
    }
}

fn hcpcs(letter: u8, number: u32) -> Service {
    if let Some(service) = single(letter, number) {
        return service;
    }
    match (letter, number) {
        (b'G', 402 | 438 | 439 | 463 | 466..=470) => Service::Visit,
        (b'G', 8000..=9999) | (b'M', 1000..=1999) => Service::Other,
        // Transport.
        (b'A', 21..=999) | (b'T', 2001..=2007) => Service::Other,
        (b'A' | b'B' | b'E' | b'K' | b'L' | b'V', _) | (b'C', 1000..=1999) | (b'T', 4521..=5999) => Service::Supply,
        // Drugs.
        (b'J', _) | (b'C', 9000..=9399) | (b'S', 12..=199) => Service::Other,
        // Laboratory tests, among them those for COVID-19.
        (b'U', _) => Service::Laboratory,
        // Obtaining a Papanicolaou smear.
        (b'Q', 91) => Service::Procedure,
        // Drugs, supplies and tests in temporary codes, and the transport of X-ray and ECG equipment to a home (R0070
        // to R0076).
        (b'P' | b'Q' | b'R', _) => Service::Other,
        (b'C' | b'D' | b'G' | b'H' | b'M' | b'S' | b'T', _) => Service::Procedure,
        _ => Service::Other,
    }
}

/// HCPCS codes whose letter does not show that they are laboratory tests or supplies: the letter, the first and the
/// last number. The source of each row is the code's long description in CMS's HCPCS file. Codes that have ended stay
/// in the table, because old claims have them.
const SINGLE: &[(u8, u32, u32, Service)] = &[
    // Fecal leukocytes; semen analysis.
    (b'G', 26, 27, Service::Laboratory),
    // Prostate specific antigen, for screening.
    (b'G', 103, 103, Service::Laboratory),
    // Fecal hemoglobin, 1 to 3 determinations, for screening (to 2006).
    (b'G', 107, 107, Service::Laboratory),
    // Cytopathology of cervix or vagina, thin layer, by a technologist and by a physician.
    (b'G', 123, 124, Service::Laboratory),
    // Cytopathology of cervix or vagina: smears by an automated system; thin layer, manual and automated; smears.
    (b'G', 141, 141, Service::Laboratory),
    (b'G', 143, 145, Service::Laboratory),
    (b'G', 147, 148, Service::Laboratory),
    // Complete blood count, with and without a differential count.
    (b'G', 306, 307, Service::Laboratory),
    // Colorectal cancer: biomarkers in blood; fecal hemoglobin by immunoassay.
    (b'G', 327, 328, Service::Laboratory),
    // Blood in feces, single determination (2007).
    (b'G', 394, 394, Service::Laboratory),
    // Surgical pathology of biopsies of the prostate, by number of specimens.
    (b'G', 416, 419, Service::Laboratory),
    // Drug screen (to 2015); HIV antibodies, for screening; drug screen (to 2015); HIV antibodies, rapid.
    (b'G', 430, 435, Service::Laboratory),
    // Molecular pathology, a physician's interpretation.
    (b'G', 452, 452, Service::Laboratory),
    // Immunohistochemistry (2014).
    (b'G', 461, 462, Service::Laboratory),
    // Colorectal cancer: DNA and hemoglobin in stool (2015).
    (b'G', 464, 464, Service::Laboratory),
    // Collection of a specimen for a laboratory; hepatitis C antibodies. G0473 is counseling for obesity.
    (b'G', 471, 472, Service::Laboratory),
    // HIV antigen and antibodies; papilloma virus; drug tests, presumptive (2016) and definitive.
    (b'G', 475, 483, Service::Laboratory),
    // Hepatitis B, for screening.
    (b'G', 499, 499, Service::Laboratory),
    // Hepatitis C by amplified probe, for screening.
    (b'G', 567, 567, Service::Laboratory),
    // Drug test, definitive, without calibration for each drug.
    (b'G', 659, 659, Service::Laboratory),
    // Collection of a specimen for a test for COVID-19.
    (b'G', 2023, 2024, Service::Laboratory),
    // Chemistry and toxicology; cytopathology; cultures.
    (b'P', 2028, 7001, Service::Laboratory),
    // Blood and blood products.
    (b'P', 9010, 9100, Service::Supply),
    // The trip for a specimen, and catheterization for one.
    (b'P', 9603, 9615, Service::Laboratory),
    // Wet mounts, potassium hydroxide preparations, pinworms, fern test, mucus.
    (b'Q', 111, 115, Service::Laboratory),
    // Parts of ventricular assist devices; casts and splints.
    (b'Q', 477, 509, Service::Supply),
    (b'Q', 4001, 4051, Service::Supply),
    // Private payers: laboratory requests, screening of newborns, antibodies, genetic tests.
    (b'S', 3600, 3890, Service::Laboratory),
];

fn single(letter: u8, number: u32) -> Option<Service> {
    let holds = |row: &&(u8, u32, u32, Service)| row.0 == letter && (row.1..=row.2).contains(&number);
    SINGLE.iter().find(holds).map(|row| row.3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If a screening test counted as a procedure, the rules would generate a Procedure from it, and an Encounter from
    /// a laboratory's claim.
    #[test]
    fn laboratory_tests_are_told_code_by_code() {
        for code in [
            "G0027", "G0103", "G0123", "G0124", "G0141", "G0143", "G0144", "G0145", "G0147", "G0148", "G0306", "G0307",
            "G0327", "G0328", "G0416", "G0432", "G0433", "G0434", "G0435", "G0452", "G0471", "G0472", "G0475", "G0476",
            "G0477", "G0480", "G0483", "G0499", "G0567", "G0659", "G2023", "P2028", "P2038", "P3000", "P3001", "P7001",
            "P9603", "P9612", "Q0111", "Q0115", "S3620", "S3890",
        ] {
            assert_eq!(service(code), Service::Laboratory, "{code}");
        }
        for pair in SINGLE.windows(2) {
            assert!((pair[0].0, pair[0].2) < (pair[1].0, pair[1].1), "{pair:?}");
        }
    }

    #[test]
    fn codes_are_sorted() {
        let procedures = [
            "75710", "37228", "97110", "00100", "90471", "0042T", "D1110", "D0120", "G0105", "Q0091", "C9600", "S9131",
            "T1019", "H0004", "M0201", "90460", "99500", "0001A", "G0127", "G0130", "G0364", "G0473", "G0500", "S3900",
        ];
        for code in procedures {
            assert_eq!(service(code), Service::Procedure, "{code}");
        }
        for code in [
            "99201", "99499", "92002", "92014", "G0402", "G0438", "G0439", "G0463", "G0466", "G0470",
        ] {
            assert_eq!(service(code), Service::Visit, "{code}");
        }
        for code in [
            "A4550", "B4034", "E0470", "K0001", "L1832", "V2020", "C1713", "T4521", "P9016", "Q4010",
        ] {
            assert_eq!(service(code), Service::Supply, "{code}");
        }
        for code in ["80047", "89398", "0001U", "0001M", "U0003"] {
            assert_eq!(service(code), Service::Laboratory, "{code}");
        }
        let others = [
            "A0428",
            "T2003",
            "J1100",
            "C9000",
            "S0012",
            "90281",
            "90476",
            "90759",
            "91300",
            "0001F",
            "G8427",
            "G9903",
            "M1000",
            "Q2037",
            "R0070",
            "1",
            "",
            "7571",
            "not-applicable",
            "HIPPS",
            "ä571",
        ];
        for code in others {
            assert_eq!(service(code), Service::Other, "{code}");
        }
    }
}
