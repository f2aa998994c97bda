//! The threads of one placement.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::Duration;

use hopcost_core::{Counted, CpuId, TargetError, VariantSettings};
use hopcost_sys::affinity::AffinityError;
use hopcost_sys::clock;

use super::patience::Patience;
use super::post::{Ask, Post, Window, Work};
use super::tally::Tally;
use super::worker::{self, Order, Report};

#[derive(Clone, Debug)]
pub struct Muster {
    pub settings: VariantSettings,
    /// Set if server processes do the work.
    pub clients: Option<Vec<CpuId>>,
    pub streams: u32,
}

pub struct Crew {
    orders: Vec<Sender<Order>>,
    reports: Vec<Receiver<Report>>,
    tids: Vec<u32>,
}

/// Time for each thread to wake up.
const NOTICE: Duration = Duration::from_micros(500);

impl Crew {
    /// Returns when all threads are pinned with open sessions. They end when the crew is dropped.
    pub fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        work: Work<'env>,
        muster: &Muster,
    ) -> Result<Self, TargetError> {
        let cpus = muster.clients.as_ref().unwrap_or(&muster.settings.workers);
        let threads = cpus.len().min(muster.streams as usize);
        let (mut orders, mut reports) = (Vec::new(), Vec::new());
        for (thread, &cpu) in cpus.iter().take(threads).enumerate() {
            let post = Post {
                work,
                cpu,
                variant: muster.settings.clone(),
                streams: (thread as u32..muster.streams).step_by(threads).collect(),
                of: muster.streams,
                threads,
            };
            let (order, orders_of_thread) = channel();
            let (report, reports_of_thread) = channel();
            scope.spawn(move || worker::live(&post, &orders_of_thread, &report));
            orders.push(order);
            reports.push(reports_of_thread);
        }
        let mut crew = Self { orders, reports, tids: Vec::new() };
        for report in &crew.reports {
            match report.recv() {
                Ok(Report::Ready { tid }) => crew.tids.push(tid),
                Ok(Report::Failed(error)) => return Err(error),
                _ => return Err(lost()),
            }
        }
        Ok(crew)
    }

    pub fn tids(&self) -> &[u32] {
        &self.tids
    }

    /// Closes the connections if answers do not come after a stop.
    pub fn work(&self, ask: &Ask, patience: &mut Patience<'_>) -> Result<Vec<Tally>, TargetError> {
        let entered = |report| match report {
            Report::Entered(entered) => Some(entered),
            _ => None,
        };
        self.tell_first(Order::Enter, patience, entered)?.unwrap_or(Ok(()))?;
        let window = Window { start: clock::now() + NOTICE, ask: *ask };
        let worked = |report| match report {
            Report::Worked(tally) => Some(*tally),
            _ => None,
        };
        self.tell_all(Order::Work(window), patience, worked)
    }

    pub fn stand(&self) -> Result<(), TargetError> {
        let stood = |report| match report {
            Report::Stood(stood) => Some(stood),
            _ => None,
        };
        let all = self.tell_all(Order::Stand, &mut Patience::Endless, stood)?;
        let all: Result<(), AffinityError> = all.into_iter().collect();
        all.map_err(|error| TargetError::Failed(error.to_string()))
    }

    /// Of the whole database in the last window, and of the sessions in its counted part.
    pub fn counted(&self) -> Result<Counted, TargetError> {
        let counted = |report| match report {
            Report::Counted(counted) => Some(counted),
            _ => None,
        };
        let left = self.tell_first(Order::Leave, &mut Patience::Endless, counted)?;
        let all = self.tell_all(Order::Count, &mut Patience::Endless, counted)?;
        Ok(Counted::sum(left.into_iter().chain(all)))
    }

    fn tell_first<T>(
        &self,
        order: Order,
        patience: &mut Patience<'_>,
        answer: impl Fn(Report) -> Option<T>,
    ) -> Result<Option<T>, TargetError> {
        let (Some(thread), Some(reports)) = (self.orders.first(), self.reports.first()) else {
            return Ok(None);
        };
        thread.send(order).map_err(|_| lost())?;
        patience.wait(reports).and_then(answer).ok_or_else(lost).map(Some)
    }

    fn tell_all<T>(
        &self,
        order: Order,
        patience: &mut Patience<'_>,
        answer: impl Fn(Report) -> Option<T>,
    ) -> Result<Vec<T>, TargetError> {
        for thread in &self.orders {
            thread.send(order).map_err(|_| lost())?;
        }
        let answers = self.reports.iter().map(|reports| patience.wait(reports).and_then(&answer));
        answers.map(|answer| answer.ok_or_else(lost)).collect()
    }
}

fn lost() -> TargetError {
    TargetError::Failed("a worker thread died".into())
}
