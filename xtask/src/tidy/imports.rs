//! Rule: no import cycles among the files of a crate.
//!
//! A name counts for the file that defines it, through any re-export. Re-exports in a `mod.rs` or
//! `lib.rs` are no imports.

use std::collections::{BTreeMap, BTreeSet};

use super::scan::{is_word, tokens};
use super::tree::{Complaint, File, Tree};

pub fn files_do_not_import_each_other(tree: &Tree) -> Vec<Complaint> {
    let complaints = circles(tree).into_iter().flatten().map(|Importer { file, imports }| {
        let line = imports.iter().map(|import| import.line).min().unwrap_or(1);
        let name = |Import { name, of, .. }: &Import<'_>| format!("{name} of {of}");
        let names: Vec<String> = imports.iter().map(name).collect();
        file.complain(line, format!("imports in a circle: {}", names.join(", ")))
    });
    complaints.collect()
}

#[derive(Debug)]
pub struct Importer<'a> {
    pub file: &'a File,
    pub imports: Vec<Import<'a>>,
}

#[derive(Clone, Debug)]
pub struct Import<'a> {
    pub name: &'a str,
    pub of: &'a str,
    pub line: usize,
}

pub fn circles<'a>(tree: &'a Tree) -> Vec<Vec<Importer<'a>>> {
    let modules = Modules::of(tree);
    let imports: BTreeMap<&str, Vec<Import<'a>>> =
        modules.0.values().map(|module| (&*module.file.path, modules.imports(module))).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        imports.keys().map(|path| (*path, reached_from(path, &imports))).collect();
    let mut circles = Vec::new();
    let mut seen = BTreeSet::new();
    for (path, onward) in &reached {
        let circle: Vec<&str> =
            onward.iter().copied().filter(|other| reached[other].contains(path)).collect();
        if circle.is_empty() || !seen.insert(circle.clone()) {
            continue;
        }
        let of_circle = |module: &&Module<'a>| circle.contains(&&*module.file.path);
        let importer = |module: &Module<'a>| {
            let imports = imports[&*module.file.path].iter();
            let imports = imports.filter(|import| circle.contains(&import.of)).cloned().collect();
            Importer { file: module.file, imports }
        };
        circles.push(modules.0.values().filter(of_circle).map(importer).collect());
    }
    circles
}

fn reached_from<'a>(
    path: &'a str,
    imports: &BTreeMap<&'a str, Vec<Import<'a>>>,
) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next = vec![path];
    while let Some(path) = next.pop() {
        let onward = imports[path].iter().map(|import| import.of);
        next.extend(onward.filter(|of| reached.insert(*of)));
    }
    reached
}

struct Modules<'a>(BTreeMap<&'a str, Module<'a>>);

struct Module<'a> {
    file: &'a File,
    root: &'a str,
    names: BTreeMap<&'a str, Vec<&'a str>>,
    globs: Vec<Vec<&'a str>>,
    items: BTreeSet<&'a str>,
    /// Paths in its code, with their offsets, without re-exports.
    uses: Vec<(usize, Vec<&'a str>)>,
}

#[derive(Clone, Copy)]
enum Place<'a> {
    Module(&'a str),
    Item(&'a str, &'a str),
    OtherCrate,
}

const DEFINING: [&str; 8] = ["const", "enum", "fn", "static", "struct", "trait", "type", "union"];
const MOST_STEPS: u32 = 16;

impl<'a> Modules<'a> {
    fn of(tree: &'a Tree) -> Self {
        let mut modules = BTreeMap::new();
        for module in tree.production().filter_map(Module::of) {
            // `main.rs` beside `lib.rs` is a separate crate, which no file imports.
            modules.entry(module.file.module()).or_insert(module);
        }
        Self(modules)
    }

