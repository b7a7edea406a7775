//! Kernels that lack something, and containers that do not let it pass.

use std::{io, os::unix::process::CommandExt, process::Command};

/// A system call that fails.
#[derive(Clone, Debug)]
pub struct Refusal {
    call: i64,
    error: i32,
    /// Which words of its arguments, of 32 bits each, it must have: number and value.
    words: Vec<(u32, u32)>,
}

impl Refusal {
    /// This call fails with this error.
    pub fn of(call: libc::c_long, error: i32) -> Refusal {
        Refusal { call, error, words: Vec::new() }
    }

    /// If the lower half of this argument has this value.
    pub fn if_argument(mut self, nth: u32, value: u32) -> Refusal {
        self.words.push((2 * nth, value));
        self
    }

    /// If this argument has this value, in both halves.
    pub fn if_whole_argument(self, nth: u32, value: u64) -> Refusal {
        let mut it = self.if_argument(nth, value as u32);
        it.words.push((2 * nth + 1, (value >> 32) as u32));
        it
    }

    /// Instructions that leave for the next refusal unless this one is meant.
    fn instructions(&self) -> Vec<libc::sock_filter> {
        let tests = [(NUMBER, self.call as u32)].into_iter();
        let tests =
            tests.chain(self.words.iter().map(|&(word, value)| (ARGUMENTS + 4 * word, value)));
        let tests: Vec<(u32, u32)> = tests.collect();
        let mut instructions = Vec::new();
        for (nth, &(at, value)) in tests.iter().enumerate() {
            let left = 2 * (tests.len() - nth - 1) + 1;
            instructions.push(instruction(LOAD, 0, at));
            instructions.push(instruction(IS_EQUAL, left as u8, value));
        }
        instructions.push(instruction(RETURN, 0, libc::SECCOMP_RET_ERRNO | self.error as u32));
        instructions
    }
}

/// Where the kernel puts the number of a call, and its arguments.
const NUMBER: u32 = 0;
const ARGUMENTS: u32 = 16;
const LOAD: u32 = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
const IS_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// An instruction, that skips so many if what it tests is not so.
const fn instruction(code: u32, skipped: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: skipped, k }
}

/// Has calls of a command, and of all that it starts, fail.
pub fn refuse(command: &mut Command, refusals: &[Refusal]) {
    let mut filter: Vec<_> = refusals.iter().flat_map(Refusal::instructions).collect();
    filter.push(instruction(RETURN, 0, libc::SECCOMP_RET_ALLOW));
    let restrict = move || {
        let program =
            libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        // SAFETY: the numbers are as prctl(2) wants them, the program lives through the
        // call, and neither call allocates anything.
        let failed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) != 0
        };
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec the closure makes two system calls.
    unsafe { command.pre_exec(restrict) };
}
