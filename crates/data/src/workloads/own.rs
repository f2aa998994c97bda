//! User-supplied workloads: scripts in pgbench's format, drawn by weight.
//!
//! Only the user knows the right answers; hopcost only checks that the database reports no error.

use fastrand::Rng;
use hopcost_core::{
    Answer, Effect, Reason, Request, Requests, Shape, Statement, Stream, Workload, WorkloadInfo,
    WorkloadSpec,
};

use super::requests::{dice, requests};

pub struct Own {
    /// Name, text and weight.
    scripts: Vec<(&'static str, &'static str, u32)>,
    variables: &'static [(&'static str, &'static str)],
}

impl Own {
    /// Scripts are name, text and weight. It leaks them, because workloads are static.
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
        let (ends, mut dice): (Vec<u64>, Rng) = (ends.collect(), dice(stream));
        requests(move || {
            let statement = if ends.len() > 1 { drawn(&mut dice, &ends) } else { 0 };
            Request { statement, arguments: [0; 4] }
        })
    }

    fn check(&self, _: Shape, _: &Request, _: &Answer) -> Result<(), Reason> {
        Ok(())
    }
}

/// `ends` are the cumulative weights.
fn drawn(dice: &mut Rng, ends: &[u64]) -> usize {
    let all = ends.last().copied().unwrap_or(1).max(1);
    let hit = dice.u64(..all);
    ends.partition_point(|end| *end <= hit)
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
