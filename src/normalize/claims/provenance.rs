//! Provenance of generated resources: from which version of which record they were made.

use siphasher::sip::SipHasher24;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use super::out::{Context, Origin, Output, references};
use super::read::code::{coding, concept};
use super::read::text::{Object, date_of, reference};
use crate::normalize::report::Rule;

/// Makes one Provenance for each record from which resources were made. `versions` has a hash of the facts of each
/// record.
///
/// `recorded` is the start of `Settings::today` in UTC. The id of a Provenance depends on the record, the hash of its
/// facts and the generated resources. When a Provenance is stored, an existing one with the same id is kept. So its
/// `recorded` is the day of the first run with these facts.
pub(super) fn make(versions: &BTreeMap<Origin, u64>, context: &Context<'_>, out: &mut Output) {
    let made: Vec<(Origin, BTreeSet<(Rule, String)>)> = out
        .made()
        .iter()
        .map(|(origin, targets)| (origin.clone(), targets.clone()))
        .collect();
    let recorded = format!("{}T00:00:00Z", date_of(context.settings.today));
    for (origin, targets) in made {
        let version = versions.get(&origin).copied().unwrap_or_default();
        let what = format!("{}/{}", origin.resource_type, origin.id);
        let mut hasher = SipHasher24::new();
        for (_, target) in &targets {
            target.hash(&mut hasher);
        }
        let seed = format!("Provenance|{what}|{version:016x}|{:016x}", hasher.finish());
        let rules: BTreeSet<Rule> = targets.iter().map(|(rule, _)| *rule).collect();
        let Some(first) = rules.first().copied() else { continue };
        let Some(id) = context.id(origin.source, "Provenance", &seed) else {
            continue;
        };
        let rules = Vec::from_iter(rules);
        let mut json = context.resource(origin.source, "Provenance", &id, &rules);
        json.list("target", &references(targets.iter().map(|(_, target)| target.as_str())));
        json.text("recorded", &recorded);
        let system = "http://terminology.hl7.org/CodeSystem/provenance-participant-type";
        let kind = concept(vec![coding(system, "assembler", Some("Assembler"))], None);
        let mut agent = Object::new();
        agent.maybe("type", kind).raw("who", r#"{"display":"Tabularium"}"#);
        json.list("agent", &[agent.json()]);
        let mut entity = Object::new();
        entity.text("role", "source").raw("what", &reference(&what));
        json.list("entity", &[entity.json()]);
        out.make(first, origin.source, "Provenance", &id, json.json(), []);
    }
}
