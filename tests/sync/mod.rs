//! From an authorization to records in the lake, and to their erasure, with payers over HTTP.

mod again;
mod attachments;
mod dialects;
mod doors;
mod ended;
mod expunge;
mod journey;
mod killed;
mod many;
mod moments;
mod normalized;
mod outgoing;
mod over;
mod pdf;
mod races;
mod restored;
mod rogue;
mod sealed;
mod service;
mod trouble;
mod whole;
mod world;
