//! What scripts can and cannot do: patches and values, fidelity of numbers and order, limits, the
//! sandbox, maps and reduces of indexes.

mod bombs;
mod clients;
mod common;
mod index_world;
mod indexes;
mod linq;
mod patches;
mod sandbox;
mod twins;
