//! A library that never comes back from being loaded.
#![cfg_attr(not(test), expect(unsafe_code, reason = "a constructor is declared by the section that it is in"))]

#[cfg(not(test))]
extern "C" fn wait() {
    loop {
        std::thread::park();
    }
}

// Not where cargo makes a test executable of this file.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = wait;
