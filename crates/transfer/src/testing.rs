//! What tests of several modules share. Not part of other builds.

use crate::archive::{append_end, append_file};

/// A tar archive of a file that is no album and `albums` albums of about 1.3 kB. The same number
/// gives the same bytes.
pub(crate) fn album_archive(albums: u64) -> Vec<u8> {
    let mut out = Vec::new();
    append_file(&mut out, "COPYING", b"Nothing here is an album.\n");
    for number in 0..albums {
        let mut text = format!(
            "# xmcd\nDISCID={number:08x}\nDTITLE=Artist {} / Title {number}\nDYEAR={}\n",
            number % 97,
            1950 + number % 70
        );
        for track in 0..24 {
            text.push_str(&format!(
                "TTITLE{track}=The song number {track} of the album {number}\n"
            ));
        }
        append_file(&mut out, &format!("rock/{number:08x}"), text.as_bytes());
    }
    append_end(&mut out);
    out
}
