//! Caches and the CPUs that share them, from `/sys/devices/system/cpu/cpu*/cache`.

use std::collections::BTreeSet;

use hopcost_core::{Cache, CacheKind, Code, Cpu, CpuId, Known};

use crate::root::Root;

pub fn read(root: &Root, cpus: &[Cpu]) -> Vec<Cache> {
    let mut seen = BTreeSet::new();
    let mut caches = Vec::new();
    for cpu in cpus.iter().filter(|cpu| cpu.online) {
        let dir = format!("sys/devices/system/cpu/cpu{}/cache", cpu.id);
        for index in root.numbered(&dir, "index").ok().unwrap_or_default() {
            // Many CPUs report the same cache: the rest is read only for the first.
            let dir = format!("{dir}/index{index}");
            let Some((level, kind, shared)) = identity(root, &dir, cpu.id) else { continue };
            if seen.insert((level, kind, shared.first())) {
                caches.push(Cache {
                    level,
                    kind,
                    bytes: root.text(&format!("{dir}/size")).and_then(|size| bytes(&size)),
                    line_bytes: positive(root.number(&format!("{dir}/coherency_line_size"))),
                    ways: positive(root.number(&format!("{dir}/ways_of_associativity"))),
                    cpus: shared,
                });
            }
        }
    }
    caches.sort_by_key(|cache| (cache.level, cache.kind, cache.cpus.first()));
    caches
}

fn identity(root: &Root, dir: &str, cpu: CpuId) -> Option<(u32, CacheKind, hopcost_core::CpuSet)> {
    let kind = match root.text(&format!("{dir}/type")).ok()?.as_str() {
        "Data" => CacheKind::Data,
        "Instruction" => CacheKind::Instruction,
        "Unified" => CacheKind::Unified,
        _ => return None,
    };
    let level = root.number(&format!("{dir}/level")).ok()?;
    let shared = root.cpus(&format!("{dir}/shared_cpu_list"), &format!("{dir}/shared_cpu_map"));
    let shared = shared.ok().filter(|cpus| cpus.contains(cpu));
    Some((level, kind, shared.unwrap_or_else(|| std::iter::once(cpu).collect())))
}

/// A tebibyte: no cache is as large.
const LARGEST_BYTES: u64 = 1 << 40;

/// `32K`, `4M`, or plain bytes.
fn bytes(size: &str) -> Known<u64> {
    let (digits, factor) = match size.as_bytes().last() {
        Some(b'K') => (&size[..size.len() - 1], 1 << 10),
        Some(b'M') => (&size[..size.len() - 1], 1 << 20),
        _ => (size, 1),
    };
    match digits.parse::<u64>() {
        Ok(0) => Known::missing(Code::Malformed, "the kernel gives size 0"),
        Ok(number) if number <= LARGEST_BYTES / factor => Known::Is(number * factor),
        _ => Known::missing(Code::Malformed, format!("'{size}' is no cache size")),
    }
}

fn positive(number: Known<u32>) -> Known<u32> {
    number.and_then(|number| match number {
        0 => Known::missing(Code::Malformed, "the kernel gives 0"),
        _ => Known::Is(number),
    })
}
