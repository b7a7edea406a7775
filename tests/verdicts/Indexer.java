import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.store.ByteBuffersDirectory;

/**
 * Eight threads index small documents with one IndexWriter of Lucene, into memory.
 *
 * <p>Usage: {@code java Indexer [SECONDS]}. Prints how many documents there are.
 */
public final class Indexer {
    private static final int THREADS = 8;
    private static final int WORDS = 200;
    private static final int VOCABULARY = 50_000;

    private volatile boolean stopping;

    public static void main(String[] args) throws Exception {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 10;
        System.out.println(new Indexer().run(seconds) + " documents");
    }

    private long run(double seconds) throws Exception {
        IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer());
        config.setRAMBufferSizeMB(16);
        try (IndexWriter writer = new IndexWriter(new ByteBuffersDirectory(), config)) {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < THREADS; i++) {
                SplittableRandom random = new SplittableRandom(i);
                Thread thread = new Thread(() -> index(writer, random), "indexer-" + i);
                threads.add(thread);
                thread.start();
            }
            Thread.sleep((long) (seconds * 1000));
            stopping = true;
            for (Thread thread : threads) {
                thread.join();
            }
            return writer.getDocStats().numDocs;
        }
    }

    private void index(IndexWriter writer, SplittableRandom random) {
        try {
            for (long id = 0; !stopping; id++) {
                Document document = new Document();
                document.add(new StringField("id", Long.toString(id), Field.Store.YES));
                document.add(new TextField("body", words(random), Field.Store.NO));
                writer.addDocument(document);
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
