package tyrion.agent;

import java.lang.management.ManagementFactory;
import javax.management.InstanceNotFoundException;
import javax.management.JMException;
import javax.management.ObjectName;
import javax.management.ReflectionException;

/** The JVM's commands as a bean. A class of its own: a JVM may have no management. */
final class Bean {
    private static final String NAME = "com.sun.management:type=DiagnosticCommand";

    private Bean() {}

    /** What the JVM says; null if it has no such command. */
    static String load(String library, String options) throws NotLoadedException {
        Object[] arguments = {new String[] {library, options}};
        String[] types = {String[].class.getName()};
        try {
            return String.valueOf(
                    ManagementFactory.getPlatformMBeanServer()
                            .invoke(new ObjectName(NAME), "jvmtiAgentLoad", arguments, types));
        } catch (InstanceNotFoundException | ReflectionException e) {
            return null;
        } catch (JMException | RuntimeException e) {
            throw new NotLoadedException("the JVM refuses: " + e.getMessage());
        }
    }
}
