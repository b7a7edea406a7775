//! `tyrion metrics`: of programs that run and of logs, to clients that behave and to
//! those that do not, and to Prometheus.

mod attacked;
mod live;
mod scraped;
mod served;
