//! An allocator that counts.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

/// What something took.
pub struct AllocationCounts {
    /// The most bytes that were allocated at once.
    pub peak: usize,
    /// How often something was allocated.
    pub count: usize,
}

struct CountingAllocator;

static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);
static COUNT: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

fn add(bytes: usize) {
    COUNT.fetch_add(1, Relaxed);
    let live = LIVE.fetch_add(bytes, Relaxed) + bytes;
    PEAK.fetch_max(live, Relaxed);
}

// SAFETY: all is handed on to the system's allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: the caller promises what the system's allocator asks for.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size());
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both are there while one is copied into the other.
        add(size);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.realloc(at, layout, size) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

/// What something takes beyond what is there before it.
pub fn of<T>(run: impl FnOnce() -> T) -> (AllocationCounts, T) {
    let before = LIVE.load(Relaxed);
    PEAK.store(before, Relaxed);
    COUNT.store(0, Relaxed);
    let made = run();
    let peak = PEAK.load(Relaxed).saturating_sub(before);
    (AllocationCounts { peak, count: COUNT.load(Relaxed) }, made)
}

#[test]
fn what_is_there_at_once_counts() {
    let _alone = super::alone();
    let (spent, kept) = of(|| {
        drop(vec![1u8; 3_000_000]);
        vec![1u8; 1_000_000]
    });
    // The threads of the tests may give back a little of their own meanwhile.
    assert!((2_950_000..4_000_000).contains(&spent.peak), "{}", spent.peak);
    assert_eq!(kept.len(), 1_000_000);
}
