//! From the keys of places to groups of locks.

use super::{
    keys::{Group, GroupKey, Sort, Texts, hash},
    names::first_places,
};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use tyrion_formats::{LockSite, Recording, WaitSite};
use tyrion_wire::def::id;

/// The groups of a recording, and what is of them.
#[derive(Debug, Default)]
pub(super) struct GroupTable {
    pub(super) groups: Vec<Group>,
    /// By place and class, the ids of the recording.
    pub(super) pairs: HashMap<(u32, u32), u32>,
    /// By place, those of known classes.
    pub(super) places: HashMap<u32, Only>,
    /// By the ids of locks, 0 left out.
    pub(super) locks: HashMap<u32, OfLock>,
    keys: HashMap<GroupKey, u32>,
    /// By class and the only instance.
    instances: HashMap<(u64, u32), u32>,
}

/// A group, if there is but one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Only {
    #[default]
    None,
    One(u32),
    Several,
}

impl Only {
    fn add(&mut self, group: u32) {
        *self = match *self {
            Only::None => Only::One(group),
            Only::One(own) if own == group => Only::One(own),
            _ => Only::Several,
        }
    }
}

/// The groups of a lock's waits: of those that are contention, and of the others.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OfLock {
    pub(super) contended: Only,
    pub(super) first_contended: Option<u32>,
    pub(super) other: Only,
    pub(super) first_other: Option<u32>,
}

/// What is known of the places of a key.
#[derive(Debug, Default)]
struct KeyPlaces {
    class: u32,
    places: BTreeSet<u32>,
    /// The ids of the locks that were waited for there.
    locks: BTreeSet<u32>,
}

impl GroupTable {
    /// The groups of a recording.
    pub(super) fn new(log: &Recording) -> GroupTable {
        let places = log.definitions().places();
        if places.iter().all(|(_, place)| place.bytecode == 0) {
            return GroupTable::default();
        }
        let mut builder = GroupBuilder::new(log);
        let table = builder.build();
        // Other waits for a lock are of the group of its contention. Where it has none, or
        // several, they have places of their own.
        let unsure = |(_, site): &(u32, &WaitSite)| {
            let of_lock = table.locks.get(&site.lock);
            let contended = of_lock.map_or(Only::None, |it| it.contended);
            !site.kind.is_contention() && !matches!(contended, Only::One(_))
        };
        let unsure: Vec<WaitSite> =
            log.definitions().sites().iter().filter(unsure).map(|(_, site)| *site).collect();
        match unsure.iter().filter(|site| builder.add_site(site)).count() {
            0 => table,
            _ => builder.build(),
        }
    }

    /// Whether no place has a bytecode, so that all go by class and name.
    pub(super) fn is_plain(&self) -> bool {
        self.groups.is_empty()
    }

    /// The group of a key, or of others of its class and instance.
    pub(super) fn find(&self, key: &GroupKey, instance: Option<u32>) -> Option<u32> {
        let is_telling = |sort| matches!(sort, Sort::Class { is_telling: true });
        let class = GroupKey { sort: Sort::Class { is_telling: true }, ..*key };
        let by_class = || self.keys.get(&class).filter(|_| !is_telling(key.sort));
        let by_instance = || self.instances.get(&(key.class, instance?));
        self.keys.get(key).or_else(by_class).or_else(by_instance).copied()
    }

    /// The group of a class and the name of a field, or of all locks of the class.
    pub(super) fn of_field(&self, class: &str, name: &str) -> Option<u32> {
        let of_class = hash(class);
        let sort = Sort::Class { is_telling: true };
        let by_class = || self.keys.get(&GroupKey { class: of_class, sort });
        let field = GroupKey { class: of_class, sort: Sort::Field(hash(name)) };
        self.keys.get(&field).filter(|_| !name.is_empty()).or_else(by_class).copied()
    }
}

/// Makes the groups.
struct GroupBuilder<'a> {
    log: &'a Recording,
    texts: Texts<'a>,
    pairs: BTreeSet<(u32, u32)>,
    keys: BTreeMap<GroupKey, KeyPlaces>,
    /// Whether the log tells instances; if not, the ids of locks stand for them.
    tells_instances: bool,
}

