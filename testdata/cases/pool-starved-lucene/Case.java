import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.LeafReaderContext;
import org.apache.lucene.index.NoMergePolicy;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.ByteBuffersDirectory;

/** Searches run in the same pool in which the searcher searches its segments. */
public class Case {
    static final AtomicInteger numbers = new AtomicInteger();
    static final AtomicInteger answered = new AtomicInteger();

    static volatile long lastAnswer;

    static DirectoryReader index(int segments) throws Exception {
        ByteBuffersDirectory directory = new ByteBuffersDirectory();
        try (IndexWriter writer = new IndexWriter(directory, new IndexWriterConfig().setMergePolicy(NoMergePolicy.INSTANCE))) {
            for (int i = 0; i < segments; i++) {
                Document document = new Document();
                document.add(new TextField("body", "book number " + i, Field.Store.NO));
                writer.addDocument(document);
                writer.commit();
            }
        }
        return DirectoryReader.open(directory);
    }

    static int searchCatalogue(IndexSearcher searcher) throws Exception {
        int hits = searcher.search(new TermQuery(new Term("body", "book")), 10).scoreDocs.length;
        answered.incrementAndGet();
        lastAnswer = System.nanoTime();
        return hits;
    }

    public static void main(String[] args) throws Exception {
        int seconds = Integer.parseInt(args[0]);
        long end = System.nanoTime() + seconds * 1_000_000_000L;
        ExecutorService searches = Executors.newFixedThreadPool(6, task -> {
            Thread thread = new Thread(task, "search-" + numbers.incrementAndGet());
            thread.setDaemon(true);
            return thread;
        });
        IndexSearcher searcher = new IndexSearcher(index(8), searches) {
            @Override
            protected LeafSlice[] slices(List<LeafReaderContext> leaves) {
                return slices(leaves, 1, 1);
            }
        };
        searchCatalogue(searcher); // from outside of the pool it works
        long start = System.nanoTime();
        List<Future<Integer>> requests = new ArrayList<>();
        for (int i = 0; i < 24; i++) {
            requests.add(searches.submit(() -> searchCatalogue(searcher)));
        }
        Thread front = new Thread(() -> {
            try {
                for (Future<Integer> request : requests) {
                    request.get();
                }
            } catch (Exception e) {
                e.printStackTrace();
            }
        }, "front");
        front.setDaemon(true);
        front.start();
        Thread.sleep(Math.max(0, (end - System.nanoTime()) / 1_000_000));
        System.out.println("proof: requests=24 answered=" + (answered.get() - 1) + " last_after_s=" + (lastAnswer - start) / 1e9);
        System.out.println("proof: " + searches);
        Runtime.getRuntime().halt(0);
    }
}
