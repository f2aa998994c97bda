//! The random numbers of scripts, and a shuffle.

use std::f64::consts::TAU;

use fastrand::Rng;

use super::hashes::murmur2;
use super::wrong::ValueError;

#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// Falling: the last has e^-parameter of the first's share.
    Exponential,
    /// The middle is most likely; the parameter is the distance of the ends in standard deviations.
    Gaussian,
    /// The n-th has the first's share divided by n^parameter.
    Zipfian,
}

const LEAST_GAUSSIAN: f64 = 2.0;
const ZIPFIAN: std::ops::RangeInclusive<f64> = 1.001..=1000.0;

/// From `low` to `high`, both inclusive.
pub fn uniform(dice: &mut Rng, low: i64, high: i64) -> Result<i64, ValueError> {
    width(low, high).map(|_| dice.i64(low..=high))
}

impl Shape {
    pub fn draw(
        self,
        dice: &mut Rng,
        low: i64,
        high: i64,
        parameter: f64,
    ) -> Result<i64, ValueError> {
        let width = width(low, high)?;
        self.check(parameter)?;
        let above = match self {
            Self::Exponential => portion(exponential(dice, parameter), width),
            Self::Gaussian => portion(gaussian(dice, parameter), width),
            Self::Zipfian => zipfian(dice, width, parameter) - 1,
        };
        Ok(low + above)
    }

    fn check(self, parameter: f64) -> Result<(), ValueError> {
        let (is_good, rule) = match self {
            Self::Exponential => (parameter > 0.0, "an exponential's parameter is above 0"),
            Self::Gaussian => (parameter >= LEAST_GAUSSIAN, "a gaussian's parameter is 2 or more"),
            Self::Zipfian => (ZIPFIAN.contains(&parameter), "a zipfian's is within 1.001 … 1000"),
        };
        if is_good { Ok(()) } else { Err(ValueError::Parameter(rule, parameter)) }
    }
}

fn width(low: i64, high: i64) -> Result<i64, ValueError> {
    if low > high {
        return Err(ValueError::NoRange(low, high));
    }
    let width = high.checked_sub(low).and_then(|distance| distance.checked_add(1));
    width.ok_or(ValueError::TooWide(low, high))
}

/// A share of the width, below it even if the product is rounded.
fn portion(share: f64, width: i64) -> i64 {
    ((width as f64 * share) as i64).min(width - 1)
}

/// In [0, 1): an exponential distribution, truncated.
fn exponential(dice: &mut Rng, parameter: f64) -> f64 {
    let cut = (-parameter).exp();
    let above_zero = 1.0 - dice.f64();
    -(cut + (1.0 - cut) * above_zero).ln() / parameter
}

/// In [0, 1): a normal distribution around the middle, truncated by redrawing. Box and Muller's
/// method.
fn gaussian(dice: &mut Rng, parameter: f64) -> f64 {
    loop {
        let above_zero = 1.0 - dice.f64();
        let deviations = (-2.0 * above_zero.ln()).sqrt() * (TAU * dice.f64()).sin();
        if (-parameter..parameter).contains(&deviations) {
            return (deviations + parameter) / (2.0 * parameter);
        }
    }
}

/// From 1 to `last`, by the rejection method of Devroye, "Non-Uniform Random Variate Generation"
/// (1986), page 550. The closer the exponent is to 1, the more it rejects.
fn zipfian(dice: &mut Rng, last: i64, exponent: f64) -> i64 {
    if last <= 1 {
        return 1;
    }
    let above_one = exponent - 1.0;
    let bound = above_one.exp2();
    loop {
        let candidate = dice.f64().powf(-1.0 / above_one).floor();
        let ratio = (1.0 + 1.0 / candidate).powf(above_one);
        let is_taken = dice.f64() * candidate * (ratio - 1.0) / (bound - 1.0) <= ratio / bound;
        if is_taken && candidate <= last as f64 {
            return (candidate as i64).min(last);
        }
    }
}

/// The position of a number, modulo `size`, in a shuffled range 0 to `size` - 1.
///
/// A permutation for each seed, but not pgbench's.
pub fn permute(number: i64, size: i64, seed: i64) -> Result<i64, ValueError> {
    if size < 1 {
        return Err(ValueError::NoSize(size));
    }
    let size = size.cast_unsigned();
    let half_bits = (u64::BITS - (size - 1).leading_zeros()).div_ceil(2).max(1);
    let mut place = number.cast_unsigned() % size;
    // The shuffle permutes up to four times as many numbers; a result outside is shuffled again.
    // The cycle leads back inside, and to another position for each number.
    loop {
        place = shuffle(place, half_bits, seed);
        if place < size {
            return Ok(place.cast_signed());
        }
    }
}

