//! What a recording of sums says, for tests.

use crate::Recording;
use tyrion_wire::def::id;

/// A line for each sum: thread, kind, class and name of the lock, how often and how long,
/// and the stack, the outermost frame first.
pub(crate) fn lines(log: &Recording) -> Vec<String> {
    let definitions = log.definitions();
    let cells = log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk));
    let line = |cell: tyrion_wire::cell::Cell| {
        let site = definitions.sites().get(cell.site)?;
        let thread = log.text(definitions.threads().get(cell.thread)?.name);
        let class = |id| definitions.classes().get(id).map(|class| log.text(class.name));
        let lock = definitions.locks().get(site.lock).and_then(|&id| class(id));
        let name = definitions.lock_name(site.lock).map(|name| log.text(name));
        let mut frames = Vec::new();
        let mut at = site.stack;
        while let Some(stack) = definitions.stacks().get(at) {
            let method = definitions.methods().get(stack.method);
            frames.push(method.map_or_else(
                || crate::UNKNOWN.to_owned(),
                |method| {
                    let class = class(method.class).unwrap_or_default();
                    format!("{class}|{}:{}", log.text(method.name), stack.line)
                },
            ));
            at = stack.parent;
        }
        if at == id::CUT_STACK {
            frames.push("cut".to_owned());
        }
        frames.reverse();
        Some(format!(
            "{thread} {} {}({}) {} {} {}",
            site.kind.name(),
            lock.unwrap_or_default(),
            name.unwrap_or_default(),
            cell.count,
            cell.sum_ns,
            frames.join(" "),
        ))
    };
    cells.filter_map(line).collect()
}

/// How often threads waited, and how long in all.
pub(crate) fn total(log: &Recording) -> (u64, u64) {
    let cells = log.cell_chunks().iter().flat_map(|chunk| log.cells(chunk));
    cells.fold((0, 0), |(count, ns), cell| (count + cell.count, ns + cell.sum_ns))
}
