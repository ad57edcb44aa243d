//! The language, judged by others: its conformance suite, and the interpreter in Go.

mod conformance;
mod go;
mod listed;
