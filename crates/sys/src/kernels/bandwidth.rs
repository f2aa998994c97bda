//! Streaming kernels: memory bandwidth with the widest vectors of the processor.
//!
//! A sweep reports *program* bytes; [`Kernel::bus_bytes`] estimates what crosses the bus (a store
//! first reads the line unless it is non-temporal). The mixed kernels update one stream in place
//! and read the others, so that their program ratio is their bus ratio, too.

use std::ops::Range;

use crate::memory::Region;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernel {
    Read,
    Store,
    /// Stores bypass the caches.
    StoreNonTemporal,
    Copy,
    /// Updates one stream in place, reads two.
    Mix3To1,
    /// Updates one stream in place, reads one.
    Mix2To1,
    /// Updates one stream in place.
    Mix1To1,
}

impl Kernel {
    pub const ALL: [Self; 7] = [
        Self::Read,
        Self::Store,
        Self::StoreNonTemporal,
        Self::Copy,
        Self::Mix3To1,
        Self::Mix2To1,
        Self::Mix1To1,
    ];

    /// Name; streams of a region; program bytes and probable bus bytes of a sweep, per byte of a
    /// stream.
    const fn table(self) -> (&'static str, usize, usize, usize) {
        match self {
            Self::Read => ("read", 1, 1, 1),
            Self::Store => ("store", 1, 1, 2),
            Self::StoreNonTemporal => ("store non-temporal", 1, 1, 1),
            Self::Copy => ("copy", 2, 2, 3),
            Self::Mix3To1 => ("3 reads : 1 write", 3, 4, 4),
            Self::Mix2To1 => ("2 reads : 1 write", 2, 3, 3),
            Self::Mix1To1 => ("1 read : 1 write", 1, 2, 2),
        }
    }

    pub const fn name(self) -> &'static str {
        self.table().0
    }

    pub const fn streams(self) -> usize {
        self.table().1
    }

    pub const fn program_bytes(self) -> usize {
        self.table().2
    }

    pub const fn bus_bytes(self) -> usize {
        self.table().3
    }

    pub const fn is_here(self) -> bool {
        cfg!(target_arch = "x86_64") || !matches!(self, Self::StoreNonTemporal)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vectors {
    Avx512,
    Avx2,
    /// SSE2 or NEON, 16 bytes.
    Baseline,
}

impl Vectors {
    pub fn widest() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f") {
                return Self::Avx512;
            }
            if is_x86_feature_detected!("avx2") {
                return Self::Avx2;
            }
        }
        Self::Baseline
    }

    pub fn here() -> Vec<Self> {
        let all = [Self::Avx512, Self::Avx2, Self::Baseline];
        let widest = Self::widest();
        all.into_iter().skip_while(|&v| v != widest).collect()
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Avx512 => "AVX-512",
            Self::Avx2 => "AVX2",
            Self::Baseline if cfg!(target_arch = "x86_64") => "SSE2",
            Self::Baseline if cfg!(target_arch = "aarch64") => "NEON",
            Self::Baseline => "scalar",
        }
    }
}

/// Bytes that the unrolled loops handle at once; a chunk is a multiple.
pub const BLOCK_BYTES: usize = 512;

/// Sweeps once over `chunk`, made of whole blocks, of each of the region's equal streams. The
/// result depends on everything that was read.
pub fn sweep(region: &mut Region, kernel: Kernel, vectors: Vectors, chunk: &Range<usize>) -> u64 {
    let stream = stream_bytes(region.len(), kernel);
    assert!(chunk.end <= stream, "the chunk is outside its stream");
    let whole = |bytes: usize| bytes.is_multiple_of(BLOCK_BYTES);
    assert!(whole(chunk.start) && whole(chunk.len()), "a chunk is whole blocks");
    assert!(Vectors::here().contains(&vectors) && kernel.is_here(), "not on this processor");
    let base = region.as_ptr();
    let at = |stream_number: usize| {
        // SAFETY: streams() streams of `stream` bytes fit into the region, and the chunk into one.
        unsafe { base.add(stream_number * stream + chunk.start) }
    };
    let (a, b, c) = match kernel.streams() {
        1 => (at(0), at(0), at(0)),
        2 => (at(0), at(1), at(1)),
        _ => (at(0), at(1), at(2)),
    };
    // SAFETY: a, b and c point to chunk.len() bytes of the region each, aligned to a page's
    // 512-byte block, exclusive through &mut, and the processor has these vectors (asserted above).
    unsafe {
        match vectors {
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx512 => avx512::run(kernel, a, b, c, chunk.len()),
            #[cfg(target_arch = "x86_64")]
            Vectors::Avx2 => avx2::run(kernel, a, b, c, chunk.len()),
            _ => baseline::run(kernel, a, b, c, chunk.len()),
        }
    }
}

