//! The machine model on the recorded and hand-written trees in `fixtures/machines`.
#![allow(clippy::unwrap_used)] // a test's helpers may fail as the test itself may

use hopcost_core::{Avoided, CpuId, DistanceClass, Known, Machine, NodeId};
use hopcost_sys::{Root, topology};

fn machine(name: &str) -> Machine {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines");
    let root = Root::recorded(format!("{dir}/{name}.tree").as_ref()).unwrap();
    topology::read(&root)
}

fn size(machine: &Machine) -> [usize; 4] {
    let cores = machine.one_cpu_per_core(&machine.limits.cpus).len();
    let nodes = machine.nodes.iter().filter(|node| node.has_memory()).count();
    [machine.sockets.len(), cores, machine.limits.cpus.len(), nodes]
}

fn rungs(machine: &Machine) -> Vec<&'static str> {
    let present = machine.distances.ladder.iter().filter(|rung| rung.example.get().is_some());
    present.map(|rung| rung.class.name()).collect()
}

fn between(machine: &Machine, a: u32, b: u32) -> DistanceClass {
    machine.cpu_distance(CpuId(a), CpuId(b)).ok().unwrap()
}

#[test]
fn every_tree_says_in_its_head_how_it_came_about() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines");
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let by_hand = std::fs::read_to_string(&path).unwrap().contains("# Written by hand");
        assert_eq!(by_hand, name.starts_with("hand-"), "{name}");
        assert_eq!(!by_hand, name.starts_with("vm-"), "{name}");
    }
}

#[test]
fn every_machine_reads_back_as_it_was_written() {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines");
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let machine = machine(&path.file_stem().unwrap().to_string_lossy());
        let written = serde_json::to_string(&machine).unwrap();
        let read: Machine = serde_json::from_str(&written).unwrap();
        assert_eq!(serde_json::to_string(&read).unwrap(), written, "{}", path.display());
    }
}

#[test]
fn the_sizes_of_all_shapes() {
    for (name, expected) in [
        ("vm-n1", [1, 1, 2, 1]),
        ("vm-n4", [4, 4, 8, 4]),
        ("vm-n4s2", [2, 4, 8, 4]),
        ("vm-n8", [8, 8, 16, 8]),
        ("vm-n2cxl-6.12", [2, 2, 4, 3]),
        ("hand-8-sockets", [8, 16, 32, 8]),
        ("hand-epyc-nps4", [2, 32, 64, 8]),
        ("hand-hybrid", [1, 6, 8, 1]),
        ("hand-arm-2-sockets", [2, 32, 32, 4]),
        ("hand-sparse", [3, 3, 4, 4]),
    ] {
        assert_eq!(size(&machine(name)), expected, "{name}");
    }
}

#[test]
fn eight_sockets_have_near_and_far_ones() {
    let machine = machine("hand-8-sockets");
    assert_eq!(rungs(&machine), ["same-cpu", "sibling", "same-l3", "other-socket", "far-socket"]);
    assert_eq!(between(&machine, 0, 16), DistanceClass::Sibling);
    assert_eq!(between(&machine, 0, 6), DistanceClass::OtherSocket);
    assert_eq!(between(&machine, 0, 8), DistanceClass::FarSocket);
    let far = machine.memory_distance(CpuId(0), NodeId(7));
    assert_eq!(far, Known::Is(DistanceClass::FarSocket));
}

#[test]
fn four_nodes_a_socket_have_every_rung_but_the_far_one() {
    let machine = machine("hand-epyc-nps4");
    let all = ["same-cpu", "sibling", "same-l3", "same-node", "same-socket", "other-socket"];
    assert_eq!(rungs(&machine), all);
    assert_eq!(between(&machine, 0, 1), DistanceClass::SameL3);
    assert_eq!(between(&machine, 0, 2), DistanceClass::SameNode);
    assert_eq!(between(&machine, 0, 4), DistanceClass::SameSocket);
    assert_eq!(machine.devices.len(), 2, "the loopback is no device");
    assert_eq!(machine.devices[0].node, Known::Is(NodeId(1)));
}

#[test]
fn a_hybrid_processor_has_two_kinds_of_core() {
    let machine = machine("hand-hybrid");
    let kind = |id| machine.cpu(CpuId(id)).unwrap().kind.clone();
    assert_eq!((kind(0), kind(7)), (Known::Is("cpu_core".into()), Known::Is("cpu_atom".into())));
    assert_eq!(machine.cpu(CpuId(7)).unwrap().max_mhz, Known::Is(3400));
    let shared = machine.caches.iter().find(|c| c.level == 2 && c.cpus.contains(CpuId(4)));
    assert_eq!(shared.unwrap().cpus.to_string(), "4-7");
}

