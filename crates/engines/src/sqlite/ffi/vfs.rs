//! A VFS whose files are images in placed memory: pages are pointers, accesses counted by node.
//!
//! Method: `xFetch` returns an address inside the image. Counters are in the open file, which
//! belongs to one connection and one thread: nothing is shared or atomic. Emulated distance is a
//! debt (`debt.rs`), to which each access to a page of another node adds.
//!
//! Limits: a cursor that stays on a page accesses it once, however many rows it reads. Page 1 and
//! some overflow pages are copied by SQLite, and counted as well.

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use hopcost_core::{Lookups, NodeId};
use hopcost_sys::clock;
use hopcost_sys::memory::PIECE;
use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_vfs};

use super::super::image::Image;
use super::connection::{Connection, SqliteError, int};
use super::debt::{Debt, PaidBy};

pub const NAME: &CStr = c"hopcost-image";
/// The longest name of an image: a slash and a number.
const LONGEST_NAME: c_int = 64;
/// A placement's index is a byte.
const HOMES: usize = 1 << u8::BITS;

static SHELF: Mutex<BTreeMap<u64, Weak<Image>>> = Mutex::new(BTreeMap::new());

/// Registers an image for connections; the number is valid as long as the image lives.
pub fn shelve(image: &Arc<Image>) -> u64 {
    let mut shelf = SHELF.lock().unwrap_or_else(PoisonError::into_inner);
    let number = shelf.last_key_value().map_or(0, |(last, _)| last + 1);
    // The newest entry stays, or its number would be used again.
    shelf.retain(|at, image| at + 1 == number || image.strong_count() > 0);
    shelf.insert(number, Arc::downgrade(image));
    number
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    pub lookups: Lookups,
    /// Accesses that were copies.
    pub copies: u64,
    pub planted: Duration,
}

impl Connection {
    pub fn of_image(number: u64) -> Result<Self, SqliteError> {
        register()?;
        let uri = format!("file:/{number}?vfs={}&immutable=1", NAME.to_string_lossy());
        Self::open(uri.as_bytes(), ffi::SQLITE_OPEN_READONLY | ffi::SQLITE_OPEN_URI)
    }

    /// Resets the counters and sets the emulated cost of an access by the page's node. Returns
    /// `false` if this is no connection to an image.
    pub fn begin_counting(&self, cost_ns: impl Fn(NodeId) -> f64) -> bool {
        let Some(open) = self.open_image() else { return false };
        let image = Arc::clone(&open.image);
        *open = OpenImage::new(image);
        for (home, node) in open.by_home.iter_mut().zip(open.image.nodes()) {
            home.cost_ns = cost_ns(*node);
        }
        true
    }

    /// Accesses since the last time, and distinct pages since the beginning.
    pub fn tally(&self) -> Tally {
        self.open_image().map(OpenImage::tally).unwrap_or_default()
    }

    /// From here on accesses have their cost.
    pub fn pays_by(&self, by: PaidBy) {
        if let Some(open) = self.open_image() {
            open.debt.by = Some(by);
        }
    }

    pub fn owed(&self) -> Duration {
        self.open_image().map_or(Duration::ZERO, |open| open.debt.owed())
    }

    /// From here on accesses cost nothing, until they are forgotten. Pages that were never seen before
    /// would be seen.
    pub fn begin_repetition(&self) -> Option<Repetition> {
        let open = self.open_image()?;
        let before = Repetition { by_home: open.by_home, copies: open.copies, begun: clock::now() };
        open.by_home.iter_mut().for_each(|home| home.cost_ns = 0.0);
        Some(before)
    }

    /// What it took pays the debt.
    pub fn end_repetition(&self, before: &Repetition) -> Duration {
        let took = before.begun.elapsed();
        if let Some(open) = self.open_image() {
            (open.by_home, open.copies) = (before.by_home, before.copies);
            open.debt.pay(took);
        }
        took
    }

