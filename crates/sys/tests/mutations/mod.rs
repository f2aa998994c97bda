//! A host with two servers, and damage to its files.

use std::fmt::Write as _;

use hopcost_sys::Root;
use proptest::prelude::*;
use proptest::sample::{Index, select};

const NUMBERS: &[&str] = &[
    "0",
    "-1",
    "1",
    "65535",
    "65536",
    "4294967295",
    "18446744073709551615",
    "99999999999999999999999999",
    "1e308",
];

const CONTENTS: &[&[u8]] = &[
    b"",
    b"\n\n\n",
    b"0-4294967295",
    b"0-65535",
    b"0-1048575,4294967295",
    b"3-1,,-,0-",
    b"ffffffff,ffffffff,ffffffff",
    b"\xff\xfe\0\x80",
    b"nan inf",
    b"max 0",
    b": : = (",
    b") ) ) )",
];

#[derive(Clone, Debug)]
pub enum Change {
    Cut(Index),
    Flip(Index, u8),
    Number(Index, &'static str),
    Content(&'static [u8]),
    Another(Index),
    Long(u8),
    Renamed(Index, &'static str),
}

pub type Damage = Vec<(Index, Change)>;

pub fn damage() -> impl Strategy<Value = Damage> {
    let number = || (any::<Index>(), select(NUMBERS));
    let change = prop_oneof![
        any::<Index>().prop_map(Change::Cut),
        (any::<Index>(), any::<u8>()).prop_map(|(at, bits)| Change::Flip(at, bits)),
        number().prop_map(|(nth, number)| Change::Number(nth, number)),
        select(CONTENTS).prop_map(Change::Content),
        any::<Index>().prop_map(Change::Another),
        any::<u8>().prop_map(Change::Long),
        number().prop_map(|(nth, number)| Change::Renamed(nth, number)),
    ];
    proptest::collection::vec((any::<Index>(), change), 1..12)
}

/// Files that are only named hold nothing.
pub struct Files(Vec<(String, Vec<u8>)>);

impl Files {
    pub fn of(recording: &str) -> Self {
        let mut files: Vec<(String, Vec<u8>)> = Vec::new();
        for line in recording.lines().skip(1) {
            if let Some(head) = line.strip_prefix('>') {
                files.push((head.to_owned(), Vec::new()));
            } else if let Some((_, content)) = files.last_mut() {
                content.extend(line.bytes().chain([b'\n']));
            }
        }
        for (head, content) in &mut files {
            if let Some(path) = head.strip_prefix("hex ") {
                let digits: String = String::from_utf8_lossy(content).split_whitespace().collect();
                let byte = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
                *content = (0..digits.len()).step_by(2).map(byte).collect();
                *head = format!(" {path}");
            }
        }
        Self(files)
    }

    pub fn damaged(&self, damage: &Damage) -> Root {
        let mut files = self.0.clone();
        for (which, change) in damage {
            let at = which.index(files.len());
            let another = |index: &Index| self.0[index.index(self.0.len())].1.clone();
            let (path, content) = &mut files[at];
            match change {
                Change::Cut(end) if !content.is_empty() => {
                    content.truncate(end.index(content.len()));
                }
                Change::Flip(byte, bits) if !content.is_empty() => {
                    let byte = byte.index(content.len());
                    content[byte] ^= bits;
                }
                Change::Cut(_) | Change::Flip(..) => {}
                Change::Number(nth, number) => *content = with_number(content, *nth, number),
                Change::Content(other) => *content = other.to_vec(),
                Change::Another(other) => *content = another(other),
                Change::Long(byte) => *content = vec![*byte; 1 << 18],
                Change::Renamed(nth, number) => {
                    let renamed = with_number(path.as_bytes(), *nth, number);
                    *path = String::from_utf8(renamed).unwrap();
                }
            }
        }
        recorded(&files)
    }
}

fn recorded(files: &[(String, Vec<u8>)]) -> Root {
    let mut text = "hopcost machine recording, version 1\n".to_owned();
    for (path, content) in files {
        let bytes = content.iter().fold(String::new(), |mut digits, byte| {
            let _ = write!(digits, "{byte:02x}");
            digits
        });
        let _ = match path.strip_suffix('/') {
            Some(_) => writeln!(text, ">{path}"),
            None => writeln!(text, ">hex{path}\n{bytes}"),
        };
    }
    Root::from_text(&text).unwrap()
}

fn with_number(text: &[u8], nth: Index, number: &str) -> Vec<u8> {
    let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let begins = |at: &usize| is_digit(*at) && (*at == 0 || !is_digit(at - 1));
    let begins: Vec<usize> = (0..text.len()).filter(begins).collect();
    if begins.is_empty() {
        return text.to_vec();
    }
    let begin = begins[nth.index(begins.len())];
    let end = (begin..=usize::MAX).find(|at| !is_digit(*at)).unwrap();
    [&text[..begin], number.as_bytes(), &text[end..]].concat()
}

/// Peak address space and resident memory of this process.
pub fn peaks_mib() -> [u64; 2] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    ["VmPeak:", "VmHWM:"].map(|key| {
        let line = status.lines().find_map(|line| line.strip_prefix(key)).unwrap();
        line.split_whitespace().next().unwrap().parse::<u64>().unwrap() >> 10
    })
}

pub fn host() -> String {
    let mut text = include_str!("../../../../fixtures/machines/vm-n4.tree").to_owned();
    text += "> proc/stat\ncpu  9 9 9 9 9 9 9 9 0 0\ncpu0 100 10 20 400 50 3 7 8 0 0\nprocs_running 2\n\
             btime 1700000000\n> proc/self/stat\n70 (hopcost) S 1\n> proc/self/schedstat\n7 8 9\n\
             > proc/interrupts\n   CPU0 CPU1\n TLB: 4966 5061 TLB shootdowns\n\
             > proc/kallsyms\nffffffff81000300 T __x64_sys_munmap\nffffffff81000500 T asm_exc_page_fault\n";
    for (pid, name, parent, title) in [
        (1, "systemd", 0, "/sbin/init"),
        (2, "kthreadd", 0, ""),
        (3, "kworker/0:1", 2, ""),
        (50, "postgres", 1, "/usr/lib/postgresql/15/bin/postgres -D /srv/1 -p 5433"),
        (51, "postgres", 50, "postgres: 15/main: parallel worker for PID 52"),
        (52, "postgres", 50, "postgres: 15/main: app shop [local] idle"),
        (60, "mysqld", 1, "mysqld --datadir=/srv/2 --port=3306"),
        (70, "hopcost", 1, "hopcost where 50"),
    ] {
        let _ = write!(
            text,
            "> proc/{pid}/stat\n{pid} ({name}) S {parent} 0 0 0 -1 0 9 0 1 0 300 40 50 6 20 0 1 0 1234 2 3 4 1 1 0 \
             0 0 0 0 0 0 0 0 0 17 3 0 0\n> proc/{pid}/comm\n{name}\n> proc/{pid}/cmdline\n{title}\n\
             > proc/{pid}/status\nTgid:\t{pid}\nUid:\t26\t26\nNSpid:\t{pid}\t7\nRssAnon:\t900 kB\nRssShmem:\t80 kB\n\
             HugetlbPages:\t4 kB\nCpus_allowed_list:\t0-3\n> proc/{pid}/task/{pid}/schedstat\n100 20 3\n\
             > proc/{pid}/task/{pid}/stat\n{pid} ({name}) S 1\n> proc/{pid}/task/{pid}/comm\n{name}\n\
             > proc/{pid}/task/9{pid}/schedstat\n100 20 3\n> proc/{pid}/task/9{pid}/comm\n{name}-1\n\
             > proc/{pid}/maps\n1000-9000 rw-p 00000000 00:00 0 [heap]\n\
             100000-400000 rw-s 00000000 00:01 9 /dev/zero (deleted)\n\
             > proc/{pid}/numa_maps\n1000 default heap anon=2 N0=2 kernelpagesize_kB=4\n\
             100000 interleave:0-1 N0=300 N1=12 kernelpagesize_kB=2048\n\
             > proc/{pid}/fd/3\nsocket:[900]\n> proc/{pid}/fd/4\nsocket:[902]\n\
             > proc/{pid}/cwd/postmaster.pid\n7\n/srv/1\n1700000012\n5433\n/run/x\n\
             > proc/{pid}/cwd/PG_VERSION\n15\n> proc/{pid}/cwd/mysql_upgrade_info\n10.11.6-MariaDB\n\
             > proc/{pid}/net/tcp\n  sl  local_address rem_address   st\n   0: 0100007F:0CEA 00000000:0000 0A \
             00000000:00000000 00:00000000 00000000 26 0 900 1 0 100 0\n   1: 0100007F:0CEA 0100007F:C350 01 \
             00000000:00000000 00:00000000 00000000 26 0 950 1 0 100 0\n> proc/{pid}/net/unix\nNum RefCount\n\
             0000000000000001: 00000002 00000000 00010000 0001 01 902 /run/mysqld/mysqld.sock\n\
             0000000000000002: 00000003 00000000 00000000 0001 03 970 /run/mysqld/mysqld.sock\n"
        );
    }
    text
}
