//! What of older code rules pass over.

use super::tree::{Complaint, Tree};

/// Of complaints below a folder so many are passed over. The numbers may only shrink.
pub struct Exception {
    below: &'static str,
    pub files_in_circles: usize,
    pub comments: usize,
    why: &'static str,
}

const REWRITTEN: &str = "older than the rule, and being rewritten";

const EXCEPTIONS: &[Exception] =
    &[Exception { below: "crates/engines/", files_in_circles: 4, comments: 19, why: REWRITTEN }];

/// What is left to complain of, with the exceptions that are wider than they have to be.
pub fn beyond_exceptions(
    tree: &Tree,
    complaints: Vec<Complaint>,
    number: fn(&Exception) -> usize,
) -> Vec<Complaint> {
    beyond(EXCEPTIONS, tree, complaints, number)
}

fn beyond(
    exceptions: &[Exception],
    tree: &Tree,
    mut complaints: Vec<Complaint>,
    number: fn(&Exception) -> usize,
) -> Vec<Complaint> {
    for exception in exceptions {
        let Exception { below, why, .. } = exception;
        let is_below = |path: &str| path.starts_with(below);
        let found = complaints.iter().filter(|complaint| is_below(&complaint.path)).count();
        let excepted = number(exception);
        if found <= excepted {
            complaints.retain(|complaint| !is_below(&complaint.path));
        }
        let file = tree.files.iter().find(|file| is_below(&file.path));
        if let Some(file) = file.filter(|_| found < excepted) {
            let words = format!("{found} of a kind below {below}, {excepted} excepted ({why})");
            complaints.push(file.complain(1, format!("{words}: lower that in exceptions.rs")));
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_covers_no_more_than_it_says_and_may_only_shrink() {
        let tree = Tree::of([("a/b.rs".to_owned(), String::new())]);
        let left = |found: usize, comments, below| {
            let complaints = (0..found).map(|n| tree.files[0].complain(n, "")).collect();
            let exception = Exception { below, files_in_circles: 0, comments, why: "" };
            beyond(&[exception], &tree, complaints, |exception| exception.comments).len()
        };
        assert_eq!(left(2, 2, "a/"), 0);
        assert_eq!(left(2, 1, "a/"), 2);
        assert_eq!(left(1, 2, "a/"), 1);
        assert_eq!(left(2, 2, "c/"), 2);
    }
}
