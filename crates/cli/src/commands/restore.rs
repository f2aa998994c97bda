//! `hopcost restore`: restores what a killed run left changed.

use hopcost_app::{App, Outcome, PutBack, Restored};

use crate::exit::Exit;
use crate::output;

pub fn run(app: &App) -> Outcome<Exit> {
    let all = app.restore()?;
    if all.is_empty() {
        output::print("Nothing to put back: no killed run left anything changed.\n")?;
        return Ok(Exit::Done);
    }
    let lines: Vec<String> = all.iter().map(line).collect();
    output::print(&format!("{}\n", lines.join("\n")))?;
    Ok(if all.iter().any(PutBack::is_failed) { Exit::Failed } else { Exit::Done })
}

fn line(put_back: &PutBack) -> String {
    match put_back {
        PutBack::Removed { url, words } => format!("removed    {url}: {words}"),
        PutBack::NotRemoved { url, why, file } => format!(
            "NOT REMOVED {url}: {why}; fix that and run 'hopcost restore', or delete {file} where that \
             place is gone for good"
        ),
        PutBack::Setting(restored) => describe(restored),
        PutBack::Unread(why) => format!("not read   {why}"),
    }
}

pub fn describe(restored: &Restored) -> String {
    match restored {
        Restored::PutBack(change) => {
            format!("put back   {} = {}", change.setting.display(), change.old)
        }
        Restored::Unchanged(change) => {
            format!("unchanged  {} = {}", change.setting.display(), change.old)
        }
        Restored::Failed(change, why) => format!(
            "NOT PUT BACK {} = {}: {why}; fix that and run 'hopcost restore'",
            change.setting.display(),
            change.old
        ),
        Restored::LeftAlone(change, now) => format!(
            "left alone {} = {now}: another process changed it after hopcost (before it was {})",
            change.setting.display(),
            change.old
        ),
    }
}
