//! What a log knows of the waits at one place.

/// What a log knows of the waits at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// How many waits ended.
    pub waits: u64,
    /// Their durations added up, in ns.
    pub wait_ns: u64,
    /// When the last one ended, monotonic ns of its log; 0 if that is not known.
    pub last_ns: u64,
    /// Of how many the log tells whether what they were for came: `Object.wait`
    /// always, conditions where the agent saw signals, parks never.
    pub told: u64,
    /// How many of those ended because their time was over.
    pub timed_out: u64,
    /// How many waits have a record of their own, and so a known length.
    pub measured: u64,
    /// The most of those that took about the same time, off by 70 % at most.
    pub alike: u64,
    /// How many threads waited here.
    pub threads: u64,
    /// How many objects were waited for, as far as they are known.
    pub objects: u64,
    /// How many pairs of a thread and an object that it waited for.
    pub pairs: u64,
    /// How many waits were for an object that is not known, as where threads park
    /// without one. These count as for one object.
    pub nameless: u64,
    /// The fewest frames of the program in a stack that leads here; 0 if the
    /// program has none there.
    pub frames: u32,
    /// How many stacks lead here that differ in the program's methods.
    pub stacks: u64,
    /// Whether the place is in the outermost method of the program.
    pub is_outermost: bool,
    /// What the place does with a queue.
    pub queue: Queue,
    /// Whether it asks for what another thread is to do: a result, the end of a thread, all
    /// to come to a barrier.
    pub asks: bool,
    /// Whether what it asks for is that all come who are to meet there.
    pub meets: bool,
    /// Whether it is a semaphore's permits that are waited for.
    pub is_of_permits: bool,
    /// Whether the wait is in a library, of which the thread's own code is no part.
    pub crosses: bool,
    /// Of `wait_ns`, the waits of which it is known who ended them, without `passed_on_ns`.
    pub woken_ns: u64,
    /// Of `wait_ns`, the waits that one who got what all wait for ended for the next one, such
    /// as one who takes from a queue: that tells nothing of who has provided it.
    pub passed_on_ns: u64,
    /// Of those, the waits that were ended by threads which wait here, too, and have what
    /// others wait for.
    pub by_insiders_ns: u64,
    /// Of `woken_ns`, the waits that were ended with an error, as where time is over.
    pub failed_ns: u64,
    /// Of `woken_ns`, the waits that were ended by busy threads which wait elsewhere for what
    /// those bring that wait here: they take, and here is no room.
    pub by_takers_ns: u64,
    /// Waits of the same threads elsewhere, those for locks included.
    pub elsewhere: u64,
    /// How many of those have deep stacks, as where work is done.
    pub deep: u64,
    /// How long the threads lived, in ns; 0 if that is not known.
    pub life_ns: u64,
    /// How long of `wait_ns` they waited for an object that no other thread ever
    /// waited for here.
    pub alone_ns: u64,
    /// When several threads waited for one object.
    pub object: Overlap,
    /// When several threads waited in this method, whatever for.
    pub method: Overlap,
    /// Threads that never wait here, but waited for a lock that threads wait
    /// for here, too: they may be those who end the waits.
    pub outsiders: u64,
}

/// What a place does with a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queue {
    /// Nothing that is known.
    #[default]
    None,
    /// It takes from one, or waits for tasks in a pool.
    Takes,
    /// It puts into one.
    Puts,
}

/// Where a thread was when it ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum WakerPlace {
    /// Where others wait: it would have waited, too, if it had come earlier.
    Here,
    /// In what the method that waits has called: at its work.
    Work,
    /// Elsewhere, with so many frames of the program.
    Elsewhere(u32),
}

/// How much threads waited at the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// How many threads waited, at one time or another.
    pub threads: u64,
    /// The most that did at once.
    pub most: u64,
    /// How long any of them waited, in ns.
    pub any_ns: u64,
    /// How long all of them waited, in ns.
    pub all_ns: u64,
}

impl Overlap {
    /// Whether so little of the time all of them waited that somebody had to be
    /// left for the others to wait for.
    pub fn is_never_all(&self) -> bool {
        self.threads > 1 && self.any_ns != 0 && is_part(self.all_ns, 1, 10, self.any_ns)
    }

    /// Whether all of them waited for at least half of the time that any did.
    pub fn is_often_all(&self) -> bool {
        self.any_ns != 0 && !is_less(self.all_ns, 1, 2, self.any_ns)
    }
}

/// Whether a stack of so many frames of the program is one that a thread's loop
/// has.
pub(super) const LOOP_FRAMES: u32 = 5;
/// The same of a framework's threads, where they wait elsewhere much deeper.
const FRAMEWORK_FRAMES: u32 = 8;
/// Who ends waits at work, and not where it gives back what it had, has so many frames more.
pub(super) const DEEPER_FRAMES: u32 = 4;
/// Who waits for no longer on average only looks again.
const MOMENT_NS: u64 = 1_000_000;
/// And does so as often at the least.
const LEAST_LOOKS: u64 = 1_000;
/// Fewer waits do not tell where threads wait otherwise.
const LEAST_DEEP: u64 = 10;

