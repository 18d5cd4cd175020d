//! What the allocator keeps for a thread, given back.
//!
//! Called by threads of the server that are about to wait, through the hook that the binary sets;
//! only with the feature `mimalloc`, which is for programs whose allocator that is. mimalloc keeps
//! a heap for each thread, and what another thread frees in it stays there until its owner
//! allocates again. A module of its own because the crate offers the call as a foreign function.
#![expect(
    unsafe_code,
    reason = "mi_collect is only offered as a foreign function"
)]

/// Takes back what others freed in the heap of this thread, and gives empty pages of the process to
/// the system. Takes less than a millisecond mostly, and some for a large heap.
pub fn give_back() {
    // SAFETY: the call takes a plain boolean. It touches the heap of the calling thread, if it has
    // one, and what all threads share by mimalloc's own locks; any thread may call it at any time.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
