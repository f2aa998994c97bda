//! **standard_oltp** and **augmented_oltp**: the two read-only transactions of TPC-C.
//!
//! Half of the calls are Order Status, by number or (60%) by last name, half are Stock Level. Type
//! and district are random; there is no think time. Augmented, each also averages the price of the
//! first 14,999 items, which takes most of its time.
//!
//! Method: a transaction is one statement, so that a call is one round trip. Joins are written
//! CROSS JOIN and WHERE, which only SQLite takes as a fixed order. Arguments are numbers, so a name
//! is read from customer n + 1 of the district, who has name n: one page access by key more.
//! Averages are returned as sum and count, because databases round differently. Limits: data never
//! changes, so each customer has one order. Calls are short; there are no slices.

use std::sync::OnceLock;

use fastrand::Rng;
use hopcost_core::{
    Answer, Reason, Request, Requests, Row, Shape, Statement, Stream, Workload, WorkloadInfo,
    WorkloadSpec,
};

use super::answers::compare;
use super::requests::{dice, requests};
use crate::datasets::tpcc::{
    BALANCE, CUSTOMERS, DISTRICTS, District, LINE_QUANTITY, MIDDLE_NAME, NAMES, ORDERS, entry_us,
    last_name, nurand, price, stock_quantity,
};

pub struct Oltp {
    info: WorkloadInfo,
    augmented: bool,
}

pub const STANDARD: Oltp = Oltp {
    info: WorkloadInfo {
        name: "standard_oltp",
        about: "TPC-C's Order Status and Stock Level in turn, as drawn, in one statement each",
        tables: &["district", "customer", "orders", "order_line", "stock"],
    },
    augmented: false,
};
pub const AUGMENTED: Oltp = Oltp {
    info: WorkloadInfo {
        name: "augmented_oltp",
        about: "TPC-C's Order Status and Stock Level in turn, each with an average over 14,999 items",
        tables: &["district", "customer", "orders", "order_line", "stock", "item"],
    },
    augmented: true,
};

const BY_NAME: usize = 0;
const BY_NUMBER: usize = 1;
const STOCK_LEVEL: usize = 2;

const FIRST_LEFT_OUT: u64 = 15_000;
const LAST_ORDERS: u64 = 20;
/// NURand's constants for customer names and numbers. That for names differs from the load's by 66,
/// one of the distances that clause 2.1.6.1 allows.
const C_NAME: u64 = 223;
const C_NUMBER: u64 = 259;
/// For sorting namesakes, and the items of twenty orders.
const SCRATCH_BYTES: u64 = 64 << 10;

macro_rules! order_status {
    ($customer:literal, $which:literal, $columns:literal, $average:literal) => {
        concat!(
            "SELECT c.c_id, c.c_first, c.c_middle, c.c_last, c.c_balance, o.o_id, o.o_entry_d, \
             o.o_carrier_id, l.ol_i_id, l.ol_supply_w_id, l.ol_quantity, l.ol_amount, \
             l.ol_delivery_d",
            $columns,
            " FROM ",
            $customer,
            " AS c CROSS JOIN orders AS o CROSS JOIN order_line AS l",
            $average,
            " WHERE ",
            $which,
            " AND o.o_w_id = c.c_w_id AND o.o_d_id = c.c_d_id AND o.o_id = (\
             SELECT max(m.o_id) FROM orders AS m \
             WHERE m.o_w_id = c.c_w_id AND m.o_d_id = c.c_d_id AND m.o_c_id = c.c_id) \
             AND l.ol_w_id = o.o_w_id AND l.ol_d_id = o.o_d_id AND l.ol_o_id = o.o_id"
        )
    };
}

