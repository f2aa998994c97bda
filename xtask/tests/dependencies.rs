//! Dependencies: licenses, sources, versions and advisories.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

mod dependencies {
    use std::fs;
    use std::process::{Command, Output};

    use xtask::{cargo_tools, project};

    fn deny(arguments: &[&str]) -> Output {
        let mut deny = Command::new(cargo_tools::cargo_deny().unwrap());
        deny.args(["--color", "never"]).args(arguments).current_dir(project()).output().unwrap()
    }

    fn said(output: &Output) -> String {
        String::from_utf8_lossy(&output.stderr).into_owned()
    }

    #[test]
    fn licences_sources_and_versions_are_as_agreed() {
        let checked = deny(&["check", "bans", "licenses", "sources"]);
        let said = said(&checked);
        assert!(checked.status.success(), "{said}");
        for duplicate in said.lines().filter(|line| line.starts_with("warning[duplicate]")) {
            println!("{duplicate}");
        }
    }

    #[test]
    fn what_is_not_agreed_is_found() {
        let dir = tempfile::tempdir().unwrap();
        let strict = dir.path().join("deny.toml");
        let agreed = fs::read_to_string(project().join("deny.toml")).unwrap();
        let none = agreed
            .replace("\"MIT\", ", "")
            .replace("multiple-versions = \"warn\"", "deny = [\"libc\"]")
            .replace("[sources]", "[sources]\nallow-registry = []");
        fs::write(&strict, none).unwrap();
        let path = strict.to_str().unwrap();
        let checked = deny(&["--config", path, "check", "bans", "licenses", "sources"]);
        let result = String::from_utf8_lossy(&checked.stdout);
        assert_eq!(result.trim(), "bans FAILED, licenses FAILED, sources FAILED");
    }

    #[test]
    fn no_advisory_is_known() {
        let fetched = deny(&["fetch", "db"]);
        if !fetched.status.success() {
            let said = said(&fetched);
            let why = said.lines().find(|line| line.contains("fatal: ")).unwrap_or(said.trim());
            println!(
                "not tried: advisories are missing, because the database is not to be had: {why}"
            );
            return;
        }
        let checked = deny(&["check", "--disable-fetch", "advisories"]);
        assert!(checked.status.success(), "{}", said(&checked));
    }
}
