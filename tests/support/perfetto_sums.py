"""Decodes a Perfetto trace with Perfetto's own messages: what it says, as JSON."""

import collections
import json
import sys

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

try:
    from google.protobuf.unknown_fields import UnknownFieldSet
except ImportError:
    UnknownFieldSet = None


def unknown_fields(message):
    """How many fields the messages do not know, with those of fields."""
    count = len(UnknownFieldSet(message)) if UnknownFieldSet else 0
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            values = value if field.is_repeated else [value]
            count += sum(unknown_fields(value) for value in values)
    return count


trace = Trace()
with open(sys.argv[1], "rb") as file:
    trace.ParseFromString(file.read())

names, categories, keys = {}, {}, {}
open_slices = collections.defaultdict(list)
told = collections.Counter()
wait_ns = 0
now = 0
for packet in trace.packet:
    data = packet.interned_data
    names.update((name.iid, name.name) for name in data.event_names)
    categories.update((name.iid, name.name) for name in data.event_categories)
    keys.update((name.iid, name.name) for name in data.debug_annotation_names)
    if not packet.HasField("track_event"):
        continue
    event = packet.track_event
    assert packet.timestamp >= now, "times go back"
    now = packet.timestamp
    is_hold = any(categories[iid] == "hold" for iid in event.category_iids)
    name = names[event.name_iid] if event.name_iid else event.name
    if name:
        told[name] += 1
    if event.type == TrackEvent.TYPE_SLICE_BEGIN:
        open_slices[event.track_uuid].append((is_hold, now))
    elif event.type == TrackEvent.TYPE_SLICE_END:
        was_hold, since = open_slices[event.track_uuid].pop()
        wait_ns += 0 if was_hold else now - since
    elif event.type == TrackEvent.TYPE_INSTANT:
        for annotation in event.debug_annotations:
            if keys[annotation.name_iid] == "wait_ns":
                wait_ns += annotation.uint_value

assert not any(open_slices.values()), "slices that do not end"
json.dump({"wait_ns": wait_ns, "names": told, "unknown_fields": unknown_fields(trace)}, sys.stdout)
