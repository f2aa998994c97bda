//! Records a real machine's noise: the throughput of constant work.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use fastrand::Rng;
use hopcost_core::NodeId;
use hopcost_sys::kernels::chase::{Course, Order, Plan};
use hopcost_sys::memory::{Region, Request};
use hopcost_sys::{Root, affinity, clock, topology};

use super::noise::SAMPLE_SECONDS;
use xtask::project;

const BYTES: usize = 1 << 30;
/// Loads between two clock reads: about 20 ms.
const LOADS: usize = 64 << 10;

fn path() -> PathBuf {
    project().join("fixtures/traces/memory-walk.csv")
}

/// Logarithms of throughput, around zero.
pub fn read() -> Result<Vec<f64>> {
    let path = path();
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("{}: record one with --record 900", path.display()))?;
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    let logs: Vec<f64> = lines
        .map(|line| Ok(line.parse::<f64>().with_context(|| format!("'{line}'"))?.ln()))
        .collect::<Result<_>>()?;
    if logs.is_empty() {
        bail!("{}: it is empty", path.display());
    }
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    Ok(logs.into_iter().map(|log| log - mean).collect())
}

pub fn record(seconds: u64) -> Result<u8> {
    let machine = topology::read(&Root::live());
    let node = machine.nodes_with_memory().next().map_or(NodeId(0), |node| node.id);
    let cpu = machine.limits.cpus.last().context("no CPU is usable")?;
    affinity::pin_to(cpu)?;
    let region = Region::place(&Request::on(&machine, node, BYTES, None))?;
    let plan = Plan { from: 0, bytes: BYTES, stride: 256, line: 0, order: Order::Random };
    let mut course = Course::new(region);
    let cycle = course.lay(&plan, &mut Rng::with_seed(1));
    let mut text = format!(
        "# Million dependent loads a second over {} MiB, every {SAMPLE_SECONDS} s, on {}; nothing was \
         changed meanwhile\nrate\n",
        BYTES >> 20,
        machine.processor
    );
    let end = clock::now() + Duration::from_secs(seconds);
    while clock::now() < end {
        let (begin, mut loads) = (clock::now(), 0);
        while begin.elapsed().as_secs_f64() < SAMPLE_SECONDS {
            course.walk(cycle, 1, LOADS);
            loads += LOADS;
        }
        let rate = loads as f64 / begin.elapsed().as_secs_f64() / 1e6;
        let _ = writeln!(text, "{rate:.5}");
    }
    let path = path();
    std::fs::create_dir_all(path.parent().unwrap_or(project()))?;
    std::fs::write(&path, text)?;
    println!("lab: wrote {}", path.display());
    Ok(0)
}
