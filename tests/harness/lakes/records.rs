//! Small lakes with real columns. JSON resources are shredded, written and committed as by an import, with a test's
//! owners and applications.

use std::collections::BTreeMap;
use std::sync::Arc;

use tabularium::columns::json::Tape;
use tabularium::columns::shred::{Shredder, SystemValues};
use tabularium::fhir::{TypeId, facts};
use tabularium::lake::file::{stored_digest, write_file};
use tabularium::lake::{Lake, Mode, PatientScope, Scope, Snapshot};

/// A resource to store.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) mode: Mode,
    pub(crate) application: String,
    pub(crate) owner: i64,
    pub(crate) patient: Option<String>,
    pub(crate) authorization: Option<String>,
    pub(crate) version: i64,
    pub(crate) refs: Vec<String>,
    pub(crate) json: serde_json::Value,
}

impl Record {
    /// A shared live resource of the application `local`.
    pub(crate) fn new(json: serde_json::Value) -> Record {
        Record {
            mode: Mode::Live,
            application: "local".to_owned(),
            owner: 0,
            patient: None,
            authorization: None,
            version: 1,
            refs: Vec::new(),
            json,
        }
    }

    /// Files the record under a person of its application.
    pub(crate) fn of(self, lake: &Lake, patient: &str) -> Record {
        let owner = lake.owner_of(&self.application, patient);
        Record {
            owner,
            patient: Some(patient.to_owned()),
            ..self
        }
    }

    pub(crate) fn owner(self, owner: i64) -> Record {
        Record { owner, ..self }
    }

    pub(crate) fn application(self, application: &str) -> Record {
        Record {
            application: application.to_owned(),
            ..self
        }
    }

    pub(crate) fn refs(self, refs: &[&str]) -> Record {
        Record {
            refs: refs.iter().map(|reference| (*reference).to_owned()).collect(),
            ..self
        }
    }

    pub(crate) fn text(&self) -> String {
        self.json.to_string()
    }

    fn id(&self) -> &str {
        self.json["id"].as_str().unwrap()
    }

    fn type_id(&self) -> TypeId {
        type_named(self.json["resourceType"].as_str().unwrap())
    }
}

pub(crate) fn type_named(name: &str) -> TypeId {
    facts().lookup(name).unwrap()
}

/// An empty lake in its own folder.
pub(crate) fn lake() -> (tempfile::TempDir, Lake) {
    let dir = tempfile::tempdir().unwrap();
    let lake = crate::harness::kind::open_or_create(dir.path());
    (dir, lake)
}

/// Commits records as one snapshot, with one file per table.
pub(crate) fn commit(lake: &Lake, records: &[Record]) -> Arc<Snapshot> {
    commit_deleting(lake, records, &[])
}

/// Commits records and deletes rows (table, data file, position) in the same snapshot.
pub(crate) fn commit_deleting(lake: &Lake, records: &[Record], deleted: &[(TypeId, u64, u64)]) -> Arc<Snapshot> {
    let mut writer = lake.writer().unwrap();
    let mut transaction = writer.begin();
    let time = transaction.time();
    let mut tables: BTreeMap<(Mode, TypeId), Vec<&Record>> = BTreeMap::new();
    for record in records {
        tables.entry((record.mode, record.type_id())).or_default().push(record);
    }
    for ((mode, type_id), mut rows) in tables {
        rows.sort_by_key(|row| (row.owner, row.id().to_owned()));
        let mut shredder = Shredder::new(type_id);
        let mut tape = Tape::default();
        for row in rows {
            let text = row.text();
            let values = SystemValues {
                owner: row.owner,
                id: row.id(),
                patient: row.patient.as_deref(),
                application: &row.application,
                authorization: row.authorization.as_deref(),
                endpoint: None,
                version: row.version,
                last_updated: time,
                digest: stored_digest(text.as_bytes(), &mut tape),
                shared_refs: &row.refs,
                resource: &text,
            };
            shredder.push(&values, tape.parse(text.as_bytes()).unwrap()).unwrap();
        }
        let batch = shredder.finish().unwrap();
        let schema = transaction.adopt(mode, type_id, &batch.schema()).unwrap();
        let path = transaction.new_file_path(mode, type_id).unwrap();
        let written = write_file(&path, type_id, &schema, [&batch], transaction.keys()).unwrap();
        transaction.add_file(mode, type_id, written);
    }
    for (type_id, file, row) in deleted {
        transaction.delete_rows(Mode::Live, *type_id, *file, [*row]).unwrap();
    }
    transaction.commit("test", "").unwrap()
}

/// The scope of an application token.
pub(crate) fn application(name: &str) -> Arc<Scope> {
    Arc::new(Scope {
        mode: Mode::Live,
        application: name.into(),
        patient: None,
    })
}

/// The scope of a patient token over imported data of an application.
pub(crate) fn patient(lake: &Lake, application: &str, id: &str) -> Arc<Scope> {
    let scope = PatientScope {
        patients: vec![id.to_owned()],
        owners: vec![lake.owner_of(application, id)],
        authorizations: Vec::new(),
    };
    Arc::new(Scope {
        mode: Mode::Live,
        application: application.into(),
        patient: Some(Arc::new(scope)),
    })
}

/// The scope of a patient token over the rows of one owner, whose Patient's id sorts like the owner
/// (`harness::lake::row`).
pub(crate) fn patient_of(lake: &Lake, owner: i64) -> Arc<Scope> {
    let id = format!("p{owner:06}");
    let mut scope = Scope::clone(&patient(lake, "local", &id));
    scope.patient = Some(Arc::new(PatientScope {
        patients: vec![id],
        owners: vec![owner],
        authorizations: Vec::new(),
    }));
    Arc::new(scope)
}