macro_rules! statements {
    ($columns:literal, $average:literal) => {
        [
            order_status!(
                "(SELECT n.c_w_id, n.c_d_id, n.c_id, \
                 row_number() OVER (ORDER BY n.c_first, n.c_id) AS place, \
                 count(*) OVER () AS namesakes FROM customer AS k CROSS JOIN customer AS n \
                 WHERE k.c_w_id = ? AND k.c_d_id = ? AND k.c_id = ? AND n.c_w_id = k.c_w_id \
                 AND n.c_d_id = k.c_d_id AND n.c_last = k.c_last) AS p CROSS JOIN customer",
                // The middle position is half of their number, rounded up.
                "p.place * 2 >= p.namesakes AND p.place * 2 <= p.namesakes + 1 \
                 AND c.c_w_id = p.c_w_id AND c.c_d_id = p.c_d_id AND c.c_id = p.c_id",
                $columns,
                $average
            ),
            order_status!(
                "customer",
                "c.c_w_id = ? AND c.c_d_id = ? AND c.c_id = ?",
                $columns,
                $average
            ),
            concat!(
                "SELECT c.low",
                $columns,
                " FROM (SELECT count(DISTINCT s.s_i_id) AS low \
                 FROM district AS d CROSS JOIN order_line AS l CROSS JOIN stock AS s \
                 WHERE d.d_w_id = ? AND d.d_id = ? AND l.ol_w_id = d.d_w_id AND l.ol_d_id = d.d_id \
                 AND l.ol_o_id >= d.d_next_o_id - 20 AND l.ol_o_id < d.d_next_o_id \
                 AND s.s_w_id = d.d_w_id AND s.s_i_id = l.ol_i_id AND s.s_quantity < ?) AS c",
                $average
            ),
        ]
    };
}

const NAMES_OF_STATEMENTS: [&str; 3] =
    ["order_status_by_name", "order_status_by_number", "stock_level"];
const PLAIN: [&str; 3] = statements!("", "");
const AVERAGING: [&str; 3] = statements!(
    ", a.total, a.items",
    " CROSS JOIN (SELECT sum(i_price) AS total, count(*) AS items FROM item WHERE i_id < 15000) AS a"
);

impl Workload for Oltp {
    fn info(&self) -> &WorkloadInfo {
        &self.info
    }

    fn spec(&self, _: Shape) -> WorkloadSpec {
        let texts = if self.augmented { AVERAGING } else { PLAIN };
        let named = NAMES_OF_STATEMENTS.into_iter().zip(texts);
        let statements = named.map(|(name, sql)| Statement::of(name, sql, 3)).collect();
        WorkloadSpec { scratch_bytes: SCRATCH_BYTES, ..WorkloadSpec::of(statements) }
    }

    fn requests(&self, shape: Shape, stream: Stream) -> Box<dyn Requests> {
        let (mut dice, warehouses) = (dice(stream), shape.rows.max(1));
        requests(move || drawn(&mut dice, warehouses))
    }

    fn check(&self, _: Shape, request: &Request, answer: &Answer) -> Result<(), Reason> {
        compare(&in_words(request), answer, &right_answer(request, self.augmented))
    }
}

fn drawn(dice: &mut Rng, warehouses: u64) -> Request {
    let (warehouse, district) = (dice.u64(1..=warehouses), dice.u64(1..=DISTRICTS));
    let (statement, third) = if dice.bool() {
        (STOCK_LEVEL, dice.u64(10..=20))
    } else if dice.u64(0..100) < 60 {
        (BY_NAME, nurand(dice, 255, [0, NAMES - 1], C_NAME) + 1)
    } else {
        (BY_NUMBER, nurand(dice, 1023, [1, CUSTOMERS], C_NUMBER))
    };
    let arguments = [warehouse, district, third, 0].map(u64::cast_signed);
    Request { statement, arguments }
}

fn in_words(request: &Request) -> String {
    let [warehouse, district, third, _] = request.arguments;
    let name = NAMES_OF_STATEMENTS[request.statement];
    let about = ["customers of the same name", "customer", "stock below"][request.statement];
    format!("{name} of {about} {third}, district {district} of warehouse {warehouse}")
}

fn right_answer(request: &Request, augmented: bool) -> Answer {
    let [warehouse, number, third, _] = request.arguments.map(i64::cast_unsigned);
    let district = District { warehouse, number };
    let finish = |row: Row| {
        if !augmented {
            return row;
        }
        let (total, items) = average();
        row.integer(total).integer(items)
    };
    match request.statement {
        BY_NAME => order_status(district, middle_namesake(district, third), finish),
        BY_NUMBER => order_status(district, third, finish),
        _ => {
            let low = low_items(district, third.cast_signed());
            Answer::of(finish(Row::new().integer(low)))
        }
    }
}

