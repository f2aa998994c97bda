//! `cargo lab matrix`: every experiment on each engine, here, emulated and in guests.
//!
//! Runs on this machine go into fixtures/stores/matrix.db, which `cargo lab docs` renders. Figures
//! from guests are meaningless, so only their verdicts are kept, in docs/reference/matrix.md.
//! Servers are not in the guests (`cargo xtask test` has them there). SQL Server is not covered.

pub mod cells;
mod guests;
mod here;
pub mod kept;

use anyhow::{Result, bail};
use clap::ValueEnum;
use hopcost_data::experiments::EXPERIMENTS;
use xtask::cargo::build_hopcost;

use cells::Named;

/// Of all cells at most this share may be undecided or void.
const MOST_OPEN: f64 = 0.1;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Place {
    /// On this machine, and emulated ones over it
    Here,
    /// In emulated machines
    Guest,
}

/// Returns 0 if enough is decided. What was found is kept after each run.
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
    let (mut cells, mut open) = (0, 0);
    for of @ (name, file) in EXPERIMENTS.iter().filter(|(name, _)| is_meant(Place::Here, name)) {
        let is_asked_for = |it: &&str| engine.is_none_or(|engine| *it == engine);
        for engine in cells::engines(name, file).into_iter().filter(is_asked_for) {
            let ended = here::run(&hopcost, &kept::path(), *of, engine)?;
            kept::prune(&kept::path())?;
            println!("{name} on {engine}: {} {}", ended.verdict, ended.reason);
            cells += 1;
            open += u32::from(["INCONCLUSIVE", "DISTURBED", "REFUSED"].contains(&&*ended.verdict));
        }
    }
    let in_guests: Vec<Named> = cells::built_in()
        .filter(|(name, _)| engine.is_none() && is_meant(Place::Guest, name))
        .collect();
    let are_wrong = guests::run(&hopcost, &in_guests)?;
    println!("{open} of {cells} undecided or void; in guests, {are_wrong} not as they must");
    Ok(u8::from(f64::from(open) > MOST_OPEN * f64::from(cells) || are_wrong > 0))
}
