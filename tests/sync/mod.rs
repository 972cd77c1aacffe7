//! From an authorization to records in the lake, and to their erasure, with payers over HTTP.

mod attachments;
mod brought;
mod dialects;
mod doors;
mod ends;
mod interrupted;
mod journey;
mod outgoing;
mod rogue;
mod trouble;
mod world;
