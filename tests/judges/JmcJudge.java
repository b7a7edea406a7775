import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Future;
import org.openjdk.jmc.common.IMCThread;
import org.openjdk.jmc.common.IMCType;
import org.openjdk.jmc.common.item.Attribute;
import org.openjdk.jmc.common.item.IAttribute;
import org.openjdk.jmc.common.item.IItem;
import org.openjdk.jmc.common.item.IItemCollection;
import org.openjdk.jmc.common.item.IItemIterable;
import org.openjdk.jmc.common.item.IMemberAccessor;
import org.openjdk.jmc.common.item.IType;
import org.openjdk.jmc.common.unit.IQuantity;
import org.openjdk.jmc.common.unit.UnitLookup;
import org.openjdk.jmc.common.util.IPreferenceValueProvider;
import org.openjdk.jmc.flightrecorder.JfrAttributes;
import org.openjdk.jmc.flightrecorder.JfrLoaderToolkit;
import org.openjdk.jmc.flightrecorder.jdk.JdkAttributes;
import org.openjdk.jmc.flightrecorder.rules.IResult;
import org.openjdk.jmc.flightrecorder.rules.IRule;
import org.openjdk.jmc.flightrecorder.rules.RuleRegistry;
import org.openjdk.jmc.flightrecorder.rules.util.RulesToolkit;

/**
 * Says what JDK Mission Control's libraries find in a recording: lines of fields with tabs between.
 *
 * <pre>
 * total  TYPE  events  ns
 * lock   TYPE  CLASS  ADDRESS  events  ns
 * thread TYPE  NAME  events  ns
 * rule   ID  SEVERITY  SUMMARY
 * failed ID  what went wrong
 * </pre>
 */
public final class JmcJudge {
    private static final IAttribute<IMCType> PARKED_CLASS =
            Attribute.attr("parkedClass", "Class Parked On", UnitLookup.CLASS);
    private static final IAttribute<IQuantity> ADDRESS =
            Attribute.attr("address", "Address", UnitLookup.ADDRESS);
    private static final Map<String, long[]> SUMS = new TreeMap<>();

    public static void main(String[] files) throws Exception {
        IItemCollection events = JfrLoaderToolkit.loadEvents(new File(files[0]));
        for (IItemIterable ofType : events) {
            add(ofType);
        }
        SUMS.forEach((key, sums) -> System.out.println(key + "\t" + sums[0] + "\t" + sums[1]));
        Map<IRule, Future<IResult>> results = RulesToolkit.evaluateParallel(
                RuleRegistry.getRules(), events, IPreferenceValueProvider.DEFAULT_VALUES, 2);
        List<String> lines = new ArrayList<>();
        for (Map.Entry<IRule, Future<IResult>> rule : results.entrySet()) {
            lines.add(result(rule.getKey().getId(), rule.getValue()));
        }
        lines.sort(null);
        lines.forEach(System.out::println);
    }

    private static void add(IItemIterable ofType) {
        IType<IItem> type = ofType.getType();
        String id = type.getIdentifier();
        IMemberAccessor<IQuantity, IItem> duration = JfrAttributes.DURATION.getAccessor(type);
        IMemberAccessor<IMCType, IItem> monitor = JdkAttributes.MONITOR_CLASS.getAccessor(type);
        IMemberAccessor<IMCType, IItem> parked = PARKED_CLASS.getAccessor(type);
        IMemberAccessor<IQuantity, IItem> address = ADDRESS.getAccessor(type);
        IMemberAccessor<IMCThread, IItem> thread = JfrAttributes.EVENT_THREAD.getAccessor(type);
        for (IItem event : ofType) {
            long ns = duration == null ? 0 : duration.getMember(event).clampedLongValueIn(UnitLookup.NANOSECOND);
            add("total\t" + id, ns);
            IMemberAccessor<IMCType, IItem> lock = monitor == null ? parked : monitor;
            if (lock == null) {
                continue;
            }
            IMCType of = lock.getMember(event);
            IQuantity at = address == null ? null : address.getMember(event);
            add("lock\t" + id + "\t" + (of == null ? "" : of.getFullName())
                    + "\t" + (at == null ? 0 : at.longValue()), ns);
            IMCThread waiter = thread == null ? null : thread.getMember(event);
            add("thread\t" + id + "\t" + (waiter == null ? "" : waiter.getThreadName()), ns);
        }
    }

    private static void add(String key, long ns) {
        long[] sums = SUMS.computeIfAbsent(key, unused -> new long[2]);
        sums[0]++;
        sums[1] += ns;
    }

    private static String result(String id, Future<IResult> future) {
        try {
            IResult result = future.get();
            return "rule\t" + id + "\t" + result.getSeverity() + "\t"
                    + String.valueOf(result.getSummary()).replaceAll("\\s+", " ");
        } catch (Exception failure) {
            return "failed\t" + id + "\t" + failure.toString().replaceAll("\\s+", " ");
        }
    }
}
