package tyrion.truth;

import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodHandles;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Paths;
import tyrion.support.Json;

/**
 * {@code occupied CLASSFILE SECONDS KIND}: defines a class of the package {@code java.lang}, whose
 * name nobody can have then, prints "occupied", and goes on as {@code storm SECONDS KIND}. Needs
 * {@code --add-opens=java.base/java.lang=ALL-UNNAMED}.
 */
final class Occupied implements Scenario {
    @Override
    public void run(Arguments arguments, Json report) throws Exception {
        byte[] bytes = Files.readAllBytes(Paths.get(arguments.text(0, "")));
        Method within =
                MethodHandles.class.getMethod("privateLookupIn", Class.class, Lookup.class);
        Object lookup = within.invoke(null, Object.class, MethodHandles.lookup());
        Lookup.class.getMethod("defineClass", byte[].class).invoke(lookup, (Object) bytes);
        System.out.println("occupied");
        new Storm().run(new Arguments(arguments.from(1)), report);
    }
}
