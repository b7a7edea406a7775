package tyrion.identity;

import java.io.IOException;
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.UnmodifiableClassException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import tyrion.agents.Instruments;

/**
 * Waits in a class before, while and after it is redefined with the class file that is given. The
 * agent {@link Instruments} has to be there.
 */
public final class Changing {
    private Changing() {}

    public static void main(String[] args) {
        Account.begin();
        Runnable four = Changed::four;
        for (int place = 1; place <= 4; place++) {
            Account.contend(place, four, four);
        }
        Account.contendTwice(3, 4, four, () -> redefine(Changed.class, Paths.get(args[0])));
        for (int turn = 0; turn < 2; turn++) {
            for (int place = 11; place <= 14; place++) {
                Account.contend(place, four, four);
            }
        }
        Account.end();
    }

    static void redefine(Class<?> type, Path file) {
        try {
            Instruments.jvm().redefineClasses(new ClassDefinition(type, Files.readAllBytes(file)));
        } catch (IOException | ClassNotFoundException | UnmodifiableClassException e) {
            throw new IllegalStateException(e);
        }
    }
}
