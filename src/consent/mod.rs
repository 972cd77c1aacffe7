//! Applications, signing keys and access tokens, in a SQLite file of their own.
