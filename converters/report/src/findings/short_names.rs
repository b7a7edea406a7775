//! Names without packages, where that leaves no doubt.

use std::collections::{BTreeMap, BTreeSet};
use tyrion_formats::Recording;
use tyrion_model::describe::Names;

/// Which classes can be told from all others without their package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShortNames {
    /// The names without package that several classes have.
    ambiguous: BTreeSet<String>,
}

impl ShortNames {
    /// Of the classes of some recordings.
    pub fn of(logs: &[Recording]) -> ShortNames {
        let mut known: BTreeMap<String, String> = BTreeMap::new();
        let mut ambiguous = BTreeSet::new();
        for log in logs {
            for (id, _) in log.definitions().classes().iter() {
                let whole = Names(log).class(id);
                let short = without_package(&whole);
                match known.get(short) {
                    Some(other) if *other != whole => {
                        ambiguous.insert(short.to_owned());
                    }
                    Some(_) => {}
                    None => {
                        known.insert(short.to_owned(), whole);
                    }
                }
            }
        }
        ShortNames { ambiguous }
    }

    /// `Cache` of `com.acme.Cache`, and `Cache.class` of its class object; the whole name
    /// where another class is called so, too.
    pub fn class<'a>(&self, class: &'a str) -> &'a str {
        let short = without_package(class);
        let own = short.strip_suffix(".class").unwrap_or(short);
        if self.ambiguous.contains(own) { class } else { short }
    }

    /// The method of a frame with its class: `AuditLog.append` of
    /// `com.acme.bank.AuditLog.append(AuditLog.java:12)`. Of a method of Go's, its package
    /// and type, too: `shop.(*Cart).Add` of `acme.com/shop.(*Cart).Add`.
    pub fn method(&self, frame: &str) -> String {
        if frame.contains(".(*") {
            return frame.rsplit('/').next().unwrap_or_default().to_owned();
        }
        let whole = frame.split('(').next().unwrap_or_default();
        match whole.rsplit_once('.') {
            Some((class, method)) => format!("{}.{method}", self.class(class)),
            None => whole.to_owned(),
        }
    }
}

fn without_package(class: &str) -> &str {
    let own = class.strip_suffix(".class").unwrap_or(class);
    let package = own.rfind('.').map_or(0, |at| at + 1);
    class.get(package..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_as_short_as_they_can_be_searched_for() {
        let names = ShortNames::default();
        for (frame, short) in [
            ("com.acme.bank.AuditLog.append(AuditLog.java:12)", "AuditLog.append"),
            ("a.Outer$Inner.<init>(Outer.java)", "Outer$Inner.<init>"),
            ("Main.main", "Main.main"),
            ("main.(*Ledger).Transfer", "main.(*Ledger).Transfer"),
            ("acme.com/shop.(*Cart).Add", "shop.(*Cart).Add"),
            ("[no probe]", "[no probe]"),
            ("", ""),
        ] {
            assert_eq!(names.method(frame), short);
            assert!(frame.contains(short), "a piece of it");
        }
    }

    #[test]
    fn classes_of_one_simple_name_keep_their_packages() {
        let names = ShortNames { ambiguous: BTreeSet::from(["Cache".to_owned()]) };
        assert_eq!(names.class("pa.Cache"), "pa.Cache");
        assert_eq!(names.class("pa.Cache.class"), "pa.Cache.class");
        assert_eq!(names.class("pa.Cache[]"), "Cache[]");
        assert_eq!(names.class("pa.Cache$Entry"), "Cache$Entry");
        assert_eq!(names.method("pa.Cache.get(Cache.java:7)"), "pa.Cache.get");
        assert_eq!(names.method("pa.Store.get(Store.java:7)"), "Store.get");
    }
}