    fn imports(&self, module: &Module<'a>) -> Vec<Import<'a>> {
        let mut imports: Vec<Import<'a>> = Vec::new();
        for (at, path) in &module.uses {
            let Place::Item(of, name) = self.find(module.file.module(), path, MOST_STEPS) else {
                continue;
            };
            let Some(of) = self.0.get(of).map(|module| &*module.file.path) else { continue };
            let is_known = imports.iter().any(|import| (import.of, import.name) == (of, name));
            if of != module.file.path && !is_known {
                imports.push(Import { name, of, line: module.file.line(*at) });
            }
        }
        imports
    }

    fn find(&self, from: &'a str, path: &[&'a str], steps: u32) -> Place<'a> {
        let (Some(steps), [first, rest @ ..]) = (steps.checked_sub(1), path) else {
            return Place::OtherCrate;
        };
        let mut place = match *first {
            "crate" => Place::Module(self.0[from].root),
            "self" => Place::Module(from),
            "super" => self.parent(from),
            name => self.member(from, name, steps).unwrap_or(Place::OtherCrate),
        };
        for name in rest {
            let Place::Module(module) = place else { break };
            place = match *name {
                "self" => place,
                "super" => self.parent(module),
                // Items made by macros are in no list.
                name => self.member(module, name, steps).unwrap_or(Place::Item(module, name)),
            };
        }
        place
    }

    fn member(&self, of: &'a str, name: &'a str, steps: u32) -> Option<Place<'a>> {
        let module = self.0.get(of)?;
        if let Some((child, _)) = self.0.get_key_value(&*format!("{of}/{name}")) {
            Some(Place::Module(child))
        } else if let Some(path) = module.names.get(name) {
            Some(self.find(of, path, steps))
        } else if module.items.contains(name) {
            Some(Place::Item(of, name))
        } else {
            module.globs.iter().find_map(|glob| match self.find(of, glob, steps) {
                Place::Module(other) if other != of => {
                    self.member(other, name, steps.checked_sub(1)?)
                }
                _ => None,
            })
        }
    }

    fn parent(&self, of: &'a str) -> Place<'a> {
        let parent = of.rsplit_once('/').and_then(|(parent, _)| self.0.get_key_value(parent));
        parent.map_or(Place::OtherCrate, |(parent, _)| Place::Module(parent))
    }
}

impl<'a> Module<'a> {
    fn of(file: &'a File) -> Option<Self> {
        const SOURCES: &str = "/src";
        let root = &file.path[..file.path.find("/src/")? + SOURCES.len()];
        let mut module = Self {
            file,
            root,
            names: BTreeMap::new(),
            globs: Vec::new(),
            items: BTreeSet::new(),
            uses: Vec::new(),
        };
        let tokens: Vec<(usize, &str)> = tokens(&file.scan.code).collect();
        let token = |n: usize| tokens.get(n).map_or("", |(_, token)| *token);
        let mut inner = Vec::new();
        let mut depth = 0;
        let mut n = 0;
        while n < tokens.len() {
            let before = if n > 0 { token(n - 1) } else { "" };
            match token(n) {
                "{" => depth += 1,
                "}" => {
                    depth -= 1;
                    inner.retain(|of| *of < depth);
                }
                "mod" if token(n + 2) == "{" => inner.push(depth),
                "use" if token(n + 1) != "<" => {
                    let is_reexport = file.is_contents() && matches!(before, "pub" | ")");
                    let end = n + tokens[n..].iter().position(|(_, token)| *token == ";")?;
                    module.import(&tokens[n + 1..end], is_reexport);
                    n = end;
                }
                word if is_word(word) && token(n + 1) == "::" && before != "::" => {
                    let (at, mut path) = (tokens[n].0, vec![word]);
                    while token(n + 1) == "::" && is_word(token(n + 2)) {
                        n += 2;
                        path.push(token(n));
                    }
                    let inside = path.iter().take(inner.len()).take_while(|name| **name == "super");
                    path.drain(..inside.count());
                    module.uses.push((at, path));
                }
                name if DEFINING.contains(&before) => {
                    module.items.insert(name);
                }
                _ => {}
            }
            n += 1;
        }
        Some(module)
    }

