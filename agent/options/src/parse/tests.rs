#![allow(clippy::unwrap_used, reason = "a panic is how a test fails")]

use super::*;
use crate::{
    kinds::Form,
    table::SampleOptions,
    values::{FileNames, Locks, Threshold, Walk},
};
use std::{collections::BTreeSet, time::Duration};

#[test]
fn reads_every_key() {
    let options = Options::parse(
        r"file=/var/log/a\,b-%p.log,mode=contention,threshold=1.5ms,depth=64,walk=jvmti,exclude-threads=GC*;http-?,enabled=false,args,overwrite=false,strict=no",
    )
    .unwrap();
    assert_eq!(options.path(42), Path::new("/var/log/a,b-42.log"));
    assert_eq!(options.threshold, Some(Threshold::Ns(1_500_000)));
    assert_eq!(options.depth, 64);
    assert_eq!(options.walk, Walk::Jvmti);
    assert_eq!(options.exclude_threads.len(), 2);
    assert!(!options.enabled && options.args && !options.overwrite && !options.strict);
    assert_eq!(Options::parse("").unwrap(), Options::default());
}

#[test]
fn reads_what_is_sampled() {
    let options = Options::parse(
        r"mode=contention+sample,period=2.5ms,threads=^http-(\\d+)\,,skip-daemon,once=yes",
    )
    .unwrap();
    assert_eq!(options.mode(), Mode { locks: Locks::Contention, sample: true });
    let sampling = options.sampling;
    assert_eq!(sampling.period_ns, Some(2_500_000));
    assert_eq!((sampling.skip_daemon, sampling.once), (Some(true), true));
    let threads = sampling.threads.unwrap();
    assert_eq!(threads.as_str(), r"^http-(\d+),");
    assert!(threads.matches(b"http-12,x") && !threads.matches(b"my http-12,"));
    let options = Options::parse("").unwrap();
    assert_eq!((options.mode, options.mode()), (None, Mode::default()));
    assert_eq!(options.sampling, SampleOptions::default());
    assert_eq!(options.sampling.period_ns, None, "nothing was said");
}

#[test]
fn reads_rotation() {
    let rotation = |text: &str| {
        let rotation = Options::parse(text).unwrap().rotation();
        rotation.map(|rotation| (rotation.filesize, rotation.filecount.unwrap()))
    };
    assert_eq!(rotation(""), None);
    assert_eq!(rotation("filesize=64k"), Some((65536, 5)));
    assert_eq!(rotation("filecount=2,filesize=1g"), Some((1 << 30, 2)));
    assert_eq!(rotation("filesize=500000000,filecount=20"), Some((500_000_000, 20)));
    assert_eq!(rotation("filesize=3M"), Some((3 << 20, 5)));
    let message = Options::parse("filecount=3").unwrap_err().message;
    assert_eq!(message, "filecount needs filesize, as in filesize=64m");
}

