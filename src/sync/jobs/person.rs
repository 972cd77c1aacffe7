//! Whose records are fetched: the set of ids that the source itself ties to the id of the grant. These are the id that
//! the source writes for this Patient, the Patients to which it links (`Patient.link`), and those that link back.

use std::collections::VecDeque;
use std::sync::PoisonError;

use serde_json::Value;

use super::gap::{Gap, Why};
use super::plan::encoded;
use super::search::Reply;
use super::source::Trouble;
use super::work::{Found, Work};
use crate::consent::LinkedPatient;
use crate::ingest::source_target;

/// The maximum number of a person's ids at one source.
const IDS: usize = 16;
/// The part of a type that is told if it is missing for a linked Patient only.
pub(super) const OF_LINKED: &str = "of a linked Patient";

/// The ids of a person at a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Person {
    /// The id of the grant, and then all others.
    ids: Vec<String>,
    /// The id that the source writes for the Patient of the grant, if it is another one.
    pub(super) alias: Option<String>,
    /// Whether the source ties more ids to the person than are used.
    is_cut: bool,
}

impl Person {
    /// Creates the ids of a person from those that earlier jobs found. `ours` is our id of the grant's Patient.
    pub(super) fn known(patient: &str, ours: Option<&str>, linked: &[LinkedPatient]) -> Person {
        let mut ids = vec![patient.to_owned()];
        ids.extend(linked.iter().map(|one| one.source_id.clone()));
        let alias = linked.iter().find(|one| ours == Some(one.patient.as_str()));
        Person {
            ids,
            alias: alias.map(|one| one.source_id.clone()),
            is_cut: false,
        }
    }

    /// Returns all ids, that of the grant first.
    pub(super) fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Returns all ids but that of the grant.
    pub(super) fn further(&self) -> impl Iterator<Item = &str> {
        self.ids.iter().skip(1).map(String::as_str)
    }

    /// Returns the ids of the linked Patients.
    pub(super) fn linked(&self) -> impl Iterator<Item = &str> {
        self.further().filter(|id| self.alias.as_deref() != Some(*id))
    }

    /// Whether `Type/id` names the Patient of the grant.
    pub(super) fn is_patient(&self, name: &str) -> bool {
        let id = name.strip_prefix("Patient/");
        id.is_some_and(|id| self.ids.first().is_some_and(|own| own == id) || self.alias.as_deref() == Some(id))
    }

    /// Whether all ids were known before.
    pub(super) fn is_within(&self, before: &Person) -> bool {
        self.ids.iter().all(|id| before.ids.contains(id))
    }

    /// Adds an id. Returns whether it is new, and one that is used.
    fn add(&mut self, id: &str) -> bool {
        let is_new = !self.ids.iter().any(|known| known == id);
        let has_room = self.ids.len() < IDS;
        self.is_cut |= is_new && !has_room;
        if is_new && has_room {
            self.ids.push(id.to_owned());
        }
        is_new && has_room
    }
}

fn of_linked(why: Why) -> Gap {
    Gap {
        part: Some(OF_LINKED.to_owned()),
        ..Gap::of("Patient", why)
    }
}

impl<'w> Work<'w> {
    /// Fetches the Patient of the grant, and the Patients that the source ties to it. Sets the person's ids.
    pub(super) async fn patients(&'w self) -> Result<Found, Trouble> {
        let (base, id) = (self.source.base(), self.whose.patient);
        let mut person = Person {
            ids: vec![id.to_owned()],
            alias: None,
            is_cut: false,
        };
        let first = match self
            .read_one(&format!("{base}/Patient/{}", encoded(id)), |name| {
                name.starts_with("Patient/")
            })
            .await?
        {
            Ok(record) => record,
            // The ids that earlier jobs found may still bring records.
            Err(why) => {
                let _ = self.person.set(self.whose.before.clone());
                return self.searched(why).await;
            }
        };
        let alias = first
            .name
            .strip_prefix("Patient/")
            .filter(|alias| *alias != id && !alias.is_empty());
        if let Some(alias) = alias.filter(|alias| person.add(alias)) {
            person.alias = Some(alias.to_owned());
        }
        let mut catch = self.begin("Patient")?;
        self.take(&first, &mut catch)?;
        let mut found = Found::default();
        let mut queue: VecDeque<String> = self.links(&first.line).into();
        queue.extend(self.linking_back(&person, &mut found).await?);
        while let Some(linked) = queue.pop_front() {
            if !person.add(&linked) {
                continue;
            }
            let name = format!("Patient/{linked}");
            match self
                .read(&format!("{base}/Patient/{}", encoded(&linked)), &name)
                .await?
            {
                Ok(record) => {
                    queue.extend(self.links(&record.line));
                    self.take(&record, &mut catch)?;
                }
                Err(why) => {
                    found.gaps.push(of_linked(why));
                    // It may link to further Patients, which earlier jobs have found.
                    queue.extend(self.whose.before.linked().map(str::to_owned));
                }
            }
        }
        if person.is_cut {
            found.gaps.push(of_linked(Why::TooMany));
        }
        let _ = self.person.set(person);
        found.add(self.found("Patient", None, Box::new(catch))?);
        Ok(found)
    }