    fn import(&mut self, tokens: &[(usize, &'a str)], is_reexport: bool) {
        let mut path: Vec<&str> = Vec::new();
        let mut alias = None;
        let mut lists = vec![0];
        for (at, token) in tokens.iter().chain(&[(0, ",")]) {
            match *token {
                "{" => lists.push(path.len()),
                "," | "}" => {
                    if lists.last().is_some_and(|begin| path.len() > *begin) {
                        self.name(path.clone(), alias.take());
                    }
                    if *token == "}" {
                        lists.pop();
                    }
                    path.truncate(lists.last().copied().unwrap_or_default());
                }
                "::" => {}
                "as" => alias = Some(""),
                name if alias.is_some() => alias = Some(name),
                name => {
                    path.push(name);
                    if !is_reexport {
                        self.uses.push((*at, path.clone()));
                    }
                }
            }
        }
    }

    fn name(&mut self, mut path: Vec<&'a str>, alias: Option<&'a str>) {
        if path.last() == Some(&"*") {
            path.pop();
            self.globs.push(path);
            return;
        }
        if path.last() == Some(&"self") {
            path.pop();
        }
        if let Some(name) = alias.or(path.last().copied()) {
            self.names.insert(name, path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The circles of a crate, as `a: X of b; b: Y of a`.
    fn circles_of(files: &[(&str, &str)]) -> Vec<String> {
        let path = |name: &str| format!("crates/x/src/{name}.rs");
        let contents = [("lib", "")].into_iter().filter(|(lib, _)| files[0].0 != *lib);
        let files = files.iter().copied().chain(contents);
        let tree = Tree::of(files.map(|(name, text)| (path(name), text.to_owned())));
        let short = |path: &str| path["crates/x/src/".len()..path.len() - 3].to_owned();
        let importer = |importer: &Importer<'_>| {
            let import = |import: &Import<'_>| format!("{} of {}", import.name, short(import.of));
            let imports: Vec<_> = importer.imports.iter().map(import).collect();
            format!("{}: {}", short(&importer.file.path), imports.join(", "))
        };
        let circle =
            |circle: &Vec<Importer<'_>>| circle.iter().map(importer).collect::<Vec<_>>().join("; ");
        circles(&tree).iter().map(circle).collect()
    }

    #[test]
    fn files_that_import_each_other_are_found_by_whichever_name() {
        type Files = &'static [(&'static str, &'static str)];
        const A: (&str, &str) = ("a", "use crate::b::B;\npub struct A;");
        const C: (&str, &str) =
            ("c/mod", "mod d; mod e;\npub use d::{self, D as F};\npub use e::*;");
        let cases: &[(Files, &[&str])] = &[
            (&[A, ("b", "pub struct B(super::a::A);")], &["a: B of b; b: A of a"]),
            (&[A, ("b", "use std::fmt;\n#[cfg(test)] mod tests { use crate::a::A; }")], &[]),
            (&[A, ("b", "// crate::a::A\nconst B: &str = \"crate::a::A\";")], &[]),
            (
                &[C, ("c/d", "struct D(super::E);"), ("c/e", "use super::F; struct E;")],
                &["c/d: E of c/e; c/e: D of c/d"],
            ),
            (
                &[
                    ("lib", "mod c; pub use c::d;"),
                    C,
                    ("c/d", "use crate::f::f; struct D;"),
                    ("c/e", ""),
                    ("f", "use crate::{self as us}; fn f() { us::d::D }"),
                ],
                &["c/d: f of f; f: D of c/d"],
            ),
            // A table-of-contents file that its members import.
            (
                &[("c/mod", "mod d; use d::D; struct C(D);"), ("c/d", "struct D(super::C);")],
                &["c/mod: D of c/d; c/d: C of c/mod"],
            ),
            (&[("c/mod", "mod d; pub use d::D; struct C;"), ("c/d", "struct D(super::C);")], &[]),
            // In a module inside a file, `super` is the file.
            (&[("a", "mod b { struct S(super::C); } struct C;"), ("b", "use crate::a::C;")], &[]),
            (
                &[
                    ("a", "mod c { struct S(super::super::b::B); } struct A;"),
                    ("b", "struct B(crate::a::A);"),
                ],
                &["a: B of b; b: A of a"],
            ),
        ];
        for (files, circles) in cases {
            assert_eq!(&circles_of(files), circles, "{files:?}");
        }
    }
}
