//! The settings journal: records machine settings before changing them, and restores them.
//!
//! An entry holds a kernel file (`/proc/sys/…`, `/sys/…`) and its old and new content. It is synced
//! to disk, directory included, before the file is written. Each process has its own journal, named
//! by pid and start time and deleted when all is restored; `hopcost restore` settles those of dead
//! processes.
//!
//! Only one process at a time changes settings: two would each take the other's values for the
//! machine's own. A setting that another process changed meanwhile is left alone and reported.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::{clock, own_files};

#[derive(Debug, Error)]
pub enum JournalError {
    #[error("the settings journal {}: {source}; nothing was changed", path.display())]
    Journal { path: PathBuf, source: io::Error },
    #[error("{}: {source}", setting.display())]
    Setting { setting: PathBuf, source: io::Error },
    #[error(
        "another hopcost has settings of this machine changed: wait until it is through \
         ({} is locked)", lock.display()
    )]
    Taken { lock: PathBuf },
    #[error("the settings journal {} is damaged at line {line}: put the settings in it back by hand, then delete it", path.display())]
    Damaged { path: PathBuf, line: usize },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Change {
    pub setting: PathBuf,
    pub old: String,
    pub new: String,
    /// Seconds since 1970.
    pub at: u64,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum JournalEntry {
    Change(Change),
    /// Written after the change: what the setting then reads, which may be less than was asked for.
    Became(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    PutBack(Change),
    /// It held its old value already: the change never happened.
    Unchanged(Change),
    LeftAlone(Change, String),
    /// With the error; the journal keeps it for the next try.
    Failed(Change, String),
}

#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Option<File>,
    /// Held while settings are changed; a kill releases it.
    lock: Option<File>,
}

impl Journal {
    pub fn new(dir: &Path) -> Self {
        Self { path: own_files::path(dir, PREFIX), file: None, lock: None }
    }

    /// Records and syncs, then changes the setting. Returns what it reads afterwards.
    pub fn set(&mut self, setting: &Path, new: &str) -> Result<String, JournalError> {
        let old = read_setting(setting)?;
        if old == new {
            return Ok(old);
        }
        let change = Change {
            setting: setting.to_owned(),
            old,
            new: new.to_owned(),
            at: clock::unix_seconds(),
        };
        self.take_turn()?;
        self.append(&JournalEntry::Change(change))?;
        write_setting(setting, new)?;
        let became = read_setting(setting)?;
        self.append(&JournalEntry::Became(became.clone()))?;
        Ok(became)
    }

    /// Last change first.
    pub fn restore(&mut self) -> Result<Vec<Restored>, JournalError> {
        if self.file.take().is_none() {
            return Ok(Vec::new());
        }
        let settled = settle(&self.path);
        self.lock = None;
        settled
    }

    /// Fails at once if another run has settings changed.
    fn take_turn(&mut self) -> Result<(), JournalError> {
        if self.lock.is_some() {
            return Ok(());
        }
        let lock = self.path.parent().unwrap_or(Path::new("."));
        let failed = |source| JournalError::Journal { path: lock.to_owned(), source };
        fs::create_dir_all(lock).map_err(failed)?;
        // Locks the directory itself, which leaves no lock file behind.
        let dir = File::open(lock).map_err(failed)?;
        match dir.try_lock() {
            Ok(()) => self.lock = Some(dir),
            Err(fs::TryLockError::WouldBlock) => {
                return Err(JournalError::Taken { lock: lock.to_owned() });
            }
            Err(fs::TryLockError::Error(source)) => return Err(failed(source)),
        }
        Ok(())
    }

    fn append(&mut self, line: &JournalEntry) -> Result<(), JournalError> {
        let path = self.path.clone();
        let failed = |source| JournalError::Journal { path: path.clone(), source };
        let mut text = serde_json::to_string(line).map_err(|e| failed(e.into()))?;
        text.push('\n');
        let file = match &mut self.file {
            Some(file) => file,
            empty => empty.insert(own_files::create(&self.path).map_err(failed)?),
        };
        file.write_all(text.as_bytes()).and_then(|()| file.sync_data()).map_err(failed)
    }
}

impl Drop for Journal {
    /// A failure here leaves the journal for `hopcost restore`.
    fn drop(&mut self) {
        let _ = self.restore();
    }
}

pub fn leftovers(dir: &Path) -> io::Result<Vec<PathBuf>> {
    own_files::left_over(dir, PREFIX)
}

/// Restores a journal's settings, last change first, even if some fail, and deletes it if none
/// failed.
pub fn settle(path: &Path) -> Result<Vec<Restored>, JournalError> {
    let changes = read(path)?.into_iter().rev();
    let results: Vec<Restored> = changes
        .map(|(change, became)| match put_back(&change, became.as_deref()) {
            Ok(restored) => restored(change),
            Err(why) => Restored::Failed(change, why),
        })
        .collect();
    if !results.iter().any(|restored| matches!(restored, Restored::Failed(..))) {
        fs::remove_file(path)
            .map_err(|source| JournalError::Journal { path: path.to_owned(), source })?;
    }
    Ok(results)
}

/// Reads the setting again: a kernel may accept a value and keep another.
fn put_back(change: &Change, became: Option<&str>) -> Result<fn(Change) -> Restored, String> {
    let read = || read_setting(&change.setting).map_err(|error| error.to_string());
    let now = read()?;
    if now == change.old {
        return Ok(Restored::Unchanged);
    }
    // No reading after the change: the kill came in between, so the change is ours.
    if became.is_some_and(|became| now != became) {
        return Ok(|change| {
            let now = read_setting(&change.setting).unwrap_or_default();
            Restored::LeftAlone(change, now)
        });
    }
    write_setting(&change.setting, &change.old).map_err(|error| error.to_string())?;
    let now = read()?;
    if now == change.old { Ok(Restored::PutBack) } else { Err(format!("it still reads {now}")) }
}

fn read(path: &Path) -> Result<Vec<(Change, Option<String>)>, JournalError> {
    let failed = |source| JournalError::Journal { path: path.to_owned(), source };
    let text = fs::read_to_string(path).map_err(failed)?;
    let mut changes: Vec<(Change, Option<String>)> = Vec::new();
    // A line cut off by a crash was never synced, so its change was never made.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    for (at, line) in whole.lines().enumerate() {
        let damaged = || JournalError::Damaged { path: path.to_owned(), line: at + 1 };
        match serde_json::from_str(line).map_err(|_| damaged())? {
            JournalEntry::Change(change) => changes.push((change, None)),
            JournalEntry::Became(value) => changes.last_mut().ok_or_else(damaged)?.1 = Some(value),
        }
    }
    Ok(changes)
}