fn average() -> (i64, i64) {
    static TOTAL: OnceLock<i64> = OnceLock::new();
    let averaged = 1..FIRST_LEFT_OUT;
    let items = (averaged.end - averaged.start).cast_signed();
    (*TOTAL.get_or_init(|| averaged.map(price).sum()), items)
}

/// The middle customer by first name among those with the same last name.
fn middle_namesake(district: District, customer: u64) -> u64 {
    let name = district.last_name(customer);
    let namesakes = (1..=CUSTOMERS).filter(|other| district.last_name(*other) == name);
    let mut namesakes: Vec<_> =
        namesakes.map(|other| (district.first_name(other), other)).collect();
    namesakes.sort_by(|(a, a_id), (b, b_id)| (a.as_str(), a_id).cmp(&(b.as_str(), b_id)));
    namesakes[(namesakes.len() - 1) / 2].1
}

fn order_status(district: District, customer: u64, finish: impl Fn(Row) -> Row) -> Answer {
    let order = district.order_of(customer);
    let id = |row: Row, id: u64| row.integer(id.cast_signed());
    let or_null = |row: Row, value: Option<i64>| value.map_or(row.null(), |it| row.integer(it));
    let head = id(Row::new(), customer)
        .text(district.first_name(customer).as_str())
        .text(MIDDLE_NAME)
        .text(last_name(district.last_name(customer)).as_str())
        .integer(BALANCE);
    let head = or_null(id(head, order).integer(entry_us(order)), district.carrier(order));
    let mut answer = Answer::default();
    for line in (1..=district.lines(order)).map(|line| district.line(order, line)) {
        let row = id(id(head, line.item), district.warehouse);
        let row = row.integer(LINE_QUANTITY).integer(line.amount);
        answer.add(finish(or_null(row, line.delivered_us)));
    }
    answer
}

