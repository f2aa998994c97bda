//! The firmware's latency and bandwidth tables (ACPI HMAT).
//!
//! `/sys/devices/system/node/*/access*` shows only the best initiator's figures; HMAT has the whole
//! matrix, and root may read it. Format: ACPI specification 6.5, section 5.2.28.4, "System Locality
//! Latency and Bandwidth Information Structure".

use hopcost_core::{Code, HmatTable, Known};

use crate::root::Root;

const HEADER_BYTES: usize = 40;
const LOCALITY_STRUCTURE: u16 = 1;
/// In the low four bits of the flags: not a memory-side cache.
const MEMORY_ITSELF: u8 = 0;

pub fn read(root: &Root) -> Known<Vec<HmatTable>> {
    root.bytes("sys/firmware/acpi/tables/HMAT").and_then(|table| {
        Known::found(parse(&table), Code::Malformed, || "the firmware's HMAT is damaged")
    })
}

fn parse(table: &[u8]) -> Option<Vec<HmatTable>> {
    let revision = *table.get(8)?;
    let mut rest = table.get(HEADER_BYTES..)?;
    let mut tables = Vec::new();
    while !rest.is_empty() {
        let length = u32_at(rest, 4)? as usize;
        let structure = rest.get(..length).filter(|s| !s.is_empty())?;
        if u16_at(structure, 0)? == LOCALITY_STRUCTURE && structure.get(8)? % 16 == MEMORY_ITSELF {
            tables.push(locality(structure, revision)?);
        }
        rest = rest.get(length..)?;
    }
    Some(tables)
}

fn locality(structure: &[u8], revision: u8) -> Option<HmatTable> {
    let quantity = *structure.get(9)?;
    let latency = quantity < 3;
    let of = format!(
        "{}_{}",
        ["access", "read", "write"].get(quantity as usize % 3)?,
        if latency { "latency_ns" } else { "mb_per_s" }
    );
    let rows = u32_at(structure, 12)? as usize;
    let columns = u32_at(structure, 16)? as usize;
    let unit = u64::from_le_bytes(structure.get(24..32)?.try_into().ok()?);
    let numbers = |from: usize, count: usize| -> Option<Vec<u32>> {
        (0..count).map(|i| u32_at(structure, from + 4 * i)).collect()
    };
    let initiators = numbers(32, rows)?;
    let targets = numbers(32 + 4 * rows, columns)?;
    let first = 32 + 4 * (rows + columns);
    let entry = |row: usize, column: usize| {
        let entry = u16_at(structure, first + 2 * (row * columns + column))?;
        // 0 and 0xffff mean "not rated" and "unreachable".
        let rated = match entry {
            0 | u16::MAX => None,
            _ => Some(u64::from(entry).checked_mul(unit)?),
        };
        // Latencies are picoseconds from revision 2 on, nanoseconds before.
        Some(rated.map(|v| if latency && revision >= 2 { v.div_ceil(1000) } else { v }))
    };
    let values = (0..rows)
        .map(|row| (0..columns).map(|column| entry(row, column)).collect::<Option<Vec<_>>>())
        .collect::<Option<Vec<_>>>()?;
    Some(HmatTable { of, initiators, targets, values })
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(revision: u8, quantity: u8, unit: u64, entries: [u16; 2]) -> Vec<u8> {
        let mut structure = vec![1, 0, 0, 0];
        structure.extend(48u32.to_le_bytes());
        structure.extend([0, quantity, 0, 0]);
        for count in [1u32, 2, 0] {
            structure.extend(count.to_le_bytes());
        }
        structure.extend(unit.to_le_bytes());
        for domain in [0u32, 0, 1] {
            structure.extend(domain.to_le_bytes());
        }
        for entry in entries {
            structure.extend(entry.to_le_bytes());
        }
        let mut table = vec![0; HEADER_BYTES];
        table[8] = revision;
        table.extend(structure);
        table
    }

    #[test]
    fn reads_latencies_of_both_revisions_and_bandwidths() {
        let ps = parse(&table(2, 1, 1000, [80, 150])).unwrap();
        assert_eq!(ps[0].of, "read_latency_ns");
        assert_eq!(ps[0].values, [[Some(80), Some(150)]]);
        assert_eq!(parse(&table(1, 0, 1, [80, 150])).unwrap()[0].values, [[Some(80), Some(150)]]);
        let bandwidth = parse(&table(2, 3, 1024, [100, 0])).unwrap();
        assert_eq!(bandwidth[0].of, "access_mb_per_s");
        assert_eq!(bandwidth[0].values, [[Some(102_400), None]]);
    }

    #[test]
    fn a_damaged_table_is_missing_not_wrong() {
        let whole = table(2, 1, 1000, [80, 150]);
        assert_eq!(parse(&whole[..whole.len() - 1]), None);
        assert_eq!(parse(&whole[..20]), None);
    }
}
