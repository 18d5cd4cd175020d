"""Makes `catalogue` from recordings in Markdown: `convert.py FOLDER`. Run by hand, when recordings change.

What is left out of the catalogue: pages that are text of another product, and its sample data. Names of that product
inside data become neutral ones, on both sides of an exchange.
"""

import re
import sys
from dataclasses import replace
from pathlib import Path

import exchange as exchanges

CATALOGUE = Path(__file__).with_name("catalogue")
REPLACED = (
    (re.compile(r"studio/db1-data"), "studio/sample-data"),
    (re.compile(r"create db1 data"), "create sample data"),
    (re.compile(r"ravendb\.(?:tests|infrastructure)\.[\w.]*?(\w+)(?=\")"), r"tests.\1"),
    (re.compile(r"RavenDB(?! ETL)"), "Product"),
    (re.compile(r"ravendb(?=[_-]|\b)", re.IGNORECASE), "product"),
    (re.compile(r"Hibernating Rhinos"), "Some Company"),
    # The name of a database inside the name of a file, which was left as it was.
    (re.compile(r"Errs2(?=_A_)"), "db1"),
)
# Sample data: definitions are left out, people become others.
SAMPLE_DEFINITIONS = re.compile(r"ByShipment/Location.*\"Maps\"|\"Maps\".*ByShipment/Location", re.DOTALL)
PERSON = re.compile(
    r'"(LastName|FirstName|Title|Line1|Line2|City|Region|PostalCode|Country|HomePhone|Extension)":"[^"]*"'
)
NOTES = re.compile(r'"Notes":\[[^\]]*\]')
# Bodies that are not facts of the protocol.
PAGE = re.compile(r"\A\s*<!doctype html", re.IGNORECASE)


def main():
    CATALOGUE.mkdir(exist_ok=True)
    for area, every in exchanges.load(sys.argv[1]).items():
        lines = [exchanges.to_line(neutral(one)) for one in every]
        (CATALOGUE / f"{area}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
        print(f"{area}: {len(lines)}")


def neutral(one):
    answer = one.answer
    if PAGE.match(answer) or SAMPLE_DEFINITIONS.search(answer):
        answer = f"[not reproduced, {len(answer)} bytes]"
    if '"@collection":"Employees"' in answer and '"Notes":["' in answer:
        answer = PERSON.sub(lambda match: f'"{match[1]}":"some {match[1].lower()}"', answer)
        answer = NOTES.sub('"Notes":["Speaks fluent French."]', answer)
    return replace(one, target=plain(one.target), body=plain(one.body), answer=plain(answer))


def plain(text):
    for pattern, word in REPLACED:
        text = pattern.sub(word, text)
    return text


if __name__ == "__main__":
    main()
