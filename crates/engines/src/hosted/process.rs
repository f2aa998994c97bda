//! The process that has a library in it: loads the data where it was put, then answers, a thread for each session.
//!
//! It is hopcost itself, started by hopcost with the library's hidden word. How far it is goes to its standard output,
//! what is wrong to its standard error.
#![allow(clippy::print_stdout, clippy::print_stderr)] // nobody but hopcost reads them

use std::os::unix::net::UnixListener;
use std::process::ExitCode;
use std::thread;

use super::library::{Library, LibraryResult};
use super::protocol::{LOADING, Order, READY};
use super::served::Served;
use super::work::Work;

/// Serves, if hopcost was started for one of these.
pub fn serve_if_asked(libraries: &[&dyn Library]) -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let word = arguments.next()?;
    let library = libraries.iter().find(|library| word == *library.info().hidden_word())?;
    let order = serde_json::from_slice(arguments.next()?.as_encoded_bytes()).ok()?;
    Some(match serve(*library, order) {
        Ok(()) => ExitCode::SUCCESS,
        Err(words) => {
            eprintln!("{words}");
            ExitCode::FAILURE
        }
    })
}

fn serve(library: &dyn Library, order: Order) -> LibraryResult<()> {
    let database = library.open(&order.file)?;
    let socket = order.socket.clone();
    let work = Work::of(&*database, order, &mut |share, table| {
        println!("{LOADING}{share} {table}");
    })?;
    let listener = UnixListener::bind(&socket);
    let listener = listener.map_err(|error| format!("{}: {error}", socket.display()))?;
    println!("{READY}{}", database.version());
    // It is there until the process is killed.
    let served =
        &*Box::leak(Box::new(Served { name: library.info().name, database, work, socket }));
    for stream in listener.incoming().flatten() {
        // It ends with its connection.
        thread::spawn(move || served.answer(stream));
    }
    Ok(())
}