impl<'a> GroupBuilder<'a> {
    fn new(log: &'a Recording) -> GroupBuilder<'a> {
        let tells_instances =
            log.is_trace() || log.definitions().place_instances().next().is_some();
        let (pairs, keys) = Default::default();
        let mut builder =
            GroupBuilder { log, texts: Texts::new(log), pairs, keys, tells_instances };
        let sites = log.definitions().sites();
        for (_, site) in sites.iter().filter(|(_, site)| site.kind.is_contention()) {
            builder.add_site(site);
        }
        let cells = log.acquisition_chunks().iter().flat_map(|chunk| log.acquisitions(chunk));
        let taken: HashSet<(u32, u32)> = cells.map(|cell| (cell.place, cell.class)).collect();
        for (place, class) in taken {
            builder.add(place, class, id::UNKNOWN);
        }
        // Of a place where only locks were waited for that are not known.
        let nameless = sites.iter().filter(|(_, site)| site.kind.is_contention());
        for (_, site) in nameless {
            let class = builder.class_of(site.lock);
            let of_place = (site.place, 0)..=(site.place, u32::MAX);
            if class == id::UNKNOWN && builder.pairs.range(of_place).next().is_none() {
                builder.add(site.place, class, site.lock);
            }
        }
        builder
    }

    fn class_of(&self, lock: u32) -> u32 {
        self.log.definitions().locks().get(lock).copied().unwrap_or(id::UNKNOWN)
    }

    fn place(&self, place: u32) -> Option<&'a LockSite> {
        self.log.definitions().places().get(place).filter(|place| place.bytecode != 0)
    }

    /// Adds the place of a site for a lock whose class is known: whether it is new.
    fn add_site(&mut self, site: &WaitSite) -> bool {
        let class = self.class_of(site.lock);
        class != id::UNKNOWN && self.add(site.place, class, site.lock)
    }

    fn add(&mut self, place: u32, class: u32, lock: u32) -> bool {
        let Some(own) = self.place(place) else { return false };
        let key = self.texts.key_of(place, own, class);
        let found =
            self.keys.entry(key).or_insert_with(|| KeyPlaces { class, ..KeyPlaces::default() });
        // The same one, whatever the order in which they come.
        found.class = found.class.min(class);
        found.places.insert(place);
        if lock != id::UNKNOWN {
            found.locks.insert(lock);
        }
        self.pairs.insert((place, class))
    }

    /// The only instance that was taken at the places of a key.
    fn sole(&self, found: &KeyPlaces) -> Option<u32> {
        let mut instances: Box<dyn Iterator<Item = Option<u32>>> = match self.tells_instances {
            true => {
                let instance = |&place: &u32| self.log.definitions().place_instance(place);
                Box::new(found.places.iter().map(instance))
            }
            false => Box::new(found.locks.iter().copied().map(Some)),
        };
        let first = instances.next()?.filter(|&instance| instance != 0)?;
        instances.all(|instance| instance == Some(first)).then_some(first)
    }

    fn build(&mut self) -> GroupTable {
        let keys: Vec<(GroupKey, &KeyPlaces)> =
            self.keys.iter().map(|(key, found)| (*key, found)).collect();
        let mut sets = Sets((0..keys.len()).collect());
        let mut of_instances: BTreeMap<(u64, u32), Vec<usize>> = BTreeMap::new();
        for (at, (key, found)) in keys.iter().enumerate() {
            if let Some(sole) = self.sole(found) {
                of_instances.entry((key.class, sole)).or_default().push(at);
            }
        }
        let fields = self.fields_of_instances(&keys);
        for (instance, members) in &of_instances {
            members.iter().for_each(|&at| sets.join(members[0], at));
            let are_places = members.iter().all(|&at| matches!(keys[at].0.sort, Sort::Place(_)));
            if let (true, Some(Some(field))) = (are_places, fields.get(instance)) {
                sets.join(members[0], *field);
            }
        }
        // The keys of a class stand together, the one for all of it first.
        for of_class in runs(&keys) {
            if let Sort::Class { is_telling: true } = keys[of_class.start].0.sort {
                of_class.clone().for_each(|at| sets.join(of_class.start, at));
            }
        }
        let table = numbered(&keys, &mut sets);
        self.finish(table, of_instances, &keys)
    }

