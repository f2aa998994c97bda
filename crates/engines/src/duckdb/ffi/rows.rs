//! The rows of an answer.

use std::ffi::c_void;

use hopcost_core::{Answer, Row};

use super::super::super::hosted::LibraryResult;
use super::api::{Handle, Interface, RawRows, SUCCESS, kind, text};

#[derive(Clone, Copy)]
pub enum Value<'a> {
    Null,
    /// A whole number, or microseconds since 1970.
    Integer(i64),
    Text(&'a str),
}

pub struct Rows {
    api: &'static Interface,
    raw: RawRows,
    kinds: Vec<u32>,
}

impl Rows {
    pub fn of(api: &'static Interface, raw: RawRows, done: u32) -> LibraryResult<Self> {
        let mut rows = Self { api, raw, kinds: Vec::new() };
        // SAFETY: the library made the result, which is destroyed when this is dropped.
        unsafe {
            if done != SUCCESS {
                return Err(text((api.duckdb_result_error)(&raw mut rows.raw)).into());
            }
            let columns = 0..(api.duckdb_column_count)(&raw mut rows.raw);
            rows.kinds = columns.map(|n| (api.duckdb_column_type)(&raw mut rows.raw, n)).collect();
        }
        Ok(rows)
    }

    /// All rows. The row count of a change is a row too.
    pub fn answer(&self) -> LibraryResult<Answer> {
        let mut answer = Answer::default();
        self.each(|values| {
            answer.add(values.iter().fold(Row::new(), |row, value| match value {
                Value::Null => row.null(),
                Value::Integer(value) => row.integer(*value),
                Value::Text(text) => row.text(text),
            }));
        })?;
        Ok(answer)
    }

    pub fn each(&self, mut take: impl FnMut(&[Value<'_>])) -> LibraryResult<()> {
        loop {
            // SAFETY: the result is open; the chunk is destroyed below.
            let mut chunk = unsafe { (self.api.duckdb_fetch_chunk)(self.raw) };
            if chunk.is_null() {
                return Ok(());
            }
            // SAFETY: it is a chunk of this result, and not used afterwards.
            let taken = unsafe { self.each_of(chunk, &mut take) };
            // SAFETY: as above.
            unsafe { (self.api.duckdb_destroy_data_chunk)(&raw mut chunk) };
            taken?;
        }
    }

    /// # Safety
    /// `chunk` is a chunk of this result.
    unsafe fn each_of(
        &self,
        chunk: Handle,
        take: &mut impl FnMut(&[Value<'_>]),
    ) -> LibraryResult<()> {
        let api = self.api;
        // SAFETY: a chunk has a vector for each column with a value for each row.
        unsafe {
            let vector = |(n, kind): (u64, &u32)| {
                let vector = (api.duckdb_data_chunk_get_vector)(chunk, n);
                let data = (api.duckdb_vector_get_data)(vector).cast_const();
                (*kind, data, (api.duckdb_vector_get_validity)(vector).cast_const())
            };
            let vectors: Vec<_> = (0..).zip(&self.kinds).map(vector).collect();
            let mut values = Vec::with_capacity(vectors.len());
            for row in 0..(api.duckdb_data_chunk_get_size)(chunk) as usize {
                values.clear();
                for (kind, data, validity) in &vectors {
                    values.push(value(*kind, *data, *validity, row)?);
                }
                take(&values);
            }
        }
        Ok(())
    }
}

/// # Safety
/// Of a vector of type `kind` with more than `row` rows; a text lives as long as the vector.
unsafe fn value<'a>(
    kind: u32,
    data: *const c_void,
    validity: *const u64,
    row: usize,
) -> LibraryResult<Value<'a>> {
    // SAFETY: by this function's contract, here and below.
    let is_there = validity.is_null() || unsafe { *validity.add(row / 64) } >> (row % 64) & 1 == 1;
    if !is_there {
        return Ok(Value::Null);
    }
    // SAFETY: `kind` is the type of the values.
    Ok(unsafe {
        match kind {
            kind::BOOLEAN | kind::TINYINT => Value::Integer((*data.cast::<i8>().add(row)).into()),
            kind::SMALLINT => Value::Integer((*data.cast::<i16>().add(row)).into()),
            kind::INTEGER => Value::Integer((*data.cast::<i32>().add(row)).into()),
            kind::BIGINT | kind::TIMESTAMP => Value::Integer(*data.cast::<i64>().add(row)),
            kind::HUGEINT => {
                let [low, high] = *data.cast::<[u64; 2]>().add(row);
                let whole = (i128::from(high.cast_signed()) << 64) | i128::from(low);
                let small = i64::try_from(whole).map_err(|_| "a number beyond 64 bits")?;
                Value::Integer(small)
            }
            kind::VARCHAR => {
                let place = data.cast::<u8>().add(16 * row);
                let length = place.cast::<u32>().read_unaligned() as usize;
                // `duckdb_string_t`: up to 12 bytes are stored inline, longer texts by pointer.
                let start = if length <= 12 {
                    place.add(4)
                } else {
                    place.add(8).cast::<*const u8>().read_unaligned()
                };
                let bytes = std::slice::from_raw_parts(start, length);
                Value::Text(std::str::from_utf8(bytes).map_err(|_| "a text is no UTF-8")?)
            }
            other => return Err(format!("the type {other} is not known here").into()),
        }
    })
}

impl Drop for Rows {
    fn drop(&mut self) {
        // SAFETY: the library made the result, and nothing refers to it any more.
        unsafe { (self.api.duckdb_destroy_result)(&raw mut self.raw) };
    }
}
