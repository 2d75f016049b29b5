//! TLS with libpq's options: how strictly a server's certificate is checked, which authorities are
//! trusted, and which certificate we present.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore,
    SignatureScheme, StreamOwned,
};
use sha2::{Digest, Sha256, Sha384, Sha512};

use super::socket::Plain;
use crate::{Error, ErrorKind, outside};

/// How well a connection is protected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    Disable,
    /// Encrypted if the server supports it.
    #[default]
    Prefer,
    /// Encrypted, with any certificate of the server.
    Require,
    /// The certificate must be signed by a known authority.
    VerifyCa,
    /// The certificate must also be for the host's name.
    VerifyFull,
}

impl Mode {
    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "disable" => Self::Disable,
            "prefer" => Self::Prefer,
            "require" => Self::Require,
            "verify-ca" => Self::VerifyCa,
            "verify-full" => Self::VerifyFull,
            _ => return None,
        })
    }
}

/// The TLS options of a URL.
#[derive(Clone, Debug)]
pub(super) struct Wanted {
    /// `None`: the URL does not say.
    pub(super) mode: Option<Mode>,
    pub(super) root: Option<String>,
    /// libpq's default file of authorities.
    pub(super) usual_root: Option<PathBuf>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    /// Start TLS without asking the server first (`sslnegotiation=direct`).
    pub(super) is_direct: bool,
}

impl Default for Wanted {
    fn default() -> Self {
        let home = std::env::home_dir();
        Self {
            mode: None,
            root: None,
            usual_root: home.map(|home| home.join(".postgresql/root.crt")),
            certificate: None,
            key: None,
            is_direct: false,
        }
    }
}

/// The value of `sslrootcert` for the authorities of the system.
const SYSTEM: &str = "system";

/// The largest certificate file, in bytes.
const FILE_MAX: usize = 4 << 20;

fn failed(what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unreachable, what)
}

impl Wanted {
    /// Fails if the options contradict each other. Anybody can get a certificate of a public
    /// authority, so it proves nothing without the name in it.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        match (self.root.as_deref(), self.mode) {
            (Some(SYSTEM), Some(mode)) if mode != Mode::VerifyFull => {
                Err("sslrootcert=system needs sslmode=verify-full")
            }
            _ => Ok(()),
        }
    }

    /// The mode of connections. As in libpq, `require` checks the certificate if there are
    /// authorities to check it with.
    pub(super) fn mode(&self) -> Mode {
        match self.mode {
            None if self.root.as_deref() == Some(SYSTEM) => Mode::VerifyFull,
            Some(Mode::Require) if self.root.is_some() || self.usual_root().is_some() => {
                Mode::VerifyCa
            }
            mode => mode.unwrap_or_default(),
        }
    }

    fn usual_root(&self) -> Option<&Path> {
        self.usual_root.as_deref().filter(|file| file.is_file())
    }

    /// Reads the files and builds the configuration for connections.
    pub(super) fn config(&self) -> Result<Arc<ClientConfig>, Error> {
        let provider = Arc::new(ring::default_provider());
        let verifier = match self.mode() {
            Mode::Disable | Mode::Prefer | Mode::Require => None,
            Mode::VerifyCa | Mode::VerifyFull => {
                let roots = Arc::new(self.roots()?);
                let verifier =
                    WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
                Some(verifier.build().map_err(|error| failed(format!("sslrootcert: {error}")))?)
            }
        };
        let is_name_checked = self.mode() == Mode::VerifyFull;
        let verifier =
            Arc::new(Verifier { provider: Arc::clone(&provider), verifier, is_name_checked });
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| failed(format!("TLS: {error}")))?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match (&self.certificate, &self.key) {
            (Some(certificate), Some(key)) => config
                .with_client_auth_cert(certificates(certificate)?, private_key(key)?)
                .map_err(|error| failed(format!("sslcert and sslkey: {error}")))?,
            (None, None) => config.with_no_client_auth(),
            _ => return Err(failed("sslcert and sslkey go together: name both or none")),
        };
        if self.is_direct {
            config.alpn_protocols = vec![b"postgresql".to_vec()];
        }
        Ok(Arc::new(config))
    }

    /// The named authorities; otherwise those in libpq's default file; otherwise the public ones.
    fn roots(&self) -> Result<RootCertStore, Error> {
        let file = match self.root.as_deref() {
            Some(SYSTEM) => std::env::var_os("SSL_CERT_FILE").map(PathBuf::from),
            Some(named) => Some(PathBuf::from(named)),
            None => self.usual_root().map(Path::to_owned),
        };
        let mut roots = RootCertStore::empty();
        match file {
            Some(file) => {
                for certificate in certificates(&file)? {
                    let added = roots.add(certificate);
                    added.map_err(|error| failed(format!("{}: {error}", file.display())))?;
                }
            }
            None => roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        }
        Ok(roots)
    }

    /// Encrypts a new connection, if the server supports it.
    pub(super) fn negotiate(
        &self,
        config: &Arc<ClientConfig>,
        host: &str,
        mut plain: Plain,
    ) -> Result<super::socket::Channel, Error> {
        if self.mode() == Mode::Disable || plain.is_local() {
            return Ok(super::socket::Channel::Plain(plain));
        }
        if !self.is_direct && !is_offered(&mut plain).map_err(|error| not_reached(&error))? {
            return match self.mode() {
                Mode::Prefer => Ok(super::socket::Channel::Plain(plain)),
                _ => Err(failed("the server does not offer TLS, which sslmode asks for")),
            };
        }
        let name = match ServerName::try_from(host.to_owned()) {
            Ok(name) => name,
            Err(_) if self.mode() != Mode::VerifyFull => {
                ServerName::from(std::net::IpAddr::from([0; 4]))
            }
            Err(_) => return Err(failed("sslmode=verify-full: no certificate can have that name")),
        };
        let connection = ClientConnection::new(Arc::clone(config), name)
            .map_err(|error| failed(format!("TLS: {error}")))?;
        let mut tls = StreamOwned::new(connection, plain);
        while tls.conn.is_handshaking() {
            tls.conn.complete_io(&mut tls.sock).map_err(|error| not_reached(&error))?;
        }
        Ok(super::socket::Channel::Tls(Box::new(tls)))
    }
}

