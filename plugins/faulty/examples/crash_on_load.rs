//! A library that takes its process down while it is loaded.
#![expect(unsafe_code, reason = "a constructor is declared by the section that it is in")]

extern "C" fn crash() {
    std::process::abort();
}

#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = crash;
