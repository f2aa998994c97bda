//! Where a level has something stand.

use hopcost_core::{DistanceClass, Spot};
use toml::Spanned;

use super::{Flaw, list, nearest};

/// How far half the workers stand from the others.
pub(super) fn apart(text: &Spanned<String>) -> Result<DistanceClass, Flaw> {
    use DistanceClass::{FarSocket, OtherSocket, SameL3, SameNode, SameSocket};
    let places = [SameL3, SameNode, SameSocket, OtherSocket, FarSocket];
    let names = places.map(DistanceClass::name);
    let place = places.into_iter().find(|class| class.name() == text.get_ref());
    place.ok_or_else(|| {
        let message = format!("workers cannot stand '{}' from each other", text.get_ref());
        Flaw::of(
            text,
            message,
            format!("{}known: {}", nearest(text.get_ref(), &names), list(&names)),
        )
    })
}

/// A node by its letter, or a distance.
pub(super) fn spot(text: &Spanned<String>) -> Result<Spot, Flaw> {
    let words = text.get_ref().as_str();
    if let Some(node) = words.strip_prefix("node:") {
        let mut letters = node.chars();
        return match (letters.next(), letters.next()) {
            (Some(letter @ 'A'..='Z'), None) => Ok(Spot::Node(letter)),
            _ => Err(Flaw::of(
                text,
                format!("'{words}' is no node of an experiment"),
                "nodes are symbols, node:A to node:Z; the planner binds them to this machine's",
            )),
        };
    }
    let class = DistanceClass::ALL.into_iter().find(|class| class.name() == words);
    let names = DistanceClass::ALL.map(DistanceClass::name);
    class.map(Spot::Away).ok_or_else(|| {
        Flaw::of(
            text,
            format!("'{words}' is no place"),
            format!("{}write node:A, or a distance: {}", nearest(words, &names), list(&names)),
        )
    })
}
