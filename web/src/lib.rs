//! The reading side of Tyrion for a page of a browser: bytes of a file in, a page or an
//! error out. `web/page.html` calls it, through numbers and memory alone.
//!
//! It imports nothing, so that there is nothing it could do to the world but answer.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// What goes in, and what comes out.
struct State {
    name: Vec<u8>,
    file: Vec<u8>,
    answer: Vec<u8>,
}

static STATE: Mutex<State> =
    Mutex::new(State { name: Vec::new(), file: Vec::new(), answer: Vec::new() });

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Room for so many bytes, to be written to; null where memory has none.
fn room(bytes: &mut Vec<u8>, len: usize) -> *mut u8 {
    *bytes = Vec::new();
    if bytes.try_reserve_exact(len).is_err() {
        return std::ptr::null_mut();
    }
    bytes.resize(len, 0);
    bytes.as_mut_ptr()
}

/// Where the file's name is to be written, in UTF-8; null if there is no room.
// SAFETY: no other library has a function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn tyrion_name(len: usize) -> *mut u8 {
    room(&mut state().name, len)
}

/// Where the file's bytes are to be written; null if there is no room.
// SAFETY: no other library has a function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn tyrion_file(len: usize) -> *mut u8 {
    room(&mut state().file, len)
}

/// Makes the page: 1 if it is the answer, 0 if that is an error in words. If it ends by a
/// trap, the answer is what a panic said, or empty where there was no memory.
// SAFETY: no other library has a function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn tyrion_make() -> u32 {
    std::panic::set_hook(Box::new(|panic| state().answer = panic.to_string().into_bytes()));
    let (name, file) = {
        let mut state = state();
        state.answer = Vec::new();
        (std::mem::take(&mut state.name), std::mem::take(&mut state.file))
    };
    let made = tyrion_page::page(&String::from_utf8_lossy(&name), file);
    let is_page = made.is_ok();
    state().answer = made.unwrap_or_else(String::into_bytes);
    is_page.into()
}

/// Where the answer stands.
// SAFETY: no other library has a function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn tyrion_answer() -> *const u8 {
    state().answer.as_ptr()
}

/// How many bytes the answer has.
// SAFETY: no other library has a function of this name.
#[unsafe(no_mangle)]
pub extern "C" fn tyrion_answer_len() -> usize {
    state().answer.len()
}
