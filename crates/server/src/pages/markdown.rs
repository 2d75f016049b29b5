//! Renders texts of agents and people as safe HTML: raw HTML is shown as text, and links do not
//! reveal the page they are on.

use comrak::{Options, markdown_to_html};
use maud::{Markup, PreEscaped};

/// Longer texts are not rendered, because that costs time and nobody reads them as a page.
const RENDERED_MAX: usize = 64 << 10;

fn options() -> Options<'static> {
    let mut options = Options::default();
    options.extension.table = true;
    options.extension.strikethrough = true;
    options.extension.autolink = true;
    options.extension.tasklist = true;
    options.render.escape = true;
    options.render.r#unsafe = false;
    options
}

/// Renders a text in markdown.
pub(crate) fn render(text: &str) -> Markup {
    if text.len() > RENDERED_MAX {
        return maud::html! { pre { (text) } };
    }
    let html = markdown_to_html(text, &options());
    // Other sites must learn nothing about us, and images would be requests to other hosts.
    let html = html.replace("<a href=", "<a rel=\"noopener nofollow\" href=");
    let html = without_images(&html);
    PreEscaped(html)
}

/// Replaces images by their alternative texts, so that nothing is fetched from elsewhere.
fn without_images(html: &str) -> String {
    let mut kept = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find("<img ") {
        kept.push_str(&rest[..at]);
        let tag = &rest[at..];
        let end = tag.find('>').map_or(tag.len(), |end| end + 1);
        let alt = tag[..end].split_once("alt=\"").and_then(|(_, after)| after.split('"').next());
        kept.push_str(alt.unwrap_or_default());
        rest = &tag[end..];
    }
    kept.push_str(rest);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        render(text).into_string()
    }

    #[test]
    fn raw_html_is_shown_as_text() {
        let html = shown("<script>alert(1)</script> <b onclick=x>b</b>");
        assert!(!html.contains("<script") && !html.contains("<b "), "{html}");
        assert!(html.contains("&lt;script"), "{html}");
    }

    #[test]
    fn links_that_execute_scripts_are_removed() {
        for target in ["javascript:alert(1)", "data:text/html,x", "vbscript:x", "JaVaScRiPt:x"] {
            let html = shown(&format!("[x]({target}) <{target}>"));
            assert!(
                !html.to_lowercase().contains(&format!("href=\"{}", target.to_lowercase())),
                "{html}"
            );
        }
        let html = shown("[x](https://example.com/a\"onmouseover=\"x)");
        assert!(!html.contains("onmouseover=\"x"), "{html}");
    }

    #[test]
    fn links_reveal_nothing_about_us_and_images_become_texts() {
        let html = shown("[a](https://example.com) ![a picture](https://example.com/x.png)");
        assert!(html.contains("rel=\"noopener nofollow\" href=\"https://example.com\""), "{html}");
        assert!(html.contains("a picture") && !html.contains("<img"), "{html}");
    }
}
