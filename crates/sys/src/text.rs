//! Values in the kernel's text files.

/// Of `KEY: value` or `KEY = value` lines, the first match.
pub fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once([':', '='])?;
        (name.trim() == key).then(|| value.trim())
    })
}

/// More than any processor can address: 52 bits.
const MOST_KIB: u64 = 1 << 42;

/// `123 kB` in bytes; `None` if more than any machine has.
pub fn bytes_of_kib(value: &str) -> Option<u64> {
    let kib: u64 = value.split_whitespace().next()?.parse().ok()?;
    (kib <= MOST_KIB).then_some(kib << 10)
}
