//! The bytes between this program and the server, for the experiment that cuts them: a stream to the server as the driver
//! would open it, TLS included, and a database that is reached through a port of this machine instead.

use std::io;
use std::path::Path;

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream};
use tokio_postgres::Config;
use tokio_postgres::config::{ChannelBinding, Host, SslMode, SslNegotiation};
use tokio_postgres::tls::{MakeTlsConnect, TlsConnect as _};

use super::Lab;
use crate::db::conninfo::TlsConnector;
use crate::db::error::DbError;
use crate::db::{Db, Options};

/// What a client sends first where it would like TLS: a length and a number that no version of the protocol has.
const ASKS_FOR_TLS: [u8; 8] = [0, 0, 0, 8, 0x04, 0xd2, 0x16, 0x2f];

/// Bytes both ways.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for T {}

/// How to reach the server, without anything being said yet.
#[derive(Clone)]
pub struct Wire {
    host: Config,
    tls: TlsConnector,
}

impl std::fmt::Debug for Wire {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wire").finish_non_exhaustive()
    }
}

impl Lab<'_> {
    /// The way to the server that answered last; none where what is said over it is bound to its encryption, so that
    /// nobody may stand in between.
    pub fn wire(self) -> Option<Wire> {
        let connector = &self.db.inner.listener;
        let host = connector.host_that_answered();
        let bound = host.get_channel_binding() == ChannelBinding::Require;
        (!bound).then(|| Wire { host, tls: connector.tls() })
    }

    /// Opens the same database through whoever listens on `port` of this machine and passes the bytes on.
    ///
    /// # Errors
    /// As [`Db::open`].
    pub async fn through(self, port: u16, options: Options) -> Result<Db, DbError> {
        Db::open(self.db.inner.listener.info().by_way_of(port), options).await
    }
}

impl Wire {
    /// Opens a stream to the server, up to where the startup message comes.
    ///
    /// # Errors
    /// Nobody answers, or TLS is not to be had as the settings ask for it.
    pub async fn open(&self) -> io::Result<Box<dyn ByteStream>> {
        let port = self.host.get_ports().first().copied().unwrap_or(5432);
        let stream = match (self.host.get_hostaddrs().first(), self.host.get_hosts().first()) {
            (_, Some(Host::Unix(folder))) => return Ok(Box::new(on_socket(folder, port).await?)),
            (Some(address), _) => TcpStream::connect((*address, port)).await?,
            (None, Some(Host::Tcp(name))) => TcpStream::connect((name.as_str(), port)).await?,
            (None, None) => return Err(io::ErrorKind::NotFound.into()),
        };
        stream.set_nodelay(true)?;
        self.protect(stream).await
    }

    async fn protect(&self, mut stream: TcpStream) -> io::Result<Box<dyn ByteStream>> {
        let mode = self.host.get_ssl_mode();
        if mode == SslMode::Disable {
            return Ok(Box::new(stream));
        }
        if self.host.get_ssl_negotiation() != SslNegotiation::Direct {
            stream.write_all(&ASKS_FOR_TLS).await?;
            if stream.read_u8().await? != b'S' {
                return if mode == SslMode::Require {
                    Err(io::Error::other("the server offers no TLS"))
                } else {
                    Ok(Box::new(stream))
                };
            }
        }
        let name = match self.host.get_hosts().first() {
            Some(Host::Tcp(name)) => name.as_str(),
            _ => "",
        };
        let mut tls = self.tls.clone();
        let connect =
            MakeTlsConnect::<TcpStream>::make_tls_connect(&mut tls, name).map_err(io::Error::other)?;
        let stream = connect.connect(stream).await.map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Box::new(stream))
    }
}

async fn on_socket(folder: &Path, port: u16) -> io::Result<UnixStream> {
    UnixStream::connect(folder.join(format!(".s.PGSQL.{port}"))).await
}
