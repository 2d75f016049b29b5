//! A small HTTP server for collectors, on its own port.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

/// Serves as long as the test runs. Returns its address.
pub(crate) fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || answer(stream));
        }
    });
    address
}

fn answer(mut stream: TcpStream) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let asked = lines.next().unwrap().unwrap();
    let headers: Vec<String> =
        lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let path = asked.split(' ').nth(1).unwrap();
    // Redirects to this machine under another name and port.
    let onward =
        path.strip_prefix("/to/").map(|port| format!("Location: http://localhost:{port}/\r\n"));
    let (status, more, body) = match path {
        _ if onward.is_some() => ("302 Found", onward.as_deref().unwrap(), String::new()),
        "/plain" => ("200 OK", "", "72\n".to_owned()),
        "/json" => ("200 OK", "", r#"{"stats":{"mean":"1m12s","n":[3]}}"#.to_owned()),
        "/words" => ("200 OK", "", "all is well".to_owned()),
        "/flood" => ("200 OK", "", "9".repeat(70 << 10)),
        "/moved" => ("302 Found", "Location: /plain\r\n", String::new()),
        "/round" => ("302 Found", "Location: /round\r\n", String::new()),
        "/broken" => ("503 Service Unavailable", "", "72".to_owned()),
        "/headers" => ("200 OK", "", headers.len().to_string()),
        // Never responds: the caller waits until its timeout.
        "/silent" => loop {
            thread::park();
        },
        _ => ("404 Not Found", "", "72".to_owned()),
    };
    let length = body.len();
    let head = format!("HTTP/1.1 {status}\r\n{more}Content-Length: {length}\r\n");
    let _ = write!(stream, "{head}Connection: close\r\n\r\n{body}");
}
