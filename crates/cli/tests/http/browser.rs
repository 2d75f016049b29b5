//! A browser without scripts: only cookies, links, forms and redirects.

use std::cell::RefCell;

use crate::serving::{Reply, Served};
use crate::support::Place;

/// A signed-in browser.
#[derive(Debug)]
pub(crate) struct Browser<'a> {
    served: &'a Served,
    cookies: RefCell<Vec<(String, String)>>,
}

/// A page as it was received.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) status: u16,
    /// The final address, with its fragment.
    pub(crate) at: String,
    pub(crate) html: String,
}

impl<'a> Browser<'a> {
    pub(crate) fn new(served: &'a Served) -> Self {
        Self { served, cookies: RefCell::default() }
    }

    /// A browser that is signed in with a link of `punch open`.
    pub(crate) fn of(served: &'a Served, place: &Place, operator: &str) -> Self {
        let browser = Self::new(served);
        let page = browser.follow(&link(served, place, operator));
        assert_eq!((page.status, page.at.as_str()), (200, "/"), "{}", page.html);
        browser
    }

    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let cookies = self.cookies.borrow();
        cookies.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    fn headers(&self) -> Vec<(String, String)> {
        let cookies = self.cookies.borrow();
        let all: Vec<String> =
            cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
        match all.is_empty() {
            true => Vec::new(),
            false => vec![("Cookie".to_owned(), all.join("; "))],
        }
    }

    /// Sends one request without following redirects.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &str) -> Reply {
        let mut headers = self.headers();
        headers.push(("Accept".to_owned(), "text/html".to_owned()));
        if method == "POST" {
            let kind = "application/x-www-form-urlencoded";
            headers.push(("Content-Type".to_owned(), kind.to_owned()));
        }
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let reply = self.served.ask(method, path, &headers, body);
        for (_, line) in reply.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (name, rest) = line.split_once('=').unwrap();
            let value = rest.split(';').next().unwrap_or_default().to_owned();
            let mut cookies = self.cookies.borrow_mut();
            cookies.retain(|(known, _)| known != name);
            if !value.is_empty() {
                cookies.push((name.to_owned(), value));
            }
        }
        reply
    }

    /// Follows a path or a whole link, with its redirects.
    pub(crate) fn follow(&self, to: &str) -> Page {
        let path = to.strip_prefix(&self.served.url).unwrap_or(to);
        self.arrive("GET", path, "")
    }

    fn arrive(&self, method: &str, path: &str, body: &str) -> Page {
        let (mut method, mut at, mut body) = (method, path.to_owned(), body);
        loop {
            let asked = at.split('#').next().unwrap_or_default().to_owned();
            let reply = self.ask(method, &asked, body);
            match reply.header("location") {
                Some(to) if reply.status == 303 => {
                    at = to.to_owned();
                    (method, body) = ("GET", "");
                }
                _ => {
                    let html = String::from_utf8(reply.body).unwrap();
                    return Page { status: reply.status, at, html };
                }
            }
        }
    }

    /// Submits a form of a page, with some fields filled in.
    pub(crate) fn send(&self, page: &Page, key: &str, fields: &[(&str, &str)]) -> Page {
        let (action, hidden) = page.form(key);
        let mut sent: Vec<String> = Vec::new();
        let typed = |name: &str| fields.iter().any(|(given, _)| *given == name);
        for (name, value) in hidden.iter().filter(|(name, _)| !typed(name)) {
            sent.push(format!("{}={}", encoded(name), encoded(value)));
        }
        sent.extend(
            fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value))),
        );
        self.arrive("POST", &action, &sent.join("&"))
    }
}

/// A sign-in link, created on the command line.
pub(crate) fn link(served: &Served, place: &Place, operator: &str) -> String {
    let made = place.punch(["open", "--print", "--json"]).with(operator).answer();
    let url = made["url"].as_str().unwrap().to_owned();
    assert!(url.starts_with(&served.url), "{url}");
    url
}

impl Page {
    /// The address of a form, and its preset fields.
    pub(crate) fn form(&self, key: &str) -> (String, Vec<(String, String)>) {
        let start = self.html.find(&format!("<form id=\"{key}\""));
        let start = start.unwrap_or_else(|| panic!("no form {key} in {}", self.html));
        let form = &self.html[start..];
        let form = &form[..form.find("</form>").unwrap()];
        let action = attribute(form, "action").unwrap();
        let inputs = form.split("<input ").skip(1).map(|input| input.split('>').next().unwrap());
        let hidden = inputs.filter(|input| input.contains("type=\"hidden\""));
        let pair = |input: &str| {
            (attribute(input, "name").unwrap(), attribute(input, "value").unwrap_or_default())
        };
        (action, hidden.map(pair).collect())
    }

    pub(crate) fn has(&self, text: &str) -> bool {
        self.html.contains(text)
    }

    /// The text of the page, without tags.
    pub(crate) fn words(&self) -> String {
        let mut words = String::new();
        let body = self.html.split("<body").nth(1).unwrap_or_default();
        let mut is_tag = true;
        for letter in body.chars() {
            match letter {
                '<' => is_tag = true,
                '>' => is_tag = false,
                letter if !is_tag => words.push(letter),
                _ => {}
            }
        }
        unescaped(&words)
    }
}

/// The value of an attribute of a tag.
pub(crate) fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!("{name}=\""))?;
    Some(unescaped(rest.split('"').next()?))
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
}

fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    let one = |byte: u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}
