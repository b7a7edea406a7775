//! Locks that are held, and methods, as logs have them, for outputs that show single holds.

use tyrion_formats::{Recording, UNKNOWN};
use tyrion_model::{
    describe::Names,
    names,
    profile::Function,
    timeline::{Hold, Timeline},
};
use tyrion_wire::WaitKind;

/// Locks that are taken at a place.
pub(super) struct HeldName {
    pub(super) name: String,
    pub(super) class: String,
    pub(super) kind: WaitKind,
    pub(super) place: String,
}

/// The locks that are taken where a hold's was, unless the filter leaves them out.
pub(super) fn held(timeline: &Timeline<'_>, log: &Recording, hold: &Hold) -> Option<HeldName> {
    let (filter, names) = (timeline.filter(), Names(log));
    let place = log.definitions().places().get(hold.place)?;
    let regex = filter.lock.as_ref();
    let is_wanted = filter.kinds.contains(place.kind)
        && regex.is_none_or(|regex| names.place_matches(regex, hold.place, hold.class));
    is_wanted.then(|| {
        let (class, name) = names.place_parts(hold.place, hold.class);
        let class = names::readable_class(&class).into_owned();
        HeldName { name, class, kind: place.kind, place: names.place(place) }
    })
}

/// A method of a log.
pub(super) fn function(log: &Recording, id: u32) -> Function {
    let definitions = log.definitions();
    let Some(method) = definitions.methods().get(id) else {
        return Function { method: UNKNOWN.to_owned(), ..Function::default() };
    };
    let source = definitions.classes().get(method.class).map(|class| log.text(class.source));
    Function {
        class: Names(log).class(method.class),
        method: log.text(method.name).into_owned(),
        descriptor: log.text(method.descriptor).into_owned(),
        source: source.unwrap_or_default().into_owned(),
        first_line: method.first_line,
    }
}
