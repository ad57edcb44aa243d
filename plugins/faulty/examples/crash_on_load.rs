//! A library that takes its process down while it is loaded.
#![cfg_attr(not(test), expect(unsafe_code, reason = "a constructor is declared by the section that it is in"))]

#[cfg(not(test))]
extern "C" fn crash() {
    std::process::abort();
}

// Not where cargo makes a test executable of this file.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = crash;
