//! Several workloads on one database: each level asks its own, and the database knows the statements of
//! all of them before the first call.

use hopcost_core::{
    Answer, Filling, Reason, Request, Requests, Shape, Statement, Stream, Workload,
};

/// One of several workloads, among whose statements it finds its own.
#[derive(Clone)]
pub struct Variant<'a> {
    all: Vec<&'a dyn Workload>,
    which: usize,
}

impl<'a> Variant<'a> {
    /// A variant for each of these workloads, in their order. They have to read the same tables.
    pub fn of(all: &[&'a dyn Workload]) -> Vec<Self> {
        (0..all.len()).map(|which| Self { all: all.to_vec(), which }).collect()
    }

    fn own(&self) -> &'a dyn Workload {
        self.all[self.which]
    }

    /// How many statements stand before the first one of its own.
    fn before(&self, shape: Shape) -> usize {
        self.all[..self.which].iter().map(|workload| workload.statements(shape).len()).sum()
    }
}

#[deny(clippy::missing_trait_methods)] // what is not passed on is answered for another workload
impl Workload for Variant<'_> {
    fn name(&self) -> &'static str {
        self.own().name()
    }

    fn about(&self) -> &'static str {
        self.own().about()
    }

    fn tables(&self) -> &'static [&'static str] {
        self.own().tables()
    }

    fn statements(&self, shape: Shape) -> Vec<Statement> {
        self.all.iter().flat_map(|workload| workload.statements(shape)).collect()
    }

    fn calls_per_query(&self, shape: Shape) -> u64 {
        self.own().calls_per_query(shape)
    }

    fn scratch_bytes(&self, shape: Shape) -> u64 {
        self.all.iter().map(|workload| workload.scratch_bytes(shape)).max().unwrap_or(0)
    }

    fn requests(&self, shape: Shape, stream: Stream) -> Box<dyn Requests> {
        let own = self.own().requests(shape, stream);
        match self.before(shape) {
            0 => own,
            before => Box::new(Shifted { own, before }),
        }
    }

    fn only_reads(&self) -> bool {
        self.own().only_reads()
    }

    fn filling(&self, shape: Shape) -> Option<Filling> {
        self.own().filling(shape)
    }

    fn check(&self, shape: Shape, request: &Request, answer: &Answer) -> Result<(), Reason> {
        let statement = request.statement - self.before(shape);
        self.own().check(shape, &Request { statement, ..*request }, answer)
    }
}

/// Requests whose statements stand behind those of others.
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use hopcost_core::Code;

    /// A workload that answers every question otherwise than the contract does where nothing is said.
    pub(crate) struct Writes;

    struct Zero;

    impl Requests for Zero {
        fn next(&mut self) -> Request {
            Request { statement: 0, arguments: [7; 4] }
        }
    }

    impl Workload for Writes {
        fn name(&self) -> &'static str {
            "writes"
        }

        fn about(&self) -> &'static str {
            "leaves rows behind"
        }

        fn tables(&self) -> &'static [&'static str] {
            &["t"]
        }

        fn statements(&self, _: Shape) -> Vec<Statement> {
            vec![Statement {
                name: "insert",
                sql: "INSERT",
                arguments: 0,
                recompile: false,
                script: None,
            }]
        }

        fn calls_per_query(&self, shape: Shape) -> u64 {
            shape.rows + 1
        }

        fn scratch_bytes(&self, shape: Shape) -> u64 {
            shape.rows + 2
        }

        fn requests(&self, _: Shape, _: Stream) -> Box<dyn Requests> {
            Box::new(Zero)
        }

        fn only_reads(&self) -> bool {
            false
        }

        fn filling(&self, _: Shape) -> Option<Filling> {
            Some(Filling::Bulk(5))
        }

        fn check(&self, _: Shape, _: &Request, _: &Answer) -> Result<(), Reason> {
            Err(Code::NotMeasured.because("always wrong"))
        }
    }

    /// Says a workload around another what that one says? What it makes of answers is its own affair.
    pub(crate) fn assert_forwards(around: &dyn Workload, inner: &dyn Workload) {
        let shape = Shape { rows: 40, sliced: true };
        let stream = Stream { number: 0, of: 1, seed: 1 };
        assert_eq!(around.name(), inner.name());
        assert_eq!(around.about(), inner.about());
        assert_eq!(around.tables(), inner.tables());
        assert_eq!(around.statements(shape), inner.statements(shape));
        assert_eq!(around.calls_per_query(shape), inner.calls_per_query(shape));
        assert_eq!(around.scratch_bytes(shape), inner.scratch_bytes(shape));
        assert_eq!(around.only_reads(), inner.only_reads());
        assert_eq!(around.filling(shape), inner.filling(shape));
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
}
