//! Output: colors are kept on a terminal and dropped elsewhere or with `NO_COLOR`.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use hopcost_app::{Failure, InContext, Outcome};
use hopcost_core::Code;
use hopcost_view::{Canvas, FORMATS, Format, Shown, format};
use serde::Serialize;

use crate::help;

/// For pipes and files.
const DEFAULT_COLUMNS: usize = 80;

pub fn print(text: &str) -> Outcome<()> {
    let mut out = anstream::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}

pub fn print_json(value: &impl Serialize) -> Outcome<()> {
    let mut out = io::stdout().lock();
    serde_json::to_writer_pretty(&mut out, value).map_err(io::Error::from)?;
    writeln!(out)?;
    Ok(out.flush()?)
}

/// On standard error.
pub fn remark(text: &str) {
    note(&format!("hopcost: {text}"));
}

/// On standard error, as it is.
pub fn note(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

pub fn columns() -> usize {
    terminal_size::terminal_size().map_or(DEFAULT_COLUMNS, |(width, _)| usize::from(width.0))
}

/// What results are shown as.
#[derive(Debug, Default, Args)]
pub struct FormatArgs {
    /// Show results as NAME, here or in FILE; may be given again, for other files
    #[arg(long, value_name = "NAME[=FILE]", conflicts_with = "json", value_parser = Output::read)]
    #[arg(long_help = help::formats())]
    pub format: Vec<Output>,
}

#[derive(Clone, Debug)]
pub struct Output {
    format: &'static Format,
    /// `None`: standard output.
    file: Option<PathBuf>,
    /// As the user wrote it, for error messages.
    option: String,
}

impl Output {
    /// `html=page.html`, or `csv`.
    pub fn read(text: &str) -> Result<Self, String> {
        let (name, file) =
            text.split_once('=').map_or((text, None), |(name, file)| (name, Some(file)));
        let Some(format) = format::named(name) else {
            let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            return Err(format!("there is no format '{name}'; choose one of {}", known.join(", ")));
        };
        if file == Some("") {
            return Err(format!("name a file, as {name}=FILE, or leave out the '='"));
        }
        let option = match file {
            None => format!("--format {name}"),
            Some(file) => format!("--format {name}={file}"),
        };
        Ok(Self { format, file: file.map(PathBuf::from), option })
    }

    pub fn printed(format: &'static Format) -> Self {
        Self { format, file: None, option: format!("--{}", format.name) }
    }

    pub fn written(format: &'static Format, file: &Path) -> Self {
        let option = format!("--{} {}", format.name, file.display());
        Self { format, file: Some(file.to_owned()), option }
    }

    pub fn of(format: &[Self], json: bool) -> Vec<Self> {
        if json { vec![Self::printed(&format::JSON)] } else { format.to_vec() }
    }

    pub fn is_printed(&self) -> bool {
        self.file.is_none()
    }

    pub fn is_for_people(&self) -> bool {
        self.is_printed() && self.format.name == format::TERMINAL.name
    }

    /// Leaves no file behind, and existing ones unchanged.
    pub fn can_be_written(&self) -> Outcome<()> {
        let Some(path) = &self.file else { return Ok(()) };
        if path.is_dir() {
            return Err(Failure::usage(
                Code::BadFile,
                format!("{}: this is a directory", self.option),
            ));
        }
        if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
            return Ok(());
        }
        let beside = beside(path);
        let tried = fs::write(&beside, "").and_then(|()| fs::remove_file(&beside));
        tried.in_context(&self.option)
    }

    pub fn show(&self, shown: &Shown<'_>) -> Outcome<u64> {
        let text = (self.format.of)(shown, Canvas { columns: columns() });
        match &self.file {
            None => print(&text)?,
            Some(path) => {
                replace(path, &hopcost_view::plain(&text)).in_context(&self.option)?;
            }
        }
        Ok(text.len() as u64)
    }
}

/// At most one output is printed, and all files can be written. Call it before measuring.
pub fn can_be_shown(wanted: &[Output]) -> Outcome<()> {
    let mut printed = wanted.iter().filter(|wanted| wanted.is_printed());
    if let (Some(one), Some(other)) = (printed.next(), printed.next()) {
        return Err(Failure::usage(
            Code::BadValue,
            format!("{} and {} cannot both be printed: give one a file", one.option, other.option),
        ));
    }
    wanted.iter().try_for_each(Output::can_be_written)
}

pub fn show(wanted: &[Output], shown: &Shown<'_>) -> Outcome<()> {
    for wanted in wanted {
        let bytes = hopcost_view::bytes(wanted.show(shown)?);
        if let Some(path) = &wanted.file {
            remark(&format!("wrote {} ({bytes})", path.display()));
        }
    }
    Ok(())
}

fn beside(place: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    name.push(format!(".{}.new", std::process::id()));
    place.with_file_name(name)
}

/// Replaces a file atomically by a rename. Special files such as pipes are written directly.
fn replace(path: &Path, text: &str) -> io::Result<()> {
    let place = match fs::metadata(path) {
        Ok(there) if !there.is_file() => return fs::write(path, text),
        // Replace the target of a symbolic link.
        Ok(_) => fs::canonicalize(path)?,
        Err(_) => path.to_owned(),
    };
    let beside = beside(&place);
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, &place));
    if written.is_err() {
        // It may not exist.
        let _ = fs::remove_file(&beside);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("page.html");
        replace(&path, "one").unwrap();
        let link = dir.path().join("link.html");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace(&link, "two").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two");
        assert!(link.is_symlink());
        assert!(replace(&dir.path().join("no/such/page.html"), "x").is_err());
        assert!(replace(dir.path(), "x").is_err(), "a directory is no page");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left lying about");
    }

    #[test]
    fn an_output_is_named_and_may_have_a_file() {
        let wanted = Output::read("html=a=b.html").unwrap();
        assert_eq!(wanted.format.name, "html");
        assert_eq!(wanted.file.as_deref(), Some(Path::new("a=b.html")));
        assert!(Output::read("csv").unwrap().is_printed());
        let unknown = Output::read("pdf").unwrap_err();
        assert!(FORMATS.iter().all(|format| unknown.contains(format.name)), "{unknown}");
        assert!(Output::read("csv=").is_err());
        let two = [Output::read("csv").unwrap(), Output::read("json").unwrap()];
        assert_eq!(can_be_shown(&two).unwrap_err().code, Code::BadValue);
        assert!(can_be_shown(&two[..1]).is_ok());
    }
}
