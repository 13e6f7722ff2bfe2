//! Certificates made for one test.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};

/// A certificate and its key, both PEM.
pub(crate) struct Pair {
    pub(crate) cert: String,
    pub(crate) key: String,
}

/// An authority of one's own.
pub(crate) struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Self(CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("an authority"))
    }

    pub(crate) fn pem(&self) -> String {
        self.0.pem()
    }

    /// A server's certificate for these names.
    pub(crate) fn server(&self, names: &[&str]) -> Pair {
        self.sign("server", names, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// A client's certificate; the server reads the user's name from its CN.
    pub(crate) fn client(&self, user: &str) -> Pair {
        self.sign(user, &[], ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn sign(&self, common_name: &str, names: &[&str], usage: ExtendedKeyUsagePurpose) -> Pair {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("names are good");
        params.distinguished_name.push(DnType::CommonName, common_name);
        params.extended_key_usages = vec![usage];
        let key = KeyPair::generate().expect("a key");
        let cert = params.signed_by(&key, &self.0).expect("a certificate");
        Pair { cert: cert.pem(), key: key.serialize_pem() }
    }
}

/// A certificate that is its own authority, as `openssl req -x509` makes it.
pub(crate) fn self_signed(names: &[&str]) -> Pair {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("names are good");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    Pair { cert: params.self_signed(&key).expect("a certificate").pem(), key: key.serialize_pem() }
}
