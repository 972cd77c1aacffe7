//! From an authorization to records in the lake and out of it again, against payers that are reached over HTTP.

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
