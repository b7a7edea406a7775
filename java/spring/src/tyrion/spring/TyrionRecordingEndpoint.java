package tyrion.spring;

import java.util.Map;
import org.springframework.boot.actuate.endpoint.InvalidEndpointRequestException;
import org.springframework.boot.actuate.endpoint.annotation.DeleteOperation;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.WriteOperation;

/** The same with a switch, where the application allows one. */
@Endpoint(id = "tyrion")
public class TyrionRecordingEndpoint extends TyrionEndpoint {
    TyrionRecordingEndpoint(Recorder recorder) {
        super(recorder);
    }

    /**
     * Records for some time. What the agent records, and where, only the application sets.
     *
     * @param seconds how long, an hour at most
     * @return {@code since} and {@code until}, or a {@code problem}
     */
    @WriteOperation
    public Map<String, Object> record(int seconds) {
        if (seconds < 1 || seconds > Recorder.MOST_SECONDS) {
            String problem = "seconds are from 1 to " + Recorder.MOST_SECONDS;
            throw new InvalidEndpointRequestException(problem, problem);
        }
        return recorder.start(seconds);
    }

    /**
     * Ends that earlier.
     *
     * @return the verdict, or a {@code problem}
     */
    @DeleteOperation
    public Map<String, Object> stop() {
        return recorder.stop();
    }
}
