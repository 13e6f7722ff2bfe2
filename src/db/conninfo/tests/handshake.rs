//! Handshakes in memory, for what no honest server can be made to do.

use std::fs;
use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, IsCa, KeyPair, date_time_ymd};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConnection, Connection, Error, ServerConfig, ServerConnection,
    SupportedProtocolVersion, version,
};

use super::super::ConnInfo;
use super::super::tls::client_config;
use super::info;

/// Answers with what it was given, whether certificate and key belong together or not.
#[derive(Debug)]
struct Fixed(Arc<CertifiedKey>);

impl ResolvesServerCert for Fixed {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }
}

fn server(
    cert: &CertificateDer<'static>,
    key: &KeyPair,
    versions: &[&'static SupportedProtocolVersion],
) -> Connection {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let der = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
    let key = provider.key_provider.load_private_key(der).expect("a key");
    let fixed = Fixed(Arc::new(CertifiedKey::new(vec![cert.clone()], key)));
    let config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)
        .expect("versions")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(fixed));
    ServerConnection::new(Arc::new(config)).expect("a server").into()
}

fn carry(from: &mut Connection, to: &mut Connection) -> Result<(), Error> {
    let mut wire = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut wire).expect("memory");
    }
    let mut rest = &wire[..];
    while !rest.is_empty() {
        to.read_tls(&mut rest).expect("memory");
        to.process_new_packets()?;
    }
    Ok(())
}

/// The client's verdict.
fn shake(info: &ConnInfo, mut server: Connection) -> Result<(), Error> {
    let config = client_config(info).expect("a configuration");
    let name = ServerName::try_from("db.test").expect("a name");
    let mut client: Connection = ClientConnection::new(Arc::new(config), name).expect("a client").into();
    while client.is_handshaking() {
        carry(&mut client, &mut server)?;
        carry(&mut server, &mut client)?;
    }
    Ok(())
}

const VERSIONS: [&SupportedProtocolVersion; 2] = [&version::TLS12, &version::TLS13];

#[test]
fn a_stolen_certificate_without_its_key_is_refused_in_every_mode() {
    let (key, thief) = (KeyPair::generate().expect("a key"), KeyPair::generate().expect("a key"));
    let params = CertificateParams::new(vec!["db.test".to_owned()]).expect("names");
    let cert = params.self_signed(&key).expect("a certificate");
    let info = info("host=db.test sslmode=require");
    for version in VERSIONS {
        assert_eq!(shake(&info, server(cert.der(), &key, &[version])), Ok(()), "{version:?}");
        let refused = shake(&info, server(cert.der(), &thief, &[version]));
        assert_eq!(refused, Err(Error::InvalidCertificate(CertificateError::BadSignature)), "{version:?}");
    }
}

#[test]
fn a_certificate_that_is_its_own_authority_still_expires() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("root.crt");
    let info = info(&format!("host=db.test sslrootcert={}", path.display()));
    let key = KeyPair::generate().expect("a key");
    for (year, want) in [(2001, "expired"), (4000, "good")] {
        let mut params = CertificateParams::new(vec!["db.test".to_owned()]).expect("names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.not_before = date_time_ymd(2000, 1, 1);
        params.not_after = date_time_ymd(year, 1, 1);
        let cert = params.self_signed(&key).expect("a certificate");
        fs::write(&path, cert.pem()).expect("written");
        let got = match shake(&info, server(cert.der(), &key, &VERSIONS)) {
            Ok(()) => "good",
            Err(Error::InvalidCertificate(CertificateError::ExpiredContext { .. })) => "expired",
            Err(error) => panic!("{error}"),
        };
        assert_eq!(got, want);
    }
}
