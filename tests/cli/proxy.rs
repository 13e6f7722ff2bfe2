//! A wire between the program and the server that can be cut after a statement was sent and before it is answered.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What happens after the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// New connections work.
    Works,
    /// Nobody answers any more.
    Dead,
}

/// Listens on a port of its own; the first connection that sends `word` has it delivered to `server` and is cut
/// before the answer. Returns the port.
pub(crate) fn cut_after(server: u16, word: &'static str, afterwards: Afterwards) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
    let port = listener.local_addr().expect("address").port();
    let cut = Arc::new(AtomicBool::new(false));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let client = client.expect("a connection");
            if cut.load(Ordering::SeqCst) && afterwards == Afterwards::Dead {
                continue;
            }
            let upstream = TcpStream::connect(("127.0.0.1", server)).expect("the server");
            let (cut, to_client) = (Arc::clone(&cut), client.try_clone().expect("clone"));
            let from_server = upstream.try_clone().expect("clone");
            std::thread::spawn(move || forward(client, upstream, word, &cut));
            std::thread::spawn(move || copy(from_server, to_client));
        }
    });
    port
}

fn forward(mut client: TcpStream, mut server: TcpStream, word: &str, cut: &AtomicBool) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(read @ 1..) = client.read(&mut buffer) {
        let sent = &buffer[..read];
        let named = sent.windows(word.len()).any(|window| window == word.as_bytes());
        if named && !cut.swap(true, Ordering::SeqCst) {
            // The client's half goes first, so that no answer can slip through.
            let _ = client.shutdown(Shutdown::Both);
            let _ = server.write_all(sent);
            // The server gets to answer before it learns that nobody listens.
            let mut rest = [0; 1024];
            let _ = server.set_read_timeout(Some(std::time::Duration::from_millis(300)));
            let _ = server.read(&mut rest);
            break;
        }
        if server.write_all(sent).is_err() {
            break;
        }
    }
    let _ = server.shutdown(Shutdown::Both);
    let _ = client.shutdown(Shutdown::Both);
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ = std::io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Both);
}
