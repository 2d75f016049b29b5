//! TLS: a certificate and its key from two files, which can be read again while the server runs.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};

use punchlist_store::outside;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

/// The largest certificate or key file, in bytes.
const FILE_MAX: usize = 1 << 20;

/// The paths of the certificate and the key.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// The TLS configuration for new connections.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    current: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    pub(crate) fn read(files: TlsFiles) -> Result<Self, String> {
        let current = RwLock::new(config(&files)?);
        Ok(Self { files, current })
    }

    /// Reads the files again. If they are invalid, the old ones stay in use.
    pub(crate) fn reload(&self) -> Result<(), String> {
        let new = config(&self.files)?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        let current = self.current.read().unwrap_or_else(PoisonError::into_inner);
        TlsAcceptor::from(Arc::clone(&current))
    }
}

fn config(files: &TlsFiles) -> Result<Arc<ServerConfig>, String> {
    let read = |path: &PathBuf| {
        let bytes = outside::beginning(path, FILE_MAX);
        bytes.map_err(|error| format!("{}: {error}", path.display()))
    };
    let (chain, key) = (read(&files.certificate)?, read(&files.key)?);
    let chain: Vec<_> = CertificateDer::pem_slice_iter(&chain)
        .collect::<Result<_, _>>()
        .map_err(|error| format!("{}: {error}", files.certificate.display()))?;
    if chain.is_empty() {
        return Err(format!("{}: there is no certificate in it", files.certificate.display()));
    }
    let key = PrivateKeyDer::from_pem_slice(&key)
        .map_err(|error| format!("{}: {error}", files.key.display()))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(|error| format!("{}: {error}", files.certificate.display()))?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
