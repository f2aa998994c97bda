//! Emulated machines with 1 to 8 memory nodes, for tests.
//!
//! Method: QEMU without KVM boots a Debian cloud kernel with an initial RAM disk of busybox, the
//! programs under test and their libraries. Placement is real: sysfs, memory policy, page location,
//! cpusets, huge pages by node. Memory *timing* is not modeled, so no test may depend on it. The
//! guest's `/out` comes back as a tar on a raw disk, because the serial line would take minutes.
//!
//! QEMU 7.2 loses a race with the kernel's patching of its own text, mostly on 6.12 with many CPUs,
//! and always during boot. A kernel that dies before its first process is booted again; a later
//! death is an error.

mod guest;
mod initramfs;
mod kernel;
mod topology;

use std::fmt;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write, stderr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use tempfile::TempDir;

pub use guest::{Load, Turn, guest};
pub use kernel::Kernel;
pub use topology::Topology;

use crate::clock;

use crate::command;
use initramfs::Initramfs;

/// About ten times the duration of a boot.
const BOOT_SECONDS: u64 = 60;
const READY: &str = "hopcost-vm: ready";
/// Printed twice before `READY`, with seconds.
const UPTIME: &str = "hopcost-vm: uptime ";
/// A guest whose clock runs faster than this, in its seconds per second, ends its steps too early.
const FASTEST_CLOCK: f64 = 1.5;

const OUT_BYTES: u64 = 64 << 20;

#[derive(Debug)]
pub struct Vm {
    topology: Topology,
    kernel: Kernel,
    mib_per_node: u32,
    seconds: u64,
    files: Vec<(PathBuf, String)>,
    kernel_arguments: Vec<String>,
    echo: bool,
}

#[derive(Debug)]
enum End {
    PoweredOff(String),
    Died(String),
}

#[derive(Debug)]
pub struct Outcome {
    pub exit: u8,
    pub console: String,
    out: TempDir,
}

impl Outcome {
    pub fn dir(&self) -> &Path {
        self.out.path()
    }

    pub fn read(&self, name: &str) -> Result<String> {
        let path = self.out.path().join(name);
        fs::read_to_string(&path)
            .with_context(|| format!("the guest left no {name}; it printed:\n{}", self.console))
    }

    pub fn keep(&self, dir: &Path) -> Result<()> {
        fs::create_dir_all(dir)?;
        command::run(Command::new("cp").arg("-r").arg(self.out.path().join(".")).arg(dir))
    }
}

impl fmt::Display for Vm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Topology { nodes, sockets, .. } = self.topology;
        let more = if self.topology.memory_only { " and one of memory only" } else { "" };
        let kernel = self.kernel.name();
        write!(f, "guest with {nodes} nodes{more} on {sockets} sockets, kernel {kernel}")
    }
}

impl Vm {
    pub fn new(topology: Topology, kernel: Kernel) -> Self {
        Self {
            topology,
            kernel,
            mib_per_node: 384,
            seconds: 600,
            files: Vec::new(),
            kernel_arguments: Vec::new(),
            echo: false,
        }
    }

    #[must_use]
    pub fn mib_per_node(mut self, mib: u32) -> Self {
        self.mib_per_node = mib;
        self
    }

    #[must_use]
    pub fn seconds(mut self, seconds: u64) -> Self {
        self.seconds = seconds;
        self
    }

    #[must_use]
    pub fn with(mut self, from: &Path, to: &str) -> Self {
        self.files.push((from.to_owned(), to.to_owned()));
        self
    }

    #[must_use]
    pub fn kernel_argument(mut self, argument: &str) -> Self {
        self.kernel_arguments.push(argument.to_owned());
        self
    }

    #[must_use]
    pub fn echo(mut self) -> Self {
        self.echo = true;
        self
    }

    pub fn run(&self, script: &str) -> Result<Outcome> {
        let vmlinuz = self.kernel.fetch()?;
        let work = tempfile::tempdir()?;
        let initrd = work.path().join("initrd");
        let mut image = Initramfs::base()?;
        for (from, to) in &self.files {
            image.add_with_libraries(from, to)?;
        }
        image.add("cmd", 0o755, script.as_bytes());
        image.write(&initrd)?;
        let disk = work.path().join("out.img");
        File::create(&disk)?.set_len(OUT_BYTES)?;
        let console = self.boot(&vmlinuz, &initrd, &disk)?;
        let out = tempfile::tempdir()?;
        let untar = command::run(
            Command::new("tar")
                .arg("-C")
                .arg(out.path())
                .arg("-xf")
                .arg(&disk)
                .stderr(Stdio::null()),
        );
        untar.with_context(|| format!("the guest did not finish; it printed:\n{console}"))?;
        let exit = fs::read_to_string(out.path().join("exit")).with_context(|| {
            format!("the guest ended before its command did; it printed:\n{console}")
        })?;
        let exit = exit.trim().parse().context("the guest's exit code")?;
        Ok(Outcome { exit, console, out })
    }

    fn boot(&self, vmlinuz: &Path, initrd: &Path, disk: &Path) -> Result<String> {
        let mut deaths = 0;
        let start = clock::now();
        let console = loop {
            match self.watch(self.qemu(vmlinuz, initrd, disk)?)? {
                End::PoweredOff(console) => break console,
                End::Died(console) => {
                    deaths += 1;
                    if console.contains(READY) || deaths == self.kernel.most_boots() {
                        bail!("the guest's kernel died; it printed:\n{console}");
                    }
                }
            }
        };
        let seconds = start.elapsed().as_secs();
        // Not by a print macro, whose output is hidden for a passing test: an increase in kernel
        // deaths would go unnoticed.
        let _ = writeln!(
            stderr(),
            "xtask: {self}: {seconds} s; the kernel died {deaths} times while it booted"
        );
        Ok(console)
    }

