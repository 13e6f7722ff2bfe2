//! A server that does not let everybody in at once: it refuses connections with a code, then passes them on.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Listens on a port of 127.0.0.1 for as long as the tests run.
pub(crate) struct Reluctant {
    port: u16,
    asked: Arc<AtomicU32>,
}

impl Reluctant {
    /// Refuses the first `refuses` connections with `code` and `message`, and passes the others on to `server`.
    pub(crate) fn start(code: &'static str, message: &'static str, refuses: u32, server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let port = listener.local_addr().expect("an address").port();
        let asked = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&asked);
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                if counted.fetch_add(1, Ordering::SeqCst) < refuses {
                    // Who does not wait for the answer needs none.
                    let _ = refuse(client, code, message);
                } else {
                    pass(client, server);
                }
            }
        });
        Self { port, asked }
    }

    /// The address of `database` there.
    pub(crate) fn url(&self, database: &str) -> String {
        format!("postgresql://tester@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// How many connections came.
    pub(crate) fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }
}

/// Reads the first message and answers with an `ErrorResponse`.
fn refuse(mut client: TcpStream, code: &str, message: &str) -> std::io::Result<()> {
    let mut length = [0; 4];
    client.read_exact(&mut length)?;
    let mut rest = vec![0; usize::try_from(u32::from_be_bytes(length)).expect("small").saturating_sub(4)];
    client.read_exact(&mut rest)?;
    let body = format!("SFATAL\0VFATAL\0C{code}\0M{message}\0\0");
    let length = u32::try_from(body.len() + 4).expect("small");
    client.write_all(&[&[b'E'][..], &length.to_be_bytes(), body.as_bytes()].concat())
}

fn pass(client: TcpStream, server: u16) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { return };
    let ways = [(client.try_clone(), server.try_clone()), (Ok(server), Ok(client))];
    for (from, to) in ways {
        let (mut from, mut to) = (from.expect("a descriptor"), to.expect("a descriptor"));
        std::thread::spawn(move || {
            // How it ends is for the two ends to notice.
            let _ = std::io::copy(&mut from, &mut to);
            let _ = to.shutdown(std::net::Shutdown::Both);
        });
    }
}
