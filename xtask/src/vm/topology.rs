//! The shapes of emulated machines.

use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    pub nodes: u32,
    /// The total; nodes are divided among them.
    pub sockets: u32,
    /// Is there one more node without CPUs?
    pub memory_only: bool,
    pub cores: u32,
    pub threads: u32,
}

impl FromStr for Topology {
    type Err = String;

    /// `n4`, `n2cxl`, `n4s2`, `n2c2`: by default a socket per node and one core of two threads per
    /// node.
    fn from_str(name: &str) -> Result<Self, String> {
        let bad = || format!("'{name}' is none of n1 n2 n4 n8 n2cxl n4cxl n4s2 n2c2");
        let rest = name.strip_prefix('n').ok_or_else(bad)?;
        let (rest, memory_only) =
            rest.strip_suffix("cxl").map_or((rest, false), |rest| (rest, true));
        let (rest, cores) = rest.split_once('c').unwrap_or((rest, "1"));
        let (nodes, sockets) = rest.split_once('s').unwrap_or((rest, rest));
        let number = |text: &str| text.parse::<u32>().map_err(|_| bad());
        let (nodes, sockets, cores) = (number(nodes)?, number(sockets)?, number(cores)?);
        let fits = (1..=8).contains(&nodes)
            && sockets >= 1
            && nodes.is_multiple_of(sockets)
            && (1..=8).contains(&cores);
        let shape = Self { nodes, sockets, memory_only, cores, threads: 2 };
        if fits { Ok(shape) } else { Err(bad()) }
    }
}

impl Topology {
    pub fn cpus(&self) -> u32 {
        self.nodes * self.cpus_per_node()
    }

    pub fn all_nodes(&self) -> u32 {
        self.nodes + u32::from(self.memory_only)
    }

    fn cpus_per_node(&self) -> u32 {
        self.cores * self.threads
    }

    /// The firmware's distance: near within pairs, farther within fours, then far.
    pub fn distance(&self, a: u32, b: u32) -> u32 {
        match (a, b) {
            _ if a == b => 10,
            _ if a >= self.nodes || b >= self.nodes => 24,
            _ if a / 2 == b / 2 => 12,
            _ if a / 4 == b / 4 => 21,
            _ => 31,
        }
    }

    /// Nanoseconds and GB/s in the firmware's HMAT.
    pub fn rating(&self, initiator: u32, target: u32) -> (u32, u32) {
        match (initiator, target) {
            (_, target) if target >= self.nodes => (250, 20),
            (a, b) if a == b => (80, 100),
            (a, b) if a / 2 == b / 2 => (110, 60),
            _ => (150, 40),
        }
    }

    pub fn arguments(&self, mib_per_node: u32) -> Vec<String> {
        let all = self.all_nodes();
        let mut arguments =
            vec!["-m".to_owned(), format!("{}M", all * mib_per_node), "-smp".into()];
        arguments.push(format!(
            "{},sockets={},cores={},threads={}",
            self.cpus(),
            self.sockets,
            self.nodes * self.cores / self.sockets,
            self.threads
        ));
        let mut numa = |argument: String| arguments.extend(["-numa".to_owned(), argument]);
        for node in 0..all {
            let first = node * self.cpus_per_node();
            let cpus = if node < self.nodes {
                format!("cpus={first}-{},initiator={node}", first + self.cpus_per_node() - 1)
            } else {
                "initiator=0".to_owned()
            };
            numa(format!("node,nodeid={node},memdev=m{node},{cpus}"));
        }
        for a in 0..all {
            for b in (0..all).filter(|&b| b != a) {
                numa(format!("dist,src={a},dst={b},val={}", self.distance(a, b)));
            }
        }
        for initiator in 0..self.nodes {
            for target in 0..all {
                let (ns, gb) = self.rating(initiator, target);
                let pair =
                    format!("hmat-lb,initiator={initiator},target={target},hierarchy=memory");
                numa(format!("{pair},data-type=access-latency,latency={ns}"));
                numa(format!("{pair},data-type=access-bandwidth,bandwidth={gb}G"));
            }
        }
        for node in 0..all {
            let memory = format!("memory-backend-ram,id=m{node},size={mib_per_node}M");
            arguments.extend(["-object".to_owned(), memory]);
        }
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_the_shape() {
        let shape = |name: &str| name.parse::<Topology>().unwrap();
        assert_eq!((shape("n8").nodes, shape("n8").sockets), (8, 8));
        assert_eq!((shape("n4s2").sockets, shape("n4s2").cpus()), (2, 8));
        assert_eq!((shape("n2c2").cores, shape("n2c2").cpus()), (2, 8));
        assert_eq!(shape("n2cxl").all_nodes(), 3);
        for bad in ["4", "n", "n9", "n4s3", "n0"] {
            assert!(bad.parse::<Topology>().is_err(), "{bad}");
        }
    }
}
