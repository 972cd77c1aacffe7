//! What records refer to comes with them: documents of all kinds, as Binaries and by other addresses, with what is too
//! large, missing or forbidden told; read by who may read the record, in any form; gone with the consent.

mod brought;
mod ended;
mod moved;
mod world;
