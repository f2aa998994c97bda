//! What hopcost's tests share: servers, disks, networks and directories.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod account;
pub mod certificate;
pub mod conformance;
pub mod disk;
pub mod everything;
pub mod kept;
pub mod mariadb;
pub mod named;
pub mod postgresql;
pub mod proxy;
pub mod recipes;
pub mod transcript;