/// A Feistel network: reversible whatever the rounds mix in, so no two numbers collide.
fn shuffle(number: u64, half_bits: u32, seed: i64) -> u64 {
    const ROUNDS: i64 = 6;
    let mask = (1 << half_bits) - 1;
    let mut halves = (number >> half_bits, number & mask);
    for round in 0..ROUNDS {
        let (left, right) = halves;
        let key = murmur2(seed, round);
        halves = (right, left ^ (murmur2(right.cast_signed(), key).cast_unsigned() & mask));
    }
    (halves.0 << half_bits) | halves.1
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: usize = 100_000;

    fn shares(mut draw: impl FnMut(&mut Rng) -> Result<i64, ValueError>) -> [f64; 10] {
        let mut dice = Rng::with_seed(4);
        let mut shares = [0.0; 10];
        for _ in 0..DRAWS {
            let number = usize::try_from(draw(&mut dice).unwrap()).unwrap();
            shares[number - 1] += 1.0 / DRAWS as f64;
        }
        shares
    }

    /// Half a percent is more than three standard deviations of any share.
    #[track_caller]
    fn agree(shares: [f64; 10], expected: [f64; 10]) {
        for (number, (share, expected)) in shares.into_iter().zip(expected).enumerate() {
            assert!((share - expected).abs() < 0.005, "{}: {share} for {expected}", number + 1);
        }
    }

    #[test]
    fn uniform_numbers_are_equally_likely_and_reach_both_ends() {
        agree(shares(|dice| uniform(dice, 1, 10)), [0.1; 10]);
        let mut dice = Rng::with_seed(1);
        assert_eq!(uniform(&mut dice, -7, -7), Ok(-7));
        assert!(uniform(&mut dice, i64::MIN + 1, -1).is_ok());
    }

    #[test]
    fn exponential_numbers_fall_by_the_same_factor() {
        let parameter = 3.0;
        let below = |part: f64| (1.0 - (-parameter * part).exp()) / (1.0 - (-parameter).exp());
        let expected = std::array::from_fn(|n| {
            let n = n as f64;
            below((n + 1.0) / 10.0) - below(n / 10.0)
        });
        agree(shares(|dice| Shape::Exponential.draw(dice, 1, 10, parameter)), expected);
    }

    #[test]
    fn gaussian_numbers_crowd_in_the_middle() {
        // Shares of a normal distribution between ±2.5 deviations, in steps of half a deviation.
        let half = [0.01675, 0.04461, 0.09300, 0.15177, 0.19387];
        let expected = std::array::from_fn(|n| half[n.min(9 - n)]);
        agree(shares(|dice| Shape::Gaussian.draw(dice, 1, 10, 2.5)), expected);
    }

    #[test]
    fn zipfian_numbers_fall_with_a_power_of_their_rank() {
        for exponent in [1.01, 1.5, 3.0] {
            let weights: [f64; 10] = std::array::from_fn(|n| (n as f64 + 1.0).powf(-exponent));
            let sum: f64 = weights.iter().sum();
            let expected = weights.map(|weight| weight / sum);
            agree(shares(|dice| Shape::Zipfian.draw(dice, 1, 10, exponent)), expected);
        }
        let mut dice = Rng::with_seed(1);
        assert_eq!(Shape::Zipfian.draw(&mut dice, 5, 5, 2.0), Ok(5));
    }

    #[test]
    fn every_shape_stays_within_its_bounds() {
        let mut dice = Rng::with_seed(2);
        let widest = (-4_000_000_000_000_000_000, 4_000_000_000_000_000_000);
        for (low, high) in [(-3, 2), (0, 0), widest, (i64::MAX - 1, i64::MAX)] {
            for shape in [Shape::Exponential, Shape::Gaussian, Shape::Zipfian] {
                for parameter in [2.0, 2.5, 700.0] {
                    for _ in 0..200 {
                        let number = shape.draw(&mut dice, low, high, parameter).unwrap();
                        assert!((low..=high).contains(&number), "{shape:?} {parameter}: {number}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_drawn_is_refused() {
        let mut dice = Rng::with_seed(3);
        assert!(uniform(&mut dice, 2, 1).unwrap_err().to_string().contains("from 2 up to 1"));
        for low in [i64::MIN, -1, 0] {
            assert!(
                uniform(&mut dice, low, i64::MAX).unwrap_err().to_string().contains("too many")
            );
        }
        let mut refuses = |shape: Shape, parameter, rule: &str| {
            let says = shape.draw(&mut dice, 1, 2, parameter).unwrap_err().to_string();
            assert!(says.contains(rule), "{says}");
        };
        refuses(Shape::Exponential, 0.0, "above 0, not 0");
        refuses(Shape::Exponential, f64::NAN, "above 0, not NaN");
        refuses(Shape::Gaussian, 1.99, "2 or more, not 1.99");
        refuses(Shape::Zipfian, 1.0, "1.001 … 1000, not 1");
        refuses(Shape::Zipfian, 1000.1, "not 1000.1");
    }

    #[test]
    fn a_shuffled_row_has_every_number_once() {
        for size in (1..=40).chain([64, 65, 255, 1000]) {
            for seed in [0, 1, -5432] {
                let row = (0..size).map(|number| permute(number, size, seed).unwrap());
                let mut row: Vec<i64> = row.collect();
                row.sort_unstable();
                assert!(row.into_iter().eq(0..size), "size {size}, seed {seed}");
            }
        }
    }

    #[test]
    fn a_shuffle_depends_on_its_seed_and_repeats() {
        let row = |seed| [0, 1, 2].map(|number| permute(number, 3, seed).unwrap());
        let mut rows: Vec<_> = (0..100).map(row).collect();
        assert_eq!(rows[7], row(7));
        rows.sort_unstable();
        rows.dedup();
        assert_eq!(rows.len(), 6, "all orders of three occur: {rows:?}");
        assert_eq!(permute(2, 3, 1), permute(5, 3, 1));
        assert!((0..10).contains(&permute(-1, 10, 1).unwrap()));
        assert!((0..i64::MAX).contains(&permute(i64::MAX - 1, i64::MAX, 9).unwrap()));
        assert!(permute(0, 0, 1).unwrap_err().to_string().contains("above 0"));
    }

    #[test]
    fn neighbours_do_not_stay_neighbours() {
        let size = 10_000;
        let row: Vec<i64> = (0..size).map(|number| permute(number, size, 3).unwrap()).collect();
        let apart = row.windows(2).map(|pair| (pair[0] - pair[1]).abs() as f64);
        let mean = apart.sum::<f64>() / (size - 1) as f64;
        // Two random positions are a third of the range apart on average.
        assert!((mean / size as f64 - 1.0 / 3.0).abs() < 0.02, "{mean}");
    }
}
