package tyrion.api;

import java.lang.management.ManagementFactory;
import javax.management.InstanceAlreadyExistsException;
import javax.management.JMException;
import javax.management.ObjectName;

/** The bean. A class of its own: management is loaded only when it is asked for. */
final class Bean implements TyrionMXBean {
    private Bean() {}

    static boolean register() {
        try {
            ObjectName name = new ObjectName("tyrion.api:type=Tyrion");
            ManagementFactory.getPlatformMBeanServer().registerMBean(new Bean(), name);
            return true;
        } catch (InstanceAlreadyExistsException e) {
            return true;
        } catch (JMException e) {
            return false;
        }
    }

    @Override
    public boolean isEnabled() {
        return Tyrion.enabled();
    }

    @Override
    public void setEnabled(boolean enabled) {
        Tyrion.enabled(enabled);
    }

    @Override
    public String getMode() {
        return Tyrion.text(Tyrion.MODE);
    }

    @Override
    public long getThreshold() {
        return Tyrion.number(Tyrion.THRESHOLD);
    }

    @Override
    public void setThreshold(long nanos) {
        Tyrion.threshold(nanos);
    }

    @Override
    public long getContentions() {
        return Tyrion.number(Tyrion.CONTENTIONS);
    }

    @Override
    public long getWaitNanos() {
        return Tyrion.number(Tyrion.WAIT_NANOS);
    }

    @Override
    public long getSamples() {
        return Tyrion.number(Tyrion.SAMPLES);
    }

    @Override
    public long getDropped() {
        return Tyrion.number(Tyrion.DROPPED);
    }

    @Override
    public String getLog() {
        return Tyrion.text(Tyrion.LOG);
    }
}
