//! **echo**: another thread answers each call: two thread switches and two trips into the kernel.
//!
//! Method: a session has a server thread bound to the CPU of the worker that opened it, and a
//! socket
//! pair. The answer names the CPU it was sent from; answers from the worker's CPU are counted.
//!
//! Limits: a stand-in without protocol, parser or network card.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

use hopcost_core::{
    Answer, CallError, Capabilities, Code, Counted, CpuId, Instance, Known, Loading, Locality,
    Look, Metric, Needs, Request, Row, Session, SessionPlacement, Setup, Target, TargetError,
    VariantSettings,
};
use hopcost_sys::affinity;

use super::restrictions::{NO_AUDIT, NO_PAGES, NO_PARALLEL};

pub struct Echo;

impl Target for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn about(&self) -> &'static str {
        "answers each call from another thread: what switching between threads costs"
    }

    fn has_own_threads(&self) -> bool {
        true
    }

    fn capabilities(&self, _address: &str) -> Capabilities {
        Capabilities::but(&[NO_PARALLEL, NO_AUDIT, NO_PAGES])
    }

    fn needs(&self, _setup: &Setup<'_>) -> Needs {
        // Two kernel buffers and a stack, mostly untouched.
        Needs { stream_bytes: 512 << 10, ..Needs::default() }
    }

    fn open(
        &self,
        setup: &Setup<'_>,
        _heard: &mut dyn FnMut(Loading<'_>) -> bool,
    ) -> Result<Box<dyn Instance>, TargetError> {
        setup.accepted_by(self)?;
        Ok(Box::new(Servers { statements: setup.spec().statements.len() }))
    }
}

struct Servers {
    statements: usize,
}

impl Instance for Servers {
    fn identity(&self) -> String {
        "echo: a server thread for each stream, through sockets of the kernel; no database"
            .to_owned()
    }

    fn session(
        &self,
        _variant: &VariantSettings,
        _at: SessionPlacement,
    ) -> Result<Box<dyn Session>, TargetError> {
        let failed =
            |error: std::io::Error| TargetError::Failed(format!("a pair of sockets: {error}"));
        let (socket, other_end) = UnixStream::pair().map_err(failed)?;
        let server = std::thread::Builder::new()
            .stack_size(64 << 10)
            // A thread inherits its creator's affinity mask: the worker's CPU.
            .spawn(move || serve(other_end))
            .map_err(|error| TargetError::Failed(format!("a server thread: {error}")))?;
        let cpu = affinity::current_cpu();
        Ok(Box::new(Client { socket, server: Some(server), cpu, in_place: [0; 2] }))
    }

    fn prove(&self, _look: Look) -> Known<Vec<Locality>> {
        Known::missing(Code::NotApplicable, "the echo target holds no data")
    }

    fn plans(&self) -> Result<Vec<String>, TargetError> {
        Ok(vec!["answered by the stream's server thread".to_owned(); self.statements])
    }
}

fn serve(mut socket: UnixStream) {
    let mut request = [0];
    while socket.read_exact(&mut request).is_ok() {
        let CpuId(cpu) = affinity::current_cpu();
        if socket.write_all(&cpu.to_le_bytes()).is_err() {
            return;
        }
    }
}

struct Client {
    socket: UnixStream,
    server: Option<JoinHandle<()>>,
    cpu: CpuId,
    in_place: [u64; 2],
}

impl Session for Client {
    fn execute(&mut self, _request: &Request) -> Result<Answer, CallError> {
        let mut cpu = [0; 4];
        let asked = self.socket.write_all(&[1]).and_then(|()| self.socket.read_exact(&mut cpu));
        asked.map_err(|error| CallError::Failed(format!("the server thread: {error}")))?;
        let is_here = CpuId(u32::from_le_bytes(cpu)) == self.cpu;
        self.in_place = [self.in_place[0] + u64::from(is_here), self.in_place[1] + 1];
        Ok(Answer::of(Row::new().integer(1)))
    }

    fn counted(&mut self) -> Counted {
        let in_place = std::mem::take(&mut self.in_place);
        Counted {
            proved: BTreeMap::from([(Metric::AnsweredInPlace, in_place)]),
            ..Counted::default()
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Closing the socket ends the server thread.
        let _ = self.socket.shutdown(Shutdown::Both);
        if let Some(server) = self.server.take() {
            let _ = server.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_worker_is_answered_on_its_own_cpu() {
        let cpu = affinity::mask().unwrap().last().unwrap();
        let proved = affinity::on_cpu(cpu, || {
            let mut session = Servers { statements: 1 }
                .session(&VariantSettings::default(), SessionPlacement::default())
                .unwrap();
            let request = Request { statement: 0, arguments: [0; 4] };
            for _ in 0..100 {
                assert_eq!(session.execute(&request).unwrap().rows, 1);
            }
            session.counted().proved
        });
        assert_eq!(proved.unwrap()[&Metric::AnsweredInPlace], [100, 100]);
    }
}
