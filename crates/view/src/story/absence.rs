//! Why an experiment does not apply here, and the way out: one for each code of a reason.

use hopcost_core::{Code, DistanceClass, Reason};

/// Begins the way out of a reason that names it itself, e.g. which target to use.
const OWN: &str = ". Use ";

/// A reason without its own way out.
pub fn why(reason: &Reason) -> &str {
    shortened(reason.as_str())
}

pub fn shortened(words: &str) -> &str {
    words.split_once(OWN).map_or(words, |(why, _)| why)
}

/// What to do about an absence; `None` for reasons that are none, or of older versions.
pub fn way_out(reason: &Reason) -> Option<String> {
    let words = reason.as_str();
    if let Some(at) = words.find(OWN) {
        return Some(format!("{}.", &words[at + 2..]));
    }
    of_code(reason).map(str::to_owned)
}

fn of_code(reason: &Reason) -> Option<&'static str> {
    Some(match reason.code() {
        Code::TooFewNodes => {
            "Run it on a machine or a cloud size with more memory nodes; CPUs of each must be allowed."
        }
        Code::NoSiblings => {
            "Turn on SMT in the firmware or in the settings of the cloud instance, and allow both \
             threads of a core."
        }
        Code::NoSuchDistance => of_distance(reason.as_str())
            .unwrap_or("Run it on a machine with such a distance, and allow CPUs at both ends."),
        Code::TooFewCpus => {
            "Allow more CPUs: see --cpus, and the limits of the container or control group. Or run it \
             on a machine with more."
        }
        Code::TooLittleMemory => "Run it where more memory is available.",
        Code::NoCounters => "Run it as root, or set kernel.perf_event_paranoid to 1 or less.",
        Code::NotPermitted | Code::RightsMissing => "Run it with an account that may do this.",
        Code::NotEmulated | Code::NotPlaceable => "Run it without --emulate.",
        Code::Unsupported | Code::Unverifiable | Code::WorkloadUnsupported => {
            "Use a target that can do this (--target): 'hopcost list --all' shows them."
        }
        Code::ProgramMissing => "Install the server's programs, or use another --target.",
        Code::KernelLacks | Code::WrongVersion => "Use a newer version.",
        _ => return of_distance(reason.as_str()),
    })
}

fn of_distance(words: &str) -> Option<&'static str> {
    let of_class = |class: DistanceClass| match class {
        DistanceClass::SameCpu => {
            "Allow CPUs: the limits of the container or control group leave none."
        }
        DistanceClass::Sibling => {
            "Turn on SMT in the firmware or in the settings of the cloud instance, and allow both \
             threads of a core."
        }
        DistanceClass::SameL3 => "Allow two or more cores under one last-level cache.",
        DistanceClass::SameNode => {
            "Run it on a machine whose nodes have several last-level caches, e.g. AMD EPYC."
        }
        DistanceClass::SameSocket => {
            "Split the sockets into nodes in the firmware: NPS on AMD, sub-NUMA clustering on Intel."
        }
        DistanceClass::OtherSocket => {
            "Run it on a machine with two sockets, and allow CPUs of both."
        }
        DistanceClass::FarSocket => "Run it on a machine with four or more sockets.",
        DistanceClass::MemoryOnly => {
            "Run it on a machine with CXL memory, or other nodes without CPUs."
        }
    };
    let is_why = |class: &&DistanceClass| words.contains(class.why_absent());
    DistanceClass::ALL.iter().find(is_why).map(|class| of_class(*class))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_one_way_out_that_follows_from_it() {
        let one = Code::TooFewNodes.because("needs 2 memory nodes; this machine has 1");
        assert!(way_out(&one).unwrap().contains("more memory nodes"));
        let distances: std::collections::BTreeSet<String> = DistanceClass::ALL
            .iter()
            .map(|class| way_out(&Code::NoSuchDistance.because(class.why_absent())).unwrap())
            .collect();
        assert_eq!(distances.len(), DistanceClass::ALL.len());
        assert_eq!(way_out(&Code::Uncoded.because("the moon is full")), None);
    }

    #[test]
    fn a_reason_that_names_its_way_out_is_split_there() {
        let own = Code::Unsupported.because("this needs a server. Use postgres:managed");
        assert_eq!(why(&own), "this needs a server");
        assert_eq!(way_out(&own).unwrap(), "Use postgres:managed.");
        let plain = Code::Unsupported.because("this target has no log writer");
        assert_eq!(why(&plain), plain.as_str());
        assert!(way_out(&plain).unwrap().contains("--target"));
    }
}
