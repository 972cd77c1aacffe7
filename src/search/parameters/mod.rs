//! Search parameters: reads the parameters of a request, checks them against the search parameters of the searched
//! type, and parses their values.

pub(super) mod contained;
pub(super) mod declared;
pub(super) mod filter_expression;
pub(super) mod filter_operator;
pub(super) mod modifier;
pub(super) mod parameter;
pub(super) mod plain;
pub(super) mod query;
pub mod raw;
pub(super) mod repeated;
pub(super) mod resolve;
pub(super) mod resolver;
pub(super) mod result;
pub(super) mod suggestion;
pub(super) mod terminology;
pub(super) mod values;
