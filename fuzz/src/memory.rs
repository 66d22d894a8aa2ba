//! An allocator that counts: what a small input makes the program take beyond the limit is a defect.

#![allow(unsafe_code)] // the trait of allocators is

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that may be in use at once for an input below 100 kB.
pub const LIMIT: usize = 1 << 30;

/// The system's allocator, with the bytes in use.
pub struct Counting {
    used: AtomicUsize,
    most: AtomicUsize,
    limit: AtomicUsize,
}

impl Default for Counting {
    fn default() -> Self {
        Self::new()
    }
}

impl Counting {
    /// One that has counted nothing and refuses nothing.
    pub const fn new() -> Self {
        Self {
            used: AtomicUsize::new(0),
            most: AtomicUsize::new(0),
            limit: AtomicUsize::new(usize::MAX),
        }
    }

    /// Ends the process where more than `limit` bytes are in use.
    pub fn end_beyond(&self, limit: usize) {
        self.limit.store(limit, Ordering::Relaxed);
    }

    /// The most bytes in use at once since the last call, beyond those in use then.
    pub fn peak(&self) -> usize {
        let used = self.used.load(Ordering::Relaxed);
        self.most.swap(used, Ordering::Relaxed).saturating_sub(used)
    }

    fn take(&self, bytes: usize) {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.most.fetch_max(used, Ordering::Relaxed);
        if used > self.limit.load(Ordering::Relaxed) {
            // Without a message: to format one may allocate. The stack of the abort says where.
            std::process::abort();
        }
    }

    fn leave(&self, bytes: usize) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
    }
}

// Safety: everything is the system's; counting touches no memory that is handed out.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.take(layout.size());
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        self.take(layout.size());
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        self.leave(layout.size());
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // Both may be in use while bytes are moved.
        self.take(size);
        self.leave(layout.size());
        unsafe { System.realloc(pointer, layout, size) }
    }
}
