//! Java's names, as people know them.

use regex::Regex;

/// A class as source code names it: `com.acme.Outer$Inner`, `int[]`. Hidden
/// classes lose the number that differs from run to run.
pub(crate) fn class_name(raw: &str) -> String {
    // The agent names a class object, which static synchronized methods lock,
    // after its class.
    if let Some(class) = raw.strip_suffix(".class") {
        return class_name(class) + ".class";
    }
    let dimensions = raw.bytes().take_while(|&byte| byte == b'[').count();
    let element = &raw[dimensions..];
    let element = if dimensions == 0 { element } else { element_type(element) };
    let mut name = stable(element).replace('/', ".");
    for _ in 0..dimensions {
        name.push_str("[]");
    }
    name
}

/// The class that the program knows of a lock's class: those of
/// `java.util.concurrent` keep a `Sync` in private, which is what threads wait
/// for.
pub(crate) fn public_class(class: &str) -> &str {
    let private = ["$NonfairSync", "$FairSync", "$Sync"];
    match private.iter().find_map(|sync| class.strip_suffix(sync)) {
        Some(public) if class.starts_with("java.util.concurrent.") => public,
        _ => class,
    }
}

/// What the program calls a lock, unless that says no more than its class:
/// `this`, and class objects.
pub(crate) fn telling_name(name: &str) -> &str {
    if name == "this" || name.ends_with(".class") || name.starts_with('[') { "" } else { name }
}

/// Whether a filter finds something in what a lock is called: in its class, as
/// shown or as the JVM has it, alone or with its identity (not 0), or in its
/// name.
pub(crate) fn lock_matches(regex: &Regex, class: &str, name: &str, id: u32) -> bool {
    let public = public_class(class);
    let mut found = regex.is_match(class) || regex.is_match(public);
    if id != 0 {
        let identified = |class: &str| regex.is_match(&format!("{class}#{id}"));
        found = found || identified(class) || identified(public);
    }
    if !name.is_empty() {
        let identity = if id == 0 { String::new() } else { format!("#{id}") };
        found = found
            || regex.is_match(name)
            || regex.is_match(&format!("{name} ({public})"))
            || regex.is_match(&format!("{name} ({public}{identity})"));
    }
    found
}

/// The source file with the package as directories, empty when unknown.
pub(super) fn source_path(raw_class: &str, file: &str) -> String {
    let package = stable(raw_class).rfind('/').map(|at| &raw_class[..=at]);
    match package {
        Some(package) if !file.is_empty() => format!("{package}{file}"),
        _ => file.to_owned(),
    }
}

/// The type in a descriptor, the array's brackets gone.
fn element_type(descriptor: &str) -> &str {
    match descriptor {
        "Z" => "boolean",
        "B" => "byte",
        "C" => "char",
        "S" => "short",
        "I" => "int",
        "J" => "long",
        "F" => "float",
        "D" => "double",
        _ => descriptor
            .strip_prefix('L')
            .and_then(|class| class.strip_suffix(';'))
            .unwrap_or(descriptor),
    }
}

/// A class's name without what makes a hidden class's name unique: an address
/// or number after `/`, `+` or `.`, and the counter of lambda classes.
fn stable(name: &str) -> &str {
    let cut = name.rfind(['/', '+', '.']).filter(|&at| is_unique_suffix(&name[at + 1..]));
    let name = cut.map_or(name, |at| &name[..at]);
    let Some((host, counter)) = name.rsplit_once('$') else { return name };
    let counted = !counter.is_empty() && counter.bytes().all(|byte| byte.is_ascii_digit());
    if counted && host.ends_with("$$Lambda") { host } else { name }
}

