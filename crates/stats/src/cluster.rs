//! Splits positive numbers into two groups at the widest gap.
//!
//! For core-to-core latencies. The gap is a *ratio*: 8 against 40 ns is as wide as 80 against 400.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    pub below: f64,
    pub above: f64,
}

impl Gap {
    pub fn ratio(&self) -> f64 {
        self.above / self.below
    }
}

/// The largest ratio between neighbors. `None` for fewer than two positive numbers.
pub fn widest_gap(numbers: &[f64]) -> Option<Gap> {
    let mut ascending = crate::quantile::sorted(numbers);
    ascending.retain(|&n| n > 0.0);
    ascending
        .windows(2)
        .map(|pair| Gap { below: pair[0], above: pair[1] })
        .max_by(|a, b| a.ratio().total_cmp(&b.ratio()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_widest_gap_by_ratio() {
        // As measured on a guest of one socket.
        let gap = widest_gap(&[52.0, 9.0, 8.8, 110.0, 55.0, 9.2]).unwrap();
        assert_eq!((gap.below, gap.above), (9.2, 52.0));
        assert_eq!(widest_gap(&[7.0]), None);
    }
}
