//! Reads which recipes apply to which result.

use hopcost_core::{AdviceRule, Beyond, Subject, Unless, Verdict};
use toml::Spanned;

use super::file::{AdviceTable, UnlessTable};
use super::flaw::{Flaw, line};
use super::names::{expect_one_of, one_of};

const VERDICTS: [(&str, Verdict); 3] =
    [("COST", Verdict::Cost), ("GAIN", Verdict::Gain), ("MEASURED", Verdict::Measured)];

pub fn rule(table: &AdviceTable, subject: &Subject) -> Result<AdviceRule, Flaw> {
    let names = table.recipes.get_ref();
    if names.is_empty() {
        return Err(Flaw::of(&table.recipes, "no recipe is named", "name the best one first"));
    }
    let recipes = names.iter().map(recipe).collect::<Result<Vec<_>, _>>()?;
    if let Some(level) = &table.level {
        let levels: Vec<&str> = match subject {
            Subject::Database(comparison) => {
                comparison.levels.iter().map(|level| level.name.as_str()).collect()
            }
            Subject::Hardware { .. } => Vec::new(),
        };
        expect_one_of("level", level, &levels)?;
    }
    let verdict = table.verdict.as_ref().map(|text| one_of("verdict", text, &VERDICTS));
    Ok(AdviceRule {
        verdict: verdict.transpose()?,
        level: table.level.as_ref().map(|level| level.get_ref().clone()),
        beyond: table.beyond.as_ref().map_or(Ok(Beyond::default()), beyond)?,
        unless: table.unless.as_ref().map(|unless| exception(unless, &recipes)).transpose()?,
        recipes,
    })
}

fn beyond(text: &Spanned<String>) -> Result<Beyond, Flaw> {
    let factor = || {
        let factor: f64 = text.get_ref().strip_suffix('x')?.parse().ok()?;
        (factor.is_finite() && factor > 1.0).then_some(Beyond::Factor(factor))
    };
    match text.get_ref().as_str() {
        "margin" => Ok(Beyond::Margin),
        "zero" => Ok(Beyond::Zero),
        _ => factor().ok_or_else(|| {
            let words = format!("'{}' is nothing that a difference can exceed", text.get_ref());
            Flaw::of(text, words, "write margin, zero, or a factor above 1 such as 2x")
        }),
    }
}

fn recipe(name: &Spanned<String>) -> Result<String, Flaw> {
    let is_of_a_name =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if name.get_ref().is_empty() || !name.get_ref().bytes().all(is_of_a_name) {
        let words = format!("'{}' is no name of a recipe", name.get_ref());
        return Err(Flaw::of(name, words, "it has small letters, digits and hyphens"));
    }
    Ok(name.get_ref().clone())
}

fn exception(table: &UnlessTable, recipes: &[String]) -> Result<Unless, Flaw> {
    let names: Vec<&str> = recipes.iter().map(String::as_str).collect();
    expect_one_of("recipe in this rule", &table.recipe, &names)?;
    let says = line("says", &table.says)?;
    Ok(Unless { recipe: table.recipe.get_ref().clone(), says })
}
