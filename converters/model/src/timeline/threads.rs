//! The waits of one thread after another.

use super::{
    Timeline, Wait,
    chunks::{self, Chunks},
    cut,
    read::{ItemFilter, Readable, Span},
};
use rayon::prelude::*;
use std::{cmp::Reverse, io};

/// The waits of one thread, in the order in which they began. They may be gone over more
/// than once.
pub struct ThreadWaits<'t, 'a> {
    source: Waits<'t, 'a>,
}

enum Waits<'t, 'a> {
    /// All of them.
    Here(&'t [Wait]),
    /// They are too many to be kept: how to read those of each span.
    InSpans {
        readable: &'t Readable<'t, 'a>,
        chunks: &'t Chunks<'a>,
        wanted: ItemFilter,
        spans: Vec<Span>,
    },
}

impl ThreadWaits<'_, '_> {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        match &self.source {
            Waits::Here(waits) => waits.is_empty(),
            Waits::InSpans { spans, .. } => spans.is_empty(),
        }
    }

    /// Hands over each wait.
    ///
    /// # Errors
    /// Those of `body`.
    pub fn for_each(&self, body: &mut dyn FnMut(&Wait) -> io::Result<()>) -> io::Result<()> {
        match &self.source {
            Waits::Here(waits) => waits.iter().try_for_each(body),
            Waits::InSpans { readable, chunks, wanted, spans } => {
                let mut in_span = |span: &Span| {
                    waits(readable, chunks, *wanted, span).iter().try_for_each(&mut *body)
                };
                spans.iter().try_for_each(&mut in_span)
            }
        }
    }
}

/// Hands over the waits of each thread; those of several are read together, as far as
/// they are not too many.
pub(super) fn each(
    timeline: &Timeline<'_>,
    body: &mut dyn FnMut(u32, &ThreadWaits<'_, '_>) -> io::Result<()>,
) -> io::Result<()> {
    let (readable, chunks) = (timeline.readable(), &timeline.chunks);
    let at_a_time = timeline.at_a_time as u64;
    let threads = timeline.profile().threads.len() as u32;
    let mut first = 0;
    while first < threads {
        let mut count = chunks.waits_of(first);
        let mut end = first + 1;
        while end < threads && count.saturating_add(chunks.waits_of(end)) <= at_a_time {
            count += chunks.waits_of(end);
            end += 1;
        }
        let wanted =
            ItemFilter { threads: Some((first, end)), with_trace: false, with_samples: false };
        if count > at_a_time {
            let spans = cut::spans(&readable, chunks, wanted, timeline.at_a_time);
            let source = Waits::InSpans { readable: &readable, chunks, wanted, spans };
            body(first, &ThreadWaits { source })?;
        } else {
            let all = Span { from_ns: 0, to_ns: u64::MAX };
            let waits =
                if count == 0 { Vec::new() } else { waits(&readable, chunks, wanted, &all) };
            let mut rest = &waits[..];
            for thread in first..end {
                let len = rest.partition_point(|wait| wait.thread <= thread);
                let (own, others) = rest.split_at(len);
                body(thread, &ThreadWaits { source: Waits::Here(own) })?;
                rest = others;
            }
        }
        first = end;
    }
    Ok(())
}

/// The waits of a span, by thread and in their order.
fn waits(
    readable: &Readable<'_, '_>,
    chunks: &Chunks<'_>,
    wanted: ItemFilter,
    span: &Span,
) -> Vec<Wait> {
    let items = chunks::collect(readable, chunks, wanted, span);
    let mut waits: Vec<Wait> = items.iter().filter_map(|item| item.wait().copied()).collect();
    waits.par_sort_by_key(|wait| (wait.thread, wait.start_ns, Reverse(wait.end_ns)));
    waits
}
