//! Targets refuse each setting in planning and in opening with the same words.

use std::collections::BTreeSet;

use hopcost_core::{
    Capabilities, Code, Comparison, CopyChoice, DataPlacement, Level, Load, Machine, PageSize,
    Policy, Reason, Response, Scale, Setting, Setup, Subject, Support, TargetError,
};
use hopcost_method::{Vocabulary, read_experiment};

use crate::goldens::machine;
use crate::on_database::OnDatabase;
use crate::{App, Dirs, Request, catalogue};

fn app() -> App {
    App::new(Dirs::below("/nowhere".as_ref()))
}

struct Case<'a> {
    settings: &'a [Setting],
    allow_server_changes: bool,
}

#[derive(Default)]
struct Asking {
    keys: BTreeSet<&'static str>,
    emulate: Option<&'static str>,
    calls: Option<(&'static str, &'static str)>,
    has_workloads: bool,
    script: bool,
}

impl Asking {
    fn with(mut self, setting: Setting) -> Self {
        match setting {
            // Equal in all variants, so that targets that support only some calls accept them.
            Setting::Workload => self.has_workloads = true,
            Setting::Statements => self.calls = Some(("nothing", "null_call")),
            Setting::Scripts => self.script = true,
            Setting::Inserts => self.calls = Some(("big_table_im", "memory_insert")),
            Setting::BatchInserts => self.calls = Some(("big_table_im", "memory_inserts")),
            Setting::Loads => self.calls = Some(("big_table_im", "bulk_load")),
            Setting::EmulatedNodes => self.emulate = Some("nodes=2"),
            Setting::EmulatedDistance => self.emulate = Some("nodes=2,remote_ns=80"),
            Setting::EmulatedModes => self.emulate = Some("nodes=2,bimodal=0.2:3x"),
            Setting::EmulatedSiblings => self.emulate = Some("nodes=2,siblings=1.2"),
            Setting::EmulatedContention => self.emulate = Some("nodes=2,usl=0.03:0.001"),
            key => self.keys.extend(key.example().unwrap().split(", ")),
        }
        self
    }

    fn comparison(&self) -> Comparison {
        let (dataset, workload) = self.calls.unwrap_or_default();
        let level = |name: &str| Level {
            name: name.to_owned(),
            workload: self.has_workloads.then(|| workload.to_owned()),
            ..self.level()
        };
        Comparison {
            target: None,
            dataset: dataset.to_owned(),
            scale: Scale { quick: 5000, full: 5000 },
            workload: workload.to_owned(),
            factor: "setting".to_owned(),
            levels: vec![level("baseline"), level("other")],
            streams: vec![1],
            load: Load::default(),
            response: Response::CallsPerSecond,
            find_worst: false,
            spread: false,
            find_scaling: false,
            claims: Vec::new(),
        }
    }

    fn level(&self) -> Level {
        if self.keys.is_empty() {
            return Level::default();
        }
        let keys = self.keys.iter().copied().collect::<Vec<_>>().join(", ");
        let text = format!(
            "question = \"?\"\n[subject]\ndataset = \"nothing\"\nworkload = \"null_call\"\n\
             scale = {{ quick = 1, full = 1 }}\n[factor.f]\na = {{ {keys} }}\nb = {{ {keys} }}\n\
             [measure]\nresponse = \"calls_per_second\"\n"
        );
        let known = Vocabulary {
            datasets: &["nothing"],
            workloads: &["null_call"],
            ..Vocabulary::default()
        };
        let experiment = read_experiment("x", &text, &known).unwrap_or_else(|no| panic!("{no}"));
        let Subject::Database(comparison) = experiment.subject else { panic!("{text}") };
        comparison.levels[0].clone()
    }
}

/// A target at a closed address: a connection attempt fails with another error than a refusal.
struct Engine {
    url: String,
    capabilities: Capabilities,
}

impl Engine {
    fn all() -> Vec<Self> {
        let nobody =
            |url: String| url.replace("localhost", "127.0.0.1:1").replace("@host", "@127.0.0.2:1");
        let all = hopcost_engines::capabilities();
        all.map(|(url, capabilities)| Self { url: nobody(url), capabilities }).collect()
    }

    fn is_a_server_that_runs(&self) -> bool {
        self.url.contains("//")
    }

    /// Settings it always needs, so that only the tested one can be refused.
    fn besides(&self) -> impl Iterator<Item = Setting> {
        let calls = [Setting::Statements, Setting::BatchInserts];
        let can = |setting: &Setting| self.capabilities.support(*setting) != Support::Refused;
        let needs = |setting: &Setting| self.capabilities.support(*setting) == Support::Required;
        let required = Setting::ALL.iter().copied().filter(needs).collect::<Vec<_>>();
        calls.into_iter().find(can).into_iter().chain(required)
    }

    fn ask(&self, machine: &Machine, case: &Case<'_>) -> [Result<(), Reason>; 2] {
        let besides = self.besides().fold(Asking::default(), Asking::with);
        self.answers(machine, case, &case.settings.iter().copied().fold(besides, Asking::with))
    }

