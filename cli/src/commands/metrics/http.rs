//! A small HTTP server: one page, one request per connection, and limits on all that
//! somebody else decides.

mod connection;
mod request;

use super::text::Family;
use crate::outcome::Failure;
use connection::{answer, refuse};
use std::{
    io,
    net::{SocketAddr, TcpListener, TcpStream, ToSocketAddrs},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread::{self, Builder},
    time::Duration,
};

/// So many connections are answered at a time; more are told to come again.
const MOST_CONNECTIONS: usize = 64;
/// A connection's thread needs little.
const STACK: usize = 256 << 10;
/// How long to wait when no connection can be taken, for lack of file descriptors say.
const BREAK: Duration = Duration::from_millis(100);

/// What is served: the metrics as of the last look.
pub struct Page(Mutex<Arc<Vec<Family>>>);

impl Page {
    pub fn new(families: Vec<Family>) -> Page {
        Page(Mutex::new(Arc::new(families)))
    }

    /// Serves these from now on.
    pub fn put(&self, families: Vec<Family>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(families);
    }

    fn get(&self) -> Arc<Vec<Family>> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A port that is listened on.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Takes an address, `127.0.0.1:9464`.
    ///
    /// # Errors
    /// When it is none, or is taken.
    pub fn bind(listen: &str) -> Result<Server, Failure> {
        let addresses = listen.to_socket_addrs().map_err(|error| {
            let example = "it takes an address and a port, such as 127.0.0.1:9464";
            Failure::Usage(format!("--listen {listen}: {error}; {example}"))
        })?;
        let addresses: Vec<SocketAddr> = addresses.collect();
        let taken = TcpListener::bind(&addresses[..]);
        let server = taken.and_then(|listener| {
            let address = listener.local_addr()?;
            Ok(Server { listener, address })
        });
        server.map_err(|error| Failure::new(cannot_listen(listen, &error)))
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves a page from a thread of its own, as long as this process lives.
    ///
    /// # Errors
    /// When there is no room for the thread.
    pub fn start(self, page: Arc<Page>) -> Result<(), Failure> {
        let open = Arc::new(AtomicUsize::new(0));
        let serve = move || {
            loop {
                match self.listener.accept() {
                    Ok((stream, _)) => self.serve(stream, &page, &open),
                    Err(_) => thread::sleep(BREAK),
                }
            }
        };
        let thread = Builder::new().name("listener".to_owned()).spawn(serve);
        thread.map(drop).map_err(|error| Failure::new(format!("a thread: {error}")))
    }

    fn serve(&self, stream: TcpStream, page: &Arc<Page>, open: &Arc<AtomicUsize>) {
        let place = ConnectionSlot::take(open);
        if place.is_beyond {
            refuse(stream);
            return;
        }
        let (page, loopback) = (Arc::clone(page), self.address.ip().is_loopback());
        let answer = move || {
            answer(stream, loopback, || page.get());
            drop(place);
        };
        // Without a thread the connection is closed.
        let _ = Builder::new().name("connection".to_owned()).stack_size(STACK).spawn(answer);
    }
}

/// One of so many connections at a time, until it is dropped.
struct ConnectionSlot {
    open: Arc<AtomicUsize>,
    is_beyond: bool,
}

impl ConnectionSlot {
    fn take(open: &Arc<AtomicUsize>) -> ConnectionSlot {
        let is_beyond = open.fetch_add(1, Relaxed) >= MOST_CONNECTIONS;
        ConnectionSlot { open: Arc::clone(open), is_beyond }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Relaxed);
    }
}

fn cannot_listen(listen: &str, error: &io::Error) -> String {
    let advice = match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another program listens there; choose another port with --listen, or port 0 for any \
             that is free"
        }
        io::ErrorKind::PermissionDenied => {
            "ports below 1024 are for root; choose another with --listen"
        }
        io::ErrorKind::AddrNotAvailable => "no network of this machine has that address",
        _ => "choose another address with --listen",
    };
    format!("cannot listen on {listen}: {error}; {advice}")
}
