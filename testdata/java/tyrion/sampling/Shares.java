package tyrion.sampling;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import tyrion.support.Json;

/**
 * Eight threads that spend known shares of their time in known methods and states, and two samplers
 * in plain Java that look on.
 *
 * <p>Usage: {@code java tyrion.sampling.Shares [SECONDS [PERIODMS]]}, defaults 20 and 20; with 0
 * nobody looks on. Prints "acting" when all threads have begun. The last line on stdout is one JSON
 * object: {@code threads} has what each measured of itself, {@code tree} and {@code lines} what the
 * samplers saw. Times end in {@code _ns}.
 */
public final class Shares {
    private static final String INTERESTING = "tyrion.sampling.";

    private Shares() {}

    public static void main(String[] args) throws Exception {
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 20;
        int periodMillis = args.length > 1 ? Integer.parseInt(args[1]) : 20;

        TreeRule tree = new TreeRule(periodMillis, INTERESTING);
        LinesRule lines = new LinesRule(periodMillis);
        if (periodMillis > 0) {
            tree.start();
            lines.start();
        }
        List<Actor> actors = act(seconds);
        tree.end();
        lines.end();

        List<Json> threads = new ArrayList<>();
        for (Actor actor : actors) {
            threads.add(actor.measured());
        }
        System.out.println(new Json()
                .put("threads", threads)
                .put("tree", tree.measured())
                .put("lines", lines.measured()));
    }

    private static List<Actor> act(double seconds) throws Exception {
        Stage stage = new Stage();
        // A pool makes its thread for its first task.
        stage.tasks.execute(new Pool.Task(1));
        List<Actor> actors = new ArrayList<>(Arrays.asList(
                new Actors.Computing(stage),
                new Actors.Waiting(stage),
                new Actors.Blocked(stage),
                new Actors.Locked(stage),
                new Actors.Keeper(stage),
                new Actors.Reader(stage),
                new Actors.Selecting(stage)));
        for (Actor actor : actors) {
            actor.start();
        }
        actors.add(stage.pool.worker());
        System.out.println("acting");
        Thread.sleep((long) (seconds * 1000));
        stage.isOver = true;
        // Those that wait for nothing from outside, the keeper among them.
        for (Actor actor : actors.subList(0, 5)) {
            actor.join();
        }
        stage.close();
        for (Actor actor : actors) {
            actor.join();
        }
        return actors;
    }
}