    /// From planning and from opening. Opening is only tried at a closed address.
    fn answers(
        &self,
        machine: &Machine,
        case: &Case<'_>,
        asking: &Asking,
    ) -> [Result<(), Reason>; 2] {
        let experiment = catalogue::experiment("placebo").unwrap();
        assert!(matches!(experiment.subject, Subject::Database(_)));
        let script = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(script.path(), "SELECT 1;\n").unwrap();
        let mut asked = Request::quick("placebo");
        asked.target = Some(self.url.clone());
        asked.emulate = asking.emulate.map(str::to_owned);
        asked.allow_server_changes = case.allow_server_changes;
        asked.scripts =
            asking.script.then(|| script.path().display().to_string()).into_iter().collect();
        let prepared =
            OnDatabase::new(&app(), &experiment, &asking.comparison(), machine, &asked).unwrap();
        let planned = prepared.plan().map(drop);
        let opened = if prepared.refusal().is_some() || self.is_a_server_that_runs() {
            opened(&prepared, &prepared.unplaced())
        } else {
            Ok(())
        };
        [planned, opened]
    }
}

fn opened(prepared: &OnDatabase<'_>, setup: &Setup<'_>) -> Result<(), Reason> {
    match prepared.target.open(setup, &mut |_| true) {
        Err(TargetError::NotHere(reason)) => Err(reason),
        Err(error) => {
            assert_eq!(error.code(), Code::EngineFailed);
            Ok(())
        }
        Ok(_) => panic!("{} opened, which was to be refused", prepared.url()),
    }
}

#[test]
fn each_target_refuses_each_setting_as_its_data_says_when_it_is_planned_and_opened() {
    let machine = machine("vm-n4s2");
    for engine in Engine::all() {
        for setting in Setting::ALL {
            let support = engine.capabilities.support(*setting);
            for allow_server_changes in [false, true] {
                let case = Case { settings: &[*setting], allow_server_changes };
                let [planned, opened] = engine.ask(&machine, &case);
                let cell = format!("{} with {setting}: {planned:?}", engine.url);
                assert_eq!(planned, opened, "{cell}");
                let is_refused = match support {
                    Support::Accepted | Support::Required => false,
                    Support::WithServerChanges => !allow_server_changes,
                    Support::Refused => true,
                };
                assert_eq!(planned.is_err(), is_refused, "{cell}");
                let way_out = |why: &Reason| hopcost_view::absence::way_out(why);
                assert!(planned.err().is_none_or(|why| way_out(&why).is_some()), "{cell}");
            }
        }
    }
}

#[test]
fn what_a_target_needs_and_what_it_refuses_together_is_refused_in_both_places() {
    let machine = machine("vm-n4s2");
    let (mut lacking, mut together) = (0, 0);
    for engine in Engine::all() {
        for (setting, others) in engine.capabilities.not_together() {
            for other in others {
                let case = Case { settings: &[setting, *other], allow_server_changes: true };
                let [planned, opened] = engine.ask(&machine, &case);
                assert!(planned.is_err(), "{} with {setting} and {other}", engine.url);
                assert_eq!(planned, opened);
                together += 1;
            }
        }
        let required = engine.besides().any(|it| it == Setting::LogWriter);
        if required {
            let asking = Asking::default().with(Setting::Statements);
            let case = Case { settings: &[], allow_server_changes: true };
            let [planned, opened] = engine.answers(&machine, &case, &asking);
            assert_eq!(planned.as_ref().unwrap_err().code(), Code::Unsupported, "{}", engine.url);
            assert_eq!(planned, opened);
            lacking += 1;
        }
    }
    assert_eq!((lacking, together), (2, 5));
}

#[test]
fn copies_of_the_data_are_refused_without_an_experiment() {
    let machine = machine("vm-n4s2");
    let experiment = catalogue::experiment("placebo").unwrap();
    let asking = Asking::default().with(Setting::Statements);
    for engine in Engine::all().iter().filter(|engine| engine.is_a_server_that_runs()) {
        let mut asked = Request::quick("placebo");
        asked.target = Some(engine.url.clone());
        let prepared =
            OnDatabase::new(&app(), &experiment, &asking.comparison(), &machine, &asked).unwrap();
        for home in [
            DataPlacement::default().by(Policy::Bind),
            CopyChoice { instance: Some(1), ..CopyChoice::default() }.into(),
            CopyChoice { pages: Some(PageSize::Base), ..CopyChoice::default() }.into(),
        ] {
            let setup = Setup { levels: &[], homes: vec![home], ..prepared.unplaced() };
            let refused = opened(&prepared, &setup).unwrap_err();
            assert_eq!(refused.code(), Code::Unsupported, "{}: {refused}", engine.url);
            assert!(!refused.as_str().contains("{level}"), "{refused}");
        }
    }
}
