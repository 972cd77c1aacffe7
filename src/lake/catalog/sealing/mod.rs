//! Sealing in the catalog: the kind of the lake, the keys of its files, and the conversion to another kind.

pub(super) mod convert;
pub(super) mod keys;
pub(super) mod kind;
