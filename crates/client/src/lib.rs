//! A small blocking Rust client, used by the command line, examples and tests.
