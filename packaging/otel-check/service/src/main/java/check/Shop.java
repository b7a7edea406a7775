package check;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RestController;

/** A shop whose prices wait for an import. It knows nothing of Tyrion, nor of OpenTelemetry. */
@SpringBootApplication
@RestController
public class Shop {
    private final PriceCache prices = new PriceCache();

    public static void main(String[] args) {
        SpringApplication.run(Shop.class, args);
    }

    @GetMapping("/ready")
    String ready() {
        return "ready";
    }

    @GetMapping("/price/{id}")
    String price(@PathVariable("id") int id) {
        return prices.get(id);
    }

    @PostMapping("/import")
    String load() throws InterruptedException {
        return prices.load();
    }

    static final class PriceCache {
        private final Object lru = new Object();

        String get(int id) {
            synchronized (lru) {
                return "price of " + id;
            }
        }

        String load() throws InterruptedException {
            synchronized (lru) {
                Thread.sleep(40);
            }
            return "loaded";
        }
    }
}
