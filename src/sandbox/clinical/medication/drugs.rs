//! The drugs that are prescribed.

use super::super::codes::{Code, rxnorm, snomed};

/// A drug in the form and the package in which a pharmacy sells it.
pub(in crate::sandbox) struct Drug {
    pub(in crate::sandbox) code: Code,
    pub(in crate::sandbox) form: Code,
    pub(in crate::sandbox) directions: &'static str,
    /// The number of units, such as tablets, that a person takes in a day.
    pub(in crate::sandbox) daily: i64,
    /// The number of days for which one dispense is enough.
    pub(in crate::sandbox) days: i64,
    /// The price of one dispense in cents.
    pub(in crate::sandbox) price: i64,
    /// Whether the drug is taken only when needed.
    pub(in crate::sandbox) as_needed: bool,
}

const TABLET: Code = snomed("385055001", "Tablet");
const CAPSULE: Code = snomed("385049006", "Capsule");
const INHALER: Code = snomed("420641004", "Solution for inhalation");
const INJECTION: Code = snomed("385219001", "Solution for injection");
const CREAM: Code = snomed("385099005", "Cream");

const fn drug(code: Code, form: Code, directions: &'static str, daily: i64, days: i64, price: i64) -> Drug {
    Drug {
        code,
        form,
        directions,
        daily,
        days,
        price,
        as_needed: false,
    }
}

const fn as_needed(drug: Drug) -> Drug {
    Drug {
        as_needed: true,
        ..drug
    }
}

/// The drugs of the population.
pub(in crate::sandbox) const DRUGS: &[Drug] = &[
    drug(
        rxnorm("314076", "lisinopril 10 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth every morning",
        1,
        90,
        1_240,
    ),
    drug(
        rxnorm("310798", "hydrochlorothiazide 25 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        90,
        980,
    ),
    drug(
        rxnorm("197361", "amlodipine 5 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        90,
        1_110,
    ),
    drug(
        rxnorm(
            "860975",
            "24 HR metformin hydrochloride 500 MG Extended Release Oral Tablet",
        ),
        TABLET,
        "Take 2 tablets by mouth with the evening meal",
        2,
        90,
        2_410,
    ),
    drug(
        rxnorm(
            "106892",
            "insulin isophane, human 70 UNT/ML / insulin, regular, human 30 UNT/ML Injectable Suspension",
        ),
        INJECTION,
        "Inject under the skin twice a day as told",
        2,
        30,
        13_720,
    ),
    drug(
        rxnorm("312961", "simvastatin 20 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth at bedtime",
        1,
        90,
        1_090,
    ),
    drug(
        rxnorm("617311", "atorvastatin 40 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        90,
        1_510,
    ),
    as_needed(drug(
        rxnorm("745679", "200 ACTUAT albuterol 0.09 MG/ACTUAT Metered Dose Inhaler"),
        INHALER,
        "Inhale 2 puffs every 4 hours as needed for wheezing",
        2,
        90,
        4_860,
    )),
    drug(
        rxnorm(
            "895994",
            "120 ACTUAT fluticasone propionate 0.044 MG/ACTUAT Metered Dose Inhaler",
        ),
        INHALER,
        "Inhale 2 puffs twice a day, then rinse the mouth",
        4,
        60,
        19_930,
    ),
    drug(
        rxnorm("966222", "levothyroxine sodium 0.075 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth before breakfast",
        1,
        90,
        1_830,
    ),
    drug(
        rxnorm("312941", "sertraline 50 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        90,
        1_320,
    ),
    drug(
        rxnorm("855332", "warfarin sodium 5 MG Oral Tablet"),
        TABLET,
        "Take as told by the clinic",
        1,
        60,
        1_150,
    ),
    drug(
        rxnorm(
            "866414",
            "24 HR metoprolol succinate 100 MG Extended Release Oral Tablet [Toprol]",
        ),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        90,
        3_080,
    ),
    drug(
        rxnorm("313988", "furosemide 40 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth every morning",
        1,
        90,
        870,
    ),
    drug(
        rxnorm("309362", "clopidogrel 75 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        90,
        1_660,
    ),
    as_needed(drug(
        rxnorm("849574", "naproxen sodium 220 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth every 12 hours as needed for pain",
        2,
        15,
        790,
    )),
    drug(
        rxnorm("106258", "hydrocortisone 10 MG/ML Topical Cream"),
        CREAM,
        "Apply thinly to the affected skin twice a day",
        2,
        60,
        910,
    ),
    as_needed(drug(
        rxnorm("313782", "acetaminophen 325 MG Oral Tablet"),
        TABLET,
        "Take 2 tablets by mouth every 6 hours as needed for pain or fever",
        8,
        10,
        560,
    )),
    drug(
        rxnorm("834102", "penicillin V potassium 500 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth three times a day until gone",
        3,
        10,
        1_450,
    ),
    drug(
        rxnorm("308182", "amoxicillin 250 MG Oral Capsule"),
        CAPSULE,
        "Take 1 capsule by mouth three times a day until gone",
        3,
        10,
        1_010,
    ),
    drug(
        rxnorm("562251", "amoxicillin 250 MG / clavulanate 125 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth every 8 hours until gone",
        3,
        7,
        2_290,
    ),
    drug(
        rxnorm("311372", "loratadine 10 MG Oral Tablet"),
        TABLET,
        "Take 1 tablet by mouth daily",
        1,
        30,
        1_040,
    ),
];

impl Drug {
    /// Whether the drug is taken by mouth.
    pub(in crate::sandbox) fn by_mouth(&self) -> bool {
        self.form.code == TABLET.code || self.form.code == CAPSULE.code
    }
}

/// Returns the index in [`DRUGS`] of the drug with this RxNorm code. `None` if there is no such drug.
pub(in crate::sandbox) fn place(code: &str) -> Option<usize> {
    DRUGS.iter().position(|drug| drug.code.code == code)
}

#[cfg(test)]
mod tests {
    use super::super::super::summary::diagnoses::{ACUTE, CHRONIC};
    use super::place;

    #[test]
    fn every_drug_that_a_condition_names_is_sold() {
        let chronic = CHRONIC.iter().flat_map(|chronic| chronic.drugs);
        for code in chronic.chain(ACUTE.iter().filter_map(|acute| acute.drug.as_ref())) {
            assert!(place(code).is_some(), "{code}");
        }
    }
}