#[test]
fn reads_what_is_right_for_a_year() {
    let parse = |text: &str| Options::parse(text).unwrap();
    let year = parse("filesize=64m,filetime=1h,filenames=time,maxsize=4g,maxage=30d");
    let asked = Rotation {
        filesize: 64 << 20,
        filecount: None,
        filetime: Some(Duration::from_secs(3600)),
        filenames: FileNames::Time,
        maxsize: Some(4 << 30),
        maxage: Some(Duration::from_secs(30 * 86_400)),
    };
    assert_eq!(year.rotation(), Some(asked));
    let counted = parse("filesize=64m,maxage=1h30m,filecount=7").rotation().unwrap();
    assert_eq!((counted.filecount, counted.maxage), (Some(7), Some(Duration::from_secs(5400))));
    let logged = [
        ("filesize", "67108864"),
        ("filetime", "1h"),
        ("filenames", "time"),
        ("maxsize", "4294967296"),
        ("maxage", "30d"),
    ];
    let logged = logged.map(|(key, value)| (key, value.to_owned()));
    assert_eq!(asked.in_force(), logged);
    assert!(logged.iter().all(|pair| year.in_force().contains(pair)), "{:?}", year.in_force());
    assert!(!year.in_force().iter().any(|(key, _)| *key == "filecount"));
    // What is not given stays.
    assert_eq!(parse("").rotation_after(Some(asked)), Some(asked));
    let changed = parse("filesize=1m,maxage=2d").rotation_after(Some(asked)).unwrap();
    let two_days = Some(Duration::from_secs(2 * 86_400));
    assert_eq!(changed, Rotation { filesize: 1 << 20, maxage: two_days, ..asked });
    let changed = parse("filesize=64m,filecount=9,filenames=number").rotation_after(Some(asked));
    let expected = Rotation { filecount: Some(9), filenames: FileNames::Number, ..asked };
    assert_eq!(changed, Some(expected));
    for (bad, said) in [
        ("maxage=1d", "maxage needs filesize"),
        ("filesize=64m,maxsize=63m", "use filesize at least"),
        ("filesize=64m,filetime=10", "is not a duration from 1s to 365d"),
        ("filesize=64m,maxage=11y", "is not a duration from 1s to 3650d"),
        ("filesize=64m,filenames=date", "is neither number nor time"),
    ] {
        let message = Options::parse(bad).unwrap_err().message;
        assert!(message.contains(said), "{bad}: {message}");
    }
}

#[test]
fn options_that_concern_each_other_are_settled() {
    let trace = Options::parse("mode=trace,events=all,hold=none").unwrap().trace;
    assert_eq!(trace.settled().hold, HoldSampling::Every);
    assert_eq!(trace.hold, HoldSampling::Never, "it counts again when events=folded is given");
    let options = Options::parse("end-sample=7").unwrap();
    assert_eq!(options.command, Command::EndSample(7));
    assert_eq!(Options::parse("command=stop").unwrap().command, Command::Stop);
}

#[test]
fn paths_are_of_any_bytes_but_control_characters() {
    let options = Options::parse(b"threshold=0,file=/tmp/%p-\xe9\\,%p\xff.log,args").unwrap();
    let expected = OsStr::from_bytes(b"/tmp/7-\xe9,7\xff.log");
    assert_eq!(options.path(7).as_os_str(), expected);
    assert!(options.args);
    for text in ["file=/tmp/a\nb", "file=a\u{1b}[31m", "file=\u{9b}2J.log"] {
        let message = Options::parse(text).unwrap_err().message;
        assert!(message.contains("control characters"), "{message}");
    }
    let message = Options::parse(b"walk=\xff").unwrap_err().message;
    assert_eq!(message, "walk=\u{fffd} is not UTF-8");
    let message = Options::parse("walk=a\n\u{1b}[31m\u{202e}").unwrap_err().message;
    assert!(message.starts_with("walk=a__[31m_ is none of"), "{message}");
}

#[test]
fn unknown_keys_are_refused_and_the_known_named() {
    let mistake = Options::parse("fiel=x").unwrap_err();
    let known = mistake.message.strip_prefix("unknown option fiel; known are ").unwrap();
    let known: BTreeSet<&str> = known.split(", ").collect();
    for entry in TABLE {
        assert_eq!(known.contains(entry.name), entry.reach != Reach::Internal, "{}", entry.name);
    }
    assert!(!mistake.strict);
    assert!(Options::parse("fiel=x,strict").unwrap_err().strict, "wherever it stands");
    let mistake = Options::parse("depth=0,walk=slow,reply=/tmp/reply").unwrap_err();
    assert!(mistake.message.starts_with("depth=0 is not a number"), "the first counts");
    assert_eq!(mistake.reply, "/tmp/reply");
}

/// With what it needs to mean something.
fn with_needs(name: &str, value: &str) -> Vec<u8> {
    let entry = find(name).unwrap();
    let mut pairs = vec![(name, value.as_bytes())];
    // No limit is below the least size of a file.
    let accepted = |needed| match needed {
        "filesize" => "64k".to_owned(),
        _ => find(needed).unwrap().about().accepted[0].clone(),
    };
    let needed = entry.needs.map(|needed| (needed, accepted(needed)));
    pairs.extend(needed.iter().map(|(name, accepted)| (*name, accepted.as_bytes())));
    join_escaped(pairs)
}

