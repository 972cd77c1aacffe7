//! The illnesses of the population: chronic conditions, and acute ones that lead to a visit.

use super::super::codes::{Code, icd10, snomed};

/// A chronic condition: its codes, its frequency and its drugs.
pub(in crate::sandbox) struct Chronic {
    pub(in crate::sandbox) icd: Code,
    pub(in crate::sandbox) snomed: Code,
    /// The probability that a person has the condition at the age of `from_age` + 40 years, in thousandths. Before the
    /// age of `from_age`, it is 0. From then on it grows linearly with age, up to the age of 80. It is at most 700.
    pub(in crate::sandbox) per_mille: u64,
    pub(in crate::sandbox) from_age: i64,
    pub(in crate::sandbox) raises_pressure: bool,
    /// The RxNorm codes of the drugs for the condition. The drugs are in `drugs::DRUGS`.
    pub(in crate::sandbox) drugs: &'static [&'static str],
}

const fn chronic(icd: Code, snomed: Code, from_age: i64, per_mille: u64, drugs: &'static [&'static str]) -> Chronic {
    Chronic {
        icd,
        snomed,
        per_mille,
        from_age,
        raises_pressure: false,
        drugs,
    }
}

/// The chronic conditions of the population.
pub(in crate::sandbox) const CHRONIC: &[Chronic] = &[
    Chronic {
        raises_pressure: true,
        ..chronic(
            icd10("I10", "Essential (primary) hypertension"),
            snomed("38341003", "Hypertension"),
            25,
            520,
            &["314076", "310798", "197361"],
        )
    },
    chronic(
        icd10("E11.9", "Type 2 diabetes mellitus without complications"),
        snomed("44054006", "Type 2 diabetes mellitus"),
        28,
        200,
        &["860975", "106892"],
    ),
    chronic(
        icd10("E78.5", "Hyperlipidemia, unspecified"),
        snomed("55822004", "Hyperlipidemia"),
        30,
        400,
        &["312961", "617311"],
    ),
    chronic(
        icd10("R73.03", "Prediabetes"),
        snomed("15777000", "Prediabetes"),
        25,
        220,
        &[],
    ),
    chronic(
        icd10("J45.909", "Unspecified asthma, uncomplicated"),
        snomed("195967001", "Asthma"),
        3,
        110,
        &["745679", "895994"],
    ),
    chronic(
        icd10("E66.9", "Obesity, unspecified"),
        snomed("414916001", "Obesity"),
        12,
        360,
        &[],
    ),
    chronic(
        icd10("E03.9", "Hypothyroidism, unspecified"),
        snomed("40930008", "Hypothyroidism"),
        25,
        90,
        &["966222"],
    ),
    chronic(
        icd10("F33.9", "Major depressive disorder, recurrent"),
        snomed("35489007", "Depressive disorder"),
        15,
        130,
        &["312941"],
    ),
    Chronic {
        raises_pressure: true,
        ..chronic(
            icd10("N18.30", "Chronic kidney disease, stage 3"),
            snomed("433144002", "Chronic kidney disease stage 3"),
            45,
            140,
            &[],
        )
    },
    chronic(
        icd10("I48.91", "Unspecified atrial fibrillation"),
        snomed("49436004", "Atrial fibrillation"),
        50,
        120,
        &["855332", "866414"],
    ),
    Chronic {
        raises_pressure: true,
        ..chronic(
            icd10("I50.9", "Heart failure, unspecified"),
            snomed("88805009", "Chronic congestive heart failure"),
            55,
            90,
            &["313988"],
        )
    },
    chronic(
        icd10("I25.10", "Atherosclerotic heart disease of native coronary artery"),
        snomed("53741008", "Coronary heart disease"),
        45,
        130,
        &["309362"],
    ),
    chronic(
        icd10("M17.9", "Osteoarthritis of knee, unspecified"),
        snomed("239873007", "Osteoarthritis of knee"),
        40,
        210,
        &["849574"],
    ),
    chronic(
        icd10("J44.9", "Chronic obstructive pulmonary disease, unspecified"),
        snomed("13645005", "Chronic obstructive lung disease"),
        45,
        100,
        &["745679"],
    ),
    chronic(
        icd10("D64.9", "Anemia, unspecified"),
        snomed("271737000", "Anemia"),
        1,
        70,
        &[],
    ),
    chronic(
        icd10("L20.9", "Atopic dermatitis, unspecified"),
        snomed("24079001", "Atopic dermatitis"),
        0,
        90,
        &["106258"],
    ),
];

