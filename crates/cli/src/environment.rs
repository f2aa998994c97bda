//! Values read from the environment.

use hopcost_app::{App, Dirs};

pub fn app() -> App {
    App::new(Dirs::from_environment(&|name| std::env::var_os(name)))
}
