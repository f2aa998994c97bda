//! Divides a survey's budget among its experiments. Pure.
//!
//! Method: a verdict needs eight units. Experiments are admitted in order with their minimum; the
//! rest of the budget is divided evenly among those that can use it.

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wish {
    /// Less decides nothing.
    pub least_s: f64,
    /// More does not help.
    pub most_s: f64,
}

/// `None` for what is left out.
pub fn share_out(budget_s: f64, wishes: &[Wish]) -> Vec<Option<f64>> {
    let mut left_s = budget_s;
    let mut granted: Vec<Option<f64>> = wishes
        .iter()
        .map(|wish| {
            let fits = wish.least_s <= left_s;
            left_s -= if fits { wish.least_s } else { 0.0 };
            fits.then_some(wish.least_s)
        })
        .collect();
    loop {
        let hungry = |(wish, seconds): &(&Wish, &mut Option<f64>)| {
            seconds.is_some_and(|seconds| seconds < wish.most_s)
        };
        let hungry: Vec<_> = wishes.iter().zip(&mut granted).filter(hungry).collect();
        if hungry.is_empty() || left_s < 1e-6 {
            return granted;
        }
        let each_s = left_s / hungry.len() as f64;
        for (wish, seconds) in hungry {
            let Some(seconds) = seconds else { continue };
            let more_s = each_s.min(wish.most_s - *seconds);
            *seconds += more_s;
            left_s -= more_s;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wish(least_s: f64, most_s: f64) -> Wish {
        Wish { least_s, most_s }
    }

    #[test]
    fn the_first_come_first_and_what_does_not_fit_is_left_out() {
        let wishes = [wish(20.0, 60.0), wish(50.0, 60.0), wish(10.0, 10.0)];
        assert_eq!(share_out(35.0, &wishes), [Some(25.0), None, Some(10.0)]);
        assert_eq!(share_out(5.0, &wishes), [None, None, None]);
    }

    #[test]
    fn what_is_left_over_is_shared_evenly_up_to_what_helps() {
        let wishes = [wish(10.0, 20.0), wish(10.0, 100.0), wish(10.0, 100.0)];
        assert_eq!(share_out(90.0, &wishes), [Some(20.0), Some(35.0), Some(35.0)]);
        assert_eq!(share_out(1000.0, &wishes), [Some(20.0), Some(100.0), Some(100.0)]);
    }

    proptest! {
        #[test]
        fn nobody_gets_too_little_or_too_much_and_the_budget_holds(
            budget_s in 0.0..600.0_f64,
            wishes in prop::collection::vec((1.0..100.0_f64, 0.0..100.0_f64), 0..9),
        ) {
            let wishes: Vec<Wish> =
                wishes.into_iter().map(|(least, more)| wish(least, least + more)).collect();
            let granted = share_out(budget_s, &wishes);
            prop_assert!(granted.iter().flatten().sum::<f64>() <= budget_s + 1e-6);
            for (wish, seconds) in wishes.iter().zip(granted) {
                let fits = |s: f64| wish.least_s <= s && s <= wish.most_s + 1e-6;
                prop_assert!(seconds.is_none_or(fits));
            }
        }
    }
}
