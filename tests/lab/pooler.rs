//! What a pooler in transaction mode does to a session's start, done by a few lines in front of the real server: it
//! swallows the settings that this program asks for.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

/// Stands in front of the server on the port `back`; returns the address through it.
pub(crate) async fn pooler(url: &str, back: u16) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind");
    let front = listener.local_addr().expect("address").port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            tokio::spawn(serve(client, back));
        }
    });
    format!("{}?sslmode=disable", url.replace(&format!(":{back}/"), &format!(":{front}/")))
}

async fn serve(mut client: TcpStream, back: u16) -> std::io::Result<()> {
    let length = client.read_u32().await?;
    let mut body = vec![0; usize::try_from(length).expect("a length") - 4];
    client.read_exact(&mut body).await?;
    let body = without_options(&body);
    let mut server = TcpStream::connect(("127.0.0.1", back)).await?;
    server.write_u32(u32::try_from(body.len()).expect("short") + 4).await?;
    server.write_all(&body).await?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}

/// The startup message less its `options`: the protocol's version, then names and values that end in NUL. A request to
/// cancel has neither.
fn without_options(body: &[u8]) -> Vec<u8> {
    if !body.windows(9).any(|window| window == b"\0options\0") {
        return body.to_vec();
    }
    let mut kept = body[..4].to_vec();
    let words: Vec<&[u8]> = body[4..].split(|byte| *byte == 0).collect();
    for pair in words.chunks(2).filter(|pair| pair.len() == 2 && !pair[0].is_empty() && pair[0] != b"options")
    {
        for word in pair {
            kept.extend_from_slice(word);
            kept.push(0);
        }
    }
    kept.push(0);
    kept
}
