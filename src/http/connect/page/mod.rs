//! The patient's pages, their files, and the policies that limit what they load.

pub(super) mod answer;
pub(super) mod asset;
pub(super) mod codes;
pub(super) mod duration;
pub(super) mod ending;
pub(super) mod kinds;
pub(super) mod left;
pub(super) mod notice;
pub(in crate::http) mod nowhere;
pub(super) mod shown;
pub(super) mod tile;
pub(super) mod view;
