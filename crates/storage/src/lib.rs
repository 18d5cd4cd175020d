//! Pages, trees, journal, transactions and recovery.
