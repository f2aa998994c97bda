//! Figures that others published, to stand beside ours. They are never a verdict on ours.

use serde::{Deserialize, Serialize};

/// One published result: a file in `published/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub title: String,
    pub machine: String,
    /// Who published it, where and when, and how it was read.
    pub source: String,
    pub beside: Vec<String>,
    pub figures: Vec<Figure>,
}

/// One published figure; a range where a range was published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// What it is of, such as `other-socket`.
    pub of: String,
    pub value: f64,
    /// The upper end of a range.
    pub to: Option<f64>,
    pub unit: String,
}
