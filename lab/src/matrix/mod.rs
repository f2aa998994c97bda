//! `cargo lab matrix`: every experiment, quickly, on each engine and machine.
//!
//! Machines: this one, emulated distances on it, and guests with several nodes. Each outcome is
//! compared with the expected one and written to docs/reference/matrix.md. Limits: figures from guests are
//! meaningless and left out; verdicts and proofs are kept. Servers are not in the guest (`cargo
//! xtask test` has them there). SQL Server is not covered.

mod table;
mod tried;

use anyhow::{Result, bail};
use clap::ValueEnum;
use hopcost_data::experiments::EXPERIMENTS;
use xtask::cargo::build_hopcost;

use table::Table;
use tried::{Named, built_in, generated, targets};

const A_GUEST: usize = 5;

/// Returns 0 if each outcome is as expected. The table is written after each.
pub fn run(named: &[String], place: Option<Place>, engine: Option<&str>) -> Result<u8> {
    let unknown = named.iter().find(|name| EXPERIMENTS.iter().all(|(of, _)| of != name));
    if let Some(unknown) = unknown {
        bail!("there is no experiment '{unknown}'");
    }
    let hopcost = build_hopcost()?;
    let is_meant = |of: Place, name: &str| {
        place.is_none_or(|place| place == of)
            && (named.is_empty() || named.iter().any(|wanted| wanted == name))
    };
    let mut table = Table::read();
    for (name, file) in EXPERIMENTS.iter().filter(|(name, _)| is_meant(Place::Here, name)) {
        let is_asked_for = |target: &&str| engine.is_none_or(|engine| target.starts_with(engine));
        for target in targets(name, file).into_iter().filter(is_asked_for) {
            table.here(&hopcost, (name, file), target)?;
        }
    }
    let in_guests: Vec<Named> =
        built_in().filter(|(name, _)| engine.is_none() && is_meant(Place::Guest, name)).collect();
    if !in_guests.is_empty() {
        let cache = generated(&hopcost)?;
        for some in in_guests.chunks(A_GUEST) {
            table.guest(&hopcost, cache.path(), some)?;
        }
    }
    for wrong in &table.wrong {
        println!("NOT AS IT MUST: {wrong}");
    }
    Ok(u8::from(!table.wrong.is_empty()))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// On this machine, and emulated ones over it
    Here,
    /// In emulated machines
    Guest,
}