    #[allow(clippy::mut_from_ref)] // the exclusive borrow ends before SQLite is called again
    fn open_image(&self) -> Option<&mut OpenImage> {
        let file = self.file();
        // SAFETY: the file is null or open, and stays so while the connection is borrowed. With our
        // methods it was made by `open` below. All callers use it without calling SQLite, so there
        // is no other reference meanwhile.
        unsafe {
            let is_ours = !file.is_null() && ptr::eq((*file).pMethods, &raw const METHODS);
            is_ours.then(|| &mut *file.cast::<OpenImage>())
        }
    }
}

#[derive(Clone, Copy)]
struct Home {
    acquisitions: u64,
    cost_ns: f64,
}

/// What was counted before.
pub struct Repetition {
    by_home: [Home; HOMES],
    copies: u64,
    begun: Instant,
}

/// An open file: SQLite's part, then ours.
#[repr(C)]
struct OpenImage {
    base: sqlite3_file,
    image: Arc<Image>,
    copies: u64,
    debt: Debt,
    /// A bit for each piece of the image that was accessed.
    seen: Vec<u64>,
    by_home: [Home; HOMES],
}

impl OpenImage {
    fn new(image: Arc<Image>) -> Self {
        Self {
            base: sqlite3_file { pMethods: &raw const METHODS },
            copies: 0,
            debt: Debt::default(),
            seen: vec![0; image.pieces().div_ceil(64)],
            by_home: [Home { acquisitions: 0, cost_ns: 0.0 }; HOMES],
            image,
        }
    }

    /// Counts an access to `bytes` bytes at `at`, by the node of the first piece.
    #[inline]
    fn acquire(&mut self, at: usize, bytes: usize) {
        let (first, last) = (at / PIECE, (at + bytes - 1) / PIECE);
        if first / 64 == last / 64 {
            // Database pages, aligned to their size, take this branch.
            self.seen[first / 64] |= (u64::MAX >> (63 - (last - first))) << (first % 64);
        } else {
            self.see_each(first, last);
        }
        let home = &mut self.by_home[usize::from(self.image.home_of(first))];
        home.acquisitions += 1;
        self.debt.add(home.cost_ns);
    }

    #[cold]
    fn see_each(&mut self, first: usize, last: usize) {
        for piece in first..=last {
            self.seen[piece / 64] |= 1 << (piece % 64);
        }
    }

    fn tally(&mut self) -> Tally {
        let mut tally = Tally {
            lookups: Lookups::default(),
            copies: std::mem::take(&mut self.copies),
            planted: self.debt.take(),
        };
        let nodes = self.image.nodes();
        for (node, home) in nodes.iter().zip(&mut self.by_home) {
            let count = std::mem::take(&mut home.acquisitions);
            if count > 0 {
                tally.lookups.acquisitions.insert(*node, count);
            }
        }
        for (node, count) in nodes.iter().zip(self.seen_by_home()) {
            if count > 0 {
                tally.lookups.distinct_pages.insert(*node, count);
            }
        }
        tally
    }

    fn seen_by_home(&self) -> [u64; HOMES] {
        let mut counts = [0; HOMES];
        for (word, homes) in self.seen.iter().zip(self.image.homes().chunks(64)) {
            let mut left = *word;
            while left != 0 {
                let home = homes[left.trailing_zeros() as usize].load(Ordering::Relaxed);
                counts[usize::from(home)] += 1;
                left &= left - 1;
            }
        }
        counts
    }
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    iVersion: 3,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(nothing_with_a_number),
    xFileSize: Some(file_size),
    xLock: Some(nothing_with_a_number),
    xUnlock: Some(nothing_with_a_number),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: None,
    xShmLock: None,
    xShmBarrier: None,
    xShmUnmap: None,
    xFetch: Some(fetch),
    xUnfetch: Some(unfetch),
};

fn within(image: &Image, offset: sqlite3_int64, bytes: c_int) -> Option<(usize, usize)> {
    let (at, bytes) = (usize::try_from(offset).ok()?, usize::try_from(bytes).ok()?);
    (bytes > 0 && at.checked_add(bytes)? <= image.len()).then_some((at, bytes))
}