    fn qemu(&self, vmlinuz: &Path, initrd: &Path, disk: &Path) -> Result<Child> {
        let mut append = String::from(
            "console=ttyS0 loglevel=4 panic=-1 nokaslr mitigations=off nosoftlockup nowatchdog \
             tsc=reliable random.trust_cpu=on rcupdate.rcu_cpu_stall_suppress=1 audit=0",
        );
        for argument in &self.kernel_arguments {
            append.push(' ');
            append.push_str(argument);
        }
        // setpriv: the guest must not outlive us, however we end.
        let mut qemu = Command::new("setpriv");
        qemu.args(["--pdeathsig", "KILL", "qemu-system-x86_64"]);
        // Nehalem: with QEMU's own "max" the guest sees an AMD processor and no siblings.
        qemu.args(["-machine", "q35,hmat=on", "-accel", "tcg,thread=multi", "-cpu", "Nehalem"]);
        qemu.args(self.topology.arguments(self.mib_per_node));
        qemu.args(["-nodefaults", "-no-user-config", "-display", "none", "-vga", "none"]);
        qemu.args(["-no-reboot", "-serial", "stdio", "-append", &append]);
        qemu.arg("-kernel").arg(vmlinuz).arg("-initrd").arg(initrd);
        let drive = format!("file={},if=none,id=out,format=raw,cache=unsafe", disk.display());
        qemu.args(["-device", "nvme,id=nv,serial=nv", "-drive", &drive]);
        qemu.args(["-device", "nvme-ns,bus=nv,drive=out,nsid=1"]);
        qemu.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        qemu.spawn().context("qemu-system-x86_64")
    }

    /// Reads the console until the guest powers off or its kernel dies; a kernel with a clock that
    /// runs too fast counts as dead. A timeout or a killed emulator is an error. A kernel may die
    /// silently by a double fault: that counts as a power-off before its first process.
    fn watch(&self, mut child: Child) -> Result<End> {
        let Some(pipe) = child.stdout.take() else { bail!("qemu has no console") };
        let (sender, lines) = mpsc::channel();
        let reader = std::thread::spawn(move || {
            for line in BufReader::new(pipe).split(b'\n').map_while(Result::ok) {
                let line = String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned();
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut console = String::new();
        let start = clock::now();
        let mut first_uptime: Option<(f64, Instant)> = None;
        let end = loop {
            let ready = console.contains(READY);
            let seconds = if ready { self.seconds } else { BOOT_SECONDS };
            let deadline = start + Duration::from_secs(seconds);
            match lines.recv_timeout(deadline.saturating_duration_since(clock::now())) {
                Ok(line) => {
                    if self.echo && ready {
                        println!("{line}");
                    }
                    console.push_str(&line);
                    console.push('\n');
                    if ["Kernel panic", "Oops: "].iter().any(|word| line.contains(word)) {
                        break Ok(End::Died(console));
                    }
                    let uptime = line.strip_prefix(UPTIME).and_then(|s| s.parse::<f64>().ok());
                    if let Some(uptime) = uptime {
                        let (earlier, at) =
                            *first_uptime.get_or_insert_with(|| (uptime, clock::now()));
                        if uptime - earlier > FASTEST_CLOCK * at.elapsed().as_secs_f64() {
                            console.push_str("hopcost-vm: the guest's clock is too fast\n");
                            break Ok(End::Died(console));
                        }
                    }
                }
                Err(_) if !ready => break Ok(End::Died(console)),
                Err(RecvTimeoutError::Disconnected) => break Ok(End::PoweredOff(console)),
                Err(RecvTimeoutError::Timeout) => break Err(console),
            }
        };
        if !matches!(end, Ok(End::PoweredOff(_))) {
            child.kill().context("ending qemu")?;
        }
        let status = child.wait().context("qemu")?;
        drop(lines);
        let _ = reader.join();
        if let Ok(End::PoweredOff(console)) = &end
            && !status.success()
        {
            bail!("the emulator ended with {status}; the guest printed:\n{console}");
        }
        end.map_err(|console| {
            anyhow!("the guest did not end in {} s; it printed:\n{console}", self.seconds)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watched(script: &str) -> Result<End> {
        let vm = Vm::new("n2".parse().unwrap(), Kernel::V6_1).seconds(1);
        let child = Command::new("sh").args(["-c", script]).stdout(Stdio::piped()).spawn()?;
        vm.watch(child)
    }

    #[test]
    fn how_a_guest_ends_is_told_apart() {
        let ends = |script: &str| format!("{:?}", watched(script));
        assert_eq!(ends("echo hopcost-vm: ready"), r#"Ok(PoweredOff("hopcost-vm: ready\n"))"#);
        // It is booted again.
        assert_eq!(ends("echo Booting"), r#"Ok(Died("Booting\n"))"#);
        assert_eq!(ends("echo Kernel panic; exec sleep 60"), r#"Ok(Died("Kernel panic\n"))"#);
        let clock = |end| {
            let uptime = "echo hopcost-vm: uptime";
            ends(&format!("{uptime} 2.50; sleep 0.5; {uptime} {end}; echo hopcost-vm: ready"))
        };
        let fast = clock("4.50");
        assert!(fast.contains("Ok(Died(") && fast.contains("clock is too fast"), "{fast}");
        assert!(clock("3.00").contains("Ok(PoweredOff("));
        let killed = ends("echo hopcost-vm: ready; kill -9 $$");
        assert!(killed.contains("the emulator ended with signal: 9"), "{killed}");
        let slow = ends("echo hopcost-vm: ready; exec sleep 60");
        assert!(slow.contains("the guest did not end in 1 s"), "{slow}");
    }
}
