//! What is asked of stored runs.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::experiments::ChecksArgs;
use super::shared::STORE;
use crate::output::FormatArgs;

#[derive(Debug, Args)]
pub struct ReportArgs {
    /// The run's number; the latest without it
    pub run: Option<i64>,
    /// Print JSON (keys: docs/JSON.md)
    #[arg(long, group = "form")]
    pub json: bool,
    /// Write a page into this file: complete in itself, for any browser
    #[arg(long, value_name = "FILE", group = "form", conflicts_with = "format")]
    pub html: Option<PathBuf>,
    /// Print a line of comma-separated values
    #[arg(long, group = "form", conflicts_with = "format")]
    pub csv: bool,
    /// Print Markdown, as for a comment on a change
    #[arg(long, group = "form", conflicts_with = "format")]
    pub markdown: bool,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub checks: ChecksArgs,
    /// The file in which results are kept
    #[arg(long, value_name = "FILE", default_value = STORE)]
    pub store: PathBuf,
}

/// Two machines, or one on two occasions.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// The first: a store, with the latest run of each experiment; or one run, as a number or as an
    /// experiment's name for the latest, of --store or as STORE:RUN
    #[arg(value_name = "A", value_parser = NonEmptyStringValueParser::new())]
    pub a: String,
    /// The second, which is said to be faster or slower
    #[arg(value_name = "B", value_parser = NonEmptyStringValueParser::new())]
    pub b: String,
    /// Print JSON (keys: docs/JSON.md)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub format: FormatArgs,
    /// The file in which runs are looked for that name none
    #[arg(long, value_name = "FILE", default_value = STORE)]
    pub store: PathBuf,
}
