//! What fingerprints tell, and what methods and lines stand for.

use super::*;
use crate::fingerprint::{fingerprint, marked};

#[test]
fn fingerprints_tell_order_method_and_place() {
    let frame = |method: usize, location| jvmtiFrameInfo { method: method as _, location };
    let stacks = [
        vec![],
        vec![frame(8, 1)],
        vec![frame(8, 2)],
        vec![frame(16, 1)],
        vec![frame(8, 1), frame(16, 1)],
        vec![frame(16, 1), frame(8, 1)],
        vec![frame(8, 1), frame(8, 1)],
    ];
    let prints: std::collections::HashSet<_> =
        stacks.iter().map(|s| fingerprint(s, |_| 0)).collect();
    assert_eq!(prints.len(), stacks.len());
}

#[test]
fn fingerprints_tell_versions_of_methods() {
    let frames = [jvmtiFrameInfo { method: 8 as _, location: 1 }];
    let prints = [0, 1, 2].map(|version| fingerprint(&frames, |_| version));
    assert_eq!(prints.into_iter().collect::<std::collections::HashSet<_>>().len(), 3);
}

#[test]
fn fingerprints_tell_groups() {
    let frames = [jvmtiFrameInfo { method: 8 as _, location: 1 }];
    let print = fingerprint(&frames, |_| 0);
    assert_eq!(within(0, print), print);
    let prints: std::collections::HashSet<_> = (0..1000).map(|n| within(n, print)).collect();
    assert_eq!(prints.len(), 1000);
}

#[test]
fn fingerprints_tell_marks() {
    let frames = [jvmtiFrameInfo { method: 8 as _, location: 1 }];
    let print = fingerprint(&frames, |_| 0);
    let prints: std::collections::HashSet<_> = (0..16).map(|mark| marked(print, mark)).collect();
    assert_eq!(prints.len(), 16);
    assert!(prints.contains(&print));
}

#[test]
fn roles_follow_the_class() {
    assert!(role_of(b"Ljava/util/concurrent/locks/LockSupport;") == Role::Machinery);
    assert!(
        role_of(b"Ljava/util/concurrent/locks/AbstractQueuedSynchronizer$ConditionObject;")
            == Role::Condition
    );
    assert!(role_of(b"Ljava/util/concurrent/locks/ReentrantLock;") == Role::Caller);
    assert!(role_of(b"Lcom/acme/LockSupport;") == Role::Caller);
}

/// Each call that blocks may bring a lock of its own.
#[test]
fn a_log_of_one_file_does_not_remember_without_end() {
    for is_outlasted in [false, true] {
        let content = Some(Content::default());
        let mut inner = Inner { content, is_outlasted, ..Inner::default() };
        for id in 1..=CONTENT_LIMIT as u32 + 1 {
            inner.keep_lock(id, |_| {});
        }
        assert_eq!(inner.content.is_some(), is_outlasted);
    }
}
