//! Waiting for the agent's answer: as long as it says that it is at work, or until the user
//! has enough of it.

use crate::outcome::tell;
use std::time::{Duration, Instant};
use tyrion_model::{harmless, units};

/// An agent that has said nothing for so long is not waited for.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long it may be silent while it takes back what it has begun.
const LEAVE: Duration = Duration::from_secs(10);
/// An interrupt counts after this time: most commands have ended by then, and so well that
/// the user gets what there is.
const GRACE: Duration = Duration::from_secs(1);
/// What takes longer is told,
const SHORT: Duration = Duration::from_secs(2);
/// and so often again where nothing has changed.
const AGAIN: Duration = Duration::from_secs(10);
/// What an agent says is shown up to so many characters.
const LONGEST: usize = 200;

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Look again.
    Wait,
    /// Have the agent take back what it has begun.
    GiveUp,
    /// It does not answer.
    Leave,
}

/// A wait for an answer.
pub(super) struct Waiting {
    begin: Instant,
    /// When it last said something new, and what.
    heard: Instant,
    said: String,
    /// When the user was last told, and what.
    told: Option<(Instant, String)>,
    has_given_up: bool,
}

impl Waiting {
    pub(super) fn begin() -> Waiting {
        let now = Instant::now();
        Waiting { begin: now, heard: now, said: String::new(), told: None, has_given_up: false }
    }

    /// What to do after the agent has said this, or nothing; `interrupted` says that the user
    /// does not want to wait.
    pub(super) fn next(&mut self, said: Option<String>, interrupted: bool) -> Next {
        self.next_at(Instant::now(), said, interrupted)
    }

    fn next_at(&mut self, now: Instant, said: Option<String>, interrupted: bool) -> Next {
        if let Some(said) = said.filter(|said| *said != self.said) {
            (self.heard, self.said) = (now, said);
        }
        let silent = now.saturating_duration_since(self.heard);
        if self.has_given_up {
            return if silent > LEAVE { Next::Leave } else { Next::Wait };
        }
        let is_unwanted = interrupted && now.saturating_duration_since(self.begin) > GRACE;
        if is_unwanted || silent > PATIENCE {
            self.has_given_up = true;
            self.heard = now;
            return Next::GiveUp;
        }
        if let Some(told) = self.news(now) {
            tell(&told);
        }
        Next::Wait
    }

    /// What the user is to know by now, if that is new, or long ago.
    fn news(&mut self, now: Instant) -> Option<String> {
        let value = |key: &str| {
            let mut lines = self.said.lines().filter_map(|line| line.split_once('='));
            lines.find(|(known, _)| *known == key).map(|(_, value)| value)
        };
        let what = value("what").filter(|_| now.saturating_duration_since(self.begin) > SHORT)?;
        let what = harmless::within(what, LONGEST).into_owned();
        let subject = match value("by").and_then(|by| by.parse::<u32>().ok()) {
            None => "the agent is at work".to_owned(),
            Some(0) => "another command is at work in this JVM".to_owned(),
            Some(by) => format!("another command (process {by}) is at work in this JVM"),
        };
        let since_ms = value("for_ms").and_then(|ms| ms.parse::<u64>().ok()).unwrap_or(0);
        let text = format!("{subject}: {what}");
        let is_due = self.told.as_ref().is_none_or(|(at, before)| {
            let passed = now.saturating_duration_since(*at);
            passed > AGAIN || *before != text && passed > SHORT
        });
        if !is_due {
            return None;
        }
        self.told = Some((now, text.clone()));
        let since = units::duration(since_ms.saturating_mul(1_000_000));
        Some(format!("{text}, since {since} (Ctrl-C gives up)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: Duration = Duration::from_secs(1);

    fn said(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn an_agent_at_work_is_waited_for_and_a_silent_one_is_not() {
        let mut waiting = Waiting::begin();
        let begin = waiting.begin;
        for at in 1..100 {
            let work = said(&format!("for_ms={at}000\nwhat=puts probes into classes"));
            assert_eq!(waiting.next_at(begin + at * S, work, false), Next::Wait, "{at}");
        }
        let same = || said("for_ms=99000\nwhat=puts probes into classes");
        assert_eq!(waiting.next_at(begin + 129 * S, same(), false), Next::Wait);
        assert_eq!(waiting.next_at(begin + 130 * S, same(), false), Next::GiveUp);
        assert_eq!(waiting.next_at(begin + 131 * S, same(), false), Next::Wait);
        // It takes back what it has begun.
        let back = said("what=takes back");
        assert_eq!(waiting.next_at(begin + 139 * S, back.clone(), false), Next::Wait);
        assert_eq!(waiting.next_at(begin + 150 * S, back, false), Next::Leave);
    }

    #[test]
    fn an_interrupt_gives_up_once() {
        let mut waiting = Waiting::begin();
        let begin = waiting.begin;
        assert_eq!(waiting.next_at(begin, None, true), Next::Wait, "most end by themselves");
        assert_eq!(waiting.next_at(begin + 2 * S, None, true), Next::GiveUp);
        assert_eq!(waiting.next_at(begin + 3 * S, None, true), Next::Wait);
    }

    #[test]
    fn whoever_is_at_work_is_told() {
        let mut waiting = Waiting::begin();
        let begin = waiting.begin;
        waiting.said = "by=77\nfor_ms=12000\nwhat=puts\u{1b} probes".to_owned();
        assert_eq!(waiting.news(begin + S), None, "too early");
        let told = waiting.news(begin + 3 * S).unwrap_or_default();
        assert!(told.starts_with("another command (process 77) is at work in this JVM: puts"));
        assert!(told.contains("since 12 s") && !told.contains('\u{1b}'), "{told}");
        assert_eq!(waiting.news(begin + 4 * S), None, "again");
        assert!(waiting.news(begin + 14 * S).is_some());
        waiting.said = "for_ms=13000\nwhat=looks".to_owned();
        let told = waiting.news(begin + 17 * S).unwrap_or_default();
        assert!(told.starts_with("the agent is at work: looks, since 13 s"), "{told}");
    }
}
