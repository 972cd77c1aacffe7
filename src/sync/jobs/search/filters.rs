//! The parameters and values that narrow the search of each type, for sources that refuse to search all of it.

/// Values of a parameter that narrow the search of a type.
pub(super) struct Filter {
    pub(super) resource_type: &'static str,
    pub(super) parameter: &'static str,
    pub(super) values: &'static [&'static str],
    /// Whether each record has one of the values, because R4 requires the element and allows only these codes.
    pub(super) reaches_all: bool,
}

const fn some(resource_type: &'static str, parameter: &'static str, values: &'static [&'static str]) -> Filter {
    Filter {
        resource_type,
        parameter,
        values,
        reaches_all: false,
    }
}

const fn all(resource_type: &'static str, parameter: &'static str, values: &'static [&'static str]) -> Filter {
    Filter {
        resource_type,
        parameter,
        values,
        reaches_all: true,
    }
}

const EVENT: &[&str] = &[
    "completed",
    "in-progress",
    "preparation",
    "not-done",
    "on-hold",
    "stopped",
    "entered-in-error",
    "unknown",
];
const REQUEST: &[&str] = &[
    "active",
    "completed",
    "on-hold",
    "revoked",
    "draft",
    "entered-in-error",
    "unknown",
];
const CLAIM: &[&str] = &["active", "cancelled", "draft", "entered-in-error"];

/// The filters to try for a type, in order. The categories are US Core's.
pub(super) const FILTERS: &[Filter] = &[
    some(
        "Observation",
        "category",
        &[
            "vital-signs",
            "laboratory",
            "social-history",
            "survey",
            "imaging",
            "procedure",
            "exam",
            "therapy",
            "activity",
            "sdoh",
            "functional-status",
            "disability-status",
            "cognitive-status",
            "clinical-test",
        ],
    ),
    all(
        "Observation",
        "status",
        &[
            "final",
            "amended",
            "corrected",
            "preliminary",
            "registered",
            "cancelled",
            "entered-in-error",
            "unknown",
        ],
    ),
    // The codes of vital signs and of the smoking status in US Core.
    some(
        "Observation",
        "code",
        &[
            "85354-9", "8302-2", "29463-7", "39156-5", "8867-4", "9279-1", "8310-5", "2708-6", "59408-5", "9843-4",
            "8289-1", "59576-9", "77606-2", "72166-2",
        ],
    ),
    some(
        "Condition",
        "category",
        &["problem-list-item", "encounter-diagnosis", "health-concern"],
    ),
    some(
        "Condition",
        "clinical-status",
        &["active", "recurrence", "relapse", "inactive", "remission", "resolved"],
    ),
    some("CarePlan", "category", &["assess-plan"]),
    all("CarePlan", "status", REQUEST),
    some(
        "CareTeam",
        "status",
        &["active", "proposed", "suspended", "inactive", "entered-in-error"],
    ),
    some(
        "DiagnosticReport",
        "category",
        &["LAB", "RAD", "imaging", "LP29684-5", "LP29708-2", "LP7839-6"],
    ),
    all(
        "DiagnosticReport",
        "status",
        &[
            "final",
            "amended",
            "corrected",
            "appended",
            "partial",
            "preliminary",
            "registered",
            "cancelled",
            "entered-in-error",
            "unknown",
        ],
    ),
    some("DocumentReference", "category", &["clinical-note"]),
    all(
        "DocumentReference",
        "status",
        &["current", "superseded", "entered-in-error"],
    ),
    all(
        "MedicationRequest",
        "intent",
        &[
            "order",
            "plan",
            "proposal",
            "original-order",
            "reflex-order",
            "filler-order",
            "instance-order",
            "option",
        ],
    ),
    all(
        "MedicationRequest",
        "status",
        &[
            "active",
            "completed",
            "stopped",
            "cancelled",
            "on-hold",
            "draft",
            "entered-in-error",
            "unknown",
        ],
    ),
    all(
        "MedicationDispense",
        "status",
        &[
            "completed",
            "in-progress",
            "preparation",
            "cancelled",
            "on-hold",
            "stopped",
            "declined",
            "entered-in-error",
            "unknown",
        ],
    ),
    some(
        "ServiceRequest",
        "category",
        &["108252007", "363679005", "409063005", "409073007", "387713003"],
    ),
    all("ServiceRequest", "status", REQUEST),
    all(
        "Encounter",
        "status",
        &[
            "finished",
            "in-progress",
            "planned",
            "arrived",
            "triaged",
            "onleave",
            "cancelled",
            "entered-in-error",
            "unknown",
        ],
    ),
    all("Procedure", "status", EVENT),
    all("Immunization", "status", &["completed", "entered-in-error", "not-done"]),
    all(
        "Goal",
        "lifecycle-status",
        &[
            "active",
            "proposed",
            "planned",
            "accepted",
            "on-hold",
            "completed",
            "cancelled",
            "entered-in-error",
            "rejected",
        ],
    ),
    all("Coverage", "status", CLAIM),
    all("ExplanationOfBenefit", "status", CLAIM),
    all("Claim", "status", CLAIM),
];
