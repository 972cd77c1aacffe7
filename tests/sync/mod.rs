//! From an authorization to records in the lake and out of it again, against payers that are reached over HTTP.

mod again;
mod doors;
mod ended;
mod journey;
mod many;
mod outgoing;
mod trouble;
mod whole;
mod world;
