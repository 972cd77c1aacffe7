//! Writes sort keys by the names of their parameters, and creates the order of a scan for a sort key.

use datafusion::logical_expr::ScalarUDF;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::super::criteria::key_function;
use super::super::engine::Engine;
use super::super::parameters::query::SortKey;
use super::error::{WrittenError, of_json, to_json};
use super::named::Named;
use crate::lake::scan::{Order, Reach};

const KEY: &str = "a sort key";

/// A key of `_sort`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Key {
    parameter: Named,
    descending: bool,
}

impl Key {
    pub(super) fn write(engine: &Engine, key: &SortKey) -> Result<Key, WrittenError> {
        Ok(Key {
            parameter: Named::write(engine, &key.compiled)?,
            descending: key.descending,
        })
    }

    pub(super) fn read(&self, engine: &Engine) -> Result<SortKey, WrittenError> {
        Ok(SortKey {
            compiled: self.parameter.read(engine)?,
            descending: self.descending,
        })
    }
}

impl Engine {
    /// Writes a function that yields a sort key. Returns `None` for any other function.
    pub fn write_function(&self, function: &ScalarUDF) -> Result<Option<Value>, WrittenError> {
        let Some(key) = key_function::key_of(function) else {
            return Ok(None);
        };
        to_json(&Key::write(self, key)?, KEY).map(Some)
    }

    /// Reads a function that [`write_function`](Self::write_function) wrote.
    pub fn read_function(&self, written: &Value) -> Result<ScalarUDF, WrittenError> {
        let key: Key = of_json(written, KEY)?;
        Ok(key_function::function(&key.read(self)?))
    }
}

/// Returns the order that a scan gets if the sort above it sorts by a search's sort key. `reaches` names the leaves
/// that have the number by which a row is sorted.
pub fn order(descending: bool, reaches: Vec<Reach>) -> Order {
    Order {
        descending,
        reaches,
        threshold: key_function::threshold,
    }
}
