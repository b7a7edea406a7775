package tyrion.spring;

import java.util.Map;
import org.springframework.boot.actuate.endpoint.annotation.Endpoint;
import org.springframework.boot.actuate.endpoint.annotation.ReadOperation;

/** {@code /actuator/tyrion}: what the agent does, and what its log says of locks. */
@Endpoint(id = "tyrion")
public class TyrionEndpoint {
    final Recorder recorder;

    TyrionEndpoint(Recorder recorder) {
        this.recorder = recorder;
    }

    /**
     * What the agent does, and the verdict as {@code tyrion report --json} has it.
     *
     * @return {@code state}, {@code mode}, {@code log}, {@code verdict}; {@code problem} says why
     *     something is missing
     */
    @ReadOperation
    public Map<String, Object> verdict() {
        return recorder.tell();
    }
}
