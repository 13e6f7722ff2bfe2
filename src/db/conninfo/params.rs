//! The table of connection parameters: every one that libpq knows, what variable fills it, and whether
//! Taskdeck honours it. A parameter that is not in this table is unknown; none is ignored.

use std::fmt;

/// How a parameter is treated.
#[derive(Debug, Clone, Copy)]
pub(super) enum Treatment {
    /// Read and honoured.
    Honoured,
    /// Only these values are accepted, since they ask for what happens anyway. The advice is for the others.
    Only { values: &'static [&'static str], advice: &'static str },
}

/// One connection parameter.
pub(super) struct Param {
    pub(super) name: &'static str,
    pub(super) variable: Option<&'static str>,
    pub(super) treatment: Treatment,
}

impl fmt::Debug for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

const fn honoured(name: &'static str, variable: Option<&'static str>) -> Param {
    Param { name, variable, treatment: Treatment::Honoured }
}

const fn only(
    name: &'static str,
    variable: Option<&'static str>,
    values: &'static [&'static str],
    advice: &'static str,
) -> Param {
    Param { name, variable, treatment: Treatment::Only { values, advice } }
}

const NO_GSS: &str = "Kerberos is not supported: use a password (SCRAM) or a client certificate";
const NO_CRL: &str =
    "revocation lists are not read: remove it, and let the server's certificates be short-lived";
const NO_OAUTH: &str = "OAuth is not supported: use a password (SCRAM) or a client certificate";
const NO_SCRAM_KEYS: &str = "SCRAM keys are not supported: give the password itself";

/// Every parameter of libpq 18.
pub(super) const PARAMS: &[Param] = &[
    honoured("service", Some("PGSERVICE")),
    honoured("servicefile", Some("PGSERVICEFILE")),
    honoured("user", Some("PGUSER")),
    honoured("password", Some("PGPASSWORD")),
    honoured("passfile", Some("PGPASSFILE")),
    honoured("dbname", Some("PGDATABASE")),
    honoured("host", Some("PGHOST")),
    honoured("hostaddr", Some("PGHOSTADDR")),
    honoured("port", Some("PGPORT")),
    honoured("options", Some("PGOPTIONS")),
    honoured("application_name", Some("PGAPPNAME")),
    honoured("fallback_application_name", None),
    honoured("connect_timeout", Some("PGCONNECT_TIMEOUT")),
    honoured("tcp_user_timeout", None),
    honoured("keepalives", None),
    honoured("keepalives_idle", None),
    honoured("keepalives_interval", None),
    honoured("keepalives_count", None),
    honoured("target_session_attrs", Some("PGTARGETSESSIONATTRS")),
    honoured("channel_binding", Some("PGCHANNELBINDING")),
    honoured("load_balance_hosts", Some("PGLOADBALANCEHOSTS")),
    honoured("sslmode", Some("PGSSLMODE")),
    honoured("sslnegotiation", Some("PGSSLNEGOTIATION")),
    honoured("sslrootcert", Some("PGSSLROOTCERT")),
    honoured("sslcert", Some("PGSSLCERT")),
    honoured("sslkey", Some("PGSSLKEY")),
    honoured("sslsni", Some("PGSSLSNI")),
    only(
        "sslpassword",
        None,
        &[],
        "encrypted keys are not supported: openssl pkey -in KEY -out PLAIN, mode 0600",
    ),
    only(
        "sslcertmode",
        Some("PGSSLCERTMODE"),
        &["allow"],
        "remove it: a certificate is sent if sslcert is given",
    ),
    only("sslcrl", Some("PGSSLCRL"), &[], NO_CRL),
    only("sslcrldir", Some("PGSSLCRLDIR"), &[], NO_CRL),
    only("sslcompression", Some("PGSSLCOMPRESSION"), &["0"], "TLS compression is unsafe: remove it"),
    only("sslkeylogfile", None, &[], "remove it: session keys are never written to a file"),
    only(
        "ssl_min_protocol_version",
        Some("PGSSLMINPROTOCOLVERSION"),
        &["TLSv1", "TLSv1.1", "TLSv1.2"],
        "TLS 1.2 is always the least: remove it",
    ),
    only(
        "ssl_max_protocol_version",
        Some("PGSSLMAXPROTOCOLVERSION"),
        &["TLSv1.3"],
        "TLS 1.2 and 1.3 are always offered: remove it",
    ),
    only(
        "gssencmode",
        Some("PGGSSENCMODE"),
        &["disable", "prefer"],
        "use gssencmode=disable, and TLS instead",
    ),
    only("krbsrvname", Some("PGKRBSRVNAME"), &["postgres"], NO_GSS),
    only("gsslib", Some("PGGSSLIB"), &["gssapi"], NO_GSS),
    only("gssdelegation", Some("PGGSSDELEGATION"), &["0"], NO_GSS),
    only(
        "require_auth",
        Some("PGREQUIREAUTH"),
        &[],
        "remove it; channel_binding=require is the nearest thing: it insists on SCRAM over TLS",
    ),
    only("requirepeer", Some("PGREQUIREPEER"), &[], "remove it, and protect the socket directory instead"),
    only(
        "client_encoding",
        Some("PGCLIENTENCODING"),
        &["UTF8", "utf8", "UTF-8", "utf-8", "auto"],
        "it is always UTF8",
    ),
    only(
        "replication",
        None,
        &["false", "off", "no", "0"],
        "replication connections are of no use here: remove it",
    ),
    only("min_protocol_version", Some("PGMINPROTOCOLVERSION"), &["3.0"], "protocol 3.0 is spoken: remove it"),
    only(
        "max_protocol_version",
        Some("PGMAXPROTOCOLVERSION"),
        &["3.0", "latest"],
        "protocol 3.0 is spoken: remove it",
    ),
    only("scram_client_key", None, &[], NO_SCRAM_KEYS),
    only("scram_server_key", None, &[], NO_SCRAM_KEYS),
    only("oauth_issuer", None, &[], NO_OAUTH),
    only("oauth_client_id", None, &[], NO_OAUTH),
    only("oauth_client_secret", None, &[], NO_OAUTH),
    only("oauth_scope", None, &[], NO_OAUTH),
];

/// The parameter of that name.
pub(super) fn find(name: &str) -> Option<&'static Param> {
    PARAMS.iter().find(|param| param.name == name)
}

/// Whether the parameter's value must not be shown.
pub(super) fn is_secret(name: &str) -> bool {
    matches!(
        name,
        "password" | "sslpassword" | "scram_client_key" | "scram_server_key" | "oauth_client_secret"
    )
}
