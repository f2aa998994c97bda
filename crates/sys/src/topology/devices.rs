//! Network cards and NVMe disks, and their nodes.

use hopcost_core::{Code, Device, DeviceKind, Known, NodeId};

use crate::root::Root;

/// Hardware only: no bridges, tunnels or loopback.
pub fn read(root: &Root) -> Vec<Device> {
    let mut devices = Vec::new();
    for (class, kind) in [("net", DeviceKind::Network), ("nvme", DeviceKind::Nvme)] {
        let dir = format!("sys/class/{class}");
        for name in root.names(&dir).ok().unwrap_or_default() {
            let device = format!("{dir}/{name}/device");
            if root.has_dir(&device) {
                devices.push(Device { node: home(root, &device), name, kind });
            }
        }
    }
    devices
}

fn home(root: &Root, device: &str) -> Known<NodeId> {
    let told = root.number::<i64>(&format!("{device}/numa_node"));
    told.and_then(|node| match u32::try_from(node) {
        Ok(node) => Known::Is(NodeId(node)),
        Err(_) => Known::missing(Code::NotTold, "the firmware names no home node for it"),
    })
}
