//! Published figures, shown beside ours; they never affect a verdict.

use serde::{Deserialize, Serialize};

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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    pub of: String,
    pub value: f64,
    /// Upper end, if a range was published.
    pub to: Option<f64>,
    pub unit: String,
}
