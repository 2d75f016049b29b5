//! A server that accepts only TLS, with certificates of a private authority.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use punchlist_store::{Error, ErrorKind, sql};
use punchlist_testkit::server::{OwnServer, Setup};

use super::{ask, open, refused, write, written};

/// An authority, another one, and certificates: for this machine, for another name (signed with
/// another hash), an expired one, and one for a client.
const SETUP: &str = r#"
cd "$1"
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
openssl req -x509 $key -keyout ca.key -out ca.crt -days 30 -subj '/CN=ours'
openssl req -x509 $key -keyout other.key -out other.crt -days 30 -subj '/CN=another'
openssl req -new $key -keyout server.key -out server.csr -subj '/CN=server'
openssl req -new $key -keyout client.key -out client.csr -subj '/CN=punchlist_cert'
echo 'subjectAltName=IP:127.0.0.1' >here.ext
echo 'subjectAltName=DNS:elsewhere.example' >elsewhere.ext
sign() { openssl x509 -req -CA ca.crt -CAkey ca.key -CAcreateserial "$@"; }
sign -in server.csr -days 30 -extfile here.ext -out here.crt
sign -in server.csr -days 30 -extfile elsewhere.ext -sha384 -out elsewhere.crt
sign -in server.csr -days -1 -extfile here.ext -out expired.crt
echo 'extendedKeyUsage=clientAuth' >client.ext
sign -in client.csr -days 30 -extfile client.ext -out client.crt
openssl req -x509 -key server.key -out itself.crt -days 30 -subj '/CN=server' \
    -addext 'subjectAltName=IP:127.0.0.1'
