//! `/proc/PID/stat`, and the ticks in which the kernel counts time.

/// Split after the name, which may hold blanks and brackets and so ends at the last one.
pub(crate) struct Stat<'a> {
    pub(crate) name: &'a str,
    /// From field 3 on.
    words: Vec<&'a str>,
}

impl<'a> Stat<'a> {
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let (head, rest) = text.rsplit_once(") ")?;
        let (_, name) = head.split_once('(')?;
        Some(Self { name, words: rest.split_whitespace().collect() })
    }

    /// Numbered as in proc(5).
    pub(crate) fn field<T: std::str::FromStr>(&self, number: usize) -> Option<T> {
        self.words.get(number - 3)?.parse().ok()
    }

    /// It may not have been reaped yet.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.words.first(), Some(&("Z" | "X")))
    }
}

fn live<T>(pid: u32, read: impl FnOnce(&Stat<'_>) -> Option<T>) -> Option<T> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    read(&Stat::parse(&text)?)
}

pub fn last_cpu_of(pid: u32) -> Option<hopcost_core::CpuId> {
    live(pid, |stat| stat.field(39).map(hopcost_core::CpuId))
}

/// In ticks since boot; with the pid it names a process for good. `None` if it has ended, even if
/// it was not reaped.
pub fn start_time(pid: u32) -> Option<u64> {
    live(pid, |stat| if stat.has_ended() { None } else { stat.field(22) })
}

/// 350 years: no host was up longer, so sums of times cannot overflow.
const MOST_TICKS: u64 = 1 << 40;

pub(crate) fn ms_of_ticks(ticks: u64) -> u64 {
    ticks.min(MOST_TICKS) * 1000 / ticks_per_second()
}

fn ticks_per_second() -> u64 {
    // SAFETY: sysconf reads a constant of the system; it takes no pointer.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|ticks| *ticks > 0).unwrap_or(100)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_ended_is_gone_though_nobody_has_asked_how() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        assert!(start_time(pid).is_some());
        child.kill().unwrap();
        // Until it is reaped, the kernel keeps its number.
        let is_gone = (0..1000).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(2));
            start_time(pid).is_none()
        });
        assert!(is_gone);
        child.wait().unwrap();
    }
}
