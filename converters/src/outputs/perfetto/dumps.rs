//! Thread dumps: on the track of each thread an instant for each dump, named after what the
//! thread was doing. What it did between two dumps nobody knows, so that there are no slices.

use super::{
    packets::Packets,
    proto::{TrackEvent, event_type},
    tracks::Tracks,
};
use crate::outputs::by_dump;
use std::io::{self, Write};
use tyrion_model::{names, profile::NO_LOCK, timeline::Timeline};

/// Writes all dumps.
pub(super) fn write(timeline: &Timeline<'_>, out: &mut dyn Write) -> io::Result<()> {
    let profile = timeline.profile();
    let mut packets = Packets::new(profile, timeline.axis(), out)?;
    let mut tracks = Tracks::new();
    for dump in by_dump::moments(timeline)? {
        for seen in &dump.threads {
            let key = tracks.thread(timeline, (seen.run, seen.thread_id), &mut packets)?;
            let mut annotations = vec![packets.text("dump", &dump.name)];
            annotations.extend(seen.kind.map(|kind| packets.text("kind", kind.name())));
            if seen.lock != NO_LOCK {
                annotations.push(packets.text("lock", &names::lock(profile, seen.lock)));
            }
            let mut event = TrackEvent {
                r#type: Some(event_type::INSTANT),
                track_uuid: tracks.uuid(key),
                debug_annotations: annotations,
                callstack_iid: packets.callstack(seen.stack),
                ..TrackEvent::default()
            };
            packets.set_name(&mut event, seen.state.name().to_owned());
            packets.event(dump.at_ns, event)?;
        }
    }
    Ok(())
}
