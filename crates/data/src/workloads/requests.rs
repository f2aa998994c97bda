//! Requests made by a closure.

use fastrand::Rng;
use hopcost_core::{Request, Requests, Stream};

struct Made<F>(F);

impl<F: FnMut() -> Request + Send> Requests for Made<F> {
    fn next(&mut self) -> Request {
        (self.0)()
    }
}

pub fn requests(next: impl FnMut() -> Request + Send + 'static) -> Box<dyn Requests> {
    Box::new(Made(next))
}

pub fn of_first(mut arguments: impl FnMut() -> [i64; 4] + Send + 'static) -> Box<dyn Requests> {
    requests(move || Request { statement: 0, arguments: arguments() })
}

/// One generator per client, reproducible.
pub fn dice(stream: Stream) -> Rng {
    Rng::with_seed(stream.seed ^ u64::from(stream.number).rotate_right(16))
}