#[test]
fn socket_numbers_may_be_any() {
    let machine = machine("hand-arm-2-sockets");
    assert_eq!(machine.sockets.iter().map(|s| s.id).collect::<Vec<_>>(), [36, 3180]);
    assert!(
        machine.processor.reason().is_some() && machine.virtualization.guest.reason().is_some()
    );
    assert_eq!(rungs(&machine), ["same-cpu", "same-l3", "same-socket", "other-socket"]);
}

#[test]
fn sparse_numbers_large_masks_and_closed_places() {
    let machine = machine("hand-sparse");
    assert_eq!(machine.limits.cpus.to_string(), "0-1,1024,2047");
    assert_eq!(machine.limits.nodes.to_string(), "0,33,100");
    let cpu = |id| machine.cpu(CpuId(id)).unwrap();
    assert!(!cpu(2046).online && cpu(2046).socket.reason().is_some());
    assert!(cpu(1025).online && !cpu(1025).usable);
    assert_eq!(cpu(2047).node, Known::Is(NodeId(72)));
    assert!(!machine.node(NodeId(72)).unwrap().usable);
    assert_eq!(machine.distances.rated(NodeId(33), NodeId(100)), Some(28));
    let memory_only = machine.memory_distance(CpuId(0), NodeId(100));
    assert_eq!(memory_only, Known::Is(DistanceClass::MemoryOnly));
    // A column per node with usable memory, a row per node with usable CPUs.
    let columns: Vec<u32> = machine.nodes_with_memory().map(|node| node.id.0).collect();
    let rows: Vec<u32> = machine.nodes_with_cpus().map(|node| node.id.0).collect();
    assert_eq!((columns, rows), (vec![0, 33, 100], vec![0, 33, 72]));
}

#[test]
fn a_memory_only_node_is_in_a_tier_of_its_own_on_newer_kernels() {
    let machine = machine("vm-n2cxl-6.12");
    let tier = |id| machine.node(NodeId(id)).unwrap().tier.clone().ok().unwrap();
    assert!(tier(2) != tier(0) && tier(0) == tier(1));
    let rating = machine.node(NodeId(2)).unwrap().access0.clone().ok().unwrap();
    assert_eq!(rating.read_latency_ns, Known::Is(250));
}

#[test]
fn a_cpu_that_several_nodes_claim_is_named_and_nothing_is_placed_by_them() {
    let machine = machine("hand-shared-cpus");
    assert_eq!(machine.nodes.len(), 8);
    assert!(machine.nodes.iter().all(|node| node.avoided == Some(Avoided::SharedCpus)));
    let named = "nodes 0-7 claim CPU 0-7 each";
    assert!(machine.notes.iter().any(|note| note.contains(named)), "{:?}", machine.notes);
    assert!(machine.cpu(CpuId(3)).unwrap().node.reason().is_some());
    assert!(machine.memory_distance(CpuId(0), NodeId(0)).reason().is_some());
    // Memory has to be somewhere.
    assert_eq!(machine.nodes_with_memory().map(|node| node.id.0).collect::<Vec<_>>(), [0]);
    assert_eq!(machine.nodes_by_default().to_string(), "0");
    assert_eq!(machine.all_nodes_with_memory().count(), 8);
    for honest in ["vm-n4", "vm-n8", "hand-sparse", "hand-8-sockets", "hand-epyc-nps4"] {
        assert!(self::machine(honest).nodes.iter().all(|node| node.avoided.is_none()), "{honest}");
    }
}

#[test]
fn memory_of_a_gpu_is_named_and_nothing_is_placed_there() {
    let machine = machine("hand-gpu-memory");
    let gpus = machine.nodes.iter().filter(|node| node.avoided == Some(Avoided::GpuMemory));
    assert_eq!(gpus.map(|node| node.id.0).collect::<Vec<_>>(), [1]);
    let named = "memory of node 1 is a GPU's";
    assert!(machine.notes.iter().any(|note| note.contains(named)), "{:?}", machine.notes);
    assert_eq!(machine.nodes_with_memory().map(|node| node.id.0).collect::<Vec<_>>(), [0]);
    assert_eq!(machine.nodes_by_default().to_string(), "0");
    assert!(!rungs(&machine).contains(&"memory-only"), "{:?}", rungs(&machine));
    // What a GPU has left is not ours to fill.
    assert!(machine.available_bytes() < 481 << 30, "{}", machine.available_bytes());
    assert_eq!(machine.all_nodes_with_memory().count(), 2);
}

#[test]
fn the_live_machine_survives_being_recorded() {
    let root = Root::live_noting();
    let live = topology::read(&root);
    let text = root.into_notes().to_text();
    let again = topology::read(&Root::from_text(&text).unwrap());
    let json = |machine: &Machine| serde_json::to_value(machine).unwrap();
    assert_eq!(json(&live), json(&again));
}