/// A short illness or injury.
pub(in crate::sandbox) struct Acute {
    pub(in crate::sandbox) icd: Code,
    pub(in crate::sandbox) snomed: Code,
    /// The duration in days.
    pub(in crate::sandbox) days: i64,
    /// The RxNorm code of the prescribed drug in `drugs::DRUGS`. `None` if no drug is prescribed.
    pub(in crate::sandbox) drug: Option<&'static str>,
    /// Whether the condition is treated at a hospital. If not, it is treated at a clinic.
    pub(in crate::sandbox) emergency: bool,
}

const fn acute(icd: Code, snomed: Code, days: i64, drug: Option<&'static str>, emergency: bool) -> Acute {
    Acute {
        icd,
        snomed,
        days,
        drug,
        emergency,
    }
}

/// The acute conditions of the population.
pub(in crate::sandbox) const ACUTE: &[Acute] = &[
    acute(
        icd10("J01.90", "Acute sinusitis, unspecified"),
        snomed("444814009", "Viral sinusitis"),
        14,
        None,
        false,
    ),
    acute(
        icd10("J20.9", "Acute bronchitis, unspecified"),
        snomed("10509002", "Acute bronchitis"),
        10,
        Some("313782"),
        false,
    ),
    acute(
        icd10("J02.9", "Acute pharyngitis, unspecified"),
        snomed("195662009", "Acute viral pharyngitis"),
        8,
        None,
        false,
    ),
    acute(
        icd10("J02.0", "Streptococcal pharyngitis"),
        snomed("43878008", "Streptococcal sore throat"),
        9,
        Some("834102"),
        false,
    ),
    acute(
        icd10("H66.90", "Otitis media, unspecified"),
        snomed("65363002", "Otitis media"),
        12,
        Some("308182"),
        false,
    ),
    acute(
        icd10("N39.0", "Urinary tract infection, site not specified"),
        snomed("68566005", "Urinary tract infectious disease"),
        7,
        Some("562251"),
        false,
    ),
    acute(
        icd10("M54.50", "Low back pain, unspecified"),
        snomed("279039007", "Low back pain"),
        30,
        Some("849574"),
        false,
    ),
    acute(
        icd10("J30.9", "Allergic rhinitis, unspecified"),
        snomed("61582004", "Allergic rhinitis"),
        40,
        Some("311372"),
        false,
    ),
    acute(
        icd10("U07.1", "COVID-19"),
        snomed("840539006", "COVID-19"),
        15,
        None,
        false,
    ),
    acute(
        icd10("R05.9", "Cough, unspecified"),
        snomed("49727002", "Cough"),
        9,
        None,
        false,
    ),
    acute(
        icd10(
            "S93.401A",
            "Sprain of unspecified ligament of right ankle, initial encounter",
        ),
        snomed("44465007", "Sprain of ankle"),
        21,
        Some("849574"),
        true,
    ),
    acute(
        icd10(
            "S06.0X0A",
            "Concussion without loss of consciousness, initial encounter",
        ),
        snomed("110030002", "Concussion injury of brain"),
        20,
        Some("313782"),
        true,
    ),
    acute(
        icd10(
            "S42.009A",
            "Fracture of unspecified part of clavicle, initial encounter",
        ),
        snomed("58150001", "Fracture of clavicle"),
        60,
        Some("313782"),
        true,
    ),
    acute(
        icd10("K35.80", "Unspecified acute appendicitis"),
        snomed("74400008", "Appendicitis"),
        14,
        Some("313782"),
        true,
    ),
    acute(
        icd10("R07.9", "Chest pain, unspecified"),
        snomed("29857009", "Chest pain"),
        2,
        None,
        true,
    ),
];
