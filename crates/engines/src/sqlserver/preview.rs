//! The statements that an experiment would send, as far as they are known without a server.

use hopcost_core::{Setup, Spoken, Statement, Table};

use super::super::wanted;
use super::calls::{self, INSERT_ROW};
use super::{schema, scripts};

const TRIED: &str = "Babelfish 4.3";

pub fn spoken(setup: &Setup<'_>) -> Vec<Spoken> {
    let of_scripts = scripts::all().map(|script| Spoken {
        name: script.name.to_owned(),
        about: script.about().to_owned(),
        versions: script.versions(),
        tried: script.spoken_to().map(str::to_owned),
        sql: script.sql().to_owned(),
    });
    let tables = wanted(setup).into_iter().map(|wanted| of_table(&wanted.table));
    // When a workload fills a table, the table's entry shows its statements.
    let fills = setup.spec().effect.filling().is_some();
    let statements = setup.spec().statements;
    let statements = statements.iter().filter(|_| !fills);
    let statements: Vec<Spoken> =
        statements.map(|statement| of_workload(setup, statement)).collect();
    tables.chain(statements).chain(of_scripts).collect()
}

fn of_table(table: &Table) -> Spoken {
    let in_memory = schema::is_in_memory(table);
    let statements = if in_memory {
        let made = schema::create_in_memory(table).into_iter();
        made.chain([INSERT_ROW.to_owned()]).collect::<Vec<_>>()
    } else {
        let made =
            [schema::create(table, table.name), schema::load_into(table, table.name)].into_iter();
        made.chain(schema::indexes(table)).collect()
    };
    Spoken {
        name: table.name.to_owned(),
        about: "a table, and how its rows come into it".to_owned(),
        versions: if in_memory { "2014 and later" } else { "2012 and later" }.to_owned(),
        tried: (!in_memory).then(|| TRIED.to_owned()),
        sql: statements.join(";\n"),
    }
}

fn of_workload(setup: &Setup<'_>, statement: &Statement) -> Spoken {
    let spoken = calls::RenderedStatement::of(statement, setup.dataset, 1);
    let arguments = match spoken.declared.as_str() {
        "" => "asked without arguments".to_owned(),
        declared => format!("asked with {declared}"),
    };
    Spoken {
        name: statement.name.to_owned(),
        about: format!("{arguments}, prepared"),
        versions: "2012 and later".to_owned(),
        tried: Some(TRIED.to_owned()),
        sql: spoken.sql,
    }
}