impl Evidence {
    /// Whether the stack is one that a thread's own loop has: few frames, always
    /// the same.
    pub fn is_shallow(&self) -> bool {
        self.frames <= LOOP_FRAMES && self.stacks <= 1
    }

    /// Whether the stack is that of a loop from which the threads go far deeper for their work:
    /// few frames, always the same, and most of their other waits have many more.
    pub fn is_above_work(&self) -> bool {
        let is_deep = self.deep >= LEAST_DEEP && !is_less(self.deep, 1, 2, self.elsewhere);
        is_deep && self.is_of_framework()
    }

    /// Whether the threads spent at least half of their lives here.
    pub fn is_most_of_life(&self) -> bool {
        self.life_ns != 0 && !is_less(self.wait_ns, 1, 2, self.life_ns)
    }

    /// Whether the threads hardly wait anywhere else.
    pub fn is_only_here(&self) -> bool {
        is_part(self.elsewhere, 1, 10, self.waits)
    }

    /// Whether each thread waited for objects of its own, mostly.
    pub fn is_alone(&self) -> bool {
        self.wait_ns != 0 && !is_less(self.alone_ns, 1, 2, self.wait_ns)
    }

    /// Whether those who wait here end the waits of one another, as with what each of them
    /// has for some time; `None` if too little is known of who ended them.
    pub fn is_by_insiders(&self) -> Option<bool> {
        let others_ns = self.wait_ns.saturating_sub(self.passed_on_ns);
        let is_known = self.woken_ns != 0 && !is_less(self.woken_ns, 1, 4, others_ns);
        is_known.then(|| !is_less(self.by_insiders_ns, 1, 2, self.woken_ns))
    }

    /// Whether nearly all were given up after the same time, by who looks after that.
    pub fn is_given_up(&self) -> bool {
        self.failed_ns != 0 && !is_less(self.failed_ns, 9, 10, self.woken_ns) && self.is_alike()
    }

    /// Whether threads look again and again whether what they want has come, and do hardly
    /// anything else: each wait is but a moment.
    pub fn is_polling(&self) -> bool {
        let is_moment = self.wait_ns <= self.waits.saturating_mul(MOMENT_NS);
        is_moment
            && self.is_most_of_life()
            && self.waits >= self.threads.saturating_mul(LEAST_LOOKS)
    }

    /// Whether those who end the waits are busy with what those bring who wait here. Of other
    /// waits than those for permits, that may be true of workers as well.
    pub fn is_for_room(&self) -> bool {
        let is_most = self.by_takers_ns != 0 && !is_less(self.by_takers_ns, 1, 2, self.woken_ns);
        is_most && self.is_of_permits
    }

    /// Whether others bring what a loop of the thread's waits for.
    pub fn is_brought(&self) -> bool {
        let others_ns = self.woken_ns.saturating_sub(self.by_insiders_ns);
        let not_passed_ns = self.wait_ns.saturating_sub(self.passed_on_ns);
        let is_most = !is_less(others_ns, 1, 2, not_passed_ns);
        let is_nearly_all = is_most && is_part(self.by_insiders_ns, 1, 10, self.woken_ns);
        let is_of_framework = self.queue == Queue::Takes && self.is_of_framework();
        !self.crosses && (self.is_shallow() || is_nearly_all && is_of_framework)
    }

    /// Whether the stack may be that of a framework's loop: always the same.
    pub fn is_of_framework(&self) -> bool {
        self.frames <= FRAMEWORK_FRAMES && self.stacks <= 1 && !self.crosses
    }

    /// How often a thread waited here again, and how often of that for an object
    /// that it had not waited for before.
    pub fn again(&self) -> (u64, u64) {
        (self.waits.saturating_sub(self.threads), self.pairs.saturating_sub(self.threads))
    }

    /// Whether most waits do not tell what they were for.
    pub fn is_nameless(&self) -> bool {
        self.nameless != 0 && !is_less(self.nameless, 1, 2, self.waits)
    }

    /// Whether nearly all waits ended because their time was over.
    pub fn is_timed_out(&self) -> bool {
        self.timed_out != 0 && !is_less(self.timed_out, 9, 10, self.waits)
    }

    /// Whether nearly all waits took about the same time.
    pub fn is_alike(&self) -> bool {
        self.measured >= 5 && !is_less(self.alike, 9, 10, self.measured)
    }

    /// The share of their lives that the threads spent here; `None` if it is not
    /// known how long they lived.
    pub fn life_share(&self) -> Option<f64> {
        (self.life_ns != 0).then(|| self.wait_ns as f64 / self.life_ns as f64)
    }
}

/// Whether `part` is at most `of`/`in_all` of the whole.
fn is_part(part: u64, of: u64, in_all: u64, whole: u64) -> bool {
    u128::from(part) * u128::from(in_all) <= u128::from(whole) * u128::from(of)
}

/// Whether `part` is less than `of`/`in_all` of the whole.
fn is_less(part: u64, of: u64, in_all: u64, whole: u64) -> bool {
    u128::from(part) * u128::from(in_all) < u128::from(whole) * u128::from(of)
}
