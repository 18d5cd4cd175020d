//! Tests of databases from outside, all on the simulated disk, in one binary.
//!
//! `model` compares with plain maps over random changes, reopening and power loss; `documents`
//! proves single facts about changes and listings; `sets` about databases as a whole; `imports`
//! about bulk import, `queries` about automatic indexes, `groups` about `group by`,
//! `static_indexes` about those that somebody defined, `beside` about what documents have beside
//! their bodies, revisions and compare-exchange, `due` about dates in metadata, `series_policies`
//! about rolling up and retention of time series, `backups` about backups of a data directory,
//! `backup_places` about where they may be,
//! `encryption` about what of them can be read on the disk, `durable_writes` about what indexes
//! cost, `values` about instants, numbers and entries in static indexes, `vectors` about searches
//! for vectors through indexes of either kind, `foresight` about patches that are worked out before
//! their transaction, `guards` about guards of cluster-wide transactions and values of
//! compare-exchange that expire, `unknown_directories` about directories of databases and
//! indexes that nothing names, `node_tags` about the tag in change vectors and ids,
//! `index_batches` about indexes that make much of little,
//! `lost_files` about random removals and copies between runs,
//! `places` about fields of places in static indexes, `javascript_indexes` about what
//! maps in JavaScript read and make, and the fields that facets name,
//! `rest` about closing databases that nothing uses.

#![expect(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod backup_places;
mod backups;
mod beside;
mod common;
mod documents;
mod due;
mod durable_writes;
mod encryption;
mod explain;
mod foresight;
mod groups;
mod guards;
mod imports;
mod index_batches;
mod javascript_indexes;
mod lost_files;
mod model;
mod node_tags;
mod older_indexes;
mod places;
mod queries;
mod rest;
mod series_policies;
mod sets;
mod static_indexes;
mod unknown_directories;
mod values;
mod vectors;
