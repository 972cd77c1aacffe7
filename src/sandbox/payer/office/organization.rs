//! The organizations of the sandbox: their names, their record types, and how an application gets access.

/// The client id that every application uses at all organizations.
pub const CLIENT_ID: &str = "tabularium-sandbox";
/// The client secret at the organizations that require one.
pub const CLIENT_SECRET: &str = "sandbox-secret-of-no-worth";

/// The kind of an organization.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A health plan: claims and coverage.
    Payer,
    /// A hospital or practice with a patient portal: clinical records.
    Provider,
    /// A practice with a patient portal, where people sign in each time. It never grants lasting access.
    Portal,
    /// A hospital or practice without a portal. The record locator finds it.
    Facility,
    /// The identity provider, which has no records.
    Identity,
}

/// One organization.
#[derive(Debug)]
pub struct Organization {
    /// The path segment, such as `lakeshore` in `/lakeshore/fhir`.
    pub id: &'static str,
    /// The name.
    pub name: &'static str,
    /// The logo as SVG.
    pub mark: &'static str,
    /// The brands that patients know.
    pub labels: &'static [&'static str],
    /// The place as patients name it, such as `Chicago, Illinois`.
    pub place: &'static str,
    /// The kind.
    pub kind: Kind,
    /// Whether the organization grants refresh tokens.
    pub refreshable: bool,
    /// The client secret that the organization requires. `None` if clients need no secret.
    pub secret: Option<&'static str>,
    /// Resource types. The organization has all of a person's resources of these types. A facility has only those of
    /// the visits there, and those without a visit.
    pub holds: &'static [&'static str],
    /// Further resource types. The organization has a resource of these types only if its other resources refer to it.
    pub besides: &'static [&'static str],
}

/// The resource types that people share: providers, places, plans and drugs.
pub(in crate::sandbox::payer) const SHARED: &[&str] = &[
    "InsurancePlan",
    "Location",
    "Medication",
    "Organization",
    "Practitioner",
    "PractitionerRole",
];

const CLINICAL: &[&str] = &[
    "AllergyIntolerance",
    "CarePlan",
    "CareTeam",
    "Condition",
    "Device",
    "DiagnosticReport",
    "DocumentReference",
    "Encounter",
    "Goal",
    "Immunization",
    "MedicationRequest",
    "Observation",
    "Patient",
    "Procedure",
    "Provenance",
];

/// All organizations with records, in the order of the start page.
pub const ORGANIZATIONS: &[Organization] = &[
    Organization {
        id: "lakeshore",
        name: "Lakeshore Health Plan",
        mark: include_str!("../../../../templates/sandbox/marks/lakeshore.svg"),
        labels: &["Lakeshore Health Plan", "Lakeshore Senior Advantage"],
        place: "Chicago, Illinois",
        kind: Kind::Payer,
        refreshable: true,
        secret: None,
        holds: &["Coverage", "ExplanationOfBenefit", "Patient"],
        besides: &["Condition", "Encounter", "MedicationRequest", "Procedure"],
    },
    Organization {
        id: "cedarway",
        name: "Cedarway Mutual",
        mark: include_str!("../../../../templates/sandbox/marks/cedarway.svg"),
        labels: &["Cedarway Mutual", "Cedarway Family Care"],
        place: "Des Moines, Iowa",
        kind: Kind::Payer,
        refreshable: true,
        secret: Some(CLIENT_SECRET),
        holds: &[
            "Condition",
            "Coverage",
            "Encounter",
            "ExplanationOfBenefit",
            "Immunization",
            "MedicationDispense",
            "Patient",
            "Procedure",
        ],
        besides: &["MedicationRequest"],
    },
    Organization {
        id: "hilltop",
        name: "Hilltop Cooperative",
        mark: include_str!("../../../../templates/sandbox/marks/hilltop.svg"),
        labels: &["Hilltop Cooperative"],
        place: "Madison, Wisconsin",
        kind: Kind::Payer,
        refreshable: false,
        secret: None,
        holds: &["Coverage", "ExplanationOfBenefit", "Patient"],
        besides: &["Condition", "Encounter", "MedicationRequest", "Procedure"],
    },
    Organization {
        id: "riverbend",
        name: "Riverbend Medical Center",
        mark: include_str!("../../../../templates/sandbox/marks/riverbend.svg"),
        labels: &["Riverbend Medical Center", "MyRiverbend"],
        place: "Portland, Oregon",
        kind: Kind::Provider,
        refreshable: true,
        secret: None,
        holds: CLINICAL,
        besides: &[],
    },
    Organization {
        id: "fernwood",
        name: "Fernwood Family Practice",
        mark: include_str!("../../../../templates/sandbox/marks/fernwood.svg"),
        labels: &["Fernwood Family Practice", "Fernwood Patient Portal"],
        place: "Eugene, Oregon",
        kind: Kind::Portal,
        refreshable: false,
        secret: None,
        holds: CLINICAL,
        besides: &[],
    },
    facility(
        "northfield",
        "Northfield Hospital",
        include_str!("../../../../templates/sandbox/marks/northfield.svg"),
        &["Northfield Hospital"],
        "Minneapolis, Minnesota",
    ),
    facility(
        "eastgate",
        "Eastgate Clinic",
        include_str!("../../../../templates/sandbox/marks/eastgate.svg"),
        &["Eastgate Clinic"],
        "Columbus, Ohio",
    ),
    facility(
        "oldmill",
        "Old Mill Family Practice",
        include_str!("../../../../templates/sandbox/marks/oldmill.svg"),
        &["Old Mill Family Practice"],
        "Burlington, Vermont",
    ),
];

/// The identity provider.
pub(in crate::sandbox::payer) const IDENTITY: Organization = Organization {
    id: "identity",
    name: "Truename Identity",
    mark: include_str!("../../../../templates/sandbox/marks/identity.svg"),
    labels: &["Truename Identity"],
    place: "",
    kind: Kind::Identity,
    refreshable: false,
    secret: None,
    holds: &[],
    besides: &[],
};

const fn facility(
    id: &'static str,
    name: &'static str,
    mark: &'static str,
    labels: &'static [&'static str],
    place: &'static str,
) -> Organization {
    Organization {
        id,
        name,
        mark,
        labels,
        place,
        kind: Kind::Facility,
        refreshable: false,
        secret: Some(CLIENT_SECRET),
        holds: CLINICAL,
        besides: &[],
    }
}

impl Organization {
    /// Returns the organization with this id, which may be the identity provider.
    pub fn named(id: &str) -> Option<&'static Organization> {
        ORGANIZATIONS
            .iter()
            .chain(std::iter::once(&IDENTITY))
            .find(|one| one.id == id)
    }

    /// Returns the types of the organization's resources that belong to one person, sorted by name.
    pub(in crate::sandbox::payer) fn personal(&self) -> Vec<&'static str> {
        let mut types: Vec<_> = self.holds.iter().chain(self.besides).copied().collect();
        types.sort_unstable();
        types
    }

    /// Returns the types of all of the organization's resources, sorted by name.
    pub fn types(&self) -> Vec<&'static str> {
        let mut types = self.personal();
        types.extend(SHARED);
        types.sort_unstable();
        types
    }

    /// Returns the index of the organization among the facilities. `None` if it is not a facility.
    pub(in crate::sandbox::payer) fn facility(&self) -> Option<u64> {
        let facilities = ORGANIZATIONS.iter().filter(|one| one.kind == Kind::Facility);
        facilities.zip(0..).find(|(one, _)| one.id == self.id).map(|(_, at)| at)
    }
}
