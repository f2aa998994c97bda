//! The only test of a measured value: an emulated distance is found with its size.

use std::fs;

use crate::bench::{Bench, FAR, SHORT, ends, json, stdout};
use crate::settled::settled;

#[test]
fn planted_distance_is_found_proved_and_stamped() {
    let bench = Bench::with(&[("far.toml", FAR)]);
    let all = [&["run", "far.toml", "--json", "--raw-calls", "--set=half_width=0.01%"], &SHORT[..]];
    let output = settled(&bench.path("hopcost.db"), || bench.hopcost(&all.concat()));
    let result = json(&output);
    assert_eq!(result["verdict"], "COST", "{}", result["reason"]);
    assert_eq!(result["emulated"], true);
    let planted = result["planted"].as_f64().unwrap();
    let point = result["estimate"]["point"].as_f64().unwrap();
    assert!(
        planted > 0.02 && (planted - point).abs() < 0.5 * planted,
        "{planted} found as {point}"
    );
    assert!(result["proof"].as_array().unwrap().iter().all(|proved| proved["found"] == 1.0));
    for arm in result["details"]["arms"].as_array().unwrap() {
        let side = usize::from(arm["level"] == "near");
        assert_eq!(arm["acquisitions"][side], 0, "{arm}");
        assert_eq!(arm["errors"], 0);
    }
    assert_eq!(json(&bench.hopcost(&["report", "--json"])), result);
    assert!(stdout(&bench.hopcost(&["report"])).starts_with("EMULATED COST"));
    ends(&bench.hopcost(&["report", "--html", "page.html"]), 0, &[]);
    let html = fs::read_to_string(bench.path("page.html")).unwrap();
    for words in ["EMULATED", "near (baseline)", "Page accesses by node", "--raw-calls", "✓ holds"]
    {
        assert!(html.contains(words), "{words}");
    }
    assert!(html.matches("<figure>").count() >= 8 && !html.contains("class=\"why\""));
    let count = |sql| bench.count(sql);
    let counted = count("SELECT sum(calls) FROM block_window");
    assert!(counted > 100 && count("SELECT count(*) FROM call") == counted, "{counted} calls");
    assert_eq!(count("SELECT count(*) FROM call WHERE done_ns <= sent_ns OR sent_ns < due_ns"), 0);
    assert!(count("SELECT count(*) FROM observation WHERE metric = 'cpu_user_ms'") > 0);
}
