//! What waits are divided by.

use super::DiffError;
use crate::{
    Findings,
    conditions::LockFigures,
    sections::contended::{Contended, ContendedLock},
};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;
use tyrion_formats::Recording;

/// What waits are told for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Each second that was recorded.
    #[default]
    Second,
    /// Each acquisition of the lock.
    Acquisition,
    /// Each recording as a whole.
    Recording,
}

impl Per {
    /// In a few letters, behind an amount.
    pub fn unit(self) -> &'static str {
        match self {
            Per::Second => "/s",
            Per::Acquisition => "/acquisition",
            Per::Recording => "",
        }
    }
}

/// What of waits is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Measure {
    /// How long threads waited.
    #[default]
    Wait,
    /// How often, where it is not known of all recordings how long.
    Contentions,
}

/// A lock in any recording, and how it is waited for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LockIdentity {
    pub(super) class: String,
    pub(super) name: String,
    pub(super) kind: &'static str,
}

impl LockIdentity {
    pub(super) fn of(lock: &LockFigures) -> LockIdentity {
        let (class, name, kind) = lock.key();
        LockIdentity { class: class.to_owned(), name: name.to_owned(), kind }
    }
}

/// What the waits of one side are divided by.
#[derive(Clone, Debug, Default)]
pub(super) struct Denominators {
    /// All waits.
    total: f64,
    /// Those of each lock, where that differs.
    of_locks: Option<HashMap<LockIdentity, f64>>,
}

/// Of both sides.
#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    pub(super) measure: Measure,
    pub(super) before: Denominators,
    pub(super) after: Denominators,
}

impl Denominators {
    pub(super) fn of(findings: &Findings<'_>, per: Per) -> Result<Denominators, DiffError> {
        let names = || {
            let names: Vec<&str> = findings.logs.iter().map(Recording::name).collect();
            names.join(", ")
        };
        match per {
            Per::Second => match findings.recorded_ns() {
                0 => Err(DiffError::NoTime(names())),
                ns => Ok(Denominators { total: ns as f64 / 1e9, of_locks: None }),
            },
            Per::Recording => Ok(Denominators { total: 1.0, of_locks: None }),
            Per::Acquisition => {
                let contended = Contended::of(findings, &crate::conditions::everything());
                let is_trace = findings.logs.iter().all(Recording::is_trace);
                let total = contended.totals.acquisitions.filter(|&n| n != 0 && is_trace);
                let total = total.ok_or_else(|| DiffError::NoAcquisitions(names()))?;
                let known = |lock: &ContendedLock| {
                    let (class, name) = (lock.lock.class.clone(), lock.lock.name.clone());
                    let taken = lock.acquisitions.filter(|&taken| taken != 0)?;
                    Some((LockIdentity { class, name, kind: lock.kind }, taken as f64))
                };
                let of_locks = contended.locks.iter().filter_map(known).collect();
                Ok(Denominators { total: total as f64, of_locks: Some(of_locks) })
            }
        }
    }

    /// What the waits of all locks are divided by.
    pub(super) fn total(&self) -> f64 {
        self.total
    }

    /// What the waits of a lock are divided by, if that is known.
    pub(super) fn of_lock(&self, lock: &LockIdentity) -> Option<f64> {
        match &self.of_locks {
            None => Some(self.total),
            Some(locks) => locks.get(lock).copied(),
        }
    }
}

impl Rates {
    /// What waits of a lock before are multiplied with to be compared with
    /// those after: 2 if as much again was recorded then. Where the lock was
    /// not taken on one of the sides, it is that of all locks.
    pub(super) fn factor(&self, lock: &LockIdentity) -> f64 {
        match (self.before.of_lock(lock), self.after.of_lock(lock)) {
            (Some(before), Some(after)) => after / before,
            _ => self.after.total / self.before.total,
        }
    }
}
