//! What scripts can and cannot do: patches and values, the short way of simple ones, fidelity of
//! numbers and order, limits, the sandbox, metadata, maps and reduces of indexes.

mod assignments;
mod bombs;
mod clients;
mod common;
mod functions;
mod index_attachments;
mod index_world;
mod indexes;
mod linq;
mod metadata;
mod patches;
mod sandbox;
mod twins;
