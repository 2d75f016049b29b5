//! Files written by others: regular files only, read up to a limit.
//!
//! A named pipe blocks its reader, a device may never end, and a very large file fills the memory.
//! Every file that this program did not write itself is opened here.

use std::fs::{File, FileType, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Opens a regular file for reading. Links are followed; anything else is refused without blocking.
pub fn open(path: &Path) -> Result<File> {
    // Opening a device may already do something, so its type is checked first. The file may be
    // replaced in between, so the opened one is checked, too.
    check(path)?;
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        // With O_NONBLOCK a named pipe opens at once, even without a writer.
        options.custom_flags((nix::fcntl::OFlag::O_NONBLOCK | nix::fcntl::OFlag::O_NOCTTY).bits());
    }
    let file = options.open(path)?;
    regular(&file.metadata()?)?;
    Ok(file)
}

/// Refuses anything but a regular file, without opening it: closing a file that SQLite also has
/// open would drop SQLite's locks.
pub fn check(path: &Path) -> Result<()> {
    regular(&path.metadata()?)
}

/// Reads a whole regular file. A file longer than `bytes_max` is refused with
/// [`ErrorKind::FileTooLarge`].
pub fn read(path: &Path, bytes_max: usize) -> Result<Vec<u8>> {
    let file = open(path)?;
    // The length is only a hint: files in /proc report none, and other files may grow.
    if file.metadata()?.len() > bytes_max as u64 {
        return Err(too_large(bytes_max));
    }
    let bytes = up_to(file, bytes_max.saturating_add(1))?;
    if bytes.len() > bytes_max { Err(too_large(bytes_max)) } else { Ok(bytes) }
}

/// Like `read`, as UTF-8 text.
pub fn text(path: &Path, bytes_max: usize) -> Result<String> {
    let bytes = read(path, bytes_max)?;
    String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

/// The first `bytes_max` bytes of a regular file, for callers with their own error for a longer
/// file.
pub fn beginning(path: &Path, bytes_max: usize) -> Result<Vec<u8>> {
    up_to(open(path)?, bytes_max)
}

fn up_to(file: File, bytes_max: usize) -> Result<Vec<u8>> {
    // Files in /proc do not say how long they are; without room they are read in tiny pieces.
    let mut bytes = Vec::with_capacity(bytes_max.min(4 << 10));
    file.take(bytes_max as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn regular(metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        return Ok(());
    }
    let kind = kind(metadata.file_type());
    Err(Error::new(ErrorKind::InvalidInput, format!("it is {kind}, not a regular file")))
}

fn kind(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if kind.is_fifo() {
            return "a named pipe";
        }
        if kind.is_char_device() || kind.is_block_device() {
            return "a device";
        }
        if kind.is_socket() {
            return "a socket";
        }
    }
    if kind.is_dir() { "a directory" } else { "something else" }
}

fn too_large(bytes_max: usize) -> Error {
    let limit = match bytes_max {
        0..0x400 => format!("{bytes_max} bytes"),
        0x400..0x10_0000 => format!("{} KiB", bytes_max >> 10),
        _ => format!("{} MiB", bytes_max >> 20),
    };
    Error::new(ErrorKind::FileTooLarge, format!("it is larger than {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_regular_file_is_read_up_to_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(text(&path, 9).unwrap(), "12345");
        assert_eq!(beginning(&path, 3).unwrap(), b"123");
        let error = read(&path, 4).unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), {
            (ErrorKind::FileTooLarge, "it is larger than 4 bytes")
        });
        assert_eq!(too_large(1 << 20).to_string(), "it is larger than 1 MiB");
        assert_eq!(too_large(64 << 10).to_string(), "it is larger than 64 KiB");
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(text(&path, 9).unwrap_err().to_string(), "it is not UTF-8");
        assert_eq!(read(&folder.path().join("none"), 1).unwrap_err().kind(), ErrorKind::NotFound);
    }

    /// A sparse file of 400 GB is refused before any of it is read.
    #[test]
    fn a_sparse_file_is_refused_by_its_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        File::create(&path).unwrap().set_len(400 << 30).unwrap();
        assert_eq!(read(&path, 1 << 20).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(beginning(&path, 10).unwrap().len(), 10);
    }

    /// A plain `std::fs::read` would never return for any of these.
    #[cfg(unix)]
    #[test]
    fn pipes_devices_sockets_and_folders_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink("/dev/zero", &link).unwrap();
        let socket = folder.path().join("socket");
        let _listening = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let cases = [
            (pipe.as_path(), "it is a named pipe, not a regular file"),
            (Path::new("/dev/zero"), "it is a device, not a regular file"),
            (link.as_path(), "it is a device, not a regular file"),
            (socket.as_path(), "it is a socket, not a regular file"),
            (folder.path(), "it is a directory, not a regular file"),
        ];
        for (path, expected) in cases {
            for error in [read(path, 10).unwrap_err(), beginning(path, 10).unwrap_err()] {
                let shown = (error.kind(), error.to_string());
                assert_eq!(shown, (ErrorKind::InvalidInput, expected.to_owned()), "{path:?}");
            }
        }
    }
}
