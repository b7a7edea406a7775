//! Prints where a recording's threads waited for locks, and took them:
//! `cargo run -p tyrion-formats --example places -- report.log`.

use std::{collections::BTreeMap, error::Error, path::Path};
use tyrion_formats::{Recording, harmless};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: places FILE")?;
    let recording = Recording::open(Path::new(&path))?;
    let sites = recording.definitions().sites();
    // By place, kind and lock: how many waits.
    let mut waits: BTreeMap<(u32, &str, u32), u64> = BTreeMap::new();
    let mut add = |site: u32, count: u64| {
        if let Some(site) = sites.get(site) {
            *waits.entry((site.place, site.kind.name(), site.lock)).or_default() += count;
        }
    };
    for chunk in recording.event_chunks() {
        let mut events = recording.events(chunk).map_err(|damage| damage.to_string())?;
        events.visit(|wait| add(wait.site, 1));
    }
    for cell in recording.cell_chunks().iter().flat_map(|chunk| recording.cells(chunk)) {
        add(cell.site, cell.count);
    }
    for ((place, kind, lock), count) in waits {
        println!("{count} waits, {kind}, lock {lock}, {}", described(&recording, place));
    }
    let mut taken: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for chunk in recording.acquisition_chunks() {
        for cell in recording.acquisitions(chunk) {
            *taken.entry((cell.place, cell.class)).or_default() += cell.acquisitions;
        }
    }
    for ((place, class), count) in taken {
        let class = recording.definitions().classes().get(class);
        let class = class.map_or("[unknown]".into(), |class| recording.text(class.name));
        let place = described(&recording, place);
        println!("{count} acquisitions of {}, {place}", harmless::name(&class));
    }
    Ok(())
}

/// A place in words.
fn described(recording: &Recording, id: u32) -> String {
    let definitions = recording.definitions();
    let Some(place) = definitions.places().get(id) else { return "at no place".to_owned() };
    let method = definitions.methods().get(place.method);
    let class = method.and_then(|method| definitions.classes().get(method.class));
    let text = |id: Option<u32>| id.map_or("[unknown]".into(), |id| recording.text(id));
    let (class, method) = (text(class.map(|it| it.name)), text(method.map(|it| it.name)));
    let bytecode = match place.bytecode {
        0 => "?".to_owned(),
        bytecode => (bytecode - 1).to_string(),
    };
    let (name, what) = (recording.text(place.name), if place.is_field() { " field" } else { "" });
    let instance = definitions.place_instance(id).map_or(String::new(), |it| format!(" of {it:x}"));
    let (kind, line) = (place.kind.name(), place.line);
    let text =
        format!("place {id} {class}.{method}:{line}@{bytecode} {kind} `{name}`{what}{instance}");
    harmless::text(&text).into_owned()
}
