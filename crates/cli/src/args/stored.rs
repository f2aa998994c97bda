//! What is asked of stored runs.

use std::path::PathBuf;

use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use super::experiments::ChecksArgs;
use super::shared::STORE;
use crate::output::FormatArgs;

#[derive(Debug, Args)]
#[allow(clippy::struct_excessive_bools)] // options
pub struct ReportArgs {
    /// Run number, or an experiment: its latest run [default: the latest of all]
    pub run: Option<String>,
    /// List the stored runs, and which of them are baselines
    #[arg(long, conflicts_with_all = ["run", "html", "csv", "markdown", "format", "fail_if"])]
    pub list: bool,
    /// Print JSON (keys: docs/reference/json.md)
    #[arg(long, group = "form")]
    pub json: bool,
    /// Write a self-contained HTML page to FILE
    #[arg(long, value_name = "FILE", group = "form", conflicts_with = "format")]
    pub html: Option<PathBuf>,
    /// Write the page (hopcost-report.html, or the FILE of --html) and open it in a browser
    #[arg(long, conflicts_with_all = ["json", "csv", "markdown", "format", "list"])]
    pub open: bool,
    /// Print one line of comma-separated values
    #[arg(long, group = "form", conflicts_with = "format")]
    pub csv: bool,
    /// Print Markdown, e.g. for a pull request comment
    #[arg(long, group = "form", conflicts_with = "format")]
    pub markdown: bool,
    #[command(flatten)]
    pub format: FormatArgs,
    #[command(flatten)]
    pub checks: ChecksArgs,
    /// SQLite file that stores all runs
    #[arg(long, value_name = "FILE", default_value = STORE)]
    pub store: PathBuf,
}

/// Two machines, or two runs.
#[derive(Debug, Args)]
pub struct CompareArgs {
    /// First side: a store (its latest run of each experiment), or one run, given as a number or an
    /// experiment name (its latest run), from --store or as STORE:RUN
    #[arg(value_name = "A", value_parser = NonEmptyStringValueParser::new())]
    pub a: String,
    /// Second side, reported as faster or slower than A
    #[arg(value_name = "B", value_parser = NonEmptyStringValueParser::new())]
    pub b: String,
    /// Print JSON (keys: docs/reference/json.md)
    #[arg(long)]
    pub json: bool,
    #[command(flatten)]
    pub format: FormatArgs,
    /// Store for runs given without one
    #[arg(long, value_name = "FILE", default_value = STORE)]
    pub store: PathBuf,
}
