//! Webhooks: which events applications are told, and how receivers get them, over HTTP on loopback.

mod deliveries;
mod events;
mod order;
mod world;
