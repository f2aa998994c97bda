//! The table of a comparison, with goals for its ratios.

use hopcost_core::Estimate;
use hopcost_stats::paired_ratio;

#[derive(Clone, Copy, Debug)]
pub enum Goal {
    Above(f64),
    Below(f64),
    Within(f64),
    Reported,
}

impl Goal {
    fn is_met(self, ratio: &Estimate) -> bool {
        match self {
            Self::Above(least) => ratio.low > least,
            Self::Below(most) => ratio.high < most,
            Self::Within(share) => (ratio.point - 1.0).abs() <= share,
            Self::Reported => true,
        }
    }

    fn words(self) -> String {
        match self {
            Self::Above(least) => format!("interval above {least}"),
            Self::Below(most) => format!("interval below {most}"),
            Self::Within(share) => format!("within {:.0}%", share * 100.0),
            Self::Reported => "reported".to_owned(),
        }
    }
}

#[derive(Default)]
pub struct Table {
    unmet: usize,
}

impl Table {
    pub fn begin() -> Self {
        println!("{:<62} {:>9} {:>9}  {:<25} goal", "", "hopcost", "peer", "ratio, 95 % interval");
        Self::default()
    }

    pub fn row(&mut self, what: &str, rounds: &[(f64, f64)], goal: Goal) {
        let Some(ratio) = paired_ratio(rounds, 0.95) else {
            println!("{what:<62} no rounds");
            self.unmet += 1;
            return;
        };
        let median = |of: fn(&(f64, f64)) -> f64| {
            let figures: Vec<f64> = rounds.iter().map(of).collect();
            hopcost_stats::spread(&figures).map_or(f64::NAN, |spread| spread.median)
        };
        let is_met = goal.is_met(&ratio);
        self.unmet += usize::from(!is_met);
        println!(
            "{what:<62} {:>9.2} {:>9.2}  {:.3} ({:.3} … {:.3}){:>4}  {}: {}",
            median(|round| round.0),
            median(|round| round.1),
            ratio.point,
            ratio.low,
            ratio.high,
            "",
            goal.words(),
            if is_met { "met" } else { "NOT MET" },
        );
    }

    pub fn missing(&mut self, what: &str, peer: &str) {
        println!("{what:<62} missing, because {peer} is not on the PATH: goal unmet");
        self.unmet += 1;
    }

    pub fn end(&self) -> u8 {
        u8::from(self.unmet > 0)
    }
}
