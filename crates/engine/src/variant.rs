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
