//! Examples at the end of each command's help. Tests execute those that do not measure for long.

pub const MACHINE: &str = "\
Examples:
  hopcost machine
  hopcost machine --svg machine.svg      a picture of it
  hopcost machine --record host.tree     as one file, e.g. for a report of a problem";

pub const DOCTOR: &str = "\
Examples:
  hopcost doctor
  hopcost doctor --json                  e.g. for a check of all hosts";

pub const WHERE: &str = "\
Examples:
  hopcost where postgres                 all PostgreSQL servers of this host
  hopcost where mysql --json

What it shows:
  in one place   all CPUs and all memory are on one node, so nothing is remote
  CPUs           CPUs that a process may use; last CPU: the one it was on when it was looked at
  policy         where its new memory goes: default is the node of the CPU that touches it first
  private        memory of this process alone, by node
  shared         memory that the server's processes share, e.g. the buffer pool, by node";

pub const PROBE: &str = "\
Examples:
  hopcost probe latency --quick          6 seconds
  hopcost probe latency switch --quick   both, start by start in turn";

pub const LIST: &str = "\
Examples:
  hopcost list
  hopcost list --all                     also what only runs elsewhere";

pub const PLAN: &str = "\
Examples:
  hopcost plan log-distance
  hopcost plan context-switches --target postgres:managed --quick
  hopcost plan --sql --target sqlserver://sa@localhost/
                                         what SQL Server would be told";

pub const LOAD: &str = "\
Examples:
  hopcost load sqlite: tran_stats --scale 100000";

pub const DRIVE: &str = "\
Examples:
  hopcost drive sqlite: --workload point_select --duration 2s
  hopcost drive postgres:managed --workload point_select --clients 4 --duration 5s";

pub const RUN: &str = "\
Examples:
  hopcost run log-distance --quick       a verdict within a minute
  hopcost run context-switches --quick --target postgres:managed
  hopcost run log-distance --quick --baseline main --fail-if 'worse > 5%'";

pub const SURVEY: &str = "\
Examples:
  hopcost survey
  hopcost survey --budget 1m --html host.html
  hopcost survey --allow-load=cpus:0-3,mem:8G     beside other work, within these bounds";

pub const REPORT: &str = "\
Examples:
  hopcost report                         the latest run
  hopcost report --list
  hopcost report log-distance --html log-distance.html
  hopcost report 3 --markdown            e.g. for a pull request";

pub const COMPARE: &str = "\
Examples:
  hopcost compare 1 3                    two runs of hopcost.db
  hopcost compare hopcost.db other.db    two machines";

pub const RESTORE: &str = "\
Examples:
  hopcost restore                        after a run was killed";
