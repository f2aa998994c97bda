//! Tests of whole scripts: parsing, errors and walks.

use std::time::Duration;

use super::corpus::{SCRIPTS, cases, is_so_far};
use super::*;

#[track_caller]
fn read(text: &str) -> Script {
    Script::read("s.sql", text).unwrap_or_else(|wrong| panic!("{wrong}"))
}

#[derive(Clone, Debug, PartialEq)]
enum Step {
    Send { command: usize, parameters: Vec<Option<String>> },
    Sleep(Duration),
    Pipeline(Pipeline),
    End,
}

fn next(walk: &mut Walk<'_>, session: &mut Session) -> Result<Step, RunError> {
    let script = walk.script;
    Ok(match walk.next(session)? {
        super::Step::Send(command) => {
            let parameters =
                script.parameters(command, session).map(|sent| sent.map(Parameter::text));
            Step::Send { command, parameters: parameters.collect::<Result<_, _>>()? }
        }
        super::Step::Sleep(time) => Step::Sleep(time),
        super::Step::Pipeline(pipeline) => Step::Pipeline(pipeline),
        super::Step::End => Step::End,
    })
}

fn client() -> Session {
    Session::new(1, &presets(1, 0, 10))
}

#[track_caller]
fn steps(text: &str) -> Vec<Step> {
    let script = read(text);
    let (mut session, mut walk) = (client(), script.begin());
    let following = || match next(&mut walk, &mut session).unwrap_or_else(|wrong| panic!("{wrong}"))
    {
        Step::End => None,
        step => Some(step),
    };
    std::iter::from_fn(following).collect()
}

#[track_caller]
fn sent(text: &str) -> Vec<String> {
    let parameters = steps(text).into_iter().filter_map(|step| match step {
        Step::Send { parameters, .. } => Some(parameters),
        _ => None,
    });
    parameters.flatten().map(|value| value.unwrap_or("NULL".into())).collect()
}

#[track_caller]
fn fails(text: &str) -> String {
    let script = read(text);
    let (mut session, mut walk) = (client(), script.begin());
    loop {
        match next(&mut walk, &mut session) {
            Ok(Step::End) => panic!("{text} comes to its end"),
            Ok(_) => {}
            Err(wrong) => return wrong.to_string(),
        }
    }
}

#[track_caller]
fn fail(section: &str) {
    for (text, expected) in cases(SCRIPTS, section) {
        let wrong = fails(&text);
        assert!(is_so_far(&format!("s.sql:{expected}"), &wrong), "{text}: {wrong}");
    }
}

