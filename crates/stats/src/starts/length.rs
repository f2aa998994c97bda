//! How long to measure in each start.
//!
//! Method: as long as starting takes. For any spread of starts and windows the half-width is at most
//! 1.41 times the best one that knew both, and no pilot is needed. The best number of windows in a
//! start is that of T. Kalibera, R. Jones ("Rigorous benchmarking in reasonable time", ISMM 2013).

/// Fewer would be few degrees of freedom.
const WANTED: usize = 8;
/// More starts say little more.
const MOST: usize = 60;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    pub starts: usize,
    /// Windows, blocks or units in each start.
    pub windows: usize,
}

/// `start_s` is the time of a start without its windows, `window_s` that of one window. Not even one
/// start may fit.
pub fn length(budget_s: f64, start_s: f64, window_s: f64, most: Option<usize>) -> Length {
    let most = most.unwrap_or(MOST);
    let fit = |windows: usize| (budget_s / (start_s + windows as f64 * window_s)).floor() as usize;
    let mut windows = ((start_s / window_s).round() as usize).max(1);
    while fit(windows) < WANTED && windows > 1 {
        windows -= 1;
    }
    if fit(windows) > most {
        let left_s = budget_s / most as f64 - start_s;
        return Length { starts: most, windows: ((left_s / window_s).floor() as usize).max(1) };
    }
    Length { starts: fit(windows), windows }
}

/// The number of windows in a start that makes the next run's interval narrowest. `None` if starts
/// do not differ: then one start is enough.
pub fn best_blocks(start_s: f64, window_s: f64, sigma: f64, tau: f64) -> Option<usize> {
    let best = (start_s / window_s).sqrt() * sigma / tau;
    best.is_finite().then(|| (best.ceil() as usize).max(1))
}
