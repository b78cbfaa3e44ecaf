//! Placeholder until its first slice.
