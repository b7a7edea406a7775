/** The least a JVM can do: what remains is the start of the JVM, and of an agent. */
public final class Hello {
    private Hello() {}

    public static void main(String[] args) {
        System.out.println("hello");
    }
}
