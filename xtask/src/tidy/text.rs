//! Rules for files of any kind: white space at the ends, and files too large to belong here.

use super::Finding;

const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// A file this large is a build product or a forgotten dump.
pub(super) fn size(bytes: u64) -> Option<Finding> {
    (bytes > FILE_BYTES_MAX).then(|| Finding::error(1, format!("is {bytes} bytes, over 1 MiB")))
}

pub(super) fn white_space(content: &str) -> Vec<Finding> {
    let mut findings: Vec<Finding> = content
        .split_terminator('\n')
        .enumerate()
        .filter(|(_, line)| line.trim_end() != *line)
        .map(|(index, _)| Finding::error(index + 1, "white space at the end of the line"))
        .collect();
    if !content.is_empty() && !content.ends_with('\n') {
        findings.push(Finding::error(content.lines().count(), "no newline at the end of the file"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trailing_white_space_is_found_on_its_line() {
        let message = "white space at the end of the line";
        let expected = [Finding::error(2, message), Finding::error(3, message)];
        assert_eq!(white_space("a\nb \n\t\nc\n"), expected);
        assert_eq!(white_space("a\r\n"), [Finding::error(1, message)]);
    }

    #[test]
    fn the_last_line_ends_with_a_newline() {
        let expected = [Finding::error(2, "no newline at the end of the file")];
        assert_eq!(white_space("a\nb"), expected);
        assert_eq!(white_space("a\nb\n"), []);
        assert_eq!(white_space(""), []);
    }

    #[test]
    fn a_file_may_have_at_most_one_mebibyte() {
        assert_eq!(size(FILE_BYTES_MAX), None);
        assert!(size(FILE_BYTES_MAX + 1).is_some());
    }
}
