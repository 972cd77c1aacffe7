//! The counts of each rule.

use std::collections::BTreeMap;

/// A rule of normalization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// MedicationRequest from pharmacy claims.
    MedicationRequest,
    /// Encounter from claims.
    Encounter,
    /// Condition from claims.
    Condition,
    /// Procedure from claims.
    Procedure,
    /// InsurancePlan from Coverage.
    InsurancePlan,
    /// Canonical systems.
    Systems,
    /// Codes in their system's form.
    Codes,
    /// Displays and texts.
    Displays,
    /// Codes of another system, beside the codes of the source.
    Mappings,
    /// References that lead to stored resources, and their displays.
    References,
    /// Values from another source's copy of the same practitioner, organization or location.
    Knowledge,
    /// Placeholders for required elements.
    Required,
}

impl Rule {
    /// The rules that generate resources.
    pub const GENERATING: [Rule; 5] = [
        Rule::MedicationRequest,
        Rule::Encounter,
        Rule::Condition,
        Rule::Procedure,
        Rule::InsurancePlan,
    ];

    /// Returns the rule's name in tags, counts and logs.
    pub fn name(self) -> &'static str {
        match self {
            Rule::MedicationRequest => "MedicationRequest",
            Rule::Encounter => "Encounter",
            Rule::Condition => "Condition",
            Rule::Procedure => "Procedure",
            Rule::InsurancePlan => "InsurancePlan",
            Rule::Systems => "Systems",
            Rule::Codes => "Codes",
            Rule::Displays => "Displays",
            Rule::Mappings => "Mappings",
            Rule::References => "References",
            Rule::Knowledge => "Knowledge",
            Rule::Required => "Required",
        }
    }
}

/// The counts of one rule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of generated resources.
    pub made: u64,
    /// The number of changed elements in records.
    pub changed: u64,
    /// The number of places that the rule had to leave unchanged, for example a code that does not fit its system.
    pub left: u64,
    /// The number of references without a target.
    pub dangling: u64,
}

/// The counts of all rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The counts by rule.
    pub rules: BTreeMap<Rule, Counts>,
    /// The counts of missing targets of the synced source's references. The key is a hash of the reference. The value
    /// is the number of syncs in a row in which the target was missing, up to this sync, and at most three. The
    /// source's next sync passes these counts to [`Survey::recall`](super::Survey::recall).
    pub dangling: BTreeMap<u64, u32>,
}

impl Report {
    /// Returns the counts of a rule, so that the caller can add to them.
    pub fn of(&mut self, rule: Rule) -> &mut Counts {
        self.rules.entry(rule).or_default()
    }

    /// Formats the counts in one line, such as `Displays 12 changed; Encounter 2 made`.
    pub fn told(&self) -> String {
        let rules = self.rules.iter().filter_map(|(rule, counts)| {
            let named = [
                (counts.made, "made"),
                (counts.changed, "changed"),
                (counts.left, "left"),
                (counts.dangling, "dangling"),
            ];
            let told = named.iter().filter(|(count, _)| *count > 0);
            let told: Vec<String> = told.map(|(count, what)| format!("{count} {what}")).collect();
            (!told.is_empty()).then(|| format!("{} {}", rule.name(), told.join(", ")))
        });
        rules.collect::<Vec<_>>().join("; ")
    }

    /// Adds the counts of another report. If both count the syncs of the same missing target, the higher count stays.
    pub fn add(&mut self, other: &Report) {
        for (rule, counts) in &other.rules {
            let sum = self.of(*rule);
            sum.made += counts.made;
            sum.changed += counts.changed;
            sum.left += counts.left;
            sum.dangling += counts.dangling;
        }
        for (reference, syncs) in &other.dangling {
            let known = self.dangling.entry(*reference).or_default();
            *known = (*known).max(*syncs);
        }
    }
}
