//! A table of which experiment settings each database accepts.

use std::fmt::Write as _;

use hopcost_app::Named;
use hopcost_core::{Capabilities, Setting, Support};
use serde::Serialize;

#[derive(Serialize)]
pub struct Matrix {
    settings: Vec<Named>,
    engines: Vec<Engine>,
}

/// One form of a target's URL.
#[derive(Serialize)]
struct Engine {
    target: String,
    accepted: Vec<Setting>,
    with_server_changes: Vec<Setting>,
    required: Vec<Setting>,
    refused: Vec<Setting>,
    not_together: Vec<Together>,
    #[serde(skip)]
    capabilities: Capabilities,
}

/// Refused only in combination.
#[derive(Serialize)]
struct Together {
    setting: Setting,
    with: &'static [Setting],
}

impl Engine {
    fn of((target, capabilities): (String, Capabilities)) -> Self {
        let such = |support: Support| -> Vec<Setting> {
            let all = Setting::ALL.iter().copied();
            all.filter(|setting| capabilities.support(*setting) == support).collect()
        };
        let not_together = capabilities.not_together();
        Self {
            target,
            accepted: such(Support::Accepted),
            with_server_changes: such(Support::WithServerChanges),
            required: such(Support::Required),
            refused: such(Support::Refused),
            not_together: not_together.map(|(setting, with)| Together { setting, with }).collect(),
            capabilities,
        }
    }
}

impl Matrix {
    pub fn new() -> Self {
        let settings = Setting::ALL.iter().map(|it| Named { name: it.name(), about: it.about() });
        Self {
            settings: settings.collect(),
            engines: hopcost_app::capabilities().map(Engine::of).collect(),
        }
    }

    pub fn text(&self) -> String {
        const NAME: usize = 20;
        let mut out = String::from("engines\n");
        for (number, engine) in (1..).zip(&self.engines) {
            let _ = writeln!(out, "  {number:>2}  {}", engine.target);
        }
        let legend = Support::ALL.map(|it| format!("{} {}", it.mark(), it.about())).join(", ");
        let numbers: String = (1..).take(self.engines.len()).map(|n| format!(" {n:>2}")).collect();
        let _ = writeln!(out, "\nsettings by engine: {legend}\n  {:NAME$}{numbers}", "");
        for setting in Setting::ALL {
            let marks = self.engines.iter().map(|engine| engine.capabilities.support(*setting));
            let marks: String = marks.map(|support| format!("  {}", support.mark())).collect();
            let _ = writeln!(out, "  {setting:NAME$}{marks}  {}", setting.about());
        }
        out.push_str("\nrefused together\n");
        for engine in &self.engines {
            for Together { setting, with } in &engine.not_together {
                let with: Vec<&str> = with.iter().map(|setting| setting.name()).collect();
                let with = with.join(" or ");
                let _ = writeln!(out, "  {}: {setting} with {with}", engine.target);
            }
        }
        out
    }
}
