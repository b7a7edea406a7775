//! The words of `case.toml`, as `testdata/cases/README.md` lists them.

use serde::Deserialize;

/// Makes an enumeration of words: each variant has one.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
        pub enum $name { $(#[serde(rename = $word)] $variant),+ }

        impl $name {
            /// All of them.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// Its word.
            pub fn word(self) -> &'static str {
                match self { $($name::$variant => $word),+ }
            }
        }
    };
}

words! {
    /// What takes a program's time.
    Kind {
        Lock = "lock",
        Wait = "wait",
        Deadlock = "deadlock",
        NobodyAnswers = "nobody-answers",
        Idle = "idle",
        Computes = "computes",
        CollectsGarbage = "collects-garbage",
        Outside = "outside",
        Pinned = "pinned",
        Processors = "processors",
    }
}

words! {
    /// What mends it.
    Advice {
        ShortenHold = "shorten-hold",
        TakeLessOften = "take-less-often",
        SplitLock = "split-lock",
        ShareReads = "share-reads",
        AvoidLock = "avoid-lock",
        SameOrder = "same-order",
        InitializeEarlier = "initialize-earlier",
        LargerPool = "larger-pool",
        ReturnSooner = "return-sooner",
        ReturnAlways = "return-always",
        DrainFaster = "drain-faster",
        SpeedUpTask = "speed-up-task",
        SeparatePool = "separate-pool",
        Signal = "signal",
        Unfair = "unfair",
        FewerThreads = "fewer-threads",
        MoreProcessors = "more-processors",
        Unpin = "unpin",
        LessGarbage = "less-garbage",
        ProfileCpu = "profile-cpu",
        LookOutside = "look-outside",
        Nothing = "nothing",
    }
}

words! {
    /// What sort of code it is.
    Area {
        Logging = "logging",
        Pools = "pools",
        Caches = "caches",
        Futures = "futures",
        ClassLoading = "class-loading",
        Jdk = "jdk",
        Metrics = "metrics",
        Jdbc = "jdbc",
        HttpRpc = "http-rpc",
        Messaging = "messaging",
        OrmDi = "orm-di",
        Schedulers = "schedulers",
        Actors = "actors",
        Languages = "languages",
        VirtualThreads = "virtual-threads",
        Garbage = "garbage",
        Cpu = "cpu",
        Convoys = "convoys",
        ReadersWriters = "readers-writers",
        LostWakeups = "lost-wakeups",
        Servlet = "servlet",
        Netty = "netty",
        Xnio = "xnio",
        Vertx = "vertx",
        Grpc = "grpc",
        Brokers = "brokers",
        Executors = "executors",
        Disruptor = "disruptor",
    }
}

words! {
    /// Faults that somebody reported, or servers at some load.
    Set { Bugs = "bugs", Servers = "servers" }
}

words! {
    /// How the program is recorded.
    Way {
        Contention = "contention",
        Trace = "trace",
        Auto = "auto",
        Attached = "attached",
        Jfr = "jfr",
        Sample = "sample",
        Dumps = "dumps",
    }
}
