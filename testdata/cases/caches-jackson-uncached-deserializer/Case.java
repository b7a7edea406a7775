import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.DeserializationContext;
import com.fasterxml.jackson.databind.JsonDeserializer;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.deser.ResolvableDeserializer;
import com.fasterxml.jackson.databind.deser.std.StdDeserializer;
import com.fasterxml.jackson.databind.module.SimpleModule;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;

/** Events whose payload is read by a deserializer that Jackson is not allowed to cache. */
public class Case {
  static final AtomicLong events = new AtomicLong();
  static final AtomicLong readNanos = new AtomicLong();
  static boolean cachable;

  public static void main(String[] args) throws Exception {
    long start = System.nanoTime();
    int seconds = Integer.parseInt(args[0]);
    cachable = args.length > 1 && args[1].equals("cachable");
    SimpleModule module = new SimpleModule();
    module.addDeserializer(Event.class, new EventDeserializer());
    module.addDeserializer(Payload.class, new PayloadDeserializer());
    ObjectMapper mapper = new ObjectMapper().registerModule(module);
    mapper.readValue("\"warm\"", Event.class);
    int threads = 8;
    for (int i = 0; i < threads; i++) {
      Thread t = new Thread(new Consumer(mapper), "consumer-" + i);
      t.setDaemon(true);
      t.start();
    }
    int blocked = 0;
    int seen = 0;
    Thread[] all = new Thread[threads + 50];
    while (System.nanoTime() - start < seconds * 1_000_000_000L) {
      Thread.sleep(100);
      int n = Thread.enumerate(all);
      for (int i = 0; i < n; i++) {
        if (all[i].getName().startsWith("consumer-")) {
          seen++;
          blocked += all[i].getState() == Thread.State.BLOCKED ? 1 : 0;
        }
      }
    }
    System.out.println("proof: events=" + events.get());
    System.out.printf("proof: seconds_reading_per_thread=%.1f%n", readNanos.get() / 1e9 / threads);
    System.out.println("proof: blocked_percent=" + 100 * blocked / Math.max(1, seen));
    System.out.flush();
    Runtime.getRuntime().halt(0);
  }

  static class Consumer implements Runnable {
    private final ObjectMapper mapper;

    Consumer(ObjectMapper mapper) {
      this.mapper = mapper;
    }

    public void run() {
      while (true) {
        try {
          long t = System.nanoTime();
          mapper.readValue("\"order created\"", new TypeReference<Event>() {});
          readNanos.addAndGet(System.nanoTime() - t);
          events.incrementAndGet();
          pause(3); // handles the event
        } catch (IOException e) {
          throw new IllegalStateException(e);
        }
      }
    }
  }

  static class Event {
    Payload payload;
  }

  static class Payload {
    String text;
  }

  static class EventDeserializer extends StdDeserializer<Event> {
    EventDeserializer() {
      super(Event.class);
    }

    @Override
    public boolean isCachable() {
      return true;
    }

    @Override
    public Event deserialize(JsonParser p, DeserializationContext context) throws IOException {
      Event event = new Event();
      event.payload = context.readValue(p, Payload.class);
      return event;
    }
  }

  /** Takes its rules from the schema registry when it is resolved. */
  static class PayloadDeserializer extends JsonDeserializer<Payload>
      implements ResolvableDeserializer {
    @Override
    public boolean isCachable() {
      return cachable; // the default is false
    }

    @Override
    public void resolve(DeserializationContext context) {
      pause(4);
    }

    @Override
    public Payload deserialize(JsonParser p, DeserializationContext context) throws IOException {
      Payload payload = new Payload();
      payload.text = p.getText();
      return payload;
    }
  }

  static void pause(int millis) {
    try {
      Thread.sleep(millis);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
