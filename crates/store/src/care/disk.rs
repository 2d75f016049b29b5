//! Checks in the file system: who may read a store, its size, and the free space.

use std::path::{Path, PathBuf};

use super::doctor::Check;

/// Less free space than this is a fault, because a migration or a busy hour would fill it.
const ROOM_MIN: u64 = 64 << 20;
/// A WAL this large is not being checkpointed: some process keeps an old read transaction open.
const WAL_MAX: u64 = 256 << 20;

/// The store's file and SQLite's side files.
pub(super) fn files(path: &Path) -> [PathBuf; 3] {
    let beside = |suffix: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    [path.to_owned(), beside("-wal"), beside("-shm")]
}

/// Checks that only the owner may read a store.
pub(super) fn permissions(path: &Path) -> Check {
    #[cfg(unix)]
    for file in files(path) {
        use std::os::unix::fs::PermissionsExt;
        let Ok(metadata) = file.metadata() else { continue };
        let mode = metadata.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            let detail = format!("{} has mode {mode:04o}: others may use it", file.display());
            let hint = format!("chmod 600 '{}'", file.display());
            return Check::bad("permissions", detail, &hint);
        }
    }
    let _ = path;
    Check::good("permissions", "for its owner alone")
}

/// Checks the size of the store and the free space.
pub(super) fn room(path: &Path) -> Check {
    let [store, wal] = {
        let [store, wal, _] = files(path);
        [store, wal].map(|file| file.metadata().map_or(0, |metadata| metadata.len()))
    };
    let size = format!("the store takes {}, its WAL {}", bytes(store), bytes(wal));
    if wal > WAL_MAX {
        let hint = "end processes that have kept the store open for long";
        return Check::bad("disk", format!("{size}, which is not being taken in"), hint);
    }
    match free(path) {
        None => Check::good("disk", size),
        Some(free) if free < ROOM_MIN => {
            let detail = format!("{size}, and only {} are free", bytes(free));
            Check::bad("disk", detail, "free some space; a full disk loses nothing but stops work")
        }
        Some(free) => Check::good("disk", format!("{size}; {} are free", bytes(free))),
    }
}

#[cfg(unix)]
fn free(path: &Path) -> Option<u64> {
    let stat = nix::sys::statvfs::statvfs(path).ok()?;
    let (blocks, size) = (stat.blocks_available(), stat.fragment_size());
    blocks.checked_mul(size)
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}

/// A size in bytes, for people.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} bytes");
    }
    let mut tenths = count.saturating_mul(10) / 1024;
    let mut units = UNITS.into_iter();
    let mut unit = units.next().unwrap_or_default();
    for larger in units {
        if tenths < 10_240 {
            break;
        }
        tenths /= 1024;
        unit = larger;
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_are_shown_in_the_units_people_use() {
        for (count, text) in [
            (0, "0 bytes"),
            (1_023, "1023 bytes"),
            (1_024, "1.0 KiB"),
            (1_536, "1.5 KiB"),
            (5 << 20, "5.0 MiB"),
            (3 << 30, "3.0 GiB"),
            (2 << 40, "2.0 TiB"),
        ] {
            assert_eq!(bytes(count), text);
        }
    }
}
