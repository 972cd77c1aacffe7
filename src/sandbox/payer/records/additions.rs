//! The changes that a test made to one person's records at one organization. The next sync fetches the changed
//! records.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::row::Row;
use crate::sandbox::people::calendar::{PRESENT, Text};

/// The URL of the extension which says how often `bump` has changed a resource.
const REVISION: &str = "https://sandbox.example.org/fhir/StructureDefinition/revision";

/// The changes to a person's generated records. The key is the reference to the changed resource.
#[derive(Clone, Debug, Default)]
pub(in crate::sandbox::payer) struct Additions(BTreeMap<String, Change>);

#[derive(Clone, Debug)]
enum Change {
    Put(Arc<Row>),
    Bumped(u64),
    Removed,
}

/// The reason why a resource cannot be added.
#[derive(Debug, thiserror::Error)]
pub(in crate::sandbox::payer) enum AdditionError {
    #[error("a resource needs resourceType and id, both of letters, digits, -, . and _")]
    NoReference,
}

impl Additions {
    /// Adds a resource, or replaces the one with the same reference. Returns the reference.
    pub(in crate::sandbox::payer) fn put(&mut self, resource: &Value) -> Result<String, AdditionError> {
        let name = |name: &str| {
            let text = resource[name].as_str()?;
            let sound = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
            (!text.is_empty() && text.bytes().all(sound)).then(|| text.to_owned())
        };
        let (Some(resource_type), Some(id)) = (name("resourceType"), name("id")) else {
            return Err(AdditionError::NoReference);
        };
        let row = Row {
            resource_type,
            id,
            json: resource.to_string(),
        };
        let reference = row.reference();
        self.0.insert(reference.clone(), Change::Put(Arc::new(row)));
        Ok(reference)
    }

    /// Changes the content of a resource. Returns how often this was done so far, including this time.
    pub(in crate::sandbox::payer) fn bump(&mut self, row: &Row) -> u64 {
        let before = match self.0.get(&row.reference()) {
            Some(Change::Bumped(times)) => *times,
            Some(Change::Put(row)) => revision(&row.json),
            _ => 0,
        };
        let change = match self.0.get(&row.reference()) {
            Some(Change::Put(row)) => Change::Put(Arc::new(revised(row, before + 1))),
            _ => Change::Bumped(before + 1),
        };
        self.0.insert(row.reference(), change);
        before + 1
    }

    /// Removes a resource.
    pub(in crate::sandbox::payer) fn remove(&mut self, reference: &str) {
        self.0.insert(reference.to_owned(), Change::Removed);
    }

    /// Applies the changes to a person's rows. Appends the resources that were put and are not among the rows.
    pub(in crate::sandbox::payer) fn apply(&self, rows: &mut Vec<Arc<Row>>) {
        let mut left = self.0.clone();
        rows.retain_mut(|row| match left.remove(&row.reference()) {
            None => true,
            Some(Change::Removed) => false,
            Some(Change::Put(new)) => {
                *row = new;
                true
            }
            Some(Change::Bumped(times)) => {
                *row = Arc::new(revised(row, times));
                true
            }
        });
        rows.extend(left.into_values().filter_map(|change| match change {
            Change::Put(row) => Some(row),
            Change::Bumped(_) | Change::Removed => None,
        }));
    }
}

/// Returns the resource after `times` changes: with a new version, a later `lastUpdated`, and an extension with the
/// number of changes. The other elements keep their text, so that decimals keep trailing zeros.
fn revised(row: &Row, times: u64) -> Row {
    let mut resource: BTreeMap<String, Box<RawValue>> = serde_json::from_str(&row.json).unwrap_or_default();
    let property = |name: &str| {
        let text = resource.get(name).map(|value| value.get());
        text.and_then(|text| serde_json::from_str::<Value>(text).ok())
    };
    // Without changes, `lastUpdated` is the population's present. Each change adds one second.
    let moment = PRESENT.after(i64::try_from(times).unwrap_or_default());
    let mut meta = property("meta").filter(Value::is_object).unwrap_or_else(|| json!({}));
    meta["lastUpdated"] = Text::Instant(moment).to_string().into();
    meta["versionId"] = (times + 1).to_string().into();
    let mut extensions = property("extension")
        .and_then(|value| value.as_array().cloned())
        .unwrap_or_default();
    extensions.retain(|extension| extension["url"] != REVISION);
    extensions.push(json!({"url": REVISION, "valueInteger": times}));
    for (name, value) in [("meta", meta), ("extension", extensions.into())] {
        if let Ok(value) = serde_json::value::to_raw_value(&value) {
            resource.insert(name.to_owned(), value);
        }
    }
    Row {
        resource_type: row.resource_type.clone(),
        id: row.id.clone(),
        json: serde_json::to_string(&resource).unwrap_or_else(|_| row.json.clone()),
    }
}

/// Returns the number of changes that the extension `REVISION` has. It is 0 if there is no such extension.
fn revision(json: &str) -> u64 {
    let resource: Value = serde_json::from_str(json).unwrap_or_default();
    let extensions = resource["extension"].as_array().into_iter().flatten();
    let mut revisions = extensions.filter(|extension| extension["url"] == REVISION);
    revisions.find_map(|one| one["valueInteger"].as_u64()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_show_in_the_records() {
        let row = |id: &str| {
            Arc::new(Row {
                resource_type: "Goal".into(),
                id: id.into(),
                json: format!(r#"{{"resourceType":"Goal","id":"{id}"}}"#),
            })
        };
        let mut rows = vec![row("a"), row("b"), row("c")];
        let mut additions = Additions::default();
        assert_eq!((additions.bump(&rows[0]), additions.bump(&rows[0])), (1, 2));
        additions.remove("Goal/b");
        additions
            .put(&json!({"resourceType": "Goal", "id": "d", "status": "new"}))
            .unwrap();
        assert_eq!(additions.bump(&row("d")), 1);
        assert!(additions.put(&json!({"resourceType": "Goal", "id": "../x"})).is_err());
        additions.apply(&mut rows);
        let ids: Vec<&str> = rows.iter().map(|row| row.id.as_str()).collect();
        assert_eq!(ids, ["a", "c", "d"]);
        assert_eq!(revision(&rows[0].json), 2);
        assert!(rows[0].json.contains(r#""versionId":"3""#));
        assert_eq!(revision(&rows[2].json), 1);
        assert!(rows[2].json.contains(r#""status":"new""#));
    }
}