    /// Searches for the Patient by its id, after a read was refused or found nothing.
    async fn searched(&'w self, why: Why) -> Result<Found, Trouble> {
        let (base, id) = (self.source.base(), self.whose.patient);
        if let Why::Refused(_) | Why::NotFound(_) = why
            && let Reply::Had(catch) = self
                .ask_plainly("Patient", &format!("{base}/Patient?_id={}", encoded(id)), "Patient")
                .await?
            && catch.has(&format!("Patient/{id}"))
        {
            return self.found("Patient", None, catch);
        }
        Ok(Found::gap(Gap::of("Patient", why)))
    }

    /// Searches for the Patients that link to that of the grant, if the source's statement lists this search. Returns
    /// their ids. Only those count that have such a link, because a source may ignore the parameter. They are read
    /// afterwards, like those to which the Patient links.
    async fn linking_back(&'w self, person: &Person, found: &mut Found) -> Result<Vec<String>, Trouble> {
        let served = self
            .whose
            .statement
            .and_then(|statement| statement.types.get("Patient"));
        if !served.is_some_and(|served| served.search && served.parameters.iter().any(|one| one == "link")) {
            return Ok(Vec::new());
        }
        let address = format!(
            "{}/Patient?link=Patient/{}",
            self.source.base(),
            encoded(self.whose.patient)
        );
        let patients = match self.peek(&address).await {
            Ok(patients) => patients,
            Err(trouble) if trouble.ends_all() => return Err(trouble),
            Err(trouble) => {
                found.gaps.push(of_linked(Why::Failed(trouble)));
                return Ok(self.whose.before.linked().map(str::to_owned).collect());
            }
        };
        let is_own = |target: &String| person.ids.contains(target);
        let linking = patients
            .iter()
            .filter(|record| self.links(&record.line).iter().any(is_own));
        let ids = linking.filter_map(|record| record.name.strip_prefix("Patient/"));
        Ok(ids.map(str::to_owned).collect())
    }

    /// Returns the ids of the source's Patients to which a Patient links.
    fn links(&self, patient: &str) -> Vec<String> {
        let patient: Value = serde_json::from_str(patient).unwrap_or_default();
        let base = self.base.read().unwrap_or_else(PoisonError::into_inner);
        let links = patient["link"].as_array().into_iter().flatten();
        let targets = links.filter_map(|link| link["other"]["reference"].as_str());
        let ids = targets.filter_map(|text| {
            let relative = base.relative(text).unwrap_or(text);
            let target = source_target(relative).filter(|target| target.type_name() == "Patient")?;
            Some(target.id.to_owned())
        });
        ids.filter(|id| !matches!(id.as_str(), "." | "..")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_has_the_ids_that_were_found_and_not_more_than_16() {
        let linked = |source_id: &str, patient: &str| LinkedPatient {
            source_id: source_id.to_owned(),
            patient: patient.to_owned(),
        };
        let mut person = Person::known("p", Some("ours"), &[linked("alias", "ours"), linked("other", "theirs")]);
        assert_eq!(person.ids(), ["p", "alias", "other"]);
        assert_eq!(person.linked().collect::<Vec<_>>(), ["other"]);
        for name in ["Patient/p", "Patient/alias"] {
            assert!(person.is_patient(name), "{name}");
        }
        assert!(!person.is_patient("Patient/other") && !person.is_patient("p"));
        let before = person.clone();
        assert!(person.is_within(&before));
        assert!(!person.add("p") && person.add("new"));
        assert!(!person.is_within(&before));
        for number in 0..100 {
            person.add(&number.to_string());
        }
        assert_eq!((person.ids().len(), person.is_cut), (IDS, true));
    }
}
