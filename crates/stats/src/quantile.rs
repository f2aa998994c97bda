//! Quantiles of samples.

use hopcost_core::Spread;

/// Type 7 of Hyndman and Fan, "Sample Quantiles in Statistical Packages", 1996.
pub fn quantile(ascending: &[f64], p: f64) -> Option<f64> {
    let last = ascending.len().checked_sub(1)?;
    let at = p.clamp(0.0, 1.0) * last as f64;
    let (low, share) = (at.floor() as usize, at.fract());
    let high = (low + 1).min(last);
    Some(ascending[low] + share * (ascending[high] - ascending[low]))
}

/// In any order. `None` without numbers.
pub fn spread(numbers: &[f64]) -> Option<Spread> {
    let ascending = sorted(numbers);
    let at = |p| quantile(&ascending, p);
    Some(Spread { min: at(0.0)?, p5: at(0.05)?, median: at(0.5)?, p95: at(0.95)?, max: at(1.0)? })
}

pub(crate) fn sorted(numbers: &[f64]) -> Vec<f64> {
    let mut ascending = numbers.to_vec();
    ascending.sort_by(f64::total_cmp);
    ascending
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interpolates_between_neighbours() {
        let numbers = [4.0, 1.0, 3.0, 2.0];
        assert_eq!(quantile(&sorted(&numbers), 0.5), Some(2.5));
        assert_eq!(quantile(&sorted(&numbers), 1.0), Some(4.0));
        assert_eq!(quantile(&[7.0], 0.05), Some(7.0));
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(spread(&numbers).map(|s| (s.min, s.max)), Some((1.0, 4.0)));
    }
}