fn read_setting(setting: &Path) -> Result<String, JournalError> {
    let failed = |source| JournalError::Setting { setting: setting.to_owned(), source };
    let text = fs::read_to_string(setting).map_err(failed)?;
    // Some files bracket the choice in force: `always [madvise] never`.
    let chosen = text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map(|(c, _)| c);
    Ok(chosen.unwrap_or(&text).trim().to_owned())
}

fn write_setting(setting: &Path, value: &str) -> Result<(), JournalError> {
    let failed = |source| JournalError::Setting { setting: setting.to_owned(), source };
    OpenOptions::new()
        .write(true)
        .truncate(true)
        .open(setting)
        .and_then(|mut file| file.write_all(value.as_bytes()))
        .map_err(failed)
}

const PREFIX: &str = "settings-";

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let dir = tempfile::tempdir().unwrap();
        let setting = dir.path().join("nr_hugepages");
        fs::write(&setting, "7\n").unwrap();
        (dir, setting)
    }

    fn held(setting: &Path) -> String {
        fs::read_to_string(setting).unwrap().trim().to_owned()
    }

    fn abandon(journal: Journal) -> PathBuf {
        let path = journal.path.with_file_name("settings-1-1.jsonl");
        fs::rename(&journal.path, &path).unwrap();
        std::mem::forget(journal);
        path
    }

    #[test]
    fn what_is_changed_is_put_back_and_the_journal_goes() {
        let (dir, setting) = place();
        let state = dir.path().join("state");
        let mut journal = Journal::new(&state);
        assert_eq!(journal.set(&setting, "512").unwrap(), "512");
        assert_eq!(journal.set(&setting, "1024").unwrap(), "1024");
        assert_eq!(fs::read_dir(&state).unwrap().count(), 1);
        assert_eq!(journal.restore().unwrap().len(), 2);
        assert_eq!(held(&setting), "7");
        assert_eq!(fs::read_dir(&state).unwrap().count(), 0);
    }

    #[test]
    fn one_at_a_time_changes_settings() {
        let (dir, setting) = place();
        let mut first = Journal::new(dir.path());
        first.set(&setting, "512").unwrap();
        let mut second = Journal::new(dir.path());
        let error = second.set(&setting, "1024").unwrap_err();
        assert!(matches!(error, JournalError::Taken { .. }), "{error}");
        assert_eq!(held(&setting), "512", "and changed nothing");
        first.restore().unwrap();
        second.set(&setting, "1024").unwrap();
        drop(second);
        assert_eq!(held(&setting), "7");
    }

    #[test]
    fn one_setting_that_fails_keeps_no_other_from_being_put_back() {
        let (dir, setting) = place();
        let other = dir.path().join("swappiness");
        fs::write(&other, "60\n").unwrap();
        let mut journal = Journal::new(dir.path());
        journal.set(&setting, "512").unwrap();
        journal.set(&other, "1").unwrap();
        fs::remove_file(&other).unwrap();
        let path = abandon(journal);
        let restored = settle(&path).unwrap();
        assert!(
            matches!(restored[..], [Restored::Failed(..), Restored::PutBack(_)]),
            "{restored:?}"
        );
        assert_eq!(held(&setting), "7");
        assert!(path.exists(), "what failed is kept for the next try");
        fs::write(&other, "1\n").unwrap();
        assert!(matches!(
            settle(&path).unwrap()[..],
            [Restored::PutBack(_), Restored::Unchanged(_)]
        ));
        assert_eq!(held(&other), "60");
        assert!(!path.exists());
    }

    #[test]
    fn a_way_out_through_a_panic_puts_back_too() {
        let (dir, setting) = place();
        let result = std::panic::catch_unwind(|| {
            let mut journal = Journal::new(dir.path());
            journal.set(&setting, "512").unwrap();
            panic!("on purpose");
        });
        assert!(result.is_err());
        assert_eq!(held(&setting), "7");
    }

    #[test]
    fn a_killed_process_leaves_what_restore_needs() {
        let (dir, setting) = place();
        let mut journal = Journal::new(dir.path());
        journal.set(&setting, "512").unwrap();
        assert_eq!(leftovers(dir.path()).unwrap(), [] as [PathBuf; 0], "its owner lives");
        let path = abandon(journal);
        assert_eq!(leftovers(dir.path()).unwrap(), std::slice::from_ref(&path));
        assert!(matches!(settle(&path).unwrap()[..], [Restored::PutBack(_)]));
        assert_eq!(held(&setting), "7");
        assert!(leftovers(dir.path()).unwrap().is_empty());
    }

    #[test]
    fn a_kill_between_the_journal_and_the_change_is_no_change() {
        let (dir, setting) = place();
        let mut journal = Journal::new(dir.path());
        let change = Change { setting: setting.clone(), old: "7".into(), new: "512".into(), at: 0 };
        journal.append(&JournalEntry::Change(change)).unwrap();
        let path = abandon(journal);
        assert!(matches!(settle(&path).unwrap()[..], [Restored::Unchanged(_)]));
        assert_eq!(held(&setting), "7");
    }

    #[test]
    fn somebody_elses_later_change_is_left_alone() {
        let (dir, setting) = place();
        let mut journal = Journal::new(dir.path());
        journal.set(&setting, "512").unwrap();
        fs::write(&setting, "9").unwrap();
        let results = journal.restore().unwrap();
        assert!(matches!(&results[..], [Restored::LeftAlone(_, now)] if now == "9"));
        assert_eq!(held(&setting), "9");
    }

    #[test]
    fn a_cut_off_last_line_is_no_change_and_a_damaged_one_is_said() {
        let (dir, setting) = place();
        let mut journal = Journal::new(dir.path());
        journal.set(&setting, "512").unwrap();
        let path = abandon(journal);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{text}{{\"change\":{{\"sett")).unwrap();
        assert_eq!(read(&path).unwrap().len(), 1);
        fs::write(&path, format!("nonsense\n{text}")).unwrap();
        let error = settle(&path).unwrap_err().to_string();
        assert!(error.contains("damaged at line 1"), "{error}");
        assert_eq!(held(&setting), "512", "nothing is touched on the word of a damaged journal");
    }

    #[test]
    fn without_a_journal_nothing_is_changed() {
        let (dir, setting) = place();
        let blocked = dir.path().join("file");
        fs::write(&blocked, "").unwrap();
        let error = Journal::new(&blocked).set(&setting, "512").unwrap_err().to_string();
        assert!(error.ends_with("nothing was changed"), "{error}");
        assert_eq!(held(&setting), "7");
    }

    #[test]
    fn reads_the_chosen_of_several() {
        let (dir, _) = place();
        let setting = dir.path().join("enabled");
        fs::write(&setting, "always [madvise] never\n").unwrap();
        assert_eq!(read_setting(&setting).unwrap(), "madvise");
    }
}
