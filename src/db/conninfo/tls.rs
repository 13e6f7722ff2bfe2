//! The TLS connector. One type serves all six modes, so that pool, listener and `CancelToken` share it: the
//! driver's own mode says whether TLS is tried, the verifier here says what is checked.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::error::ConnInfoError;
use super::info::ConnInfo;
use super::ssl::{Negotiation, Roots, ServerNameIndication, SslMode};

/// What opens TLS sessions; cheap to clone.
pub type TlsConnector = MakeRustlsConnect;

/// Makes the connector for these settings, in every mode (with `disable` the driver never calls it).
///
/// Reads `sslrootcert`, `sslcert`, `sslkey` and the system's roots, so it blocks for a moment: call it once.
///
/// # Errors
///
/// TLS material that is missing, unreadable, of the wrong kind, or a key that others may read.
pub fn connector(info: &ConnInfo) -> Result<TlsConnector, ConnInfoError> {
    client_config(info).map(MakeRustlsConnect::new)
}

/// What the connector is made of; apart, so that tests can shake hands without a database.
pub(super) fn client_config(info: &ConnInfo) -> Result<ClientConfig, ConnInfoError> {
    let protection = info.protection();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new(protection.mode, &protection.roots, &provider)?;
    // Never `ClientConfig::builder()`: that asks for the process-wide provider, which another crate may set.
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(tls_error)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match &protection.client_cert {
        None => builder.with_no_client_auth(),
        Some(client) => {
            let chain = read_certs("sslcert", &client.cert)?;
            builder.with_client_auth_cert(chain, read_key(&client.key)?).map_err(tls_error)?
        }
    };
    config.enable_sni = protection.sni == ServerNameIndication::Sent;
    if protection.negotiation == Negotiation::Direct {
        // A server that is spoken to in TLS from the first byte insists on it.
        config.alpn_protocols = vec![b"postgresql".to_vec()];
    }
    Ok(config)
}

/// How much of the server's certificate is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Depth {
    Nothing,
    Chain,
    ChainAndName,
}

/// Checks the server's certificate to the depth that the mode asks for. The handshake's signature is always
/// checked: without it SCRAM's channel binding would bind to a certificate that anyone may replay.
#[derive(Debug)]
struct Verifier {
    depth: Depth,
    roots: RootCertStore,
    /// The root file's certificates as they stand there; see [`Self::is_trusted_itself`].
    given: Vec<CertificateDer<'static>>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn new(mode: SslMode, roots: &Roots, provider: &CryptoProvider) -> Result<Self, ConnInfoError> {
        let mut store = RootCertStore::empty();
        let mut given = Vec::new();
        match roots {
            Roots::Unchecked => {}
            Roots::File { path } => {
                given = read_certs("sslrootcert", path)?;
                for cert in &given {
                    store.add(cert.clone()).map_err(|error| ConnInfoError::TlsFile {
                        parameter: "sslrootcert",
                        path: path.clone(),
                        reason: error.to_string(),
                    })?;
                }
            }
            Roots::System => {
                let found = rustls_native_certs::load_native_certs();
                let (added, _) = store.add_parsable_certificates(found.certs);
                if added == 0 {
                    let reasons: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
                    let reason =
                        if reasons.is_empty() { "none installed".to_owned() } else { reasons.join("; ") };
                    return Err(ConnInfoError::NoSystemRoots { reason });
                }
            }
        }
        let depth = match (mode, roots) {
            (SslMode::VerifyFull, _) => Depth::ChainAndName,
            (SslMode::VerifyCa, _) | (_, Roots::File { .. } | Roots::System) => Depth::Chain,
            (_, Roots::Unchecked) => Depth::Nothing,
        };
        Ok(Self { depth, roots: store, given, algorithms: provider.signature_verification_algorithms })
    }

    /// A self-signed certificate is often its own authority, as the server manual's first example makes it,
    /// and OpenSSL takes it when the root file holds that very certificate. Webpki refuses an authority's
    /// certificate as a server's, after it has found the dates in order; only that refusal is overruled.
    fn is_trusted_itself(&self, cert: &CertificateDer<'_>, error: &rustls::Error) -> bool {
        let as_server = matches!(
            error,
            rustls::Error::InvalidCertificate(CertificateError::Other(other))
                if other.0.to_string() == "CaUsedAsEndEntity"
        );
        as_server && self.given.iter().any(|root| root.as_ref() == cert.as_ref())
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if self.depth == Depth::Nothing {
            return Ok(ServerCertVerified::assertion());
        }
        let cert = ParsedCertificate::try_from(end_entity)?;
        let chain = verify_server_cert_signed_by_trust_anchor(
            &cert,
            &self.roots,
            intermediates,
            now,
            self.algorithms.all,
        );
        match chain {
            Err(error) if !self.is_trusted_itself(end_entity, &error) => return Err(error),
            _ => {}
        }
        if self.depth == Depth::ChainAndName {
            verify_server_name(&cert, server_name)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

fn read_certs(parameter: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, ConnInfoError> {
    let fail = |reason: String| ConnInfoError::TlsFile { parameter, path: path.to_owned(), reason };
    let text = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
    let certs = CertificateDer::pem_slice_iter(&text)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| fail(error.to_string()))?;
    if certs.is_empty() {
        return Err(fail("holds no PEM certificate".to_owned()));
    }
    Ok(certs)
}

fn read_key(path: &Path) -> Result<PrivateKeyDer<'static>, ConnInfoError> {
    let fail = |reason: String| ConnInfoError::TlsFile { parameter: "sslkey", path: path.to_owned(), reason };
    let meta = path.metadata().map_err(|error| fail(error.to_string()))?;
    // libpq's rule: 0600, or 0640 where root owns the file and a group hands it out.
    let forbidden = if meta.uid() == 0 { 0o037 } else { 0o077 };
    let mode = meta.permissions().mode() & 0o777;
    if mode & forbidden != 0 {
        return Err(ConnInfoError::KeyPermissions { path: path.to_owned(), mode });
    }
    let text = std::fs::read(path).map_err(|error| fail(error.to_string()))?;
    if text.windows(9).any(|part| part == b"ENCRYPTED") {
        return Err(fail("is encrypted; decrypt it with: openssl pkey -in KEY -out PLAIN".to_owned()));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|error| fail(error.to_string()))
}

#[expect(clippy::needless_pass_by_value, reason = "a map_err argument")]
fn tls_error(error: rustls::Error) -> ConnInfoError {
    ConnInfoError::Tls { reason: error.to_string() }
}
