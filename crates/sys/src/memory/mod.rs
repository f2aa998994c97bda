//! Memory in a chosen place, and the proof that it is there.

mod locate;
mod policy;
mod region;

pub use region::{PlaceError, Region, Request};
