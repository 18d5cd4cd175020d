//! The memory of a realm: Rust's allocator, counted.
//!
//! What a realm keeps between two runs is looked at after each of them, which may not cost a walk
//! over its heap. The engine keeps its own limit beside this count.
#![expect(
    unsafe_code,
    reason = "the engine asks for memory through an unsafe trait; see docs/unsafe.md"
)]

use std::cell::Cell;
use std::ptr;
use std::rc::Rc;

use rquickjs::allocator::{Allocator, RustAllocator};

/// Bytes that a realm has at the moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryCount(Rc<Cell<usize>>);

impl MemoryCount {
    pub(crate) fn bytes(&self) -> usize {
        self.0.get()
    }

    /// Memory that was given; null when there is none.
    fn add(&self, memory: *mut u8) -> *mut u8 {
        if !memory.is_null() {
            // SAFETY: the memory is of `RustAllocator`, which gave it just now.
            let bytes = unsafe { RustAllocator::usable_size(memory) };
            self.0.set(self.0.get() + bytes);
        }
        memory
    }

    /// Memory that is about to be taken back.
    fn remove(&self, memory: *mut u8) {
        // SAFETY: the memory is of `RustAllocator`, as the callers below promise, and not yet free.
        let bytes = unsafe { RustAllocator::usable_size(memory) };
        self.0.set(self.0.get() - bytes);
    }
}

// SAFETY: everything is what `RustAllocator` gives; null is never handed to it.
unsafe impl Allocator for MemoryCount {
    fn alloc(&mut self, size: usize) -> *mut u8 {
        self.add(RustAllocator.alloc(size))
    }

    fn calloc(&mut self, count: usize, size: usize) -> *mut u8 {
        match count.checked_mul(size) {
            Some(_) => self.add(RustAllocator.calloc(count, size)),
            None => ptr::null_mut(),
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
        // SAFETY: as above.
        let moved = unsafe { RustAllocator.realloc(memory, new_size) };
        if !moved.is_null() {
            self.0.set(self.0.get() - before);
        }
        self.add(moved)
    }

    unsafe fn usable_size(memory: *mut u8) -> usize {
        // SAFETY: the caller promises that it came from here.
        unsafe { RustAllocator::usable_size(memory) }
    }
}
