//! The example works: hopcost without its command line.

mod measured {
    use std::process::Command;

    use hopcost_app::Store;

    #[test]
    fn a_program_prepares_runs_interrupts_resumes_and_compares_without_the_command_line() {
        let dir = tempfile::tempdir().expect("a directory");
        let tests = std::env::current_exe().expect("this program");
        let built = tests.ancestors().nth(2).expect("what cargo has built");
        let example = Command::new(built.join("examples/embedded")).arg(dir.path()).output();
        let example = example.expect("the example is built with the tests");
        let said = String::from_utf8_lossy(&example.stdout);
        assert!(example.status.success(), "{said}");
        let blocks = said.lines().filter(|line| line.starts_with("block 0 ")).count();
        assert_eq!(blocks, 2, "what was interrupted went on, and did not begin anew: {said}");
        let store = Store::open_to_read(&dir.path().join("embedded.db")).expect("its store");
        let runs = store.runs().expect("its runs");
        let finished = runs.iter().filter(|run| run.verdict.is_some()).count();
        assert_eq!((runs.len(), finished), (2, 2), "{said}");
    }
}
