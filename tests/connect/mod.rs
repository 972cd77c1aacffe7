//! The consent flow at its doors and pages, over HTTP, with the sandbox's organizations on the other side.

mod authorize;
mod born;
mod brand;
mod browser;
mod dialects;
mod ends;
mod facilities;
mod filled;
mod identity;
mod languages;
mod left;
mod link;
mod pages;
mod portal;
mod pseudo;
mod rogue;
mod safety;
mod several;
mod sources;
mod thief;
mod usage;
mod waiting;
mod way;
mod world;
