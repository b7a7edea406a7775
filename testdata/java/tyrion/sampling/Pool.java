package tyrion.sampling;

import java.util.concurrent.ThreadFactory;

/** Makes the one thread of a pool, which measures how long it is without a task. */
final class Pool implements ThreadFactory {
    private volatile Worker worker;

    @Override
    public Thread newThread(Runnable body) {
        worker = new Worker(body);
        return worker;
    }

    Worker worker() {
        return worker;
    }

    /** The thread. Its loop is the pool's; {@code live} is what its stack has of ours. */
    static final class Worker extends Actor {
        private final Runnable body;
        private Activity idle;

        Worker(Runnable body) {
            super("pool-1-thread-1");
            this.body = body;
        }

        @Override
        void live() {
            idle = begin("live", "idle");
            body.run();
            end(idle);
        }

        private void serve(int millis) {
            end(idle);
            Activity activity = begin("serving", "sleeping");
            serving(millis);
            end(activity);
            idle = begin("live", "idle");
        }

        private void serving(int millis) {
            try {
                Thread.sleep(millis);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    /** A task that takes its time, without computing. */
    static final class Task implements Runnable {
        private final int millis;

        Task(int millis) {
            this.millis = millis;
        }

        @Override
        public void run() {
            ((Worker) Thread.currentThread()).serve(millis);
        }
    }
}
