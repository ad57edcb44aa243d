//! Page tables that a forked worker inherits rather than builds.
//!
//! A fork copies the page tables of memory that was written to. Those of the executable's text and constants it leaves
//! out, for they can be rebuilt from the file: which a new worker does page by page, some sixty faults in the middle
//! of its one program. A mapping with a single private page is copied whole, so the template writes one byte of each
//! over itself.

use std::fs::{File, read_to_string};
use std::os::unix::fs::FileExt;

/// Has the mappings of this process's files copied to whatever it forks. Best effort: without it everything works,
/// only slower.
pub(super) fn hand_down() {
    let (Ok(maps), Ok(memory)) =
        (read_to_string("/proc/self/maps"), File::options().read(true).write(true).open("/proc/self/mem"))
    else {
        return;
    };
    for start in maps.lines().filter_map(private_file) {
        let mut byte = [0];
        if memory.read_at(&mut byte, start).is_ok_and(|read| read == 1) {
            // The kernel may forbid it, and then this mapping is rebuilt.
            let _ = memory.write_at(&byte, start);
        }
    }
}

/// The start of a private mapping of a file that is not writable, from its line in the process's map.
fn private_file(line: &str) -> Option<u64> {
    let mut fields = line.split_ascii_whitespace();
    let (range, rights) = (fields.next()?, fields.next()?);
    let path = fields.nth(3)?;
    // The catalog's map is a file too, of which a worker reads only what its program asks for.
    let is_wanted = matches!(rights, "r--p" | "r-xp") && path.starts_with('/') && !path.starts_with("/memfd:");
    let (start, _) = range.split_once('-').filter(|_| is_wanted)?;
    u64::from_str_radix(start, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_file_backs_and_nobody_writes_is_handed_down() {
        let file = "55d0c0a00000-55d0c0a2f000 r-xp 00001000 fe:00 1234   /usr/bin/codemoded";
        assert_eq!(private_file(file), Some(0x55d0_c0a0_0000));
        for other in [
            "55d0c0a00000-55d0c0a2f000 rw-p 00001000 fe:00 1234   /usr/bin/codemoded",
            "55d0c0a00000-55d0c0a2f000 r--p 00000000 00:01 1234   /memfd:codemoded-catalog (deleted)",
            "7ffd4a5c5000-7ffd4a5c7000 r-xp 00000000 00:00 0      [vdso]",
            "55d0c1000000-55d0c1021000 r--p 00000000 00:00 0",
        ] {
            assert_eq!(private_file(other), None, "{other}");
        }
    }
}