fn row(values: &[&str]) -> Vec<Option<String>> {
    values.iter().map(|value| Some((*value).to_owned())).collect()
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn variables_are_sent_with_their_values() {
    let script = read(
        "\\set a 1 + 1\n\\set b :a / 4.0\n\\set c NULL\n\\SET d \\\n true\n\
         SELECT :b, :a, :a::int, :c FROM t;\n SELECT :d, :scale;",
    );
    let sql: Vec<&str> = script.commands().collect();
    assert_eq!(sql, ["SELECT $1, $2, $3::int, $4 FROM t;", "SELECT $1, $2;"]);
    let (mut session, mut walk) = (client(), script.begin());
    let mut step = || next(&mut walk, &mut session).unwrap();
    let values = [Some("0.5"), Some("2"), Some("2"), None];
    let parameters = values.map(|value| value.map(str::to_owned)).to_vec();
    assert_eq!(step(), Step::Send { command: 0, parameters });
    assert_eq!(step(), Step::Send { command: 1, parameters: row(&["true", "10"]) });
    assert_eq!((step(), step()), (Step::End, Step::End));
}

#[test]
fn the_same_seed_walks_the_same_way() {
    let script = read(builtin("tpcb").unwrap().text);
    let walk = |seed| {
        let mut session = Session::new(seed, &presets(seed, 0, 10));
        let mut steps = Vec::new();
        for _ in 0..3 {
            let mut walk = script.begin();
            steps.extend((0..8).map(|_| next(&mut walk, &mut session).unwrap()));
        }
        steps
    };
    assert_eq!(walk(1), walk(1));
    assert_ne!(walk(1), walk(2));
    assert_ne!(walk(1)[..8], walk(1)[8..16]);
}

#[test]
fn a_builtin_stays_within_its_tables() {
    let script = read(builtin("tpcb").unwrap().text);
    let mut session = client();
    for _ in 0..500 {
        let mut walk = script.begin();
        let parameters = std::iter::from_fn(|| match next(&mut walk, &mut session).unwrap() {
            Step::Send { parameters, .. } => Some(parameters),
            _ => None,
        });
        let all: Vec<Vec<Option<String>>> = parameters.collect();
        let [tid, bid, aid, delta] =
            [0, 1, 2, 3].map(|n| all[5][n].as_ref().unwrap().parse::<i64>().unwrap());
        assert!((1..=100).contains(&tid) && (1..=10).contains(&bid), "{tid} {bid}");
        assert!((1..=1_000_000).contains(&aid) && (-5000..=5000).contains(&delta));
    }
}

#[test]
fn variables_outlive_a_script() {
    let (count, show) = (read("\\set n :n + 1"), read("SELECT :n;"));
    let mut session = Session::new(1, &[("n", Value::Integer(0))]);
    for _ in 0..3 {
        assert_eq!(next(&mut count.begin(), &mut session), Ok(Step::End));
    }
    let step = next(&mut show.begin(), &mut session).unwrap();
    assert_eq!(step, Step::Send { command: 0, parameters: row(&["3"]) });
}

#[test]
fn one_branch_is_taken_and_the_others_are_not_looked_at() {
    let text = "\\if :a = 1\n SELECT 1, :a;\n \\if :b\n SELECT 11, :b;\n \\else\n SELECT 12, :b;\n \\endif\n\
                \\elif :a = 2\n SELECT 2, :a;\n\\elif 1 / (:a - 4) = 7\n SELECT 3, :a;\n\
                \\else\n \\if 0\n \\elif NULL\n \\endif\n SELECT 4, :a;\n\\endif\nSELECT 5, :a;";
    let commands = |a: i64, b: bool| {
        let script = read(text);
        let mut session = Session::new(1, &[("a", Value::Integer(a)), ("b", Value::Boolean(b))]);
        let mut walk = script.begin();
        let following = || match next(&mut walk, &mut session).unwrap() {
            Step::Send { command, .. } => script.commands().nth(command),
            _ => None,
        };
        let sent: Vec<&str> = std::iter::from_fn(following).collect();
        let numbers = sent.iter().map(|sql| sql["SELECT ".len()..].split_once(',').unwrap().0);
        numbers.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(commands(1, true), "1 11 5");
    assert_eq!(commands(1, false), "1 12 5");
    assert_eq!(commands(2, true), "2 5");
    assert_eq!(commands(3, true), "4 5");
    // With 4 the condition is an error, but with 2 it is not evaluated.
    let mut session = Session::new(1, &[("a", Value::Integer(4)), ("b", Value::Null)]);
    let script = read(text);
    let wrong = next(&mut script.begin(), &mut session).unwrap_err();
    assert_eq!(wrong.to_string(), "s.sql:10:1: 1 is divided by zero");
}

#[test]
fn what_is_not_taken_may_be_wrong() {
    assert_eq!(sent("\\if false\n\\set a 1 / 0\nSELECT :nobody;\n\\endif\nSELECT :scale;"), ["10"]);
}

#[test]
fn one_row_becomes_variables() {
    let text = "SELECT a, b \\gset\nSELECT c;\n\\gset x_\n\\set n :a + :x_c\nSELECT :n, :b;";
    let script = read(text);
    let sql: Vec<&str> = script.commands().collect();
    assert_eq!(sql, ["SELECT a, b ", "SELECT c;", "SELECT $1, $2;"]);
    assert_eq!([0, 1, 2].map(|command| script.wants_rows(command)), [true, true, false]);
    let (mut session, mut walk) = (client(), script.begin());
    next(&mut walk, &mut session).unwrap();
    let one = [vec![Some("40".into()), None]];
    walk.answered(&mut session, &names(&["a", "b"]), &one).unwrap();
    next(&mut walk, &mut session).unwrap();
    walk.answered(&mut session, &names(&["c"]), &[row(&["2"])]).unwrap();
    let last = next(&mut walk, &mut session).unwrap();
    assert_eq!(last, Step::Send { command: 2, parameters: row(&["42", ""]) });
    walk.answered(&mut session, &names(&["?column?"]), &[]).unwrap();
    assert_eq!(next(&mut walk, &mut session), Ok(Step::End));
}

#[test]
fn other_answers_than_one_row_end_the_way() {
    let script = read("SELECT 1;\n SELECT a \\gset");
    let answered = |columns: &[&str], rows: &[Vec<Option<String>>]| {
        let (mut session, mut walk) = (client(), script.begin());
        next(&mut walk, &mut session).unwrap();
        next(&mut walk, &mut session).unwrap();
        walk.answered(&mut session, &names(columns), rows).map_err(|wrong| wrong.to_string())
    };
    let wrong = answered(&["a"], &[]).unwrap_err();
    assert_eq!(wrong, "s.sql:2:2: \\gset needs one row, and 0 came back");
    let wrong = answered(&["a"], &[row(&["1"]), row(&["2"])]).unwrap_err();
    assert!(wrong.contains("2 came back"), "{wrong}");
    let wrong = answered(&["?column?"], &[row(&["1"])]).unwrap_err();
    assert!(wrong.contains("'?column?' is no name") && wrong.contains("with AS"), "{wrong}");
    assert_eq!(answered(&[], &[vec![]]), Ok(()));
}

#[test]
fn of_several_rows_aset_keeps_the_last_and_of_none_nothing() {
    let script = read("SELECT a \\aset p\nSELECT :pa;");
    let after = |rows: &[Vec<Option<String>>]| {
        let (mut session, mut walk) = (client(), script.begin());
        next(&mut walk, &mut session).unwrap();
        walk.answered(&mut session, &names(&["a"]), rows).unwrap();
        next(&mut walk, &mut session).map_err(|wrong| wrong.to_string())
    };
    let step = after(&[row(&["1"]), row(&["2"])]);
    assert_eq!(step, Ok(Step::Send { command: 1, parameters: row(&["2"]) }));
    let wrong = after(&[]).unwrap_err();
    assert!(wrong.starts_with("s.sql:2:1: nothing has set :pa; there are: :client_id"), "{wrong}");
}

#[test]
#[should_panic(expected = "the answer to the last command is missing")]
fn an_answer_that_is_wanted_is_waited_for() {
    let script = read("SELECT a \\gset\nSELECT :a;");
    let (mut session, mut walk) = (client(), script.begin());
    let _ = next(&mut walk, &mut session);
    let _ = next(&mut walk, &mut session);
}

#[test]
fn sleeps_last_as_long_as_they_say() {
    let text = "\\set n 3\n\\set d 2.9\n\\set less -1\n\\sleep 2\n\\sleep 5 ms\n\\sleep 7us\n\\sleep 1 S\n\
                \\sleep :n\n\\sleep :d MS\n\\sleep :less\n\\sleep 0\n\\sleep +1";
    let lengths: Vec<Step> = [2_000_000, 5000, 7, 1_000_000, 3_000_000, 2000, 0, 0, 1_000_000]
        .map(|us| Step::Sleep(Duration::from_micros(us)))
        .to_vec();
    assert_eq!(steps(text), lengths);
    assert_eq!(fails("\\set n true\n\\sleep :n"), "s.sql:2:1: :n is 'true', no time");
    assert_eq!(fails("\\set n NULL\n\\sleep :n"), "s.sql:2:1: :n is 'NULL', no time");
    assert!(fails("\\sleep :m").contains("nothing has set :m"));
}

#[test]
fn pipelines_begin_and_end() {
    let text =
        "\\startpipeline\nSELECT 1;\n\\syncpipeline\nSELECT 2;\n\\endpipeline\nSELECT 3 \\gset";
    let send = |command| Step::Send { command, parameters: Vec::new() };
    let script = read(text);
    let (mut session, mut walk) = (client(), script.begin());
    let taken = [(); 6].map(|()| next(&mut walk, &mut session).unwrap());
    assert_eq!(
        taken,
        [
            Step::Pipeline(Pipeline::Start),
            send(0),
            Step::Pipeline(Pipeline::Sync),
            send(1),
            Step::Pipeline(Pipeline::End),
            send(2),
        ]
    );
    fail("pipelines_begin_and_end");
}

#[test]
fn what_fails_on_the_way_is_said_with_its_place() {
    fail("what_fails_on_the_way_is_said_with_its_place");
    let refused = read("SELECT 1;\n\nSELEC 2;").refused(1, "syntax error");
    assert_eq!(refused.to_string(), "s.sql:3:1: syntax error");
}

#[test]
fn what_cannot_be_read_is_said_with_its_place() {
    for (text, expected) in cases(SCRIPTS, "what_cannot_be_read_is_said_with_its_place") {
        let wrong = Script::read("s.sql", &text).expect_err(&text);
        let found = format!("{}: {}", wrong.at, wrong.says);
        assert!(is_so_far(expected, &found), "{text}: {found}");
        assert_eq!(wrong.to_string(), format!("s.sql:{found}"));
    }
}

#[test]
fn backslash_commands_are_read_as_pgbench_reads_them() {
    assert_eq!(sent("\\ \n\\\n\\  SeT a\\\n 1\r\nSELECT :a;\r\n"), ["1"]);
    // A backslash ends an SQL command anywhere.
    let script = read("SELECT 1\\set a 2\nSELECT :a");
    let sql: Vec<&str> = script.commands().collect();
    assert_eq!(sql, ["SELECT 1", "SELECT $1"]);
}

/// If the text is no script, checks that the error is at a position in it.
#[track_caller]
fn steps_or_a_place_in_the_text(text: &str) -> usize {
    match Script::read("s", text) {
        Ok(script) => {
            let (mut session, mut walk) = (client(), script.begin());
            let following = || match next(&mut walk, &mut session) {
                Ok(Step::End) | Err(_) => None,
                Ok(_) => Some(walk.answered(&mut session, &names(&["a"]), &[row(&["1"])])),
            };
            std::iter::from_fn(following).count()
        }
        Err(wrong) => {
            let lines: Vec<&str> = text.split('\n').collect();
            let columns = lines[wrong.at.line - 1].chars().count() + 1;
            assert!((1..=columns).contains(&wrong.at.column), "{text:?}: {wrong}");
            0
        }
    }
}

const WORDS: [&str; 40] = [
    "\\set", "\\if", "\\elif", "\\else", "\\endif", "\\gset", "\\sleep", "\\", "\\;", "\\\n", "\n",
    "\r\n", " ", "a", "é", ":a", ":", "::", "1", "2.5", "e", "(", ")", "'", "\"", "$", "$$", "$a$",
    "--", "/*", "*/", ";", "random", "case", "when", "+", "-", "not", "is", "null",
];

#[test]
fn reading_never_panics_and_points_into_the_text() {
    let mut dice = fastrand::Rng::with_seed(5);
    let text = |_| (0..dice.usize(0..16)).map(|_| WORDS[dice.usize(0..WORDS.len())]).collect();
    let texts: Vec<String> = (0..20_000).map(text).collect();
    let steps: usize = texts.iter().map(|text| steps_or_a_place_in_the_text(text)).sum();
    assert!(steps > 100, "hardly one of them could be read: {steps}");
}

#[test]
fn nor_does_it_of_a_script_that_was_damaged() {
    let sections = SCRIPTS.lines().filter_map(|line| line.strip_prefix('[')?.strip_suffix(']'));
    let wrong = sections.flat_map(|section| cases(SCRIPTS, section)).map(|(text, _)| text);
    let good = BUILTINS.iter().map(|builtin| builtin.text.to_owned());
    let originals: Vec<Vec<char>> = good.chain(wrong).map(|text| text.chars().collect()).collect();
    let mut dice = fastrand::Rng::with_seed(6);
    let mut steps = 0;
    for _ in 0..5000 {
        let mut text = originals[dice.usize(0..originals.len())].clone();
        for _ in 0..dice.usize(1..4) {
            let from = dice.usize(0..=text.len());
            let to = dice.usize(from..=text.len().min(from + 8));
            let word = WORDS[dice.usize(0..WORDS.len())];
            text.splice(from..to, word.chars().filter(|_| dice.bool()));
        }
        text.truncate(if dice.u8(0..4) == 0 { dice.usize(0..=text.len()) } else { text.len() });
        steps += steps_or_a_place_in_the_text(&text.into_iter().collect::<String>());
    }
    assert!(steps > 1000, "hardly one of them could be read: {steps}");
}

#[test]
fn what_is_given_is_known_from_the_begin_and_counts_more_than_what_a_client_knows() {
    let given = [("limit", "007"), ("scale", "3")];
    let script =
        Script::with("s.sql", "\\set twice :limit * 2\nSELECT :limit, :twice, :scale;", &given);
    let (script, mut session) = (script.unwrap(), client());
    script.prepare(&mut session).unwrap();
    let step = next(&mut script.begin(), &mut session);
    let parameters = ["007", "14", "3"].map(|text| Some(text.to_owned())).to_vec();
    assert_eq!(step, Ok(Step::Send { command: 0, parameters }));
    let wrong = Script::with("s.sql", "SELECT ':limit';", &given).unwrap_err();
    assert!(wrong.says.contains("no value comes into quotes"), "{wrong}");
}
