//! What to do when the server could not be reached with these settings.

use std::error::Error;
use std::io::ErrorKind;

use rustls::CertificateError;
use tokio_postgres::error::SqlState;

use super::hosts::Target;
use super::info::ConnInfo;
use super::ssl::{ModeChoice, SslMode};

const RELAX: &str =
    "sslmode=require encrypts without checking, sslmode=prefer or disable also allows plaintext";

impl ConnInfo {
    /// Advice for an error that connecting with [`config`](Self::config) gave, where there is any.
    pub fn connect_hint(&self, error: &tokio_postgres::Error) -> Option<String> {
        if let Some(certificate) = certificate_error(error) {
            return Some(self.certificate_hint(certificate));
        }
        if chain(error).any(|error| error.to_string() == "server does not support TLS") {
            let why = match self.ssl_choice() {
                ModeChoice::Given => format!("sslmode={} asks for it", self.ssl()),
                ModeChoice::Default => format!("{} is not local, so it is asked for", self.host_label()),
            };
            return Some(format!(
                "the server offers no TLS, and {why}; sslmode=prefer or disable allows plaintext"
            ));
        }
        if chain(error).any(|error| error.to_string() == "password missing") {
            return Some(format!(
                "give a password for {:?}: in ~/.pgpass, PGPASSWORD or the address",
                self.user()
            ));
        }
        if let Some(kind) = io_kind(error)
            && matches!(kind, ErrorKind::ConnectionRefused | ErrorKind::NotFound)
        {
            return Some(
                "nobody listens there: is the server running, and are host and port right?".to_owned(),
            );
        }
        if io_kind(error) == Some(ErrorKind::PermissionDenied) && self.targets().len() > 1 {
            return Some("none of the hosts takes writes now: is a failover under way?".to_owned());
        }
        let state = error.code()?;
        if *state == SqlState::TOO_MANY_CONNECTIONS {
            return Some(
                "raise max_connections (or the role's or database's CONNECTION LIMIT), or lower --pool-size"
                    .to_owned(),
            );
        }
        if *state == SqlState::INVALID_PASSWORD {
            return Some(match self.password_from() {
                Some(from) => format!("the password for {:?} came from {from}", self.user()),
                None => format!("no password for {:?} was found", self.user()),
            });
        }
        if *state == SqlState::INVALID_CATALOG_NAME {
            let name = self.dbname();
            return Some(format!(
                "the server answers, but has no such database: `createdb {name}`, or name another"
            ));
        }
        let says = error.as_db_error().map_or("", |db| db.message());
        if *state == SqlState::PROTOCOL_VIOLATION {
            let (name, user) = (self.dbname(), self.user());
            return Some(format!(
                "a pooler says so: is its server away, or does it know no database {name:?} or no user {user:?}? \
                 its configuration and its log tell"
            ));
        }
        if *state == SqlState::INVALID_AUTHORIZATION_SPECIFICATION && says.contains("does not exist") {
            let user = self.user();
            return Some(format!(
                "the server answers, but has no role {user:?}: name another in the address or PGUSER"
            ));
        }
        if *state == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
            let tls = match self.ssl() {
                SslMode::Disable => "pg_hba.conf may ask for TLS: try sslmode=require",
                SslMode::Allow | SslMode::Prefer => "pg_hba.conf may refuse TLS: try sslmode=disable",
                _ => {
                    "pg_hba.conf decides who may connect from where; a client certificate is sslcert and sslkey"
                }
            };
            return Some(tls.to_owned());
        }
        None
    }

    fn certificate_hint(&self, certificate: &CertificateError) -> String {
        let what = match certificate {
            CertificateError::UnknownIssuer => {
                "the server's certificate is from an authority that is not trusted: name its CA with sslrootcert=FILE"
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the server's certificate is for another name (a subjectAltName is needed, CN is not read): \
                 connect by a name in it, or use sslmode=verify-ca"
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the server's certificate has expired (or this machine's clock is wrong)"
            }
            _ => "the server's certificate was refused",
        };
        let why = match self.ssl_choice() {
            ModeChoice::Default if !self.targets().iter().all(Target::is_local) => {
                "; it is checked because the host is not local and no sslmode was given"
            }
            _ => "",
        };
        format!("{what}{why}; {RELAX}")
    }
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| (*error).source())
}

fn io_kind(error: &tokio_postgres::Error) -> Option<ErrorKind> {
    chain(error).find_map(|error| error.downcast_ref::<std::io::Error>()).map(std::io::Error::kind)
}

/// The certificate's fault inside the driver's error. An `io::Error` does not give its cargo as its source,
/// so it is opened by hand.
fn certificate_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a CertificateError> {
    chain(error).find_map(|error| {
        let cargo = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        match cargo.and_then(|cargo| cargo.downcast_ref::<rustls::Error>())? {
            rustls::Error::InvalidCertificate(certificate) => Some(certificate),
            _ => None,
        }
    })
}
