//! What replaces the words in capitals, and what the checks have to show, recipe by recipe.

use super::Case;

const BOUND: &[(&str, &str)] = &[
    ("INDEX_NAME", "of_stamps"),
    ("BRANCH", "recent"),
    ("STAMP", "stamped_at"),
    ("VIEW_NAME", "everything"),
    ("BOUND", "2024-01-01"),
];
const TABLES: [&str; 2] = [
    "CREATE TABLE recent (stamped_at DATE, note CHAR(200));",
    "CREATE VIEW everything AS SELECT * FROM recent UNION ALL SELECT stamped_at, '' FROM recent;",
];

/// The server preloads `auto_explain` and has parallel plans for the smallest table.
pub const POSTGRES: &[Case] = &[
    Case { recipe: "audit-less", given: &[], values: &[], shows: &["ddl", "100ms", "0.01"] },
    Case {
        recipe: "bound-the-query",
        given: &[
            TABLES[0],
            "INSERT INTO recent SELECT date '2000-01-01' + n, '' FROM generate_series(1, 9000) AS n;",
            TABLES[1],
            "ANALYZE recent;",
        ],
        values: BOUND,
        shows: &["of_stamps"],
    },
    Case { recipe: "commit-later", given: &[], values: &[("ROLE_NAME", "me")], shows: &["off"] },
    Case {
        recipe: "fewer-parallel-workers",
        given: &["CREATE TABLE numbers AS SELECT generate_series(1, 20000) AS n;", "ANALYZE;"],
        values: &[("ROLE_NAME", "me"), ("QUERY", "SELECT count(*) FROM numbers")],
        shows: &["0", "!Gather"],
    },
    Case {
        recipe: "group-commit",
        given: &[],
        values: &[("MICROSECONDS", "200")],
        shows: &["200", "5", ""],
    },
    Case {
        recipe: "load-jobs",
        given: &[
            "CREATE TABLE loaded AS SELECT generate_series(1, 1000) AS n;",
            "pg_dump -Fd -f HERE/dump -t loaded postgres",
            "CREATE DATABASE empty;",
        ],
        values: &[("SIZE", "3GB"), ("JOBS", "2"), ("DATABASE", "empty"), ("DUMP", "HERE/dump")],
        shows: &["3GB"],
    },
    Case {
        recipe: "split-hot-table",
        given: &["CREATE TABLE hot AS SELECT generate_series(1, 100) AS id;"],
        values: &[
            ("TABLE_OLD", "hot"),
            ("TABLE_NEW", "hot_new"),
            ("TABLE_BEFORE", "hot_before"),
            ("TABLE_0", "hot_0"),
            ("TABLE_1", "hot_1"),
            ("KEY_COLUMN", "id"),
        ],
        shows: &["Partition key: HASH (id)"],
    },
    Case { recipe: "trace-less", given: &[], values: &[], shows: &["off", "0.01"] },
];

const HOT: &[&str] = &["USE test;", "CREATE TABLE hot (id INT PRIMARY KEY) ENGINE = MyISAM;"];
const SPLIT: &[(&str, &str)] =
    &[("TABLE_NAME", "test.hot"), ("PARTS", "4"), ("OLD_ENGINE", "MyISAM")];
const SPLIT_SHOWS: &str = "PARTITIONS 4";
/// Rows enough that an index is worth its while.
const ROWS: &str = "INSERT INTO recent WITH RECURSIVE numbers (n) AS \
    (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < 999) \
    SELECT '2000-01-01' + INTERVAL n * 10 DAY, '' FROM numbers;";
const IN_MYSQL: &[&str] = &["USE test;", TABLES[0], ROWS, TABLES[1]];

/// The server has a database `test`, a binary log and the general log.
pub const MARIADB: &[Case] = &[
    Case { recipe: "bound-the-query", given: IN_MYSQL, values: BOUND, shows: &["of_stamps"] },
    Case { recipe: "fewer-sessions", given: &[], values: &[], shows: &["pool-of-threads"] },
    Case {
        recipe: "group-commit",
        given: &[],
        values: &[("MICROSECONDS", "200"), ("SESSIONS", "8")],
        shows: &["8\t200", "Binlog_group_commits"],
    },
    Case { recipe: "interleave", given: &[], values: &[], shows: &["1"] },
    Case { recipe: "split-hot-table", given: HOT, values: SPLIT, shows: &[SPLIT_SHOWS] },
    Case { recipe: "trace-less", given: &[], values: &[], shows: &["100"] },
];

