//! Whose rights a process has, and how to have no others.

use super::handle::{Process, shares_namespace};
use rustix::{
    fs::{Gid, Uid},
    process::{DumpableBehavior, getegid, geteuid, set_dumpable_behavior},
    thread::{
        CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_thread_groups,
        set_thread_res_gid, set_thread_res_uid,
    },
};

/// The rights of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Credentials {
    /// Its user.
    pub uid: u32,
    gid: u32,
    groups: Vec<u32>,
    /// Capabilities that it may have.
    permitted: u64,
}

impl Credentials {
    /// Those in the text of `/proc/PID/status`.
    ///
    /// # Errors
    /// In words: why nobody should act with these credentials.
    pub fn parse(status: &str) -> Result<Credentials, &'static str> {
        const UNLIKE: &str = "its status is not as expected";
        let ids = |name| {
            let ids = field(status, name)?.split_whitespace().map(str::parse);
            ids.collect::<Result<Vec<u32>, _>>().ok().filter(|ids| !ids.is_empty())
        };
        // Real, effective, saved, and for files. In the middle of a change of
        // rights nobody is to be copied.
        let same = |name| match ids(name) {
            None => Err(UNLIKE),
            Some(ids) if ids.iter().all(|&id| id == ids[0]) => Ok(ids[0]),
            Some(_) => Err("it has the rights of two users or groups, like a set-user-ID program"),
        };
        let groups = field(status, "Groups:").ok_or(UNLIKE)?.split_whitespace().map(str::parse);
        let permitted = field(status, "CapPrm:").ok_or(UNLIKE)?;
        Ok(Credentials {
            uid: same("Uid:")?,
            gid: same("Gid:")?,
            groups: groups.collect::<Result<_, _>>().map_err(|_| UNLIKE)?,
            permitted: u64::from_str_radix(permitted, 16).map_err(|_| UNLIKE)?,
        })
    }

    /// Makes this process one of the same user, groups and at most the same
    /// capabilities as `process`, whose rights these are. There is no way back:
    /// no right of root's is kept to return to.
    ///
    /// # Errors
    /// One line: that is for root, or for the user itself.
    pub fn take_on(&self, process: &Process) -> Result<(), String> {
        let pid = process.pid();
        let failed = |error| {
            format!(
                "process {pid}: cannot take on the rights of its user: {error}; run tyrion as that \
                 user, with id {} and group {}",
                self.uid, self.gid
            )
        };
        if geteuid().is_root() {
            check_alone()?;
            // Nobody of the target's user may look into this process, neither
            // before the change nor after it.
            let hide = || set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(failed);
            hide()?;
            let groups: Vec<Gid> = self.groups.iter().map(|&id| Gid::from_raw(id)).collect();
            let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
            set_thread_groups(&groups).map_err(failed)?;
            set_thread_res_gid(gid, gid, gid).map_err(failed)?;
            set_thread_res_uid(uid, uid, uid).map_err(failed)?;
            self.limit_capabilities(process).map_err(failed)?;
            hide()?;
        }
        // Seen, not believed.
        if geteuid().as_raw() != self.uid {
            return Err(format!(
                "process {pid} belongs to another user, with id {}; run tyrion as that user or as \
                 root",
                self.uid
            ));
        }
        if getegid().as_raw() != self.gid {
            return Err(format!(
                "process {pid} has another group, with id {}; run tyrion with that group \
                 (sg, newgrp) or as root",
                self.gid
            ));
        }
        Ok(())
    }

    /// Root in a container has fewer rights than root outside of it. Others need
    /// none for what is done here.
    fn limit_capabilities(&self, process: &Process) -> rustix::io::Result<()> {
        let own = capabilities(None)?;
        // In a user namespace of its own the target's count there only.
        let permitted = match self.uid == 0 && shares_namespace(process, "user") {
            true => own.permitted & CapabilitySet::from_bits_retain(self.permitted),
            false => CapabilitySet::empty(),
        };
        let effective = own.effective & permitted;
        let inheritable = CapabilitySet::empty();
        set_capabilities(None, CapabilitySets { effective, permitted, inheritable })
    }
}

/// The calls change the rights of one thread: there must be no other.
fn check_alone() -> Result<(), String> {
    let threads = std::fs::read_dir("/proc/self/task").map(|threads| threads.count());
    match threads {
        Ok(1) => Ok(()),
        _ => Err("this process has more than one thread, which would keep root's rights".into()),
    }
}

/// What follows a name at the beginning of a line of `/proc/PID/status`.
pub fn field<'a>(status: &'a str, name: &str) -> Option<&'a str> {
    status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a panic is how a test fails")]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tjava\nUid:\t1001\t1001\t1001\t1001\nGid:\t51\t51\t51\t51\n\
                          Groups:\t4 24 51 \nCapPrm:\t00000000a80425fb\n";

    #[test]
    fn ids_and_groups_are_read() {
        let credentials = Credentials::parse(STATUS).unwrap();
        assert_eq!((credentials.uid, credentials.gid), (1001, 51));
        assert_eq!(credentials.groups, [4, 24, 51]);
        assert_eq!(credentials.permitted, 0xa804_25fb);
        let none = STATUS.replace("4 24 51 ", "");
        assert_eq!(Credentials::parse(&none).unwrap().groups, [0; 0]);
        for missing in ["Uid:", "Gid:", "Groups:", "CapPrm:"] {
            let error = Credentials::parse(&STATUS.replace(missing, "X")).unwrap_err();
            assert!(error.contains("not as expected"), "{missing}");
        }
    }

    #[test]
    fn who_is_two_users_is_nobody_to_become() {
        for (name, id) in [("Uid:", 1001), ("Gid:", 51)] {
            for place in 0..4 {
                let mut ids = [id; 4];
                ids[place] = 0;
                let texts = ids.map(|id| format!("\t{id}")).concat();
                let own = format!("\t{id}").repeat(4);
                let status = STATUS.replace(&format!("{name}{own}"), &format!("{name}{texts}"));
                assert_ne!(status, STATUS);
                assert!(Credentials::parse(&status).unwrap_err().contains("two users or groups"));
            }
        }
    }

    #[test]
    fn a_name_cannot_pass_for_a_field() {
        // The kernel writes a line break in a name as `\n`.
        assert_eq!(field("Name:\ta\\nUid:\t0\nUid:\t7 8\n", "Uid:"), Some("7 8"));
    }
}
