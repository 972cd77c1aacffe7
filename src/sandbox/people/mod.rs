//! The people of the population, and the events of their lives.

pub(super) mod calendar;
pub(super) mod chart;
pub(super) mod dice;
pub(super) mod directory;
pub(super) mod insurance;
pub(super) mod names;
pub(super) mod population;
pub(super) mod profile;
pub(super) mod story;
