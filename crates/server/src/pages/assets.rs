//! The stylesheet and the script, under names that change with their content.

use std::sync::LazyLock;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use punchlist_ops::web_fault::WebFault;
use sha2::{Digest, Sha256};

use crate::http::problem::problem;

const STYLE: &str = concat!(include_str!("assets/style.css"), include_str!("assets/work.css"));
const SCRIPT: &str = include_str!("assets/script.js");
const ICON: &str = include_str!("assets/icon.svg");

/// A file, and the name under which it is served.
#[derive(Debug)]
struct Asset {
    path: String,
    kind: &'static str,
    text: &'static str,
}

static ASSETS: LazyLock<[Asset; 3]> = LazyLock::new(|| {
    [
        asset("style", "css", "text/css; charset=utf-8", STYLE),
        asset("script", "js", "text/javascript; charset=utf-8", SCRIPT),
        asset("icon", "svg", "image/svg+xml", ICON),
    ]
});

fn asset(name: &str, end: &str, kind: &'static str, text: &'static str) -> Asset {
    let digest = Sha256::digest(text.as_bytes());
    let hex: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    Asset { path: format!("/assets/{name}-{hex}.{end}"), kind, text }
}

pub(crate) fn style() -> &'static str {
    &ASSETS[0].path
}

pub(crate) fn script() -> &'static str {
    &ASSETS[1].path
}

pub(crate) fn icon() -> &'static str {
    &ASSETS[2].path
}

/// Sends an asset. The content behind a name never changes.
pub(crate) async fn serve(request: Request) -> Response {
    let path = request.uri().path();
    let Some(found) = ASSETS.iter().find(|asset| asset.path == path) else {
        return problem(&WebFault::UnknownPath { path: path.to_owned() }.into());
    };
    let mut response = Response::new(Body::from(found.text));
    *response.status_mut() = StatusCode::OK;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(found.kind));
    let kept = HeaderValue::from_static("public, max-age=31536000, immutable");
    headers.insert(header::CACHE_CONTROL, kept);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_assets_together_are_at_most_100_kib() {
        let total: usize = ASSETS.iter().map(|asset| asset.text.len()).sum();
        assert!(total <= 100 << 10, "{total} bytes");
    }

    #[test]
    fn nothing_is_fetched_from_another_host() {
        for asset in ASSETS.iter() {
            let text = asset.text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("http://") && !text.contains("https://"), "{}", asset.path);
            assert!(!text.contains("url(//") && !text.contains("@import"), "{}", asset.path);
        }
    }
}