unsafe extern "C" fn fetch(
    file: *mut sqlite3_file,
    offset: sqlite3_int64,
    bytes: c_int,
    into: *mut *mut c_void,
) -> c_int {
    // SAFETY: SQLite passes a file that `open` made, on the thread of its connection, and room for
    // one pointer.
    let (open, into) = unsafe { (&mut *file.cast::<OpenImage>(), &mut *into) };
    *into = ptr::null_mut();
    if let Some((at, bytes)) = within(&open.image, offset, bytes) {
        // The file is read-only, so SQLite only reads through the pointer.
        *into = open.image.as_ptr().wrapping_add(at).cast_mut().cast();
        open.acquire(at, bytes);
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn unfetch(
    _file: *mut sqlite3_file,
    _offset: sqlite3_int64,
    _page: *mut c_void,
) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    into: *mut c_void,
    bytes: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: as in `fetch`.
    let open = unsafe { &mut *file.cast::<OpenImage>() };
    let wanted = usize::try_from(bytes).unwrap_or(0);
    let Some((at, bytes)) = within(&open.image, offset, bytes) else {
        // SAFETY: SQLite passes room for `wanted` bytes, and expects zeros beyond the file's end.
        unsafe { ptr::write_bytes(into.cast::<u8>(), 0, wanted) };
        return ffi::SQLITE_IOERR_SHORT_READ;
    };
    // SAFETY: `within` checked the range; SQLite passes room for `bytes` bytes outside the image.
    unsafe { ptr::copy_nonoverlapping(open.image.as_ptr().add(at), into.cast(), bytes) };
    open.copies += 1;
    open.acquire(at, bytes);
    ffi::SQLITE_OK
}

unsafe extern "C" fn write(
    _file: *mut sqlite3_file,
    _from: *const c_void,
    _bytes: c_int,
    _offset: sqlite3_int64,
) -> c_int {
    ffi::SQLITE_READONLY
}

unsafe extern "C" fn truncate(_file: *mut sqlite3_file, _size: sqlite3_int64) -> c_int {
    ffi::SQLITE_READONLY
}

/// Locks and syncs: nothing is ever written.
unsafe extern "C" fn nothing_with_a_number(_file: *mut sqlite3_file, _number: c_int) -> c_int {
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_size(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    // SAFETY: as in `fetch`, with room for one number.
    let (open, size) = unsafe { (&*file.cast::<OpenImage>(), &mut *size) };
    *size = open.image.len().try_into().unwrap_or(sqlite3_int64::MAX);
    ffi::SQLITE_OK
}

unsafe extern "C" fn check_reserved_lock(_file: *mut sqlite3_file, is_held: *mut c_int) -> c_int {
    // SAFETY: SQLite passes room for one number.
    unsafe { *is_held = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn file_control(
    _file: *mut sqlite3_file,
    _what: c_int,
    _argument: *mut c_void,
) -> c_int {
    ffi::SQLITE_NOTFOUND
}

unsafe extern "C" fn sector_size(_file: *mut sqlite3_file) -> c_int {
    int(PIECE)
}

unsafe extern "C" fn device_characteristics(_file: *mut sqlite3_file) -> c_int {
    ffi::SQLITE_IOCAP_IMMUTABLE
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes each file that `open` made once, and does not use it again.
    unsafe { ptr::drop_in_place(file.cast::<OpenImage>()) };
    ffi::SQLITE_OK
}

unsafe extern "C" fn open(
    _vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes room for `szOsFile` bytes; a file without methods is never closed.
    unsafe { (*file).pMethods = ptr::null() };
    if name.is_null() || flags & ffi::SQLITE_OPEN_MAIN_DB == 0 {
        return ffi::SQLITE_CANTOPEN;
    }
    // SAFETY: a non-null name is NUL-terminated.
    let name = unsafe { CStr::from_ptr(name) };
    let number = name.to_str().ok().and_then(|name| name.strip_prefix('/')?.parse().ok());
    let shelf = SHELF.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(image) = number.and_then(|number: u64| shelf.get(&number)?.upgrade()) else {
        return ffi::SQLITE_CANTOPEN;
    };
    // SAFETY: as above; SQLite's room is aligned to 8 bytes, and its content needs no drop.
    unsafe { ptr::write(file.cast(), OpenImage::new(image)) };
    if !out_flags.is_null() {
        // SAFETY: room for one number.
        unsafe { *out_flags = ffi::SQLITE_OPEN_READONLY | ffi::SQLITE_OPEN_MAIN_DB };
    }
    ffi::SQLITE_OK
}

unsafe extern "C" fn delete(_vfs: *mut sqlite3_vfs, _name: *const c_char, _sync: c_int) -> c_int {
    ffi::SQLITE_READONLY
}

/// An image has no journal.
unsafe extern "C" fn access(
    _vfs: *mut sqlite3_vfs,
    _name: *const c_char,
    _flags: c_int,
    answer: *mut c_int,
) -> c_int {
    // SAFETY: SQLite passes room for one number.
    unsafe { *answer = 0 };
    ffi::SQLITE_OK
}

unsafe extern "C" fn full_pathname(
    _vfs: *mut sqlite3_vfs,
    name: *const c_char,
    room: c_int,
    into: *mut c_char,
) -> c_int {
    // SAFETY: the name is NUL-terminated.
    let name = unsafe { CStr::from_ptr(name) }.to_bytes_with_nul();
    if name.len() > usize::try_from(room).unwrap_or(0) {
        return ffi::SQLITE_CANTOPEN;
    }
    // SAFETY: there is room for `room` bytes, which do not overlap the name.
    unsafe { ptr::copy_nonoverlapping(name.as_ptr().cast(), into, name.len()) };
    ffi::SQLITE_OK
}

/// SQLite takes its random numbers from the default VFS; those of a workload are seeded elsewhere.
unsafe extern "C" fn randomness(_vfs: *mut sqlite3_vfs, _bytes: c_int, _to: *mut c_char) -> c_int {
    0
}

/// SQLite sleeps only for locks, and there are none.
unsafe extern "C" fn sleep(_vfs: *mut sqlite3_vfs, micros: c_int) -> c_int {
    micros
}

unsafe extern "C" fn current_time(_vfs: *mut sqlite3_vfs, into: *mut sqlite3_int64) -> c_int {
    const JULIAN_MS_AT_1970: sqlite3_int64 = 210_866_760_000_000;
    let unix_ms = clock::unix_seconds().cast_signed() * 1000;
    // SAFETY: SQLite passes room for one number.
    unsafe { *into = JULIAN_MS_AT_1970 + unix_ms };
    ffi::SQLITE_OK
}

fn register() -> Result<(), SqliteError> {
    static ONCE: OnceLock<c_int> = OnceLock::new();
    let code = *ONCE.get_or_init(|| {
        let vfs = Box::leak(Box::new(sqlite3_vfs {
            iVersion: 2,
            szOsFile: int(size_of::<OpenImage>()),
            mxPathname: LONGEST_NAME,
            pNext: ptr::null_mut(),
            zName: NAME.as_ptr(),
            pAppData: ptr::null_mut(),
            xOpen: Some(open),
            xDelete: Some(delete),
            xAccess: Some(access),
            xFullPathname: Some(full_pathname),
            xDlOpen: None,
            xDlError: None,
            xDlSym: None,
            xDlClose: None,
            xRandomness: Some(randomness),
            xSleep: Some(sleep),
            xCurrentTime: None,
            xGetLastError: None,
            xCurrentTimeInt64: Some(current_time),
            xSetSystemCall: None,
            xGetSystemCall: None,
            xNextSystemCall: None,
        }));
        // SAFETY: the VFS has all that SQLite calls of version 2, and is never freed.
        unsafe { ffi::sqlite3_vfs_register(vfs, c_int::from(false)) }
    });
    if code == ffi::SQLITE_OK {
        return Ok(());
    }
    Err(SqliteError::new(code, "SQLite refuses the VFS of page images"))
}
