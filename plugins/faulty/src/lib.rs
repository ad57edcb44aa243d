//! Misbehaves on request, for the tests.
