//! The release binary and its compatibility with older hosts.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may
#![allow(clippy::print_stderr)] // what the binary needs is worth reading

mod release {
    use std::process::Command;
    use std::sync::{Mutex, MutexGuard, PoisonError};

    use xtask::command;
    use xtask::test::{build_hopcost, cargo, program};

    const MOST_BYTES: u64 = 15 << 20;
    /// Debian 12 has 2.36, Ubuntu 22.04 2.35, RHEL 9 2.34.
    const NEWEST_GLIBC: [u32; 2] = [2, 34];

    /// Each test keeps all CPUs busy: one at a time.
    fn turn() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[test]
    fn the_binary_is_small_and_needs_no_new_c_library() {
        let _turn = turn();
        let binary = build_hopcost().unwrap();
        let bytes = binary.metadata().unwrap().len();
        let symbols =
            command::output(Command::new("objdump").arg("-T").arg(&binary)).expect("binutils");
        let version = |line: &str| -> Option<[u32; 2]> {
            let (_, rest) = line.split_once("GLIBC_")?;
            let mut numbers = rest.split(|c: char| !c.is_ascii_digit()).map(str::parse);
            Some([numbers.next()?.ok()?, numbers.next()?.ok()?])
        };
        let newest = symbols.lines().filter_map(|line| Some((version(line)?, line))).max();
        let (newest, line) = newest.expect("the binary uses a C library");
        let symbol = line.split_whitespace().last().unwrap_or_default();
        eprintln!(
            "hopcost has {bytes} bytes and needs glibc {}.{} for {symbol}",
            newest[0], newest[1]
        );
        assert!(bytes < MOST_BYTES, "{bytes} bytes");
        assert!(newest <= NEWEST_GLIBC, "{line}");
    }

    #[test]
    fn what_holds_in_a_guest_holds_of_the_release() {
        let _turn = turn();
        let mut tests = program("xtask/guests").unwrap();
        tests.arg("session::");
        tests.env("HOPCOST_TEST_BINARY", build_hopcost().unwrap());
        let output = tests.output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        let is_ok = output.status.success() && !said.contains(" 0 passed");
        assert!(is_ok, "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    }

    #[test]
    fn it_compiles_for_arm() {
        const TARGET: &str = "aarch64-unknown-linux-gnu";
        let _turn = turn();
        let add = "rustup target add aarch64-unknown-linux-gnu";
        command::output(Command::new("sh").args(["-c", add])).expect(add);
        let mut check = cargo();
        check.args(["check", "--quiet", "--package", "hopcost", "--target", TARGET]);
        check.env("CC_aarch64_unknown_linux_gnu", "aarch64-linux-gnu-gcc");
        command::output(&mut check).unwrap();
    }
}
