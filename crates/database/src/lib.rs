//! Documents, collections, change vectors, indexes and their workers.
