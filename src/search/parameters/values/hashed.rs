//! Sets and maps of texts that clients send.

use std::collections::{HashMap, HashSet};

use ahash::RandomState;

/// A set of texts that a client sent. Its hash has a random key. Otherwise a client could send texts that all have the
/// same hash, and a long list would take time by the square of its length.
pub(in crate::search) type SentSet<T> = HashSet<T, RandomState>;

/// A map whose keys are texts that a client sent. See [`SentSet`].
pub(in crate::search) type SentMap<K, V> = HashMap<K, V, RandomState>;
