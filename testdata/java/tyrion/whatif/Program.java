package tyrion.whatif;

/** A program whose threads do the same over and over, with a bottleneck or without. */
interface Program {
    /** How many threads there are. */
    int threads();

    /** One operation of one of the threads. */
    void step(Work work) throws InterruptedException;
}
