//! Simulated disk with faults, workloads and checkers: a development dependency only.
