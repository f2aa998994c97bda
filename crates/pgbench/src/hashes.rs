//! pgbench's hash functions, bit for bit, so that scripts reach the same rows.

const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0100_0000_01b3;

const MURMUR_FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
const MURMUR_SHIFT: u32 = 47;

/// FNV-1a over the eight bytes of a number, the lowest first.
pub fn fnv1a(number: i64, seed: i64) -> i64 {
    let begin = FNV_OFFSET ^ seed.cast_unsigned();
    let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME);
    number.to_le_bytes().into_iter().fold(begin, mix).cast_signed()
}

/// MurmurHash64A of a key that is one number.
pub fn murmur2(number: i64, seed: i64) -> i64 {
    let stir = |x: u64| x ^ (x >> MURMUR_SHIFT);
    let times = |x: u64| x.wrapping_mul(MURMUR_FACTOR);
    let key = times(stir(times(number.cast_unsigned())));
    let begin = seed.cast_unsigned() ^ times(u64::from(i64::BITS / u8::BITS));
    stir(times(stir(times(begin ^ key)))).cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_pgbenchs() {
        assert_eq!(murmur2(10, 5432), -5_817_877_081_768_721_676);
        assert_eq!(fnv1a(10, 5432), -7_793_829_335_365_542_153);
    }

    #[test]
    fn every_bit_of_number_and_seed_counts() {
        let (number, seed) = (10, 5432);
        for hash in [fnv1a, murmur2] {
            for bit in 0..64 {
                let plain = hash(number, seed);
                assert_ne!(plain, hash(number ^ (1 << bit), seed), "bit {bit}");
                assert_ne!(plain, hash(number, seed ^ (1 << bit)), "bit {bit}");
            }
        }
    }
}
