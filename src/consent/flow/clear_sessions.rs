//! Seals the sessions that an earlier release stored unencrypted, and removes their bytes from the store's files.

use rusqlite::{Connection, TransactionBehavior, params};

use super::session_key::SessionKey;
use super::session_row::{forget, seal};
use crate::consent::access::seal::Sealer;
use crate::consent::access::wipe::{is_marked, wipe};
use crate::consent::error::Error;

/// The name of a setting. It exists as long as the store's files can contain sessions that an earlier release stored
/// unencrypted.
const CLEAR_SESSIONS: &str = "clear_sessions";

/// Seals the sessions that an earlier release stored unencrypted. The sealed sessions stay usable. Deletes sessions
/// whose JSON is damaged. Then removes the unencrypted bytes from the store's files. If another process reads the store
/// or the disk is full, the next opening of the store tries this again.
pub(in crate::consent) fn seal_clear_sessions(connection: &mut Connection, sealer: &Sealer) -> Result<(), Error> {
    if !is_marked(connection, CLEAR_SESSIONS)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let rows = {
        let mut statement = transaction.prepare("SELECT digest, request, progress FROM clear_flow_session")?;
        let rows = statement.query_map([], |row| {
            let texts: (String, String) = (row.get(1)?, row.get(2)?);
            Ok((SessionKey(row.get(0)?), texts))
        })?;
        rows.collect::<Result<Vec<_>, _>>()?
    };
    for (key, (request, progress)) in rows {
        let (Ok(request), Ok(progress)) = (serde_json::from_str(&request), serde_json::from_str(&progress)) else {
            forget(&transaction, key)?;
            continue;
        };
        let sealed = seal(sealer, key, &request, &progress)?;
        let sql = "UPDATE flow_session SET sealed = ?2 WHERE digest = ?1";
        transaction.execute(sql, params![key.bytes(), sealed])?;
    }
    transaction.execute("DELETE FROM clear_flow_session", [])?;
    transaction.commit()?;
    wipe(
        connection,
        CLEAR_SESSIONS,
        "what sessions knew of patients in the clear",
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consent::clock::Clock;
    use crate::consent::migrations;
    use crate::consent::store::Store;

    /// Rows of a store from the release before sessions were sealed. The first session has not ended, the second has
    /// ended, and the JSON of the third is damaged.
    const BEFORE: &str = r#"
        INSERT INTO application (id, name, created_at) VALUES ('app', 'app', 0);
        INSERT INTO consent (id, application, mode, made_by, state, created_at, touched_at)
            VALUES ('c', 'app', 'test', 'oauth', 'CREATED', 1000, 1000);
        INSERT INTO flow_session (digest, consent, request, progress, created_at, ended_at, begun_at) VALUES
            (:open, 'c', '{"door":"oauth","client":"k","redirect_uri":"https://a.example","state":null,"challenge":null,
                "offline":false,"external_id":null,"endpoint":null,"way":"search","display":"page","holder":null,
                "fingerprint":"f","hints":{"given":"Zebulonia","family":null,"birth_date":null}}',
             '{"step":"places","turn":3,"places":[{"endpoint":"e","name":"n","patient":"patient-at-the-source"}],
               "details":{"given":"Zebulonia","family":"Quastenflosser","birth_date":"1961-02-03","gender":"",
                          "postal_code":"99999"}}', 1000, NULL, 1000),
            (:ended, 'c', '{"door":"oauth","client":"k","redirect_uri":null,"state":null,"challenge":null,
                "offline":false,"external_id":null,"endpoint":null,"way":"choose","display":"page","holder":null,
                "fingerprint":"f","hints":{}}', '{"step":"hub","turn":9,"told":true}', 1000, 1001, 1000),
            (:damaged, 'c', '{"hints":', '{}', 1000, NULL, 1000);
        INSERT INTO attempt (digest, session, sealed, created_at) VALUES (x'00', :open, x'00', 1000);
    "#;
    const PERSON: [&str; 5] = [
        "Zebulonia",
        "Quastenflosser",
        "1961-02-03",
        "99999",
        "patient-at-the-source",
    ];

    /// Returns the strings about the person that the files of the folder contain.
    fn in_files(folder: &std::path::Path) -> Vec<&'static str> {
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let bytes: Vec<Vec<u8>> = files.map(|path| std::fs::read(path).unwrap()).collect();
        let is_in = |text: &&str| {
            bytes
                .iter()
                .any(|bytes| memchr::memmem::find(bytes, text.as_bytes()).is_some())
        };
        PERSON.into_iter().filter(is_in).collect()
    }

    /// An earlier release stored sessions as unencrypted JSON, even if the lake was sealed.
    #[test]
    fn sessions_of_an_earlier_release_are_sealed_and_continue() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("service.sqlite");
        let connection = Connection::open(&path).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        connection.pragma_update(None, "wal_autocheckpoint", 0).unwrap();
        migrations::migrate_before_sealed_sessions(&connection);
        let [open, ended, damaged] = ["open", "ended", "damaged"].map(SessionKey::of);
        let blob = |key: SessionKey| {
            let digits: String = key.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
            format!("x'{digits}'")
        };
        let rows = [(":open", open), (":ended", ended), (":damaged", damaged)];
        let rows = rows
            .into_iter()
            .fold(BEFORE.to_owned(), |sql, (name, key)| sql.replace(name, &blob(key)));
        connection.execute_batch(&rows).unwrap();
        assert_eq!(in_files(folder.path()), PERSON);
        drop(connection);

        let store = Store::open(folder.path(), Clock::at(1_010)).unwrap();
        assert_eq!(in_files(folder.path()), [""; 0]);
        let flow = store.flows().peek(open).unwrap().unwrap();
        assert_eq!(flow.request.hints.given.as_deref(), Some("Zebulonia"));
        assert_eq!((flow.progress.turn, flow.progress.places.len()), (3, 1));
        assert_eq!(flow.progress.details.postal_code, "99999");
        assert!(flow.is_open());
        let flow = store.flows().peek(ended).unwrap().unwrap();
        assert!(flow.progress.told && !flow.is_open());
        assert!(store.flows().peek(damaged).unwrap().is_none());
        let left = |sql: &str| store.read(|connection| Ok(connection.query_row(sql, [], |row| row.get::<_, i64>(0))?));
        assert_eq!(left("SELECT count(*) FROM clear_flow_session").unwrap(), 0);
        assert_eq!(left("SELECT count(*) FROM attempt").unwrap(), 1);
        assert_eq!(
            left("SELECT count(*) FROM setting WHERE name = 'clear_sessions'").unwrap(),
            0
        );
    }
}
