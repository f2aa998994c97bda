//! Whether the machine is a guest, and whether this process is in a container.

use hopcost_core::{Code, Known, Virtualization};

use crate::root::Root;
use crate::text::field;

pub fn read(root: &Root) -> Virtualization {
    let hypervisor = hypervisor(root);
    Virtualization { guest: guest(root, &hypervisor), hypervisor, container: container(root) }
}

/// x86 has a CPU flag; elsewhere only a hypervisor's traces show it.
fn guest(root: &Root, hypervisor: &Known<String>) -> Known<bool> {
    root.text("proc/cpuinfo").and_then(|text| match field(&text, "flags") {
        Some(flags) => Known::Is(flags.split_whitespace().any(|flag| flag == "hypervisor")),
        None if hypervisor.get().is_some() => Known::Is(true),
        None => Known::missing(Code::NotTold, "this processor does not tell whether it is virtual"),
    })
}

fn hypervisor(root: &Root) -> Known<String> {
    let by_cpuid = root.fact("hypervisor", signature);
    by_cpuid
        .or_else(|_| root.text("sys/hypervisor/type"))
        .or_else(|_| {
            root.text("sys/class/dmi/id/sys_vendor").and_then(|vendor| virtual_vendor(&vendor))
        })
        .or_else(|_| Known::missing(Code::NotTold, "no hypervisor shows itself"))
}

fn virtual_vendor(vendor: &str) -> Known<String> {
    let name = ["QEMU", "VMware", "Xen", "innotek", "Parallels"]
        .iter()
        .find(|name| vendor.contains(*name));
    let name = name.map(|name| (*name).to_owned());
    Known::found(name, Code::NotTold, || "the firmware's vendor is no hypervisor")
}

/// The twelve letters of CPUID leaf 0x4000_0000, as a name.
#[cfg(target_arch = "x86_64")]
fn signature() -> Known<String> {
    use std::arch::x86_64::__cpuid;
    const HYPERVISOR_PRESENT: u32 = 1 << 31;
    if __cpuid(1).ecx & HYPERVISOR_PRESENT == 0 {
        return Known::missing(Code::NotApplicable, "the processor is not virtual");
    }
    let leaf = __cpuid(0x4000_0000);
    let letters: Vec<u8> =
        [leaf.ebx, leaf.ecx, leaf.edx].iter().flat_map(|word| word.to_le_bytes()).collect();
    let letters = String::from_utf8_lossy(&letters);
    let letters = letters.trim_matches(['\0', ' ']);
    Known::Is(match letters {
        "KVMKVMKVM" => "KVM".into(),
        "TCGTCGTCGTCG" => "QEMU (emulated)".into(),
        "Microsoft Hv" => "Hyper-V".into(),
        "VMwareVMware" => "VMware".into(),
        "XenVMMXenVMM" => "Xen".into(),
        "bhyve bhyve" => "bhyve".into(),
        "VBoxVBoxVBox" => "VirtualBox".into(),
        "prl hyperv" => "Parallels".into(),
        other => format!("unnamed ({other})"),
    })
}

#[cfg(not(target_arch = "x86_64"))]
fn signature() -> Known<String> {
    Known::missing(Code::NotTold, "only x86 processors name their hypervisor")
}

fn container(root: &Root) -> Known<String> {
    if root.bytes(".dockerenv").get().is_some() {
        return Known::Is("docker".into());
    }
    if root.bytes("run/.containerenv").get().is_some() {
        return Known::Is("podman".into());
    }
    let groups = root.text("proc/self/cgroup").ok().unwrap_or_default();
    let by_group =
        ["kubepods", "docker", "containerd", "lxc"].iter().find(|name| groups.contains(*name));
    match by_group {
        Some(&name) => Known::Is(name.into()),
        None => root
            .text("run/systemd/container")
            .or_else(|_| Known::missing(Code::NotApplicable, "no container shows itself")),
    }
}
