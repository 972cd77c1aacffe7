//! No request to any API shows a token's holder other people's records or reveals that they exist. Requests are random.
//! Each entry of each answer is compared with the owner of its record. Each answer to a person is compared with that of
//! a server that never had other people's records.

mod answers;
mod cases;
mod drawn;
mod generated;
mod records;
mod request;
mod servers;
