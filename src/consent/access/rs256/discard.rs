//! Discards keys that cannot be decrypted, because the key that sealed them is lost.

use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};

use super::super::super::error::Error;
use super::super::super::flow::discard_unreadable_sessions;
use super::super::super::store::{FILE, Store, connected};
use super::super::es256;
use super::super::seal::Sealer;
use super::rows::{DiscardedKeys, purpose, rows};

impl Store {
    /// Discards the private keys in a folder's store that cannot be decrypted, because the key that sealed them is
    /// lost. Also deletes the sessions that cannot be decrypted. The next [`Store::open`] makes an RSA signing key if
    /// none is left.
    pub fn discard_unreadable_keys(folder: &Path) -> Result<DiscardedKeys, Error> {
        let path = folder.join(FILE);
        let discarded =
            connected(folder, &path).and_then(|(mut connection, sealer)| discard_unreadable(&mut connection, &sealer));
        discarded.map_err(|error| error.at(&path))
    }
}

/// Discards keys and sessions that `sealer` cannot decrypt.
fn discard_unreadable(connection: &mut Connection, sealer: &Sealer) -> Result<DiscardedKeys, Error> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (mut discarded, mut kept) = (Vec::new(), Vec::new());
    for (kid, sealed) in rows(&transaction)? {
        if sealer.unseal(&purpose(&kid), &sealed).is_err() {
            transaction.execute("DELETE FROM signing_key WHERE kid = ?1", [&kid])?;
            discarded.push(kid);
        } else {
            kept.push(kid);
        }
    }
    let mut keys = DiscardedKeys { discarded, kept };
    es256::discard_unreadable(&transaction, sealer, &mut keys)?;
    discard_unreadable_sessions(&transaction, sealer)?;
    transaction.commit()?;
    Ok(keys)
}
