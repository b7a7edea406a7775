import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;
import org.gephi.graph.api.Graph;
import org.gephi.graph.api.GraphModel;
import org.gephi.graph.api.Node;

/** A renderer reads the graph while it waits for the screen; a writer queues, and all other readers behind it. */
public class Case {
    static final LongAdder readNanos = new LongAdder();
    static final LongAdder reads = new LongAdder();
    static final LongAdder writeNanos = new LongAdder();
    static final LongAdder writes = new LongAdder();

    /** Holds the read lock over its wait for the screen. */
    static void renderFrame(Graph graph) throws InterruptedException {
        graph.readLock();
        try {
            int shown = 0;
            for (Node node : graph.getNodes().toArray()) {
                shown += node.getId() == null ? 0 : 1;
            }
            TimeUnit.MILLISECONDS.sleep(400);
            if (shown == 0) {
                throw new IllegalStateException();
            }
        } finally {
            graph.readUnlock();
        }
    }

    static void importNode(GraphModel model, Graph graph, int number) {
        Node node = model.factory().newNode("imported-" + number);
        long start = System.nanoTime();
        graph.addNode(node);
        writeNanos.add(System.nanoTime() - start);
        writes.increment();
    }

    static void projectInfo(Graph graph) {
        long start = System.nanoTime();
        graph.getNodes().toArray();
        readNanos.add(System.nanoTime() - start);
        reads.increment();
    }

    interface Step {
        void run() throws InterruptedException;
    }

    static void start(String name, Step step) {
        Thread thread = new Thread(() -> {
            try {
                while (true) {
                    step.run();
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        GraphModel model = GraphModel.Factory.newInstance();
        Graph graph = model.getGraph();
        for (int i = 0; i < 100; i++) {
            importNode(model, graph, i);
        }
        projectInfo(graph);
        readNanos.reset();
        reads.reset();
        writeNanos.reset();
        writes.reset();
        start("renderer", () -> {
            renderFrame(graph);
            TimeUnit.MILLISECONDS.sleep(5);
        });
        int[] number = {100};
        start("importer", () -> {
            importNode(model, graph, number[0]++);
            TimeUnit.MILLISECONDS.sleep(5);
        });
        for (int i = 0; i < 6; i++) {
            start("http-info-" + i, () -> {
                projectInfo(graph);
                TimeUnit.MILLISECONDS.sleep(5);
            });
        }
        long begun = System.nanoTime();
        Thread.sleep(Math.max(0, (end - begun) / 1_000_000));
        double measured = (System.nanoTime() - begun) / 1e9;
        System.out.println("proof: reads=" + reads.sum() + " waited_s=" + readNanos.sum() / 1e9 + " of_s=" + 6 * measured);
        System.out.println("proof: writes=" + writes.sum() + " waited_s=" + writeNanos.sum() / 1e9 + " of_s=" + measured);
        Runtime.getRuntime().halt(0);
    }
}