    /// The number of the key of the only field that each instance was waited for at.
    fn fields_of_instances(
        &self,
        keys: &[(GroupKey, &KeyPlaces)],
    ) -> HashMap<(u64, u32), Option<usize>> {
        let mut fields: HashMap<(u64, u32), Option<usize>> = HashMap::new();
        for (at, (key, found)) in keys.iter().enumerate() {
            if !matches!(key.sort, Sort::Field(_)) {
                continue;
            }
            let instance = |&lock: &u32| match self.tells_instances {
                true => self.log.definitions().lock_instance(lock),
                false => Some(lock),
            };
            for instance in found.locks.iter().filter_map(instance) {
                let field = fields.entry((key.class, instance)).or_insert(Some(at));
                *field = field.filter(|&own| own == at);
            }
        }
        fields
    }

    fn finish(
        &self,
        (groups, group_of): (Vec<Group>, Vec<u32>),
        of_instances: BTreeMap<(u64, u32), Vec<usize>>,
        keys: &[(GroupKey, &KeyPlaces)],
    ) -> GroupTable {
        let mut table = GroupTable { groups, ..GroupTable::default() };
        for group in &mut table.groups {
            group.first = first_places(self.log, group);
        }
        for ((key, _), &group) in keys.iter().zip(&group_of) {
            table.keys.insert(*key, group);
        }
        for (instance, members) in of_instances {
            table.instances.insert(instance, group_of[members[0]]);
        }
        let mut texts = Texts::new(self.log);
        for &(place, class) in &self.pairs {
            let Some(own) = self.place(place) else { continue };
            let key = texts.key_of(place, own, class);
            let Some(&group) = table.keys.get(&key) else { continue };
            table.pairs.insert((place, class), group);
            if class != id::UNKNOWN {
                table.places.entry(place).or_default().add(group);
            }
        }
        for (_, site) in self.log.definitions().sites().iter() {
            let pair = (site.place, self.class_of(site.lock));
            let Some(&group) = table.pairs.get(&pair) else { continue };
            if site.lock == id::UNKNOWN {
                continue;
            }
            let of_lock = table.locks.entry(site.lock).or_default();
            let (only, first) = match site.kind.is_contention() {
                true => (&mut of_lock.contended, &mut of_lock.first_contended),
                false => (&mut of_lock.other, &mut of_lock.first_other),
            };
            only.add(group);
            first.get_or_insert(group);
        }
        table
    }
}

/// Sets of numbers that are joined.
struct Sets(Vec<usize>);

impl Sets {
    /// The smallest number of the set.
    fn first(&mut self, mut at: usize) -> usize {
        while self.0[at] != at {
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.first(a), self.first(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// The keys of each class.
fn runs<'k>(
    keys: &'k [(GroupKey, &KeyPlaces)],
) -> impl Iterator<Item = std::ops::Range<usize>> + 'k {
    let mut start = 0;
    keys.chunk_by(|a, b| a.0.class == b.0.class).map(move |run| {
        let range = start..start + run.len();
        start = range.end;
        range
    })
}

/// The groups that the sets are, and the group of each key.
fn numbered(keys: &[(GroupKey, &KeyPlaces)], sets: &mut Sets) -> (Vec<Group>, Vec<u32>) {
    let mut groups: Vec<Group> = Vec::new();
    let mut numbers: HashMap<usize, u32> = HashMap::new();
    let mut group_of = Vec::with_capacity(keys.len());
    let mut prints: Vec<Vec<GroupKey>> = Vec::new();
    for (at, (key, found)) in keys.iter().enumerate() {
        let number = *numbers.entry(sets.first(at)).or_insert_with(|| {
            groups.push(Group { class: found.class, is_class: true, ..Group::default() });
            prints.push(Vec::new());
            groups.len() as u32 - 1
        });
        group_of.push(number);
        let group = &mut groups[number as usize];
        let print = &mut prints[number as usize];
        group.class = group.class.min(found.class);
        group.has_field |= matches!(key.sort, Sort::Field(_));
        let first = print.first().unwrap_or(key);
        let is_class = matches!(key.sort, Sort::Class { .. });
        group.is_class &= is_class || first.sort == Sort::Class { is_telling: true };
        group.places.extend(found.places.first().filter(|_| !is_class));
        print.push(*key);
    }
    for (group, print) in groups.iter_mut().zip(prints) {
        group.places.sort_unstable();
        group.print = hash(print);
    }
    (groups, group_of)
}
