package check;

import org.junit.Test;

/** Runs with the agent that Surefire is told of in pom.xml. */
public class MainTest {
    @Test
    public void waits() throws InterruptedException {
        Main.main(new String[0]);
    }
}
