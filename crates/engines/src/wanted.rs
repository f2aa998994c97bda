//! The data that a setup needs.

use hopcost_core::{Dataset, Setup, Table};

pub struct Wanted {
    /// The table's index in the data set, for generating rows.
    pub index: usize,
    pub table: Table,
}

pub fn wanted(setup: &Setup<'_>) -> Vec<Wanted> {
    let Some(dataset) = setup.dataset else { return Vec::new() };
    tables_named(dataset, setup.shape.rows, |name| setup.workload.info().tables.contains(&name))
}

pub fn tables_named(
    dataset: &dyn Dataset,
    scale: u64,
    is_wanted: impl Fn(&str) -> bool,
) -> Vec<Wanted> {
    let numbered = dataset.tables(scale).into_iter().enumerate();
    let kept = numbered.filter(|(_, table)| is_wanted(table.name));
    kept.map(|(index, table)| Wanted { index: dataset.source(index, scale), table }).collect()
}

pub fn data_bytes(setup: &Setup<'_>, of_table: impl Fn(&dyn Dataset, &Wanted) -> u64) -> u64 {
    let Some(dataset) = setup.dataset else { return 0 };
    wanted(setup).iter().map(|wanted| of_table(dataset, wanted)).sum()
}

pub const SAMPLES: u64 = 64;

pub fn samples(table: &Table) -> impl Iterator<Item = u64> + use<> {
    let count = SAMPLES.min(table.rows);
    let step = table.rows / count.max(1);
    (0..count).map(move |n| n * step)
}

/// The setup's data in words: `tran_stats, 2,000,000 rows`.
pub fn data_words(setup: &Setup<'_>) -> String {
    let rows = setup.shape.rows;
    match setup.dataset {
        Some(dataset) if wanted(setup).iter().any(|wanted| wanted.table.rows > 0) => {
            format!("{}, {} {}", dataset.name(), with_commas(rows), dataset.unit(rows))
        }
        _ => "no data".to_owned(),
    }
}

/// `2,000,000`.
pub fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (n, digit) in digits.chars().enumerate() {
        if n > 0 && (digits.len() - n).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([7, 1000, 2_000_000].map(with_commas), ["7", "1,000", "2,000,000"]);
    }
}
