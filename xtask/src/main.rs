//! `cargo xtask`: the developer's tools.
#![allow(clippy::print_stderr)] // tools talk to the developer

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, value_parser};
use xtask::vm::{Kernel, Topology};
use xtask::{bench, docs, matrix, test, tidy, validate, vm};

/// The developer's tools of hopcost
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every test, on this machine and in the emulated ones; installs or names what it needs
    Test,
    /// Run a command on an emulated machine with 1 to 8 memory nodes
    Vm(VmArgs),
    /// Measure hopcost side by side with the tools that measure the same
    Bench {
        /// What to measure
        #[arg(value_enum)]
        what: bench::What,
        /// Rounds of each comparison, 6 or more: fewer have no 95 % interval
        #[arg(long, default_value_t = 9, value_parser = value_parser!(u16).range(6..))]
        rounds: u16,
    },
    /// Write the generated parts of the documentation anew
    Docs,
    /// Run every experiment, and write docs/MATRIX.md: which ended in what, on which database, where
    Matrix {
        /// Of these alone; the rest of the table stays as it is
        #[arg(value_name = "EXPERIMENT")]
        named: Vec<String>,
        /// There alone
        #[arg(long, value_enum)]
        place: Option<matrix::Place>,
        /// On engines whose name begins so alone: mysql, duckdb
        #[arg(long)]
        engine: Option<String>,
    },
    /// Check the rules of the house that the compiler does not
    Tidy,
    /// Try the statistics on noise of known kinds, and write the tables of docs/METHODOLOGY.md
    Validate {
        /// Simulated runs of each kind
        #[arg(long, default_value_t = 10_000)]
        runs: usize,
        /// Record this machine's noise into the trace that is resampled, instead
        #[arg(long, value_name = "SECONDS")]
        record: Option<u64>,
        /// Try hopcost itself against a real database instead; takes a quiet machine and its time
        #[arg(long, value_enum, value_name = "PART")]
        live: Option<validate::Part>,
    },
}

#[derive(clap::Args)]
struct VmArgs {
    /// n1 n2 n4 n8 n2cxl n4cxl n4s2 n2c2: memory nodes, 'cxl' one more without CPUs, 's2' on two sockets, 'c2' two
    /// cores a node
    topology: Topology,
    /// The guest's kernel
    #[arg(long, value_enum, default_value_t = Kernel::V6_1)]
    kernel: Kernel,
    /// Memory of each node in MiB
    #[arg(long, default_value_t = 384)]
    mib: u32,
    /// More files for the guest, as FILE or FILE:PATH; programs bring their libraries
    #[arg(long, value_name = "FILE[:PATH]")]
    with: Vec<String>,
    /// Keep what the command writes to /out in this directory
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// One more argument on the guest kernel's command line
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    append: Vec<String>,
    /// Seconds until the guest is taken for hung
    #[arg(long, default_value_t = 600)]
    seconds: u64,
    /// The command; hopcost is on the guest's PATH
    #[arg(last = true, required = true)]
    command: Vec<String>,
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Test => test::run(),
        Command::Vm(args) => run_vm(args),
        Command::Bench { what, rounds } => bench::run(what, rounds.into()),
        Command::Docs => docs::run(),
        Command::Matrix { named, place, engine } => matrix::run(&named, place, engine.as_deref()),
        Command::Tidy => tidy::run(),
        Command::Validate { record: Some(seconds), .. } => validate::record(seconds),
        Command::Validate { live: Some(part), .. } => validate::run_live(part),
        Command::Validate { runs, .. } => validate::run(runs),
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run_vm(args: VmArgs) -> anyhow::Result<u8> {
    let hopcost = test::build_hopcost()?;
    let mut machine = vm::Vm::new(args.topology, args.kernel)
        .mib_per_node(args.mib)
        .seconds(args.seconds)
        .with(&hopcost, "/usr/local/bin/hopcost");
    for file in &args.with {
        let (from, to) = file.split_once(':').map_or((file.as_str(), None), |(f, t)| (f, Some(t)));
        let name = std::path::Path::new(from).file_name().unwrap_or_default().to_string_lossy();
        let to = to.map_or_else(|| format!("/usr/local/bin/{name}"), str::to_owned);
        machine = machine.with(std::path::Path::new(from), &to);
    }
    for argument in &args.append {
        machine = machine.kernel_argument(argument);
    }
    let outcome = machine.echo().run(&args.command.join(" "))?;
    if let Some(dir) = args.out {
        outcome.keep(&dir)?;
    }
    Ok(outcome.exit)
}