/// The server has the plugin `server_audit` too, which logs queries.
pub const MARIADB_WITH_AUDIT: &[Case] = &[Case {
    recipe: "audit-less",
    given: &[],
    values: &[("OLD_VALUE", "SELECT @@server_audit_events;")],
    shows: &["0\tCONNECT,QUERY_DDL"],
}];

/// The server is as MariaDB's.
pub const MYSQL: &[Case] = &[
    Case { recipe: "audit-less", given: &[], values: &[], shows: &["0"] },
    Case { recipe: "bound-the-query", given: IN_MYSQL, values: BOUND, shows: &["of_stamps"] },
    Case {
        recipe: "log-threads-near",
        given: &[],
        values: &[
            ("{cpus}", "0"),
            (
                "THREAD_ID_1",
                "SELECT THREAD_ID FROM performance_schema.threads WHERE NAME LIKE '%log_writer%';",
            ),
            (
                "THREAD_ID_2",
                "SELECT THREAD_ID FROM performance_schema.threads WHERE NAME LIKE '%log_flusher%';",
            ),
        ],
        shows: &["\tlog\n"],
    },
    Case {
        recipe: "log-threads-off",
        // It is off by itself where CPUs are few.
        given: &["SET GLOBAL innodb_log_writer_threads = ON;"],
        values: &[],
        shows: &["OFF"],
    },
    Case { recipe: "split-hot-table", given: HOT, values: SPLIT, shows: &[SPLIT_SHOWS] },
    Case {
        recipe: "trace-less",
        given: &[],
        values: &[("OLD_VALUE", "SELECT @@GLOBAL.long_query_time;")],
        shows: &["1.000000"],
    },
];

pub const SQLITE: &[Case] = &[
    Case {
        recipe: "bound-the-query",
        given: &[TABLES[0], TABLES[1]],
        values: BOUND,
        shows: &["of_stamps"],
    },
    Case { recipe: "commit-later", given: &[], values: &[], shows: &["wal", "1"] },
];

const PLACES: &[(&str, &str)] = &[
    ("{node}", "1"),
    ("{cpus}", "2-3"),
    ("ALL_CPUS", "0-3"),
    ("{pid}", "$pid"),
    ("{kind}", "$pid"),
    ("APP_PID", "$(pgrep -P $pid)"),
    ("APP", "sh /app"),
    ("START_COMMAND", "sh /app"),
    ("OLD_VALUE", "madvise"),
    ("OLD_NODES", "0"),
];
const ON_ITS_CPUS: &str = "on CPUs 2-3 of node 1";

/// A machine with two nodes of one core with two threads; `/app` is a program of two processes.
pub const GUEST: &[Case] = &[
    Case { recipe: "bind-parallel-workers", given: &[], values: PLACES, shows: &[ON_ITS_CPUS] },
    Case { recipe: "bind-to-node", given: &[], values: PLACES, shows: &["policy bind:1"] },
    Case {
        recipe: "bind-to-node-now",
        given: &["taskset -c 0-1 sh /app", "taskset -acp 0-3 $(cat pid)"],
        values: PLACES,
        shows: &["affinity list: 2,3", "memory on node 1"],
    },
    Case {
        recipe: "closer-client",
        given: &["sh /app"],
        values: PLACES,
        shows: &["affinity list: 2,3"],
    },
    Case {
        recipe: "huge-pages",
        given: &["echo madvise > /sys/kernel/mm/transparent_hugepage/enabled", "sh /app"],
        values: PLACES,
        shows: &["[always]", ""],
    },
    Case { recipe: "interleave", given: &[], values: PLACES, shows: &["policy interleave"] },
    Case {
        recipe: "numa-balancing-off",
        given: &["sysctl kernel.numa_balancing=1"],
        values: &[],
        shows: &["kernel.numa_balancing = 0"],
    },
    Case { recipe: "smt-off", given: &[], values: &[], shows: &["0", "CPU 1,3 off-line"] },
];