fn low_items(district: District, threshold: i64) -> i64 {
    let orders = ORDERS + 1 - LAST_ORDERS..=ORDERS;
    let lines = orders.flat_map(|order| {
        (1..=district.lines(order)).map(move |line| district.line(order, line).item)
    });
    let is_low = |item: &u64| stock_quantity(district.warehouse, *item) < threshold;
    let mut low: Vec<u64> = lines.filter(is_low).collect();
    low.sort_unstable();
    low.dedup();
    (low.len() as u64).cast_signed()
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use hopcost_core::Dataset;
    use rusqlite::types::Value;

    use super::*;
    use crate::datasets::tpcc::Tpcc;
    use crate::workloads::on_sqlite::{Database, digest};
    use crate::written::{number_of, values};

    const SHAPE: Shape = Shape { rows: 2, sliced: false };
    const DISTRICTS_READ: i64 = 3;

    struct Raw(BTreeMap<&'static str, Sheet>);

    struct Sheet {
        columns: Vec<&'static str>,
        rows: Vec<Vec<Value>>,
    }

    #[derive(Clone, Copy)]
    struct Found<'a> {
        columns: &'a [&'static str],
        values: &'a [Value],
    }

    impl Raw {
        fn read() -> Self {
            let mut sheets = BTreeMap::new();
            for (at, table) in Tpcc.tables(SHAPE.rows).iter().enumerate() {
                // Skips columns that are long or never read.
                let is_kept =
                    |name: &str| !["_info", "_data", "_dist_"].iter().any(|no| name.contains(no));
                let kept: Vec<usize> = (0..table.columns.len())
                    .filter(|column| is_kept(table.columns[*column].name))
                    .collect();
                let columns: Vec<&str> = kept.iter().map(|at| table.columns[*at].name).collect();
                let district = columns.iter().position(|name| name.ends_with("d_id"));
                let row = |number| {
                    let all = values(&Tpcc, at, number);
                    let row: Vec<Value> = kept.iter().map(|column| all[*column].clone()).collect();
                    let is_read = |at: usize| number_of(&row[at]) <= DISTRICTS_READ;
                    district.is_none_or(is_read).then_some(row)
                };
                let rows = (0..table.rows).filter_map(row).collect();
                sheets.insert(table.name, Sheet { columns, rows });
            }
            Self(sheets)
        }

        fn find(&self, table: &str, wanted: &[(&str, i64)]) -> Vec<Found<'_>> {
            let Sheet { columns, rows } = &self.0[table];
            let place = |column: &str| columns.iter().position(|name| *name == column).unwrap();
            let wanted: Vec<(usize, Value)> =
                wanted.iter().map(|(column, value)| (place(column), (*value).into())).collect();
            let fits = |row: &&Vec<Value>| wanted.iter().all(|(at, value)| row[*at] == *value);
            rows.iter().filter(fits).map(|values| Found { columns, values }).collect()
        }
    }

    impl<'a> Found<'a> {
        fn get(self, column: &str) -> &'a Value {
            &self.values[self.columns.iter().position(|name| *name == column).unwrap()]
        }

        fn number(self, column: &str) -> i64 {
            number_of(self.get(column))
        }

        fn all(self, columns: &'static str) -> impl Iterator<Item = Value> {
            columns.split(' ').map(move |column| self.get(column).clone())
        }
    }

    fn by_hand(raw: &Raw, request: &Request, augmented: bool) -> Answer {
        let [w, d, third, _] = request.arguments;
        let mut rows = match request.statement {
            BY_NAME => order_status_of(raw, w, d, middle_of_namesakes(raw, w, d, third)),
            BY_NUMBER => order_status_of(raw, w, d, third),
            _ => {
                let district = raw.find("district", &[("d_w_id", w), ("d_id", d)])[0];
                let next = district.number("d_next_o_id");
                let lines = raw.find("order_line", &[("ol_w_id", w), ("ol_d_id", d)]).into_iter();
                let lines =
                    lines.filter(|line| (next - 20..next).contains(&line.number("ol_o_id")));
                let items: BTreeSet<i64> = lines.map(|line| line.number("ol_i_id")).collect();
                let stock = raw.find("stock", &[("s_w_id", w)]).into_iter();
                let low = stock.filter(|stock| stock.number("s_quantity") < third);
                let low = low.filter(|stock| items.contains(&stock.number("s_i_id"))).count();
                vec![vec![Value::Integer(low.try_into().unwrap())]]
            }
        };
        if augmented {
            let cheap = raw.find("item", &[]).into_iter();
            let cheap = cheap.filter(|item| item.number("i_id") < 15_000);
            let prices: Vec<i64> = cheap.map(|item| item.number("i_price")).collect();
            let number = prices.len().try_into().unwrap();
            let average = [prices.iter().sum(), number].map(Value::Integer);
            for row in &mut rows {
                row.extend(average.clone());
            }
        }
        let mut answer = Answer::default();
        for row in &rows {
            answer.add(digest(row));
        }
        answer
    }

    fn middle_of_namesakes(raw: &Raw, w: i64, d: i64, customer: i64) -> i64 {
        let all = raw.find("customer", &[("c_w_id", w), ("c_d_id", d)]);
        let name = all.iter().find(|other| other.number("c_id") == customer).unwrap();
        let mut namesakes: Vec<(String, i64)> = all
            .iter()
            .filter(|other| other.get("c_last") == name.get("c_last"))
            .map(|other| (format!("{:?}", other.get("c_first")), other.number("c_id")))
            .collect();
        namesakes.sort();
        namesakes[namesakes.len().div_ceil(2) - 1].1
    }

    fn order_status_of(raw: &Raw, w: i64, d: i64, customer: i64) -> Vec<Vec<Value>> {
        let id = [("c_w_id", w), ("c_d_id", d), ("c_id", customer)];
        let customer_row = raw.find("customer", &id)[0];
        let orders = raw.find("orders", &[("o_w_id", w), ("o_d_id", d), ("o_c_id", customer)]);
        let last = orders.into_iter().max_by_key(|order| order.number("o_id")).unwrap();
        let id = [("ol_w_id", w), ("ol_d_id", d), ("ol_o_id", last.number("o_id"))];
        let row = |line: &Found<'_>| {
            let head = customer_row.all("c_id c_first c_middle c_last c_balance");
            head.chain(last.all("o_id o_entry_d o_carrier_id"))
                .chain(line.all("ol_i_id ol_supply_w_id ol_quantity ol_amount ol_delivery_d"))
                .collect()
        };
        raw.find("order_line", &id).iter().map(row).collect()
    }

    fn sample(workload: &Oltp, calls: usize) -> Vec<Request> {
        let mut requests = workload.requests(SHAPE, Stream { number: 0, of: 1, seed: 11 });
        (0..calls).map(|_| requests.next()).collect()
    }

    #[test]
    fn going_through_all_rows_a_database_and_the_rules_give_the_same_answers() {
        let database = Database::of(&Tpcc, SHAPE.rows, AUGMENTED.info().tables);
        let raw = Raw::read();
        let mut compared = [0; 3];
        for workload in [STANDARD, AUGMENTED] {
            let requests = sample(&workload, 300).into_iter();
            for request in requests.filter(|request| request.arguments[1] <= DISTRICTS_READ) {
                let words = in_words(&request);
                let right = right_answer(&request, workload.augmented);
                assert_eq!(right, by_hand(&raw, &request, workload.augmented), "{words}");
                database.assert_right(&workload, SHAPE, &request);
                compared[request.statement] += 1;
            }
        }
        assert!(compared.iter().all(|times| *times > 15), "{compared:?}");
    }

    #[test]
    fn nothing_is_looked_for_but_by_a_key() {
        let database = Database::of(&Tpcc, 0, AUGMENTED.info().tables);
        for workload in [STANDARD, AUGMENTED] {
            for statement in workload.spec(SHAPE).statements {
                let plan = database.plan_of(&statement);
                let small = ["SCAN p", "SCAN c", "SCAN a", "SCAN (subquery"];
                let is_small = |step: &String| small.iter().any(|scan| step.starts_with(scan));
                let mut scans = plan.iter().filter(|step| step.starts_with("SCAN"));
                assert!(scans.all(is_small), "{plan:#?}");
                let wanted: &[&str] = match statement.name {
                    "order_status_by_name" => &[
                        "SEARCH n USING COVERING INDEX customer_0 \
                         (c_w_id=? AND c_d_id=? AND c_last=?)",
                        "SEARCH c USING PRIMARY KEY (c_w_id=? AND c_d_id=? AND c_id=?)",
                        "SEARCH m USING COVERING INDEX orders_0 \
                         (o_w_id=? AND o_d_id=? AND o_c_id=?)",
                    ],
                    "order_status_by_number" => &[
                        "SEARCH c USING PRIMARY KEY (c_w_id=? AND c_d_id=? AND c_id=?)",
                        "SEARCH l USING PRIMARY KEY (ol_w_id=? AND ol_d_id=? AND ol_o_id=?)",
                    ],
                    _ => &[
                        "SEARCH l USING PRIMARY KEY \
                         (ol_w_id=? AND ol_d_id=? AND ol_o_id>? AND ol_o_id<?)",
                        "SEARCH s USING PRIMARY KEY (s_w_id=? AND s_i_id=?)",
                    ],
                };
                for step in wanted {
                    assert!(plan.iter().any(|other| other == step), "{step}: {plan:#?}");
                }
            }
        }
    }

    #[test]
    fn calls_are_mixed_as_specified_and_reach_every_district() {
        let requests = sample(&STANDARD, 20_000);
        let mut times = [0; 3];
        let mut districts = BTreeSet::new();
        for Request { statement, arguments: [w, d, third, _] } in requests {
            times[statement] += 1;
            districts.insert((w, d));
            let range = [1..=1000, 1..=3000, 10..=20][statement].clone();
            assert!(range.contains(&third), "{third}");
        }
        assert_eq!(districts.len(), 20);
        for (times, share) in times.into_iter().zip([0.3, 0.2, 0.5]) {
            assert!((f64::from(times) / 20_000.0 - share).abs() < 0.02, "{times}");
        }
    }

    #[test]
    fn another_answer_is_refused_in_words() {
        let request = Request { statement: BY_NAME, arguments: [2, 3, 17, 0] };
        let wrong = right_answer(&Request { arguments: [1, 3, 17, 0], ..request }, false);
        let refusal = STANDARD.check(SHAPE, &request, &wrong).unwrap_err();
        let words = "order_status_by_name of customers of the same name 17, district 3 of \
                     warehouse 2: ";
        assert!(refusal.as_str().starts_with(words), "{refusal}");
    }
}
