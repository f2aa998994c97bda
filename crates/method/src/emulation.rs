//! Reads `--emulate`, e.g. `nodes=2,remote_ns=80,bimodal=0.2:3x,bandwidth=node1:0.7,siblings=1.2`.

use hopcost_core::{Bimodal, Code, Contention, Emulation, LessBandwidth, NodeId, Reason};

use crate::overrides::within;

const KEYS: &str = "nodes, remote_ns, bimodal, bandwidth, siblings, usl";
const MOST_NODES: u32 = 64;

pub fn read(text: &str) -> Result<Emulation, Reason> {
    parsed(text).map_err(|wrong| Code::BadValue.because(wrong))
}

fn parsed(text: &str) -> Result<Emulation, String> {
    let mut emulation = Emulation::default();
    for part in text.split(',').map(str::trim) {
        let Some((key, value)) = part.split_once('=') else {
            return Err(format!("'{part}' is no key=value; write nodes=2,remote_ns=80"));
        };
        match key {
            "nodes" => emulation.nodes = nodes(value)?,
            "remote_ns" => emulation.remote_ns = nanoseconds(value)?,
            "bimodal" => emulation.bimodal = Some(bimodal(value)?),
            "bandwidth" => emulation.bandwidth = Some(bandwidth(value)?),
            "siblings" => emulation.siblings = Some(siblings(value)?),
            "usl" => emulation.usl = Some(usl(value)?),
            key => return Err(format!("there is no '{key}'; known: {KEYS}")),
        }
    }
    match emulation.bandwidth {
        Some(less) if less.node.0 >= emulation.nodes => {
            Err(format!("bandwidth of node {}: there are {} nodes", less.node, emulation.nodes))
        }
        _ => Ok(emulation),
    }
}

fn nodes(value: &str) -> Result<u32, String> {
    within(value, 1..=MOST_NODES)
        .ok_or_else(|| format!("'{value}' nodes: 1 to {MOST_NODES} are possible"))
}

fn nanoseconds(value: &str) -> Result<f64, String> {
    within(value, 0.0..=1e6).ok_or_else(|| format!("remote_ns={value}: 0 to 1000000 are possible"))
}

/// `0.2:3x`
fn bimodal(value: &str) -> Result<Bimodal, String> {
    let parts = value.split_once(':').and_then(|(share, times)| {
        let times = within(times.strip_suffix('x')?, 1.0..=100.0)?;
        Some(Bimodal { share: within(share, 0.0..=1.0)?, times })
    });
    parts.ok_or_else(|| {
        format!("bimodal={value}: write SHARE:TIMESx, as 0.2:3x for a fifth three times as long")
    })
}

/// `node1:0.7`
fn bandwidth(value: &str) -> Result<LessBandwidth, String> {
    let parts = value.strip_prefix("node").and_then(|rest| rest.split_once(':'));
    let less = parts.and_then(|(node, share)| {
        let node = NodeId(node.parse().ok()?);
        Some(LessBandwidth { node, share: within(share, 0.05..=1.0)? })
    });
    less.ok_or_else(|| {
        format!("bandwidth={value}: write nodeN:SHARE, as node1:0.7, with 0.05 to 1 of it left")
    })
}

fn siblings(value: &str) -> Result<f64, String> {
    within(value, 0.5..=2.0).ok_or_else(|| {
        format!(
            "siblings={value}: write how many times as much both threads of a core do as one alone, \
             0.5 to 2"
        )
    })
}

/// `0.03:0.001`
fn usl(value: &str) -> Result<Contention, String> {
    let parts = value.split_once(':').and_then(|(sigma, kappa)| {
        Some(Contention { sigma: within(sigma, 0.0..=1.0)?, kappa: within(kappa, 0.0..=1.0)? })
    });
    parts.ok_or_else(|| format!("usl={value}: write SIGMA:KAPPA, as 0.03:0.001, each 0 to 1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_is_promised() {
        let read = |text| read(text).unwrap();
        let plain = Emulation { remote_ns: 80.0, ..Emulation::default() };
        assert_eq!(read("nodes=2,remote_ns=80"), plain);
        assert_eq!(read("remote_ns=80"), plain);
        let bimodal = Some(Bimodal { share: 0.2, times: 3.0 });
        assert_eq!(read("remote_ns=80, bimodal=0.2:3x"), Emulation { bimodal, ..plain });
        let bandwidth = Some(LessBandwidth { node: NodeId(1), share: 0.7 });
        let usl = Some(Contention { sigma: 0.03, kappa: 0.001 });
        let crowded = Emulation { nodes: 1, siblings: Some(1.2), usl, ..Emulation::default() };
        assert_eq!(read("nodes=1,siblings=1.2,usl=0.03:0.001"), crowded);
        assert_eq!(read("bandwidth=node1:0.7,remote_ns=80"), Emulation { bandwidth, ..plain });
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, said) in [
            ("nodes", "is no key=value"),
            ("nodes=0", "1 to 64"),
            ("remote_ns=-1", "0 to 1000000"),
            ("remote_ns=NaN", "0 to 1000000"),
            ("bimodal=3x", "SHARE:TIMESx"),
            ("bimodal=2:3x", "SHARE:TIMESx"),
            ("usl=0.03", "write SIGMA:KAPPA"),
            ("usl=0.03:2", "each 0 to 1"),
            ("siblings=3", "0.5 to 2"),
            ("bandwidth=0.7", "write nodeN:SHARE"),
            ("bandwidth=node1:0", "0.05 to 1"),
            ("bandwidth=node2:0.7", "there are 2 nodes"),
            ("remotens=80", KEYS),
        ] {
            assert!(read(text).unwrap_err().as_str().contains(said), "{text}: {:?}", read(text));
        }
    }
}
