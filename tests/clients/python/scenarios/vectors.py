"""Searches for vectors: by the query builder, over documents and over a static index."""

from harness import equal, raises, scenario
from ravendb import IndexDefinition, PutIndexesOperation
from ravendb.documents.indexes.definitions import IndexFieldOptions

# Release 5 does not know these, and runs no scenario of this file.
try:
    from ravendb.documents.indexes.vector.embedding import VectorEmbeddingType
    from ravendb.documents.indexes.vector.options import VectorOptions
except ImportError:
    pass


class Picture:
    def __init__(self, name=None, kind=None, embedding=None):
        self.name = name
        self.kind = kind
        self.embedding = embedding


PICTURES = [
    ("sun", "sky", [1.0, 0.0, 0.0]),
    ("moon", "sky", [0.9, 0.4, 0.0]),
    ("tree", "wood", [0.0, 1.0, 0.0]),
    ("root", "wood", [0.0, 0.9, 0.4]),
    ("night", "sky", [-1.0, 0.0, 0.0]),
]


def _store(store):
    with store.open_session() as session:
        for name, kind, embedding in PICTURES:
            session.store(Picture(name, kind, embedding), f"pictures/{name}")
        session.save_changes()


def _names(query):
    return [one.name for one in query.wait_for_non_stale_results()]


@scenario(since=7)
def vectors_near_to_one_are_found(store):
    _store(store)
    target = [1.0, 0.1, 0.0]
    with store.open_session() as session:
        pictures = lambda: session.query(object_type=Picture)  # noqa: E731
        equal(_names(pictures().vector_search("embedding", target)), ["sun", "moon", "tree", "root", "night"])
        near = pictures().vector_search("embedding", target, minimum_similarity=0.9)
        equal(_names(near), ["sun", "moon"])
        one = pictures().vector_search("embedding", target, number_of_candidates=1, is_exact=True)
        equal(_names(one), ["sun"])
        bytes_ = pictures().vector_search(
            "embedding", target, number_of_candidates=2, target_quantization=VectorEmbeddingType.INT8
        )
        equal(_names(bytes_), ["sun", "moon"])
        text = "from Pictures where kind = 'wood' and vector.search(embedding, $v, 0, 1)"
        query = session.advanced.raw_query(text, Picture).add_parameter("v", target)
        equal(_names(query), ["tree"])
        with raises("3 dimensions"):
            _names(pictures().vector_search("embedding", [1.0, 0.0]))


@scenario(since=7)
def vectors_of_a_static_index_are_found(store):
    definition = IndexDefinition("Pictures/ByVector")
    definition.maps = {"from p in docs.Pictures select new { p.kind, Vector = CreateVector(p.embedding) }"}
    vector = VectorOptions(VectorEmbeddingType.SINGLE, VectorEmbeddingType.INT8, dimensions=3)
    definition.fields = {"Vector": IndexFieldOptions(vector=vector)}
    store.maintenance.send(PutIndexesOperation(definition))
    _store(store)
    with store.open_session() as session:
        text = "from index 'Pictures/ByVector' where kind = $k and vector.search(Vector, $v, 0.5)"
        query = session.advanced.raw_query(text, Picture)
        query = query.add_parameter("k", "sky").add_parameter("v", [1.0, 0.1, 0.0])
        equal(_names(query), ["sun", "moon"])
