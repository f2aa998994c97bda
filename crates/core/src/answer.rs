//! The answer to a call, reduced to a digest by which it is checked.

/// Row count and an order-independent digest of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    pub rows: u64,
    pub digest: u64,
}

impl Answer {
    pub fn of(row: Row) -> Self {
        let mut answer = Self::default();
        answer.add(row);
        answer
    }

    pub fn add(&mut self, row: Row) {
        self.rows += 1;
        self.digest = self.digest.wrapping_add(row.finish());
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Row(u64);

/// The fractional part of the golden ratio: odd, with well-mixed bits.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl Default for Row {
    fn default() -> Self {
        Self::new()
    }
}

impl Row {
    pub const fn new() -> Self {
        Self(GOLDEN)
    }

    #[must_use]
    pub const fn integer(self, value: i64) -> Self {
        Self((self.0 ^ value.cast_unsigned()).wrapping_mul(GOLDEN).rotate_left(29))
    }

    #[must_use]
    pub fn text(self, value: &str) -> Self {
        let length = value.len() as u64;
        let bytes = value.bytes().map(i64::from);
        bytes.fold(self.integer(length.cast_signed()), Self::integer)
    }

    /// NULL counts as the text `NULL`, which no workload returns.
    #[must_use]
    pub fn null(self) -> Self {
        self.text("NULL")
    }

    /// Final mix, so that sums of row digests differ when rows do.
    const fn finish(self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(GOLDEN);
        mixed ^ (mixed >> 29)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(rows: &[&[i64]]) -> Answer {
        let mut answer = Answer::default();
        for row in rows {
            answer.add(row.iter().fold(Row::new(), |row, value| row.integer(*value)));
        }
        answer
    }

    #[test]
    fn the_order_of_rows_does_not_count_and_everything_else_does() {
        let right = answer(&[&[1, 2], &[3, 4]]);
        assert_eq!(answer(&[&[3, 4], &[1, 2]]), right);
        for wrong in [&[&[1, 2], &[3, 5]], &[&[2, 1], &[3, 4]], &[&[1, 4], &[3, 2]]] {
            assert_ne!(answer(&wrong.map(<[i64; 2]>::as_slice)), right);
        }
        assert_ne!(answer(&[&[1, 2]]).digest, answer(&[&[1, 2], &[1, 2]]).digest);
        assert_ne!(Row::new().text("ab").text("c").0, Row::new().text("a").text("bc").0);
    }
}
