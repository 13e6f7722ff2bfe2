//! Stands between a caller and the server within this process and cuts one request off: before it reaches the server, or
//! after the server has done what was asked. It knows where one message of the protocol ends and the next begins, and
//! nothing else of it.

use std::io;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::db::lab::Wire;

/// The largest message that is taken for one.
const LARGEST: usize = 64 * 1024 * 1024;

/// The server is ready for the next request: what was asked before is committed.
const READY: u8 = b'Z';

/// Where a request is cut off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    /// It never reaches the server.
    Request,
    /// The server has done it; its answer is lost.
    Answer,
}

/// What to cut, and how often that was done.
#[derive(Debug, Default)]
struct Plan {
    armed: Mutex<Option<(Cut, Vec<u8>)>>,
    cuts: AtomicI64,
}

impl Plan {
    /// What is to be done with a request of these messages.
    fn take(&self, request: &[Message]) -> Option<Cut> {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, marker) = armed.as_ref()?;
        if !request.iter().any(|message| message.contains(marker)) {
            return None;
        }
        self.cuts.fetch_add(1, Ordering::Relaxed);
        armed.take().map(|(cut, _)| cut)
    }
}

/// Listens on a port of this machine, and nowhere else, for as long as it lives.
#[derive(Debug)]
pub(super) struct Proxy {
    port: u16,
    plan: Arc<Plan>,
    /// Ended when this is dropped, with every connection through it.
    _serving: JoinSet<()>,
}

impl Proxy {
    /// Begins to listen and to pass on.
    pub(super) async fn start(wire: Wire) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let port = listener.local_addr()?.port();
        let plan = Arc::<Plan>::default();
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, wire, Arc::clone(&plan)));
        Ok(Self { port, plan, _serving: serving })
    }

    /// The port to connect to.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// Cuts the next request off that contains `marker`, and none after it.
    pub(super) fn cut(&self, cut: Cut, marker: &[u8]) {
        *self.plan.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some((cut, marker.to_vec()));
    }

    /// How many requests were cut off.
    pub(super) fn cuts(&self) -> i64 {
        self.plan.cuts.load(Ordering::Relaxed)
    }
}

async fn serve(listener: TcpListener, wire: Wire, plan: Arc<Plan>) {
    let mut passing = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let (wire, plan) = (wire.clone(), Arc::clone(&plan));
        passing.spawn(async move {
            // How it ends is for the two ends to notice.
            let _ = pass(client, &wire, &plan).await;
        });
        while passing.try_join_next().is_some() {}
    }
}

async fn pass(mut client: TcpStream, wire: &Wire, plan: &Plan) -> io::Result<()> {
    client.set_nodelay(true)?;
    let server = wire.open().await?;
    // A startup packet (or a request to cancel) has a length and no type.
    let start = Message::read_without_kind(&mut client).await?;
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = tokio::io::split(server);
    start.write(&mut to_server).await?;
    to_server.flush().await?;
    let answer_is_lost = std::sync::atomic::AtomicBool::new(false);
    let requests = async {
        loop {
            let mut request = vec![Message::read(&mut from_client).await?];
            while !request.last().is_some_and(Message::ends_a_request) {
                request.push(Message::read(&mut from_client).await?);
            }
            match plan.take(&request) {
                Some(Cut::Request) => return Ok(()),
                Some(Cut::Answer) => answer_is_lost.store(true, Ordering::Relaxed),
                None => {}
            }
            for message in &request {
                message.write(&mut to_server).await?;
            }
            to_server.flush().await?;
        }
    };
    let answers = async {
        loop {
            let message = Message::read(&mut from_server).await?;
            if answer_is_lost.load(Ordering::Relaxed) {
                if message.kind == Some(READY) {
                    return Ok(());
                }
                continue;
            }
            message.write(&mut to_client).await?;
            to_client.flush().await?;
        }
    };
    tokio::select! {
        ended = requests => ended,
        ended = answers => ended,
    }
}

struct Message {
    kind: Option<u8>,
    length: i32,
    body: Vec<u8>,
}

impl Message {
    async fn read(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let kind = from.read_u8().await?;
        Ok(Self { kind: Some(kind), ..Self::read_without_kind(from).await? })
    }

    async fn read_without_kind(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Self> {
        let length = from.read_i32().await?;
        let bytes = usize::try_from(length).ok().and_then(|bytes| bytes.checked_sub(4));
        let bytes = bytes.filter(|bytes| *bytes <= LARGEST).ok_or(io::ErrorKind::InvalidData)?;
        let mut body = vec![0; bytes];
        from.read_exact(&mut body).await?;
        Ok(Self { kind: None, length, body })
    }

    async fn write(&self, to: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        if let Some(kind) = self.kind {
            to.write_u8(kind).await?;
        }
        to.write_i32(self.length).await?;
        to.write_all(&self.body).await
    }

    /// Sync, a simple query, the end of the session, and what a client says while it proves who it is: each has an answer
    /// of its own.
    fn ends_a_request(&self) -> bool {
        matches!(self.kind, Some(b'S' | b'Q' | b'X' | b'p'))
    }

    fn contains(&self, marker: &[u8]) -> bool {
        !marker.is_empty() && self.body.windows(marker.len()).any(|window| window == marker)
    }
}
