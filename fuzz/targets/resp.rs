//! Requests of the Redis protocol: no panic, the same commands whether the bytes come at once or in
//! pieces, and nothing read beyond the input.
#![no_main]

use jackdaw_redis::{ParserLimits, RequestParser};
use libfuzzer_sys::fuzz_target;

const LIMITS: ParserLimits = ParserLimits {
    arguments_max: 1024,
    bulk_bytes_max: 4096,
    command_bytes_max: 16_384,
};

fuzz_target!(|input: &[u8]| {
    assert_eq!(commands(input, usize::MAX), commands(input, 1));
});

/// Every command of the input, which arrives in pieces of `step` bytes, and the error, if any.
fn commands(input: &[u8], step: usize) -> (Vec<Vec<Vec<u8>>>, Option<String>) {
    let mut parser = RequestParser::default();
    let mut commands = Vec::new();
    let (mut start, mut end) = (0, step.min(input.len()));
    loop {
        match parser.read(&input[start..end], &LIMITS) {
            Ok(Some(len)) => {
                let arguments = parser.arguments(&input[start..end]);
                commands.push(arguments.iter().map(|a| a.to_vec()).collect());
                assert!(len > 0 && start + len <= end);
                start += len;
            }
            Ok(None) if end == input.len() => return (commands, None),
            Ok(None) => end = end.saturating_add(step).min(input.len()),
            Err(error) => return (commands, Some(error.to_string())),
        }
    }
}
