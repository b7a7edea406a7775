//! A debugger of few words: it stops threads and lets them go on, by the Java Debug
//! Wire Protocol.

use super::{RunningCommand, wait_for};
use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

/// The JVM's option that lets a debugger come.
pub const DEBUGGING: &str =
    "-agentlib:jdwp=transport=dt_socket,server=y,suspend=n,address=127.0.0.1:0";
const HANDSHAKE: &[u8] = b"JDWP-Handshake";
/// Longer than any answer takes: a debugger's own threads must never be held up.
const PATIENCE: Duration = Duration::from_secs(60);
const HEADER_LEN: usize = 11;
const REPLY: u8 = 0x80;

/// A command: its set and number.
type DebugCommand = (u8, u8);
const ALL_THREADS: DebugCommand = (1, 4);
const SUSPEND_ALL: DebugCommand = (1, 8);
const RESUME_ALL: DebugCommand = (1, 9);
const THREAD_NAME: DebugCommand = (11, 1);
const SUSPEND: DebugCommand = (11, 2);
const RESUME: DebugCommand = (11, 3);

/// A connection to a JVM's debugging agent.
pub struct Debugger {
    stream: TcpStream,
    asked: u32,
}

impl Debugger {
    /// Connects to a program that was started with [`DEBUGGING`].
    pub fn connect(running: &RunningCommand) -> Debugger {
        let port = wait_for("port of the debugging agent", || {
            let said = running.stdout();
            let line = said.lines().find(|line| line.starts_with("Listening for transport"))?;
            line.rsplit(' ').next()?.parse::<u16>().ok()
        });
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(HANDSHAKE).unwrap();
        let mut answer = [0; HANDSHAKE.len()];
        stream.read_exact(&mut answer).unwrap();
        assert_eq!(answer, HANDSHAKE);
        Debugger { stream, asked: 0 }
    }

    /// Sends a command: its answer; `None` for an error.
    fn ask(&mut self, (set, number): DebugCommand, data: &[u8]) -> Option<Vec<u8>> {
        self.asked += 1;
        let len = (HEADER_LEN + data.len()) as u32;
        let mut packet = Vec::from(len.to_be_bytes());
        packet.extend(self.asked.to_be_bytes());
        packet.extend([0, set, number]);
        packet.extend(data);
        self.stream.write_all(&packet).unwrap();
        loop {
            let mut header = [0; HEADER_LEN];
            self.stream.read_exact(&mut header).unwrap();
            let len = u32::from_be_bytes(header[..4].try_into().unwrap()) as usize;
            let mut data = vec![0; len - HEADER_LEN];
            self.stream.read_exact(&mut data).unwrap();
            // Everything else is an event, as of the JVM's start.
            if header[4..8] == self.asked.to_be_bytes() && header[8] == REPLY {
                return (header[9..] == [0, 0]).then_some(data);
            }
        }
    }

    /// Stops all threads.
    pub fn suspend_all(&mut self) {
        self.ask(SUSPEND_ALL, &[]).unwrap();
    }

    /// Lets them go on.
    pub fn resume_all(&mut self) {
        self.ask(RESUME_ALL, &[]).unwrap();
    }

    /// The thread of this name, by the debugger's number.
    pub fn thread(&mut self, name: &str) -> u64 {
        let all = self.ask(ALL_THREADS, &[]).unwrap();
        // How many there are, then their numbers.
        let mut ids = all[4..].chunks_exact(8).map(|id| u64::from_be_bytes(id.try_into().unwrap()));
        let named = |id: &u64| {
            let said = self.ask(THREAD_NAME, &id.to_be_bytes());
            // Those that have ended have none. Its length comes first.
            said.is_some_and(|said| &said[4..] == name.as_bytes())
        };
        ids.find(named).unwrap_or_else(|| panic!("no thread {name}"))
    }

    /// Stops a thread.
    pub fn suspend(&mut self, thread: u64) {
        self.ask(SUSPEND, &thread.to_be_bytes()).unwrap();
    }

    /// Lets it go on.
    pub fn resume(&mut self, thread: u64) {
        self.ask(RESUME, &thread.to_be_bytes()).unwrap();
    }
}