#[test]
fn every_option_takes_and_refuses_what_its_kind_says() {
    for entry in TABLE {
        let about = entry.about();
        assert!(!about.accepted.is_empty(), "{}", entry.name);
        for value in &about.accepted {
            let options = Options::parse(with_needs(entry.name, value)).unwrap();
            assert!(options.is_given(entry.name));
            assert_eq!(entry.check(value.as_bytes()), Ok(()));
        }
        for value in &about.refused {
            let text = with_needs(entry.name, value);
            let Mistake { message, strict, .. } = Options::parse(&text).unwrap_err();
            assert!(!strict && !message.contains('\n'), "{}={value}: {message}", entry.name);
            assert!(message.starts_with(entry.name), "{}={value}: {message}", entry.name);
            assert_eq!(entry.check(value.as_bytes()).unwrap_err().to_string(), message);
        }
        // Limits are just beyond what is refused.
        if about.limits.is_some() {
            assert!(about.refused.len() > 2, "{}", entry.name);
        }
    }
}

#[test]
fn the_table_is_in_order() {
    let mut names = BTreeSet::new();
    let mut keys = BTreeSet::new();
    for entry in TABLE {
        let name = entry.name;
        assert!(names.insert(name), "{name} stands twice");
        assert!(!entry.help().is_empty() && !entry.help().contains("  "), "{name}");
        assert!(!entry.help().ends_with('.') && !entry.value_name.is_empty(), "{name}");
        assert!(entry.log_key().is_none_or(|key| keys.insert(key)), "{name}: its key stands twice");
        assert!(entry.needs.is_none_or(|needed| find(needed).is_some()), "{name}");
        if let Some(default) = entry.default() {
            // What is written as the default is read as the default.
            let given = Options::parse(with_needs(name, &default)).unwrap();
            let logged = entry.logged_value;
            assert_eq!(logged(&given), logged(&Options::default()), "{name}");
        }
        if let Form::Choice(words) = entry.about().form {
            assert!(words.iter().all(|word| entry.check(word.as_bytes()).is_ok()), "{name}");
        }
        if entry.reach == Reach::Internal {
            assert_eq!((entry.log_key(), entry.later), (None, Later::Moot), "{name}");
        }
    }
}

/// Those that count in the mode and have a value, and no others.
fn check_in_force(text: &str, has: &[(&str, &str)], lacks: &[&str]) {
    let options = Options::parse(text).unwrap();
    let in_force = options.in_force();
    for pair in has {
        assert!(in_force.iter().any(|(key, value)| (*key, value.as_str()) == *pair), "{pair:?}");
    }
    for key in lacks {
        assert!(in_force.iter().all(|(known, _)| known != key), "{text}: {key}");
    }
    for entry in TABLE.iter().filter(|entry| entry.default().is_some() && entry.needs.is_none()) {
        let is_logged = in_force.iter().any(|(key, _)| Some(*key) == entry.log_key());
        let is_expected = entry.log_key().is_some() && entry.counts.applies_to(options.mode());
        assert_eq!(is_logged, is_expected, "{text}: {}", entry.name);
    }
}

#[test]
fn the_log_says_what_is_in_force() {
    let usual = [("mode", "contention"), ("threshold", "auto"), ("depth", "128"), ("walk", "auto")];
    let others = ["hold", "period", "include", "exclude-threads", "filesize", "filecount"];
    check_in_force("", &usual, &others);
    check_in_force("hold=all,period=1ms,include=a", &usual, &others);
    check_in_force("mode=sample", &[("period", "50000000")], &["hold", "sample-threads"]);
    check_in_force(
        "mode=trace+sample,threshold=50us,depth=9,events=all,include=a.*;b,threads=^x,filesize=1m",
        &[
            ("mode", "trace+sample"),
            ("threshold", "50us"),
            ("depth", "9"),
            ("filesize", "1048576"),
            ("filecount", "5"),
            ("hold", "all"),
            ("events", "all"),
            ("identity", "true"),
            ("include", "a.*;b"),
            ("period", "50000000"),
            ("sample-threads", "^x"),
            ("skip-daemon", "false"),
        ],
        &["exclude", "threads", "file", "strict", "command"],
    );
}

