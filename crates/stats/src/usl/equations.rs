//! Weighted least squares of a few unknowns.

/// The logarithm of λ, then σ, κ and the bend.
pub const PARAMETERS: usize = 4;
pub type Vector = [f64; PARAMETERS];

/// Held unknowns stay zero. `None` if the free ones are not determined.
pub fn least_squares(
    rows: impl Iterator<Item = (Vector, f64)>,
    free: [bool; PARAMETERS],
) -> Option<Vector> {
    let mut normal = [[0.0; PARAMETERS + 1]; PARAMETERS];
    for (terms, wanted) in rows {
        for (i, equation) in normal.iter_mut().enumerate() {
            for (j, term) in terms.iter().enumerate() {
                equation[j] += terms[i] * term;
            }
            equation[PARAMETERS] += terms[i] * wanted;
        }
    }
    for (i, equation) in normal.iter_mut().enumerate().filter(|(i, _)| !free[*i]) {
        *equation = [0.0; PARAMETERS + 1];
        equation[i] = 1.0;
    }
    for (j, _) in free.iter().enumerate().filter(|(_, free)| !**free) {
        for (_, equation) in normal.iter_mut().enumerate().filter(|(i, _)| *i != j) {
            equation[j] = 0.0;
        }
    }
    solved(normal)
}

/// Gauss-Jordan elimination; normal equations need no pivoting.
fn solved(mut rows: [[f64; PARAMETERS + 1]; PARAMETERS]) -> Option<Vector> {
    let diagonal: Vector = std::array::from_fn(|i| rows[i][i]);
    for i in 0..PARAMETERS {
        let pivot = rows[i][i];
        // A smaller pivot is rounding error.
        if !pivot.is_finite() || pivot <= 1e-14 * diagonal[i] {
            return None;
        }
        let chosen = rows[i].map(|term| term / pivot);
        for (j, row) in rows.iter_mut().enumerate() {
            let times = if i == j { 0.0 } else { row[i] };
            for (term, of_chosen) in row.iter_mut().zip(chosen) {
                *term = if i == j { of_chosen } else { *term - times * of_chosen };
            }
        }
    }
    Some(std::array::from_fn(|i| rows[i][PARAMETERS]))
}
