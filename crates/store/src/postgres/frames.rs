//! Checks the messages of a server before the library sees them: their length, and that a server does
//! not ask for the password in clear text over an unencrypted connection.

use std::io;

/// The longest message: many times the largest row.
const MESSAGE_MAX: u32 = 64 << 20;

/// Tracks where one message ends and the next begins.
#[derive(Debug, Default)]
pub(super) struct Frames {
    head: [u8; 9],
    filled: usize,
    /// Remaining bytes of the current message.
    left: usize,
    is_private: bool,
    is_password_wanted: bool,
}

impl Frames {
    /// Type and length; for an authentication request also its code.
    const HEAD: usize = 5;
    const ASKED: usize = 9;

    /// `is_private`: the password may be sent in clear text, because nobody can read the
    /// connection.
    pub(super) fn new(is_private: bool) -> Self {
        Self { is_private, ..Self::default() }
    }

    /// Has the server asked for a password?
    pub(super) const fn is_password_wanted(&self) -> bool {
        self.is_password_wanted
    }

    pub(super) fn look(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while let Some((&first, rest)) = bytes.split_first() {
            if self.left > 0 {
                let skipped = self.left.min(bytes.len());
                self.left -= skipped;
                bytes = bytes.get(skipped..).unwrap_or_default();
                continue;
            }
            if let Some(place) = self.head.get_mut(self.filled) {
                *place = first;
            }
            (self.filled, bytes) = (self.filled + 1, rest);
            self.judge()?;
        }
        Ok(())
    }

    /// Checks a complete header.
    fn judge(&mut self) -> io::Result<()> {
        let [kind, a, b, c, d, code @ ..] = self.head;
        let length = u32::from_be_bytes([a, b, c, d]);
        let is_question = kind == b'R' && length >= 8;
        if self.filled == Self::HEAD {
            if !(4..=MESSAGE_MAX).contains(&length) {
                let detail = format!("what answers there sent a message of {length} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, detail));
            }
            if !is_question {
                (self.filled, self.left) = (0, length as usize - 4);
            }
        } else if self.filled == Self::ASKED {
            (self.filled, self.left) = (0, length as usize - 8);
            let code = u32::from_be_bytes(code);
            self.is_password_wanted |= matches!(code, 3 | 5 | 10);
            if code == 3 && !self.is_private {
                let detail = "it asks for the password in the clear: use TLS (sslmode=require)";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, detail));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
        [&[kind][..], &length, body].concat()
    }

    #[test]
    fn message_boundaries_are_found_however_the_bytes_arrive() {
        let all = [
            message(b'R', &10_u32.to_be_bytes()),
            message(b'R', b"\0\0\0\x0bmore of it"),
            message(b'D', &[3; 40]),
            message(b'Z', b"I"),
        ]
        .concat();
        for size in 1..all.len() {
            let mut frames = Frames::default();
            for part in all.chunks(size) {
                frames.look(part).unwrap();
            }
            assert_eq!((frames.filled, frames.left), (0, 0), "{size}");
            assert!(frames.is_password_wanted);
        }
    }

    #[test]
    fn a_message_that_is_too_long_is_refused_by_its_header() {
        for head in [&b"D\x7f\0\0\0"[..], b"D\0\0\0\x03"] {
            assert!(Frames::default().look(head).is_err());
        }
    }

    #[test]
    fn a_clear_text_password_is_allowed_only_on_a_private_connection() {
        let question = message(b'R', &3_u32.to_be_bytes());
        let error = Frames::default().look(&question).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        Frames { is_private: true, ..Frames::default() }.look(&question).unwrap();
    }
}
