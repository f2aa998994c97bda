//! One figure of a table, and what it is compared with.

use fastrand::Rng;

use super::super::in_parallel;

/// Of the independent simulation.
const REFERENCE_RUNS: f64 = 10_000.0;
const STANDARD_ERRORS: f64 = 3.0;
/// Of figures that are no shares: medians and their ratios.
const RELATIVE: f64 = 0.08;

/// One figure of a table.
pub struct Cell {
    pub row: String,
    pub column: String,
    pub figure: Figure,
    pub reference: Option<f64>,
}

#[derive(Clone, Copy)]
pub enum Figure {
    /// Of this many runs.
    Share(f64, usize),
    /// A half-width, as a share of throughput, or a ratio.
    Size(f64),
}

pub struct Section {
    pub title: &'static str,
    pub cells: fn(usize) -> Vec<Cell>,
}

impl Cell {
    pub fn new(row: &str, column: &str, figure: Figure) -> Self {
        Self { row: row.to_owned(), column: column.to_owned(), figure, reference: None }
    }

    /// In per cent.
    pub fn against(self, reference: impl Into<Option<f64>>) -> Self {
        Self { reference: reference.into().map(|it| it / 100.0), ..self }
    }

    pub fn text(&self) -> String {
        match self.figure {
            Figure::Share(share, _) => format!("{:.1}", 100.0 * share),
            Figure::Size(size) => format!("{:.2}", 100.0 * size),
        }
    }

    /// `None` without a reference.
    pub fn is_outside(&self) -> Option<bool> {
        let reference = self.reference?;
        Some(match self.figure {
            Figure::Share(share, runs) => {
                // A share of nothing has an error, too.
                let p = f64::midpoint(share, reference).clamp(0.002, 0.998);
                let error = (p * (1.0 - p) * (1.0 / runs as f64 + 1.0 / REFERENCE_RUNS)).sqrt();
                // It is given to a tenth of a per cent, or to one.
                (share - reference).abs() > STANDARD_ERRORS * error + 0.005
            }
            Figure::Size(size) => {
                let rounded = 0.0006;
                (size - reference).abs() > RELATIVE * reference + rounded
            }
        })
    }
}

/// Each run has its own seed.
pub fn each_run<T: Send>(runs: usize, run: impl Fn(&mut Rng) -> T + Sync) -> Vec<T> {
    in_parallel(runs, |n| run(&mut Rng::with_seed(n as u64)))
}

pub fn share(of: &[bool]) -> Figure {
    let held = of.iter().filter(|held| **held).count();
    Figure::Share(held as f64 / of.len().max(1) as f64, of.len())
}

pub fn median(mut sizes: Vec<f64>) -> Figure {
    sizes.sort_by(f64::total_cmp);
    Figure::Size(sizes.get(sizes.len() / 2).copied().unwrap_or(f64::NAN))
}
