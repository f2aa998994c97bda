//! `cargo xtask`: the developer's tools.
#![allow(clippy::print_stderr)] // tools talk to the developer

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use xtask::test::{self, Selection};
use xtask::vm::{Kernel, Topology};
use xtask::{tidy, vm};

/// The developer's tools of hopcost
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Try what must hold, each contract once on real parts; installs or names what it needs
    Test(TestArgs),
    /// Run a command on an emulated machine with 1 to 8 memory nodes
    Vm(VmArgs),
    /// Check the rules that the compiler does not
    Tidy,
}

#[derive(clap::Args)]
struct TestArgs {
    /// Try these groups alone, or what the first tier has of these binaries: mysql-9, hopcost/servers
    #[arg(value_name = "GROUP", conflicts_with_all = ["all", "changed"])]
    groups: Vec<String>,
    /// Try everything
    #[arg(long, conflicts_with = "changed")]
    all: bool,
    /// Try the groups, too, whose files have changed since they last passed, and the two tried longest ago
    #[arg(long)]
    changed: bool,
    /// Try it this many times
    #[arg(long, value_name = "N", default_value_t = 1)]
    repeat: u32,
}

impl TestArgs {
    fn selection(self) -> Selection {
        match self {
            Self { all: true, .. } => Selection::All,
            Self { changed: true, .. } => Selection::Changed,
            Self { groups, .. } if groups.is_empty() => Selection::First,
            Self { groups, .. } => Selection::Named(groups),
        }
    }
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
        Command::Test(args) => {
            let rounds = args.repeat;
            test::run(&args.selection(), rounds)
        }
        Command::Vm(args) => run_vm(args),
        Command::Tidy => tidy::run(),
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
    let hopcost = test::tested_hopcost()?;
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
