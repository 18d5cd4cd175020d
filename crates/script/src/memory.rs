//! The memory of a realm: Rust's allocator, counted.
//!
//! What a realm keeps between two runs is looked at after each of them, which may not cost a walk
//! over its heap. The engine keeps its own limit beside this count.
//!
//! Operators over long BigInts and texts run for long between two looks at the limits, and each
//! takes memory for its result first: when the time is up, it gets none.
#![expect(
    unsafe_code,
    reason = "the engine asks for memory through an unsafe trait; see docs/unsafe.md"
)]

use std::cell::Cell;
use std::ptr;
use std::rc::Rc;

use rquickjs::allocator::{Allocator, RustAllocator};

use crate::machine::Budget;

/// Memory asked for at once that is a look at the time; 10,000 products of BigInts of fewer bytes,
/// all between two looks of the engine, take about half a second.
const LOOKED_BYTES_MIN: usize = 1 << 10;

/// Bytes that a realm has at the moment.
#[derive(Clone, Default)]
pub(crate) struct MemoryCount {
    bytes: Rc<Cell<usize>>,
    budget: Rc<Budget>,
}

impl MemoryCount {
    /// Of a realm whose runs have `budget`.
    pub(crate) fn new(budget: Rc<Budget>) -> MemoryCount {
        MemoryCount {
            bytes: Rc::default(),
            budget,
        }
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    fn is_refused(&self, size: usize) -> bool {
        size >= LOOKED_BYTES_MIN && self.budget.is_out_of_time()
    }

    /// Memory that was given; null when there is none.
    fn add(&self, memory: *mut u8) -> *mut u8 {
        if !memory.is_null() {
            // SAFETY: the memory is of `RustAllocator`, which gave it just now.
            let bytes = unsafe { RustAllocator::usable_size(memory) };
            self.bytes.set(self.bytes.get() + bytes);
        }
        memory
    }

    /// Memory that is about to be taken back.
    fn remove(&self, memory: *mut u8) {
        // SAFETY: the memory is of `RustAllocator`, as the callers below promise, and not yet free.
        let bytes = unsafe { RustAllocator::usable_size(memory) };
        self.bytes.set(self.bytes.get() - bytes);
    }
}

// SAFETY: everything is what `RustAllocator` gives; null is never handed to it.
unsafe impl Allocator for MemoryCount {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        if self.is_refused(size) {
            return ptr::null_mut();
        }
        self.add(RustAllocator.alloc(size))
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        match count.checked_mul(size) {
            Some(bytes) if !self.is_refused(bytes) => self.add(RustAllocator.calloc(count, size)),
            _ => ptr::null_mut(),
        }
    }

    unsafe fn dealloc(&mut self, memory: *mut u8) {
        if memory.is_null() {
            return;
        }
        self.remove(memory);
        // SAFETY: the caller promises that it came from here, which is from `RustAllocator`.
        unsafe { RustAllocator.dealloc(memory) };
    }

    unsafe fn realloc(&mut self, memory: *mut u8, new_size: usize) -> *mut u8 {
        if memory.is_null() {
            return self.alloc(new_size);
        }
        // SAFETY: the caller promises that it came from here and is not free.
        let before = unsafe { RustAllocator::usable_size(memory) };
        if new_size > before && self.is_refused(new_size) {
            return ptr::null_mut();
        }
        // SAFETY: as above.
        let moved = unsafe { RustAllocator.realloc(memory, new_size) };
        if !moved.is_null() {
            self.bytes.set(self.bytes.get() - before);
        }
        self.add(moved)
    }

    unsafe fn usable_size(memory: *mut u8) -> usize {
        // SAFETY: the caller promises that it came from here.
        unsafe { RustAllocator::usable_size(memory) }
    }
}
