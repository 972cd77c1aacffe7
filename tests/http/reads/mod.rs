//! Forms and conditions of reads.

pub(super) mod binary;
pub(super) mod coding;
pub(super) mod compartment;
pub(super) mod conditional;
pub(super) mod parts;
pub(super) mod wishes;