fn not_reached(error: &io::Error) -> Error {
    if error.kind() == io::ErrorKind::TimedOut {
        return failed("the server did not answer in time");
    }
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(error) => failed(format!("TLS: {}", in_words(error))),
        None => failed(format!("the connection to the server was lost: {error}")),
    }
}

/// Explains what is wrong with a certificate, and what to do.
fn in_words(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidCertificate(why) => match why {
            CertificateError::UnknownIssuer => {
                "no authority in sslrootcert has signed the server's certificate".to_owned()
            }
            CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                "the server's certificate has expired".to_owned()
            }
            CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
                "the server's certificate is for another name than the URL's".to_owned()
            }
            CertificateError::Other(other) if is_an_authority(other) => {
                "the server shows the certificate of an authority (CA:TRUE) as its own; give it \
                 one that this authority has signed"
                    .to_owned()
            }
            other => format!("the server's certificate is not accepted: {other}"),
        },
        other => other.to_string(),
    }
}

/// Is the certificate that of an authority? Self-signed certificates are, unless made otherwise.
fn is_an_authority(error: &rustls::OtherError) -> bool {
    let error = error.0.downcast_ref::<webpki::Error>();
    matches!(error, Some(webpki::Error::CaUsedAsEndEntity))
}

/// Asks whether the server supports TLS. Very old or other servers answer with an error message.
fn is_offered(plain: &mut Plain) -> io::Result<bool> {
    const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];
    plain.write_all(&SSL_REQUEST)?;
    let mut answer = [0];
    plain.read_exact(&mut answer)?;
    match answer {
        [b'S'] => Ok(true),
        [b'N'] => Ok(false),
        _ => {
            let detail = "what answers there does not speak as PostgreSQL does";
            Err(io::Error::new(io::ErrorKind::InvalidData, detail))
        }
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Error> {
    outside::read(file, FILE_MAX).map_err(|error| failed(format!("{}: {error}", file.display())))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, Error> {
    let pem = read(file)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    match read {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        Ok(_) => Err(failed(format!("{}: there is no certificate in it", file.display()))),
        Err(error) => Err(failed(format!("{}: {error}", file.display()))),
    }
}

/// Reads the key of our own certificate. Only its owner may be able to read the file.
fn private_key(file: &Path) -> Result<PrivateKeyDer<'static>, Error> {
    if !is_private(file) {
        let file = file.display();
        return Err(failed(format!("{file}: others may read this key; chmod 600 '{file}'")));
    }
    PrivateKeyDer::from_pem_slice(&read(file)?).map_err(|error| {
        failed(format!("{}: it is not a key without a passphrase: {error}", file.display()))
    })
}

/// May only the owner read this file? A file of root may also be readable by a group.
pub(super) fn is_private(file: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let Ok(metadata) = file.metadata() else { return true };
        let allowed = if metadata.uid() == 0 { 0o640 } else { 0o600 };
        metadata.mode() & 0o777 & !allowed == 0
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        true
    }
}

