//! A proxy in front of the test server that knows where one message of `PostgreSQL`'s protocol ends and the next
//! begins, and cuts a connection at a chosen point: before a request reaches the server (or so that it reaches it late),
//! or after the server has answered it and before the answer, or all of it, is passed on.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use taskdeck::db::Limits;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Where a connection is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    /// The request never reaches the server.
    Before,
    /// The request reaches the server [`LATE`], when whoever sent it has long given up, or is no more.
    Late,
    /// The server has done what was asked; its answer is lost.
    After,
    /// The server has done what was asked; half of its answer is passed on, and then the connection is reset.
    Middle,
    /// The server has done what was asked; its answer is held back and the connection stays open.
    Stall,
    /// As [`Cut::After`], and from then on nobody is let in any more.
    Last,
}

impl Cut {
    /// Deadlines for who is cut off in this way. Only an answer that is held back is waited for until one passes; it
    /// holds for asking again too, which must not pass it where the machine has other work.
    pub(crate) fn limits(self) -> Limits {
        match self {
            Self::Stall => Limits { statement: STALLED, ..Limits::default() },
            _ => Limits::default(),
        }
    }
}

/// For how long an answer is waited for that is held back.
const STALLED: Duration = Duration::from_secs(3);

/// Longer than the deadlines that tests give to a statement.
const LATE: Duration = Duration::from_millis(4_500);

#[derive(Debug, Default)]
struct Plan {
    /// The next requests that contain this text are cut, each once.
    armed: Vec<(Cut, &'static str)>,
    /// So many of the next connections are closed at once.
    refused: u32,
}

impl Plan {
    fn refuse(&mut self) -> bool {
        let due = self.refused > 0;
        self.refused = self.refused.saturating_sub(1);
        due
    }

    /// What is to be done with this request, and no longer with the next.
    fn take(&mut self, messages: &[Message]) -> Option<Cut> {
        // To ask for the end of the session is no request: nobody waits for an answer to it.
        if messages.last().is_some_and(|message| message.kind == b'X') {
            return None;
        }
        let matches = |marker: &str| messages.iter().any(|message| message.contains(marker.as_bytes()));
        let place = self.armed.iter().position(|(_, marker)| matches(marker))?;
        let (cut, _) = self.armed.remove(place);
        if cut == Cut::Last {
            self.refused = u32::MAX;
        }
        Some(cut)
    }
}

/// Listens on a port of 127.0.0.1 and passes everything on to the server, but what it was told to cut.
pub(crate) struct Proxy {
    port: u16,
    server_port: u16,
    plan: Arc<Mutex<Plan>>,
    cuts: Arc<Cuts>,
    arrivals: Arc<Mutex<Vec<Instant>>>,
    /// Counts how often every connection was ended.
    ends: watch::Sender<u64>,
}

/// How many requests were cut in each way.
type Cuts = [AtomicU64; 6];

impl Proxy {
    /// Starts in front of the server on `server_port`.
    pub(crate) async fn start(server_port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
        let port = listener.local_addr().expect("address").port();
        let plan = Arc::<Mutex<Plan>>::default();
        let cuts = Arc::<Cuts>::default();
        let arrivals = Arc::<Mutex<Vec<Instant>>>::default();
        let ends = watch::Sender::<u64>::default();
        let ended = ends.subscribe();
        let shared = (Arc::clone(&plan), Arc::clone(&cuts), Arc::clone(&arrivals));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (plan, cuts, arrivals) = shared.clone();
                let mut ended = ended.clone();
                locked(&arrivals).push(Instant::now());
                if locked(&plan).refuse() {
                    tokio::spawn(turn_away(client));
                    continue;
                }
                ended.mark_unchanged();
                tokio::spawn(async move {
                    let passing = async {
                        let server = TcpStream::connect(("127.0.0.1", server_port)).await?;
                        pass(client, server, &plan, &cuts).await
                    };
                    tokio::select! {
                        // How it ends is for the two ends to notice.
                        _ = passing => {}
                        _ = ended.changed() => {}
                    }
                });
            }
        });
        Self { port, server_port, plan, cuts, arrivals, ends }
    }

    /// [`Proxy::start`] for a test that has no runtime: it lives as long as the one that is returned.
    pub(crate) fn start_aside(server_port: u16) -> (Self, tokio::runtime::Runtime) {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(2).enable_all().build().expect("a runtime for the proxy");
        (runtime.block_on(Self::start(server_port)), runtime)
    }

    /// The port to connect to.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The address through this of the database that is at `url` on its server. What is encrypted could not be cut at
    /// the right place.
    pub(crate) fn address(&self, url: &str) -> String {
        let through = url.replace(&format!(":{}/", self.server_port), &format!(":{}/", self.port));
        assert_ne!(through, url, "another server than the one behind this");
        let and = if url.contains('?') { '&' } else { '?' };
        format!("{through}{and}sslmode=disable")
    }

    /// Cuts the next request whose bytes contain `marker`, any request if it is empty; told several times, as many
    /// requests.
    pub(crate) fn cut(&self, cut: Cut, marker: &'static str) {
        locked(&self.plan).armed.push((cut, marker));
    }

    /// How many cuts still wait for their request.
    pub(crate) fn armed(&self) -> usize {
        locked(&self.plan).armed.len()
    }

    /// Cuts nothing any more.
    pub(crate) fn disarm(&self) {
        locked(&self.plan).armed.clear();
    }

    /// Closes the next `connections` connections at once, as a server does that is going down.
    pub(crate) fn refuse(&self, connections: u32) {
        locked(&self.plan).refused = connections;
    }

    /// When somebody connected, or tried to.
    pub(crate) fn arrivals(&self) -> Vec<Instant> {
        locked(&self.arrivals).clone()
    }

    /// Ends every connection at once and closes those that come, until [`Proxy::let_in`].
    pub(crate) fn shut(&self) {
        self.refuse(u32::MAX);
        self.ends.send_modify(|ends| *ends += 1);
    }

    /// Lets everybody in again.
    pub(crate) fn let_in(&self) {
        self.refuse(0);
    }

    /// How many requests were cut.
    pub(crate) fn cuts(&self) -> u64 {
        self.cuts.iter().map(|cuts| cuts.load(Ordering::SeqCst)).sum()
    }

    /// How many requests were cut in this way.
    pub(crate) fn cuts_of(&self, cut: Cut) -> u64 {
        self.cuts[cut as usize].load(Ordering::SeqCst)
    }
}

