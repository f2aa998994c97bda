//! Creates results; nothing else does.

use hopcost_core::{Experiment, ExperimentResult, Headline, Known, Reason, Verdict};

const VERSION: u32 = 1;

pub struct ResultOf {
    pub experiment: String,
    pub question: String,
    pub target: Known<String>,
    pub emulated: bool,
    pub seconds: f64,
}

impl ResultOf {
    pub fn of(experiment: &Experiment, target: Known<String>, emulated: bool) -> Self {
        let Experiment { name, question, .. } = experiment;
        let (experiment, question) = (name.clone(), question.clone());
        Self { experiment, question, target, emulated, seconds: 0.0 }
    }

    pub fn ended(
        self,
        verdict: Verdict,
        reason: Reason,
        estimate: Known<Headline>,
    ) -> ExperimentResult {
        ExperimentResult {
            version: VERSION,
            experiment: self.experiment,
            question: self.question,
            target: self.target,
            verdict,
            reason,
            estimate,
            proof: Vec::new(),
            emulated: self.emulated,
            planted: None,
            details: None,
            against: None,
            seconds: self.seconds,
        }
    }

    pub fn without_figure(self, verdict: Verdict, reason: &Reason) -> ExperimentResult {
        self.ended(verdict, reason.clone(), Known::Missing(reason.clone()))
    }
}
