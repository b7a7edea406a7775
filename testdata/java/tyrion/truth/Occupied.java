package tyrion.truth;

import java.lang.invoke.MethodHandles;
import java.nio.file.Files;
import java.nio.file.Path;
import tyrion.support.Json;

/**
 * {@code occupied CLASSFILE SECONDS KIND}: defines a class of the package {@code java.lang}, whose
 * name nobody can have then, prints "occupied", and goes on as {@code storm SECONDS KIND}. Needs
 * {@code --add-opens=java.base/java.lang=ALL-UNNAMED}.
 */
final class Occupied implements Scenario {
    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        byte[] bytes = Files.readAllBytes(Path.of(arguments.text(0, "")));
        MethodHandles.privateLookupIn(Object.class, MethodHandles.lookup()).defineClass(bytes);
        System.out.println("occupied");
        new Storm().run(new Arguments(arguments.from(1)), report);
    }
}
