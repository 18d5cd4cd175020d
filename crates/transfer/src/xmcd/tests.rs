//! Table-driven cases of the xmcd parser: one line of expectation per file.

use super::*;

/// `artist|title|year|genre|length|disc ids|tracks`, or `skip: kind`.
fn check(input: &[u8], expected: &str) {
    let mut parser = XmcdParser::default();
    // Leftovers of another file must not show.
    let _ = parser.parse(b"DISCID=ff\nDTITLE=Old / Older\nDYEAR=1\nTTITLE3=x\nTTITLE3=y\n#\t9\n");
    assert_eq!(
        render(&mut parser, input),
        expected,
        "{}",
        input.escape_ascii()
    );
}

fn render(parser: &mut XmcdParser, input: &[u8]) -> String {
    let album = match parser.parse(input) {
        Ok(album) => album,
        Err(reason) => return format!("skip: {}", reason.kind()),
    };
    let number = |n: Option<u32>| n.map_or("-".to_owned(), |n| n.to_string());
    format!(
        "{}|{}|{}|{}|{}|{}|{}",
        album.artist().unwrap_or("-"),
        album.title().unwrap_or("-"),
        number(album.year.map(u32::from)),
        album.genre().unwrap_or("-"),
        number(album.length_seconds),
        album.disc_ids().collect::<Vec<_>>().join(","),
        album.tracks().collect::<Vec<_>>().join(";"),
    )
}

#[test]
fn reads_the_fields_of_a_clean_file() {
    check(
        b"# xmcd\n#\n# Track frame offsets:\n#\t150\n#\t18000\n#\n# Disc length: 400 seconds\n#\n\
          DISCID=0E018E02\nDTITLE=The Wrens / Silver Hours\nDYEAR=1998\nDGENRE=Rock\n\
          TTITLE0=Dawn\nTTITLE1=Noon\nEXTD=\nEXTT0=\nPLAYORDER=\n",
        "The Wrens|Silver Hours|1998|Rock|400|0e018e02|Dawn;Noon",
    );
}

#[test]
fn title_lines() {
    check(b"DTITLE=A / B", "A|B|-|-|-||");
    check(b"DTITLE=A / B / C", "A|B / C|-|-|-||");
    check(b"DTITLE=AC/DC / Live", "AC/DC|Live|-|-|-||");
    check(b"DTITLE=Alone", "Alone|Alone|-|-|-||");
    check(b"DTITLE= / B", "/ B|/ B|-|-|-||");
    check(b"DTITLE=A /  B ", "A|B|-|-|-||");
    check(b"DTITLE=A  / B", "A|B|-|-|-||");
    check(b"DTITLE=\nDISCID=1", "-|-|-|-|-|1|");
    check(b"DISCID=1", "-|-|-|-|-|1|");
}

#[test]
fn continued_keys_are_joined_as_bytes() {
    check(b"DTITLE=A / Lo\nDTITLE=ng\nDTITLE=er", "A|Longer|-|-|-||");
    check("DTITLE=A / 椎".as_bytes(), "A|椎|-|-|-||");
    let split = [
        b"DTITLE=A / ".as_slice(),
        &"椎".as_bytes()[..1],
        b"\nDTITLE=",
        &"椎".as_bytes()[1..],
    ]
    .concat();
    check(&split, "A|椎|-|-|-||");
    check(
        b"TTITLE0=a\nTTITLE1=b\nTTITLE0=c\nTTITLE1=d\nDISCID=1",
        "-|-|-|-|-|1|ac;bd",
    );
    check(
        b"DISCID=aa,bb,\nDISCID=cc\nDTITLE=A / B",
        "A|B|-|-|-|aa,bb,cc|",
    );
    check(
        b"DISCID=aa,b\nDISCID=b,cc\nDTITLE=A / B",
        "A|B|-|-|-|aa,bb,cc|",
    );
}

#[test]
fn disc_ids() {
    check(b"DISCID=AA, bb ,,cc,", "-|-|-|-|-|aa,bb,cc|");
    check("DISCID=aa\u{3000}bb".as_bytes(), "-|-|-|-|-|aa,bb|");
    // Computed from the comments when there is none: 150/75 = 2 s, 18000/75 = 240 s.
    check(
        b"#\t150\n#\t18000\n# Disc length: 400 seconds\nDISCID=\nDTITLE=A / B",
        "A|B|-|-|400|08018e02|",
    );
}

