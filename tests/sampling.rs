//! Sampling: programs that know what their threads do, beside two samplers in
//! plain Java of which Tyrion's own rules come.

mod applications;
mod forebears;
mod harmless;
mod json;
mod live;
mod lives;
mod outputs;
mod shares;
