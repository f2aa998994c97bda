//! Two kinds among positive numbers, told apart by the widest gap.
//!
//! For core-to-core latencies: siblings, neighbours and other sockets lie a factor apart, while
//! pairs of one kind lie within some ten per cent. A gap is counted as a *ratio*, since 8 against
//! 40 ns means as much as 80 against 400.

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

/// The gap with the largest ratio between neighbours. None of fewer than two positive numbers.
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
        // Four sibling pairs and two kinds of neighbours, as a guest of one socket measured them.
        let gap = widest_gap(&[52.0, 9.0, 8.8, 110.0, 55.0, 9.2]).unwrap();
        assert_eq!((gap.below, gap.above), (9.2, 52.0));
        assert_eq!(widest_gap(&[7.0]), None);
    }
}