/// Hears who it is and closes the connection in good order: what was left unread would reset it, or not, as it happens.
async fn turn_away(mut client: TcpStream) {
    let _ = client.read(&mut [0; 4096]).await;
}

/// Passes messages between the two until one of them ends or a cut is due.
async fn pass(client: TcpStream, server: TcpStream, plan: &Mutex<Plan>, cuts: &Cuts) -> std::io::Result<()> {
    let (mut from_client, to_client) = client.into_split();
    let (from_server, mut to_server) = server.into_split();
    // A startup packet (or a request to cancel) has a length but no type.
    let length = from_client.read_i32().await?;
    let body = read_body(&mut from_client, length).await?;
    to_server.write_i32(length).await?;
    to_server.write_all(&body).await?;
    let holding = Mutex::new(None);
    tokio::select! {
        ended = requests(from_client, to_server, plan, cuts, &holding) => ended,
        ended = answers(from_server, to_client, &holding) => ended,
    }
}

/// Passes requests, each being everything up to its Sync or one simple query; ends where one is not to arrive.
async fn requests(
    mut from_client: OwnedReadHalf,
    mut to_server: OwnedWriteHalf,
    plan: &Mutex<Plan>,
    cuts: &Cuts,
    holding: &Mutex<Option<Cut>>,
) -> std::io::Result<()> {
    loop {
        let mut messages = Vec::new();
        while !messages.last().is_some_and(Message::ends_a_request) {
            messages.push(Message::read(&mut from_client).await?);
        }
        let due = locked(plan).take(&messages);
        if let Some(cut) = due {
            cuts[cut as usize].fetch_add(1, Ordering::SeqCst);
            match cut {
                Cut::Before => return Ok(()),
                Cut::Late => tokio::time::sleep(LATE).await,
                _ => *locked(holding) = Some(cut),
            }
        }
        for message in &messages {
            message.write(&mut to_server).await?;
        }
    }
}

/// Passes answers; holds back the one to a request that was cut, until the server is ready again: that is after
/// its commit.
async fn answers(
    mut from_server: OwnedReadHalf,
    mut to_client: OwnedWriteHalf,
    holding: &Mutex<Option<Cut>>,
) -> std::io::Result<()> {
    let mut answer = Vec::new();
    loop {
        let message = Message::read(&mut from_server).await?;
        let held = *locked(holding);
        match held {
            None => message.write(&mut to_client).await?,
            Some(Cut::Stall) => {}
            Some(Cut::Middle) if message.kind == b'Z' => return half(&answer, to_client).await,
            Some(Cut::Middle) => message.write(&mut answer).await?,
            Some(_) if message.kind == b'Z' => return Ok(()),
            Some(_) => {}
        }
    }
}

/// Passes half of an answer on, which may end within a message, and resets the connection.
async fn half(answer: &[u8], mut to_client: OwnedWriteHalf) -> std::io::Result<()> {
    to_client.write_all(&answer[..answer.len() / 2]).await?;
    to_client.as_ref().set_zero_linger()?;
    // Its end alone would be told first, in good order.
    to_client.forget();
    Ok(())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Message {
    kind: u8,
    length: i32,
    body: Vec<u8>,
}

impl Message {
    async fn read(from: &mut OwnedReadHalf) -> std::io::Result<Self> {
        let kind = from.read_u8().await?;
        let length = from.read_i32().await?;
        Ok(Self { kind, length, body: read_body(from, length).await? })
    }

    async fn write(&self, to: &mut (impl tokio::io::AsyncWrite + Unpin)) -> std::io::Result<()> {
        to.write_u8(self.kind).await?;
        to.write_i32(self.length).await?;
        to.write_all(&self.body).await
    }

    fn ends_a_request(&self) -> bool {
        matches!(self.kind, b'S' | b'Q' | b'X')
    }

    fn contains(&self, marker: &[u8]) -> bool {
        marker.is_empty() || self.body.windows(marker.len()).any(|window| window == marker)
    }
}

async fn read_body(from: &mut OwnedReadHalf, length: i32) -> std::io::Result<Vec<u8>> {
    let length = usize::try_from(length).ok().and_then(|length| length.checked_sub(4));
    let mut body = vec![0; length.ok_or(std::io::ErrorKind::InvalidData)?];
    from.read_exact(&mut body).await?;
    Ok(body)
}