fn is_unique_suffix(suffix: &str) -> bool {
    match suffix.strip_prefix("0x") {
        Some(address) => {
            !address.is_empty() && address.bytes().all(|byte| byte.is_ascii_hexdigit())
        }
        // No Java identifier begins with a digit.
        None => !suffix.is_empty() && suffix.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    #[test]
    fn classes_are_named_as_in_source_code() {
        for (raw, name) in [
            ("java/lang/Foo$1", "java.lang.Foo$1"),
            ("Foo", "Foo"),
            ("", ""),
            ("[I", "int[]"),
            ("[[J", "long[][]"),
            ("[Ljava/lang/String;", "java.lang.String[]"),
            ("com/acme/Foo$$Lambda/0x00007f0a1c001000", "com.acme.Foo$$Lambda"),
            ("com/acme/Foo$$Lambda$14/0x0000000800c03000", "com.acme.Foo$$Lambda"),
            ("com/acme/Foo$$Lambda$14/1452126962", "com.acme.Foo$$Lambda"),
            ("com/acme/Foo$$Lambda+0x00007f0a1c001000", "com.acme.Foo$$Lambda"),
            ("com/acme/Foo$$Lambda.0x00007f0a1c001000", "com.acme.Foo$$Lambda"),
            ("com/acme/Foo$$Lambda$14", "com.acme.Foo$$Lambda"),
            ("[Lcom/acme/Foo$$Lambda.0xff;", "com.acme.Foo$$Lambda[]"),
            ("java/lang/invoke/LambdaForm$MH/0x1b", "java.lang.invoke.LambdaForm$MH"),
            ("com/acme/0xy", "com.acme.0xy"),
            ("com/acme/Foo$12", "com.acme.Foo$12"),
            ("[", "[]"),
            ("com/acme/Foo.class", "com.acme.Foo.class"),
            ("[I.class", "int[].class"),
            ("com/acme/Foo$$Lambda.0x12.class", "com.acme.Foo$$Lambda.class"),
        ] {
            assert_eq!(class_name(raw), name, "{raw}");
        }
    }

    #[test]
    fn locks_are_named_as_the_program_does() {
        for (class, public) in [
            (
                "java.util.concurrent.locks.ReentrantLock$NonfairSync",
                "java.util.concurrent.locks.ReentrantLock",
            ),
            (
                "java.util.concurrent.locks.ReentrantReadWriteLock$FairSync",
                "java.util.concurrent.locks.ReentrantReadWriteLock",
            ),
            ("java.util.concurrent.CountDownLatch$Sync", "java.util.concurrent.CountDownLatch"),
            (
                "java.util.concurrent.ThreadPoolExecutor$Worker",
                "java.util.concurrent.ThreadPoolExecutor$Worker",
            ),
            ("com.acme.Turn$Sync", "com.acme.Turn$Sync"),
            ("$Sync", "$Sync"),
        ] {
            assert_eq!(public_class(class), public);
        }
        for (name, shown) in
            [("this", ""), ("Foo.class", ""), ("Cache.lock", "Cache.lock"), ("", "")]
        {
            assert_eq!(telling_name(name), shown);
        }
    }

    #[test]
    fn locks_are_found_by_every_name() {
        let class = "java.util.concurrent.Semaphore$FairSync";
        for pattern in [
            "^java.util.concurrent.Semaphore$",
            "FairSync$",
            "Semaphore#7$",
            "FairSync#7$",
            "^Pool.free$",
            r"^Pool\.free \(.*Semaphore\)$",
            r"Semaphore#7\)$",
        ] {
            let regex = Regex::new(pattern).unwrap();
            assert!(lock_matches(&regex, class, "Pool.free", 7), "{pattern}");
        }
        let unknown = Regex::new("#0|^$").unwrap();
        assert!(!lock_matches(&unknown, class, "", 0), "neither identity nor name");
    }

    #[test]
    fn sources_stand_in_their_package() {
        for (class, file, path) in [
            ("com/acme/Foo$1", "Foo.java", "com/acme/Foo.java"),
            ("com/acme/Foo$$Lambda/0x12", "Foo.java", "com/acme/Foo.java"),
            ("Foo", "Foo.java", "Foo.java"),
            ("com/acme/Foo", "", ""),
        ] {
            assert_eq!(source_path(class, file), path, "{class}");
        }
    }
}
