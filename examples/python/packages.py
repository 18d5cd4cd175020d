"""Debian's package index as NDJSON, one package a line, for `jackdaw import ndjson`.

    url=https://deb.debian.org/debian/dists/bookworm/main
    curl -O $url/binary-amd64/Packages.xz -O $url/i18n/Translation-en.xz
    python3 packages.py Packages.xz --descriptions Translation-en.xz > packages.ndjson

`Packages` has what is known of each package, but only the first line of its description; the whole
text is in `Translation-en`, under its MD5. Without `--descriptions` the field LongDescription is
left out. Files may be packed with xz or gzip, or not at all. Several `Packages` (those of
`bookworm-updates` too, say) make one list, in which a version of a package stands once.

Needs Python 3.9 or later, and nothing else.
"""

from __future__ import annotations

import argparse
import gzip
import json
import lzma
import os
import sys
from pathlib import Path
from typing import IO, Iterator

Paragraph = dict[str, str]


class Unusable(Exception):
    """A file that cannot be used, in a sentence."""


def open_text(path: Path) -> IO[str]:
    """Opens a file, unpacking it as its first bytes ask for."""
    with path.open("rb") as file:
        head = file.read(6)
    if head == b"\xfd7zXZ\x00":
        return lzma.open(path, "rt", encoding="utf-8", errors="replace", newline="\n")
    if head[:2] == b"\x1f\x8b":
        return gzip.open(path, "rt", encoding="utf-8", errors="replace", newline="\n")
    return path.open(encoding="utf-8", errors="replace", newline="\n")


def paragraphs(path: Path) -> Iterator[Paragraph]:
    """The paragraphs of a control file: fields by name; lines after the first keep their breaks."""
    try:
        with open_text(path) as lines:
            yield from split(path, lines)
    except (OSError, EOFError, lzma.LZMAError) as error:
        raise Unusable(f"cannot read {path}: {error}") from error


def split(path: Path, lines: IO[str]) -> Iterator[Paragraph]:
    paragraph: Paragraph = {}
    name = ""
    for number, line in enumerate(lines, start=1):
        line = line.rstrip("\n")
        if not line:
            if paragraph:
                yield paragraph
            paragraph, name = {}, ""
        elif line[0] in " \t" and name:
            paragraph[name] += "\n" + line[1:]
        else:
            name, colon, value = line.partition(":")
            if not colon or line[0] in " \t":
                raise Unusable(f"line {number} of {path} is no field: is it a Packages file?")
            paragraph[name] = value.strip()
    if paragraph:
        yield paragraph


def long_descriptions(path: Path) -> dict[str, str]:
    """The text below the first line of each description, by the MD5 that `Packages` names it by."""
    texts = {}
    for paragraph in paragraphs(path):
        lines = paragraph.get("Description-en", "").split("\n")[1:]
        # A dot alone stands for an empty line.
        text = "\n".join("" if line == "." else line for line in lines)
        texts[paragraph.get("Description-md5", "")] = text
    if not any(texts.values()):
        raise Unusable(f"{path} has no descriptions: is it a Translation-en?")
    return texts


def names(relations: str) -> list[str]:
    """`libc6 (>= 2.36), debconf | cdebconf` as the names alone."""
    wanted = (one.strip() for one in relations.replace("|", ",").split(","))
    return [one.split()[0].split(":")[0] for one in wanted if one]


def number(package: Paragraph, field: str) -> int:
    text = package.get(field, "0")
    try:
        return int(text)
    except ValueError:
        raise Unusable(f"{field} of {package['Package']} is {text!r}, not a number") from None


def document(package: Paragraph, position: int, texts: dict[str, str]) -> dict[str, object]:
    """The document of a package; what it does not name is left out."""
    fields: dict[str, object] = {"Id": f"packages/{position}"}
    for name in ("Package", "Version", "Source", "Section", "Priority", "Maintainer"):
        fields[name] = package.get(name)
    fields["InstalledSize"] = number(package, "Installed-Size")
    fields["Size"] = number(package, "Size")
    fields["Depends"] = names(package.get("Depends", ""))
    fields["Tags"] = [tag.strip() for tag in package.get("Tag", "").split(",") if tag.strip()]
    fields["Homepage"] = package.get("Homepage")
    fields["Filename"] = package.get("Filename")
    fields["Description"] = package.get("Description", "").split("\n")[0]
    fields["LongDescription"] = texts.get(package.get("Description-md5", ""))
    return {name: value for name, value in fields.items() if value is not None}


def write(packages: list[Path], descriptions: Path | None, out: IO[str]) -> int:
    """Writes the documents, a line each; gives their number."""
    texts = long_descriptions(descriptions) if descriptions else {}
    seen: set[tuple[str, str]] = set()
    for path in packages:
        for package in paragraphs(path):
            if "Package" not in package:
                raise Unusable(f"{path} has a paragraph without a Package: is it a Packages file?")
            version = (package["Package"], package.get("Version", ""))
            if version in seen:
                continue
            seen.add(version)
            line = document(package, len(seen), texts)
            json.dump(line, out, ensure_ascii=False, separators=(",", ":"))
            out.write("\n")
    if not seen:
        raise Unusable("no package was found: name a Packages file")
    return len(seen)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("packages", nargs="+", type=Path, metavar="PACKAGES")
    parser.add_argument("--descriptions", type=Path, metavar="TRANSLATION")
    arguments = parser.parse_args()
    try:
        sys.stdout.reconfigure(encoding="utf-8")
        count = write(arguments.packages, arguments.descriptions, sys.stdout)
        sys.stdout.flush()
    except Unusable as error:
        print(f"packages.py: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader has seen enough; the interpreter must not complain of it at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        print(f"packages.py: cannot write: {error}", file=sys.stderr)
        return 1
    print(f"{count} packages", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