/// The value that ties a password's proof to this encrypted connection: a hash of the server's
/// certificate, by the algorithm of its signature (RFC 5929, `tls-server-end-point`).
pub(super) fn binding(connection: &ClientConnection) -> Option<Vec<u8>> {
    let certificate = connection.peer_certificates()?.first()?;
    let hash = match signed_with(certificate)? {
        // RSA and ECDSA with SHA-384 and SHA-512; anything older counts as SHA-256.
        b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c" | b"\x2a\x86\x48\xce\x3d\x04\x03\x03" => {
            Sha384::digest(certificate).to_vec()
        }
        b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d" | b"\x2a\x86\x48\xce\x3d\x04\x03\x04" => {
            Sha512::digest(certificate).to_vec()
        }
        b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b"
        | b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05"
        | b"\x2a\x86\x48\xce\x3d\x04\x03\x02" => Sha256::digest(certificate).to_vec(),
        _ => return None,
    };
    Some(hash)
}

/// The identifier of the signature algorithm. A certificate is a sequence of the signed part, the
/// algorithm and the signature.
fn signed_with(certificate: &[u8]) -> Option<&[u8]> {
    let (_, inside, _) = element(certificate)?;
    let (_, _, after) = element(inside)?;
    let (_, algorithm, _) = element(after)?;
    match element(algorithm)? {
        (6, identifier, _) => Some(identifier),
        _ => None,
    }
}

/// The first element of DER: its tag, its content, and the bytes after it.
fn element(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=127 => (usize::from(first), rest),
        _ => {
            let (digits, rest) = rest.split_at_checked(usize::from(first & 127))?;
            let add = |sum: usize, &byte: &u8| sum.checked_mul(256)?.checked_add(usize::from(byte));
            (digits.iter().try_fold(0, add)?, rest)
        }
    };
    let (inside, after) = rest.split_at_checked(length)?;
    Some((tag, inside, after))
}

/// Checks a server's certificate as the mode requires, and its signatures in any case.
#[derive(Debug)]
struct Verifier {
    provider: Arc<CryptoProvider>,
    /// `None`: any certificate is accepted.
    verifier: Option<Arc<WebPkiServerVerifier>>,
    is_name_checked: bool,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(verifier) = &self.verifier else { return Ok(ServerCertVerified::assertion()) };
        match verifier.verify_server_cert(end_entity, intermediates, name, ocsp, now) {
            // The name is checked last, so everything else is valid.
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.is_name_checked => Ok(ServerCertVerified::assertion()),
            judged => judged,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_is_checked_if_there_are_authorities_to_check_it_with() {
        let folder = tempfile::tempdir().unwrap();
        let (missing, there) = (folder.path().join("no.crt"), folder.path().join("root.crt"));
        std::fs::write(&there, "").unwrap();
        let mode = |mode, root: Option<&str>, usual: &Path| {
            let (root, usual_root) = (root.map(str::to_owned), Some(usual.to_owned()));
            let wanted = Wanted { mode, root, usual_root, ..Wanted::default() };
            wanted.check().map(|()| wanted.mode())
        };
        let require = Some(Mode::Require);
        assert_eq!(mode(None, None, &there), Ok(Mode::Prefer));
        assert_eq!(mode(require, None, &missing), Ok(Mode::Require));
        assert_eq!(mode(require, None, &there), Ok(Mode::VerifyCa));
        assert_eq!(mode(require, Some("/ca.crt"), &missing), Ok(Mode::VerifyCa));
        assert_eq!(mode(None, Some("system"), &missing), Ok(Mode::VerifyFull));
        assert_eq!(mode(Some(Mode::VerifyFull), Some("system"), &there), Ok(Mode::VerifyFull));
        for weaker in [Mode::Disable, Mode::Prefer, Mode::Require, Mode::VerifyCa] {
            let refused = mode(Some(weaker), Some("system"), &there);
            assert_eq!(refused, Err("sslrootcert=system needs sslmode=verify-full"));
        }
    }
}