#[test]
fn years() {
    for (year, expected) in [
        ("1998", "1998"),
        (" 1998 ", "1998"),
        ("", "-"),
        ("0", "-"),
        ("97", "97"),
        ("19999", "-"),
        ("199x", "-"),
        ("-5", "-"),
        ("99999999999999999999", "-"),
    ] {
        check(
            format!("DTITLE=A / B\nDYEAR={year}").as_bytes(),
            &format!("A|B|{expected}|-|-||"),
        );
    }
    check(
        b"DTITLE=A / B\nEXTD=YEAR: 1987 ID3G: 17\\nRecorded live",
        "A|B|1987|-|-||",
    );
    check(
        b"DTITLE=A / B\nDYEAR=2001\nEXTD=YEAR: 1987",
        "A|B|2001|-|-||",
    );
}

#[test]
fn encodings_are_told_apart_value_by_value() {
    check(
        b"DTITLE=Bj\xf6rk / D\xe9but",
        "Bj\u{f6}rk|D\u{e9}but|-|-|-||",
    );
    check(
        b"DTITLE=Bj\xc3\xb6rk / X\nTTITLE0=caf\xe9\nTTITLE1=caf\xc3\xa9",
        "Bj\u{f6}rk|X|-|-|-||caf\u{e9};caf\u{e9}",
    );
    check(b"DTITLE=A / \x93B\x94", "A|\u{201c}B\u{201d}|-|-|-||");
}

#[test]
fn lines_and_escapes() {
    check(
        b"DTITLE=A / B\r\nTTITLE0=x\r\nTTITLE1=y\r\n",
        "A|B|-|-|-||x;y",
    );
    check(b"DTITLE=A / B\nTTITLE2=z", "A|B|-|-|-||;;z");
    check(
        b"DTITLE=A / B\nTTITLE0=a\\tb\\\\c\\q\\",
        "A|B|-|-|-||a\tb\\c\\q\\",
    );
    check(
        b"DTITLE=A / B\nnonsense\n=x\nTTITLE=x\nTTITLEx=1",
        "A|B|-|-|-||",
    );
    check(b"DTITLE=A = C / B=D", "A = C|B=D|-|-|-||");
    check(b"DTITLE=A / B\nTTITLE0=\x00\x01", "A|B|-|-|-||");
}

#[test]
fn what_is_not_an_album_is_skipped_with_its_reason() {
    check(b"", "skip: empty");
    check(b"\r\n \n", "skip: empty");
    check(b"Read me first\n", "skip: not an album");
    check(b"# xmcd\nTTITLE0=x\n", "skip: not an album");
    check(b"DTITLE=A / B\nTTITLE999=x", "skip: too many tracks");
    check(b"DTITLE=A / B\nTTITLE4294967296=x", "A|B|-|-|-||");
    let long = [b"DTITLE=".as_slice(), &[b'a'; VALUE_BYTES_MAX + 1]].concat();
    check(&long, "skip: value too long");
    let continued = b"DTITLE=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n".repeat(2000);
    check(&continued, "skip: value too long");
}

#[test]
fn keys_that_take_turns_cannot_make_the_parser_slow() {
    let mut input = Vec::new();
    for slot in 0..2 {
        input.extend_from_slice(format!("TTITLE{slot}={}\n", "x".repeat(40_000)).as_bytes());
    }
    for turn in 0..10_000 {
        input.extend_from_slice(format!("TTITLE{}=y\n", turn % 2).as_bytes());
    }
    check(&input, "skip: too many continued lines");
}

#[test]
fn every_prefix_of_a_file_is_read_or_refused() {
    let whole = b"# xmcd\r\n#\t150\r\n# Disc length: 400 seconds\r\nDISCID=aa,\r\nDISCID=bb\r\n\
                  DTITLE=\xe6\x97 / B\r\nDYEAR=1998\r\nTTITLE0=a\\\\\r\nTTITLE0=b\r\n";
    let mut parser = XmcdParser::default();
    for end in 0..whole.len() {
        let _ = render(&mut parser, &whole[..end]);
    }
}
