import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.LongAdder;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.store.ByteBuffersDirectory;
import tyrion.support.Json;
import tyrion.support.Measurement;
import tyrion.support.Pace;

/**
 * Eight threads index small documents with one IndexWriter of Lucene, into memory. Each replaces
 * what it has indexed long before, so that the index stays as large as it is.
 *
 * <p>Usage: {@code java Indexer [SECONDS [WARMUP]]}, defaults 10 and 0. Prints one JSON object,
 * about the documents that were indexed in the time after the warm-up.
 */
public final class Indexer {
    private static final int THREADS = 8;
    private static final int WORDS = 200;
    private static final int VOCABULARY = 50_000;
    private static final int KEPT = 5_000;

    private final LongAdder indexed = new LongAdder();
    private volatile boolean stopping;

    public static void main(String[] args) throws Exception {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 10;
        double warmupSeconds = args.length > 1 ? Double.parseDouble(args[1]) : 0;
        System.out.println(new Indexer().run(seconds, warmupSeconds));
    }

    private Json run(double seconds, double warmupSeconds) throws Exception {
        IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer());
        config.setRAMBufferSizeMB(16);
        try (IndexWriter writer = new IndexWriter(new ByteBuffersDirectory(), config)) {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                int nth = i;
                Thread thread = new Thread(() -> index(writer, nth), "indexer-" + i);
                threads.add(thread);
                thread.start();
            }
            Measurement measured = Measurement.of(warmupSeconds, seconds, indexed::sum);
            stopping = true;
            for (Thread thread : threads) {
                thread.join();
            }
            return new Json()
                    .put("subject", "Indexer")
                    .put("documents", measured.count)
                    .put("documents_per_second", measured.perSecond())
                    .put("documents_per_cpu_second", measured.perCpuSecond())
                    .put("process_cpu_ns", measured.cpuNanos)
                    .put("wall_ns", measured.wallNanos);
        }
    }

    private void index(IndexWriter writer, int nth) {
        SplittableRandom random = new SplittableRandom(nth);
        Pace.Turns turns = Pace.turns(nth, THREADS);
        try {
            for (long count = 0; !stopping; count++) {
                turns.await();
                String id = nth + "-" + count % KEPT;
                Document document = new Document();
                document.add(new StringField("id", id, Field.Store.YES));
                document.add(new TextField("body", words(random), Field.Store.NO));
                writer.updateDocument(new Term("id", id), document);
                turns.done();
                indexed.increment();
            }
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
    }

    private static String words(SplittableRandom random) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < WORDS; i++) {
            text.append('w').append(random.nextInt(VOCABULARY)).append(' ');
        }
        return text.toString();
    }
}
