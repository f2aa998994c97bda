//! The conformance suite that every engine passes.

use std::cell::RefCell;

use hopcost_core::{
    CallError, Code, Counted, Instance, Metric, Request, Setup, Stream, Target, TargetError,
    VariantSettings,
};

use crate::named::{dataset, seat, shared_setup, workload};

/// Data set, workload, scale.
pub type Asked = (&'static str, &'static str, u64);

pub const ASKED: [Asked; 9] = [
    ("tran_stats", "reporting_p1", 20_000),
    ("tran_stats", "reporting_p2", 60_000),
    ("archive_view", "newest_bounded", 500),
    ("archive_view", "newest_unbounded", 500),
    ("insert_test", "single_row_commit", 1),
    ("big_table_im", "memory_insert", 1_000),
    ("big_table_im", "memory_inserts", 1_000),
    ("big_table_im", "bulk_load", 1),
    ("nothing", "null_call", 1),
];
const CALLS: u64 = 40;

/// An engine, and the part of its URL after the colon.
#[derive(Clone, Copy)]
pub struct Engine<'a> {
    pub target: &'a dyn Target,
    pub address: &'a str,
}

impl Engine<'_> {
    fn setup(&self, (data, asked, rows): Asked) -> Setup<'_> {
        shared_setup(dataset(data), workload(asked), rows, self.address)
    }

    fn open(&self, setup: &Setup<'_>) -> Result<Box<dyn Instance>, TargetError> {
        self.target.open(setup, &mut |_| true)
    }

    /// Two sessions in turn answer each workload that is not refused; answers, counts and plans are
    /// checked.
    pub fn answers(&self, asked: &[Asked], seat: &VariantSettings) {
        assert!(!self.target.about().is_empty());
        for asked in asked {
            let setup = self.setup(*asked);
            match setup.refusal(self.target) {
                Some(reason) => {
                    let refused = self.open(&setup).err().expect("what is refused is not opened");
                    assert_eq!(refused.code(), reason.code(), "{asked:?}");
                }
                None => self.answers_one(&setup, seat, asked.1),
            }
        }
    }

    fn answers_one(&self, setup: &Setup<'_>, seat: &VariantSettings, name: &str) {
        let instance = self.open(setup).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert!(!instance.identity().is_empty());
        let mut sessions = [0, 1].map(|_| instance.first_session(seat).unwrap());
        let mut requests =
            setup.workload.requests(setup.shape, Stream { number: 0, of: 1, seed: 7 });
        for window in 0..2 {
            instance.enter_variant(seat).unwrap();
            for session in &mut sessions {
                session.begin_counting();
            }
            for call in 0..CALLS {
                let request = requests.next();
                let session = &mut sessions[usize::from(call.is_multiple_of(3))];
                let answer = session.execute(&request);
                let answer = answer.unwrap_or_else(|why| panic!("{name}: {why}"));
                let checked = setup.workload.check(setup.shape, &request, &answer);
                checked.unwrap_or_else(|why| panic!("{name}: {why}"));
            }
            let of_all = instance.leave_variant(seat);
            let [one, other] = sessions.each_mut().map(|session| session.counted());
            let counted = Counted::sum([of_all, one, other]);
            if let Some(filling) = setup.spec().effect.filling() {
                let rows = CALLS * filling.rows_a_call();
                let of = counted.proved[&Metric::RowsCounted];
                assert_eq!(of, [rows; 2], "{name}, window {window}");
            }
            if !self.target.is_in_process() {
                let in_place = counted.proved[&Metric::AnsweredInPlace];
                assert_eq!(in_place, [2, 2], "{name}");
            }
            if seat.session.audit.is_some() {
                assert_eq!(counted.proved[&Metric::AuditedAsAsked], [CALLS; 2], "{name}");
            }
        }
        let plans = instance.plans().unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(plans.len(), setup.spec().statements.len(), "{name}");
        assert_eq!(plans, instance.plans().unwrap(), "{name}");
        assert!(instance.readings().iter().all(|reading| reading.value.is_finite()), "{name}");
        if !self.target.is_in_process() {
            let beyond = Request { statement: usize::MAX, arguments: [0; 4] };
            assert!(matches!(sessions[0].execute(&beyond), Err(CallError::Failed(_))), "{name}");
        }
        drop(sessions);
        instance.close().unwrap();
    }

    /// For an existing server: nothing stays unless it is to be kept, a second hopcost is refused,
    /// and clearing up after a kill works. `ours` reports whether hopcost's place exists.
    pub fn is_a_guest(&self, asked: Asked, ours: &dyn Fn() -> bool) {
        let setup = self.setup(asked);
        let promised = RefCell::new(0);
        let promise = || {
            *promised.borrow_mut() += 1;
            Ok(())
        };
        let setup = Setup { promise: &promise, ..setup };
        let instance = self.open(&setup).unwrap();
        assert_eq!(*promised.borrow(), 1, "it is written down that something is to be cleared up");
        assert!(ours());
        let refused = self.open(&setup).err().expect("one hopcost at a time");
        assert_eq!(refused.code(), Code::ServerInUse, "{refused}");
        first_call(&*instance);
        instance.close().unwrap();
        assert!(!ours(), "it is gone with its run");
        let kept = Setup { keep_data: true, ..setup.clone() };
        self.open(&kept).unwrap().close().unwrap();
        assert!(ours(), "it was to be kept");
        *promised.borrow_mut() = 0;
        self.open(&setup).unwrap().close().unwrap();
        assert!(ours() && *promised.borrow() == 0, "it was there before, and is not made again");
        // As after a kill: it is not closed, and its connections end.
        let instance = self.open(&setup).unwrap();
        let mut session = instance.first_session(&seat()).unwrap();
        instance.hang_up();
        let request = Request { statement: 0, arguments: [0; 4] };
        assert!(matches!(session.execute(&request), Err(CallError::Lost(_))));
        drop(session);
        std::mem::forget(instance);
        let cleared = self.target.clear(self.address).unwrap();
        assert!(cleared.contains("dropped the"), "{cleared}");
        assert!(!ours());
        let again = self.target.clear(self.address).unwrap();
        assert!(again.contains("there is no"), "{again}");
    }

    /// For an existing server with a foreign place of hopcost's name.
    pub fn leaves_others_alone(&self, asked: Asked) {
        let refused = self.open(&self.setup(asked)).err().expect("it is somebody else's");
        assert_eq!(refused.code(), Code::NotOurs, "{refused}");
        match self.target.clear(self.address) {
            Ok(words) => assert!(words.contains("there is no"), "{words}"),
            Err(refused) => assert_eq!(refused.code(), Code::NotOurs, "{refused}"),
        }
    }
}

fn first_call(instance: &dyn Instance) {
    let mut session = instance.first_session(&seat()).unwrap();
    session.execute(&Request { statement: 0, arguments: [0; 4] }).unwrap();
}
