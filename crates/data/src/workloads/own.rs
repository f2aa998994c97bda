//! A workload of the user's own: scripts in pgbench's format, drawn by weight.
//!
//! What a right answer is nobody but the user knows: that the database did not complain is all that is
//! checked.

use fastrand::Rng;
use hopcost_core::{
    Answer, Effect, Reason, Request, Requests, Shape, Statement, Stream, Workload, WorkloadInfo,
    WorkloadSpec,
};

use super::slices::dice;

/// Scripts, each with its weight.
pub struct Own {
    scripts: Vec<(&'static str, &'static str, u32)>,
    /// What each client's variables hold at its begin.
    variables: &'static [(&'static str, &'static str)],
}

impl Own {
    /// Of these scripts: name, text, weight; and of the variables that they begin with. They last as long as
    /// the program does, as all workloads.
    pub fn of(
        scripts: Vec<(String, String, u32)>,
        variables: Vec<(String, String)>,
    ) -> &'static Self {
        let last = |text: String| -> &'static str { text.leak() };
        let scripts =
            scripts.into_iter().map(|(name, text, weight)| (last(name), last(text), weight));
        let variables = variables.into_iter().map(|(name, value)| (last(name), last(value)));
        let variables = variables.collect::<Vec<_>>().leak();
        Box::leak(Box::new(Self { scripts: scripts.collect(), variables }))
    }
}

impl Workload for Own {
    fn info(&self) -> &WorkloadInfo {
        &WorkloadInfo {
            name: "own",
            about: "scripts of the user's own, in the format of pgbench",
            tables: &[],
        }
    }

    fn spec(&self, _: Shape) -> WorkloadSpec {
        let script = Some(self.variables);
        let statement =
            |&(name, sql, _)| Statement { name, sql, arguments: 0, recompile: false, script };
        WorkloadSpec {
            effect: Effect::Writes,
            ..WorkloadSpec::of(self.scripts.iter().map(statement).collect())
        }
    }

    fn requests(&self, _: Shape, stream: Stream) -> Box<dyn Requests> {
        let mut below = 0;
        let ends = self.scripts.iter().map(|(_, _, weight)| {
            below += u64::from(*weight);
            below
        });
        Box::new(Drawn { ends: ends.collect(), dice: dice(stream) })
    }

    fn check(&self, _: Shape, _: &Request, _: &Answer) -> Result<(), Reason> {
        Ok(())
    }
}

/// Draws scripts.
struct Drawn {
    /// The sums of the weights up to each script.
    ends: Vec<u64>,
    dice: Rng,
}

impl Drawn {
    fn draw(&mut self) -> usize {
        let all = self.ends.last().copied().unwrap_or(1).max(1);
        let drawn = self.dice.u64(..all);
        self.ends.partition_point(|end| *end <= drawn)
    }
}

impl Requests for Drawn {
    fn next(&mut self) -> Request {
        let statement = if self.ends.len() > 1 { self.draw() } else { 0 };
        Request { statement, arguments: [0; 4] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_come_as_often_as_they_weigh() {
        let script = |name: &str, weight| (name.to_owned(), "SELECT 1;".to_owned(), weight);
        let own = Own::of(vec![script("a", 1), script("never", 0), script("b", 3)], Vec::new());
        let shape = Shape { rows: 1, sliced: false };
        let mut requests = own.requests(shape, Stream { number: 0, of: 1, seed: 5 });
        let mut counts = [0; 3];
        for _ in 0..4000 {
            counts[requests.next().statement] += 1;
        }
        assert_eq!(counts[1], 0);
        assert!((900..1100).contains(&counts[0]), "{counts:?}");
    }
}
