/** A profiler for JMH that tells what locks cost a benchmark. */
package tyrion.jmh;
