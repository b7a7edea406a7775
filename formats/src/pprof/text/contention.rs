//! `--- mutex:`, `--- contention:`, `--- contentionz`: a line for each stack, with how long in
//! cycles, how often, and addresses; Go adds lines with the functions.

use super::{TextProfile, file_and_line, lines};

/// A stack.
#[derive(Default)]
struct TextStack {
    cycles: u64,
    count: u64,
    addresses: Vec<u64>,
    frames: Vec<u64>,
}

/// What the lines in front say.
struct ContentionScale {
    cycles_per_second: u64,
    period: u64,
    /// gperftools writes what it has sampled; Go has scaled it, though it writes the period.
    is_sampled: bool,
}

impl ContentionScale {
    fn take(&mut self, read: &mut TextProfile, line: &str) -> bool {
        let Some((key, value)) = line.split_once('=') else { return false };
        let number = value.trim().parse().unwrap_or(0);
        match key.trim() {
            "cycles/second" => self.cycles_per_second = number,
            "sampling period" => self.period = number,
            "ms since reset" => read.duration_ns = number.saturating_mul(1_000_000),
            _ => {}
        }
        true
    }

    /// How often, and how long.
    fn values(&self, stack: &TextStack) -> [u64; 2] {
        let times = if self.is_sampled { self.period.max(1) } else { 1 };
        let ns = match self.cycles_per_second {
            0 => stack.cycles.into(),
            cycles => u128::from(stack.cycles) * 1_000_000_000 / u128::from(cycles),
        };
        let ns = u64::try_from(ns).unwrap_or(u64::MAX);
        [stack.count.saturating_mul(times), ns.saturating_mul(times).min(i64::MAX as u64)]
    }
}

pub(super) fn read(text: &str, read: &mut TextProfile) {
    read.profile.value_type("contentions", "count");
    read.profile.value_type("delay", "nanoseconds");
    let is_sampled = text.starts_with("--- contentionz");
    let mut scale = ContentionScale { cycles_per_second: 0, period: 1, is_sampled };
    let mut stack: Option<TextStack> = None;
    for (at, line) in lines(text).skip(1) {
        if line == "MAPPED_LIBRARIES:" || line == "--- Memory map: ---" {
            break;
        } else if let Some(frame) = line.strip_prefix('#') {
            let number = location(frame, read);
            if let Some((stack, number)) = stack.as_mut().zip(number) {
                stack.frames.push(number);
            }
        } else if let Some(next) = stack_line(line) {
            add(stack.replace(next), &scale, read);
        } else if !line.is_empty() && !scale.take(read, line) {
            let what = "neither a stack with cycles and a count nor a frame; it was left out";
            read.leave_out(at, what, line);
        }
    }
    add(stack, &scale, read);
}

/// `27312345 12 @ 0x45a6cd 0x4b1122`.
fn stack_line(line: &str) -> Option<TextStack> {
    let (numbers, addresses) = line.split_once('@')?;
    let mut numbers = numbers.split_ascii_whitespace().map(str::parse);
    let (Some(Ok(cycles)), Some(Ok(count)), None) =
        (numbers.next(), numbers.next(), numbers.next())
    else {
        return None;
    };
    let address = |it: &str| u64::from_str_radix(it.trim_start_matches("0x"), 16).ok();
    let addresses = addresses.split_ascii_whitespace().map_while(address).collect();
    Some(TextStack { cycles, count, addresses, frames: Vec::new() })
}

/// ` 0x45a6cc sync.(*Mutex).Unlock+0x4c /go/src/sync/mutex.go:190`.
fn location(frame: &str, read: &mut TextProfile) -> Option<u64> {
    let mut parts = frame.split('\t').map(str::trim).filter(|it| !it.is_empty());
    let (_, name) = (parts.next()?, parts.next()?);
    let name = name.rsplit_once("+0x").map_or(name, |(name, _)| name);
    let (file, line) = parts.next().and_then(file_and_line).unwrap_or_default();
    let function = read.profile.function(name, name, file, 0);
    Some(read.profile.location(function, line))
}

fn add(stack: Option<TextStack>, scale: &ContentionScale, read: &mut TextProfile) {
    let Some(mut stack) = stack else { return };
    if stack.frames.is_empty() {
        let addresses = std::mem::take(&mut stack.addresses);
        stack.frames = addresses.iter().map(|&it| read.profile.location(0, it)).collect();
    }
    read.profile.sample(&stack.frames, &scale.values(&stack), &[]);
}
