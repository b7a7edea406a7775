import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.http.HttpServer;

/** Vert.x with 8 worker threads; arguments: path and number of clients, "reports" are made by threads of this process. */
public class Case {
    public static void main(String[] arguments) throws Exception {
        int seconds = Integer.parseInt(arguments[0]);
        int number = Integer.parseInt(arguments[2]);
        Meter.start(seconds);
        Clients clients = number == 0 || arguments[1].equals("reports") ? null : Clients.start();
        Vertx vertx = Vertx.vertx(new VertxOptions().setWorkerPoolSize(8));
        Desk desk = new Desk(vertx);
        HttpServer server = vertx.createHttpServer()
                .requestHandler(request -> vertx.executeBlocking(() -> desk.answer(request.path()), false)
                        .onSuccess(request.response()::end).onFailure(Throwable::printStackTrace))
                .listen(0, "127.0.0.1").toCompletionStage().toCompletableFuture().get();
        Clients.ask(server.actualPort(), "/ticket", 20);
        if (clients != null) {
            clients.begin(server.actualPort(), arguments[1], number);
        } else {
            Meter.threads(number, "report", desk::report);
        }
        Meter.end(seconds, "vert.x-worker");
    }
}

class Desk {
    private final Printer printer = new Printer();
    private final Vertx vertx;

    Desk(Vertx vertx) {
        this.vertx = vertx;
    }

    String answer(String path) {
        Meter.handles();
        if (path.equals("/print")) {
            Meter.waits();
            printer.print();
        } else {
            Meter.pause(5);
        }
        Meter.handled();
        return "done";
    }

    /** Waits until a worker has made it. */
    void report() throws Exception {
        Meter.waits();
        vertx.executeBlocking(() -> answer("/report"), false).toCompletionStage().toCompletableFuture().get();
        Meter.waited();
    }
}

class Printer {
    private int pages;

    synchronized void print() {
        Meter.waited();
        Meter.pause(5);
        pages++;
    }
}
