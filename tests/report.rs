//! `tyrion report`: programs whose right answer is known, and the JSON field by
//! field.

mod agreement;
mod convoy;
mod lock_order;
mod near_misses;
mod phases;
mod single_thread;
mod still_waiting;
mod wait_chains;
mod withheld;
