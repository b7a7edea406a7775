import java.util.concurrent.locks.ReentrantLock;
import kotlin.Unit;
import kotlin.coroutines.CoroutineContext;
import kotlinx.coroutines.BuildersKt;
import kotlinx.coroutines.CoroutineDispatcher;
import kotlinx.coroutines.CoroutineStart;
import kotlinx.coroutines.Dispatchers;
import kotlinx.coroutines.GlobalScope;

/** Kotlin's dispatchers, of which Default has 8 threads; arguments: the dispatcher, what is done, and each how many milliseconds, or how many do it. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[3]);
        Meter.start(seconds);
        CoroutineDispatcher dispatcher = arguments[1].equals("io") ? Dispatchers.getIO() : Dispatchers.getDefault();
        Photos photos = new Photos(dispatcher);
        for (int i = 0; i < 50; i++) {
            photos.launch(photos::load);
        }
        Meter.pause(300);
        if (arguments[2].equals("album")) {
            for (int i = 0; i < number; i++) {
                photos.addAgain();
            }
        } else if (arguments[2].equals("wait")) {
            Meter.threads(number, "viewer", photos::loadAndWait);
        } else if (number > 0) {
            Meter.each(number, "viewers", () -> photos.launch(photos::load));
        }
        Meter.end(seconds, "DefaultDispatcher-worker");
    }
}

class Photos {
    private final CoroutineContext dispatcher;
    private final Album album = new Album();

    Photos(CoroutineContext dispatcher) {
        this.dispatcher = dispatcher;
    }

    void launch(Runnable code) {
        BuildersKt.launch(GlobalScope.INSTANCE, dispatcher, CoroutineStart.DEFAULT, (scope, continuation) -> {
            code.run();
            return Unit.INSTANCE;
        });
    }

    /** A call that blocks. */
    void load() {
        Meter.handles();
        Meter.pause(20);
        Meter.handled();
    }

    void loadAndWait() throws InterruptedException {
        Meter.waits();
        BuildersKt.runBlocking(dispatcher, (scope, continuation) -> {
            load();
            return Unit.INSTANCE;
        });
        Meter.waited();
    }

    void addAgain() {
        launch(() -> {
            Meter.handles();
            album.add();
            Meter.handled();
            addAgain();
        });
    }
}

class Album {
    private final ReentrantLock lock = new ReentrantLock();

    void add() {
        Meter.waits();
        lock.lock();
        Meter.waited();
        try {
            Meter.pause(20);
        } finally {
            lock.unlock();
        }
    }
}
