//! What may explain a host's figures and is not in the machine model; stored with each run.

use std::collections::BTreeMap;

use hopcost_core::{Code, Known};

use crate::Root;

pub type Traits = BTreeMap<String, Known<String>>;

const FILES: [(&str, &str); 7] = [
    ("kernel", "proc/sys/kernel/osrelease"),
    ("governor", "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("epp", "sys/devices/system/cpu/cpu0/cpufreq/energy_performance_preference"),
    ("thp", "sys/kernel/mm/transparent_hugepage/enabled"),
    ("numa_balancing", "proc/sys/kernel/numa_balancing"),
    ("tuned", "etc/tuned/active_profile"),
    ("microcode", "sys/devices/system/cpu/cpu0/microcode/version"),
];
const MITIGATIONS: &str = "sys/devices/system/cpu/vulnerabilities";
const DMI: &str = "sys/class/dmi/id";
const MEMORY_CONTROLLERS: &str = "sys/devices/system/edac/mc";

pub fn read(root: &Root) -> Traits {
    let mut traits: Traits =
        FILES.iter().map(|(name, path)| ((*name).to_owned(), root.text(path))).collect();
    let mut add = |name: &str, value| traits.insert(name.to_owned(), value);
    add("cmdline", root.text("proc/cmdline").map(|line| without_names(&line)));
    add("bios", together(root, &["bios_vendor", "bios_version", "bios_date"]));
    add("board", together(root, &["sys_vendor", "product_name", "board_name"]));
    add("memory.modules", memory_modules(root));
    for name in root.names(MITIGATIONS).ok().unwrap_or_default() {
        let told = root.text(&format!("{MITIGATIONS}/{name}"));
        traits.insert(format!("mitigations.{name}"), told);
    }
    traits
}

/// Masks names of disks, which differ from host to host.
fn without_names(line: &str) -> String {
    let without_name = |word: &str| match word.split_once('=') {
        Some((key, value)) if key == "root" || value.to_lowercase().contains("uuid") => {
            format!("{key}=…")
        }
        _ => word.to_owned(),
    };
    line.split_whitespace().map(without_name).collect::<Vec<_>>().join(" ")
}

fn together(root: &Root, files: &[&str]) -> Known<String> {
    let mut words = Vec::new();
    for file in files {
        match root.text(&format!("{DMI}/{file}")) {
            Known::Is(text) => words.push(text),
            Known::Missing(reason) => return Known::Missing(reason),
        }
    }
    Known::Is(words.join(" "))
}

fn memory_modules(root: &Root) -> Known<String> {
    let mut modules: BTreeMap<String, u32> = BTreeMap::new();
    for controller in root.numbered(MEMORY_CONTROLLERS, "mc").ok().unwrap_or_default() {
        let controller = format!("{MEMORY_CONTROLLERS}/mc{controller}");
        for module in root.names(&controller).ok().unwrap_or_default() {
            let of = |what: &str| root.text(&format!("{controller}/{module}/{what}"));
            if let (Known::Is(kind), Known::Is(mib)) = (of("dimm_mem_type"), of("size")) {
                *modules.entry(format!("{mib} MiB {kind}")).or_default() += 1;
            }
        }
    }
    if modules.is_empty() {
        return Known::missing(Code::NotTold, "no memory controller's driver shows its modules");
    }
    let words = modules.into_iter().map(|(module, count)| format!("{count} × {module}"));
    Known::Is(words.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_read_and_what_is_not_has_its_reason() {
        let text = "hopcost machine recording, version 1\n\
                    > proc/cmdline\nroot=PARTUUID=12-34 quiet resume=UUID=5 isolcpus=2-3\n\
                    > proc/sys/kernel/numa_balancing\n1\n\
                    > sys/devices/system/cpu/vulnerabilities/meltdown\nNot affected\n\
                    > sys/devices/system/edac/mc/mc0/dimm0/size\n32768\n\
                    > sys/devices/system/edac/mc/mc0/dimm0/dimm_mem_type\nRegistered-DDR5\n\
                    > sys/devices/system/edac/mc/mc0/dimm1/size\n32768\n\
                    > sys/devices/system/edac/mc/mc0/dimm1/dimm_mem_type\nRegistered-DDR5\n";
        let traits = read(&Root::from_text(text).unwrap());
        let value = |name: &str| traits[name].get().map(String::as_str);
        assert_eq!(value("cmdline"), Some("root=… quiet resume=… isolcpus=2-3"));
        assert_eq!(value("numa_balancing"), Some("1"));
        assert_eq!(value("mitigations.meltdown"), Some("Not affected"));
        assert_eq!(value("memory.modules"), Some("2 × 32768 MiB Registered-DDR5"));
        assert_eq!(traits["bios"].reason().unwrap().code(), Code::NotTold);
    }
}
