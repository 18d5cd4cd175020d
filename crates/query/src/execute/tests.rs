//! Proves: results, totals and orders are those of the rules, the same with an index (behind the
//! documents or not) as without one.

mod called_conditions;
mod called_groups;
mod differential;
mod grouped;
mod kept_groups;
mod loaded_documents;
mod parallel_arrays;
mod results;
mod script_functions;
mod scripted;
mod search;
mod sorters;
mod values;
mod vectors;
