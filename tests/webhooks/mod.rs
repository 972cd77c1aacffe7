//! Webhooks: which events applications are told, and how receivers get them, over HTTP on loopback.

mod events;
mod world;
