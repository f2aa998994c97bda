//! Data sets, workloads and bundled files. Pure: each row and request follows from its number.

macro_rules! files {
    ($folder:literal: $($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../", $folder, "/", $name, ".toml")))),*]
    };
}

pub mod advice;
pub mod datasets;
pub mod experiments;
pub mod published;
pub mod workloads;
#[cfg(test)]
mod written;