pub fn stream_bytes(region_bytes: usize, kernel: Kernel) -> usize {
    region_bytes / kernel.streams() / BLOCK_BYTES * BLOCK_BYTES
}

/// Kernels for one vector type: loops over 512-byte blocks, which the compiler unrolls completely
/// into 8, 16 or 32 vectors with independent accumulators.
macro_rules! kernels {
    ($module:ident, $vector:ty, $bytes:literal, $(#[$feature:meta])?,
     $load:path, $store:path, $stream:path, $xor:path, $set:path) => {
        mod $module {
            use super::{BLOCK_BYTES, Kernel};

            const VECTORS: usize = BLOCK_BYTES / $bytes;

            /// SAFETY: as for [`super::sweep`]'s call: `bytes` readable and writable bytes at each
            /// pointer, aligned, and a processor with these vectors.
            $(#[$feature])?
            pub unsafe fn run(kernel: Kernel, a: *mut u8, b: *mut u8, c: *mut u8, bytes: usize) -> u64 {
                // SAFETY: offsets stay below `bytes`, in steps of a vector; see above.
                unsafe {
                    let mut sum = [$set(1); 4];
                    let blocks = (0..bytes).step_by(BLOCK_BYTES);
                    match kernel {
                        Kernel::Read => for block in blocks {
                            for v in 0..VECTORS {
                                let at = block + v * $bytes;
                                sum[v % 4] = $xor(sum[v % 4], $load(a.add(at).cast()));
                            }
                        },
                        Kernel::Store => for block in blocks {
                            for v in 0..VECTORS {
                                $store(a.add(block + v * $bytes).cast(), sum[0]);
                            }
                        },
                        Kernel::StoreNonTemporal => for block in blocks {
                            for v in 0..VECTORS {
                                $stream(a.add(block + v * $bytes).cast(), sum[0]);
                            }
                        },
                        Kernel::Copy => for block in blocks {
                            for v in 0..VECTORS {
                                let at = block + v * $bytes;
                                $store(a.add(at).cast(), $load(b.add(at).cast()));
                            }
                        },
                        Kernel::Mix1To1 => for block in blocks {
                            for v in 0..VECTORS {
                                let at = block + v * $bytes;
                                let value = $xor(sum[0], $load(a.add(at).cast()));
                                $store(a.add(at).cast(), value);
                            }
                        },
                        Kernel::Mix2To1 => for block in blocks {
                            for v in 0..VECTORS {
                                let at = block + v * $bytes;
                                let value = $xor($load(b.add(at).cast()), $load(a.add(at).cast()));
                                $store(a.add(at).cast(), value);
                            }
                        },
                        Kernel::Mix3To1 => for block in blocks {
                            for v in 0..VECTORS {
                                let at = block + v * $bytes;
                                let value = $xor($load(b.add(at).cast()), $load(c.add(at).cast()));
                                $store(a.add(at).cast(), $xor(value, $load(a.add(at).cast())));
                            }
                        },
                    }
                    let sum: [u64; $bytes / 2] = std::mem::transmute(sum);
                    sum.into_iter().fold(0, |all, word| all ^ word)
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
kernels!(
    avx512,
    std::arch::x86_64::__m512i,
    64,
    #[target_feature(enable = "avx512f")],
    std::arch::x86_64::_mm512_load_si512,
    std::arch::x86_64::_mm512_store_si512,
    std::arch::x86_64::_mm512_stream_si512,
    std::arch::x86_64::_mm512_xor_si512,
    std::arch::x86_64::_mm512_set1_epi64
);

#[cfg(target_arch = "x86_64")]
kernels!(
    avx2,
    std::arch::x86_64::__m256i,
    32,
    #[target_feature(enable = "avx2")],
    std::arch::x86_64::_mm256_load_si256,
    std::arch::x86_64::_mm256_store_si256,
    std::arch::x86_64::_mm256_stream_si256,
    std::arch::x86_64::_mm256_xor_si256,
    std::arch::x86_64::_mm256_set1_epi64x
);

#[cfg(target_arch = "x86_64")]
kernels!(
    baseline,
    std::arch::x86_64::__m128i,
    16,
    ,
    std::arch::x86_64::_mm_load_si128,
    std::arch::x86_64::_mm_store_si128,
    std::arch::x86_64::_mm_stream_si128,
    std::arch::x86_64::_mm_xor_si128,
    std::arch::x86_64::_mm_set1_epi64x
);

/// Elsewhere, 16-byte pairs of words, which the compiler turns into NEON on Arm.
#[cfg(not(target_arch = "x86_64"))]
mod words {
    pub type Pair = [u64; 2];

    pub unsafe fn load(from: *const Pair) -> Pair {
        // SAFETY: the caller's.
        unsafe { *from }
    }

    pub unsafe fn store(to: *mut Pair, value: Pair) {
        // SAFETY: the caller's.
        unsafe { *to = value }
    }

    pub fn xor(a: Pair, b: Pair) -> Pair {
        [a[0] ^ b[0], a[1] ^ b[1]]
    }

    pub fn set(value: i64) -> Pair {
        [value as u64; 2]
    }
}

#[cfg(not(target_arch = "x86_64"))]
kernels!(
    baseline,
    super::words::Pair,
    16,
    ,
    super::words::load,
    super::words::store,
    super::words::store,
    super::words::xor,
    super::words::set
);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Request;
    use crate::{Root, topology};

    fn region() -> Region {
        let machine = topology::read(&Root::live());
        let node = machine.nodes_with_cpus().find(|node| node.usable).unwrap().id;
        Region::place(&Request::on(&machine, node, 6 << 20, None)).unwrap()
    }

    fn by_hand(
        words: &mut [u64],
        kernel: Kernel,
        chunk: &Range<usize>,
        vector_words: usize,
    ) -> u64 {
        let stream = stream_bytes(words.len() * 8, kernel) / 8;
        let mut sum = vec![1u64; vector_words];
        let ones = sum.clone();
        for (n, at) in (chunk.start / 8..chunk.end / 8).enumerate() {
            let lane = n % vector_words;
            match kernel {
                Kernel::Read => sum[lane] ^= words[at],
                Kernel::Store | Kernel::StoreNonTemporal => words[at] = ones[lane],
                Kernel::Copy => words[at] = words[at + stream],
                Kernel::Mix1To1 => words[at] ^= ones[lane],
                Kernel::Mix2To1 => words[at] ^= words[at + stream],
                Kernel::Mix3To1 => words[at] ^= words[at + stream] ^ words[at + 2 * stream],
            }
        }
        // The ones that all accumulators begin with cancel, since their number is even.
        sum.into_iter().fold(0, |all, word| all ^ word)
    }

    #[test]
    fn every_kernel_does_what_its_name_says_with_every_vector() {
        let mut region = region();
        let mut rng = fastrand::Rng::with_seed(3);
        for vectors in Vectors::here() {
            for kernel in Kernel::ALL.into_iter().filter(|kernel| kernel.is_here()) {
                region.words_mut().fill_with(|| rng.u64(..));
                let mut expected = region.words_mut().to_vec();
                let chunk = 4096..4096 + 64 * BLOCK_BYTES;
                let lanes = BLOCK_BYTES / 8;
                let sum = by_hand(&mut expected, kernel, &chunk, lanes);
                let swept = sweep(&mut region, kernel, vectors, &chunk);
                assert_eq!(region.words_mut(), expected, "{kernel:?} with {vectors:?}");
                if kernel == Kernel::Read {
                    assert_eq!(swept, sum, "{vectors:?} reads something else");
                }
            }
        }
    }

    #[test]
    fn streams_stay_inside_their_region() {
        for kernel in Kernel::ALL {
            let stream = stream_bytes(10_000_000, kernel);
            assert!(stream * kernel.streams() <= 10_000_000);
            assert_eq!(stream % BLOCK_BYTES, 0);
        }
    }
}
