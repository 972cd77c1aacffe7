//! The pages about data other than records: syncs, endpoints, applications, consents, erasures with their receipts,
//! webhooks, the audit log, and slow requests. They show no records, so the audit log gets no entries about them.

mod consent;
mod list;
mod one;
mod receipt;
mod sync;
mod webhooks;

pub(in crate::http::console) use consent::consent;
pub(in crate::http::console) use list::show;
pub(in crate::http::console) use receipt::receipt;
pub(in crate::http::console) use sync::sync;
pub(in crate::http::console) use webhooks::resend;
