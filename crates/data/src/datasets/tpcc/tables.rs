//! The tables of tpcc and their columns.

use hopcost_core::{Column, Dataset, Kind, RowSink, Table};

use super::rows::WRITERS;
use super::rules::{CUSTOMERS, DISTRICTS, ITEMS, ORDERS, UNDELIVERED, lines_a_warehouse};
use crate::datasets::tables::{column, table};

pub struct Tpcc;

const NUMBER: Kind = Kind::Integer(4);
const SMALL: Kind = Kind::Integer(2);
const MONEY: Kind = Kind::Integer(8);

const WAREHOUSE: &[Column] = &[
    column("w_id", NUMBER),
    column("w_name", Kind::Text(10)),
    column("w_street_1", Kind::Text(20)),
    column("w_street_2", Kind::Text(20)),
    column("w_city", Kind::Text(20)),
    column("w_state", Kind::Text(2)),
    column("w_zip", Kind::Text(9)),
    column("w_tax", NUMBER),
    column("w_ytd", MONEY),
];

const DISTRICT: &[Column] = &[
    column("d_id", SMALL),
    column("d_w_id", NUMBER),
    column("d_name", Kind::Text(10)),
    column("d_street_1", Kind::Text(20)),
    column("d_street_2", Kind::Text(20)),
    column("d_city", Kind::Text(20)),
    column("d_state", Kind::Text(2)),
    column("d_zip", Kind::Text(9)),
    column("d_tax", NUMBER),
    column("d_ytd", MONEY),
    column("d_next_o_id", NUMBER),
];

const CUSTOMER: &[Column] = &[
    column("c_id", NUMBER),
    column("c_d_id", SMALL),
    column("c_w_id", NUMBER),
    column("c_first", Kind::Text(16)),
    column("c_middle", Kind::Text(2)),
    column("c_last", Kind::Text(16)),
    column("c_street_1", Kind::Text(20)),
    column("c_street_2", Kind::Text(20)),
    column("c_city", Kind::Text(20)),
    column("c_state", Kind::Text(2)),
    column("c_zip", Kind::Text(9)),
    column("c_phone", Kind::Text(16)),
    column("c_since", Kind::Timestamp),
    column("c_credit", Kind::Text(2)),
    column("c_credit_lim", MONEY),
    column("c_discount", NUMBER),
    column("c_balance", MONEY),
    column("c_ytd_payment", MONEY),
    column("c_payment_cnt", NUMBER),
    column("c_delivery_cnt", NUMBER),
    column("c_data", Kind::Text(500)),
];

const HISTORY: &[Column] = &[
    column("h_c_id", NUMBER),
    column("h_c_d_id", SMALL),
    column("h_c_w_id", NUMBER),
    column("h_d_id", SMALL),
    column("h_w_id", NUMBER),
    column("h_date", Kind::Timestamp),
    column("h_amount", NUMBER),
    column("h_data", Kind::Text(24)),
];

const NEW_ORDER: &[Column] =
    &[column("no_o_id", NUMBER), column("no_d_id", SMALL), column("no_w_id", NUMBER)];

const ORDER: &[Column] = &[
    column("o_id", NUMBER),
    column("o_d_id", SMALL),
    column("o_w_id", NUMBER),
    column("o_c_id", NUMBER),
    column("o_entry_d", Kind::Timestamp),
    column("o_carrier_id", SMALL),
    column("o_ol_cnt", SMALL),
    column("o_all_local", SMALL),
];

const ORDER_LINE: &[Column] = &[
    column("ol_o_id", NUMBER),
    column("ol_d_id", SMALL),
    column("ol_w_id", NUMBER),
    column("ol_number", SMALL),
    column("ol_i_id", NUMBER),
    column("ol_supply_w_id", NUMBER),
    column("ol_delivery_d", Kind::Timestamp),
    column("ol_quantity", SMALL),
    column("ol_amount", NUMBER),
    column("ol_dist_info", Kind::Text(24)),
];

const ITEM: &[Column] = &[
    column("i_id", NUMBER),
    column("i_im_id", NUMBER),
    column("i_name", Kind::Text(24)),
    column("i_price", NUMBER),
    column("i_data", Kind::Text(50)),
];

const STOCK: &[Column] = &[
    column("s_i_id", NUMBER),
    column("s_w_id", NUMBER),
    column("s_quantity", SMALL),
    column("s_dist_01", Kind::Text(24)),
    column("s_dist_02", Kind::Text(24)),
    column("s_dist_03", Kind::Text(24)),
    column("s_dist_04", Kind::Text(24)),
    column("s_dist_05", Kind::Text(24)),
    column("s_dist_06", Kind::Text(24)),
    column("s_dist_07", Kind::Text(24)),
    column("s_dist_08", Kind::Text(24)),
    column("s_dist_09", Kind::Text(24)),
    column("s_dist_10", Kind::Text(24)),
    column("s_ytd", NUMBER),
    column("s_order_cnt", NUMBER),
    column("s_remote_cnt", NUMBER),
    column("s_data", Kind::Text(50)),
];

impl Dataset for Tpcc {
    fn name(&self) -> &'static str {
        "tpcc"
    }

    fn about(&self) -> &'static str {
        "the nine tables of TPC-C as first loaded; its scale is warehouses, some 70 MB each"
    }

    fn unit(&self, scale: u64) -> &'static str {
        if scale == 1 { "warehouse" } else { "warehouses" }
    }

    fn tables(&self, scale: u64) -> Vec<Table> {
        let districts = scale * DISTRICTS;
        let (customers, orders) = (districts * CUSTOMERS, districts * ORDERS);
        // Rows come in the order of their key.
        vec![
            table("warehouse", WAREHOUSE, &[0], scale),
            table("district", DISTRICT, &[1, 0], districts),
            Table {
                indexes: &[&[2, 1, 5, 3]],
                ..table("customer", CUSTOMER, &[2, 1, 0], customers)
            },
            table("history", HISTORY, &[], customers),
            table("new_order", NEW_ORDER, &[2, 1, 0], districts * UNDELIVERED),
            Table { indexes: &[&[2, 1, 3, 0]], ..table("orders", ORDER, &[2, 1, 0], orders) },
            table("order_line", ORDER_LINE, &[2, 1, 0, 3], scale * lines_a_warehouse()),
            table("item", ITEM, &[0], ITEMS),
            table("stock", STOCK, &[1, 0], scale * ITEMS),
        ]
    }

    fn row(&self, table: usize, number: u64, sink: &mut dyn RowSink) {
        WRITERS[table](number, sink);
    }
}
