//! Several workloads on one database, one per variant. The database prepares the statements of all.

use hopcost_core::{
    Answer, Reason, Request, Requests, Shape, Stream, Workload, WorkloadInfo, WorkloadSpec,
};

/// One workload, whose statements are a range of all statements.
#[derive(Clone)]
pub struct Variant<'a> {
    all: Vec<&'a dyn Workload>,
    which: usize,
}

impl<'a> Variant<'a> {
    /// All have to read the same tables.
    pub fn of(all: &[&'a dyn Workload]) -> Vec<Self> {
        (0..all.len()).map(|which| Self { all: all.to_vec(), which }).collect()
    }

    fn own(&self) -> &'a dyn Workload {
        self.all[self.which]
    }

    fn before(&self, shape: Shape) -> usize {
        self.all[..self.which].iter().map(|workload| workload.spec(shape).statements.len()).sum()
    }
}

impl Workload for Variant<'_> {
    fn info(&self) -> &WorkloadInfo {
        self.own().info()
    }

    fn spec(&self, shape: Shape) -> WorkloadSpec {
        let all: Vec<WorkloadSpec> = self.all.iter().map(|workload| workload.spec(shape)).collect();
        WorkloadSpec {
            scratch_bytes: all.iter().map(|spec| spec.scratch_bytes).max().unwrap_or(0),
            statements: all.into_iter().flat_map(|spec| spec.statements).collect(),
            ..self.own().spec(shape)
        }
    }

    fn requests(&self, shape: Shape, stream: Stream) -> Box<dyn Requests> {
        let own = self.own().requests(shape, stream);
        match self.before(shape) {
            0 => own,
            before => Box::new(Shifted { own, before }),
        }
    }

    fn check(&self, shape: Shape, request: &Request, answer: &Answer) -> Result<(), Reason> {
        let statement = request.statement - self.before(shape);
        self.own().check(shape, &Request { statement, ..*request }, answer)
    }
}

struct Shifted {
    own: Box<dyn Requests>,
    before: usize,
}

impl Requests for Shifted {
    fn next(&mut self) -> Request {
        let request = self.own.next();
        Request { statement: request.statement + self.before, ..request }
    }
}

/// A workload without answer checks, for a database that does nothing.
pub struct Unchecked<'a>(pub &'a dyn Workload);

impl Workload for Unchecked<'_> {
    fn info(&self) -> &WorkloadInfo {
        self.0.info()
    }

    fn spec(&self, shape: Shape) -> WorkloadSpec {
        self.0.spec(shape)
    }

    fn requests(&self, shape: Shape, stream: Stream) -> Box<dyn Requests> {
        self.0.requests(shape, stream)
    }

    fn check(&self, _: Shape, _: &Request, _: &Answer) -> Result<(), Reason> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use hopcost_core::{Effect, Filling, Statement};

    use super::*;
    use hopcost_core::Code;

    struct Writes;

    struct Zero;

    impl Requests for Zero {
        fn next(&mut self) -> Request {
            Request { statement: 0, arguments: [7; 4] }
        }
    }

    impl Workload for Writes {
        fn info(&self) -> &WorkloadInfo {
            &WorkloadInfo { name: "writes", about: "leaves rows behind", tables: &["t"] }
        }

        fn spec(&self, shape: Shape) -> WorkloadSpec {
            WorkloadSpec {
                statements: vec![Statement::of("insert", "INSERT", 0)],
                calls_per_query: shape.rows + 1,
                scratch_bytes: shape.rows + 2,
                effect: Effect::Fills(Filling::Bulk(5)),
            }
        }

        fn requests(&self, _: Shape, _: Stream) -> Box<dyn Requests> {
            Box::new(Zero)
        }

        fn check(&self, _: Shape, _: &Request, _: &Answer) -> Result<(), Reason> {
            Err(Code::NotMeasured.because("always wrong"))
        }
    }

    /// Except for the answer check, which a wrapper may change.
    fn assert_forwards(around: &dyn Workload, inner: &dyn Workload) {
        let shape = Shape { rows: 40, sliced: true };
        let stream = Stream { number: 0, of: 1, seed: 1 };
        assert_eq!(around.info(), inner.info());
        assert_eq!(around.spec(shape), inner.spec(shape));
        let next = |of: &dyn Workload| of.requests(shape, stream).next();
        assert_eq!(next(around), next(inner));
    }

    #[test]
    fn a_variant_is_in_everything_as_its_workload() {
        let variant = &Variant::of(&[&Writes])[0];
        assert_forwards(variant, &Writes);
        let shape = Shape { rows: 1, sliced: false };
        let request = Request { statement: 0, arguments: [0; 4] };
        assert!(variant.check(shape, &request, &Answer::default()).is_err());
    }

    #[test]
    fn a_workload_whose_answers_nobody_looks_at_is_otherwise_the_same() {
        assert_forwards(&Unchecked(&Writes), &Writes);
    }
}
