//! What a CPT, HCPCS or CDT code stands for.

/// What a line of a claim is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Service {
    /// An evaluation and management service: the visit itself.
    Visit,
    /// A procedure.
    Procedure,
    /// Supplies and equipment.
    Supply,
    /// Laboratory tests.
    Laboratory,
    /// Drugs, transport, quality reporting and whatever else is no procedure.
    Other,
}

/// What a code is for. The form of the code tells the system: payers send HCPCS codes in CPT's system, and CMS all in HCPCS's.
pub(super) fn service(code: &str) -> Service {
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
        (b'0'..=b'9', b'T') => Service::Procedure,
        (b'A'..=b'Z', b'0'..=b'9') => hcpcs(first, middle(1, 5)),
        // Category II, quality reporting, among them.
        _ => Service::Other,
    }
}

fn cpt(code: u32) -> Service {
    match code {
        99201..=99499 | 92002..=92014 => Service::Visit,
        80047..=89398 => Service::Laboratory,
        // The products; giving them (90460 to 90474) is a procedure.
        90281..=90399 | 90476..=90759 | 91300..=91323 => Service::Other,
        _ => Service::Procedure,
    }
}

fn hcpcs(letter: u8, number: u32) -> Service {
    match (letter, number) {
        (b'G', 402 | 438 | 439 | 463 | 466..=470) => Service::Visit,
        (b'G', 8000..=9999) | (b'M', 1000..=1999) => Service::Other,
        // Transport.
        (b'A', 21..=999) | (b'T', 2001..=2007) => Service::Other,
        (b'A' | b'B' | b'E' | b'K' | b'L' | b'V', _) | (b'C', 1000..=1999) | (b'T', 4521..=5999) => Service::Supply,
        // Drugs.
        (b'J', _) | (b'C', 9000..=9399) | (b'S', 12..=199) => Service::Other,
        // Tests of the laboratories and for the pandemic.
        (b'U', _) | (b'P', _) => Service::Laboratory,
        // Obtaining a Papanicolaou smear.
        (b'Q', 91) => Service::Procedure,
        // Drugs, supplies and tests for a time; R0070 to R0076 bring X-ray and ECG equipment to a home.
        (b'Q' | b'R', _) => Service::Other,
        (b'C' | b'D' | b'G' | b'H' | b'M' | b'S' | b'T', _) => Service::Procedure,
        _ => Service::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_sorted() {
        let procedures = [
            "75710", "37228", "97110", "00100", "90471", "0042T", "D1110", "D0120", "G0105", "Q0091", "C9600", "S9131",
            "T1019", "H0004", "M0201", "90460", "99500",
        ];
        for code in procedures {
            assert_eq!(service(code), Service::Procedure, "{code}");
        }
        for code in [
            "99201", "99499", "92002", "92014", "G0402", "G0438", "G0439", "G0463", "G0466", "G0470",
        ] {
            assert_eq!(service(code), Service::Visit, "{code}");
        }
        for code in ["A4550", "B4034", "E0470", "K0001", "L1832", "V2020", "C1713", "T4521"] {
            assert_eq!(service(code), Service::Supply, "{code}");
        }
        for code in ["80047", "89398", "0001U", "0001M", "P2028", "U0003"] {
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
