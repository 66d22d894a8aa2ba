//! Memory that cannot be had is an error like any other: a sentence and exit code 1, not an abort.

#![allow(unsafe_code)] // the trait of allocators is

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};

/// The system's allocator, which ends the program where it has nothing left.
struct Sparing;

#[global_allocator]
static SPARING: Sparing = Sparing;

/// Whether a thread is telling already: the others wait for the end.
static TELLING: AtomicBool = AtomicBool::new(false);

#[cold]
fn refuse(bytes: usize) -> ! {
    if TELLING.swap(true, Ordering::Relaxed) {
        loop {
            std::thread::park();
        }
    }
    // Neither the message nor the exit may allocate: this stream has no buffer.
    let expected =
        "expected as much; try smaller data, fewer --threads or a machine with more memory";
    let mut out = std::io::stderr();
    let _ = writeln!(
        out,
        "collapsar: error: memory: {bytes} bytes could not be had, {expected}"
    );
    // Without destructors: they may allocate. The next run removes what this one leaves.
    std::process::exit(1)
}

// Safety: everything is the system's; a null pointer is never given to anyone.
unsafe impl GlobalAlloc for Sparing {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let pointer = unsafe { System.alloc(layout) };
        if pointer.is_null() {
            refuse(layout.size());
        }
        pointer
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let pointer = unsafe { System.alloc_zeroed(layout) };
        if pointer.is_null() {
            refuse(layout.size());
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let pointer = unsafe { System.realloc(pointer, layout, size) };
        if pointer.is_null() {
            refuse(size);
        }
        pointer
    }
}
