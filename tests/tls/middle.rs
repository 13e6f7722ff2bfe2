//! Somebody in between: one without the right certificate, and one who says that there is no TLS.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;

use super::certs::Authority;
use super::server::{PASSWORD, Server, Tls};
use super::{Attempt, attempt};

/// One who takes a client's wish for TLS, says `N`, and keeps what the client says then.
fn says_no(listener: TcpListener) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().expect("a client");
        let mut wish = [0; 8];
        client.read_exact(&mut wish).expect("a wish");
        assert_eq!(wish[4..], 80_877_103_u32.to_be_bytes(), "the client asks for TLS first");
        client.write_all(b"N").expect("answer");
        // A client that goes on waits for an answer; what it has said until then is enough.
        client.set_read_timeout(Some(std::time::Duration::from_secs(2))).expect("set");
        let (mut said, mut bytes) = (Vec::new(), [0; 1024]);
        while let Ok(count @ 1..) = client.read(&mut bytes) {
            said.extend_from_slice(&bytes[..count]);
        }
        said
    })
}

/// Whoever insists on TLS says nothing to him, not even a name.
#[tokio::test]
async fn who_denies_tls_is_told_nothing() {
    for (mode, tells) in [("prefer", true), ("require", false), ("verify-ca", false), ("verify-full", false)]
    {
        let listener = TcpListener::bind("127.0.0.1:0").expect("bind");
        let port = listener.local_addr().expect("an address").port();
        let middle = says_no(listener);
        let root = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(root.path(), Authority::new("ours").pem()).expect("written");
        let roots = if mode.starts_with("verify") {
            format!("sslrootcert={}", root.path().display())
        } else {
            String::new()
        };
        let url = format!(
            "host=127.0.0.1 port={port} user=secretive password=geheim dbname=jobs sslmode={mode} {roots}"
        );
        let got = attempt(&url).await;
        assert!(matches!(got, Attempt::Refused { .. }), "{mode}: {got:?}");
        let said = middle.join().expect("no panic");
        let named = said.windows(9).any(|bytes| bytes == b"secretive");
        assert_eq!((named, said.is_empty()), (tells, !tells), "{mode}: {}", String::from_utf8_lossy(&said));
    }
}

/// The program itself, through somebody whose certificate is another authority's, or is for another name.
#[tokio::test]
async fn the_program_refuses_a_certificate_that_is_not_the_servers() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    for (server_of, name, word) in
        [(&theirs, "db.test", "UnknownIssuer"), (&ours, "other.test", "not valid for name")]
    {
        let pair = server_of.server(&[name]);
        let server = Server::start(Tls::On { pair: &pair, client_ca: &ours.pem() }).await;
        let root = server.write("ours.crt", &ours.pem());
        let url = format!(
            "host=db.test hostaddr=127.0.0.1 port={} user=scram_user password='{}' dbname=postgres sslmode=verify-full \
             sslrootcert={}",
            server.port,
            PASSWORD.replace('\\', "\\\\"),
            root.display()
        );
        for command in [&["list"][..], &["submit", "x"], &["--no-ui"]] {
            let output = Command::new(env!("CARGO_BIN_EXE_taskdeck"))
                .args(command)
                .env_clear()
                .env("HOME", "/nonexistent")
                .env("TASKDECK_DATABASE_URL", &url)
                .output()
                .expect("run the program");
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(5), "{command:?}: {said}");
            assert!(said.contains(word) && said.contains("hint: "), "{command:?}: {said}");
            assert!(!said.contains("pass\\word"), "{command:?}: {said}");
        }
    }
}
