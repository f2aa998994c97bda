//! The tables of tpcc and their columns.

use hopcost_core::Kind::{Integer, Text, Timestamp};
use hopcost_core::{Column, Dataset, Kind, RowSink, Table};

use super::rows::WRITERS;
use super::rules::{CUSTOMERS, DISTRICTS, ITEMS, ORDERS, UNDELIVERED, lines_a_warehouse};
use crate::datasets::tables::{columns, table};

pub struct Tpcc;

const NUMBER: Kind = Integer(4);
const SMALL: Kind = Integer(2);
const MONEY: Kind = Integer(8);

const WAREHOUSE: &[Column] = columns! {
    w_id NUMBER, w_name Text(10), w_street_1 Text(20), w_street_2 Text(20), w_city Text(20),
    w_state Text(2), w_zip Text(9), w_tax NUMBER, w_ytd MONEY
};

const DISTRICT: &[Column] = columns! {
    d_id SMALL, d_w_id NUMBER, d_name Text(10), d_street_1 Text(20), d_street_2 Text(20),
    d_city Text(20), d_state Text(2), d_zip Text(9), d_tax NUMBER, d_ytd MONEY, d_next_o_id NUMBER
};

const CUSTOMER: &[Column] = columns! {
    c_id NUMBER, c_d_id SMALL, c_w_id NUMBER, c_first Text(16), c_middle Text(2), c_last Text(16),
    c_street_1 Text(20), c_street_2 Text(20), c_city Text(20), c_state Text(2), c_zip Text(9),
    c_phone Text(16), c_since Timestamp, c_credit Text(2), c_credit_lim MONEY, c_discount NUMBER,
    c_balance MONEY, c_ytd_payment MONEY, c_payment_cnt NUMBER, c_delivery_cnt NUMBER,
    c_data Text(500)
};

const HISTORY: &[Column] = columns! {
    h_c_id NUMBER, h_c_d_id SMALL, h_c_w_id NUMBER, h_d_id SMALL, h_w_id NUMBER, h_date Timestamp,
    h_amount NUMBER, h_data Text(24)
};

const NEW_ORDER: &[Column] = columns! { no_o_id NUMBER, no_d_id SMALL, no_w_id NUMBER };

const ORDER: &[Column] = columns! {
    o_id NUMBER, o_d_id SMALL, o_w_id NUMBER, o_c_id NUMBER, o_entry_d Timestamp,
    o_carrier_id SMALL, o_ol_cnt SMALL, o_all_local SMALL
};

const ORDER_LINE: &[Column] = columns! {
    ol_o_id NUMBER, ol_d_id SMALL, ol_w_id NUMBER, ol_number SMALL, ol_i_id NUMBER,
    ol_supply_w_id NUMBER, ol_delivery_d Timestamp, ol_quantity SMALL, ol_amount NUMBER,
    ol_dist_info Text(24)
};

const ITEM: &[Column] = columns! {
    i_id NUMBER, i_im_id NUMBER, i_name Text(24), i_price NUMBER, i_data Text(50)
};

const STOCK: &[Column] = columns! {
    s_i_id NUMBER, s_w_id NUMBER, s_quantity SMALL, s_dist_01 Text(24), s_dist_02 Text(24),
    s_dist_03 Text(24), s_dist_04 Text(24), s_dist_05 Text(24), s_dist_06 Text(24),
    s_dist_07 Text(24), s_dist_08 Text(24), s_dist_09 Text(24), s_dist_10 Text(24), s_ytd NUMBER,
    s_order_cnt NUMBER, s_remote_cnt NUMBER, s_data Text(50)
};

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
