//! What a script may use.

/// Bounds of one run of a script. Time is the host's matter: see [`Host`](crate::Host).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScriptLimits {
    /// Turns of loops and calls of functions, counted in steps of 10,000. Default 1,000,000: some
    /// tens of milliseconds.
    pub steps_max: u64,
    /// Memory of the machine with everything in it, in bytes. Default 32 MiB.
    pub memory_bytes_max: usize,
    /// Stack of nested calls, in bytes. Default 256 KiB.
    pub stack_bytes_max: usize,
    /// Text of a script, in bytes. Default 256 KiB.
    pub text_bytes_max: usize,
}

impl Default for ScriptLimits {
    fn default() -> ScriptLimits {
        ScriptLimits {
            steps_max: 1_000_000,
            memory_bytes_max: 32 << 20,
            stack_bytes_max: 256 << 10,
            text_bytes_max: 256 << 10,
        }
    }
}