#[test]
fn who_gives_what_cannot_change_is_told() {
    let parse = |text: &str| Options::parse(text).unwrap();
    let now = Options::default();
    let note = |text: &str| parse(text).note_of_fixed(&now, false);
    for text in ["", "threshold=0,enabled=no", "file=a,strict,overwrite=no,command=start,reply=x"] {
        assert_eq!(note(text), None, "{text}");
    }
    assert_eq!(note("mode=sample,period=1ms,threads=a,skip-daemon"), None);
    assert_eq!(note("mode=trace,hold=all,events=all,include=a,exclude=b"), None);
    assert_eq!(parse("identity=no,precise").note_of_fixed(&now, true), None);
    // What is as it is given does not have to change.
    let text = "depth=9,parks=probes,exclude-threads=a;b,args,identity=no,count=adaptive";
    let others = "depth=8,parks=auto,exclude-threads=a,args=no,identity,count=full";
    assert_eq!(parse(text).note_of_fixed(&parse(text), false), None);
    let refused = parse(others).note_of_fixed(&parse(text), false).unwrap();
    let names = "depth, parks, exclude-threads, args, count and identity cannot change";
    assert!(refused.starts_with(names), "{refused}");
    let note = note("identity=no,hold=1/64,depth=9,period=1ms").unwrap();
    let (fixed, changing) = note.split_once("; only ").unwrap();
    assert_eq!(fixed, "depth and identity cannot change once the agent is loaded");
    let changing: Vec<&str> = changing.strip_suffix(" can").unwrap().split([',', ' ']).collect();
    for entry in TABLE {
        assert_eq!(changing.contains(&entry.name), entry.later == Later::Changes, "{}", entry.name);
    }
}

#[test]
fn what_trace_mode_is_asked_for_changes_by_what_is_given() {
    let parse = |text: &str| Options::parse(text).unwrap();
    let first = parse("mode=trace,hold=1/8,events=all,include=a.*;b,exclude=c").trace;
    let after = |text: &str| parse(text).trace_after(&first);
    assert_eq!(after("threshold=0,file=x"), first);
    assert_eq!(after("hold=none").hold, HoldSampling::Never);
    let folded = after("events=folded");
    assert_eq!((folded.every_event, folded.settled().hold), (false, HoldSampling::OneIn(8)));
    assert_eq!((&folded.include, &folded.exclude), (&first.include, &first.exclude));
    assert_eq!(after("include=d").include, parse("include=d").trace.include);
    assert!(after("include=").include.is_empty());
    // What it comes to is what the log has, also where that is nothing.
    let logged = after("include=").logged();
    let value = |key: &str| logged.iter().find(|(known, _)| *known == key).unwrap().1.as_str();
    assert_eq!((value("hold"), value("events"), value("include")), ("all", "all", ""));
    assert_eq!((value("identity"), value("exclude")), ("true", "c"));
    assert_eq!(logged.len(), TABLE.iter().filter(|it| it.counts == Counts::Trace).count());
}

#[test]
fn pairs_are_read_as_they_are_written() {
    let pairs = [("file", &b"/tmp/a,b\\c\xff.log"[..]), ("exclude-threads", b"a,b;c\\d")];
    let text = join_escaped(pairs);
    assert_eq!(text, b"file=/tmp/a\\,b\\\\c\xff.log,exclude-threads=a\\,b;c\\\\d");
    let options = Options::parse(text).unwrap();
    assert_eq!(options.path(1).as_os_str().as_bytes(), pairs[0].1);
    let patterns: Vec<&str> = options.exclude_threads.iter().map(|it| it.as_str()).collect();
    assert_eq!(patterns, ["a,b", "c\\d"]);
}
