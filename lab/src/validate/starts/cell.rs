//! One figure of a table, and what it is compared with.

use fastrand::Rng;

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
    pub fn against(self, reference: f64) -> Self {
        Self { reference: Some(reference / 100.0), ..self }
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

/// In parallel; each run has its own seed.
pub fn each_run<T: Send>(runs: usize, run: impl Fn(&mut Rng) -> T + Sync) -> Vec<T> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let share = |thread: usize| {
        let run = &run;
        (thread..runs).step_by(threads).map(move |n| run(&mut Rng::with_seed(n as u64)))
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..threads).map(|n| scope.spawn(move || share(n).collect::<Vec<_>>())).collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, Vec<T>>| {
            worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        workers.into_iter().flat_map(join).collect()
    })
}

pub fn share(of: &[bool]) -> Figure {
    let held = of.iter().filter(|held| **held).count();
    Figure::Share(held as f64 / of.len().max(1) as f64, of.len())
}

pub fn median(mut sizes: Vec<f64>) -> Figure {
    sizes.sort_by(f64::total_cmp);
    Figure::Size(sizes.get(sizes.len() / 2).copied().unwrap_or(f64::NAN))
}
