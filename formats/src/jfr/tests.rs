//! Recordings made by hand, whole and damaged.