cp here.crt server.crt
chmod 600 ./*.key
echo "ssl = on
ssl_ca_file = 'ca.crt'
password_encryption = 'scram-sha-256'" >>postgresql.conf
echo "hostssl all punchlist_cert  127.0.0.1/32 cert
hostssl all punchlist_scram 127.0.0.1/32 scram-sha-256
hostssl all punchlist_plain 127.0.0.1/32 password
hostssl all all             127.0.0.1/32 trust
local   all punchlist_plain              password
local   all all                          trust" >pg_hba.conf
"#;

struct Server(OwnServer);

impl Server {
    fn start() -> Self {
        Self(OwnServer::start_with(Setup { script: SETUP, socket: true }))
    }

    fn url(&self, user: &str, options: &str) -> String {
        let port = self.0.port();
        let data = self.0.data().display().to_string();
        let options = options.replace("DATA", &data);
        format!("postgres://{user}@127.0.0.1:{port}/postgres?{options}")
    }

    /// Makes the server use another certificate, and waits until it does.
    fn show(&self, certificate: &str, shows: impl Fn() -> bool) {
        let data = self.0.data();
        let text = std::fs::read(data.join(certificate)).unwrap();
        std::fs::write(data.join("server.crt"), text).unwrap();
        let admin = open(&self.url("punchlist", "sslmode=require")).unwrap();
        ask(&admin, sql!("SELECT pg_reload_conf()::text")).unwrap();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !shows() {
            assert!(Instant::now() < deadline, "the server does not show {certificate}");
        }
    }
}

fn says(error: &Error, words: &str) {
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error:?}");
    assert!(error.detail.contains(words), "{error:?} does not say {words:?}");
}

/// Contract, "PostgreSQL": `sslmode`, `sslrootcert`, `sslcert`, `sslkey`, channel binding, and no
/// password in the clear except over TLS or a Unix socket.
#[test]
fn a_server_is_trusted_as_far_as_the_url_says_and_no_further() {
    let server = Server::start();
    let over_tls = sql!("SELECT ssl::text FROM pg_stat_ssl WHERE pid = pg_backend_pid()");

    // The server refuses connections without TLS and accepts every mode with it.
    says(&refused(&server.url("punchlist", "sslmode=disable")), "no encryption");
    for options in [
        "",
        "sslmode=prefer",
        "sslmode=require",
        "sslmode=require&sslrootcert=DATA/ca.crt",
        "sslmode=verify-ca&sslrootcert=DATA/ca.crt",
        "sslmode=verify-full&sslrootcert=DATA/ca.crt",
    ] {
        let store = open(&server.url("punchlist", options)).unwrap();
        assert_eq!(ask(&store, over_tls), Ok(Some("true".to_owned())), "{options}");
    }
    let store =
        open(&server.url("punchlist", "sslmode=verify-full&sslrootcert=DATA/ca.crt")).unwrap();
    write(&store, "encrypted").unwrap();
    assert_eq!(written(&store).unwrap(), ["encrypted"]);

    // Another authority, or the system's: neither has signed the server's certificate.
    for options in [
        "sslmode=require&sslrootcert=DATA/other.crt",
        "sslmode=verify-ca&sslrootcert=DATA/other.crt",
        "sslmode=verify-full&sslrootcert=DATA/other.crt",
        "sslmode=verify-full&sslrootcert=system",
    ] {
        says(&refused(&server.url("punchlist", options)), "no authority in sslrootcert has signed");
    }
    let missing = server.url("punchlist", "sslmode=verify-ca&sslrootcert=DATA/no.crt");
    says(&refused(&missing), "No such file");
    // Public authorities say nothing without a name.
    says(&refused(&server.url("punchlist", "sslrootcert=system")), "no authority in sslrootcert");
    let weak = server.url("punchlist", "sslmode=require&sslrootcert=system");
    says(&refused(&weak), "sslrootcert=system needs sslmode=verify-full");

    // A client certificate, whose key only its owner may read.
    let with_certificate = "sslmode=verify-full&sslrootcert=DATA/ca.crt&sslcert=DATA/client.crt&\
                            sslkey=DATA/client.key";
    for role in ["punchlist_cert", "punchlist_scram", "punchlist_plain"] {
        let make = match role {
            "punchlist_cert" => sql!("CREATE ROLE punchlist_cert LOGIN SUPERUSER"),
            "punchlist_scram" => {
                sql!("CREATE ROLE punchlist_scram LOGIN SUPERUSER PASSWORD 'proved'")
            }
            _ => sql!("CREATE ROLE punchlist_plain LOGIN SUPERUSER PASSWORD 'told'"),
        };
        store.write(move |tx| tx.execute(make, &[])).unwrap();
    }
    let me = sql!("SELECT current_user::text");
    let known = open(&server.url("punchlist_cert", with_certificate)).unwrap();
    assert_eq!(ask(&known, me), Ok(Some("punchlist_cert".to_owned())));
    says(&refused(&server.url("punchlist_cert", "sslmode=require")), "valid client certificate");
    let halved = "sslmode=require&sslcert=DATA/client.crt";
    says(&refused(&server.url("punchlist_cert", halved)), "sslcert and sslkey go together");
    let key = server.0.data().join("client.key");
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    says(&refused(&server.url("punchlist_cert", with_certificate)), "others may read this key");

    // The password's proof is bound to the certificate, here with SHA-256.
    let bound = "sslmode=require&channel_binding=require";
    open(&server.url("punchlist_scram:proved", bound)).unwrap();
    says(&refused(&server.url("punchlist_scram:wrong", bound)), "password authentication failed");
    // A server that does not offer channel binding is refused.
    says(&refused(&server.url("punchlist", bound)), "channel binding");
    // A clear-text password is allowed over TLS and over a Unix socket.
    open(&server.url("punchlist_plain:told", "sslmode=require")).unwrap();
    let folder = server.0.folder().display().to_string().replace('/', "%2F");
    let port = server.0.port();
    open(&format!("postgres://punchlist_plain:told@{folder}:{port}/postgres?sslmode=verify-full"))
        .unwrap();

    // For another name, a trusted authority is enough only for verify-ca.
    let full = server.url("punchlist", "sslmode=verify-full&sslrootcert=DATA/ca.crt");
    let chain = server.url("punchlist", "sslmode=verify-ca&sslrootcert=DATA/ca.crt");
    server.show("elsewhere.crt", || open(&full).is_err());
    says(&refused(&full), "is for another name");
    open(&chain).unwrap();
    // With SHA-384, as this certificate is signed.
    open(&server.url("punchlist_scram:proved", bound)).unwrap();

    server.show("expired.crt", || open(&chain).is_err());
    says(&refused(&chain), "has expired");
    open(&server.url("punchlist", "sslmode=require")).unwrap();

    // A certificate that signs itself is that of an authority.
    let itself = server.url("punchlist", "sslmode=verify-full&sslrootcert=DATA/itself.crt");
    server.show("itself.crt", || refused(&itself).detail.contains("CA:TRUE"));
    says(&refused(&itself), "give it one that this authority has signed");
}

/// Passes bytes on to a server and back. While `is_slow`, a long answer comes byte by byte.
fn proxy(port: u16, is_slow: Arc<AtomicBool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let own_port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for mut client in listener.incoming().flatten() {
            let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            thread::spawn(move || std::io::copy(&mut from, &mut to));
            let is_slow = Arc::clone(&is_slow);
            thread::spawn(move || {
                let (_kept, pause) = std::sync::mpsc::channel::<()>();
                let mut buffer = [0; 4096];
                while let Ok(count @ 1..) = server.read(&mut buffer) {
                    let bytes = &buffer[..count];
                    let is_slow = is_slow.load(Ordering::SeqCst) && count > 1_000;
                    let part = if is_slow { 1 } else { count };
                    for bytes in bytes.chunks(part) {
                        if client.write_all(bytes).is_err() {
                            return;
                        }
                        if part == 1 {
                            // Nothing is ever sent: this only makes the link slow.
                            pause.recv_timeout(Duration::from_millis(5)).ok();
                        }
                    }
                }
            });
        }
    });
    own_port
}

/// A record of TLS is read as a whole, however slowly it comes.
#[test]
fn a_server_that_answers_too_slowly_over_tls_times_out() {
    let server = Server::start();
    let is_slow = Arc::new(AtomicBool::new(false));
    let port = proxy(server.0.port(), Arc::clone(&is_slow));
    let url = format!(
        "postgres://punchlist@127.0.0.1:{port}/postgres?sslmode=require&statement_timeout=3s"
    );
    let store = open(&url).unwrap();
    let long = sql!("SELECT repeat('x', 16000)");
    assert_eq!(ask(&store, long).unwrap().map(|text| text.len()), Some(16_000));
    is_slow.store(true, Ordering::SeqCst);
    let start = Instant::now();
    let error = ask(&store, long).unwrap_err();
    says(&error, "did not answer in time");
    // The statement's time limit, and two more seconds.
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
