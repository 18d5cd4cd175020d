"""Sorters: recordings shorten their source, so one of our own that does the same stands in for it.

The recorded one throws what its constructor was told, at the first thing that is asked of it.
"""

import dataclasses
import json
import re

SORTED = re.compile(r"custom\(name, '(\w+)'\)")
SOURCE = """
using System;
using System.Collections.Generic;
using Lucene.Net.Index;
using Lucene.Net.Search;
using Lucene.Net.Store;

public class MySorter : FieldComparator
{
    private readonly string _told;

    public MySorter(string fieldName, int numHits, int sortPos, bool reversed, List<string> diagnostics)
    {
        _told = $"{fieldName}:{numHits}:{sortPos}:{reversed}";
    }

    public override int Compare(int slot1, int slot2) { throw new InvalidOperationException($"MARK: {_told}"); }
    public override void SetBottom(int slot) { throw new InvalidOperationException($"MARK: {_told}"); }
    public override int CompareBottom(int doc, IState state) => throw new InvalidOperationException($"MARK: {_told}");
    public override void Copy(int slot, int doc, IState state) => throw new InvalidOperationException($"MARK: {_told}");

    public override void SetNextReader(IndexReader reader, int docBase, IState state)
    {
        throw new InvalidOperationException($"MARK: {_told}");
    }

    public override IComparable this[int slot] => throw new InvalidOperationException($"MARK: {_told}");
}
"""


def put(stage, exchange, fixtures):
    """The exchange with a whole source."""
    asked = exchange.asked()
    for sorter in asked["Sorters"]:
        if sorter["Code"].startswith("[source"):
            sorter["Code"] = SOURCE
    return dataclasses.replace(exchange, body=json.dumps(asked))


def before_query(stage, exchange, text):
    """Two documents, and the sorter when the answer knows one."""
    if not SORTED.search(text):
        return
    for name in ("C1", "C2"):
        stage.put(f"companies/{name}", {"name": name, "@metadata": {"@collection": "Companies"}})
    told = re.match(r"(Catch me[ \d]*): ", exchange.answered().get("Message", ""))
    if told:
        sorter = {"Name": "MySorter", "Code": SOURCE.replace("MARK", told[1])}
        stage.must("PUT", "/admin/sorters", {"Sorters": [sorter]})


RECIPES = {"PUT /databases/{db}/admin/sorters": put}
