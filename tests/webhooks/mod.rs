//! Webhooks: which events applications are told, and how receivers get them, over HTTP on loopback.

mod deliveries;
mod events;
mod listening;
mod order;
mod processes;
mod receivers;
mod world;
