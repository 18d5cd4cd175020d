//! Inverted index: terms, posting lists, set operations, analyzers.
