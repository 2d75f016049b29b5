//! TLS: a private authority, and a certificate that is replaced while the server runs.

use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::serving::Served;
use crate::support::Place;

/// A private authority, in a file.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    file: PathBuf,
}

impl Authority {
    fn new(folder: &Path, name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let file = folder.join(format!("{name}.pem"));
        std::fs::write(&file, issuer.pem()).unwrap();
        Self { issuer, file }
    }

    /// Writes a certificate for this machine, and its key.
    fn certify(&self, certificate: &Path, key: &Path) {
        let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
        let (params, pair) = (CertificateParams::new(names), KeyPair::generate().unwrap());
        let signed = params.unwrap().signed_by(&pair, &self.issuer).unwrap();
        std::fs::write(certificate, signed.pem()).unwrap();
        std::fs::write(key, pair.serialize_pem()).unwrap();
    }
}

#[test]
fn certificate_of_a_private_authority_is_trusted_where_it_is_named_and_reloaded_on_hangup() {
    let place = Place::sqlite();
    let folder = place.home().to_owned();
    let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let (first, second) = (Authority::new(&folder, "first"), Authority::new(&folder, "second"));
    first.certify(&certificate, &key);
    let words = ["--listen", "127.0.0.1:0", "--tls-cert", certificate.to_str().unwrap()];
    let served = Served::run(
        &place
            .punch(["serve", "--jobs", "0", "--json", "--tls-key", key.to_str().unwrap()])
            .words(words),
    );
    assert!(served.url.starts_with("https://"));
    let list = |db: &str| place.bare(["issue", "list", "--json", "--project", "test", "--db", db]);
    let trusting = |file: &Path| format!("{}?cafile={}", served.url, file.display());
    // A private authority is trusted only if it is named.
    assert_eq!(list(&served.url).refusal(3)["code"], "store_unreachable");
    list(&trusting(&first.file)).answer();
    list(&served.url).env("SSL_CERT_FILE", &first.file).answer();
    assert_eq!(list(&trusting(&second.file)).refusal(3)["code"], "store_unreachable");
    assert_eq!(list(&trusting(Path::new("/nowhere.pem"))).refusal(2)["code"], "usage");
    // A broken file changes nothing; a new certificate is used from then on.
    std::fs::write(&certificate, "garbage").unwrap();
    served.signal(Signal::SIGHUP);
    list(&trusting(&first.file)).answer();
    second.certify(&certificate, &key);
    served.signal(Signal::SIGHUP);
    let renewed = (0..100).any(|_| list(&trusting(&second.file)).run().exit == Some(0));
    assert!(renewed, "the new certificate was not read");
    assert!(served.stop().success());
}

#[test]
fn a_server_does_not_start_with_a_bad_certificate() {
    let place = Place::sqlite();
    let file = place.home().join("x.pem");
    std::fs::write(&file, "garbage").unwrap();
    let file = file.to_str().unwrap();
    let listen = ["serve", "--listen", "127.0.0.1:0", "--json"];
    let both = place.punch(listen).words(["--tls-cert", file, "--tls-key", file]);
    assert_eq!(both.refusal(2)["code"], "usage");
    let half = place.punch(listen).words(["--tls-cert", file]);
    assert_eq!(half.refusal(2)["code"], "usage");
}
