//! Hanging up on a server, in its own words.

use super::super::remote::address::Address;
use super::super::remote::lines::{FAREWELL, Lines, in_a_hurry};
use super::wire::Wire;

/// Ends all connections, on our side and on the server's.
pub fn hang_up(lines: &Lines, address: &Address) {
    let pids: Vec<String> = lines.hang_up().iter().map(ToString::to_string).collect();
    let Ok(mut wire) = Wire::connect(&in_a_hurry(address)) else { return };
    // A number may be somebody else's by now.
    let end = format!(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid IN ({}) \
         AND application_name = 'hopcost' AND usename = current_user",
        pids.join(", ")
    );
    let _ = wire.limit(Some(FAREWELL)).and_then(|()| wire.query(&end));
}
