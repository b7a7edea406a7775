package tyrion.truth;

import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import tyrion.support.Json;

/**
 * Runs one scenario by its name: {@code java tyrion.truth.Truth SCENARIO [ARGUMENT...]}.
 *
 * <p>With the property {@code truth.go=FILE} it prints "ready" and begins when there is such a file.
 *
 * <p>The last line on stdout is one JSON object with what the scenario measured. Exit codes: 0
 * done, 2 no such scenario, 3 this JVM can't ("unsupported" on stdout), 70 a thread failed.
 */
public final class Truth {
    /** Exit code when a thread of the scenario failed. */
    private static final int FAILED = 70;

    /**
     * Classes, not instances: only the scenario that runs is initialized, so the JVM stays quiet.
     */
    private static final Map<String, Class<? extends Scenario>> SCENARIOS = new LinkedHashMap<>();

    static {
        SCENARIOS.put("holder-monitor", HolderMonitor.class);
        SCENARIOS.put("holder-method", HolderMethod.class);
        SCENARIOS.put("holder-static", HolderStatic.class);
        SCENARIOS.put("holder-lock", HolderLock.class);
        SCENARIOS.put("holder-read", HolderRead.class);
        SCENARIOS.put("holder-write", HolderWrite.class);
        SCENARIOS.put("holder-stamped-read", HolderStampedRead.class);
        SCENARIOS.put("holder-stamped-write", HolderStampedWrite.class);
        SCENARIOS.put("holder-semaphore", HolderSemaphore.class);
        SCENARIOS.put("holder-custom", HolderCustom.class);
        SCENARIOS.put("holder-custom-long", HolderCustomLong.class);
        SCENARIOS.put("together", Together.class);
        SCENARIOS.put("private", PrivateLocks.class);
        SCENARIOS.put("idle", Idle.class);
        SCENARIOS.put("reacquire", Reacquire.class);
        SCENARIOS.put("outcomes", Outcomes.class);
        SCENARIOS.put("appends", Appends.class);
        SCENARIOS.put("storm", Storm.class);
        SCENARIOS.put("uncontended", Uncontended.class);
        SCENARIOS.put("deadlock", Deadlock.class);
        SCENARIOS.put("names", Names.class);
        SCENARIOS.put("hostile-names", HostileNames.class);
        SCENARIOS.put("virtual", Virtual.class);
        SCENARIOS.put("virtual-two", VirtualTwo.class);
        SCENARIOS.put("virtual-crowd", VirtualCrowd.class);
        SCENARIOS.put("virtual-free", VirtualFree.class);
        SCENARIOS.put("pinned", Pinned.class);
        SCENARIOS.put("main-and-virtual", MainAndVirtual.class);
        SCENARIOS.put("outlast", Outlast.class);
        SCENARIOS.put("soak", Soak.class);
        SCENARIOS.put("under-way", UnderWay.class);
        SCENARIOS.put("unsafepoint", Unsafepoint.class);
        SCENARIOS.put("nio-interrupts", NioInterrupts.class);
        SCENARIOS.put("held-across", HeldAcross.class);
        SCENARIOS.put("gc-identity", GcIdentity.class);
        SCENARIOS.put("collections", Collected.class);
        SCENARIOS.put("wakers", Wakers.class);
        SCENARIOS.put("ring", Ring.class);
        SCENARIOS.put("jdk-locks", JdkLocks.class);
        SCENARIOS.put("counts", Counts.class);
        SCENARIOS.put("half-loaded", HalfLoaded.class);
        SCENARIOS.put("permits", Permits.class);
        SCENARIOS.put("thread-ids", ThreadIds.class);
        SCENARIOS.put("probes", Probes.class);
        SCENARIOS.put("shared", Shared.class);
        SCENARIOS.put("unloaded", Unloaded.class);
        SCENARIOS.put("tried-nesting", TriedNesting.class);
        SCENARIOS.put("conversions", Conversions.class);
        SCENARIOS.put("undisturbed", Undisturbed.class);
        SCENARIOS.put("sole-instances", SoleInstances.class);
        SCENARIOS.put("holds", Holds.class);
        SCENARIOS.put("sampled-holds", SampledHolds.class);
        SCENARIOS.put("blame", Blame.class);
        SCENARIOS.put("turns", Turns.class);
        SCENARIOS.put("nesting", Nesting.class);
        SCENARIOS.put("philosophers", Philosophers.class);
        SCENARIOS.put("near-misses", NearMisses.class);
        SCENARIOS.put("convoy", Convoy.class);
        SCENARIOS.put("phases", Phases.class);
        SCENARIOS.put("lonely", Lonely.class);
        SCENARIOS.put("striped", Striped.class);
        SCENARIOS.put("spins", Spins.class);
        SCENARIOS.put("fresh-locks", FreshLocks.class);
        SCENARIOS.put("groups", Groups.class);
        SCENARIOS.put("groups-later", GroupsLater.class);
        SCENARIOS.put("managed", Managed.class);
        SCENARIOS.put("sampled-block", SampledBlock.class);
        SCENARIOS.put("exit", Exit.class);
        SCENARIOS.put("signal", Signal.class);
        SCENARIOS.put("spawn", Spawn.class);
        SCENARIOS.put("room", Room.class);
        SCENARIOS.put("parked-over", ParkedOver.class);
        SCENARIOS.put("changing", Changing.class);
        SCENARIOS.put("occupied", Occupied.class);
        SCENARIOS.put("withheld", Withheld.class);
        SCENARIOS.put("wait-chain", WaitChain.class);
        SCENARIOS.put("room-chain", RoomChain.class);
        SCENARIOS.put("walks", Walks.class);
        SCENARIOS.put("guilty", Guilty.class);
    }

    private Truth() {}

    public static void main(String[] args) throws Exception {
        String name = args.length > 0 ? args[0] : "";
        Class<? extends Scenario> scenario = SCENARIOS.get(name);
        if (scenario == null) {
            System.err.println("usage: Truth SCENARIO [ARGUMENT...], one of " + SCENARIOS.keySet());
            System.exit(2);
            return;
        }
        Thread.setDefaultUncaughtExceptionHandler(Truth::fail);
        Arguments arguments = new Arguments(Arrays.copyOfRange(args, 1, args.length));
        awaitGo();
        Json report = new Json().put("scenario", name);
        scenario.getDeclaredConstructor().newInstance().run(arguments, report);
        System.out.println(report);
    }

    private static void awaitGo() throws InterruptedException {
        String file = System.getProperty("truth.go");
        if (file == null) {
            return;
        }
        System.out.println("ready");
        while (!Files.exists(Paths.get(file))) {
            Thread.sleep(5);
        }
    }

    /** A measurement with a failed thread is no truth: nothing more is printed. */
    private static void fail(Thread thread, Throwable problem) {
        System.err.println("thread " + thread.getName() + " failed");
        problem.printStackTrace();
        Runtime.getRuntime().halt(FAILED);
    }
}
